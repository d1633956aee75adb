"""Evaluation runs: intervals, the outcome of each case, rates, and the run with its instrument.

- Estimates with their interval.
- The outcome of a case: a value, or the reason why there is none.
- Rates, with what could not be counted.
- One case as it was run, and the usage of the judge.
- A run of a system over a dataset.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from assay.errors import BadValue
from assay.hashing import content_hash
from assay.records import values
from assay.records.answers import GivenAnswer, RetrievedChunk
from assay.records.fields import allow, one_of, pickle_by_place, require
from assay.records.saving import Written

# --- Estimates with their interval ---

Method = Literal[
    "t",
    "clustered_t",
    "bootstrap",
    "clustered_bootstrap",
    "no_variance",
    "wilson",
    "clopper_pearson",
    "confidence_sequence",
    "ppi",
    "ppi_no_variance",
    "not_computable",
]
"""How an interval was made."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """An estimate and the range that its data leave open."""

    estimate: float
    low: float | None
    """None: these data put no limit on that side."""
    high: float | None
    level: float
    n: int
    method: Method

    def contains(self, value: float) -> bool:
        """Whether these data leave that value open."""
        return (self.low is None or self.low <= value) and (self.high is None or value <= self.high)


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """Agreement beyond chance: 1 is perfect, 0 is chance, below is worse than chance."""

    value: float | None
    """None where chance alone would agree always."""
    low: float | None
    high: float | None
    level: float
    n: int
    """Items that count: those with at least two ratings."""
    undefined: int
    """Resamples that had no value and are left out of the interval."""
    method: Literal["bootstrap", "no_disagreement", "not_computable"]


# --- The outcome of a case: a value, or the reason why there is none ---


class OutcomeKind(StrEnum):
    """What became of one case."""

    SCORED = "scored"
    NOT_APPLICABLE = "not_applicable"
    """The question does not arise: recall of a query with nothing relevant."""
    ABSTAINED = "abstained"
    """The system declined to answer."""
    JUDGE_FAILED = "judge_failed"
    """There was an answer, and the judge could not judge it."""
    SYSTEM_FAILED = "system_failed"
    """The system under test raised, timed out, or returned what cannot be read."""
    SKIPPED = "skipped"
    """It was never tried: sampling, a budget, an unresolved anchor."""


class Cause(StrEnum):
    """Why a case has no value, for programs; `reason` is the sentence for people."""

    NO_JUDGE = "no_judge"
    """Only a judge can decide the metric, and none was used."""
    UNTOLD = "untold"
    """The system does not report what the metric needs."""
    UNPLACED = "unplaced"
    """Results could not be placed among the dataset's documents."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """One case under one metric."""

    kind: OutcomeKind
    value: float | None = None
    reason: str = ""
    cause: Cause | None = None

    def __post_init__(self) -> None:
        require(self, one_of(OutcomeKind), "kind")
        allow(self, values.finite, "value")
        require(self, values.optional_label, "reason")
        allow(self, one_of(Cause), "cause")
        if (self.kind is OutcomeKind.SCORED) != (self.value is not None):
            raise BadValue(
                f"outcome {self.kind} has the value {self.value}", remedy="A scored case has a value, no other has."
            )

    @staticmethod
    def scored(value: float) -> Outcome:
        """A case with a value."""
        return Outcome(kind=OutcomeKind.SCORED, value=value)

    @staticmethod
    def missing(kind: OutcomeKind, reason: str, cause: Cause | None = None) -> Outcome:
        """A case without one, and why."""
        return Outcome(kind=kind, reason=reason, cause=cause)


# --- Rates, with what could not be counted ---


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """A share with its counts."""

    hits: int
    of: int
    left_out: Mapping[OutcomeKind, int] = field(default_factory=dict)
    """How many cases had no value, by the reason why."""

    def __post_init__(self) -> None:
        if not 0 <= self.hits <= self.of:
            raise BadValue(f"{self.hits} of {self.of} is not a rate", remedy="Give hits from 0 to the number of cases.")

    @property
    def value(self) -> float | None:
        """The share; None when nothing was counted."""
        return self.hits / self.of if self.of else None

    def outcome(self, nothing: str) -> Outcome:
        """The share as an outcome; `nothing` is the reason given when nothing was counted."""
        if self.of == 0:
            return Outcome.missing(OutcomeKind.NOT_APPLICABLE, nothing)
        return Outcome.scored(self.hits / self.of)

    @staticmethod
    def over(outcomes: Iterable[Outcome]) -> Rate:
        """The rate of a yes-or-no metric over its cases."""
        seen = list(outcomes)
        counted = [outcome.value for outcome in seen if outcome.value is not None]
        return Rate(
            hits=counted.count(1.0),
            of=len(counted),
            left_out=Counter(outcome.kind for outcome in seen if outcome.value is None),
        )


# --- One case as it was run, and the usage of the judge ---


class CaseStatus(StrEnum):
    """How a case ended."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    EMPTY = "empty"
    """It answered in time, with nothing in it."""
    SKIPPED = "skipped"
    """It was never tried."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseRun:
    """One case as it was run."""

    status: CaseStatus = CaseStatus.OK
    total_ms: float | None = None
    stages: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds by stage: folder-choice, candidate, fusion, rerank, generation, judge, ..."""
    doc_type: str = ""
    """Of the documents the case is about: markdown, pdf, code, ..."""

    def __post_init__(self) -> None:
        require(self, one_of(CaseStatus), "status")
        allow(self, _amount, "total_ms")
        require(self, _amounts, "stages")
        require(self, values.optional_label, "doc_type")


def _amount(value: Any, field: str) -> float:
    number = values.finite(value, field)
    if number < 0:
        raise BadValue(f"{field} {value!r} is negative", remedy="Give 0 or more.")
    return number


def _amounts(amounts: Any, field: str) -> dict[str, float]:
    return {name: _amount(value, f"{field}.{name}") for name, value in amounts.items()}


# --- A run of a system over a dataset ---
#
# `CaseResult` is one line of a run's append-only file. `RunManifest` says what was measured with what: its
#   `instrument`
# must be equal before two runs may be compared, its `subject` is what may differ.


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenStage:
    """One stage between the channels and the list, as the system reports it."""

    name: str
    entered: int | None = None
    """How many documents came in; None: not reported, as below."""
    left: int | None = None
    """How many went on."""
    dropped: tuple[str, ...] | None = None
    """Documents that it took out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What a system reports about how it produced its list; None where it reports nothing.

    Feeds the evidence waterfall, and what channels and sessions are worth.
    """

    indexed: tuple[str, ...] | None = None
    """Of the documents the case is about, those the index holds."""
    channels: Mapping[str, tuple[str, ...]] | None = None
    """Each channel's list of documents, best first."""
    names_all_channels: bool = False
    """Whether `channels` names every channel that the system has, not only those that ran."""
    excluded: tuple[str, ...] | None = None
    """Documents that a scope or filter took out."""
    shut_out: tuple[str, ...] | None = None
    """Documents outside the folders that were chosen at first, also where a fallback searched them later."""
    fused: tuple[str, ...] | None = None
    """The list after fusion, before reranking."""
    channel_scores: Mapping[str, tuple[float, ...]] | None = None
    """What each channel gave the documents of its list, on its own scale."""
    unboosted: tuple[str, ...] | None = None
    """The list that the same search gives without the session's boost; only where the session has a history."""
    only_expanded: tuple[str, ...] | None = None
    """Of the list given, what is found only because the query was expanded; only where it was."""
    tokens_saved: int | None = None
    """What was left out because the session has it already; only where the session has a history."""
    exact: tuple[str, ...] | None = None
    """The list that an exact search of the same vectors gives; only where the index is approximate."""
    exact_ms: float | None = None
    """How long the exact search took."""
    stages: tuple[SeenStage, ...] | None = None
    """Every stage after the channels, in order; a system that lists its stages lists all of them."""
    cut: tuple[str, ...] = ()
    """Names of lists that were longer than what is kept: a document that is missing there may have been in them."""


VECTOR_SEARCH = "vector_search"
"""The stage of a case in which a vector store searched, without the embedding of the query."""


@pickle_by_place
@dataclass(frozen=True, kw_only=True, slots=True)
class Retrieved:
    """What a system returned for one query."""

    ids: tuple[str, ...]
    """Documents, best first."""
    scores: tuple[float, ...] | None = None
    passages: tuple[RetrievedChunk, ...] = ()
    pinned: tuple[str, ...] = ()
    outdated: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Statements that the system marks as no longer true, by the document that makes them."""
    stages: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds by stage."""
    seen: Seen | None = None
    answer: GivenAnswer | None = None
    saved: Written | None = None
    """What became of a save, where the case is one."""
    cost: float | None = None
    """Cost in money, where the system reports it."""
    tries: int | None = None
    """Number of calls until this answer came, where the caller counts them."""
    notes: tuple[str, ...] = ()
    """What the adapter had to say: duplicates dropped, ids it did not know."""


@pickle_by_place
@dataclass(frozen=True, kw_only=True, slots=True)
class CaseResult:
    """One case, run once."""

    case_id: str
    repeat: int = 0
    status: CaseStatus
    retrieved: Retrieved | None = None
    """None: the system failed or the case was skipped."""
    total_ms: float | None = None
    error: str = ""
    """What went wrong, in a sentence."""
    first: bool = False
    """Whether it was the first case after the system was opened: its time includes what is loaded then."""
    cost: float | None = None
    tries: int | None = None
    """Calls of the system for this case, failed tries included; None: not counted. `total_ms` has them
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

    @property
    def stages(self) -> Mapping[str, float]:
        """Milliseconds by stage, as the system reports them."""
        return _NO_STAGES if self.retrieved is None else self.retrieved.stages


_NO_STAGES: Mapping[str, float] = {}


@dataclass(frozen=True, kw_only=True, slots=True)
class RunManifest:
    """What was run over what, fixed before the first case."""

    run_id: str
    name: str
    """Display name of the run: the system's name, or a name that the user gave."""
    dataset: str
    dataset_version: str
    system: str
    """The system as it was specified, such as `assay` or `http:rag.toml`."""
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
    until_sure: Mapping[str, Any] = field(default_factory=dict)
    """The sequential test that may end the run early: metric, rule, seed and the baseline's values; empty: none."""
    started_at: datetime
    host: str = ""
    commit: str = ""
    """The commit of the working folder's code, where that is known."""
    tags: tuple[str, ...] = ()
    """Words that a person gave the run, to find it by."""

    @property
    def instrument_hash(self) -> str:
        """The instrument as one hash."""
        return content_hash(dict(self.instrument))

    @property
    def subject_hash(self) -> str:
        """The subject as one hash."""
        return content_hash(dict(self.subject))
