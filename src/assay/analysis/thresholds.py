"""Pass thresholds tuned to people's ratings of answers.

A threshold agrees with a rating when it passes a useful answer or stops a useless one. The sessions
are cut in two by their ids: one half proposes the threshold that agrees most often, the other has to confirm that it
agrees more often than the one in force, by an exact sign test. A threshold never moves further from the configured one
than `most_moved`, so many bad votes cannot open a checkpoint. The plan's threshold stays: a rating of an answer shows
little about its plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.hashing import bucket
from assay.records.research import Checkpoint
from assay.statistics.online_tests import sign_test_of

TUNED = (Checkpoint.RETRIEVAL, Checkpoint.ANSWER)
STEP = 0.01
_SALT = "threshold"


@dataclass(frozen=True, kw_only=True, slots=True)
class RatedSession:
    """A session with a rating."""

    log_id: str
    useful: bool
    scores: Mapping[Checkpoint, float]
    """Of the checkpoints that were scored."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TuningOptions:
    """When a threshold moves, and how far."""

    least_rated: int = 40
    least_of_each: int = 8
    """Useful ones, and ones that were not."""
    most_moved: float = 0.10
    alpha: float = 0.05
    """How likely chance alone may look as good, one-sided."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TunedThreshold:
    """What became of one threshold."""

    checkpoint: Checkpoint
    before: float
    """As it is configured."""
    after: float
    rated: int
    p: float | None = None
    """Of the confirmation, one-sided; None: nothing was put to it."""
    reason: str = ""
    """Why it did not move; empty: it did."""

    @property
    def moved(self) -> bool:
        """Whether it did."""
        return self.after != self.before


def tune(
    rated: Iterable[RatedSession], thresholds: Mapping[Checkpoint, float], options: TuningOptions | None = None
) -> tuple[TunedThreshold, ...]:
    """What people's ratings make of the thresholds."""
    sessions = list(rated)
    return tuple(
        _tune(checkpoint, sessions, thresholds[checkpoint], options or TuningOptions()) for checkpoint in TUNED
    )


def _tune(
    checkpoint: Checkpoint, sessions: Sequence[RatedSession], before: float, options: TuningOptions
) -> TunedThreshold:
    scored = [session for session in sessions if checkpoint in session.scores]
    still = TunedThreshold(checkpoint=checkpoint, before=before, after=before, rated=len(scored))
    useful = sum(session.useful for session in scored)
    if len(scored) < options.least_rated or min(useful, len(scored) - useful) < options.least_of_each:
        return _because(still, "too few ratings")
    halves = _halves(scored)
    proposed = _propose(checkpoint, halves[0], before, options)
    if proposed == before:
        return _because(still, "no other threshold agrees with people more often")
    wins, losses = _count_changes(checkpoint, halves[1], before, proposed)
    p = sign_test_of(wins=wins, losses=losses).p / 2 if wins > losses else 1.0
    if p > options.alpha:
        return _because(still, "the other half of the ratings does not confirm it", p)
    return TunedThreshold(checkpoint=checkpoint, before=before, after=proposed, rated=len(scored), p=p)


def _because(still: TunedThreshold, reason: str, p: float | None = None) -> TunedThreshold:
    return TunedThreshold(
        checkpoint=still.checkpoint, before=still.before, after=still.before, rated=still.rated, p=p, reason=reason
    )


def _halves(sessions: Sequence[RatedSession]) -> tuple[list[RatedSession], list[RatedSession]]:
    """By id: the same session is always in the same half, however many there are."""
    first = [session for session in sessions if bucket(session.log_id, _SALT) < 50]
    return first, [session for session in sessions if bucket(session.log_id, _SALT) >= 50]


def _propose(checkpoint: Checkpoint, sessions: Sequence[RatedSession], before: float, options: TuningOptions) -> float:
    """The threshold that agrees most often; of equal ones the nearest to what is configured."""
    steps = round(options.most_moved / STEP)
    grid = [round(before + step * STEP, 2) for step in range(-steps, steps + 1)]
    allowed = [before, *(threshold for threshold in grid if 0.0 < threshold < 1.0)]
    return max(
        allowed, key=lambda threshold: (_agreeing(checkpoint, sessions, threshold), -round(abs(threshold - before), 9))
    )


def _agreeing(checkpoint: Checkpoint, sessions: Sequence[RatedSession], threshold: float) -> int:
    return sum(_agrees(session, checkpoint, threshold) for session in sessions)


def _agrees(session: RatedSession, checkpoint: Checkpoint, threshold: float) -> bool:
    return (session.scores[checkpoint] >= threshold) is session.useful


def _count_changes(
    checkpoint: Checkpoint, sessions: Sequence[RatedSession], before: float, after: float
) -> tuple[int, int]:
    """Sessions on which only the new threshold agrees, and on which only the old one does."""
    pairs = [(_agrees(session, checkpoint, after), _agrees(session, checkpoint, before)) for session in sessions]
    return pairs.count((True, False)), pairs.count((False, True))
