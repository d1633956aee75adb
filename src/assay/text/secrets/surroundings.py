"""Secrets that stand where only a secret can stand: in headers, command lines, configuration files and code."""

# ruff: noqa: RUF001 - full-width marks and dashes stand in texts of other languages

from __future__ import annotations

import base64
import binascii
import re

from assay.text.secrets.rules import (
    SearchRule,
    is_placeholder,
    looks_random,
    looks_secret,
    may_be_password,
    search_rule,
    trim,
)

_V = r"[^\s\"'`<>]"
"""A character of a value that ends at white space, a quote or a tag."""
_ARGUMENT = rf"(?:\"([^\"\n]{{3,200}})\"|'([^'\n]{{3,200}})'|({_V}{{3,200}}))"
"""A value on a command line, with or without quotes."""
_HASHES = r"1|2[abxy]?|5|6|7|8|9|y|gy|apr1|argon2(?:id|i|d)|scrypt|pbkdf2(?:-sha\d{1,3})?|sha1|md5"


def _is_value(value: str) -> bool:
    return not is_placeholder(trim(value))


def _looks_secret(value: str) -> bool:
    value = trim(value)
    return looks_secret(value) or looks_random(value)


def _looks_random(value: str) -> bool:
    return looks_random(trim(value))


def _has_digit(value: str) -> bool:
    return any(letter.isdigit() for letter in value) and looks_secret(trim(value), strong=True)


def _is_option_value(value: str) -> bool:
    spoken = " " in value and may_be_password(value)
    return value[0] not in "-=" and (spoken or looks_secret(trim(value), strong=True))


def _is_connection_password(value: str) -> bool:
    return looks_secret(trim(value), strong=True, quoted=True) and not re.search(r"[(]|^\w+\)", value)


def _is_basic(value: str) -> bool:
    """Whether a text is the encoded name and password of basic authorisation."""
    try:
        decoded = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (ValueError, binascii.Error):
        return looks_random(value) and not value.isalpha()
    return ":" in decoded and decoded.isprintable()


def _is_hash(value: str) -> bool:
    return any(letter.isalnum() for letter in value[3:]) and len(value) >= 16 and "{" not in value


def _command(names: str, rest: str, *, stride: int = 40) -> SearchRule:
    """Make the rule of some programs: the text between the name and the password, then the password."""
    programs = "|".join(re.escape(name) for name in names.split())
    return search_rule(
        "password on a command line",
        names,
        rf"(?<![\w-])(?:{programs})(?:\.exe)?{rest}",
        flags=re.IGNORECASE | re.MULTILINE,
        check=may_be_password,
        begins=True,
        stride=stride,
    )


_COMMANDS = (
    _command(
        "curl wget http https xh aria2c",
        r"\s(?:[^\n|]{0,300}?\s)??(?:-u|--user|--proxy-user|-U|-a|--auth)[ =]{0,2}"
        rf"(?:[\"'][^\s:\"']{{0,80}}:([^\"'\n]{{3,200}})[\"']|[^\s:\"']{{0,80}}:({_V}{{3,200}}))",
    ),
    _command(
        "mysql mariadb mysqldump mysqladmin mysqlimport mycli mariadb-dump",
        r"\s(?:[^\n|]{0,200}?\s)??-p([\"']?[^\s\"'-][^\s\"'`<>|]{2,100})",
    ),
    _command("sshpass", rf"\s{{1,3}}-p\s{{0,3}}{_ARGUMENT}"),
    _command("redis-cli valkey-cli", rf"\s(?:[^\n|]{{0,120}}?\s)??(?:-a|--pass|AUTH)[ =]{_ARGUMENT}"),
    _command("zip unzip zipcloak", rf"\s(?:[^\n|]{{0,120}}?\s)??-P\s{{0,2}}{_ARGUMENT}"),
    _command("7z 7za rar unrar", rf"\s(?:[^\n|]{{0,120}}?\s)??-h?p{_ARGUMENT}"),
    _command(
        "ldapsearch ldapmodify ldapadd ldapdelete ldappasswd ldapwhoami",
        rf"\s(?:[^\n|]{{0,200}}?\s)??-w\s{{0,2}}{_ARGUMENT}",
    ),
    _command(
        "openssl",
        r"[\s'\"][^\n|]{0,200}?(?:pass:|\s-(?:k|K|pass|passin|passout|password)\s{1,2})(?!pass:|env:|file:|stdin|fd:)"
        rf"{_ARGUMENT}",
    ),
    _command(
        "htpasswd",
        r"\s{1,2}-[a-zA-Z]{0,6}b[a-zA-Z]{0,6}\s[^\n|]{1,120}?\s[\w.@-]{1,60}\s{1,2}" rf"{_ARGUMENT}\s{{0,3}}$",
    ),
    _command(
        "docker podman buildah skopeo nerdctl helm oc az twine svn influx cqlsh mongo mongosh mongodump mongorestore "
        "mongoexport mongoimport evil-winrm crackmapexec hydra psexec rdesktop ncftp ncftpget ncftpput vncpasswd",
        rf"\s(?:[^\n|]{{0,200}}?\s)??-p\s{{0,2}}(?!\d{{1,5}}:\d|\d{{1,5}}\s|[\d.]+:){_ARGUMENT}",
    ),
    _command(
        "sqlcmd bcp isql tsql clickhouse-client", rf"\s(?:[^\n|]{{0,200}}?\s)??-P\s{{0,2}}(?!\d{{1,5}}\s){_ARGUMENT}"
    ),
    _command("smbclient rpcclient", r"\s(?:[^\n|]{0,160}?\s)??-U\s{0,2}[\"']?[^\s%\"']{1,60}%([^\s\"']{3,100})"),
    _command(
        "keytool jarsigner apksigner",
        rf"\s(?:[^\n|]{{0,300}}?\s)??-{{1,2}}(?:store|key|srcstore|deststore|new|ks-"
        rf"|key-)pass(?:word)?\s{{1,2}}(?:pass:)?{_ARGUMENT}",
    ),
    _command("wandb", rf"\s{{1,2}}login\s{{1,2}}(?!-){_ARGUMENT}"),
    _command("vault", rf"\s{{1,2}}(?:operator\s{{1,2}}unseal|login)\s{{1,2}}(?!-){_ARGUMENT}"),
    _command("snmpwalk snmpget snmpbulkwalk snmpset snmpbulkget", rf"\s(?:[^\n|]{{0,120}}?\s)??-c\s{{0,2}}{_ARGUMENT}"),
    _command("schtasks", rf"\s(?:[^\n|]{{0,200}}?\s)??/rp[ :]{_ARGUMENT}"),
    _command("xfreerdp wfreerdp", rf"\s(?:[^\n|]{{0,200}}?\s)??/p:{_ARGUMENT}"),
    _command("nmcli", rf"\s(?:[^\n|]{{0,200}}?\s)??password\s{{1,2}}{_ARGUMENT}"),
    _command("wpa_passphrase", rf"\s{{1,2}}(?:\"[^\"\n]{{1,40}}\"|'[^'\n]{{1,40}}'|\S{{1,40}})\s{{1,2}}{_ARGUMENT}"),
    _command("ssh-keygen", rf"\s(?:[^\n|]{{0,200}}?\s)??-[NP]\s{{0,2}}{_ARGUMENT}"),
    _command("net", rf"\s{{1,2}}use\s[^\n]{{0,120}}?\s/user:\S{{1,60}}\s{{1,2}}{_ARGUMENT}"),
    _command("net", rf"\s{{1,2}}use\s[^\n]{{1,120}}?\\\S{{1,60}}\s{{1,2}}(?!/){_ARGUMENT}\s{{1,2}}/user"),
    _command("net", rf"\s{{1,2}}user\s{{1,2}}[\w.-]{{1,40}}\s{{1,2}}(?!/){_ARGUMENT}"),
    _command("rabbitmqctl", rf"\s{{1,2}}(?:add_user|change_password)\s{{1,2}}\S{{1,40}}\s{{1,2}}{_ARGUMENT}"),
    _command("lftp", r"\s(?:[^\n|]{0,120}?\s)??-u\s{0,2}[^\s,]{1,60},([^\s\"']{3,100})"),
    _command("useradd usermod", rf"\s(?:[^\n|]{{0,160}}?\s)??-p\s{{1,2}}{_ARGUMENT}"),
    _command(
        "echo printf",
        r"\s{1,2}(?:-n\s{1,2}|-e\s{1,2})?[\"']?(?:[\w.-]{1,40}:)?([^\s\"'|:$]{4,100})[\"']?\s{0,3}\|\s{0,3}(?:sudo\s{1,2}"
        r"(?:-S|chpasswd)|chpasswd|kinit|passwd|docker\s{1,2}login|cryptsetup|gpg|podman\s{1,2}login"
        r"|helm\s{1,2}registry)",
    ),
    _command("echo printf", r"\s{1,2}-n\s{1,2}[\"']?([^\s\"'|:$]{6,100})[\"']?\s{0,3}\|\s{0,3}base64"),
    _command("gcloud gsutil bq", r"\s(?:[^\n|]{0,200}?\s)??--key[ =]([A-Za-z0-9+/=_-]{30,400})"),
    _command("sqlplus rman impdp expdp sqlldr", r"\s[^\n/]{0,40}?[\w.$#-]{1,40}/[\"']?([^\s@/\"']{2,100})@"),
    search_rule(
        "password on a command line",
        "--",
        r"--?(?:[a-z0-9]{1,20}[-_]){0,4}(?:password|passwd|passphrase|passcode|pass|pwd|psk|secret|token|api-?key"
        r"|apikey"
        r"|access-?key|secret-?key|auth-?key|private-?key|client-?secret|storepass|keypass|auth-?token|pat)"
        rf"(?:=|\s{{1,3}}){_ARGUMENT}",
        check=_is_option_value,
        begins=True,
    ),
)

_HEADERS = (
    search_rule(
        "authorisation header",
        "authorization",
        r"authorization[\"']?\]?\s{0,3}[:=,]\s{0,3}[\"'`]?(?:bearer|token|apikey|api-key|key|digest|oauth|negotiate"
        r"|ntlm|ssws"
        r"|genie-?key|splunk|bot|jwt|pve\w{3,12}|klaviyo-api-key|discogs|aws|hmac)[ =:]{1,3}"
        rf"({_V}{{8,4000}})",
        check=lambda value: _is_value(value) and _looks_secret(value),
        begins=True,
    ),
    search_rule(
        "authorisation header",
        "authorization",
        r"authorization[\"']?\]?\s{0,3}[:=,]\s{0,3}[\"'`]?([A-Za-z0-9._~+/=|!:-]{16,4000})(?!\w)",
        check=_looks_random,
        begins=True,
    ),
    search_rule(
        "authorisation header",
        "authorization",
        r"authorization[^\n]{0,400}?\b(?:signature|response|mac)[=:]\s?[\"']?([A-Za-z0-9+/=%]{16,400})",
        begins=True,
        stride=40,
    ),
    search_rule(
        "authorisation header",
        "basic",
        r"(?<!\w)basic\s{1,3}([A-Za-z0-9+/_-]{8,600}={0,2})(?![\w+/])",
        check=_is_basic,
        begins=True,
    ),
    search_rule(
        "bearer token",
        "bearer",
        r"bearer[\s:=]{1,3}[\"'`]?([A-Za-z0-9._~+/=|-]{16,4000})",
        check=_looks_random,
        begins=True,
    ),
)

_FILES = (
    search_rule(
        "netrc password",
        "machine",
        r"machine\s{1,8}\S{1,120}\s{1,8}(?:login\s{1,8}\S{1,120}\s{1,8})?(?:account\s{1,8}\S{1,120}\s{1,8})?password\s{1,8}"
        rf"({_V}{{2,300}})",
        check=may_be_password,
        begins=True,
    ),
    search_rule(
        "netrc password",
        "login",
        rf"login\s{{1,8}}\S{{1,120}}\s{{1,8}}password\s{{1,8}}({_V}{{3,300}})",
        check=may_be_password,
        begins=True,
    ),
    search_rule(
        "pgpass password",
        ":",
        r"^(?:[\w.*-]{1,120}|\[[0-9a-f:]{2,40}\]):(?:\d{2,5}|\*):(?:[\w.*-]{1,64}):(?:[\w.*@-]{1,64}):"
        r"((?:\\.|[^\s:\\]){3,200})\s{0,2}$",
        flags=re.MULTILINE,
        check=_is_value,
    ),
    search_rule(
        "password hash",
        "$",
        rf"(?<![\w$])(\$(?:{_HASHES})\$[^\s:\"'`<>,;]{{8,300}})",
        flags=0,
        check=_is_hash,
        begins=True,
    ),
    search_rule(
        "password hash",
        "{ssha {sha} {md5} {crypt}",
        r"(\{(?:SSHA(?:256|512)?|SHA|MD5|CRYPT)\}[A-Za-z0-9+/=$.]{16,200})",
        begins=True,
    ),
    search_rule("password hash", ":::", r"\b[\w.$@ -]{1,60}:\d{3,6}:([0-9a-f]{32}:[0-9a-f]{32}):::"),
    search_rule(
        "WiFi password",
        "wifi:",
        r"WIFI:(?:[A-Z]:[^;\n]{0,80};){0,5}?P:((?:\\.|[^;\\\n]){1,80});",
        check=_is_value,
        begins=True,
    ),
    search_rule(
        "WiFi password",
        "psk wpa pre-shared preshared wep_key",
        r"(?:psk|wpa[-_ ]?psk|pre-?shared[-_ ]?key|wpa_passphrase|wep_key\d?|wpa2?[-_ ]?key)[\"']?\s{0,3}[=:]\s{0,3}"
        rf"{_ARGUMENT}",
        check=lambda value: len(value) >= 6 and _is_value(value),
        begins=True,
    ),
    search_rule(
        "VPN pre-shared key", "psk", r"psk\s{1,3}([A-Za-z0-9!#$%^&*_+/=.-]{8,100})(?!\S)", check=_has_digit, begins=True
    ),
    search_rule(
        "Vault secret id",
        "secret",
        r"secret[-_ ]?id[\"'`]?[\s:=]{1,4}[\"'`]?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})",
        begins=True,
    ),
    search_rule(
        "VPN pre-shared key",
        "psk xauth eap",
        r"(?:PSK|XAUTH|EAP)\s{1,4}\"([^\"\n]{3,200})\"",
        check=_is_value,
        begins=True,
    ),
    search_rule(
        "one-time password secret",
        "otpauth",
        r"otpauth(?:-migration)?://[^\s\"'<>]{1,400}?[?&](?:secret|data)=([A-Za-z2-7%=+/]{8,800})",
        begins=True,
    ),
    search_rule(
        "one-time password secret",
        "totp hotp otp 2fa mfa two-factor authenticator base32 setup",
        r"(?:totp|hotp|otp|2fa|mfa|two-factor|authenticator|base32|setup key)\b[^\n]{0,40}?[\s:=\"'`]"
        r"((?-i:(?:[A-Z2-7]{4}[ -]?){4,16}|(?:[a-z2-7]{4} ){3,15}[a-z2-7]{4})={0,6})(?![A-Za-z0-9])",
        check=lambda value: any(letter.isdigit() for letter in value) or (len(value) > 20 and value.isupper()),
        begins=True,
    ),
    search_rule(
        "database password",
        "identified",
        r"identified\s{1,4}(?:with\s{1,4}\S{1,40}\s{1,4})?(?:by|as)\s{1,4}(?:password\s{1,4})?"
        r"(?:'([^'\n]{1,200})'|\"([^\"\n]{1,200})\"|(\w*\d[^\s;'\"]{3,100}))",
        check=_is_value,
        begins=True,
    ),
    search_rule(
        "database password",
        "password",
        r"password\s{1,3}=?\s{0,3}(?:for\s\S{1,80}\s{0,3}=\s{0,3})?(?:password\s{0,2}\(\s{0,2})?(?:N?'([^'\n]{4,200})'"
        r"|\$\$([^$\n]{2,100})\$\$)",
        check=lambda value: looks_secret(value, strong=True, quoted=True),
        begins=True,
    ),
    search_rule(
        "database password",
        "requirepass masterauth setuser",
        rf"(?:requirepass|masterauth)\s{{1,8}}[\"']?({_V}{{3,200}})|setuser\b[^\n]{{0,80}}?\s>(\S{{3,100}})",
        check=_is_value,
        begins=True,
    ),
    search_rule(
        "database password",
        "jdbc:oracle",
        r"jdbc:oracle:\w{2,6}:[\w.$#-]{1,40}/[\"']?([^\s@/\"']{2,100})@",
        check=_is_value,
        begins=True,
    ),
    search_rule(
        "network device password",
        "enable username neighbor key-string tacacs radius snmp-server",
        r"(?:enable\s{1,3}(?:secret|password)|username\s{1,3}\S{1,40}\s(?:[^\n]{0,40}?\s)??(?:secret|password)"
        r"|neighbor\s{1,3}\S{1,40}\s{1,3}password|key-string|(?:tacacs"
        r"|radius)(?:-server)?\s[^\n]{0,60}?\bkey)\s{1,3}(?:\d\s{1,3})?"
        r"((?!encryption|service|\d\s|and\b|or\b|are\b|is\b)[^\s\"':=,]{4,120})"
        r"|snmp-server\s{1,3}community\s{1,3}(\S{3,60})",
        check=_has_digit,
        begins=True,
    ),
    search_rule(
        "SNMP community",
        "community",
        r"community(?:[- ]string)?[\s:=]{1,3}[\"']?([^\s\"',;]{5,60})",
        check=lambda value: _has_digit(value) and any(letter.isalpha() for letter in value) and ":" not in value,
        begins=True,
    ),
    search_rule(
        "mail password",
        "]:",
        r"\]:\d{2,5}\s{1,8}[^\s:]{1,80}:([^\s:]{4,100})(?!\S)",
        check=_is_value,
        begins=True,
    ),
    search_rule(
        "SNMP community",
        "rocommunity rwcommunity",
        r"r[ow]community6?\s{1,4}(\S{3,60})",
        check=lambda value: value not in {"public", "private"} and _is_value(value),
        begins=True,
    ),
    search_rule(
        "npm credentials",
        "_auth _password",
        r"_(?:auth|authToken|password)\s{0,3}=\s{0,3}[\"']?([A-Za-z0-9+/=_-]{8,600})(?![\w(*.\\])",
        check=_is_value,
        begins=True,
    ),
    search_rule(
        "connection string password",
        "password pwd accountkey sharedaccesskey sharedsecret accesskey",
        r"(?:password|pwd|accountkey|sharedaccesskey|sharedsecretvalue|sharedsecret|accesskey"
        r"|sharedaccesssignature)\s{0,2}="
        r"\s{0,2}(?:\"([^\"\n]{2,300})\"|'([^'\n]{2,300})'|\{([^}\n]{2,300})\}|([^;\s\"'`<>&]{3,400}))(?=[;\"'&\s]|$)",
        check=_is_connection_password,
        begins=True,
    ),
    search_rule(
        "Docker credentials",
        '"auth',
        r"\"auths?\"\s{0,3}:\s{0,3}\"([A-Za-z0-9+/]{8,600}={0,2})\"",
        check=_is_basic,
        begins=True,
    ),
)

_CODE = (
    search_rule(
        "password in code",
        "jwt.encode( jwt.decode( jwt.sign( jwt.verify(",
        r"jwt\.\w{4,6}\(\s{0,3}[^,\n]{1,80},\s{0,3}b?[\"']([^\"'\n]{4,200})[\"']",
        check=_is_value,
        begins=True,
    ),
    search_rule(
        "password in code",
        "fernet( aesgcm( chacha20poly1305( secretbox( aes.new(",
        r"[\w.]{5,20}\(\s{0,2}(?:key\s?=\s?)?b?[\"']([^\"'\n]{16,200})[\"']",
        check=_is_value,
        begins=True,
    ),
    search_rule(
        "password in code",
        "send",
        r"send(?:line)?\s?\(?\s{0,2}[\"']([^\"'\n\\]{4,100})(?:\\[rn]){1,2}[\"']",
        check=_has_digit,
        begins=True,
    ),
    search_rule(
        "password in code",
        "convertto-securestring",
        r"ConvertTo-SecureString\s{1,3}(?:-String\s{1,3})?[\"']([^\"'\n]{2,200})[\"']",
        check=_is_value,
        begins=True,
    ),
    search_rule(
        "password in code",
        "auth basicauth httpbasicauth httpdigestauth networkcredential passwordcredential .login( .log "
        "usernamepassword basicawscredentials plainauth plaincredentials signin setbasicauth getconnection( mysqli "
        "pdo(",
        r"(?:auth\s{0,2}=\s{0,2}\(|HTTP(?:Basic|Digest)Auth\(|BasicAuth\(|NetworkCredential\(|PasswordCredentials?\("
        r"|\.log_?in\(|UsernamePasswordCredentials\(|BasicAWSCredentials\(|PlainAuth\(\s{0,2}\"[^\"]{0,20}\"\s{0,2},"
        r"|PlainCredentials\(|signinWithEmailAndPassword\((?:auth\s{0,2},)?|SetBasicAuth\("
        r"|getConnection\(\s{0,2}[\"'][^\"'\n]{1,200}[\"']\s{0,2},"
        r"|mysqli?(?:_connect)?\(\s{0,2}[\"'][^\"'\n]{1,100}[\"']\s{0,2},"
        r"|PDO\(\s{0,2}[\"'][^\"'\n]{1,200}[\"']\s{0,2},)"
        r"\s{0,3}(?:[\"'][^\"'\n]{1,100}[\"']|[\w.]{1,40})\s{0,2},\s{0,3}[\"']([^\"'\n]{3,200})[\"']",
        check=_is_value,
        begins=True,
    ),
)

_WORDS = (
    search_rule(
        "card security code", "cvv cvc pin", r"(?<!\w)(?:cvv2?|cvc2?|(?-i:PIN))[ #]{1,2}(\d{3,6})\b", begins=True
    ),
    search_rule(
        "app password",
        "app",
        r"app(?:[- ]specific)?[- ]pass(?:word|code)s?[\s:=\"'`]{1,4}((?:[a-z]{4}[ -]){3}[a-z]{4})(?![\w-])",
        begins=True,
    ),
    search_rule(
        "combination of a lock",
        "combination combo puk",
        r"(?<!\w)(?:combination|combo|puk2?)(?:\s{1,2}(?:is|of|for|the|safe|lock|was"
        r"|[\w-]{2,20})){0,4}?[\s:=]{1,3}(\d{1,2}(?:[-– ]\d{1,2}){2,3}|\d{8})(?![\d-])",
        begins=True,
    ),
    search_rule(
        "changed password",
        "password passwort passphrase passwd pwd passcode pin token secret key",
        r"(?:password|passwort|passphrase|passwd|pwd|pin|passcode|token|secret|key)\b[^\n]{0,60}?"
        r"\b(?:changed|rotated|reset|updated|went|switched|moved)\b[^\n]{0,30}?\bfrom\s[\"'`]?"
        rf"({_V}{{4,100}})[\"'`]?\s(?:to|into)\s[\"'`]?({_V}{{4,100}})",
        check=_has_digit,
        begins=True,
        stride=40,
    ),
    search_rule(
        "recovery codes",
        "backup recovery scratch rescue emergency wiederherstellung",
        r"(?:backup|recovery|scratch|rescue|emergency|wiederherstellungs)[- ]?(?:codes?"
        r"|keys?)\b[^\n:]{0,40}[:\n]\s{0,4}"
        r"((?:(?:\d{1,2}[.)]\s|[-*]\s)?(?=[A-Za-z0-9-]{0,24}\d)(?:[A-Za-z0-9]{4,10}(?:[- ][A-Za-z0-9]{4,10}){1,7}"
        r"|\d{6,10}"
        r"|[a-z0-9]{8,16})[\s,;]{0,4}){1,20})",
        check=_is_value,
        begins=True,
    ),
    search_rule(
        "login in words",
        "sign log",
        r"(?:sign|log)[ -]?(?:in|on)\s{1,2}(?:as|with|using|via)\s{1,2}\S{2,60}\s{1,2}(?:with|and|/|using"
        r"|,)\s{1,2}[\"'`]?([^\s\"'`<>]{6,60})",
        check=lambda value: _has_digit(value) and any(letter.isalpha() for letter in value),
        begins=True,
    ),
    search_rule(
        "login in words",
        "login log cred sign user zugangsdaten anmeldedaten identifiants account connect",
        r"(?:login|log[ -]?in|creds?|credentials?|credenciales|sign[ -]?in|user/pass(?:word)?|username/password"
        r"|zugangsdaten"
        r"|anmeldedaten|identifiants|account)\b(?:\s{1,3}(?:with|as|is|are|for|to|the|using|via|at|on|in"
        r"|[\w.-]{2,30})){0,5}?"
        r"\s{0,3}[:=]?\s{1,3}[\"'`]?[\w.@+-]{2,60}[\"'`]?\s{0,2}(?:/|:|\|)\s{0,2}[\"'`]?([^\s\"'`/<>|]{4,80})",
        check=lambda value: _has_digit(value) and any(letter.isalpha() for letter in value.replace("e", "")),
        begins=True,
        stride=30,
    ),
)

IN_SURROUNDINGS = (*_COMMANDS, *_HEADERS, *_FILES, *_CODE, *_WORDS)
"""Rules for everything but addresses, cookies and manifests."""
