"""A run of a system over a dataset: what it gave for each case, what that was worth, and what it was measured with.

`CaseResult` is one line of a run's append-only file. `RunManifest` says what was measured with what: its `instrument`
must be equal before two runs may be compared, its `subject` is what may differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from assay.hashing import content_hash
from assay.records import values
from assay.records.anchors import RetrievedChunk
from assay.records.answers import GivenAnswer
from assay.records.checked import allow, one_of, require
from assay.records.runs import CaseStatus
from assay.records.writes import Written


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What a system can tell of how it got to its list; what it cannot tell is None.

    Feeds the evidence waterfall, and what channels and sessions are worth.
    """

    indexed: tuple[str, ...] | None = None
    """Of the documents the case is about, those the index holds."""
    channels: Mapping[str, tuple[str, ...]] | None = None
    """Each channel's list of documents, best first."""
    excluded: tuple[str, ...] | None = None
    """Documents that a scope or filter took out."""
    shut_out: tuple[str, ...] | None = None
    """Documents outside the folders that were chosen at first, also where a fallback searched them later."""
    fused: tuple[str, ...] | None = None
    """The list after fusion, before reranking."""
    channel_scores: Mapping[str, tuple[float, ...]] | None = None
    """What each channel gave the documents of its list, on its own scale."""
    unboosted: tuple[str, ...] | None = None
    """The list that the same search gives without the session's boost; told where the session has a history."""
    only_expanded: tuple[str, ...] | None = None
    """Of the list given, what the query finds only because it was expanded; told where it was."""
    tokens_saved: int | None = None
    """By not giving again what the session has; told where the session has a history."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Retrieved:
    """What a system returned for one query."""

    ids: tuple[str, ...]
    """Documents, best first."""
    scores: tuple[float, ...] | None = None
    passages: tuple[RetrievedChunk, ...] = ()
    pinned: tuple[str, ...] = ()
    stages: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds by stage."""
    seen: Seen | None = None
    answer: GivenAnswer | None = None
    saved: Written | None = None
    """What became of a save, where the case is one."""
    cost: float | None = None
    """What it cost, in money, where the system says."""
    tries: int | None = None
    """How often the system was asked until this came, where whoever asked it counts."""
    notes: tuple[str, ...] = ()
    """What the adapter had to say: duplicates dropped, ids it did not know."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseResult:
    """One case, asked once."""

    case_id: str
    repeat: int = 0
    status: CaseStatus
    retrieved: Retrieved | None = None
    """None: the system failed or the case was skipped."""
    total_ms: float | None = None
    error: str = ""
    """What went wrong, in a sentence."""
    first: bool = False
    """Whether it was the first case asked after the system was opened: its time includes what is loaded then."""
    cost: float | None = None
    tries: int | None = None
    """How often the system was asked for this case, failed tries included; None: nobody counts. `total_ms` has them
    all."""
    unreachable: bool = False
    """It failed because nothing answered: no connection could be made, or it broke off."""

    def __post_init__(self) -> None:
        require(self, values.short_label, "case_id")
        require(self, values.count, "repeat")
        allow(self, values.count, "tries")
        require(self, one_of(CaseStatus), "status")
        allow(self, values.finite, "total_ms", "cost")
        require(self, values.text, "error")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunManifest:
    """What was run over what, fixed before the first case."""

    run_id: str
    name: str
    """What people call it: the system's name, or what they said."""
    dataset: str
    dataset_version: str
    system: str
    """The system as it was asked for, such as `assay` or `http:rag.toml`."""
    instrument: Mapping[str, Any]
    """Metric definitions, relevance level, ranked unit, judge, dataset and corpus hashes: equal, or not comparable."""
    subject: Mapping[str, Any]
    """System, configuration, index, embedder, code: may differ, and is listed as what changed."""
    metrics: tuple[str, ...]
    k: int
    repeats: int = 1
    sample: float | None = None
    seed: int = 0
    case_ids: tuple[str, ...]
    """Which cases, in order; those a sample left out are not in it."""
    own_metrics: Mapping[str, Any] = field(default_factory=dict)
    """What is known of metrics that a package or program added, by name: a run is read also where they are not."""
    clusters: Mapping[str, str] = field(default_factory=dict)
    """The cluster of each case that belongs together with others, such as those of one session."""
    started_at: datetime
    host: str = ""

    @property
    def instrument_hash(self) -> str:
        """The instrument as one hash."""
        return content_hash(dict(self.instrument))

    @property
    def subject_hash(self) -> str:
        """The subject as one hash."""
        return content_hash(dict(self.subject))
