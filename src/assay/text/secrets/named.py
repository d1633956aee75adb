"""Secrets that their name gives away: `DB_PASSWORD=...`, `"token": "..."`, "the password for the router is ...".

Names are found by their stems, such as `pass` or `token`; only there the patterns are tried. A name is *strong* when it
leaves no doubt (`password`): then a plain or short value counts too. In a sentence, a value must look unlike a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.text.secrets.placeholders import (
    is_hash_or_uuid,
    is_placeholder,
    looks_random,
    looks_secret,
    says_nothing,
    trim,
)
from assay.text.secrets.rule import NAMED_SECRET, Finding

_STRONG = (
    r"pass[-_ ]?words?|passwd|pass[-_ ]?phrase|pass[-_ ]?code|passkey|passwort|passord|pass(?![a-z])|pwd|pswd|psswd|pw(?![a-z])"
    r"|kennwort|mot[-_ ]de[-_ ]passe|mdp(?![a-z])|contrase[ñn]a|senha|palavra[-_ ]passe|parola[-_ ](?:d'ordine|chiave)|wachtwoord"
    r"|l[öo]senord|adgangskode|salasana|has[łl]o|heslo|jelsz[óo]|parol[ăae]?(?![a-z])|[şs]ifre(?:si)?|lozinka|geslo"
    r"|slapta[žz]odis|parool|kata[-_ ]sandi|m[ậa]t[-_ ]kh[ẩa]u"
)
_SCRIPTS = (
    r"парол[ьяюе]?м?|лозинка|密码|密碼|口令|パスワード|暗証番号|비밀번호|암호|كلمة (?:المرور|السر)|סיסמ[הא]|κωδικό?ς?"
    r"|รหัสผ่าน|पासवर्ड"
)
_SCRIPTS_FOR_TOKENS = r"токен|ключ|密钥|密鑰|令牌|トークン|キー|토큰|키"
_WEAK = (
    r"secret|token|key|credentials?|creds|code|pin(?![a-z])|schl(?:ü|ue|u)ssel|cl[ée][-_ ](?:d')?(?:api|secr[èe]te|priv[ée]e)|jeton"
    r"|clave|segredo|chiave|llave|cvv2?|cvc2?|otp|pat(?![a-z])|jwt|bearer|auth(?:orization)?(?![a-z])|salt(?![a-z])"
    r"|pepper(?![a-z])|hmac(?![a-z])|totp|ssn(?![a-z])|social security(?: number)?|dsn(?![a-z])|cookie[-_ ]?secret"
)
_STEMS = (
    *("pass", "pwd", "pswd", "psswd", "pw", "kennwort", "mot", "mdp", "contrase", "senha", "palavra", "parol", "wachtwoord"),
    *("lösenord", "losenord", "adgangskode", "salasana", "hasło", "haslo", "heslo", "jelsz", "şifre", "sifre", "lozinka"),
    *("geslo", "slapta", "parool", "kata", "mật", "mat kh", "парол", "лозинка", "密", "口令", "パスワード", "暗証番号"),
    *("비밀번호", "암호", "كلمة", "סיסמ", "κωδικ", "รหัส", "पासवर्ड", "токен", "ключ", "令牌", "トークン", "キー", "토큰", "키"),
    *("secret", "token", "key", "cred", "code", "pin", "schl", "clé", "cle", "jeton", "clave", "segredo", "chiave", "llave"),
    *("cvv", "cvc", "otp", "pat", "jwt", "bearer", "auth", "salt", "pepper", "hmac", "ssn", "social", "dsn", "cookie"),
)
"""What every name begins with, in small letters."""
_PROSE = (
    r"is|was|are|ist|lautet|war|est|était|es|era|fue|é|è|er|är|var|on|jest|to|je|now|become|becomes|became|changed to|set to|reset to"
    r"|updated to|rotated to|будет|теперь|это|adalah|là|هي|هو|היא|είναι"
)
_PARTICLE = "は|が|是|为|為|改为|改成|은|는|이|가|คือ|है"
_FILLER = r"(?:\s{1,2}\(?[^\s:=|]{1,40}\)?){0,6}?"
"""Words between a name and its separator, as in `password for the router:`."""
_SEPARATOR = (
    r"(?:[\"']?\s{0,3}[,;]?\s{0,8}(?:- )?[\"']?value[\"']?\s{0,3}[:=]\s{0,3}"  # name: X / value: y
    r"|[\"'`*_)\]\\]{0,4}\s{0,3}(?:=>|->|:=|=~|={1,3}|[:：＝→](?!:)|\?=|\+=)(?:\*\*|__)?\s{0,4}(?:[|>][+-]?\s{1,12})?"
    r"|(?P<dash>[\"'`*_)\]]{0,3}\s{1,3}(?:[-–—|])\s{1,3})"
    rf"|(?P<particle>[\"'`*_)\]]{{0,3}}\s{{0,3}}(?:{_PARTICLE})[:：]?\s{{0,3}})"
    rf"|(?P<verb>[\"'`*_)\]]{{0,3}}\s{{1,3}}(?:{_PROSE})(?:\s{{1,2}}(?:now|set to|changed to|currently|still|nun|jetzt|maintenant|ahora))?"
    r"\s{0,2}[:：]?\s{1,3})"
    r"|[\"']?\s{0,3}>\s{0,3}"  # <password>x
    r"|[\"']\s{0,3},\s{0,3}(?=[\"'])"  # ("password", "x")
    r"|[\"']?\s{0,2}[)\]]\s{0,2}[:=]\s{0,2}"  # env["X"] = y
    r")"
)
_VALUE = (
    r"(?:(?:[uUbBrRfF@N]{1,2}(?=[\"']))?(?P<quote>\\?[\"']|`{1,3}|&quot;)(?P<quoted>[^\n]{1,400}?)(?<!\\)(?P=quote)"
    r"|[“„«‘「『]\s?(?P<curly>[^\n”“»’」』]{1,200})[”“»’」』]"
    r"|\*{0,2}(?P<raw>[^\s\"'`<>]{2,400}))"
)
_NAMED = re.compile(
    rf"(?:(?P<strong>{_STRONG})(?P<tail>[A-Za-z0-9_-]{{0,30}}+)|(?P<weak>{_WEAK})(?P<tail2>[A-Za-z0-9_-]{{0,30}}+)"
    rf"|(?P<script>{_SCRIPTS})|(?P<script_token>{_SCRIPTS_FOR_TOKENS}))(?P<filler>{_FILLER})(?P<separator>{_SEPARATOR}){_VALUE}",
    re.IGNORECASE,
)
_BARE = re.compile(
    rf"(?:{_STRONG}|{_SCRIPTS})\s{{1,2}}(?:(?:for|of|от|для|für|du|de|del|da|do|di)\s(?:the\s|den\s|der\s|le\s|la\s)?\S{{2,30}}\s)?"
    r"[\"'`(]?(?P<value>[^\s\"'`<>()]{6,60})",
    re.IGNORECASE,
)
"""A password right after its name, with nothing between: `password hunter2`, `ENV DB_PASSWORD hunter2`."""
_BARE_HEX = re.compile(
    r"(?:token|key|secret)[\s:=`\"'(]{1,3}(?P<value>[0-9a-f]{32,64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![\w-])",
    re.IGNORECASE,
)

_BEFORE = re.compile(r"[A-Za-z0-9_.$-]{0,40}\Z")
_RESOURCE = re.compile(r"\barn:[\w:/-]*\Z")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_PUBLIC = frozenset({"public", "publishable", "pub"})
"""Words that make a key or token one that everybody may see, wherever they stand in its name."""
_OTHER_KEYS = frozenset(
    """max min num total input output prompt completion next page continuation sync cache primary foreign partition sort
    row object s3 idempotency dedup deduplication routing hash range cursor pad eos bos unk sep cls mask special stop
    count n avg mean used per site i18n translation locale message react dict map lookup group join cancellation design
    tokenizer legend answer arrow enter hot short function keyboard registry index unique natural surrogate composite
    candidate search query metric event topic record document bucket blob lock sorting order result type var sub config
    data field column table param option attribute attr item list node state context metadata tag label status error
    first last left right up down home end delete escape tab shift ctrl control alt command the a any each every this
    that one by of with for no same new old extra client-token start""".split()
)
"""Words before `key`, `token` or `code` that say that it is none of the secret kind."""
_KEY_OF = re.compile(
    r"(?:api|access|auth|private|signing|encryption|secret|shared|account|service|deploy|webhook|session|app|application|admin|write"
    r"|read|root|storage|host|subscription|licen[sc]e|product|activation|master|client|consumer|server|hmac|aes|jwt|project|bot|maps"
    r"|developer|team|workspace|integration|ingest|deployment|recovery|vault|unseal|ssh|gpg|pgp|wifi|wpa|wallet|signature|decryption"
    r"|crypto|tls|ssl|rsa|ecdsa|cipher|stripe|openai|sendgrid|algolia|mailgun|twilio|datadog)['’]?s?[-_ ]?\Z",
    re.IGNORECASE,
)
_CODE_OF = re.compile(
    r"(?:pin|pass|access|door|gate|alarm|unlock|entry|recovery|backup|security|auth|authori[sz]ation|invite|verification|one[- ]time|login|sms"
    r"|safe|lock|vault|2fa|mfa|otp|tür|garage|keypad|building)[-_ ]?\Z",
    re.IGNORECASE,
)
_OTHER_TAIL = re.compile(
    r"(?:ids?|names?|counts?|types?|len(?:gth)?s?|sizes?|limits?|polic(?:y|ies)|files?|paths?|dirs?|urls?|uris?|endpoints?"
    r"|fields?|labels?|hints?|expir(?:y|es|ation|ed|es[-_]?(?:in|at))|ttl|age|min|max|format|regex|pattern|version|algorithm"
    r"|alg|managers?|stores?|provider|service|rotation|bucket|refs?|reference|arn|usage|used|budget|index|input|placeholder"
    r"|changed|required|enabled|disabled|strength|valid(?:ator|ation|ity)?|check(?:er)?|generator|public|fingerprint|prefix"
    r"|suffix|env|vars?|variable|hash(?:es|ed|ing)?|digest|checksum|reset|rate|cost|price|window|per[-_]?\w+|ring|words?|board"
    r"|stroke|frame|note|point|ed|less|izer|ization|ize[drs]?|ise[drs]?|ary|ly|ing|tags?|source|scopes?|kind|role|title|text"
    r"|message|error|status|state|created|updated|at|on|by|count(?:er)?|list|table|column|map|set|size|class|model|schema"
    r"|handler|helper|utils?|tests?|mock|selector|secrets?name|protected|based|entry|entries|auth(?:entication)?|login|grant)",
    re.IGNORECASE,
)
_PLAIN_TAIL = re.compile(
    r"(?:[-_]?(?:value|val|prod(?:uction)?|staging|stage|dev(?:elopment)?|live|test|base|base64|b64|plain|raw|text|string|str"
    r"|new|old|current|primary|secondary|main|root|admin|db|api|app|\d{1,3}|pem|hex|confirmation|confirm|again)"
    r"|[-_](?!id|at|on|by|len|ttl|arn|env|var|url|uri|ref|set|tag|map)[a-z]{1,3}\d?)*",
    re.IGNORECASE,
)
_SECRET_TAIL = re.compile(r"(?:secret|key|token|password|pass|pwd|base)\Z", re.IGNORECASE)
_TAIL_PARTS = re.compile(r"[-_]|(?<=[a-z])(?=[A-Z])")
_CODE_AFTER = re.compile(r"[(\[]|\.[A-Za-z_]+\(")
_SENTENCE_END = re.compile(r"\s{0,2}(?:[.!,;)]|$|\n)")
_SPEAKS_OF_IDS = re.compile(
    r"\bids?\b|uuid|commit|\bsha|digest|checksum|hash|fingerprint|etag|trace|request|version|public|revision|build|serial|thumbprint"
    r"|certificate|address|block|transaction|\btx\b|md5",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[#*]?\d{3,8}[#*]?")
_GROUPS = re.compile(r"[A-Za-z0-9]{3,6}(?:-[A-Za-z0-9]{3,6}){1,7}")
_OTHER_CODE = re.compile(r"error|status|exit|country|zip|post|area|return|http|promo|source|machine|\bqr\b|bar", re.IGNORECASE)
_PRODUCT = re.compile(
    r"[vV]?\d[^A-Za-z]*|(?:python|ubuntu|debian|windows|server|db|node|web|host|user|sha|md|bcrypt|utf|https?|ipv|oauth|base|argon|ldap"
    r"|version|step|section|chapter|page|line|rfc|es|h|q|t|s|ec)-?\d+.*",
    re.IGNORECASE,
)
_SHORT_MIXTURE = re.compile(r"\d+[a-z]{1,4}|[vV]?\d+(?:\.\d+)*|[A-Za-z]+-\d{1,6}|[A-Z]{2,6}\d{1,4}|\d+[-/]\w+")

_SECRET_NAME = re.compile(
    rf"(?:(?P<strong>{_STRONG})|secret|token|key|credentials?|pat|auth|pin|cvv|otp|dsn)(?P<tail>[A-Za-z0-9_-]{{0,30}})\Z", re.IGNORECASE
)
_CANDIDATE = re.compile(r"(?<![\w+/=.~@-])[A-Za-z0-9_+/=.~-]{20,200}+(?![\w@(])")
_NEAR = re.compile(
    r"(?:pass[-_ ]?word|passwd|passphrase|pwd|passwort|kennwort|secret|token|api[-_ ]?key|credential|access[-_ ]?key|private[-_ ]?key"
    r"|secret[-_ ]?key|signing[-_ ]?key|license[-_ ]?key|bearer)s?\b"
    r"(?![^\n]{0,100}(?:\bid\b|uuid|commit|sha-?\d*\b|digest|checksum|hash|fingerprint|etag|trace|request|version|public|revision"
    r"|build|serial|thumbprint|certificate|address|block|transaction|image|tag|file|path|branch|docs?\b|test|class|function"
    r"|method|module|package|import|called|named|see\b|table|column|ticket))[^\n]{0,60}\Z",
    re.IGNORECASE,
)


def find_named(text: str, lower: str) -> Iterator[Finding]:
    """Find values whose name says that they are secret; `lower` is the text in small letters, each in its place."""
    after = 0
    for place in _places(lower):
        if place < after:
            continue
        found = _find_value(text, place) or _find_bare(text, place)
        if found is not None:
            after = found.end
            yield found


def find_nearby(text: str, lower: str) -> Iterator[Finding]:
    """Find values made by chance that follow a word for a secret in the same line, wherever in the sentence."""
    if not any(word in lower for word in ("pass", "secret", "token", "key", "cred", "pwd", "kennwort", "bearer")):
        return
    for match in _CANDIDATE.finditer(text):
        # A value right after a separator was looked at by its name.
        if text[max(0, match.start() - 3) : match.start()].rstrip(" \"'`").endswith((":", "=")):
            continue
        value = match[0].rstrip(".")
        longest = max(re.split(r"[/.]", value), key=len)
        if len(longest) < 16 or is_hash_or_uuid(value) or not _is_mixture(longest) or not looks_random(longest):
            continue
        begin = max(text.rfind("\n", 0, match.start()) + 1, match.start() - 120)
        if _NEAR.search(text[begin : match.start()]) is not None:
            yield Finding(match.start(), match.start() + len(value), NAMED_SECRET)


def value_is_secret(name: str, value: str) -> bool:
    """Whether a value under a name, such as a member of a JSON object, is a secret."""
    found = _SECRET_NAME.search(name)
    if found is None or _is_other_name(name[: found.start()], found[0], found["tail"], weak=found["strong"] is None):
        return False
    return looks_secret(value, strong=found["strong"] is not None, quoted=True)


def _places(lower: str) -> list[int]:
    """Where a stem of a name stands, in order."""
    places: set[int] = set()
    for stem in _STEMS:
        place = lower.find(stem)
        while place >= 0:
            places.add(place)
            place = lower.find(stem, place + len(stem))
    return sorted(places)


def _find_value(text: str, place: int) -> Finding | None:
    match = _NAMED.match(text, place)
    if match is None:
        return None
    name = match["strong"] or match["weak"] or match["script"] or match["script_token"]
    filler = match["filler"]
    if match["weak"] is None or _names_secret(text, place, name):
        prefix = _identifier_before(text, place)
        tail = match["tail"] or match["tail2"] or ""
        if _is_other_name(prefix, name, tail, weak=match["weak"] is not None):
            return None
    else:
        return None
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
    prose = bool(match["filler"] or match["dash"] or match["particle"] or match["verb"])
    quoted = group != "raw"
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
        if mixed and not _PRODUCT.fullmatch(value) and looks_secret(value, strong=True) and _unlike_words(value, strong=True):
            return Finding(match.start("value"), match.start("value") + len(value), NAMED_SECRET)
    match = _BARE_HEX.match(text, place)
    if match is None:
        return None
    name = match[0][:6]
    if not _names_secret(text, place, name) or _is_other_name(_identifier_before(text, place), name, "", weak=True):
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
    """Whether the words around a name say that it is public, a key of another kind, or only speaks of a secret."""
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
    if is_placeholder(value):
        return False
    lower = name.lower()
    if lower.startswith(("ssn", "social")):
        return re.fullmatch(r"\d{3}-\d{2}-\d{4}|\d{9}", value) is not None
    if lower.startswith(("code", "pin", "cv", "otp")) and (_NUMBER.fullmatch(value) or _GROUPS.fullmatch(value)):
        return any(letter.isdigit() for letter in value)
    if is_hash_or_uuid(value):
        return len(value) >= 32 or strong
    return looks_secret(value, strong=strong, quoted=quoted)


def _accepts_in_prose(name: str, value: str, filler: str, *, strong: bool, quoted: bool, followed: str) -> bool:
    """Whether a value that a sentence tells is a secret."""
    if _SPEAKS_OF_IDS.search(filler) or (_OTHER_CODE.search(filler) and name.lower().startswith("code")):
        return False
    if is_hash_or_uuid(value):
        return len(filler.split()) <= 3 and _accepts(name, value, strong=strong, quoted=quoted)
    if _accepts(name, value, strong=strong, quoted=quoted):
        numbered = name.lower().startswith(("code", "pin", "cv", "otp", "ssn", "social"))
        if quoted or numbered or _unlike_words(value, strong=strong):
            return True
    plain = value.rstrip("!")
    told = strong and not filler.strip() and plain.isalpha() and len(plain) >= 6
    return told and not says_nothing(plain) and _SENTENCE_END.match(followed) is not None


def _unlike_words(value: str, *, strong: bool) -> bool:
    """Whether a value in a sentence is no word of it: it has digits and letters, or marks within."""
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


def _is_mixture(value: str) -> bool:
    digits = sum(letter.isdigit() for letter in value)
    return digits >= 2 and any(letter.isalpha() for letter in value) and not re.fullmatch(r"[a-z]+(?:[-_][a-z0-9]+)+", value)


def _cut(value: str, separator: str) -> str:
    """Cut what belongs to the sentence or the line of configuration rather than to the value."""
    if "=" in separator:
        cut = re.search(r";(?=\s*[A-Za-z ]{2,40}=)|&(?=[A-Za-z_]{1,40}=)|;$", value)
        value = value[: cut.start()] if cut else value
    return trim(value.split("\\n", 1)[0]).rstrip("\\")
