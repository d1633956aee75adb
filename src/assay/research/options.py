"""Every number that steers the pipeline: attempts, deadlines, how much is searched, and what a failed checkpoint does.

Numbers that change a score are in `judging.panel_options`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from assay.errors import BadValue
from assay.judging.panel_options import PanelOptions
from assay.records import values
from assay.records.fields import one_of, require
from assay.records.research import Checkpoint

ANSWER_FROM = 0.5
"""Passages less likely to answer a question than this are not made into an answer."""


class FailAction(StrEnum):
    """What a checkpoint that was scored and did not pass does to the answer; one that was not scored does nothing."""

    CONTINUE = "continue"
    WARN = "warn"
    """Show a notice to the user."""
    BLOCK = "block"
    """The answer is withheld, with an explicit status."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointOptions:
    """One checkpoint."""

    timeout_s: float
    enabled: bool = True
    fail_action: FailAction = FailAction.CONTINUE

    def __post_init__(self) -> None:
        require(self, values.finite, "timeout_s")
        require(self, values.flag, "enabled")
        require(self, one_of(FailAction), "fail_action")
        if self.timeout_s <= 0:
            raise BadValue(f"timeout_s {self.timeout_s} is not above zero", remedy="Give seconds above zero.")


def _checkpoints() -> dict[Checkpoint, CheckpointOptions]:
    return {
        Checkpoint.PLAN: CheckpointOptions(timeout_s=60.0),
        Checkpoint.RETRIEVAL: CheckpointOptions(timeout_s=30.0),
        Checkpoint.ANSWER: CheckpointOptions(timeout_s=45.0),
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class ResearchOptions:
    """How a question is answered."""

    panel: PanelOptions = field(default_factory=PanelOptions)
    checkpoints: Mapping[Checkpoint, CheckpointOptions] = field(default_factory=_checkpoints)
    max_attempts: int = 3
    """Plans that may be made."""
    iterate: bool = True
    """Whether a plan that fails is made again."""
    regenerate: bool = True
    """Whether an answer that fails is made again, once."""
    synthesis_s: float = 60.0
    """How long making one answer may take."""
    answer_from: float = ANSWER_FROM
    """Without a model: how likely the passages must answer a question for it to be answered. Higher: fewer wrong
    answers, and fewer answers; `bench/README.md` prints the curve."""
    results: int = 8
    """Memories of one search."""
    passages: int = 12
    """Passages that an answer is made from."""
    widened: int = 3
    """How many times as much a widened search looks at."""
    remembered: int = 256
    """Evaluations kept in memory, so that the same is not evaluated twice."""

    def __post_init__(self) -> None:
        require(self, values.count, "max_attempts", "results", "passages", "widened", "remembered")
        require(self, values.flag, "iterate", "regenerate")
        require(self, values.share, "answer_from")
        for name in ("max_attempts", "results", "passages", "widened", "synthesis_s"):
            if getattr(self, name) <= 0:
                raise BadValue(f"{name} {getattr(self, name)} is not above zero", remedy="Give a number above zero.")

    @property
    def longest_s(self) -> float:
        """All deadlines together: what a question may take when everything hangs, its searches not counted."""
        planning = self.checkpoints[Checkpoint.PLAN].timeout_s * self.max_attempts
        answering = self.synthesis_s + self.checkpoints[Checkpoint.ANSWER].timeout_s
        again = 2 if self.regenerate else 1
        return planning + self.checkpoints[Checkpoint.RETRIEVAL].timeout_s + answering * again
