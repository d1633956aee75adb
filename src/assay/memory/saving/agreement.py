"""Do two texts agree? Deterministic, with reasons, since similarity cannot tell: "limit 100" is near "limit 500".

Facts (numbers with units, dates, versions, names), negation, opposites, quantifiers, argument order, single words put
in place of others, and signs of change are compared, sentence by sentence where sentences correspond. Whatever cannot
be explained as another wording counts as disagreement: to keep a note too many costs little, to lose an update much.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import product
from typing import NamedTuple

from assay.text.vocabulary import (
    CHANGE_SIGNS,
    FUNCTION_WORDS,
    NEGATING_PREFIXES,
    NEGATORS,
    OPPOSITES,
    RESTRICTORS,
    UNITS,
    VERBS,
)
from assay.text.wording import Fact, Token, Wording, without_fillers, wording

ALIGNED = 0.3
"""Sentences that share less of their words do not correspond."""
SAME_FRAME = 0.5
"""Sentences that share more than this, in order, differ by what was put in place of something else."""
SAME_SENTENCE = 0.7
"""In sentences that share this much, a word was put in place of another even if it also stands elsewhere."""
LONGEST_SWAP = 6
"""Words on either side of a word that others changed places around."""
NEW_WORDS = 4
"""So many words of content that the old text lacks, and more than a third of all, are more than another wording;
more than half are in any case."""

_DIMENSIONS = frozenset(dimension for dimension, _ in UNITS.values())
_CALENDAR = frozenset({"date", "month", "quarter", "weekday"})
_LISTS = frozenset({"and", "or"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """What comparing an old text with a new one gave."""

    contradictions: tuple[str, ...] = ()
    additions: tuple[str, ...] = ()
    """What only the new text says, in place of nothing."""

    @property
    def agrees(self) -> bool:
        """Nothing in the new text speaks against the old one."""
        return not self.contradictions

    @property
    def adds(self) -> bool:
        """The new text says more than the old one."""
        return bool(self.additions)


class _Sentences(NamedTuple):
    """A sentence of the old text and the one of the new text that corresponds to it."""

    old: list[Token]
    new: list[Token]


def compare(old: str, new: str) -> Agreement:
    """What a new text says against an old one, and beyond it."""
    before, after = wording(old), wording(new)
    pairs, alone = _correspondence(before, after)
    added, conflicts = _facts(before, after, max((_frame(pair) for pair in pairs), default=0.0))
    contradictions = [*conflicts, *_changes(before, after)]
    for pair in pairs:
        contradictions += [*_negations(pair, before, after), *_opposites(pair), *_swaps(pair, before, after)]
        contradictions += _order(pair)
    additions = [*added, *_more(before, after, alone)]
    return Agreement(contradictions=tuple(dict.fromkeys(contradictions)), additions=tuple(dict.fromkeys(additions)))


def _correspondence(before: Wording, after: Wording) -> tuple[list[_Sentences], list[list[Token]]]:
    """Each new sentence with the old one most like it, and the new ones that are like none."""
    if len(before.sentences) == len(after.sentences) == 1:
        return [_Sentences(before.sentences[0], after.sentences[0])], []
    pairs, alone = [], []
    for sentence in after.sentences:
        best = max(before.sentences, key=lambda old: _shared(old, sentence), default=None)
        if best is None or _shared(best, sentence) < ALIGNED:
            alone.append(sentence)
        elif [token.stem for token in best] != [token.stem for token in sentence]:
            pairs.append(_Sentences(best, sentence))
    return pairs, alone


def _shared(one: Sequence[Token], other: Sequence[Token]) -> float:
    first, second = ({token.stem for token in tokens} for tokens in (one, other))
    return 2 * len(first & second) / (len(first) + len(second))


def _frame(pair: _Sentences) -> float:
    """How much of two sentences is the same, in order."""
    return SequenceMatcher(None, without_fillers(pair.old), without_fillers(pair.new), autojunk=False).ratio()


def _facts(before: Wording, after: Wording, alike: float) -> tuple[list[str], list[str]]:
    """Facts only the new text has, and pairs of which each text has one."""
    gone = _unmatched(before, after)
    come = _unmatched(after, before)
    conflicts = [
        (old, new)
        for old, new in product(gone, come)
        if _same_slot(old, new, alike) and (old.kind != "name" or _led_to(old, before) & _led_to(new, after))
    ]
    taken = {new for _, new in conflicts}
    return (
        [f"adds {_shown(fact)}" for fact in come if fact not in taken],
        [f"{_shown(old)} / {_shown(new)}" for old, new in conflicts],
    )


def _unmatched(one: Wording, other: Wording) -> list[Fact]:
    facts = [fact for fact in one.facts if not any(fact.fits(another) for another in other.facts)]
    return [fact for fact in facts if fact.kind != "name" or fact.value not in other.stems]


def _led_to(fact: Fact, text: Wording) -> set[str]:
    """The words that stand before a name: owned by, written in. At the start of a sentence there is none."""
    found = set()
    for sentence in text.sentences:
        stems = without_fillers(sentence)
        found |= {stems[place - 1] if place else "" for place, stem in enumerate(stems) if stem == fact.value}
    return found


def _same_slot(old: Fact, new: Fact, alike: float) -> bool:
    if old.kind == new.kind == "number":
        if old.of == new.of or not old.of or not new.of:
            return True
        return not {old.of, new.of} & _DIMENSIONS and alike > SAME_FRAME
    kinds = {old.kind, new.kind}
    return len(kinds) == 1 or kinds <= _CALENDAR or kinds == {"number", "version"}


def _shown(fact: Fact) -> str:
    counted = fact.kind == "number" and fact.of and fact.of not in _DIMENSIONS
    return f"{fact.shown} ({fact.of})" if counted else fact.shown


def _changes(before: Wording, after: Wording) -> Iterator[str]:
    signs = (after.stems & CHANGE_SIGNS) - before.stems
    if signs:
        yield f"says that something changed ({', '.join(sorted(signs))})"


def _negations(pair: _Sentences, before: Wording, after: Wording) -> Iterator[str]:
    old, new = _negation_count(pair.old, after), _negation_count(pair.new, before)
    if old != new:
        yield f"negation: {old} / {new}"
    for word in sorted(RESTRICTORS):
        if (word in _stems(pair.old)) != (word in _stems(pair.new)):
            yield f"{word} in one of them"


def _negation_count(sentence: Sequence[Token], other: Wording) -> int:
    return sum(token.stem in NEGATORS or _negates(token.stem, other.stems) for token in sentence)


def _negates(stem: str, others: frozenset[str]) -> bool:
    """Whether a word is the negated form of one that only the other text has: inactivity, activity."""
    bases = (stem.removeprefix(prefix) for prefix in NEGATING_PREFIXES if stem.startswith(prefix))
    return stem not in others and any(len(base) > 3 and base in others for base in bases)


def _stems(sentence: Iterable[Token]) -> set[str]:
    return {token.stem for token in sentence}


def _opposites(pair: _Sentences) -> Iterator[str]:
    old, new = _stems(pair.old), _stems(pair.new)
    for one, other in product(sorted(old - new), sorted(new - old)):
        if frozenset({one, other}) in OPPOSITES:
            yield f"{one} / {other}"


def _swaps(pair: _Sentences, before: Wording, after: Wording) -> Iterator[str]:
    """Words of content put in place of others while the sentence around them stayed."""
    old, new = without_fillers(pair.old), without_fillers(pair.new)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    short = max(len(old), len(new)) <= 3
    ratio = matcher.ratio()
    if ratio <= SAME_FRAME and not short:
        return
    there, here = (set(new), set(old)) if ratio >= SAME_SENTENCE else (after.stems, before.stems)
    for kind, first, last, start, stop in matcher.get_opcodes():
        gone = [stem for stem in old[first:last] if stem not in FUNCTION_WORDS and stem not in there]
        come = [stem for stem in new[start:stop] if stem not in FUNCTION_WORDS and stem not in here]
        facts = {fact.value for fact in (*before.facts, *after.facts)}
        if kind == "replace" and gone and come and not {*gone, *come} <= facts:
            yield f"{' '.join(gone)} / {' '.join(come)}"


def _order(pair: _Sentences) -> Iterator[str]:
    """Arguments that changed places around a word both sentences have: tabs over spaces, spaces over tabs."""
    old, new = without_fillers(pair.old), without_fillers(pair.new)
    if _one_block_moved(old, new) or _is_list(pair) or _voice(pair.old) != _voice(pair.new):
        return
    for word in (word for word in dict.fromkeys(old) if old.count(word) == new.count(word) == 1):
        left, right = _around(old, word)
        other_left, other_right = _around(new, word)
        if (crossed := left & other_right) and (back := right & other_left):
            yield f"order around {word}: {' '.join(sorted(crossed))} / {' '.join(sorted(back))}"
            return


def _around(stems: Sequence[str], word: str) -> tuple[set[str], set[str]]:
    place = stems.index(word)
    left, right = stems[max(0, place - LONGEST_SWAP) : place], stems[place + 1 : place + 1 + LONGEST_SWAP]
    before, after = set(left) - FUNCTION_WORDS, set(right) - FUNCTION_WORDS
    return before - after, after - before


def _one_block_moved(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether the new sentence is the old one with one part put elsewhere: `by default` at its start or its end."""
    if sorted(old) != sorted(new):
        return False
    inner, wanted = _differing(old, new)
    return any(inner[cut:] + inner[:cut] == wanted for cut in range(len(inner) + 1))


def _differing(old: Sequence[str], new: Sequence[str]) -> tuple[list[str], list[str]]:
    """Two sentences of equal length without what they begin and end with alike."""
    start = next((place for place, (one, other) in enumerate(zip(old, new, strict=True)) if one != other), len(old))
    end = len(old)
    while end > start and old[end - 1] == new[end - 1]:
        end -= 1
    return list(old[start:end]), list(new[start:end])


def _voice(sentence: Sequence[Token]) -> bool:
    """Whether a sentence is in the passive and names who acts."""
    return "by" in _stems(sentence)


def _is_list(pair: _Sentences) -> bool:
    """Whether only the order of several things joined by and differs, which says nothing."""
    old, new = without_fillers(pair.old), without_fillers(pair.new)
    if sorted(old) != sorted(new) or not _stems(pair.old) & _stems(pair.new) & _LISTS:
        return False
    items, _ = _differing(old, new)
    return all(item not in FUNCTION_WORDS | VERBS and old.count(item) == 1 for item in items)


def _more(before: Wording, after: Wording, alone: Sequence[Sequence[Token]]) -> Iterator[str]:
    """What the new text says in words that the old one lacks, beyond another wording."""
    fresh = after.content - before.stems
    if (len(fresh) >= NEW_WORDS and len(fresh) * 3 > len(after.content)) or len(fresh) * 2 > len(after.content):
        yield f"adds {' '.join(sorted(fresh)[:NEW_WORDS])}"
    for sentence in alone:
        if len(_stems(sentence) & fresh) > 2:
            yield f"adds a sentence on {' '.join(sorted(_stems(sentence) & fresh)[:3])}"
