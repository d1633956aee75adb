"""Which of several plans is searched with, and which of several answers is shown: the only place that decides it.

The pipeline chooses while it runs and stores the number of the choice in the record. Everything that later speaks of
"the" plan or "the" answer of a record (ratings, pages, retries) reads that number through `chosen_plan_in` and
`chosen_answer_in`. Records written before the number existed are chosen from here by the same rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from assay.records.panel import CheckpointResult, CheckpointState

Recorded = Mapping[str, Any]
"""A part of a record as JSON."""

CHOSEN = "chosen"
"""The field of `plan_evaluation` and `answer_evaluation` that holds the number of the attempt that was used."""


class Standing(NamedTuple):
    """What counts of an attempt when one of several is chosen."""

    passed: bool | None
    score: float | None

    @property
    def rank(self) -> float:
        """The score; an attempt without one ranks below every other."""
        return -1.0 if self.score is None else self.score


def standing_of(result: CheckpointResult) -> Standing:
    """What counts of an attempt that was just made."""
    return Standing(result.passed, result.score)


def choose_plan(standings: Sequence[Standing]) -> int:
    """Return the position of the plan to use: the last that passed, else the highest score, the earlier of equals."""
    passed = [position for position, standing in enumerate(standings) if standing.passed]
    return passed[-1] if passed else _highest(standings)


def choose_answer(standings: Sequence[Standing]) -> int:
    """Return the position of the answer to show: the last one that did not fail, else the highest score.

    An answer that could not be evaluated counts as not failed; of equal scores the earlier is shown.
    """
    through = [position for position, standing in enumerate(standings) if standing.passed is not False]
    return through[-1] if through else _highest(standings)


def chosen_plan_in(trace: Recorded) -> Recorded | None:
    """Return the plan attempt of a record that was searched with; None where there is none."""
    return _chosen_in(trace.get("plan_evaluation", {}), choose_plan)


def chosen_answer_in(trace: Recorded) -> Recorded | None:
    """Return the answer attempt of a record that was shown; None where there is none."""
    return _chosen_in(trace.get("answer_evaluation", {}), choose_answer)


def _chosen_in(part: Recorded, choose: Callable[[Sequence[Standing]], int]) -> Recorded | None:
    attempts: Sequence[Recorded] = part.get("attempts", [])
    if not attempts:
        return None
    if part.get(CHOSEN) is None:
        return attempts[choose([_standing_in(attempt["result"]) for attempt in attempts])]
    return next(attempt for attempt in attempts if attempt["number"] == part[CHOSEN])


def _standing_in(result: Recorded) -> Standing:
    """Read what `CheckpointResult.score` gives from the JSON of a result."""
    scored = result["state"] == CheckpointState.SCORED.value and result["verdict"] is not None
    return Standing(result["passed"], result["verdict"]["aggregate"] if scored else None)


def _highest(standings: Sequence[Standing]) -> int:
    return max(range(len(standings)), key=lambda position: standings[position].rank)
