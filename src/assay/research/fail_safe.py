"""What keeps evaluation from breaking what it evaluates: every way it can fail, and what then happens.

- No model to ask, or its budget spent: the checkpoint is skipped with the reason, and the flow goes on.
- Not done in time: what came counts if a quorum did, else the checkpoint is skipped.
- Scores that cannot be read: the flow goes on as if it had passed; the record says `judge_failed`.
- A loop that fails: the best attempt so far is used (`iteration`).
- A record that cannot be kept, or a listener that raises: noted, and the answer arrives all the same.

Logs name the checkpoint and what happened, never what was judged.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from assay.judging.panel import told
from assay.records.panel import CheckpointResult, CheckpointState, PanelState, PanelVerdict, RoleOutcome
from assay.records.research import Checkpoint

_log = logging.getLogger("assay.research")
_log.addHandler(logging.NullHandler())


class Standing(NamedTuple):
    """Whether a verdict counts, and if not, why."""

    state: CheckpointState
    reason: str


def standing_of(verdict: PanelVerdict) -> Standing:
    """What a verdict is worth."""
    if verdict.state is PanelState.NO_CONFIDENCE and verdict.aggregate is None:
        return Standing(CheckpointState.JUDGE_FAILED, "no role has any confidence in its scores")
    if verdict.aggregate is not None:
        return Standing(CheckpointState.SCORED, "")
    lost = [one for one in verdict.results if not one.scored]
    if any(one.outcome is RoleOutcome.UNREADABLE for one in lost):
        first = next(one for one in lost if one.outcome is RoleOutcome.UNREADABLE)
        return Standing(CheckpointState.JUDGE_FAILED, f"{_outcomes(verdict)}: {first.reason}")
    return Standing(CheckpointState.SKIPPED, f"{_outcomes(verdict)}: {lost[0].reason}" if lost else "nobody evaluates")


def safely(work: Callable[[], CheckpointResult], checkpoint: Checkpoint) -> CheckpointResult:
    """The result of an evaluation; one that raises is skipped with the reason."""
    try:
        result = work()
    except Exception as problem:  # noqa: BLE001 - evaluation never breaks what it evaluates
        result = CheckpointResult(checkpoint=checkpoint, state=CheckpointState.SKIPPED, reason=told(problem))
    if result.state in {CheckpointState.SKIPPED, CheckpointState.JUDGE_FAILED}:
        outcomes = "" if result.verdict is None else f" ({_outcomes(result.verdict)})"
        _log.warning("%s evaluation: %s%s, continuing", checkpoint, result.state, outcomes)
    return result


def kept_safely(keep: Callable[[], None]) -> str:
    """Keep a record; what went wrong, or nothing."""
    try:
        keep()
    except Exception as problem:  # noqa: BLE001 - the answer arrives also when its record does not
        _log.error("the evaluation could not be kept: %s", type(problem).__name__)
        return told(problem)
    return ""


def told_safely(tell: Callable[[], None]) -> bool:
    """Tell a listener; False when it raised, and then it is not told again."""
    try:
        tell()
    except Exception as problem:  # noqa: BLE001 - whoever watches does not stop what is watched
        _log.warning("a listener raised %s and is told no more", type(problem).__name__)
        return False
    return True


def _outcomes(verdict: PanelVerdict) -> str:
    counted = Counter(one.outcome.value for one in verdict.results)
    return ", ".join(f"{count} {name}" for name, count in sorted(counted.items()))
