"""The report of an ingest run: what became of every file, what was skipped and why, and where the time went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

MODEST = ("hidden", "kind")
"""Reasons that are not a fault: files that were not requested."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Skip:
    """Something that was not taken, and why."""

    place: str
    reason: str
    """One of `hidden`, `kind`, `outside`, `link`, `unreadable`, `binary`, `encoding`, `empty`, `size`, `json`,
    `record`, `refused`."""
    detail: str
    line: int | None = None
    """Of the file, where one line is at fault."""

    def __post_init__(self) -> None:
        # The name of a file may hold bytes that are no text; it must be possible to print it all the same.
        object.__setattr__(self, "place", self.place.encode("utf-8", "backslashreplace").decode())

    @property
    def fault(self) -> bool:
        """Whether it needs attention."""
        return self.reason not in MODEST

    def __str__(self) -> str:
        where = self.place if self.line is None else f"{self.place}:{self.line}"
        return f"{where}: {self.reason} ({self.detail})"


class Fate(StrEnum):
    """What became of one document."""

    STORED = "stored"
    VERSION = "new version"
    MERGED = "merged"
    SUPERSEDED = "superseded another"
    REJECTED = "rejected"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenSpread:
    """How long the chunks are."""

    chunks: int
    tokens: int
    shortest: int
    median: int
    p95: int
    longest: int


@dataclass(frozen=True, kw_only=True, slots=True)
class IngestReport:
    """One run."""

    files: int
    """Files that were read."""
    documents: int
    """Documents in them: a file of records holds many."""
    fates: Mapping[str, int]
    chunks: int
    """Made of new documents and new versions."""
    chunk_tokens: TokenSpread | None
    """None: no chunk was made."""
    chunks_skipped: Mapping[str, int]
    """Chunks that were not embedded, by reason."""
    skipped: tuple[Skip, ...]
    missing: tuple[str, ...] = ()
    """Sources in the store, below the named folders, that are no longer on disk."""
    pruned: tuple[str, ...] = ()
    """The missing sources that were superseded, on request."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """`total`, and what of it went into `read`, `chunk`, `embed` and `write`."""
    masked: int = 0
    """Secrets that were masked."""

    @property
    def faults(self) -> tuple[Skip, ...]:
        """Return the skipped files that need attention."""
        return tuple(skip for skip in self.skipped if skip.fault)

    @property
    def reasons(self) -> Mapping[str, int]:
        """How often each reason was given."""
        return dict(Counter(skip.reason for skip in self.skipped))

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON. Files that were not requested are counted, not listed."""
        shown = asdict(self)
        shown["skipped"] = {"reasons": dict(self.reasons), "files": [asdict(fault) for fault in self.faults]}
        shown["seconds"] = {name: round(value, 4) for name, value in self.seconds.items()}
        return shown


def spread(counts: list[int]) -> TokenSpread | None:
    """The spread of chunk lengths; percentiles are values that occur (nearest rank)."""
    if not counts:
        return None
    ordered = sorted(counts)
    last = len(ordered) - 1
    return TokenSpread(
        chunks=len(ordered),
        tokens=sum(ordered),
        shortest=ordered[0],
        median=ordered[last // 2],
        p95=ordered[min(last, -(-95 * len(ordered) // 100) - 1)],
        longest=ordered[-1],
    )
