"""Whether what a claim states exactly stands in its support: numbers, dates, names, negation, opposites.

Similar wording hides exactly these: "limit 100" is near "limit 500", "was" near "was not". Each check gives words a
person can read, and the counts are features of the judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from assay.judging.builtin.evidence import Evidence, Sentence
from assay.text.terms import stems_of
from assay.text.vocabulary import FILLERS, FUNCTION_WORDS, NEGATORS, OPPOSITES_OF, RESTRICTORS, words_of
from assay.text.wording import Fact, Token

SAME_FRAME = 0.6
"""Sentences that share this much, in order, say the same; what differs was put in place of something."""
MOST_APART = 1
"""A negation turns a sentence round only when hardly anything else differs: it may belong to another clause."""

_NAMES = frozenset({"name"})
_MORE = frozenset(
    stems_of(
        words_of(
            "increase increased increases raise rise rose grow growth gain higher greater more longer faster stronger "
            "elevated enhance enhanced promote promotes activate activates activation induce induces stimulate improve "
            "boost strengthen accelerate upregulate upregulated exceed support supports enable protect benefit"
        )
    )
)
_LESS = frozenset(
    stems_of(
        words_of(
            "decrease decreased decreases reduce reduces reduction lower fell fall drop decline declined loss lose "
            "less fewer shorter slower weaker inhibit inhibits inhibition suppress suppresses block blocks "
            "prevent prevents impair impaired impairs weaken slow downregulate downregulated lack lacks fail fails "
            "failed absence deficient deficiency diminish attenuate limit worsen harm"
        )
    )
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Consistency:
    """What speaks against a claim being supported."""

    numbers: int
    """How many numbers, dates and times the claim states."""
    numbers_missing: tuple[str, ...]
    """Those that stand nowhere in the evidence."""
    numbers_elsewhere: tuple[str, ...]
    """Those that stand in the evidence, but not near the support."""
    names: int
    names_missing: tuple[str, ...]
    negation_differs: bool
    """One of claim and best sentence is negated, the other is not."""
    opposites: tuple[str, ...]
    """The claim has a word, its best sentence the opposite one."""
    direction_differs: bool
    """The claim tells of more, its best sentence of less, or the other way round."""
    replaced: tuple[str, ...]
    """The claim has one number, its best sentence another of the same kind in its place."""
    frame: float
    """How much of claim and best sentence is the same, in order, 0 to 1."""
    apart: int
    """How many words of content only one of the two has."""

    @property
    def contradicts(self) -> bool:
        """Whether the best sentence is the same but for a number, a negation or an opposite."""
        negated = self.negation_differs and self.apart <= MOST_APART
        turned = negated or bool(self.opposites) or bool(self.replaced)
        return turned and self.frame >= SAME_FRAME

    @property
    def problems(self) -> tuple[str, ...]:
        """In words."""
        found = [f"{shown} stands in no passage" for shown in (*self.numbers_missing, *self.names_missing)]
        found += [f"{pair} in its support" for pair in self.replaced]
        found += ["one of claim and support is negated"] * self.negation_differs
        found += ["claim and support go in opposite directions"] * self.direction_differs
        return (*found, *(f"{pair} are opposites" for pair in self.opposites))


def consistency(claim: Sentence, window: Sequence[Sentence], best: Sentence | None, evidence: Evidence) -> Consistency:
    """Check one claim against its best sentence, the sentences around it, and all of the evidence."""
    numbers = [fact for fact in claim.facts if fact.kind not in _NAMES]
    names = [fact for fact in claim.facts if fact.kind in _NAMES]
    near = [fact for one in window for fact in one.facts]
    missing = [fact for fact in numbers if not _stated(fact, evidence.facts)]
    return Consistency(
        numbers=len(numbers),
        numbers_missing=_shown(missing),
        numbers_elsewhere=_shown(fact for fact in numbers if fact not in missing and not _stated(fact, near)),
        names=len(names),
        names_missing=_shown(fact for fact in names if fact.value not in evidence.stems),
        negation_differs=best is not None and _negated(claim) != _negated(best),
        opposites=() if best is None else _opposites(claim, best),
        direction_differs=best is not None and _direction(claim) * _direction(best) < 0,
        replaced=() if best is None else _replaced(numbers, claim, best),
        frame=0.0 if best is None else _frame(claim, best),
        apart=0 if best is None else len(_stated_stems(claim) ^ _stated_stems(best)),
    )


def _stated(fact: Fact, among: Iterable[Fact]) -> bool:
    """Whether a number or date stands there, counting whatever it may: 40 of something is at least the number 40."""
    return any(fact.fits(other) or fact.value == other.value or fact.value in other.value.split("-") for other in among)


def _negated(sentence: Sentence) -> bool:
    return sum(token.stem in NEGATORS for token in sentence.tokens) % 2 == 1


def _direction(sentence: Sentence) -> int:
    """1 when a sentence tells of more, -1 of less, 0 of neither or both; a negation turns it round."""
    more = sum(token.stem in _MORE for token in sentence.tokens) - sum(token.stem in _LESS for token in sentence.tokens)
    sign = (more > 0) - (more < 0)
    return -sign if _negated(sentence) else sign


def _opposites(claim: Sentence, best: Sentence) -> tuple[str, ...]:
    return tuple(
        f"{stem} / {other}"
        for stem in sorted(claim.stems - best.stems)
        for other in sorted(OPPOSITES_OF.get(stem, frozenset()) & (best.stems - claim.stems))
    )


def _replaced(numbers: Sequence[Fact], claim: Sentence, best: Sentence) -> tuple[str, ...]:
    there = [fact for fact in best.facts if fact.kind != "name"]
    lost = [fact for fact in numbers if not _stated(fact, there)]
    other = [fact for fact in there if not _stated(fact, claim.facts)]
    pairs = [(one, another) for one in lost for another in other if one.kind == another.kind and one.of == another.of]
    return tuple(f"{one.shown} / {another.shown}" for one, another in pairs)


def _frame(claim: Sentence, best: Sentence) -> float:
    """Numbers and negators are left out: they are what may differ inside a frame."""
    one, other = (
        [token.stem for token in sentence.tokens if token.stem not in FILLERS | NEGATORS and not _is_number(token)]
        for sentence in (claim, best)
    )
    return SequenceMatcher(None, one, other, autojunk=False).ratio() if one and other else 0.0


def _stated_stems(sentence: Sentence) -> frozenset[str]:
    return frozenset(
        token.stem for token in sentence.tokens if token.stem not in FUNCTION_WORDS | NEGATORS and not _is_number(token)
    )


def _is_number(token: Token) -> bool:
    return token.fact is not None and token.fact.kind != "name"


def restricted(claim: Sentence, best: Sentence | None) -> bool:
    """Whether the claim says only, except or unless where its support does not."""
    return bool(claim.stems & RESTRICTORS) and (best is None or not best.stems & RESTRICTORS)


def _shown(facts: Iterable[Fact]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(fact.shown or fact.value for fact in facts))
