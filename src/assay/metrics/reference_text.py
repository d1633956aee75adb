"""Compare the text of an answer with a reference answer, without a model: numbers and content words.

English, by simple rules that need no package: a word is compared without its ending, words such as "the" or "with" do
not count, and a number may be spelt. `reference_match` is the metric that uses it.
"""

from __future__ import annotations

import re

from assay.text.terms import words

FUNCTION_WORDS = frozenset(
    words(
        "a about after all also an and any are as at be because been before being but by can could did do does each "
        "for from had has have he her his how i if in into is it its may might more most must my no nor not of on only "
        "or our out over per she should since so some such than that the their them then there these they this those "
        "through to under until up very was we were what when where which while who whose why will with would you your"
    )
)
"""Words that say nothing on their own and are not looked for."""
_SPELT = words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
_TENS = words("thirty forty fifty sixty seventy eighty ninety")
NUMBER_WORDS = {
    **{word: str(value) for value, word in enumerate(_SPELT)},
    **{word: str(10 * tens) for tens, word in enumerate(_TENS, start=3)},
}
"""Numbers that are often spelt, with their digits."""
MATCH_SHARE = 0.5
"""The share of a reference answer's terms that an answer needs to match it."""
SHORTEST_STEM = 3
"""Letters that a word keeps when its ending is taken off."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_BETWEEN_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ENDINGS = ("ings", "ing", "ied", "ies", "ed", "es", "s")
_VOWELS = frozenset("aeiou")


def has_reference(text: str, reference: str, share: float = MATCH_SHARE) -> bool:
    """Whether a text has every number of a reference and at least this share of its terms: numbers and words."""
    wanted_numbers, wanted_words = numbers(reference), content_words(reference)
    if not wanted_numbers <= numbers(text) | _spelt_numbers(text):
        return False
    found = len(wanted_numbers) + len(wanted_words & content_words(text))
    return found >= share * (len(wanted_numbers) + len(wanted_words))


def content_words(text: str) -> frozenset[str]:
    """The words of a text that carry content, without endings and without numbers."""
    return frozenset(
        _without_ending(word)
        for word in words(text)
        if word not in FUNCTION_WORDS and len(word) > 1 and not any(map(str.isdigit, word))
    )


def numbers(text: str) -> frozenset[str]:
    """The numbers in digits; `1,200` is 1200 and `2.50` is 2.5."""
    return frozenset(map(_plain_number, _NUMBER.findall(_BETWEEN_THOUSANDS.sub("", text))))


def _plain_number(number: str) -> str:
    whole, point, rest = number.replace(",", ".").partition(".")
    if "." in rest:  # a date or a version: every part counts as it is written
        return number
    decimals = rest.rstrip("0")
    return f"{int(whole)}.{decimals}" if point and decimals else str(int(whole))


def _spelt_numbers(text: str) -> frozenset[str]:
    return frozenset(NUMBER_WORDS[word] for word in words(text) if word in NUMBER_WORDS)


def _without_ending(word: str) -> str:
    """A word without its plural or verb ending, so that "closes", "closed" and "close" are one."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM and not word.endswith("ss"):
            stem = word.removesuffix(ending) + ("y" if ending in {"ied", "ies"} else "")
            return _single_end(stem)
    return _single_end(word)


def _single_end(stem: str) -> str:
    """Without a final e, and with one consonant where an ending had doubled it: stopped, stop."""
    bare = stem.removesuffix("e") if len(stem) > SHORTEST_STEM else stem
    doubled = len(bare) > SHORTEST_STEM and bare[-1] == bare[-2] and bare[-1] not in _VOWELS
    return bare[:-1] if doubled else bare
