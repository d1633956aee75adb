"""One change of a text, or None where the text offers nothing to change."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence

from assay.text.claims import sentences
from assay.text.wording import MONTH_NAMES, WEEKDAYS, words_of
from bench.poisoning import negate

_NUMBER = re.compile(r"(?<![\w.,:/-])\d+(?:[.,:]\d+)*(?![\w/-])")
_NUMBER_WORDS = words_of("two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty ninety")
_NUMBER_WORD = re.compile(rf"(?<![\w-])(?:{'|'.join(_NUMBER_WORDS)})(?![\w-])", re.IGNORECASE)
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})*(?![\w-])")
_VERB = re.compile(r"\b(?:is|are|was|were|must|should|can|may|will|has|have)\b")
_NOT = re.compile(r"\bnot\b")
_DATES = frozenset(MONTH_NAMES)
FEWEST_WORDS_TO_CUT = 8


def change_number(text: str, rng: random.Random) -> str | None:
    """Write another number of the same size in place of one."""
    found = [*_NUMBER.finditer(text), *_NUMBER_WORD.finditer(text)]
    if not found:
        return None
    chosen = rng.choice(found)
    return f"{text[: chosen.start()]}{_other_number(chosen[0], rng)}{text[chosen.end() :]}"


def _other_number(written: str, rng: random.Random) -> str:
    if not written[0].isdigit():
        other = rng.choice([word for word in _NUMBER_WORDS if word != written.lower()])
        return other.capitalize() if written[0].isupper() else other
    first = re.match(r"\d+", written)
    assert first is not None
    value = int(first[0])
    other_value = value + rng.randint(1, max(2, min(9, value)))
    return f"{str(other_value).zfill(len(first[0]))}{written[first.end() :]}"


def list_names(texts: Iterable[str]) -> list[str]:
    """List the capitalised names inside sentences, each once, in order; no months or weekdays."""
    return list(
        dict.fromkeys(
            name
            for text in texts
            for sentence in sentences(text)
            for name in _NAME.findall(sentence)
            if not _is_date(name)
        )
    )


def change_name(text: str, others: Sequence[str], rng: random.Random) -> str | None:
    """Write another name in place of one."""
    found = [match for match in _NAME.finditer(text) if not _is_date(match[0])]
    pool = [name for name in others if name not in text]
    if not found or not pool:
        return None
    chosen = rng.choice(found)
    return f"{text[: chosen.start()]}{rng.choice(pool)}{text[chosen.end() :]}"


def _is_date(name: str) -> bool:
    return any(word.lower() in _DATES or word[:3].lower() in WEEKDAYS for word in name.split())


def negate_sentence(text: str) -> str | None:
    """Write the opposite, where a verb or a negation shows how."""
    if " not " not in text and (_NOT.search(text) or not _VERB.search(text)):
        return None
    return negate(text)


def cut_off(text: str, rng: random.Random) -> str | None:
    """Leave the end of a sentence away, in the middle of it."""
    found = text.split()
    if len(found) < FEWEST_WORDS_TO_CUT:
        return None
    return " ".join(found[: rng.randint(len(found) // 3, 2 * len(found) // 3)]).rstrip(".,;:")
