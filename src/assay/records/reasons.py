"""The answer to "why is this so?": a memory, and what stands behind it."""

from __future__ import annotations

from dataclasses import dataclass

from assay.records.memory import EdgeKind


@dataclass(frozen=True, kw_only=True, slots=True)
class Reason:
    """One memory in a chain, and what stands behind it in turn."""

    memory_id: str
    title: str
    kind: EdgeKind | None
    """How it bears on the one it was reached from; None for the memory that was asked about."""
    strength: float
    """Of the edges on the way, multiplied."""
    evidence: str
    behind: tuple[Reason, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Why:
    """The answer to "why is this so?"."""

    chain: Reason
    contradicted_by: tuple[str, ...]
    """Memories joined to it by `contradicts`, in either direction."""
    cut: bool
    """Whether the chain goes on beyond what is shown."""
