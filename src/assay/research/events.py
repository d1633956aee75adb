"""Events that a pipeline sends while it works, one for each step, to be shown live."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from assay.research.checkpoints import notify_safely


class EventKind(StrEnum):
    """What happened."""

    STARTED = "started"
    """A stage began."""
    EVALUATING = "evaluating"
    EVALUATED = "evaluated"
    SKIPPED = "evaluation_skipped"
    JUDGE_FAILED = "judge_failed"
    ITERATING = "iterating"
    """A plan failed and is made again."""
    SEVERE = "severe"
    """What was found is likely not enough."""
    REGENERATING = "regenerating"
    FINISHED = "finished"
    """A stage ended; of the last one, the answer is there."""


class StageName(StrEnum):
    """The stages of a question."""

    PLAN = "plan"
    SEARCH = "search"
    ANSWER = "answer"


@dataclass(frozen=True, kw_only=True, slots=True)
class StageEvent:
    """One step."""

    log_id: str
    at: datetime
    kind: EventKind
    stage: StageName
    attempt: int = 1
    of: int = 1
    """Attempts that are allowed."""
    message: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    """Scores, critique, mode: what belongs to this kind of step, as JSON has it."""

    def as_json(self) -> dict[str, Any]:
        """As it is streamed."""
        return {
            "log_id": self.log_id,
            "at": self.at.isoformat(),
            "kind": self.kind.value,
            "stage": self.stage.value,
            "attempt": self.attempt,
            "of": self.of,
            "message": self.message,
            "data": dict(self.data),
        }


Listen = Callable[[StageEvent], None]


class EventSender:
    """Sends events to one listener, until it raises."""

    def __init__(self, listen: Listen | None) -> None:
        self._listen = listen

    def __call__(self, event: StageEvent) -> None:
        """Send one event."""
        listen = self._listen
        if listen is not None and not notify_safely(lambda: listen(event)):
            self._listen = None
