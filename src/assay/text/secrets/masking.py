"""Find secrets by all rules, and put a mask such as `[masked: GitHub token]` in the place of each.

Findings that overlap are masked as one, under the name of the most specific rule, so that nothing that any
rule found stays. Text inside a mask is never masked again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from assay.records import Mask
from assay.text.secrets import addresses, formats, named, surroundings
from assay.text.secrets import addresses as documents
from assay.text.secrets.needles import Needles, cut_grams
from assay.text.secrets.rules import NAMED_SECRET, Finding, lower_in_place

_PLAIN = re.compile(r"[A-Za-z]{0,14}(?:[ ,?!'][ ]?[A-Za-z]{0,14}){0,10}")
"""A few words without digits or marks, as most searches are: only a name could give a secret away in it."""
_MARK = re.compile(r"\[masked: [^\]\n]{1,60}\]")
RULES = (
    *formats.SHAPED,
    *formats.OTHER_KEYS,
    *surroundings.IN_SURROUNDINGS,
    *addresses.IN_ADDRESSES,
)
KINDS = tuple(
    dict.fromkeys(
        (
            formats.PRIVATE_KEY,
            "PuTTY private key",
            "JSON web token",
            "JSON web key",
            formats.SEED_PHRASE,
            *(kind for kind, *_ in formats.WALLETS),
            *(rule.kind for rule in formats.PREFIXED),
            *(rule.kind for rule in RULES if rule.kind != addresses.SECRET_IN_ADDRESS),
            formats.CARD,
            addresses.PASSWORD_IN_ADDRESS,
            addresses.TOKEN_IN_ADDRESS,
            addresses.SIGNATURE_IN_ADDRESS,
            addresses.SECRET_IN_ADDRESS,
            documents.COOKIE,
            documents.KUBERNETES_SECRET,
            NAMED_SECRET,
        )
    )
)
"""Every kind of secret that is masked, the most telling first."""
_RANK = {kind: rank for rank, kind in enumerate(KINDS)}
_RULES_BY_ANCHOR: dict[str, list[int]] = {}
"""By anchor, the places of its rules in `RULES`: each anchor is looked for once, however many rules share it."""
for _place, _rule in enumerate(RULES):
    for _anchor in _rule.anchors:
        _RULES_BY_ANCHOR.setdefault(_anchor, []).append(_place)
_WORDS = Needles((*_RULES_BY_ANCHOR, *named.WORDS, *addresses.COOKIE_WORDS))
"""What is looked for whatever its case."""
FINDERS: tuple[tuple[str, Callable[[str], Iterator[Finding]]], ...] = (
    ("BEGIN", formats.find_blocks),
    ("Private-Lines", formats.find_putty),
    ("Private-MAC", formats.find_putty),
    (formats.BASE64_OF_BEGIN, formats.find_encoded_blocks),
    ("eyJ", formats.find_web_tokens),
    ("kty", formats.find_key_sets),
    ("://", addresses.find_in_addresses),
    ("=", addresses.find_in_addresses),
    ("Secret", documents.find_kubernetes_secrets),
)
"""What finds nothing in a text without one of these words."""
LONG_ENOUGH: tuple[tuple[int, Callable[[str], Iterator[Finding]]], ...] = (
    (29, formats.find_wallets),
    (47, formats.find_seed_phrases),
    (14, formats.find_cards),
)
"""What finds nothing in a shorter text."""
_BEGINNINGS = Needles((*(rule.prefix for rule in formats.PREFIXED), *(word for word, _ in FINDERS)))
"""What is looked for in its case."""
_MOST_CHARACTERS = 64
_MOST_CLEAN = 4_096
_clean: set[str | bytes] = set()
"""Texts without a secret that were looked at lately; of a long one, its SHA-256.

Names of JSON members and steps come again and again, and so do passages: every record of an answer repeats them.
"""


def mask_text(text: str, where: str, masks: list[Mask]) -> str:
    """Return a text without its secrets; what was masked is added to `masks`."""
    found = find_secrets(text)
    if not found:
        return text
    parts: list[str] = []
    after = 0
    for start, end, kind in found:
        parts += [text[after:start], f"[masked: {kind}]"]
        after = end
        masks.append(Mask(kind, where, end - start))
    return "".join((*parts, text[after:]))


def mask_json(value: Any, where: str, masks: list[Mask], name: str = "") -> Any:
    """Return a JSON value without its secrets, also those that only the name of their member gives away."""
    if isinstance(value, Mapping):
        return {mask_text(key, where, masks): mask_json(inner, where, masks, str(key)) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [mask_json(inner, where, masks, name) for inner in value]
    if not isinstance(value, str):
        return value
    if name and named.value_is_secret(name, value):
        masks.append(Mask(NAMED_SECRET, where, len(value)))
        return f"[masked: {NAMED_SECRET}]"
    return mask_text(value, where, masks)


class Held(NamedTuple):
    """A secret in a text or a JSON value."""

    kind: str
    text: str


def find_in_json(value: Any, name: str = "") -> Iterator[Held]:
    """Find the secrets in a text or a JSON value: exactly those that `mask_json` would mask."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from find_in_json(str(key))
            yield from find_in_json(inner, str(key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from find_in_json(inner, name)
    elif isinstance(value, str):
        if name and named.value_is_secret(name, value):
            yield Held(NAMED_SECRET, value)
        else:
            yield from (Held(kind, value[start:end]) for start, end, kind in find_secrets(value))


def find_secrets(text: str) -> list[Finding]:
    """Find the secrets in a text, in their order and without overlaps."""
    if len(text) < 4 or (_PLAIN.fullmatch(text) is not None and not named.may_name(text.lower())):
        return []
    known = text if len(text) <= _MOST_CHARACTERS else _digest(text)
    if known in _clean:
        return []
    found = _look_through(text)
    if not found:
        if len(_clean) >= _MOST_CLEAN:
            _clean.clear()
        _clean.add(known)
    return found


def _digest(text: str) -> bytes:
    # A lone surrogate cannot be stored, but may be looked at.
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


def _look_through(text: str) -> list[Finding]:
    marks = [match.span() for match in _MARK.finditer(text) if match[0][9:-1] in _RANK] if "[masked: " in text else []
    return _merge(_outside(_every(text), marks))


def _every(text: str) -> Iterator[Finding]:
    lower = lower_in_place(text)
    grams = cut_grams(lower)
    finders = []
    for place in _BEGINNINGS.find(text, grams):
        if place < len(formats.PREFIXED):
            yield from formats.PREFIXED[place].find(text)
        else:
            finders.append(FINDERS[place - len(formats.PREFIXED)][1])
    held = _WORDS.find_texts(lower, grams)
    for place in sorted({place for word in held for place in _RULES_BY_ANCHOR.get(word, ())}):
        yield from RULES[place].find(text, lower)
    finders += [find for least, find in LONG_ENOUGH if len(text) >= least]
    if held:
        finders.append(documents.find_cookies)
        yield from named.find_in_words(text, lower, held)
    for find in dict.fromkeys(finders):
        yield from find(text)
    yield from named.find_after_slash(text)


def _outside(found: Iterable[Finding], marks: list[tuple[int, int]]) -> list[Finding]:
    """Leave out what touches a mask."""
    findings = sorted(found)
    if not marks:
        return findings
    kept: list[Finding] = []
    place = 0
    for finding in findings:
        while place < len(marks) and marks[place][1] <= finding.start:
            place += 1
        if place == len(marks) or finding.end <= marks[place][0]:
            kept.append(finding)
    return kept


def _merge(found: Iterable[Finding]) -> list[Finding]:
    """Join findings that overlap, under the most telling kind."""
    kept: list[Finding] = []
    for finding in found:
        if kept and finding.start < kept[-1].end:
            last = kept[-1]
            kind = min(last.kind, finding.kind, key=_RANK.__getitem__)
            kept[-1] = Finding(last.start, max(last.end, finding.end), kind)
        elif finding.end > finding.start:
            kept.append(finding)
    return kept
