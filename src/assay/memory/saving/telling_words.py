"""Which words of a short note tell something: not chatter, not placeholders, not keys struck at random.

A note has to name two different things, at least one of them with a word: `VAT` and `21` are enough, `lol` and `lol`
are not. Nothing here looks at meaning, and a word that is not known counts: a name, an identifier and a word of any
language tell something. Only what is known to be empty, and letters in an order that no word has, do not.

- Empty words.
- Words that are no words: runs of keys, of the alphabet and of digits, repeats, and consonants alone.
- Counting.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from assay.memory.saving.subjects import GENERIC
from assay.text.terms import stems_of, words
from assay.text.wording import FUNCTION_WORDS, NUMBER_WORDS, words_of

# --- Empty words ---

EMPTY_WORDS = frozenset(
    stems_of(
        words_of(
            "ok okay thanks thank test tests testing todo stuff thing things something anything somehow asdf "
            "qwerty foo bar baz misc etc various maybe probably placeholder lorem ipsum dolor tbd wip hello "
            "hi hey yes yeah some several blah whatever later soon untitled new good nice great"
        )
    )
)
"""Content words that carry no information wherever they stand."""

_CHATTER = frozenset(
    stems_of(
        words_of(
            "lol lmao rofl haha hehe hihi xd omg wow hmm hm um uh er ah oh huh meh nah nope yep yup no not sure "
            "fine cool awesome alright well thx ty pls please np idk btw fyi asap bye cheers welcome sorry "
            "remember remind reminder forget important interesting random idea talk discuss mention say said "
            "tell see look above below before earlier again same like just really actually basically anyway "
            "much many lot way more done happen sound job self here there title body text content word know mean "
            "oops yay brb gm gn aha ugh finally sit amet consectetur bla la da didn don doesn isn ll ve re"
        )
    )
)
"""Words that tell something only beside others: they do not make a note of a text that has nothing else."""

_LABELS = frozenset(stems_of([label for label in GENERIC if " " not in label]))
_UNTELLING = EMPTY_WORDS | _CHATTER | FUNCTION_WORDS | _LABELS

ANSWERS = frozenset(words_of("yes no never always none both neither true false on off not"))
"""A body that says something when its title is a question."""

# --- Words that are no words: runs of keys, of the alphabet and of digits, repeats, and consonants alone ---

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_DIGITS = "01234567890123456789"
_REAL_RUNS = frozenset({"wert", "were"})
"""Words of some language that happen to lie side by side on a keyboard."""
_SHORT_RUNS = frozenset(words_of("abc xyz asd sdf dfg fgh ghj hjk jkl zxc xcv cvb vbn bnm qwe"))
SHORTEST_RUN = 4
"""Letters; shorter runs are words as well: `def`, `tre`, `poi`."""
LONG_NUMBER = 6
"""Digits from which a number in counting order is no number that somebody would note: shorter ones are door codes."""
_REPEATED = re.compile(r"(.)\1{2,}|(..)\2{2,}.?|(...)\3{2,}.{0,2}")
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{5,}")
MOST_VOWELS = 0.2
"""Share of vowels beside five consonants in a row: words have more, also those of Czech and German."""
_LETTER_AND_DIGITS = re.compile(r"[a-z]\d+")
_LETTERS_AND_DIGITS = re.compile(r"([a-z]{2,})\d+")


@lru_cache(maxsize=4096)
def _is_mash(word: str) -> bool:
    """Whether a word in lower case is keys struck at random, counting, or one sound over and over."""
    if word in _SHORT_RUNS or _REPEATED.fullmatch(word):
        return True
    if word.isdecimal():
        return len(word) >= LONG_NUMBER and _is_run(word, (_DIGITS,))
    if numbered := _LETTERS_AND_DIGITS.fullmatch(word):
        return _is_empty(numbered[1])
    if not (word.isascii() and word.isalpha()) or word in _REAL_RUNS:
        return False
    return _is_made_of_runs(word) or _lacks_vowels(word)


def _is_run(word: str, orders: Iterable[str]) -> bool:
    return any(word in order or word[::-1] in order for order in orders)


def _is_made_of_runs(word: str) -> bool:
    """Whether a word is one run along a row of keys or the alphabet, or several of three letters and more."""
    if len(word) < SHORTEST_RUN:
        return False
    orders = (*_ROWS, _ALPHABET)
    ends = {0}
    for end in range(3, len(word) + 1):
        if any(start in ends and _is_run(word[start:end], orders) for start in range(end - 2)):
            ends.add(end)
    return len(word) in ends


def _lacks_vowels(word: str) -> bool:
    vowels = sum(letter in "aeiouy" for letter in word)
    return bool(_CONSONANTS.search(word)) and vowels <= MOST_VOWELS * len(word)


# --- Counting ---

ENOUGH = 2
"""Different things that a note names; an answer to a question in its title names one."""
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")
_MAY = re.compile(r"(?<=[\w,] )May\b")
"""The month, which in lower case and at the beginning of a sentence is a verb that tells nothing."""


def tells_something(title: str, body: str) -> bool:
    """Whether title and body together name two different things, one of them with a word."""
    enough = 1 if _asks(title) else ENOUGH
    found = {"month May"} if _MAY.search(title) or _MAY.search(body) else set()
    for word in dict.fromkeys([*words(title), *words(body)]):
        found.update(_telling_parts(word))
        if len(found) >= enough and not all(map(_is_number, found)):
            return True
    return False


def answers_a_question(title: str, body: str) -> bool:
    """Whether the title asks something, and the body is a bare yes or no."""
    said = set(words(body))
    return _asks(title) and bool(said) and said <= ANSWERS


def _asks(title: str) -> bool:
    return title.rstrip().endswith(("?", "\uff1f"))  # the second is the full-width mark


def _telling_parts(word: str) -> Iterator[str]:
    if _is_empty(word):
        return
    if _UNSPACED.search(word):
        # A script without spaces gives a whole clause as one word: two of its letters are about one word.
        yield from (word[place : place + 2] for place in range(0, len(word), 2))
    elif _LETTER_AND_DIGITS.fullmatch(word):
        yield word[0]  # a1, a2 and a3 count, and name one thing
    else:
        yield stems_of([word])[0]


def _is_number(part: str) -> bool:
    return part.isdecimal() or part in NUMBER_WORDS


@lru_cache(maxsize=4096)
def _is_empty(word: str) -> bool:
    return (len(word) == 1 and word.isascii() and word.isalpha()) or stems_of([word])[0] in _UNTELLING or _is_mash(word)
