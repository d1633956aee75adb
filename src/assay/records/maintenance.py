"""What looking after the whole store reports: checkpoints, retention, and secrets that were stored in clear."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointLine:
    """One copy of the store as surfaces show it. Its description file also says what it is a copy of."""

    id: str
    name: str
    created_at: datetime
    backend: str
    """`sqlite` or `postgres`."""
    schema: str
    """The version of the tables."""
    memories: int
    """Of every tenant."""
    size_bytes: int
    content: str
    """The tagged hash of the copy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointPage:
    """One page of checkpoints, newest first."""

    checkpoints: tuple[CheckpointLine, ...]
    total: int
    """Of all pages."""
    next_cursor: str | None
    """What to give as `cursor` for the next page; None on the last page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RestoredCheckpoint:
    """What a restore did."""

    restored: CheckpointLine
    kept_aside: str
    """Where the state from before is: a checkpoint, a file or a schema."""
    note: str
    """What else whoever restored it must know; empty: nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetentionReport:
    """What was moved and removed, or would be."""

    dry_run: bool
    queries: int
    events: int
    exempt_queries: int
    """Old, but in an evaluation corpus or judged."""
    shadow_runs: int
    log_lines: int | None
    """None: not known without doing it."""
    queries_before: datetime
    """Searches and feedback from before this moment go, in UTC."""
    shadow_before: datetime
    """Comparisons from before this moment go, in UTC."""
    archives: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class BroughtBack:
    """What an archive gave back."""

    rows: int
    new: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RescanReport:
    """What was stored in clear, and what became of it."""

    masked: bool
    """Whether it was masked, or only found."""
    secrets: int
    kinds: Mapping[str, int]
    """How many secrets of each kind."""
    memories: Mapping[str, tuple[str, ...]]
    """By id of a memory, the kinds of secrets in it."""
    rows: Mapping[str, int]
    """Other rows that hold a secret, by table."""
    files: tuple[str, ...] = ()
    """Archives and exported files that hold one."""
    checkpoints: tuple[str, ...] = ()
    """Checkpoints, and copies a restore kept, that still hold one."""
    searched: tuple[str, ...] = ()
    """Files that were searched for the bytes afterwards."""
    left: tuple[str, ...] = ()
    """Files of the database that still hold some of the bytes; should be none."""
    unfinished: bool = False
    """Whether an earlier run masked the rows and was cut short before their old bytes were gone."""

    @property
    def clean(self) -> bool:
        """Whether nothing is left to do in the store."""
        return self.masked or not (self.secrets or self.unfinished)
