"""Rules that find secrets, and the check whether a value can be a secret at all.

- Rules and their findings.
- Placeholders, variables, code and words that are not secrets.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

# --- Rules and their findings ---
#
# A rule has a kind (the words that stand in the mask), anchors (a text that holds none of them is not looked at any
# further), a pattern, the group of the pattern that is the secret, and optionally a check such as a checksum.
#
# Patterns are bounded everywhere, so that no text costs more than a constant for each of its characters.

NAMED_SECRET = "named secret"  # noqa: S105 - the name of a kind
"""The kind of a value that only its name gives away."""
ESCAPES = "nrt"
"""Letters that end a written escape: in `\\nghp_...` the token begins after the `n`."""


class Finding(NamedTuple):
    """A secret in a text: where it begins, where it ends and what it is."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Prefixed:
    """A secret that begins with a fixed text, such as `ghp_`. Case matters."""

    kind: str
    prefix: str
    pattern: str
    """Matched at the prefix; its group 1, or all of it, is the secret."""
    check: Callable[[str], bool] | None = None
    inside_words: bool = False
    """Whether a letter or digit may stand before the prefix."""

    def find(self, text: str) -> Iterator[Finding]:
        """Find every secret of this kind."""
        pattern = compile_pattern(self.pattern, 0)
        place = text.find(self.prefix)
        while place >= 0:
            after = place + 1
            match = pattern.match(text, place) if self.inside_words or begins_word(text, place) else None
            if match is not None:
                after = match.end()
                group = match.lastindex or 0
                if self.check is None or self.check(match[group]):
                    yield Finding(match.start(group), match.end(group), self.kind)
            place = text.find(self.prefix, after)


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchRule:
    """A secret that its surroundings give away."""

    kind: str
    anchors: tuple[str, ...]
    """In small letters; case does not matter. A text that holds none of them is not looked at any further."""
    pattern: str
    """Each of its groups that took part in the match is a secret; without groups, all of it."""
    flags: int = re.IGNORECASE
    check: Callable[[str], bool] | None = None
    begins: bool = False
    """Whether every match begins with an anchor, so that the pattern need not be tried anywhere else."""
    needs: str = ""
    """A pattern without which no text holds the secret: searched once before the anchors are looked at."""
    stride: int = 1
    """Characters after a failed try in which no other is made: a pattern that reads on to the end of a line has it."""

    def find(self, text: str, lower: str) -> Iterator[Finding]:
        """Find every secret of this kind; `lower` is the text in small letters, character by character."""
        held = [anchor for anchor in self.anchors if anchor in lower]
        if not held or (self.needs and compile_pattern(self.needs, 0).search(text) is None):
            return
        pattern = compile_pattern(self.pattern, self.flags)
        matches = self._match_at(pattern, held, text, lower) if self.begins else pattern.finditer(text)
        for match in matches:
            for group in range(1, match.re.groups + 1) or (0,):
                if match[group] and (self.check is None or self.check(match[group])):
                    yield Finding(match.start(group), match.end(group), self.kind)

    def _match_at(self, pattern: re.Pattern[str], anchors: list[str], text: str, lower: str) -> Iterator[re.Match[str]]:
        for anchor in anchors:
            place = lower.find(anchor)
            while place >= 0:
                match = pattern.match(text, place)
                if match is not None:
                    yield match
                place = lower.find(anchor, max(match.end(), place + 1) if match is not None else place + self.stride)


@cache
def compile_pattern(pattern: str, flags: int) -> re.Pattern[str]:
    """Compile a pattern of a rule when a text first needs it: most texts need few of them."""
    return re.compile(pattern, flags)


def begins_word(text: str, place: int) -> bool:
    r"""Whether no letter or digit comes right before a place, or only the letter of a written escape such as `\n`."""
    if place == 0:
        return True
    before = text[place - 1]
    if not (before.isascii() and before.isalnum()):
        return True
    return place > 1 and before in ESCAPES and text[place - 2] == "\\"


def search_rule(
    kind: str,
    anchors: str,
    pattern: str,
    *,
    flags: int = re.IGNORECASE,
    check: Callable[[str], bool] | None = None,
    begins: bool = False,
    needs: str = "",
    stride: int = 1,
) -> SearchRule:
    """Make a rule from anchors with a blank between them."""
    return SearchRule(
        kind=kind,
        anchors=tuple(anchors.split()),
        pattern=pattern,
        flags=flags,
        check=check,
        begins=begins,
        needs=needs,
        stride=stride,
    )


def words(text: str) -> frozenset[str]:
    """Return the words of a list that is written with blanks between them."""
    return frozenset(text.split())


def lower_in_place(text: str) -> str:
    """Return a text in small letters, each character in its place, also where its small form is longer."""
    lower = text.lower()
    if lower.isascii():
        return lower
    if len(lower) != len(text):
        lower = "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)
    return lower.replace("\u017f", "s")


# --- Placeholders, variables, code and words that are not secrets ---
#
# Four questions, from the mildest to the strictest: `is_placeholder` (does it stand for a value that is elsewhere),
# `may_be_password` (a place where only a password stands), `looks_secret` (a name says that it is secret),
# `looks_random` (only its letters say so).

_VARIABLE = re.compile(
    r"\$\{|\$\(|\{\{|\}\}|<%|%>|\$\{\{"  # ${X}, $(x), {{ x }}, <%= x %>
    r"|^\$[A-Za-z_][A-Za-z_]*$|^\$[A-Z_][A-Z0-9_]*$|^\$(?:env|ENV|PSScriptRoot|this|self|config|_\w+)\b"
    r"|^%[A-Za-z_]\w*%$|%\([A-Za-z_]\w*\)s|^%[sd]$|^@[A-Z_]+@$|^__\w+__$|^#\{|^:[a-z_]+$|^\?$"
    r"|^(?:process\.env|os\.(?:environ|getenv)|import\.meta|env\.|ENV\[|System\.getenv|getenv|std::env|var\.|local\."
    r"|data\."
    r"|module\.|secrets?\.|vault:|vault\.|ref\+|op://|arn:|ssm:|sm://|keyvault|file:|env:|from_?env|config\."
    r"|settings\.|self\."
    r"|this\.|ctx\.|req\.|request\.|args\.|options\.|params\.|props\.|state\.|user\.|credentials\.|!Ref|!Sub|!GetAtt"
    r"|!vault"
    r"|@Microsoft\.KeyVault|aws-vault|gcp-secret|projects/\w)",
)
_NAMES_A_TOKEN = re.compile(r"[^\s#]{1,200}#t_[0-9A-Z]{26}")
"""How Assay itself names the token of a caller, such as `token:NAME#ID` in the audit log."""
_PUBLIC = re.compile(
    r"pk_(?:live|test)_|pk\.eyJ|ssh-(?:rsa|ed25519|dss)|ecdsa-sha2|AAAA[BCE]3NzaC1|age1[a-z0-9]{50}|MII[A-Z]I?jANBg"
    r"|-----BEGIN (?:PUBLIC|CERT)"
)
_HIDDEN = re.compile(
    r"\*{3}|\.{3}|…|•{2}|●{2}|x{4}|X{4}|_{4}|#{4}|\?{3}|^-{2,}$|^\[.{0,40}\]$|^<.{0,80}>$|^\(.{0,40}\)$|^\{.{0,60}\}$"
)
_STAND_IN = re.compile(
    r"(?:^|[^a-z])(?:your|my[-_ ]?(?:secret|password|token|api|key)|replace|change[-_ ]?(?:me|this)|insert|enter"
    r"|placeholder|redacted|masked|removed"
    r"|omitted|dummy|example|sample|todo|tbd|fixme|fill[-_ ]?(?:me|in)|goes[-_ ]?here|here$|not[-_ ]?(?:set|shown|real"
    r"|a[-_ ]real)|n/a|secret[-_ ]?here|put[-_ ]?your"
    r"|to[-_ ]be|set[-_ ]?me|unset|undefined|some[-_ ]?(?:secret|password|token|key|value)|fake|foo(?:bar)?$)",
    re.IGNORECASE,
)
_WORDS_ALONE = words(
    """password passwd passphrase passcode pass pwd secret secrets token tokens key keys apikey credential credentials
    none null nil true false yes no on off string str text int integer number bool boolean bytes float object any
    void optional required changeme default value empty blank unknown undefined auto generated random encrypted
    hashed plain plaintext hidden hash salt hmac basic bearer digest oauth jwt uuid user username admin_password
    login email name file env environment variable config settings vault keychain keyring prompt stdin interactive
    manual static dynamic public private internal external local remote current old new same different wrong right
    correct incorrect invalid valid missing present stored kept saved set unset given provided supplied rotated
    expired revoked leaked shared safe strong weak long short base64 hex utf-8 ascii sha256 sha512 md5 bcrypt argon2
    scrypt aes rsa ed25519 hs256 rs256 todo tbd example sample test testing dummy fake mock stub foo bar baz foobar
    qux redacted masked removed omitted readonly read write admin root guest anonymous everyone nobody x n/a na see
    ask use the a an is are was not in at to of for and or with from by it its this that these those your my our
    their his her only never always still also just now then when where which who how what why because if unless
    until must should can may will would could about after before between during under over above below into onto
    out up down copied sent written typed pasted entered asked read shown printed logged checked tested verified
    validated changed reset updated deleted created made used reused known forgotten lost found hard-coded hardcoded
    embedded inside yours mine ours theirs here there everywhere nowhere somewhere elsewhere nothing something
    everything anything ready simple complex good bad better best fine okay ok enough sufficient limited unlimited
    nullable deprecated bearertoken accesstoken refreshtoken idtoken apitoken sessiontoken authtoken authorization
    authentication expression literal parameter argument property attribute field column header cookie query body
    form param list dict array map tuple enum class function method module import return self cls async await const
    let var def function lambda new static final public protected abstract plain-text clear-text cleartext opaque
    tls-secret service-account kubernetes docker github gitlab aws azure gcp"""
)
_ENDS_LIKE_PROSE = re.compile(r"(?:ed|ing|able|ible|ful|less|ly|ive|tion|ment|ness|ity|ous|ised|ized)$")
_IDENTIFIER = re.compile(
    r"[A-Za-z_][A-Za-z_]*(?:(?:\.|::|->)[A-Za-z_][A-Za-z_0-9]*)*"  # name, module.name
    r"|[a-z]+(?:[A-Z][a-z]+)+\d{0,2}"  # camelCase
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"  # CONSTANT_NAME
    r"|[a-z][a-z]*(?:[_/-][a-z]+)+\d{0,2}"  # snake_case, kebab-case
    r"|[A-Z][a-z]+(?:-[A-Z][A-Za-z]+)+"  # Read-Host
)
_NUMBER = re.compile(
    r"[+-]?[\d.,:/%_-]+(?:ms|s|m|h|d|w|k|kb|mb|gb|px|em|rem|%|x|days?|hours?|minutes?|seconds?|chars?|characters?"
    r"|bits?|bytes?)?",
    re.IGNORECASE,
)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ][\d:.]+(?:Z|[+-][\d:]+)?)?")
_PATH = re.compile(
    r"(?:[/~]|\.{1,2}/|[A-Za-z]:\\|\\\\)[\w./\\ @-]*|[\w-]+(?:/[\w.-]+)*\.(?:py|js|ts|json|ya?ml|toml|env|txt|md|pem"
    r"|key|crt|cfg|ini|conf|go|rs|java|rb|php|sh|sql|csv|html?|db|log)"
)
_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S*|www\.\S+|[\w.+-]+@[\w-]+\.[a-z]{2,}(?:\.[a-z]{2,})?", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_MARK = re.compile(r"\[masked: [^\]]*\]")
_TYPE = re.compile(
    r"(?:Optional|List|Dict|Union|Vec|Option|Result|Maybe|Array|Promise|SecretStr|SecretString|Annotated|Literal|Set"
    r"|Tuple)\b|&(?:'\w+ )?str|\w+\[\w+\]|\w+ \| \w+"
)
_VERSION = re.compile(r"[v^~]?\d+(?:\.\d+){1,3}(?:[-+][\w.]+)?")
_ALGORITHM = re.compile(
    r"(?:sha|md|aes|rsa|hs|rs|es|ps|ed|utf|base|argon|blake|crc|hmac|pbkdf|x)[-_]?\d{1,5}(?:[-_]?\w{1,10}){0,3}",
    re.IGNORECASE,
)
_DIGEST = re.compile(r"(?:sha(?:1|224|256|384|512)|md5|blake[23][bs]?|crc32c?)[:=-]", re.IGNORECASE)
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]+")
_PASSPHRASE = re.compile(r"[A-Za-z]{2,12}(?:[- _.][A-Za-z]{2,12}){3,9}[!.?0-9]{0,4}")
_SENTENCE_WORDS = words(
    """the a an is are was be been must should shall may can cannot not no your you my we our us i it its this that
    with for to of in on at by from as or and if then when than at least characters character letters digits
    required enter type please use password passwords secret token key here has have will would any one all wrong
    invalid incorrect do does did"""
)
_BRACKETS = {")": "(", "]": "[", "}": "{"}
LONGEST_READ = 80
"""Characters of a value that are looked at: what begins as chance goes on as chance."""
LEAST_BITS = 3.0
"""Bits for each character from which letters look drawn by chance."""


def trim(value: str) -> str:
    """Cut the marks at the end of a value that belong to the sentence or the code around it."""
    while value and (value[-1] in ",;.:?|*" or _is_stray_bracket(value)):
        value = value[:-1]
    return value


def _is_stray_bracket(value: str) -> bool:
    opening = _BRACKETS.get(value[-1])
    return opening is not None and value.count(value[-1]) > value.count(opening)


def is_placeholder(value: str, *, lone_words: bool = False) -> bool:
    """Whether a value is a placeholder for one that is elsewhere: a variable, stars, `your-token`, an empty value."""
    value = value.strip()[:LONGEST_READ]
    if not value or _MARK.search(value) or _PUBLIC.match(value) or _VARIABLE.search(value) or _HIDDEN.search(value):
        return True
    if _NAMES_A_TOKEN.fullmatch(value):
        return True
    if _STAND_IN.search(value) and not _has_long_digits(value):
        return True
    lower = value.lower().rstrip(".!?:,;")
    if lower in _WORDS_ALONE:
        return True
    return lone_words and lower in {"user", "admin", "pass", "password", "secret", "token", "pw", "passwd"}


def may_be_password(value: str) -> bool:
    """Whether a value in the place of a password is one: any value that is not a placeholder."""
    return len(value) >= 3 and not is_placeholder(value) and not _PATH.fullmatch(value) and value[0] not in "-|&>"


def looks_secret(value: str, *, strong: bool = False, quoted: bool = False) -> bool:
    """Whether a value whose name means secret is one, rather than prose, a variable, a path or a number.

    `strong`: the name leaves no doubt (`password`), so that a short or plain value counts. `quoted`: it is a text in
    quotes, so that it is no name of a variable.
    """
    value = value.strip()[:LONGEST_READ]
    if len(value) < (4 if strong else 6) or is_placeholder(value) or _is_code(value) or _is_other(value, strong=strong):
        return False
    if value.isdigit():
        return strong and len(value) <= 16 and not _is_round(value)
    if " " in value:
        return quoted and _is_passphrase(value)
    if _IDENTIFIER.fullmatch(value):
        return _secret_identifier(value, strong=strong, quoted=quoted)
    if strong:
        return len(value) >= 5 or any(letter.isdigit() for letter in value)
    return len(value) >= 8 and (
        any(letter.isdigit() for letter in value) or (len(value) >= 10 and entropy(value) > LEAST_BITS)
    )


def looks_random(value: str) -> bool:
    """Whether a value is made by chance: long, of several kinds of letters, and neither a name nor a path."""
    value = value[:LONGEST_READ]
    if len(value) < 16 or is_placeholder(value) or _IDENTIFIER.fullmatch(value) or _MARK.search(value):
        return False
    if _NUMBER.fullmatch(value) or _VERSION.fullmatch(value) or _DIGEST.match(value) or _URL.fullmatch(value):
        return False
    if _HEX.fullmatch(value) or _UUID.fullmatch(value):
        return True
    digits = sum(letter.isdigit() for letter in value)
    if not digits:
        return len(value) >= 24 and value.lower() != value and value.upper() != value and entropy(value) > 4.0
    # Words with a number between hyphens or slashes are names, not chance.
    parts = re.split(r"[-_./:]", value)
    longest = max(parts, key=len)
    if len(parts) > 1 and len(longest) < 10 and all(part.isalpha() or part.isdigit() for part in parts if part):
        return False
    return entropy(value) > LEAST_BITS


def _is_other(value: str, *, strong: bool) -> bool:
    """Whether a value is a date, an address, a path, an algorithm, a measure or a version."""
    shapes = (_DATE, _URL, _PATH, _ALGORITHM)
    if any(shape.fullmatch(value) for shape in shapes):
        return True
    return not value.isdigit() and (
        _NUMBER.fullmatch(value) is not None or (not strong and _VERSION.fullmatch(value) is not None)
    )


def is_hash_or_uuid(value: str) -> bool:
    """Whether a value has the shape of a digest or a UUID, which most of the time are no secrets."""
    return _UUID.fullmatch(value) is not None or (
        _HEX.fullmatch(value) is not None and len(value) in {7, 8, 32, 40, 56, 64, 66, 96, 128}
    )


def entropy(text: str) -> float:
    """Bits for each character."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


def says_nothing(word: str) -> bool:
    """Whether plain text after `the password is` describes the password instead of giving it."""
    lower = word.lower().rstrip(".!?:,;")
    return lower in _WORDS_ALONE or _ENDS_LIKE_PROSE.search(lower) is not None


def _secret_identifier(value: str, *, strong: bool, quoted: bool) -> bool:
    """Whether letters that could be the name of something are a secret."""
    if value.isalpha() and not value.islower() and not value.isupper() and len(value) >= 16 and entropy(value) > 3.5:
        return not re.fullmatch(r"[A-Za-z][a-z]+(?:[A-Z][a-z]+)+", value)
    if strong and value.isalpha() and len(value) >= 8 and len(re.findall(r"[a-z][A-Z]|[A-Z]{2}[a-z]", value)) >= 3:
        return True
    if strong and re.search(r"\d$", value) and not re.search(r"[._/]", value):
        return not _ALGORITHM.fullmatch(value) and value.islower() is False
    if strong and _PASSPHRASE.fullmatch(value) and ("-" in value or " " in value):
        return _is_passphrase(value)
    if quoted and strong and "." not in value and "_" not in value and len(value) >= 5:
        return not says_nothing(value) and not re.search(r"pass|secret|token|cred|key\b", value, re.IGNORECASE)
    return False


def _is_passphrase(value: str) -> bool:
    """Whether words in a row are a passphrase rather than a sentence."""
    if not _PASSPHRASE.fullmatch(value):
        words = value.lower().split()
        plain = not any(word.strip(",.:;!?") in _SENTENCE_WORDS for word in words)
        return (
            plain
            and len(words) <= 4
            and any(letter.isdigit() for letter in value)
            and not value.endswith((".", ":", "?"))
        )
    words = [word.lower().strip("!.?0123456789") for word in re.split(r"[- _.]", value)]
    return not any(word in _SENTENCE_WORDS for word in words)


def _is_code(value: str) -> bool:
    return bool(
        _TYPE.match(value)
        or re.match(r"[A-Za-z_][\w.:]*\(", value)
        or re.match(r"[A-Za-z_]\w*(?:\.\w+)*\[", value)
        or re.fullmatch(r"[A-Z][a-z]+-[A-Z][A-Za-z]+", value)
        or value.startswith(("<", "{", "[", "=>", "=", "lambda", "function", "async ", "await ", "new "))
        or value.endswith(("()", "();", "{"))
    )


def _is_round(value: str) -> bool:
    """Whether digits are a size or a year rather than a PIN."""
    return value in {"1024", "2048", "4096", "8192", "16384", "32768", "65536"} or value.rstrip("0") in {
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
        "8",
    }


def _has_long_digits(value: str) -> bool:
    return sum(letter.isdigit() for letter in value) >= 4 and entropy(value) > 3.5
