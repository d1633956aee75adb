"""Secrets that their name gives away: `DB_PASSWORD=...`, `"token": "..."`, "the password for the router is ...".

Names are found by their stems, such as `pass` or `token`; only there the patterns are tried. A name is *strong* when it
leaves no doubt (`password`): then a plain or short value counts too. In a sentence, a value must not look like prose.
"""

# ruff: noqa: RUF001 - full-width marks and dashes stand in texts of other languages

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from assay.text.secrets.rules import (
    NAMED_SECRET,
    Finding,
    is_hash_or_uuid,
    is_placeholder,
    looks_random,
    looks_secret,
    says_nothing,
    trim,
    words,
)

_STRONG = (
    r"pass[-_ ]?words?|passwd|pass[-_ ]?phrase|pass[-_ ]?code|passkey|passw(?:ort|örter)|passord(?:et)?|pass(?![a-z])"
    r"|pwd|pswd|psswd"
    r"|pw(?![a-z])"
    r"|kennwort|mot[-_ ]de[-_ ]passe|mdp(?![a-z])|contrase[ñn]as?|senhas?|palavra[-_ ]passe|parola[-_ ](?:d'ordine"
    r"|chiave)"
    r"|wachtwoord"
    r"|l[öo]senord(?:et)?|adgangskoden?|salasana(?:si|ni)?|has[łl][oa]|hesl[oa]|jelsz[óo][tm]?|parol(?:[ăaei]|ul"
    r"|is)?(?![a-z])|[şs]ifre(?:si)?|lozinka|geslo"
    r"|slapta[žz]odis|parool|kata[-_ ]sandi|m[ậa]t[-_ ]kh[ẩa]u"
)
_SCRIPTS = (
    r"парол[ьяюе]?м?|лозинка|密码|密碼|口令|パスワード|暗証番号|비밀번호|암호|كلمة (?:المرور|السر)|סיסמ[הא]|κωδικό?ς?"
    r"|รหัสผ่าน|पासवर्ड"
)
_SCRIPTS_FOR_TOKENS = r"токен|ключ|密钥|密鑰|令牌|トークン|キー|토큰|키"
_WEAK = (
    r"secret|token|key|credentials?|creds|code|pin(?![a-z])|schl(?:ü|ue|u)ssel|cl[ée][-_ ](?:d')?(?:api|secr[èe]te"
    r"|priv[ée]e)|jeton"
    r"|clave|segredo|chiave|llave|cvv2?|cvc2?|otp|pat(?![a-z])|jwt|bearer|auth(?:orization)?(?![a-z])|salt(?![a-z])"
    r"|pepper(?![a-z])|hmac(?![a-z])|totp|ssn(?![a-z])|social security(?: number)?|dsn(?![a-z])|cookie[-_ ]?secret"
)
_STEMS = (
    *(
        "pass",
        "pwd",
        "pswd",
        "psswd",
        "pw",
        "kennwort",
        "mot",
        "mdp",
        "contrase",
        "senha",
        "palavra",
        "parol",
        "wachtwoord",
    ),
    *(
        "lösenord",
        "losenord",
        "adgangskode",
        "salasana",
        "hasło",
        "haslo",
        "heslo",
        "jelsz",
        "şifre",
        "sifre",
        "lozinka",
    ),
    *("geslo", "slapta", "parool", "kata", "mật", "mat kh", "парол", "лозинка", "密", "口令", "パスワード", "暗証番号"),
    *(
        "비밀번호",
        "암호",
        "كلمة",
        "סיסמ",
        "κωδικ",
        "รหัส",
        "पासवर्ड",
        "токен",
        "ключ",
        "令牌",
        "トークン",
        "キー",
        "토큰",
        "키",
    ),
    *(
        "secret",
        "token",
        "key",
        "cred",
        "code",
        "pin",
        "schl",
        "clé",
        "cle",
        "jeton",
        "clave",
        "segredo",
        "chiave",
        "llave",
    ),
    *("cvv", "cvc", "otp", "pat", "jwt", "bearer", "auth", "salt", "pepper", "hmac", "ssn", "social", "dsn", "cookie"),
)
"""What every name begins with, in small letters."""
_STEM = re.compile("|".join(map(re.escape, _STEMS)))
_PROSE = (
    r"is|was|are|ist|lautet|war|este|est|était|es|era|fue|é|è|er|är|var|on|jest|to|je|now|become|becomes|became"
    r"|changed to"
    r"|set to|reset to"
    r"|updated to|rotated to|contains|holds|equals|reads|says|gave|returned|should be|will be|remains|stays|будет"
    r"|теперь|это|adalah|là|هي|هو|היא|είναι"
)
_PARTICLE = "は|が|是|为|為|改为|改成|은|는|이|가|คือ|है"
_FILLER = r"(?:\s{1,2}\(?[^\s:=|]{1,40}\)?){0,6}?"
"""Words between a name and its separator, as in `password for the router:`."""
_ASSIGNED = (
    r"(?:[\"']?\s{0,3}[,;]?\s{0,8}(?:- )?[\"']?value[\"']?\s{0,3}[:=]\s{0,3}"  # name: X / value: y
    r"|[\"'`*_)\]\\]{0,4}[ \t]{0,40}\s{0,3}(?:=>|->|:=|=~|={1,3}|[:：＝→](?!:)|\?=|\+=)"
    r"(?:\*\*|__)?\s{0,4}(?:[|>][+-]?\s{1,12})?"
    r"|[\"']?\s{0,3}>\s{0,3}"  # <password>x
    r"|[\"']\s{0,3},\s{0,3}(?=[\"'])"  # ("password", "x")
    r"|[\"']?\s{0,2}[)\]]\s{0,2}[:=]\s{0,2}"  # env["X"] = y
    r"|(?P<call>\(\s{0,2}(?=[\"']))"  # setPassword("x")
    r"|\"\s{0,3}\{[^}]{0,200}?default\s{0,8}=\s{0,4}"  # variable "x" { default = y
    r")"
)
_TOLD = (
    r"[\"'`*_)\]]{0,3}(?:\s{1,3}(?:[-–—|])\s{1,3}"
    rf"|\s{{0,3}}(?:{_PARTICLE})[:：]?\s{{0,3}}"
    rf"|\s{{1,3}}(?:{_PROSE})(?:\s{{1,2}}(?:now|set to|changed to|currently|still|nun|jetzt|maintenant"
    rf"|ahora))?\s{{0,2}}[:：]?\s{{1,3}}"
    r"|\s{0,3}(?:=>|->|={1,2}|[:：→](?!:))\s{0,4})"
)
_VALUE = (
    r"(?:(?:(?:String::from|Secret\w{0,12}(?:::new)?|Buffer\.from|bytes|bytearray|str|(?:base64\.)?b64decode"
    r"|new \w{1,20}|Some|Arc::new)"
    r"\(\s{0,2})?(?:[uUbBrRfF@N]{1,2}(?=[\"']))?(?P<quote>\\?[\"']|`{1,3}"
    r"|&quot;)(?P<quoted>[^\n]{1,400}?)(?<!\\)(?P=quote)"
    r"|[“„«‘「『]\s?(?P<curly>[^\n”“»’」』]{1,200})[”“»’」』]"
    r"|\*{0,2}(?P<raw>[^\s\"'`<>]{2,400}))"
)
_NAME = (
    rf"(?:(?P<strong>{_STRONG})(?P<tail>[A-Za-z0-9_-]{{0,30}}+)|(?P<weak>{_WEAK})(?P<tail2>[A-Za-z0-9_-]{{0,30}}+)"
    rf"|(?P<script>{_SCRIPTS})|(?P<script_token>{_SCRIPTS_FOR_TOKENS}))"
)
_ASSIGNMENT = re.compile(rf"{_NAME}(?P<filler>)(?P<separator>{_ASSIGNED}){_VALUE}", re.IGNORECASE)
"""A name, a separator and a value, as in configuration and code."""
_SENTENCE = re.compile(rf"{_NAME}(?P<filler>{_FILLER})(?P<separator>{_TOLD}){_VALUE}", re.IGNORECASE)
"""The same with words between, as people write."""
_BARE = re.compile(
    rf"(?:{_STRONG}|{_SCRIPTS})\s{{1,2}}(?:(?:for|of|от|для|für|du|de|del|da|do|di)\s(?:the\s|den\s|der\s|le\s"
    rf"|la\s)?\S{{2,30}}\s)?"
    r"[\"'`(]?(?P<value>[^\s\"'`<>()]{6,60})",
    re.IGNORECASE,
)
"""A password right after its name, with nothing between: `password hunter2`, `ENV DB_PASSWORD hunter2`."""
_BARE_HEX = re.compile(
    r"(?:token|key|secret)[\s:=`\"'(]{1,3}(?P<value>[0-9a-f]{32,64}"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![\w-])",
    re.IGNORECASE,
)

_OTHER_KEY_BEFORE = re.compile(
    r"(?:public|primary|foreign|cache|object|partition|sort|row|index|host|gpg|pgp|ssh|idempotency|page|next"
    r"|continuation|sync|routing"
    r"|dedup|lookup|map|hash|s3|storage|the|a|this|that|each|first|last|same|registry|publishable|site)[-_ ]?\Z",
    re.IGNORECASE,
)
READ_AT_LEAST = 100_000
READ_PER_CHARACTER = 2
TRY_COSTS = 80
"""How much may be read for names, in characters: each try costs these and what it reads.

Prose and code name a secret once in forty characters at most and stay far below; only a text that was written to take
long is not read to its end.
"""
_BEFORE = re.compile(r"[A-Za-z0-9_.$-]{0,40}\Z")
_RESOURCE = re.compile(r"\barn:[\w:/-]*\Z")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_PUBLIC = frozenset({"public", "publishable", "pub"})
"""Parts of a name which mean that a key or token is public, at any position in the name."""
_OTHER_KEYS = words(
    """max min num total input output prompt completion next page continuation sync cache primary foreign partition
    sort row object s3 idempotency dedup deduplication routing hash range cursor pad eos bos unk sep cls mask
    special stop count n avg mean used per site i18n translation locale message react dict map lookup group join
    cancellation design tokenizer legend answer arrow enter hot short function keyboard registry index unique
    natural surrogate composite candidate search query metric event topic record document bucket blob lock sorting
    order result type var sub config data field column table param option attribute attr item list node state
    context metadata tag label status error first last left right up down home end delete escape tab shift ctrl
    control alt command the a any each every this that one by of with for no same new old extra client-token start"""
)
"""Words before `key`, `token` or `code` that say that it is none of the secret kind."""
_KEY_OF = re.compile(
    r"(?:api|access|auth|private|signing|encryption|secret|shared|account|service|deploy|webhook|session|app"
    r"|application|admin|write"
    r"|read|root|storage|host|subscription|licen[sc]e|product|activation|master|client|consumer|server|hmac|aes|jwt"
    r"|project|bot|maps"
    r"|developer|team|workspace|integration|ingest|deployment|recovery|vault|unseal|ssh|gpg|pgp|wifi|wpa|wallet"
    r"|signature|decryption"
    r"|crypto|tls|ssl|rsa|ecdsa|cipher|stripe|openai|sendgrid|algolia|mailgun|twilio|datadog)['’]?s?[-_. ]?\Z",
    re.IGNORECASE,
)
_CODE_OF = re.compile(
    r"(?:pin|pass|access|door|gate|alarm|unlock|entry|recovery|backup|security|auth|authori[sz]ation|invite"
    r"|verification|one[- ]time|login|sms"
    r"|safe|lock|vault|2fa|mfa|otp|tür|garage|keypad|building)[-_ ]?\Z",
    re.IGNORECASE,
)
_OTHER_TAIL = re.compile(
    r"(?:ids?|names?|counts?|types?|len(?:gth)?s?|sizes?|limits?|polic(?:y|ies)|files?|paths?|dirs?|urls?|uris?"
    r"|endpoints?"
    r"|fields?|labels?|hints?|expir(?:y|es|ation|ed|es[-_]?(?:in|at))|ttl|age|min|max|format|regex|pattern|version"
    r"|algorithm"
    r"|alg|managers?|stores?|provider|service|rotation|bucket|refs?|reference|arn|usage|used|budget|index|input"
    r"|placeholder"
    r"|changed|required|enabled|disabled|strength|valid(?:ator|ation|ity)?|check(?:er)?|generator|public|fingerprint"
    r"|prefix"
    r"|suffix|env|vars?|variable|hash(?:es|ed|ing)?|digest|checksum|reset|rate|cost|price|window|per[-_]?\w+|ring"
    r"|words?|board"
    r"|stroke|frame|note|point|ed|less|izer|ization|ize[drs]?|ise[drs]?|ary|ly|ing|tags?|source|scopes?|kind|role"
    r"|title|text"
    r"|message|error|status|state|created|updated|at|on|by|count(?:er)?|list|table|column|map|set|size|class|model"
    r"|schema"
    r"|handler|helper|utils?|tests?|mock|selector|secrets?name|protected|based|entry|entries|auth(?:entication)?|login"
    r"|grant)",
    re.IGNORECASE,
)
_PLAIN_TAIL = re.compile(
    r"(?:[-_]?(?:value|val|prod(?:uction)?|staging|stage|dev(?:elopment)?|live|test|base|base64|b64|plain|raw|text"
    r"|string|str"
    r"|new|old|current|primary|secondary|main|root|admin|db|api|app|\d{1,3}+|pem|hex|confirmation|confirm|again)"
    r"|[-_](?!id|at|on|by|len|ttl|arn|env|var|url|uri|ref|set|tag|map)[a-z]{1,3}\d?+)*",
    re.IGNORECASE,
)
_SECRET_TAIL = re.compile(r"(?:secret|key|token|password|pass|pwd|base)\Z", re.IGNORECASE)
_TAIL_PARTS = re.compile(r"[-_]|(?<=[a-z])(?=[A-Z])")
_CODE_AFTER = re.compile(r"[(\[]|\.[A-Za-z_]+\(")
_SENTENCE_END = re.compile(r"\s{0,2}(?:[.!,;)]|$|\n)")
_SPEAKS_OF_IDS = re.compile(
    r"\bids?\b|uuid|commit|\bsha|digest|checksum|hash|fingerprint|etag|trace|request|version|public|revision|build"
    r"|serial|thumbprint"
    r"|certificate|address|block|transaction|\btx\b|md5",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[#*]?\d{3,8}[#*]?")
_GROUPS = re.compile(r"[A-Za-z0-9]{3,6}(?:-[A-Za-z0-9]{3,6}){1,7}")
_OTHER_CODE = re.compile(
    r"error|status|exit|country|zip|post|area|return|http|promo|source|machine|\bqr\b|bar", re.IGNORECASE
)
_PRODUCT = re.compile(
    r"[vV]?\d[^A-Za-z]*|(?:python|ubuntu|debian|windows|server|db|node|web|host|user|sha|md|bcrypt|utf|https?|ipv"
    r"|oauth|base|argon|ldap"
    r"|version|step|section|chapter|page|line|rfc|es|h|q|t|s|ec)-?\d+.*",
    re.IGNORECASE,
)
_SHORT_MIXTURE = re.compile(r"\d+[a-z]{1,4}|[vV]?\d+(?:\.\d+)*|[A-Z]{2,10}-\d{1,6}|[A-Z]{2,6}\d{1,4}|\d+[-/]\w+")

_AFTER = re.compile(
    r"(?<![^\s\"'`(\[])(?P<value>[A-Za-z0-9!#$%^&*+/=?_.~@-]{8,200})[\"'`)\]]{0,2}[,;]?\s{1,3}(?:(?:is|was|as|=|//|#"
    r"|\(|for|being)\s{1,2})"
    r"(?:the|our|my|a|your|their|its|an)?\s?(?:[\w-]{1,20}\s){0,3}?"
    r"(?:password|passphrase|passcode|passwd|private key|secret key|api key|access key|api token|access token"
    r"|auth token|signing key"
    r"|wifi key|secret|token|key)\b(?!\s(?:to|of|for|in|count|field|id|name|type|must|should|length|policy|hash|bucket"
    r"|is|was|has))",
    re.IGNORECASE,
)
"""A secret before its name: `hunter2 is the password`."""
_LOGIN = re.compile(
    r"\b(?:users?|username|login|log[- ]?in|sign[- ]?in|account|admin|root|deploy|ftp|sftp|vpn|ssh|router|guest|wifi"
    r"|wlan|wi-fi|access|pass(?:word)?s?|pw|creds?"
    r"|benutzer|zugang|konto|usuario|utilisateur)\b",
    re.IGNORECASE,
)
_SLASHED = re.compile(r"(?<![\w/.-])[A-Za-z][\w.@-]{2,40} / ([A-Za-z0-9]{16,64})(?![\w/.-])")
"""A name and a password made by chance: `elastic / ...`."""
_SHAPED = re.compile(
    r"(?<![^\s\"'`(:/|,;=>])(?=[^\s]{0,40}\d)(?=[^\s]{1,40}[!#$%^&*?~])[A-Za-z0-9][A-Za-z0-9!#$%^&*?~+_.-]{6,40}(?![^\s\"'`),.;|])"
)
_SECRET_NAME = re.compile(
    rf"(?:(?P<strong>{_STRONG})|secret|token|key|credentials?|pat|auth|pin|cvv|otp"
    rf"|dsn)(?P<tail>[A-Za-z0-9_-]{{0,30}})\Z",
    re.IGNORECASE,
)
_CANDIDATE = re.compile(r"(?<![\w+/=.~@-])[A-Za-z0-9_+/=.~-]{20,200}+(?![\w@(])")
_NEAR = re.compile(
    r"(?:pass[-_ ]?word|passwd|passphrase|pwd|passwort|kennwort|secret|token|api[-_ ]?key|credential|access[-_ ]?key"
    r"|private[-_ ]?key"
    r"|secret[-_ ]?key|signing[-_ ]?key|license[-_ ]?key|bearer)s?\b"
    r"|(?<!public )(?<!primary )(?<!cache )(?<!foreign )(?<!host )(?<!site )\bkey(?= (?:is )?[\"'`(]?\Z)",
    re.IGNORECASE,
)
_NOT_NEAR = re.compile(
    r"\bid\b|uuid|commit|sha-?\d*\b|digest|checksum|hash|fingerprint|etag|trace|request|version|public|revision|build"
    r"|serial"
    r"|thumbprint|certificate|address|block|transaction|image|tag|file|path|branch|docs?\b|test|class|function|method"
    r"|module"
    r"|package|import|called|named|see\b|table|column|ticket",
    re.IGNORECASE,
)
_FARTHEST = 60
"""Characters between the name of a secret and a random value that belongs to it."""


def may_name(lower: str) -> bool:
    """Whether a text in small letters has a stem of a name in it."""
    return _STEM.search(lower) is not None


_NEARBY_WORDS = frozenset({"pass", "secret", "token", "key", "cred", "pwd", "kennwort", "bearer"})
_NAMES_AFTER = frozenset({"pass", "secret", "token", "key"})
_LOGIN_WORDS = frozenset(
    (
        *("user", "log", "sign", "account", "admin", "root", "deploy", "ftp", "vpn", "ssh", "router", "guest", "wifi"),
        *("wlan", "wi-fi", "access", "pass", "pw", "cred", "benutzer", "zugang", "konto", "usuario", "utilisateur"),
    )
)
WORDS = (*_STEMS, *sorted(_NEARBY_WORDS | _NAMES_AFTER | _LOGIN_WORDS))
"""Without one of these `find_in_words` finds nothing."""
_STEM_SET = frozenset(_STEMS)


def find_in_words(text: str, lower: str, held: Collection[str]) -> Iterator[Finding]:
    """Find secrets by the words around them; `held` are the `WORDS` in a text.

    `lower` is the text in small letters, with the same positions.
    """
    yield from find_named(text, lower, _STEM_SET.intersection(held))
    if not _NEARBY_WORDS.isdisjoint(held):
        yield from find_nearby(text)
    if not _NAMES_AFTER.isdisjoint(held):
        yield from find_before_name(text)
    if not _LOGIN_WORDS.isdisjoint(held):
        yield from find_shaped(text)


def find_named(text: str, lower: str, stems: Collection[str]) -> Iterator[Finding]:
    """Find values whose name marks them as secret, by the stems of names in a text."""
    after = 0
    left = READ_AT_LEAST + READ_PER_CHARACTER * len(text)
    for place in _places(lower, stems):
        if place < after or left <= 0:
            continue
        found, until = _find_value(text, place)
        left -= TRY_COSTS + until - place
        if found is not None:
            after = found.end
            yield found


def find_nearby(text: str) -> Iterator[Finding]:
    """Find random values that follow the name of a secret in the same line, at any place of the sentence."""
    for match in _CANDIDATE.finditer(text):
        # A value right after a separator was looked at by its name.
        if text[max(0, match.start() - 3) : match.start()].rstrip(" \"'`").endswith((":", "=")):
            continue
        value = match[0].rstrip(".")
        longest = max(re.split(r"[/.]", value), key=len)
        if len(longest) < 16 or is_hash_or_uuid(value) or not _is_mixture(longest) or not looks_random(longest):
            continue
        if _follows_word(text, match.start()):
            yield Finding(match.start(), match.start() + len(value), NAMED_SECRET)


def _follows_word(text: str, place: int) -> bool:
    """Whether the name of a secret comes shortly before a place in the same line, without a term for an id between."""
    begin = max(text.rfind("\n", max(0, place - _FARTHEST - 20), place) + 1, place - _FARTHEST - 20)
    words = list(_NEAR.finditer(text, max(0, begin), place))
    return bool(words) and _NOT_NEAR.search(text, words[0].end(), place) is None


def find_before_name(text: str) -> Iterator[Finding]:
    """Find a secret that comes before its name, as in `hunter2 is the password`."""
    for match in _AFTER.finditer(text):
        value = trim(match["value"])
        if _SPEAKS_OF_IDS.search(text, max(0, match.start() - 30), match.start()) or is_placeholder(value):
            continue
        hexadecimal = is_hash_or_uuid(value) and "private" in match[0].lower()
        if hexadecimal or (
            not is_hash_or_uuid(value)
            and not _PRODUCT.fullmatch(value)
            and _unlike_words(value, strong=True)
            and looks_secret(value, strong=True)
        ):
            yield Finding(match.start(), match.start() + len(value), NAMED_SECRET)


def find_after_slash(text: str) -> Iterator[Finding]:
    """Find random values after a slash with blanks around it, as in `anna / x7Kq...`."""
    for match in _SLASHED.finditer(text) if " / " in text else ():
        if _is_mixture(match[1]) and match[1].lower() != match[1] != match[1].upper() and looks_random(match[1]):
            yield Finding(match.start(1), match.end(1), NAMED_SECRET)


def find_shaped(text: str) -> Iterator[Finding]:
    """Find values that look like a password, with letters, digits and marks, after a term for a login."""
    for match in _SHAPED.finditer(text):
        value = trim(match[0])
        begin = max(0, match.start() - 80, text.rfind("\n", max(0, match.start() - 80), match.start()) + 1)
        if (
            _is_password_shaped(value)
            and _LOGIN.search(text, begin, match.start()) is not None
            and not is_placeholder(value)
        ):
            yield Finding(match.start(), match.start() + len(value), NAMED_SECRET)


def value_is_secret(name: str, value: str) -> bool:
    """Whether a value under a name, such as a member of a JSON object, is a secret."""
    found = _SECRET_NAME.search(name)
    if found is None or _is_other_name(name[: found.start()], found[0], found["tail"], weak=found["strong"] is None):
        return False
    return looks_secret(value, strong=found["strong"] is not None, quoted=True)


def _places(lower: str, stems: Collection[str]) -> list[int]:
    """Return the positions of the stems of names, in order."""
    places: set[int] = set()
    for stem in stems:
        place = lower.find(stem)
        while place >= 0:
            places.add(place)
            place = lower.find(stem, place + len(stem))
    return sorted(places)


def _find_value(text: str, place: int) -> tuple[Finding | None, int]:
    """Find the value of the name at a place; also return how far the text was read."""
    assigned = _ASSIGNMENT.match(text, place)
    found = _judge_match(text, place, assigned) if assigned is not None else None
    if found is not None:
        return found, found.end
    told = _SENTENCE.match(text, place)
    if told is not None and (assigned is None or told.end("separator") != assigned.end("separator")):
        found = _judge_match(text, place, told)
    until = max(match.end() if match is not None else place for match in (assigned, told))
    return found or _find_bare(text, place), until


def _judge_match(text: str, place: int, match: re.Match[str]) -> Finding | None:
    name = match["strong"] or match["weak"] or match["script"] or match["script_token"]
    weak = match["weak"] is not None
    if weak and not _names_secret(text, place, name):
        return None
    tail = match["tail"] or match["tail2"] or ""
    if _is_other_name(_identifier_before(text, place), name, tail, weak=weak):
        return None
    filler = match["filler"]
    if filler and _OTHER_TAIL.fullmatch(filler.split()[0].strip("()")):
        return None
    if _RESOURCE.search(text, max(0, place - 100), place):
        return None
    return _judge_value(text, match, name)


def _judge_value(text: str, match: re.Match[str], name: str) -> Finding | None:
    group = next(group for group in ("quoted", "curly", "raw") if match[group] is not None)
    start, end = match.span(group)
    value = match[group]
    if group == "raw":
        value = _cut(value, match["separator"])
        end = start + len(value)
        if not value or _CODE_AFTER.match(text, end):
            return None
    strong = match["strong"] is not None or match["script"] is not None
    prose = match.re is _SENTENCE
    quoted = group != "raw"
    if not prose and match["call"] is not None and not (strong and _unlike_words(value, strong=True)):
        return None
    if prose and name.lower() in {"pass", "pw"} and not _unlike_words(value, strong=True):
        # "pass to", "pass is": a verb more often than a password.
        return None
    sound = (
        _accepts_in_prose(name, value, match["filler"], strong=strong, quoted=quoted, followed=text[end : end + 3])
        if prose
        else _accepts(name, value, strong=strong, quoted=quoted)
    )
    return Finding(start, start + len(value.rstrip()), NAMED_SECRET) if sound else None


def _find_bare(text: str, place: int) -> Finding | None:
    match = _BARE.match(text, place)
    if match is not None:
        value = trim(match["value"])
        mixed = any(letter.isdigit() for letter in value) and any(letter.isalpha() for letter in value)
        if (
            mixed
            and not _PRODUCT.fullmatch(value)
            and looks_secret(value, strong=True)
            and _unlike_words(value, strong=True)
        ):
            return Finding(match.start("value"), match.start("value") + len(value), NAMED_SECRET)
    match = _BARE_HEX.match(text, place)
    if match is None:
        return None
    before = text[max(0, place - 24) : place]
    if before[-1:].isalpha() or _OTHER_KEY_BEFORE.search(before) is not None:
        return None
    return Finding(match.start("value"), match.end("value"), NAMED_SECRET)


def _identifier_before(text: str, place: int) -> str:
    found = _BEFORE.search(text, max(0, place - 40), place)
    return found[0] if found is not None else ""


def _names_secret(text: str, place: int, name: str) -> bool:
    """Whether a weak name is one: not every key is a secret, nor every code, nor `pin` inside `shopping`."""
    lower = name.lower()
    before = text[max(0, place - 24) : place]
    if lower.startswith("key"):
        part = before[-1:] == "_" or (before[-1:] == "-" and before[-2:-1].isalnum())
        camel = name[0] == "K" and before[-1:].isalpha() and before[-1:].islower()
        return part or camel or _KEY_OF.search(before) is not None
    if lower.startswith("code"):
        return _CODE_OF.search(before) is not None
    if lower.startswith(("pin", "pat", "otp", "ssn", "dsn", "salt", "auth", "cle", "cv", "clé")):
        return not before[-1:].isalpha()
    return True


def _is_other_name(prefix: str, name: str, tail: str, *, weak: bool) -> bool:
    """Whether the text around a name shows that it is public, a key of another kind, or only mentions a secret."""
    words = [word.lower() for word in _PARTS.findall(prefix)]
    if not _PUBLIC.isdisjoint(words) or (weak and words and words[-1] in _OTHER_KEYS):
        return True
    if not tail:
        return False
    if tail.lower() == "s":
        return name.lower() in {"token", "key", "jwt", "code"}
    if _PLAIN_TAIL.fullmatch(tail) or _SECRET_TAIL.search(tail):
        return False
    glued = not tail.startswith(("_", "-")) and not tail[0].isupper()
    return glued or _OTHER_TAIL.fullmatch(_TAIL_PARTS.split(tail)[-1]) is not None


def _accepts(name: str, value: str, *, strong: bool, quoted: bool) -> bool:
    """Whether a value that is assigned to a name is a secret."""
    lower = name.lower()
    if lower.startswith(("ssn", "social")):
        return re.fullmatch(r"\d{3}-\d{2}-\d{4}|\d{9}", value) is not None
    if lower.startswith(("code", "pin", "cv", "otp")) and (_NUMBER.fullmatch(value) or _GROUPS.fullmatch(value)):
        return any(letter.isdigit() for letter in value)
    if is_hash_or_uuid(value):
        return (len(value) >= 32 or strong) and not is_placeholder(value)
    return looks_secret(value, strong=strong, quoted=quoted)


def _accepts_in_prose(name: str, value: str, filler: str, *, strong: bool, quoted: bool, followed: str) -> bool:
    """Whether a value in a sentence is a secret."""
    if _SPEAKS_OF_IDS.search(filler) or (_OTHER_CODE.search(filler) and name.lower().startswith("code")):
        return False
    if is_hash_or_uuid(value):
        return len(filler.split()) <= 3 and _accepts(name, value, strong=strong, quoted=quoted)
    if _accepts(name, value, strong=strong, quoted=quoted):
        numbered = name.lower().startswith(("code", "pin", "cv", "otp", "ssn", "social"))
        if quoted or numbered or _unlike_words(value, strong=strong):
            return True
    plain = value.rstrip("!")
    told = strong and not filler.strip() and len(plain) >= 6 and plain.isalpha()
    return told and not says_nothing(plain) and not is_placeholder(plain) and _SENTENCE_END.match(followed) is not None


def _unlike_words(value: str, *, strong: bool) -> bool:
    """Whether a value in a sentence is not prose: it has digits and letters, or marks within."""
    digits = any(letter.isdigit() for letter in value)
    letters = any(letter.isalpha() for letter in value)
    if value.isdigit():
        return strong and len(value) >= 4
    if digits and letters:
        # "within 24h", "on 3rd", "v2": short mixtures are words; a password of a sentence is longer.
        return len(value) >= 6 and not _SHORT_MIXTURE.fullmatch(value)
    if letters and any(letter in "!@#$%^&*+=~?" for letter in value.rstrip("?!")):
        return strong and len(value) >= 6 and "@" not in value.strip("@")
    return strong and letters and value.count("-") >= 3


def _is_password_shaped(value: str) -> bool:
    """Whether a value has letters, digits and marks as passwords do, and is not arithmetic, a path or a fragment."""
    letters = sum(letter.isalpha() for letter in value)
    digits = sum(letter.isdigit() for letter in value)
    marks = [letter for letter in value if letter in "!#$%^&*?~"]
    return (
        len(value) >= 7
        and letters >= 3
        and digits >= 1
        and bool(marks)
        and not re.search(r"^\w+\?\w+=|[#?]\w+$|%\d\d|\*\*|\.\w+#", value)
    )


def _is_mixture(value: str) -> bool:
    digits = sum(letter.isdigit() for letter in value)
    return (
        digits >= 2
        and any(letter.isalpha() for letter in value)
        and not re.fullmatch(r"[a-z]+(?:[-_][a-z0-9]+)+", value)
    )


def _cut(value: str, separator: str) -> str:
    """Cut what belongs to the sentence or the line of configuration rather than to the value."""
    if "=" in separator:
        cut = re.search(r";(?=\s*[A-Za-z ]{2,40}=)|&(?=[A-Za-z_]{1,40}=)|;$", value)
        value = value[: cut.start()] if cut else value
    return trim(value.split("\\n", 1)[0]).rstrip("\\")
