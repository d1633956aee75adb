"""Do two texts agree? Deterministic, with reasons."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from itertools import pairwise, product
from typing import NamedTuple

from assay.memory.saving.coverage import Vocabulary
from assay.memory.saving.openings import ALL_VERBS, ANYBODY
from assay.text.terms import stems_of
from assay.text.wording import (
    FUNCTION_WORDS,
    NEGATING_PREFIXES,
    NEGATORS,
    NUMBER_WORDS,
    OPPOSITES_OF,
    RESTRICTORS,
    UNITS,
    VERBS,
    Fact,
    Sentence,
    Wording,
    wording,
    words_of,
)

# --- Agreement: compared by words, since similarity does not separate "limit 100" from "limit 500" ---
#
# Facts (numbers with units, dates, versions, names), negation, opposites, quantifiers, argument order, single words
# put in place of others, and signs of change are compared, sentence by sentence where sentences correspond. Whatever
# cannot be explained as another wording counts as disagreement: to keep a note too many costs little, to lose an
# update much.

ALIGNED = 0.3
"""Sentences that share less of their words do not correspond."""
SAME_FRAME = 0.5
"""Sentences that share more than this, in order, differ by what was put in place of something else."""
SAME_SENTENCE = 0.7
"""In sentences that share this much, a new word replaces an old one even if it also occurs elsewhere in the text."""
SHORT = 3
"""Words of sentences that are compared word by word, whatever they share."""
CLOSE = 0.6
"""Sentences that share this much, in any order, are about the same: a negation in one of them contradicts the other."""
LONGEST_SWAP = 6
"""Words on either side of a word that others changed places around."""
NEGATED_WORDS = 3
"""Words of content that a negation or restriction is taken to cover."""
NEW_WORDS = 4
"""So many words of content that the old text lacks, and more than a third of all, are more than another wording;
more than half are in any case."""

SAME_MEASURE = 0.002
"""Relative difference of two measures that is rounding: six feet, 1.83 m."""

LONGEST_COMPARED = 50_000
"""Characters of a text that is compared."""
MOST_STEPS = 100_000
"""Pairs of sentences, facts and words: 300 sentences against 300. A pair takes a few microseconds."""
_NOTHING: frozenset[str] = frozenset()
_DIMENSIONS = frozenset(dimension for dimension, _ in UNITS.values())
_CALENDAR = frozenset({"date", "month", "quarter", "weekday"})
_NEGATION = "negation"
_DENYING = frozenset({"no", "without"})
_DENYING_ACTS = frozenset({"not", "never"})
_LISTS = frozenset({"and", "or"})
_COPULAS = frozenset(stems_of(words_of("is are be been was were am")))
_LEADS = frozenset(
    stems_of(
        words_of(
            "of to from in on at by with for as into onto over under than before after until till against behind "
            "beside above below between near via through per without during within toward towards past around"
        )
    )
)
"""Prepositions that give the phrase after them its role."""
_COMPARING = frozenset(
    stems_of(words_of("rather instead than over prefer prefers before after versus vs beat beats above below ahead"))
)
_ARTICLES = frozenset(stems_of(words_of("a an the this that these those our my your his her its their every each")))
_NO_ITEMS = FUNCTION_WORDS | VERBS


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """What comparing an old text with a new one gave."""

    contradictions: tuple[str, ...] = ()
    additions: tuple[str, ...] = ()
    """Facts that only the new text has, and negations in texts too unlike to say what is negated."""
    doubtful: bool = False
    """One of the texts negates something, or words stand in place of others, in sentences that are little alike."""
    lacks_facts: bool = False
    """The new text lacks a number, date or name of the old one."""
    adds_facts: bool = False
    """The old text lacks a number, date or name of the new one."""
    framed: bool = False
    """A sentence of the new text differs from one of the old by what was put in place of something else, or both count
    the same thing with other numbers."""
    denials: tuple[str, ...] = ()
    """Those contradictions by which one text denies what the other states: negations, restrictions, opposites."""
    exchanged: str = ""
    """Two that act on each other, in statements that differ otherwise: `A calls B when`, `B calls A once`."""

    @property
    def agrees(self) -> bool:
        """Whether nothing in the new text contradicts the old one."""
        return not self.contradictions

    @property
    def only_denies(self) -> bool:
        """Whether both texts say the same, except that one of them denies it."""
        others = set(self.contradictions) - set(self.denials)
        return bool(self.denials) and not others and not (self.doubtful or self.lacks_facts or self.adds_facts)

    @property
    def adds(self) -> bool:
        """Whether the new text adds something."""
        return bool(self.additions)


TOO_LONG = Agreement(additions=("too long to be compared sentence by sentence",))
"""Of texts that are not compared: the new one is taken to say more, so neither is lost."""


class _Sentences:
    """A sentence of the old text and the one of the new text that corresponds to it."""

    def __init__(self, old: Sentence, new: Sentence) -> None:
        self.old = old
        self.new = new

    @cached_property
    def matcher(self) -> SequenceMatcher[str]:
        """Return what both have, in order."""
        return SequenceMatcher(None, self.old.telling, self.new.telling, autojunk=False)

    @cached_property
    def same_frame(self) -> bool:
        """Whether they share so much, in order, that they differ by what was put in place of something else."""
        # What the matcher finds stands in order in both, so it is never more; this is far quicker to know.
        old, new = self.old.telling, self.new.telling
        length = len(old) + len(new)
        if length and 2.0 * most_in_order(old, new) / length <= SAME_FRAME:
            return False
        return self.matcher.ratio() > SAME_FRAME

    @cached_property
    def close(self) -> bool:
        """Whether they are so alike that a negation in one of them denies what the other states."""
        return self.same_frame or _share(self.old, self.new) >= CLOSE

    @cached_property
    def same_words(self) -> bool:
        """Whether they differ by the order of their words alone."""
        old, new = self.old.telling, self.new.telling
        return len(old) == len(new) and sorted(old) == sorted(new)


def most_in_order(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence; a bit for each place of one, cleared as its word is used."""
    places: dict[str, int] = {}
    for place, word in enumerate(one):
        places[word] = places.get(word, 0) | 1 << place
    every = free = (1 << len(one)) - 1
    for word in other:
        if met := free & places.get(word, 0):
            free = (free + met | free - met) & every
    return len(one) - free.bit_count()


def compare_statements(old: str, new: str) -> Agreement:
    """Compare a new text with an old one: where it contradicts the old text, and what it adds.

    Every sentence is held against every other, so long texts are not compared: they neither contradict each other nor
    count as the same. Equal texts agree at any length.
    """
    if old == new:
        return Agreement()
    if max(len(old), len(new)) > LONGEST_COMPARED:
        return TOO_LONG
    before, after = wording(_spell_out(old)), wording(_spell_out(new))
    if _steps(before, after) > MOST_STEPS:
        return TOO_LONG
    pairs, alone = _correspondence(before, after)
    added, conflicts = _facts(before, after, pairs)
    denials = list(_denials(before, after))
    contradictions, exchanged = [*conflicts, *denials], ""
    doubts: list[str] = []
    swaps: list[str] = []
    for pair in pairs:
        polarity = _polarity(pair, before, after)
        (contradictions if pair.close else doubts).extend(polarity)
        if pair.close:
            stated = _negates_stated(before, after)
            denials += [reason for reason in polarity if stated or not reason.startswith(_NEGATION)]
        (contradictions if _is_telling(pair, before, after) else swaps).extend(_swaps(pair, before, after))
        order = _order(pair)
        if order is not None and order.is_statement(pair):
            contradictions.append(order.reason)
        elif order is not None:
            exchanged = order.reason
    if not _negates_one(before, after):
        # Both negate something: only opposites, and what one negates and the other states, are left to doubt.
        doubts = [reason for reason in doubts if " / " in reason and not reason.startswith(_NEGATION)]
        doubts += _negated_otherwise(before, after)
    additions = [*added, *_more(before, after, alone), *doubts, *swaps]
    return Agreement(
        contradictions=tuple(dict.fromkeys(contradictions)),
        additions=tuple(dict.fromkeys(additions)),
        denials=tuple(dict.fromkeys(denials)),
        doubtful=bool(doubts or swaps),
        lacks_facts=any(not _is_one(fact) for fact in _find_unmatched(before, after)),
        adds_facts=any(not _is_one(fact) for fact in _find_unmatched(after, before)),
        framed=any(pair.same_frame for pair in pairs) or _counts_otherwise(before, after),
        exchanged=exchanged,
    )


_SPELLINGS = (
    (re.compile(r"\bhalf an hour\b", re.IGNORECASE), "30 minutes"),
    (re.compile(r"\b(?:a )?quarter of an hour\b", re.IGNORECASE), "15 minutes"),
    (re.compile(r"\ban hour and a half\b", re.IGNORECASE), "90 minutes"),
    (re.compile(r"\b(?:noon|midday)\b", re.IGNORECASE), "12:00"),
    (re.compile(r"\bmidnight\b", re.IGNORECASE), "0:00"),
)
_HYPHENATED = re.compile(r"\b[A-Z][a-z]{0,40}(?:-[a-z]{1,40}){1,5}\b")
"""A word with a hyphen at the start of a sentence; a name has a capital after the hyphen, too."""
_METRES = {"feet": 0.3048, "foot": 0.3048, "inches": 0.0254, "miles": 1609.344, "yards": 0.9144}
_LENGTH = re.compile(rf"\b(\d{{1,9}}(?:\.\d{{1,9}})?|{'|'.join(NUMBER_WORDS)}) ({'|'.join(_METRES)})\b", re.IGNORECASE)


@lru_cache(maxsize=512)
def _spell_out(text: str) -> str:
    """Write times that are words as numbers, English measures in metres, and words with a hyphen in lower case."""
    for pattern, number in _SPELLINGS:
        text = pattern.sub(number, text)
    text = _HYPHENATED.sub(lambda found: found[0].lower(), text)
    return _LENGTH.sub(_write_in_metres, text)


def _write_in_metres(found: re.Match[str]) -> str:
    number = NUMBER_WORDS.get(found[1].lower())
    return f"{(float(found[1]) if number is None else number) * _METRES[found[2].lower()]:.4g} m"


def _steps(before: Wording, after: Wording) -> int:
    """How many pairs of sentences, of facts, and of words in the longest sentences would be looked at."""
    longest = (max(map(len, text.sentences), default=0) for text in (before, after))
    return len(before.sentences) * len(after.sentences) + len(before.facts) * len(after.facts) + math.prod(longest)


def _correspondence(before: Wording, after: Wording) -> tuple[list[_Sentences], list[Sentence]]:
    """Each new sentence with the old one most like it, and the new ones that are like none."""
    if len(before.sentences) == len(after.sentences) == 1:
        return [_Sentences(before.sentences[0], after.sentences[0])], []
    pairs, alone = [], []
    for sentence in after.sentences:
        best = max(before.sentences, key=lambda old: _share(old, sentence), default=None)
        if best is None or _share(best, sentence) < ALIGNED:
            alone.append(sentence)
        elif [token.stem for token in best] != [token.stem for token in sentence]:
            pairs.append(_Sentences(best, sentence))
    return pairs, alone


def _share(one: Sentence, other: Sentence) -> float:
    return 2 * len(one.stems & other.stems) / (len(one.stems) + len(other.stems))


def _facts(before: Wording, after: Wording, pairs: Sequence[_Sentences]) -> tuple[list[str], list[str]]:
    """Facts only the new text has, and pairs of which each text has one."""
    gone = _find_unmatched(before, after)
    come = _find_unmatched(after, before)
    conflicts = [
        (old, new)
        for old, new in product(gone, come)
        if _same_slot(old, new, pairs)
        and (old.of == new.of or not (_is_one(old) or _is_one(new)))
        and (old.kind != "name" or before.led_to.get(old.value, _NOTHING) & after.led_to.get(new.value, _NOTHING))
    ]
    taken = {new for _, new in conflicts}
    return (
        [f"adds {_describe_fact(fact)}" for fact in come if fact not in taken and not _is_one(fact)],
        [f"{_describe_fact(old)} / {_describe_fact(new)}" for old, new in conflicts],
    )


def _counts_otherwise(before: Wording, after: Wording) -> bool:
    """Whether both texts count the same thing, such as stitches, with different numbers."""
    gone, come = (
        {fact.of for fact in _find_unmatched(*texts) if fact.kind == "number" and fact.of not in _DIMENSIONS}
        for texts in ((before, after), (after, before))
    )
    return bool((gone & come) - {""})


def _find_unmatched(one: Wording, other: Wording) -> list[Fact]:
    facts = [fact for fact in one.facts if not any(_states_same(fact, another) for another in other.facts)]
    return [fact for fact in facts if fact.kind != "name" or fact.value not in other.stems]


def _states_same(fact: Fact, other: Fact) -> bool:
    """Whether two facts are the same: a bare number also where another noun stands beside it, a measure in any unit."""
    if fact.fits(other):
        return True
    if (fact.kind, other.kind) != ("number", "number"):
        return False
    if fact.of in _DIMENSIONS or other.of in _DIMENSIONS:
        return fact.of == other.of and math.isclose(float(fact.value), float(other.value), rel_tol=SAME_MEASURE)
    return fact.value == other.value


def _is_one(fact: Fact) -> bool:
    """Whether a fact is the word `one`, which mostly counts nothing: the other one, one can."""
    return fact.kind == "number" and fact.shown.lower() == "one"


def _same_slot(old: Fact, new: Fact, pairs: Sequence[_Sentences]) -> bool:
    if old.kind == new.kind == "number":
        if old.of == new.of or not old.of or not new.of:
            return True
        return not {old.of, new.of} & _DIMENSIONS and any(pair.same_frame for pair in pairs)
    kinds = {old.kind, new.kind}
    return len(kinds) == 1 or kinds <= _CALENDAR or kinds == {"number", "version"}


def _describe_fact(fact: Fact) -> str:
    counted = fact.kind == "number" and fact.of and fact.of not in _DIMENSIONS
    return f"{fact.shown} ({fact.of})" if counted else fact.shown


def _polarity(pair: _Sentences, before: Wording, after: Wording) -> list[str]:
    """Return the negations, restrictions and opposites of which only one sentence has its side.

    A negation beside a pair of opposites, or beside a restriction, says the same twice: `not accepted`, `rejected`;
    `nothing else`, `only`.
    """
    old, new = _negation_count(pair.old, after), _negation_count(pair.new, before)
    negated = old != new and not _negate_alike(NEGATORS, before, after)
    restricted = [
        word
        for word in sorted(RESTRICTORS & (pair.old.stems ^ pair.new.stems))
        if not _negate_alike(frozenset({word}), before, after)
    ]
    # With and without, before and after often change places in a sentence that is half reworded.
    alike = pair.matcher.ratio() >= SAME_SENTENCE
    opposites = [words for words in _opposites(pair) if alike or FUNCTION_WORDS.isdisjoint(words)]
    if negated and abs(old - new) == 1:
        plain = [words for words in opposites if NEGATORS.isdisjoint(words)]
        if len(plain) == 1 and len(opposites) == 1:
            return [f"{word} in one of them" for word in restricted]
        if not opposites and len(restricted) == 1 and (restricted[0] in pair.old.stems) == (new > old):
            return []
    return [
        *([f"{_NEGATION}: {old} / {new}"] if negated else ()),
        *(f"{word} in one of them" for word in restricted),
        *(" / ".join(words) for words in opposites),
    ]


def _denials(before: Wording, after: Wording) -> Iterator[str]:
    """Words behind `no` or `without` in a new text that negates more, which the old one states and nowhere negates."""
    denied = _find_denied(after)
    if denied and _count_negators(after) > _count_negators(before):
        known = before.stems - FUNCTION_WORDS - frozenset().union(*_negated(NEGATORS, before))
        yield from (f"no {stem}" for stem in sorted(denied & known))


def _negated_otherwise(before: Wording, after: Wording) -> Iterator[str]:
    """Words right behind `not` or `never` in one text that the other states without a negation near them."""
    for text, other in ((after, before), (before, after)):
        known = other.stems - frozenset().union(*_negated(NEGATORS, other))
        for sentence in text.sentences:
            stems = [token.stem for token in sentence if token.stem in NEGATORS or token.stem not in FUNCTION_WORDS]
            for negator, stem in pairwise(stems):
                if negator in _DENYING_ACTS and stem in known:
                    yield f"{stem} negated in one of them"


def _count_negators(text: Wording) -> int:
    return sum(token.stem in NEGATORS for token in text.tokens)


def _find_denied(text: Wording) -> frozenset[str]:
    pairs = (pair for sentence in text.sentences for pair in pairwise(token.stem for token in sentence))
    return frozenset(stem for word, stem in pairs if word in _DENYING and stem not in FUNCTION_WORDS)


def _negates_one(before: Wording, after: Wording) -> bool:
    """Whether only one of two texts negates or restricts anything."""
    old, new = (not text.stems.isdisjoint(NEGATORS | RESTRICTORS) for text in (before, after))
    return old != new


def _negate_alike(negating: frozenset[str], before: Wording, after: Wording) -> bool:
    """Whether both texts negate, or restrict, the same words, in whatever sentence: `none for calls`, `no calls`."""
    old, new = _negated(negating, before), _negated(negating, after)
    if not old or len(old) != len(new):
        return False
    return all(one <= other or other <= one for one, other in zip(old, new, strict=True))


def _negated(negating: frozenset[str], text: Wording) -> list[frozenset[str]]:
    """The words of content near each negating word: behind it, or before it where it ends its sentence."""
    found = []
    for sentence in text.sentences:
        stems = [token.stem for token in sentence]
        for place in (place for place, stem in enumerate(stems) if stem in negating):
            behind = [stem for stem in stems[place + 1 :] if stem not in FUNCTION_WORDS][:NEGATED_WORDS]
            around = behind or [stem for stem in stems[:place] if stem not in FUNCTION_WORDS][-NEGATED_WORDS:]
            if not around:
                return []
            found.append(frozenset(around))
    return found


def _negates_stated(before: Wording, after: Wording) -> bool:
    """Whether one text negates words that the other one states: `not give up` denies nothing of `keep pushing`."""
    for text, other in ((before, after), (after, before)):
        for sentence in text.sentences:
            stems = [token.stem for token in sentence]
            for place in (place for place, stem in enumerate(stems) if stem in NEGATORS):
                behind = [stem for stem in stems[place + 1 :] if stem not in FUNCTION_WORDS][:NEGATED_WORDS]
                if not other.stems.isdisjoint(behind):
                    return True
    # A word may carry its negation itself: inactive, unsupported.
    return before.stems.isdisjoint(NEGATORS) and after.stems.isdisjoint(NEGATORS)


def _negation_count(sentence: Sentence, other: Wording) -> int:
    return sum(stem in NEGATORS or _negates(stem, other.stems) for stem in sentence.negating)


def _negates(stem: str, others: frozenset[str]) -> bool:
    """Whether a word is the negated form of one that only the other text has: inactivity, activity."""
    bases = (stem.removeprefix(prefix) for prefix in NEGATING_PREFIXES if stem.startswith(prefix))
    return stem not in others and any(len(base) > 3 and base in others for base in bases)


def _opposites(pair: _Sentences) -> Iterator[tuple[str, str]]:
    gone, come = pair.old.stems - pair.new.stems, pair.new.stems - pair.old.stems
    for word in sorted(gone & OPPOSITES_OF.keys()):
        for other in sorted(come & OPPOSITES_OF[word]):
            yield word, other


def _swaps(pair: _Sentences, before: Wording, after: Wording) -> Iterator[str]:
    """Words of content put in place of others while the sentence around them stayed."""
    old, new = pair.old.telling, pair.new.telling
    short = max(len(old), len(new)) <= SHORT
    if not short and not pair.same_frame:
        return
    alike = pair.matcher.ratio() >= SAME_SENTENCE
    there, here = (set(new), set(old)) if alike else (after.stems, before.stems)
    facts = {token.stem for token in (*before.tokens, *after.tokens) if token.fact is not None}
    turned = _negation_count(pair.old, after) != _negation_count(pair.new, before)
    for kind, first, last, start, stop in pair.matcher.get_opcodes():
        gone = [stem for stem in old[first:last] if stem not in FUNCTION_WORDS and stem not in there]
        come = [stem for stem in new[start:stop] if stem not in FUNCTION_WORDS and stem not in here]
        if kind == "replace" and gone and come and not {*gone, *come} <= facts and not _mean_same(gone, come):
            if turned and len(gone) == len(come) == 1 and come[0] in OPPOSITES_OF.get(gone[0], ()):
                # Not accepted, rejected.
                continue
            yield f"{' '.join(gone)} / {' '.join(come)}"


def _is_telling(pair: _Sentences, before: Wording, after: Wording) -> bool:
    """Whether words in place of others are another statement, rather than another wording.

    Of a longer note half of a sentence may be reworded; a note of one sentence has nothing else to be about.
    """
    short = max(len(pair.old.telling), len(pair.new.telling)) <= SHORT
    single = max(len(before.sentences), len(after.sentences)) == 1
    return short or single or pair.matcher.ratio() >= SAME_SENTENCE


def _mean_same(gone: Sequence[str], come: Sequence[str]) -> bool:
    """Whether each word has a synonym among those that took its place."""
    there, here = Vocabulary(come), Vocabulary(gone)
    return all(stem in ANYBODY or there.covers(stem) for stem in gone) and all(
        stem in ANYBODY or here.covers(stem) for stem in come
    )


class _Order(NamedTuple):
    """Arguments that took each other's place."""

    pivot: str
    reason: str

    def is_statement(self, pair: _Sentences) -> bool:
        """Whether the order is what the sentence says, rather than two acts that may both happen.

        `A over B` excludes `B over A`. `A calls B` excludes `B calls A` only where nothing else in the sentences
        differs.
        """
        if self.pivot not in ALL_VERBS or self.pivot in _COMPARING:
            return True
        return pair.same_words or pair.matcher.ratio() > SAME_FRAME


def _order(pair: _Sentences) -> _Order | None:
    """Arguments that took each other's place around a word both sentences have: tabs over spaces, spaces over tabs.

    Words that only stand in another order are a paraphrase: `under the mat lies the key`, `the key lies under the mat`.
    """
    if _one_block_moved(pair) or _is_list(pair) or _voice(pair.old) != _voice(pair.new):
        return None
    old, new = pair.old.telling, pair.new.telling
    here, there = Counter(old), Counter(new)
    facts = {token.stem for token in pair.old if token.fact is not None}
    pivots = (word for word, count in here.items() if count == there.get(word) == 1)
    for word in pivots:
        # What a number, name or `is` stands between may change sides: Lena is the keeper, the keeper is Lena.
        if word in facts or word in _COPULAS:
            continue
        left, right = _around(old, word)
        other_left, other_right = _around(new, word)
        crossed, back = left & other_right, right & other_left
        # Around a comparison the sides are the statement, however each of them is worded.
        reversed_sides = word in _COMPARING and bool(crossed and back)
        if reversed_sides or any(_take_places(pair, *sides) for sides in product(sorted(crossed), sorted(back))):
            return _Order(word, f"order around {word}: {' '.join(sorted(crossed))} / {' '.join(sorted(back))}")
    return None


def _take_places(pair: _Sentences, one: str, other: str) -> bool:
    """Whether two words of the old sentence have each other's role in the new one: what leads them tells the role."""
    return (_lead(pair.old, one), _lead(pair.old, other)) == (_lead(pair.new, other), _lead(pair.new, one))


def _lead(sentence: Sentence, word: str) -> str:
    """The preposition before a word's phrase, such as `over` before `the spaces`; empty when there is none."""
    stems = [token.stem for token in sentence]
    place = stems.index(word) - 1
    while place >= 0 and stems[place] not in FUNCTION_WORDS and stems[place] not in _LEADS:
        place -= 1
    if place > 0 and stems[place] in _ARTICLES:
        # An article begins the phrase: only what stands right before it leads it.
        place -= 1
    return stems[place] if place >= 0 and stems[place] in _LEADS else ""


def _around(stems: Sequence[str], word: str) -> tuple[set[str], set[str]]:
    place = stems.index(word)
    left, right = stems[max(0, place - LONGEST_SWAP) : place], stems[place + 1 : place + 1 + LONGEST_SWAP]
    before, after = set(left) - FUNCTION_WORDS, set(right) - FUNCTION_WORDS
    return before - after, after - before


def _one_block_moved(pair: _Sentences) -> bool:
    """Whether the new sentence is the old one with one part put elsewhere: `by default` at its start or its end."""
    if not pair.same_words:
        return False
    inner, wanted = _differing(pair.old.telling, pair.new.telling)
    return any(inner[cut:] + inner[:cut] == wanted for cut in range(len(inner) + 1))


def _differing(old: Sequence[str], new: Sequence[str]) -> tuple[list[str], list[str]]:
    """Two sentences of equal length without what they begin and end with alike."""
    start = next((place for place, (word, other) in enumerate(zip(old, new, strict=True)) if word != other), len(old))
    end = len(old)
    while end > start and old[end - 1] == new[end - 1]:
        end -= 1
    return list(old[start:end]), list(new[start:end])


def _voice(sentence: Sentence) -> bool:
    """Whether a sentence is in the passive and names who acts."""
    return "by" in sentence.stems


def _is_list(pair: _Sentences) -> bool:
    """Whether only the order of a list joined by `and` differs, which does not change the meaning."""
    if not pair.same_words or not pair.old.stems & pair.new.stems & _LISTS:
        return False
    old = pair.old.telling
    items, _ = _differing(old, pair.new.telling)
    return all(item not in _NO_ITEMS and old.count(item) == 1 for item in items)


def _more(before: Wording, after: Wording, alone: Sequence[Sentence]) -> Iterator[str]:
    """Return what the new text adds in words that the old one lacks, beyond a different wording."""
    fresh = after.content - before.stems
    if (len(fresh) >= NEW_WORDS and len(fresh) * 3 > len(after.content)) or len(fresh) * 2 > len(after.content):
        yield f"adds {' '.join(sorted(fresh)[:NEW_WORDS])}"
    for sentence in alone:
        if len(said := sentence.stems & fresh) > 2:
            yield f"adds a sentence on {' '.join(sorted(said)[:3])}"
