"""Private keys in all the shapes they are written in: armoured blocks, web tokens, key sets, wallets, seed phrases."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from itertools import islice, pairwise

from assay.text.secrets.checksums import (
    passes_base58_check,
    passes_ripple,
    passes_stellar,
)
from assay.text.secrets.rule import Finding, searched

PRIVATE_KEY = "private key"
SEED_PHRASE = "seed phrase"
_LONGEST_KEY = 20_000
_BEGIN = re.compile(
    r"-{4,5} ?BEGIN (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1|[A-Z ]{0,20}SECRET KEY) ?-{4,5}"
)
_END = re.compile(
    r"-{4,5} ?END (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1|[A-Z ]{0,20}SECRET KEY) ?-{4,5}"
)
_CUT_OFF = re.compile(r"(?:[\s\\>|*#\"'nr]{0,12}[A-Za-z0-9+/=]{16,100}){1,400}")
"""What follows a header whose end was cut off."""

_PUTTY = re.compile(r"Private-Lines: \d{1,3}\s{1,4}((?:[A-Za-z0-9+/=]{4,80}\s{0,4}){1,400})")
_PUTTY_MAC = re.compile(r"Private-MAC: ([0-9a-fA-F]{32,64})")

_LETTERS_RUN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{29,60}+(?![A-Za-z0-9])")
WALLETS: tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...] = (
    ("Bitcoin private key", re.compile(r"5[HJK]\w{49}|[KLc9]\w{50,51}"), passes_base58_check),
    ("encrypted Bitcoin key", re.compile(r"6P\w{56}"), passes_base58_check),
    ("Stellar seed", re.compile(r"S[A-Z2-7]{55}"), passes_stellar),
    ("Ripple seed", re.compile(r"s\w{28}"), passes_ripple),
)

_SEED_RUN = re.compile(
    r"(?<![A-Za-z])[A-Za-z]{3,8}(?:[\s,;|\"'`]{1,4}(?:\d{1,2}[.):]?\s{0,2}|[\"'`-]\s?)?[A-Za-z]{3,8}(?![A-Za-z])){11,}+"
)
_SEED_WORD = re.compile(r"[A-Za-z]{3,8}")
_SEED_LABEL = re.compile(
    r"\bseed\b|mnemonic|metamask|ledger|trezor|wallet|(?:recovery|backup|secret)[- ]?(?:phrase|words)", re.IGNORECASE
)
_SEED_LENGTHS = (12, 15, 18, 21, 24)
"""Words of a seed phrase, as BIP-39 has it."""
_LABEL_REACH = 80
"""Characters before a phrase in which something must say what it is."""

_BASE64_OF_BEGIN = "LS0tLS1CRUdJTi"
_BASE64_RUN = re.compile(r"[A-Za-z0-9+/_-]{40,40000}={0,2}")

OTHER_KEYS = (
    searched(
        "WireGuard key", "privatekey presharedkey", r"(?:PrivateKey|PresharedKey)\s{0,4}=\s{0,4}([A-Za-z0-9+/]{43}=)"
    ),
    searched(
        "Ethereum private key",
        "private secret signing priv wallet deployer signer pk",
        r"(?:private|secret|signing|deployer|signer|wallet|priv|\bpk)[\w \-]{0,30}[\"'`]?\s{0,3}(?:[:=]|is|->"
        r"|=>)?\s{0,3}"
        r"[\"'`]?((?:0x)?[0-9a-f]{64})(?![0-9a-z])",
        needs=r"[0-9a-fA-F]{64}",
        begins=True,
        stride=40,
    ),
    searched(
        "Solana private key",
        "solana phantom keypair secret private",
        r"(?:solana|phantom|keypair|secret|private)[^\n]{0,60}?((?<![A-Za-z0-9])[A-Za-z0-9]{86,89}(?![A-Za-z0-9]))",
        needs=r"[A-Za-z0-9]{86}",
        begins=True,
        stride=40,
    ),
    searched("Solana private key", "[", r"\[\s?(\d{1,3}(?:\s?,\s?\d{1,3}){63})\s?\]"),
    searched(
        "minisign key", "minisign", r"untrusted comment: (?:minisign|rsign) encrypted secret key\s{1,3}(\S{60,400})"
    ),
    searched("signify key", "signify", r"untrusted comment: signify secret key\s{1,3}(\S{60,400})"),
    searched(
        "XML private key",
        "rsakeyvalue dsakeyvalue",
        r"<(?:D|P|Q|DP|DQ|InverseQ|X)>([A-Za-z0-9+/=\s]{16,2000})</",
        flags=0,
    ),
)


def find_blocks(text: str) -> Iterator[Finding]:
    """Find armoured private keys, also on one line with written line ends, and those whose end is missing."""
    if "BEGIN" not in text:
        return
    begins = list(_BEGIN.finditer(text))
    ends = _END.finditer(text)
    end = next(ends, None)
    for begin, following in pairwise([*begins, None]):
        if begin is None:
            continue
        while end is not None and end.start() < begin.end():
            end = next(ends, None)
        before = len(text) if following is None else following.start()
        if end is not None and end.start() < min(before, begin.end() + _LONGEST_KEY):
            yield Finding(begin.start(), end.end(), PRIVATE_KEY)
        elif (rest := _CUT_OFF.match(text, begin.end(), before)) is not None:
            yield Finding(begin.start(), rest.end(), PRIVATE_KEY)


def find_putty(text: str) -> Iterator[Finding]:
    """Find the private part of PuTTY key files."""
    if "Private-Lines" in text or "Private-MAC" in text:
        for pattern in (_PUTTY, _PUTTY_MAC):
            for match in pattern.finditer(text):
                yield Finding(match.start(1), match.start(1) + len(match[1].rstrip()), "PuTTY private key")


def find_encoded_blocks(text: str) -> Iterator[Finding]:
    """Find armoured private keys that were encoded once more, as Kubernetes keeps them; certificates are left alone."""
    place = text.find(_BASE64_OF_BEGIN)
    while place >= 0:
        match = _BASE64_RUN.match(text, place)
        if match is not None and b"PRIVATE KEY" in _decode_start(match[0]):
            yield Finding(match.start(), match.end(), PRIVATE_KEY)
        place = text.find(_BASE64_OF_BEGIN, match.end() if match is not None else place + 1)


_WEB_TOKEN = re.compile(
    r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,8000}+\.(?:eyJ)?[A-Za-z0-9_-]{8,16000}+(?:\.[A-Za-z0-9_-]{0,16000}+){0,3}"
)
_ESCAPED_WEB_TOKEN = re.compile(
    r"(?<=\\[nrt])eyJ[A-Za-z0-9_-]{8,8000}+\.eyJ[A-Za-z0-9_-]{8,16000}+(?:\.[A-Za-z0-9_-]{0,16000}+)?"
)


def find_web_tokens(text: str) -> Iterator[Finding]:
    """Find JSON web tokens, signed or encrypted: the first part must be a JSON header that names an algorithm."""
    if "eyJ" not in text:
        return
    for pattern in (_WEB_TOKEN, _ESCAPED_WEB_TOKEN):
        for match in pattern.finditer(text):
            head = _decode_start(match[0].split(".", 1)[0])
            if b'"alg' in head or b'"typ' in head or b'"enc' in head or b'"kid' in head or ".eyJ" in match[0]:
                yield Finding(match.start(), match.end(), "JSON web token")


_JWK = re.compile(r"[\"']kty[\"']\s?:\s?[\"'](RSA|EC|OKP|oct)[\"']")
_JWK_PARTS = {
    True: re.compile(r"[\"']k[\"']\s?:\s?[\"']([A-Za-z0-9_-]{16,2000})[\"']"),
    False: re.compile(r"[\"'](?:d|p|q|dp|dq|qi)[\"']\s?:\s?[\"']([A-Za-z0-9_-]{16,2000})[\"']"),
}


def find_key_sets(text: str) -> Iterator[Finding]:
    """Find the private members of JSON web keys; public keys have none."""
    if "kty" not in text:
        return
    kinds = {match[1] for match in _JWK.finditer(text)}
    for symmetric in sorted({kind == "oct" for kind in kinds}):
        for match in _JWK_PARTS[symmetric].finditer(text):
            yield Finding(match.start(1), match.end(1), "JSON web key")


def find_wallets(text: str) -> Iterator[Finding]:
    """Find keys of wallets whose checksum holds."""
    for match in _LETTERS_RUN.finditer(text):
        for kind, shape, passes in WALLETS:
            if shape.fullmatch(match[0]) and passes(match[0]):
                yield Finding(match.start(), match.end(), kind)


def find_seed_phrases(text: str) -> Iterator[Finding]:
    """Find seed phrases: as many short words in a row as such a phrase has, after words that say what it is.

    Where the sentence goes on behind the phrase, some of its words are masked with it: better than one word too few.
    """
    for run in _SEED_RUN.finditer(text):
        if not _SEED_LABEL.search(text, max(0, run.start() - _LABEL_REACH), run.start()):
            continue
        words = list(islice(_SEED_WORD.finditer(text, run.start(), run.end()), max(_SEED_LENGTHS)))
        length = max(length for length in _SEED_LENGTHS if length <= len(words))
        yield Finding(words[0].start(), words[length - 1].end(), SEED_PHRASE)


def _decode_start(encoded: str) -> bytes:
    start = encoded[:80].replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(start[: len(start) // 4 * 4])
    except (ValueError, binascii.Error):
        return b""
