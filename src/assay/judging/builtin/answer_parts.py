"""What a gold answer states, part by part, and which of it a candidate answer states too.

A part is a date, a number with what it counts, a content word that the question does not have, or yes and no. Words
are compared by stem, near spelling, alias and initials; numbers by value and unit; dates as periods (`text.periods`).
Words that the question has already are no parts, since repeating a question answers nothing; where the gold answer
has no other words, as in a choice between two things, its own words count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from assay.text.periods import Period, read_periods, without_periods
from assay.text.terms import stems_of, words
from assay.text.wording import FUNCTION_WORDS, NEGATORS, NUMBER_WORDS, UNITS, Fact, Sentence, Token, wording, words_of

READ = 6_000
"""Characters of each text that are looked at."""
SAME_SPELLING = 0.85
"""Two words this alike are one with a slip of the pen."""
SPELT_FROM = 5
"""Letters from which near spelling and a shared beginning count."""
SPELT_UNTIL = 40
"""Letters up to which it does: comparing takes the square of a word's length."""
MOST_WORDS = 300
"""Content words of a text that are looked at."""
MOST_PARTS = 60
"""Words of a gold answer that are parts of it."""
MOST_EXACT = 40
"""Numbers, and times, of a text that are looked at."""
MOST_SMALL_WORDS = 12
"""Words of a gold answer that has no others; a longer one is no answer of small words."""
DENIED_WITHIN = 3
"""Tokens between a negator and the word that it denies."""

_ALIASES = """
mother/mom/mum/mommy father/dad/daddy grandmother/grandma/granny grandfather/grandpa child/kid/children/kids
us/usa/america/american uk/britain/british/england tv/television bike/bicycle/cycling photo/photograph/picture/image/pic
movie/film shop/store begin/start buy/purchase/bought car/automobile doctor/dr phone/telephone happy/happiness big/large
tiny/small wife/spouse husband/spouse job/employment dog/pup/puppy/doggy cat/kitten/kitty ad/advertisement/advert
veggie/vegetable fridge/refrigerator exam/examination math/maths/mathematics vacation/holiday flat/apartment
autumn/fall attorney/lawyer colleague/coworker forest/woods ocean/sea thankful/grateful/gratitude present/gift
scared/afraid/frightened ill/sick road/street trip/journey homemade/handmade teach/taught run/ran/running swim/swam
write/wrote/written lose/lost win/won eat/ate speak/spoke drive/drove bring/brought build/built sing/sang
grow/grew/grown feel/felt meet/met paint/painting dance/dancing
"""
"""Words that say the same, and past forms that no stemmer joins."""
_LIGHT_WORDS = frozenset(
    stems_of(
        words_of(
            "after before since during while look looked say said tell told go went gone come came take took find "
            "want wanted like liked own much many more most way thing start started feel felt see saw get got put try "
            "tried one ones him her them himself herself ll ve re lot really some something any also still even back "
            "think thought know knew use used want give gave become became around among set let help able seem mean "
            "likely probably various different other another new good great nice"
        )
    )
)
"""Words that say little: they are parts of a gold answer only where it has no others."""


def _alias_table() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for group in words_of(_ALIASES):
        stems = frozenset(stems_of(group.split("/")))
        for stem in stems:
            found[stem] = found.get(stem, frozenset()) | stems
    return found


_ALIAS_OF = _alias_table()

_YES = re.compile(
    r"^\W*(?:(?:most\s+)?(?:likely|probably|definitely)\W+)?(?:yes|yeah|yep|true|correct|indeed)\b", re.IGNORECASE
)
_NO = re.compile(
    r"^\W*(?:(?:(?:most\s+)?(?:likely|probably|definitely)\W+)?(?:no|not|nope|never|false)\b|unlikely\b)", re.IGNORECASE
)
_ASKS_YES_NO = re.compile(
    r"^\W*(?:is|are|was|were|am|do|does|did|has|have|had|can|could|would|will|should|might|may)\b", re.IGNORECASE
)
_DENIES = re.compile(r"\b(?:not|no|never|unlikely|cannot|neither|nor|without)\b|n['\u2019]t\b", re.IGNORECASE)
_POLAR_WORDS = frozenset(stems_of(words_of("yes no likely probably unlikely yeah true false correct definitely most")))
_ITEM_BREAK = re.compile(r",|;|\n|/|&|\band\b|\bor\b|\bas well as\b", re.IGNORECASE)
_PLAIN = (
    (re.compile(r"(?<=\d)\s?%"), " percent"),
    (re.compile(r"\bper cent\b", re.IGNORECASE), "percent"),
    (re.compile(r"\bkilomet(?:re|er)s?\b", re.IGNORECASE), "km"),
    (re.compile(r"\bcentimet(?:re|er)s?\b", re.IGNORECASE), "cm"),
    (re.compile(r"\bkilo(?:gram(?:me)?)?s?\b", re.IGNORECASE), "kg"),
    (re.compile(r"\bdecade\b", re.IGNORECASE), "10 years"),
    (re.compile(r"\bdecades\b", re.IGNORECASE), "many years"),
    (re.compile(r"\bonce (?=a|an|every|per)\b", re.IGNORECASE), "1 time "),
    (
        re.compile(
            r"(?<!times )(?<!time )(?<!once )(?<!twice )\b(?:a|an) (?=(?:second|minute|hour|day|week|month|year)\b)",
            re.IGNORECASE,
        ),
        "1 ",
    ),
    (re.compile(r"(?<=\d)(?:st|nd|rd|th)\b"), ""),
    (re.compile(r"(?<=\w)-(?=[a-z])", re.IGNORECASE), " "),
)
_DIMENSIONS = frozenset(dimension for dimension, _ in UNITS.values())
_ASKS_HOW_MUCH = re.compile(r"\bhow\b|\bage\b", re.IGNORECASE)
_EXACT = frozenset({"number", "time", "version", "quarter", "weekday"})


class Word(NamedTuple):
    """A content word of a gold answer."""

    stem: str
    shown: str
    is_name: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """A text taken apart."""

    text: str
    words: dict[str, Word]
    """Content words by stem, without numbers and dates."""
    exact: tuple[Fact, ...]
    """Numbers, times, weekdays."""
    periods: tuple[Period, ...]
    sentences: tuple[Sentence, ...]
    """Of the text without its dates."""

    @property
    def order(self) -> list[str]:
        """Every stem, in order."""
        return [token.stem for sentence in self.sentences for token in sentence]


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """The parts of a gold answer, and what became of each in a candidate."""

    words: dict[Word, bool]
    exact: dict[Fact, bool]
    periods: dict[Period, bool]
    items: tuple[bool, ...]
    """Of a list, whether each item is there: more than half of its words."""
    polarity: int
    """1: the gold answer says yes, -1: no, 0: neither."""
    said: int
    """The same of the candidate; 0: it says neither, or the gold answer does not."""
    denied: tuple[str, ...]
    """Words that the candidate has and denies, where the gold answer denies nothing."""
    other_exact: tuple[str, ...]
    """Numbers of the candidate in the place of one that it lacks."""
    contradicted: tuple[str, ...]
    """Of these, those of the very thing that the gold answer counts, or its number with another of its things."""
    other_names: tuple[str, ...]
    """Names of the candidate in the place of one that it lacks."""
    coarse: tuple[str, ...]
    """Times of the candidate that include the one that is meant and are less exact."""
    other_periods: tuple[str, ...]
    """Times of the candidate in the place of one that it lacks."""

    @property
    def found(self) -> list[bool]:
        """Whether each part is there. A date has two parts: the words around it say little."""
        polar = [self.said == self.polarity] if self.polarity else []
        dated = [hit for hit in self.periods.values() for _ in (0, 1)]
        return [*self.words.values(), *self.exact.values(), *dated, *polar]

    def shown(self, *, found: bool) -> tuple[str, ...]:
        """The parts that are there, or those that are not, as the gold answer writes them."""
        return (
            *(word.shown for word, hit in self.words.items() if hit is found),
            *(fact.shown or fact.value for fact, hit in self.exact.items() if hit is found),
            *(period.shown for period, hit in self.periods.items() if hit is found),
            *(
                ("yes" if self.polarity > 0 else "no",)
                if self.polarity and (self.said == self.polarity) is found
                else ()
            ),
        )

    def _polar(self, *, found: bool) -> tuple[str, ...]:
        if not self.polarity or (self.said == self.polarity) is not found:
            return ()
        return ("yes" if self.polarity > 0 else "no",)


@lru_cache(maxsize=512)
def read(text: str) -> Reading:
    """Take a text apart."""
    text = text[:READ]
    periods = tuple(read_periods(text))[:MOST_EXACT]
    rest = without_periods(text)
    for pattern, plain in _PLAIN:
        rest = pattern.sub(plain, rest)
    parsed = wording(rest)
    kept: dict[str, Word] = {}
    for token in parsed.tokens:
        if _is_content(token) and len(kept) < MOST_WORDS:
            is_name = token.fact is not None and token.fact.kind == "name"
            kept.setdefault(token.stem, Word(token.stem, token.shown, is_name))
    exact = tuple(dict.fromkeys(fact for fact in parsed.facts if fact.kind in _EXACT))[:MOST_EXACT]
    return Reading(text=text, words=kept, exact=exact, periods=periods, sentences=tuple(parsed.sentences))


def compare_parts(question: str, gold: str, candidate: str) -> Parts:
    """Hold a candidate answer against a gold answer, part by part."""
    asked, meant, given = read(question), read(gold), read(candidate)
    polarity = _polarity(gold)
    new = _new_words(asked, meant, polarity)
    hits = {word: _has_word(word, given, meant) for word in new}
    bare = bool(_ASKS_HOW_MUCH.search(question))
    exact = {fact: _has_exact(fact, given, meant, bare=bare) for fact in meant.exact}
    periods = {period: any(other.fits(period) for other in given.periods) for period in meant.periods}
    lacking = [period for period, hit in periods.items() if not hit]
    coarse = [one for one in given.periods if any(one.touches(period) for period in lacking)]
    names_lack = [word for word, hit in hits.items() if word.is_name and not hit]
    return Parts(
        words=hits,
        exact=exact,
        periods=periods,
        items=_items(gold, hits),
        polarity=polarity,
        said=_said(question, candidate) if polarity else 0,
        denied=_denied(hits, given, meant) if polarity == 0 else (),
        other_exact=() if all(exact.values()) else _shown(set(given.exact) - set(asked.exact) - set(meant.exact)),
        contradicted=_contradicted([fact for fact, hit in exact.items() if not hit], given, meant),
        other_names=_other_names(asked, meant, given) if names_lack else (),
        coarse=tuple(one.shown for one in coarse),
        other_periods=tuple(one.shown for one in given.periods if lacking and one not in coarse),
    )


def _is_content(token: Token) -> bool:
    if token.fact is not None and token.fact.kind != "name":
        return False
    if token.stem.startswith("letter "):  # an initial
        return False
    return token.stem not in FUNCTION_WORDS and token.stem not in NEGATORS and len(token.stem) > 1


def _new_words(asked: Reading, meant: Reading, polarity: int) -> list[Word]:
    """The content words that say more than the question; all of them where nothing else is stated."""
    kept = [word for stem, word in meant.words.items() if not polarity or stem not in _POLAR_WORDS][:MOST_PARTS]
    new = [word for word in kept if not _is_in(word.stem, asked.words)]
    heavy = [word for word in new if word.stem not in _LIGHT_WORDS]
    if heavy or new or meant.exact or meant.periods or polarity:
        return heavy or ([] if meant.exact or meant.periods or polarity else new)
    # A choice between things that the question names, or an answer of small words alone.
    small = [Word(token.stem, token.shown, is_name=False) for sentence in meant.sentences for token in sentence]
    return kept or list(dict.fromkeys(small))[:MOST_SMALL_WORDS]


# --- Words ---


def _has_word(word: Word, given: Reading, meant: Reading) -> bool:
    if _is_in(word.stem, given.words) or (word.stem not in meant.words and word.stem in given.order):
        return True
    if word.shown.isupper() and 2 <= len(word.shown) <= SPELT_FROM:
        return word.shown.lower() in _initials(given)
    return word.is_name and any(
        name.shown.isupper() and 1 < len(name.shown) <= SPELT_FROM and name.shown.lower() in _initials(meant)
        for name in given.words.values()
    )


def _is_in(stem: str, others: dict[str, Word]) -> bool:
    if stem in others or not _ALIAS_OF.get(stem, frozenset()).isdisjoint(others):
        return True
    if not SPELT_FROM <= len(stem) <= SPELT_UNTIL:
        return False
    return any(
        _is_spelt_alike(stem, other)
        for other in others
        if SPELT_FROM <= len(other) <= SPELT_UNTIL and other[0] == stem[0]
    )


@lru_cache(maxsize=65_536)
def _is_spelt_alike(one: str, other: str) -> bool:
    if one.startswith(other) or other.startswith(one):
        return True
    if abs(len(one) - len(other)) > 2:
        return False
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= SAME_SPELLING


def _initials(reading: Reading) -> set[str]:
    """The first letters of runs of two to five names: `nyc` for New York City."""
    found: set[str] = set()
    for sentence in reading.sentences:
        run = ""
        for token in sentence:
            run = (run + token.shown[:1].lower())[-SPELT_FROM:] if token.shown[:1].isupper() else ""
            found.update(run[start:] for start in range(len(run) - 1))
    return found


def _other_names(asked: Reading, meant: Reading, given: Reading) -> tuple[str, ...]:
    known = asked.words.keys() | meant.words.keys()
    return tuple(word.shown for stem, word in given.words.items() if word.is_name and stem not in known)


def _denied(hits: dict[Word, bool], given: Reading, meant: Reading) -> tuple[str, ...]:
    """The words with a negator just before them in every place where the candidate has them."""
    if _DENIES.search(meant.text):
        return ()
    wanted = {word.stem: word.shown for word, hit in hits.items() if hit}
    places: dict[str, bool] = {}
    for sentence in given.sentences:
        for place, token in enumerate(sentence):
            if token.stem in wanted:
                before = sentence[max(0, place - DENIED_WITHIN) : place]
                denied = any(other.stem in NEGATORS for other in before)
                places[token.stem] = places.get(token.stem, True) and denied
    return tuple(wanted[stem] for stem, denied in places.items() if denied)


# --- Numbers, yes and no, lists ---


def _has_exact(fact: Fact, given: Reading, meant: Reading, *, bare: bool) -> bool:
    """Whether a candidate states a number; `bare`: the question says what is counted, so the unit may be left out."""
    if any(_states(other, fact, meant) for other in given.exact) or _is_a_year(fact, given):
        return True
    if not bare or fact.of not in _DIMENSIONS:
        return False
    return any(other.of not in _DIMENSIONS and _number(other) == _number(fact) for other in given.exact)


def _states(other: Fact, fact: Fact, meant: Reading) -> bool:
    if (other.kind, other.value) != (fact.kind, fact.value):
        return False
    if other.of == fact.of or not other.of or not fact.of:
        return True
    if other.of in _DIMENSIONS or fact.of in _DIMENSIONS:
        return False
    # Two cats and a dog are not two dogs and a cat; seven guests may be seven people.
    return other.of not in meant.words


def _contradicted(lacking: Sequence[Fact], given: Reading, meant: Reading) -> tuple[str, ...]:
    """Six weeks for six months, three cats for two, two dogs for two cats and a dog."""
    found = {
        other
        for fact in lacking
        for other in given.exact
        if other.kind == fact.kind == "number" and other.of and _is_rival(other, fact, meant)
    }
    return _shown(found)


def _is_rival(other: Fact, fact: Fact, meant: Reading) -> bool:
    if other.of == fact.of:
        return other.value != fact.value
    return other.value == fact.value and other.of in meant.words


def _number(fact: Fact) -> float | None:
    """The number as it is written, before its unit."""
    text = (fact.shown or fact.value).split()[0].lower()
    if text in NUMBER_WORDS:
        return NUMBER_WORDS[text]
    return float(text) if re.fullmatch(r"\d+(?:\.\d+)?", text) else None


def _is_a_year(fact: Fact, given: Reading) -> bool:
    return fact.kind == "number" and any(
        period.has_year and fact.value == str(period.first.year) for period in given.periods
    )


def _shown(facts: set[Fact]) -> tuple[str, ...]:
    return tuple(sorted({fact.shown or fact.value for fact in facts}))


def _polarity(text: str) -> int:
    return 1 if _YES.search(text) else -1 if _NO.search(text) else 0


def _said(question: str, candidate: str) -> int:
    """Whether a candidate says yes or no; by what it repeats of the question where it does not begin with either."""
    told = _polarity(candidate)
    if told or not _ASKS_YES_NO.match(question):
        return told
    first = re.split(r"(?<=[.!?])\s+|\n+", candidate.strip(), maxsplit=1)[0]
    if _DENIES.search(first):
        return -1
    # A statement says yes when it repeats what was asked; something else about the topic says neither.
    asked, given = read(question).words, read(candidate).words
    return int(2 * sum(_is_in(stem, given) for stem in asked) >= len(asked))


def _items(gold: str, hits: dict[Word, bool]) -> tuple[bool, ...]:
    by_stem = {word.stem: hit for word, hit in hits.items()}
    found = []
    for item in _ITEM_BREAK.split(without_periods(gold), maxsplit=MOST_PARTS):
        own = [by_stem[stem] for stem in read(item).words if stem in by_stem]
        if own:
            found.append(2 * sum(own) > len(own))
    return tuple(found)


def plain_words(text: str) -> list[str]:
    """The words of a text, for comparing two texts as a whole."""
    return words(text[:READ])
