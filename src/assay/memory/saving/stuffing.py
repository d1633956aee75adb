"""Words without sentences: text that is made to be found, not to be read.

Statistics are taken over windows, since search ranks passages: a good beginning does not excuse the rest. Four shapes
are told from prose, code and tables: a stretch without any stop, a list of bare words, one word over and over, and
words in an order that no sentence has. The numbers were set on the texts that `design/save-time-spam-filter.md` names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain, compress, pairwise
from operator import itemgetter

from assay.text.wording import words_of

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

_WORD = re.compile(r"([^\W_]+(?:['\u2019_-][^\W_]+)*)")
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


class _Words:
    """The words of a text in lower case, and what the shapes need to know of each: found once, windows overlap."""

    def __init__(self, text: str) -> None:
        # Splitting at a group gives in turn what stands between two words, and a word.
        parts = _WORD.split(text)
        self.said = [word.lower() for word in parts[1::2]]
        self.gaps = parts[:-1:2]
        """What stands before each word."""
        self.joined = [not gap.strip(" ") for gap in self.gaps]
        """Whether nothing but spaces parts a word from the one before it."""
        self.plain = [word.isalpha() for word in self.said]

    @cached_property
    def repeatable(self) -> list[str]:
        """Each word that could be said too often; empty for one that joins others, is short, or is not a word."""
        return [
            word if plain and len(word) > 2 and word not in _JOINING else ""
            for word, plain in zip(self.said, self.plain, strict=True)
        ]

    @cached_property
    def misplaced(self) -> list[bool]:
        """Whether a word stands behind one that never leads to it, such as `of` behind `the`."""
        pairs = pairwise(("", *self.said))
        return [
            after in _NEVER_LED and before in _LEADS and joined
            for (before, after), joined in zip(pairs, self.joined, strict=True)
        ]

    @cached_property
    def foreign(self) -> list[bool]:
        """Whether a word has letters beyond ASCII."""
        return [not word.isascii() for word in self.said]

    @cached_property
    def bare(self) -> list[bool]:
        """Whether a word is letters alone, without marks before it."""
        return [plain and _BARE.issuperset(gap) for plain, gap in zip(self.plain, self.gaps, strict=True)]


def stuffing(text: str) -> str:
    """How a text is stuffed; empty when it reads like prose, code or a table."""
    words = _Words(text)
    if len(words.said) < LEAST:
        return ""
    return _stretch(words) or next(filter(None, (_window(words, span) for span in _windows(len(words.said)))), "")


def _windows(count: int) -> Iterator[slice]:
    for start in range(0, max(1, count - WINDOW + STEP), STEP):
        yield slice(start, min(start + WINDOW, count))


def _stretch(words: _Words) -> str:
    """Words that follow each other without a stop, far beyond what a sentence has."""
    begin = 0
    breaks = (place for place, joined in enumerate(words.joined) if place and not joined)
    for place in chain(breaks, [len(words.said)]):
        length = place - begin
        if length >= LOOSE_STRETCH and _is_unbroken(words, slice(begin, place)):
            return f"{length} words without a stop between them"
        begin = place
    return ""


def _is_unbroken(words: _Words, stretch: slice) -> bool:
    # A script without spaces, or one that has no stops, gives few long words: those are told by their letters.
    said = list(compress(words.said[stretch], words.plain[stretch]))
    if len(said) < LOOSE_STRETCH:
        return False
    return len(said) >= LONGEST_STRETCH or _joining(said) < FEW_JOINING


def _joining(said: Sequence[str]) -> float:
    return sum(word in _JOINING for word in said) / len(said)


def _window(words: _Words, window: slice) -> str:
    if window.stop - window.start < LEAST:
        return ""
    return _one_word(words, window) or _describe_misplaced(words, window) or _list(words, window)


def _one_word(words: _Words, window: slice) -> str:
    counted = Counter(words.repeatable[window])
    counted.pop("", None)
    word, count = max(counted.items(), key=itemgetter(1), default=("", 0))
    length = window.stop - window.start
    return f"{word!r} is {count} of {length} words" if count > MOST_OF_ONE * length else ""


def _describe_misplaced(words: _Words, window: slice) -> str:
    if sum(words.misplaced[window]) < MOST_MISPLACED:
        return ""
    # The first word of a window counts without the one before it, which is outside.
    places = [place for place in range(window.start + 1, window.stop) if words.misplaced[place]]
    if len(places) < MOST_MISPLACED:
        return ""
    pairs = (f"{words.said[place - 1]} {words.said[place]}" for place in places[:3])
    return f"words in no order: {', '.join(pairs)}"


def _list(words: _Words, window: slice) -> str:
    length = window.stop - window.start
    if length < WINDOW or sum(words.foreign[window]) > MOST_FOREIGN * length:
        return ""
    bare = list(compress(words.said[window], words.bare[window]))
    listed = len(bare) >= LIST_PLAIN * length and len(set(bare)) >= LIST_DISTINCT * len(bare)
    return f"a list of {len(set(bare))} words without sentences" if listed and _joining(bare) < FEW_JOINING else ""
