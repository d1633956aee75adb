"""Words without sentences: text that is made to be found, not to be read.

Statistics are taken over windows, since search ranks passages: a good beginning does not excuse the rest. Four shapes
are told from prose, code and tables: a stretch without any stop, a list of bare words, one word over and over, and
words in an order that no sentence has. The numbers were set on the texts that `design/no-note.md` names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from assay.text.vocabulary import words_of

WINDOW, STEP = 80, 40
"""Words looked at together, and how far apart."""
LEAST = 30
"""Fewer words show no shape."""
LONGEST_STRETCH = 65
"""Words without any stop, comma or line end between them: of 62,000 windows of real text one in 10,000 has so many."""
LOOSE_STRETCH = 30
"""The same, where hardly one is a word that joins others."""
FEW_JOINING = 0.1
"""Share of joining words below which words stand side by side; English prose has 0.35."""
LIST_PLAIN, LIST_DISTINCT = 0.9, 0.95
"""A window is a list of words when so many of them are bare, and so many of those different: prose in any language
repeats the words that join its sentences, if less than English does."""
MOST_FOREIGN = 0.05
"""Share of words with letters beyond ASCII from which a text is not taken for English: languages that put endings where
English puts words repeat as little as a list does."""
MOST_OF_ONE = 0.35
"""Share of one word."""
MOST_MISPLACED = 4
"""Pairs in a window such as `the of` or `with is`, which no sentence has."""

_TOKEN = re.compile(r"[^\W_]+(?:['\u2019_-][^\W_]+)*")
_BARE = frozenset(" ,.;:\n\t")
_JOINING = frozenset(
    words_of(
        "a an the this that these those our my your his her its their of and or also it they them we you i he "
        "she there so will would then is are be been was were am have has had do does did must should may "
        "might can could need to from in on at by with for as into over under out up down off about than if "
        "when while which who what where how because per each every until but not no all any some more most "
        "such other only both between after before during against without within one two"
    )
)
_LEADS = frozenset(words_of("the an of by with from at for into"))
_NEVER_LED = frozenset(words_of("of is are was were and or has have but will can than"))


class _Token(NamedTuple):
    """A word and what stands between the last one and it."""

    gap: str
    word: str


def stuffing(text: str) -> str:
    """How a text is stuffed; empty when it reads like prose, code or a table."""
    tokens = [_Token(gap, word.lower()) for gap, word in _tokens(text)]
    if len(tokens) < LEAST:
        return ""
    return _stretch(tokens) or next(filter(None, map(_window, _windows(tokens))), "")


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    last = 0
    for found in _TOKEN.finditer(text):
        yield text[last : found.start()], found.group()
        last = found.end()


def _windows(tokens: Sequence[_Token]) -> Iterator[Sequence[_Token]]:
    for start in range(0, max(1, len(tokens) - WINDOW + STEP), STEP):
        yield tokens[start : start + WINDOW]


def _stretch(tokens: Sequence[_Token]) -> str:
    """Words that follow each other without a stop, far beyond what a sentence has."""
    begin = 0
    for place in range(1, len(tokens) + 1):
        if place < len(tokens) and not tokens[place].gap.strip(" "):
            continue
        length = place - begin
        if length >= LOOSE_STRETCH and _is_unbroken(tokens[begin:place]):
            return f"{length} words without a stop between them"
        begin = place
    return ""


def _is_unbroken(stretch: Sequence[_Token]) -> bool:
    # A script without spaces, or one that has no stops, gives few long words: those are told by their letters.
    said = [token.word for token in stretch if token.word.isalpha()]
    if len(said) < LOOSE_STRETCH:
        return False
    return len(said) >= LONGEST_STRETCH or _joining(said) < FEW_JOINING


def _joining(said: Sequence[str]) -> float:
    return sum(word in _JOINING for word in said) / len(said)


def _window(tokens: Sequence[_Token]) -> str:
    said = [token.word for token in tokens]
    if len(said) < LEAST:
        return ""
    return _one_word(said) or _misplaced(tokens) or _list(tokens, said)


def _one_word(said: Sequence[str]) -> str:
    counted = Counter(word for word in said if word.isalpha() and len(word) > 2 and word not in _JOINING)
    word, count = max(counted.items(), key=lambda one: one[1], default=("", 0))
    return f"{word!r} is {count} of {len(said)} words" if count > MOST_OF_ONE * len(said) else ""


def _misplaced(tokens: Sequence[_Token]) -> str:
    pairs = [
        f"{before.word} {token.word}"
        for before, token in pairwise(tokens)
        if before.word in _LEADS and token.word in _NEVER_LED and not token.gap.strip(" ")
    ]
    return f"words in no order: {', '.join(pairs[:3])}" if len(pairs) >= MOST_MISPLACED else ""


def _list(tokens: Sequence[_Token], said: Sequence[str]) -> str:
    if len(said) < WINDOW or sum(not word.isascii() for word in said) > MOST_FOREIGN * len(said):
        return ""
    bare = [token.word for token in tokens if token.word.isalpha() and _BARE.issuperset(token.gap)]
    listed = len(bare) >= LIST_PLAIN * len(said) and len(set(bare)) >= LIST_DISTINCT * len(bare)
    return f"a list of {len(set(bare))} words without sentences" if listed and _joining(bare) < FEW_JOINING else ""
