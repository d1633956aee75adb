"""What can be told about an index: for `index status`, and for health."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from assay.records import LogPosition


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexStatus:
    """One tenant's index as this process has it."""

    generation: str | None
    """The base in use; None when everything is in the tail."""
    on_disk: bool
    passages: int
    memories: int
    base_passages: int
    tail_passages: int
    position: LogPosition
    log_end: LogPosition
    vector_kind: str
    """`exact`, `hnsw`, `database`, or `none` when no model is active."""
    model: str | None
    """Whose vectors are searched."""
    active_model: str | None
    """Whose vectors should be; another one while a change of models is not folded yet."""
    vectors: int | None
    """None: the database has them."""
    folder: str | None
    bytes_on_disk: int
    rebuilt_because: str | None
    """Why this process did not use what was on disk, if it did not."""
    last_problem: str | None
    """What went wrong when folding in the background."""
    folding: bool
    lock_holder: str | None
    """The process that folds now."""
    at: datetime

    @property
    def behind(self) -> int:
        """How far the log has gone on; 0 when everything is known."""
        return max(self.log_end.seq - self.position.seq, 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Folded:
    """What a compaction did."""

    done: bool
    reason: str
    """Why it did nothing, or what it made."""
    busy: bool = False
    """Whether another process is at it."""
    generation: str | None = None
    passages: int = 0
    seconds: float = 0.0
    log_lines_forgotten: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Recall:
    """How much of the exact answer the vector index gives."""

    share: float | None
    """None: there is nothing to compare."""
    queries: int
    depth: int
