"""Gold answers that look wrong: what they state contradicts the evidence that is named for them.

Three things are looked for, each with the words that disagree: a time that the evidence tells otherwise (`yesterday`
said on 8 May is 7 May), a number where the evidence has another of the same thing, and evidence in which somebody
speaks of themselves while the question is about somebody else. An answer that no sentence of its evidence states is
not named: it may be inferred.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from assay.judging.builtin.answer_parts import Reading, compare_parts, read
from assay.text.claims import sentences
from assay.text.periods import Period, read_periods
from assay.text.relative_times import read_relative
from assay.text.terms import words
from assay.text.wording import UNITS, Fact

SHORTEST_NAME = 3
_OF_ONESELF = re.compile(r"\b(?:i|i'm|i've|my|me|we|our|us)\b", re.IGNORECASE)
_OF_OTHERS = re.compile(r"\b(?:you|your|yours|he|she|his|her|they|their)\b|\?", re.IGNORECASE)
_DIMENSIONS = frozenset(dimension for dimension, _ in UNITS.values())


class GoldEvidence(NamedTuple):
    """One text that is named as the evidence of a gold answer."""

    text: str
    said_on: str = ""
    """A text with the day on which it was said; empty: not known."""
    speaker: str = ""
    """Who said it; empty: not known."""


class GoldProblem(StrEnum):
    """Why a gold answer looks wrong."""

    TIME = "its time is not the one that the evidence tells"
    NUMBER = "its number is not the one that the evidence has"
    SPEAKER = "somebody else says it, of themselves"


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldReading:
    """What was found of one gold answer."""

    problem: GoldProblem | None = None
    """None: nothing contradicts it."""
    states: tuple[str, ...] = ()
    """What the gold answer states."""
    evidence: tuple[str, ...] = ()
    """What the evidence states in its place."""


def check_gold(question: str, gold: str, evidence: Sequence[GoldEvidence]) -> GoldReading:
    """Hold a gold answer against its evidence."""
    meant = read(gold)
    texts = [turn.text for turn in evidence]
    told = [period for turn in evidence for period in _times(turn)]
    return _check_time(meant, told) or _check_number(meant, texts) or _check_speaker(question, gold, evidence)


def _times(turn: GoldEvidence) -> list[Period]:
    days = [period for period in read_periods(turn.said_on) if period.days == 1 and period.has_year]
    relative = read_relative(turn.text, days[0].first) if days else []
    return [*read_periods(turn.text), *relative]


def _check_time(meant: Reading, told: Sequence[Period]) -> GoldReading | None:
    """A time that touches none of the times that the evidence tells."""
    if not meant.periods or not told:
        return None
    if any(period.touches(other) for period in meant.periods for other in told):
        return None
    return GoldReading(
        problem=GoldProblem.TIME,
        states=tuple(period.shown for period in meant.periods),
        evidence=tuple(period.shown for period in told),
    )


def _check_number(meant: Reading, evidence: Sequence[str]) -> GoldReading | None:
    """A number of which the evidence has none, while it has another number of the same unit or thing."""
    seen = [fact for text in evidence for fact in read(text).exact if fact.kind == "number"]
    for fact in (fact for fact in meant.exact if fact.kind == "number" and fact.of):
        rivals = [other for other in seen if _is_of_same(other, fact)]
        if rivals and all(other.value != fact.value for other in seen):
            return GoldReading(
                problem=GoldProblem.NUMBER,
                states=(fact.shown,),
                evidence=tuple(dict.fromkeys(other.shown for other in rivals)),
            )
    return None


def _is_of_same(one: Fact, other: Fact) -> bool:
    if one.of in _DIMENSIONS or other.of in _DIMENSIONS:
        return one.of == other.of
    return bool(one.of) and one.of == other.of


def _check_speaker(question: str, gold: str, evidence: Sequence[GoldEvidence]) -> GoldReading:
    """Evidence in which somebody else speaks of themselves, while the question asks about one person by name."""
    speakers = {turn.speaker for turn in evidence if turn.speaker}
    named = [word.shown.lower() for word in read(question).words.values() if word.is_name]
    own = words(" ".join(speakers))
    if len(speakers) != 1 or not named or any(_is_short_for(name, whole) for name in named for whole in own):
        return GoldReading()
    # Of the evidence, the sentence that has most of the gold answer.
    told = [sentence for turn in evidence for sentence in sentences(turn.text)]
    wanted = read(gold).words.keys()
    best = max(told, key=lambda sentence: len(wanted & read(sentence).words.keys()), default="")
    found = compare_parts(question, gold, best).found
    if 2 * sum(found) < len(found) or not _OF_ONESELF.search(best) or _OF_OTHERS.search(best):
        return GoldReading()
    return GoldReading(problem=GoldProblem.SPEAKER, states=(gold,), evidence=(f"{min(speakers)}: {best}",))


def _is_short_for(name: str, whole: str) -> bool:
    """Whether a name is another or its beginning, as Mel is for Melanie."""
    return name == whole or (len(name) >= SHORTEST_NAME and whole.startswith(name))
