"""Traces of other systems: spans as they are stored, what an import did, and what a trace comes to.

- Spans: one step of a traced system, with what it searched, found, read and said.
- Imports: how many spans came in, and why others did not.
- One trace, as it is shown.
- Many traces, summed up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from assay.errors import BadValue
from assay.records import values
from assay.records.fields import allow, one_of, require

# --- Spans: one step of a traced system, with what it searched, found, read and said ---

MOST_DOCUMENTS = 1_000
"""Documents of one span."""
LONGEST_TEXT = 1_000_000
"""Characters of one text of a span."""


class SpanRole(StrEnum):
    """What a span does, whatever convention named it."""

    RETRIEVER = "retriever"
    RERANKER = "reranker"
    MEMORY_SEARCH = "memory search"
    MEMORY_WRITE = "memory write"
    MODEL = "model"
    EMBEDDING = "embedding"
    TOOL = "tool"
    CHAIN = "chain"
    """An agent, a workflow, or another step that calls further steps."""
    OTHER = "other"
    """No convention that Assay reads names it; it counts for the time alone."""


SEARCHES = frozenset({SpanRole.RETRIEVER, SpanRole.MEMORY_SEARCH})
"""Roles that search."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceDocument:
    """One document that a step returned."""

    id: str
    score: float | None = None
    text: str = ""
    """Empty: the span does not carry it."""
    stale_after: datetime | None = None
    """When it stopped being valid, where its metadata state that."""

    def __post_init__(self) -> None:
        require(self, values.short_label, "id")
        allow(self, values.finite, "score")
        require(self, _text, "text")
        allow(self, values.moment, "stale_after")


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceSpan:
    """One step of a traced system."""

    trace_id: str
    span_id: str
    parent_id: str | None = None
    role: SpanRole
    name: str
    started_at: datetime
    ended_at: datetime | None = None
    """None: not known."""
    problem: str = ""
    """Why the step failed; empty: it did not."""
    session_id: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    """As the tracing system states it; None: it does not."""
    input: str = ""
    """The question, the query or the text that is remembered."""
    output: str = ""
    documents: tuple[TraceDocument, ...] = ()
    """What it returned, best first."""
    candidates: tuple[TraceDocument, ...] = ()
    """What a reranker was given, best first."""

    def __post_init__(self) -> None:
        require(self, values.identifier, "trace_id", "span_id")
        allow(self, values.identifier, "parent_id")
        require(self, one_of(SpanRole), "role")
        require(self, values.optional_short_label, "name")
        require(self, values.moment, "started_at")
        allow(self, values.moment, "ended_at")
        allow(self, values.short_label, "session_id", "model")
        allow(self, values.count, "input_tokens", "output_tokens")
        allow(self, values.finite, "cost_usd")
        require(self, _text, "problem", "input", "output")
        if max(len(self.documents), len(self.candidates)) > MOST_DOCUMENTS:
            raise BadValue(
                f"span {self.span_id} has more than {MOST_DOCUMENTS:,} documents", remedy="Trace fewer of them."
            )
        if self.ended_at is not None and self.ended_at < self.started_at:
            raise BadValue(f"span {self.span_id} ends before it starts", remedy="Check the clock of the traced system.")

    @property
    def duration_ms(self) -> float | None:
        """How long it took; None: not known."""
        return None if self.ended_at is None else (self.ended_at - self.started_at).total_seconds() * 1_000


def _text(value: object, name: str) -> str:
    return values.text(value, name, longest=LONGEST_TEXT)


# --- Imports: how many spans came in, and why others did not ---


class TraceFormat(StrEnum):
    """How a file of traces is written."""

    AUTO = "auto"
    OTLP = "otlp"
    OTLP_PROTOBUF = "otlp-protobuf"
    LANGFUSE = "langfuse"
    PHOENIX = "phoenix"
    LANGSMITH = "langsmith"


class RejectReason(StrEnum):
    """Why a span is not stored."""

    MALFORMED = "malformed"
    TOO_LARGE = "too large"
    TOO_DEEP = "too deeply nested"
    DUPLICATE = "duplicate"
    """A span with this id is stored already; the first one stays."""


class SpanNote(StrEnum):
    """What is unusual about a span that is stored."""

    UNKNOWN_KIND = "unknown kind"
    PARENT_MISSING = "parent missing"
    """Its parent is not stored, or not yet."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceImport:
    """What an import did. Every span that was read is stored or counted under a reason."""

    files: int
    spans: int
    """Spans that were read."""
    stored: int
    traces: int
    """Traces that are new."""
    rejected: Mapping[RejectReason, int] = field(default_factory=dict)
    noted: Mapping[SpanNote, int] = field(default_factory=dict)
    examples: tuple[str, ...] = ()
    """The first few rejected spans: where each stands, and what is wrong."""


# --- One trace, as it is shown ---


class TraceFault(StrEnum):
    """What may be wrong with a trace, and can be chosen for a dataset."""

    UNGROUNDED = "ungrounded"
    """A claim of the answer is not supported by what was retrieved."""
    ABSTAINED = "abstained"
    EMPTY = "empty"
    """A search returned nothing."""
    STALE = "stale"
    """A document was no longer valid when it was retrieved."""
    SLOW = "slow"
    FAILED = "failed"
    """A step reports an error."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceCheck:
    """One score of a trace; without a value it states why there is none."""

    name: str
    value: float | None
    label: str = ""
    reason: str = ""
    span_id: str | None = None
    """The span that was checked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceCandidate:
    """One document on its way to the answer."""

    document_id: str
    found_by: Mapping[str, int]
    """Its rank in each search that returned it, from 1."""
    reranked: int | None = None
    """Its rank after reranking; None: there was no reranking, or it was dropped there."""
    given_rank: int | None = None
    """Its rank in the list that the answer could use; None: it is not in it."""
    used: bool | None = None
    """Whether the answer cites it or a claim is supported by it; None: not known."""
    stale: bool | None = None
    """Whether it was out of date when it was retrieved; None: not known."""
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class SpanLine:
    """One span in the order of the tree."""

    span: TraceSpan
    depth: int
    offset_ms: float
    """After the start of the trace."""
    orphan: bool = False
    """Whether it names a parent that is not stored."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceSummary:
    """What one trace comes to."""

    trace_id: str
    started_at: datetime
    session_id: str | None
    question: str
    answer: str
    spans: int
    incomplete: bool
    """Whether it may have more spans than were read: only the first 2,000 of a trace are."""
    searches: int
    documents: int
    """Documents that any step returned, each once."""
    duration_ms: float | None
    models: tuple[str, ...]
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    """None: at least one model span has no cost."""
    checks: tuple[TraceCheck, ...]
    faults: tuple[TraceFault, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownTrace:
    """One trace with its spans and the way of each document."""

    summary: TraceSummary
    spans: tuple[SpanLine, ...]
    candidates: tuple[TraceCandidate, ...]
    judge: str
    """Which check scored groundedness."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TracePage:
    """Traces, newest first."""

    traces: tuple[TraceSummary, ...]
    total: int
    next_cursor: str | None = None


# --- Many traces, summed up ---


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceMeasure:
    """One measure over traces; `measured` and `not_measured` add up to the traces that were looked at."""

    name: str
    unit: str
    measured: int
    not_measured: Mapping[str, int]
    """How many traces have no value, by reason."""
    mean: float | None = None
    p50: float | None = None
    p95: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceReport:
    """What the traces of a period come to."""

    traces: int
    """Stored traces of the period."""
    looked_at: int
    """The newest of them, up to the limit that was asked for."""
    spans: int
    """Spans of the traces that were looked at."""
    faults: Mapping[TraceFault, int]
    """Traces with each fault."""
    measures: tuple[TraceMeasure, ...]
    judge: str
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceCases:
    """What became of traces that were made cases of a dataset."""

    dataset: str
    version: str
    added: tuple[str, ...]
    """Ids of the new cases; each is the id of its trace."""
    known: tuple[str, ...]
    """Cases that the dataset had already."""
    left_out: Mapping[str, int]
    """Traces that cannot be cases, by reason."""
    cases: int
    documents: int
    to_label: int
    """Pairs of the new cases that wait for a label."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WrittenScores:
    """Scores that left as events."""

    traces: int
    events: int
    path: str | None
    sent_to: str | None
