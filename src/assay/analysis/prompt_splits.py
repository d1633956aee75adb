"""What a split of a prompt has shown so far: both sides with their scores, and a test that may be looked at any time.

The unit is the question, since questions were dealt and not sessions: its sessions on the side it was dealt are one
value, their mean. A wider search for an earlier answer is left out, because it depends on that answer. The
test is the betting e-process of `statistics.sequential`. One question is one vote, by its first session: the second
version counts how far it scored above the mean of all before it, the first how far below. With a fair coin between them
the mean of that is half the gain, for any number subtracted, as long as it was known before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from assay.analysis.offline import MOST_SESSIONS, newest
from assay.analysis.questions import question_key
from assay.records.analysis import SplitSide, SplitStanding
from assay.records.research_log import PromptSplit, ResearchFilter, ResearchSession
from assay.statistics.independent_samples import half_width
from assay.statistics.intervals import UNIT, mean_interval
from assay.statistics.online_tests import FEWEST_PER_ARM, SampleRatio, sample_ratio, sign_test_of
from assay.statistics.sequential import EProcess, EProcessRule
from assay.storage.work import Work

EFFECT = 0.05
"""The smallest gain of an overall score that matters."""
LEVEL = 0.95
RATIO_ALARM = 0.001
"""Sides less likely than this were not dealt by a fair coin."""
RATIO_LEAST = 20
_FIRST_GUESS = 0.5


def standing(work: Work, split: PromptSplit) -> SplitStanding:
    """Return the results of a split so far, from the store."""
    if split.ended_at is not None and split.ended_at <= split.began_at:
        return standing_of(split, ())
    sessions = list(newest(work, ResearchFilter(since=split.began_at, until=split.ended_at), MOST_SESSIONS))
    return standing_of(split, reversed(sessions), cut=len(sessions) == MOST_SESSIONS)


def standing_of(split: PromptSplit, sessions: Iterable[ResearchSession], *, cut: bool = False) -> SplitStanding:
    """The same of sessions, oldest first."""
    mine = [session for session in sessions if _side(split, session) is not None]
    first, second = ([session for session in mine if key in session.prompt_versions] for key in split.keys)
    values = [_by_question(side) for side in (first, second)]
    delta, low, high = _difference(*(list(value.values()) for value in values))
    ratio = sample_ratio(control=len(values[0]), treatment=len(values[1]))
    rule = EProcessRule(effect=EFFECT / 2.0)
    process = EProcess(rule=rule).update(list(_votes(split, mine)), may_decide=ratio.may_decide)
    sides = [
        _describe_side(key, version, some)
        for key, version, some in zip(split.keys, (split.first, split.second), (first, second), strict=True)
    ]
    return SplitStanding(
        split=split,
        first=sides[0],
        second=sides[1],
        delta=delta,
        low=low,
        high=high,
        decision=process.decision,
        evidence=(_e(process.log_e_better), _e(process.log_e_worse)),
        uneven=_uneven(len(values[0]), len(values[1])),
        withheld="" if ratio.may_decide else _withheld(ratio),
        cut=cut,
    )


def _side(split: PromptSplit, session: ResearchSession) -> int | None:
    """Which of the two a session was dealt; None: neither, or it repeats an earlier answer's question on purpose."""
    dealt = [key in session.prompt_versions for key in split.keys]
    return dealt.index(True) if sum(dealt) == 1 and session.retry_of is None else None


def _by_question(sessions: Iterable[ResearchSession]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for session in sessions:
        if session.overall_score is not None:
            found.setdefault(question_key(session), []).append(session.overall_score)
    return {question: sum(scores) / len(scores) for question, scores in found.items()}


def _describe_side(key: str, version: int, sessions: list[ResearchSession]) -> SplitSide:
    scored = _by_question(sessions)
    judged = [session for session in sessions if session.passed is not None]
    rate = None
    if judged:
        passed = [float(bool(session.passed)) for session in judged]
        rate = mean_interval(passed, level=LEVEL, clusters=[question_key(session) for session in judged], bounds=UNIT)
    return SplitSide(
        key=key,
        version=version,
        sessions=len(sessions),
        questions=len(scored),
        score=mean_interval(list(scored.values()), level=LEVEL, bounds=UNIT) if scored else None,
        pass_rate=rate,
    )


def _difference(first: list[float], second: list[float]) -> tuple[float | None, float | None, float | None]:
    if not first or not second:
        return None, None, None
    delta = sum(second) / len(second) - sum(first) / len(first)
    half = half_width(_spread(first), _spread(second), LEVEL)
    return (delta, None, None) if half is None else (delta, delta - half, delta + half)


def _spread(values: list[float]) -> tuple[int, float]:
    mean = sum(values) / len(values)
    return len(values), sum((value - mean) ** 2 for value in values) / max(len(values) - 1, 1)


def _votes(split: PromptSplit, sessions: Iterable[ResearchSession]) -> Iterator[float]:
    """One for each question, by its first scored session."""
    seen: set[str] = set()
    total = 0.0
    for session in sessions:
        question = question_key(session)
        if session.overall_score is None or question in seen:
            continue
        before = total / len(seen) if seen else _FIRST_GUESS
        over = session.overall_score - before
        yield over if _side(split, session) == 1 else -over
        seen.add(question)
        total += session.overall_score


def _e(log_e: float) -> float:
    """An e-value that can be written down."""
    return math.exp(min(log_e, 700.0))


def _withheld(ratio: SampleRatio) -> str:
    dealt = f"{ratio.control} questions went to the first and {ratio.treatment} to the second (p = {ratio.p:.2g})"
    if min(ratio.control, ratio.treatment) < FEWEST_PER_ARM:
        return f"No decision before each side has {FEWEST_PER_ARM} scored questions: {dealt}."
    return f"No decision while the split is not fair: {dealt}."


def _uneven(first: int, second: int) -> str:
    if first + second < RATIO_LEAST:
        return ""
    p = sign_test_of(wins=second, losses=first).p
    return "" if p >= RATIO_ALARM else f"{first} questions went to one side and {second} to the other (p = {p:.1g})"
