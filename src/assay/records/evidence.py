"""Rows of the evidence store: queries, judgments, results, feedback, the change log and the audit log.

- Queries, candidates, judgments, results, feedback and tests.
- The change log and the audit log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from assay.errors import BadValue
from assay.records import values
from assay.records.fields import allow, one_of, require

# --- Queries, candidates, judgments, results, feedback and tests ---
#
# Field names are the column names of the six `eval_*` tables. None always means "not known", never zero.

HIGHEST_GRADE = 3


class Origin(StrEnum):
    """The purpose of a query. Only `use` counts for learning, cycles, harvest and access counts."""

    USE = "use"
    EVALUATION = "evaluation"
    SHADOW = "shadow"
    CANARY = "canary"


PLANNED_SEARCH = "assay ask, planned"
"""The tool name of a search whose text a planner wrote: it is not a user's query, even with the origin `use`."""


class JudgmentSource(StrEnum):
    """Where a grade comes from, the most trusted source first."""

    MANUAL = "manual"
    """A person graded it."""
    VALIDATED = "validated"
    """Somebody called it useful, or not, after a search."""
    LLM_JUDGE = "llm_judge"
    """A model graded it; it counts only while the model agrees with people."""
    CLICK_MODEL = "click_model"
    """It was used clearly more, or less, often than the places where it was shown explain."""
    IMPLICIT = "implicit"
    """It was read or referred to after a search."""
    BOOTSTRAPPED = "bootstrapped"
    """It was shown and left alone, or the question was made from it."""


class JudgmentReader(StrEnum):
    """What reads judgments."""

    SHADOW = "shadow"
    """Judged differences of shadow runs, and the votes of paired tests."""
    INTERLEAVING = "interleaving"
    """Credit for the side that drafted a result of a merged list."""
    LEARNED_TERMS = "learned_terms"
    """Whether a learned term would raise a memory that does not answer."""
    HARVEST = "harvest"
    """Datasets built from use."""


ACCEPTED_SOURCES: Mapping[JudgmentReader, frozenset[JudgmentSource]] = {
    # What use says is said only of results that the control showed: a treatment that finds something else as good
    # would lose by it.
    JudgmentReader.SHADOW: frozenset({JudgmentSource.MANUAL, JudgmentSource.LLM_JUDGE}),
    JudgmentReader.INTERLEAVING: frozenset({
        JudgmentSource.MANUAL,
        JudgmentSource.VALIDATED,
        JudgmentSource.IMPLICIT,
    }),
    JudgmentReader.LEARNED_TERMS: frozenset({
        JudgmentSource.MANUAL,
        JudgmentSource.VALIDATED,
        JudgmentSource.CLICK_MODEL,
    }),
    JudgmentReader.HARVEST: frozenset(JudgmentSource),
}  # fmt: skip
"""The sources that each reader accepts. A model's grades count only while the model is admitted."""


class RunType(StrEnum):
    """What kind of evaluation produced a result."""

    FULL = "full"
    """A run over a dataset."""
    REGRESSION = "regression"
    """A verdict of the gate on a run, or on the two sides of a flag."""


class EventType(StrEnum):
    """What was seen of a result after it was shown."""

    READ_AFTER_SEARCH = "read_after_search"
    RE_SEARCH = "re_search"
    SCROLL_PAST = "scroll_past"
    REFERENCE = "reference"
    VALIDATE_USEFUL = "validate_useful"
    VALIDATE_NOT_USEFUL = "validate_not_useful"


class AbTestStatus(StrEnum):
    """The status of a sequential test."""

    RUNNING = "running"
    GRADUATED = "graduated"
    REJECTED = "rejected"
    PAUSED = "paused"


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelCandidates:
    """What one channel offered for one query, best first; enough to replay any fusion offline."""

    channel: str
    ids: tuple[str, ...]
    scores: tuple[float, ...]

    def __post_init__(self) -> None:
        require(self, values.identifier, "channel")
        require(self, values.identifiers, "ids")
        require(self, values.finites, "scores")
        if len(self.ids) != len(self.scores):
            raise BadValue(
                f"channel {self.channel!r} has {len(self.ids)} ids and {len(self.scores)} scores",
                remedy="Give one score for each id.",
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class LoggedQuery:
    """One search as it happened, with what it returned."""

    query_id: str
    query: str
    tool_name: str
    created_at: datetime
    origin: Origin = Origin.USE
    intent: str | None = None
    mode: str | None = None
    session_id: str | None = None
    result_ids: tuple[str, ...] = ()
    channel_contributions: Mapping[str, Any] = field(default_factory=dict)
    total_latency_ms: float | None = None
    fusion_weights: Mapping[str, Any] | None = None
    quality_proxy_score: float | None = None
    trace_id: str | None = None
    is_eval_corpus: bool = False
    eval_category: str | None = None
    tokens_saved: int | None = None
    """By not giving again what the session had already been given; None outside a session."""
    held_back: int | None = None
    """How many memories that were; None outside a session."""
    near_top: int | None = None
    """How many of the results, from the first, were near the top and so may be held back later; None: not known."""
    mode_overridden: bool | None = None
    """Whether the caller or token pressure chose the mode, and not the query; None: not known."""
    pressure_level: str | None = None
    """How full the caller's context was; None: not known."""
    token_usage_ratio: float | None = None
    """The share of the caller's token budget that was used before the search; None: no budget was given."""
    context_type: str | None = None
    """The kind of work the caller was doing; None: not given."""
    previous_query: str | None = None
    """The question before in the same conversation, as the caller gave it; None: not given."""
    candidates: tuple[ChannelCandidates, ...] = ()

    def __post_init__(self) -> None:
        require(self, values.identifier, "query_id")
        require(self, values.text, "query")
        require(self, values.short_label, "tool_name")
        require(self, values.moment, "created_at")
        require(self, one_of(Origin), "origin")
        allow(self, values.short_label, "intent", "session_id")
        allow(self, values.label, "mode", "trace_id", "eval_category", "pressure_level", "context_type")
        allow(self, values.text, "previous_query")
        allow(self, values.flag, "mode_overridden")
        allow(self, values.share, "token_usage_ratio")
        require(self, values.identifiers, "result_ids")
        require(self, values.json_object, "channel_contributions")
        allow(self, values.json_object, "fusion_weights")
        allow(self, values.finite, "total_latency_ms", "quality_proxy_score")
        require(self, values.flag, "is_eval_corpus")
        allow(self, values.count, "tokens_saved", "held_back", "near_top")
        require(self, _one_list_a_channel, "candidates")

    @property
    def result_count(self) -> int:
        """How many results were returned."""
        return len(self.result_ids)


def _one_list_a_channel(value: Any, field: str) -> tuple[ChannelCandidates, ...]:
    """The candidates by channel, in the order the store gives them back."""
    by_channel = {candidates.channel: candidates for candidates in value}
    if len(by_channel) != len(value):
        raise BadValue(
            f"{field} names a channel twice among {', '.join(candidates.channel for candidates in value)}",
            remedy="Give one list for each channel.",
        )
    return tuple(by_channel[channel] for channel in sorted(by_channel))


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgment:
    """How relevant one memory is to one query, and the source of that judgment."""

    query_id: str
    memory_id: str
    relevance: int
    """0 means judged and not relevant. An unjudged pair has no Judgment at all."""
    source: JudgmentSource
    created_at: datetime
    annotator: str = ""
    confidence: float = 1.0

    def __post_init__(self) -> None:
        require(self, values.identifier, "query_id", "memory_id")
        require(self, values.count, "relevance")
        if self.relevance > HIGHEST_GRADE:
            raise BadValue(f"relevance {self.relevance} is above {HIGHEST_GRADE}", remedy="Use a grade from 0 to 3.")
        require(self, one_of(JudgmentSource), "source")
        require(self, values.moment, "created_at")
        require(self, values.optional_short_label, "annotator")
        require(self, values.share, "confidence")


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalResult:
    """The aggregate row of one evaluation run. `metrics_json` holds everything the fixed columns lack."""

    run_id: str
    run_type: RunType
    query_count: int
    created_at: datetime
    feature_id: str | None = None
    mrr_at_5: float | None = None
    mrr_at_10: float | None = None
    ndcg_at_5: float | None = None
    ndcg_at_10: float | None = None
    ndcg_at_20: float | None = None
    recall_at_5: float | None = None
    recall_at_10: float | None = None
    constitutional_surfacing_rate: float | None = None
    importance_weighted_recall: float | None = None
    cold_start_mrr: float | None = None
    session_personalization_lift: float | None = None
    causal_chain_completeness: float | None = None
    avg_latency_ms: float | None = None
    channel_contribution_json: Mapping[str, Any] | None = None
    result_diversity_score: float | None = None
    confidence_interval_lower: float | None = None
    confidence_interval_upper: float | None = None
    control_run_id: str | None = None
    mrr_delta: float | None = None
    ndcg_delta: float | None = None
    p_value: float | None = None
    is_significant: bool | None = None
    per_query_results: Mapping[str, Any] = field(default_factory=dict)
    metrics_json: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require(self, values.identifier, "run_id")
        require(self, one_of(RunType), "run_type")
        require(self, values.count, "query_count")
        require(self, values.moment, "created_at")
        allow(self, values.identifier, "feature_id", "control_run_id")
        allow(self, values.finite, *RESULT_NUMBERS)
        allow(self, values.json_object, "channel_contribution_json")
        allow(self, values.flag, "is_significant")
        require(self, values.json_object, "per_query_results", "metrics_json")


RESULT_NUMBERS = (
    "mrr_at_5",
    "mrr_at_10",
    "ndcg_at_5",
    "ndcg_at_10",
    "ndcg_at_20",
    "recall_at_5",
    "recall_at_10",
    "constitutional_surfacing_rate",
    "importance_weighted_recall",
    "cold_start_mrr",
    "session_personalization_lift",
    "causal_chain_completeness",
    "avg_latency_ms",
    "result_diversity_score",
    "confidence_interval_lower",
    "confidence_interval_upper",
    "mrr_delta",
    "ndcg_delta",
    "p_value",
)
"""The measured columns of a result, each a finite number or not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedbackEvent:
    """One thing seen of a result. The same `event_key` is counted once, however often it is sent."""

    event_key: str
    event_type: EventType
    session_id: str
    created_at: datetime
    query_id: str | None = None
    memory_id: str | None = None
    rank_in_results: int | None = None
    """Position in the list it was shown in, from 1. None when it did not come from a search."""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require(self, values.identifier, "event_key")
        require(self, one_of(EventType), "event_type")
        require(self, values.short_label, "session_id")
        require(self, values.moment, "created_at")
        allow(self, values.identifier, "query_id", "memory_id")
        allow(self, values.count, "rank_in_results")
        require(self, values.json_object, "metadata")


@dataclass(frozen=True, kw_only=True, slots=True)
class AbTest:
    """The state of one sequential test of one feature; a later attempt is a row of its own."""

    feature_id: str
    attempt: int = 1
    status: AbTestStatus = AbTestStatus.RUNNING
    log_likelihood_ratio: float = 0.0
    upper_bound: float
    lower_bound: float
    sample_count: int = 0
    control_mrr_sum: float = 0.0
    """The reciprocal ranks of the control, summed over its votes: see `SideOutcomes`."""
    treatment_mrr_sum: float = 0.0
    control_ndcg_sum: float = 0.0
    """The nDCG@10 of the control, summed over its votes."""
    treatment_ndcg_sum: float = 0.0
    min_samples: int = 100
    graduation_threshold: float = 0.03
    state_json: Mapping[str, Any] = field(default_factory=dict)
    started_at: datetime
    updated_at: datetime
    graduated_at: datetime | None = None

    def __post_init__(self) -> None:
        require(self, values.identifier, "feature_id")
        require(self, values.count, "attempt", "sample_count", "min_samples")
        require(self, one_of(AbTestStatus), "status")
        require(self, values.finite, "log_likelihood_ratio", "upper_bound", "lower_bound", "graduation_threshold")
        require(self, values.finite, "control_mrr_sum", "treatment_mrr_sum", "control_ndcg_sum", "treatment_ndcg_sum")
        require(self, values.json_object, "state_json")
        require(self, values.moment, "started_at", "updated_at")
        allow(self, values.moment, "graduated_at")

    @property
    def kind(self) -> str:
        """Where its votes come from: `paired`, `interleaved` or `split`."""
        return str(self.state_json["kind"])

    @property
    def decision(self) -> str | None:
        """`better`, `worse` or `futile`; None while the test runs."""
        found: str | None = self.state_json["process"]["decision"]
        return found


@dataclass(frozen=True, kw_only=True, slots=True)
class ShadowRun:
    """Control and treatment side by side on one query."""

    query_id: str
    feature_id: str
    control_result_ids: tuple[str, ...]
    treatment_result_ids: tuple[str, ...]
    created_at: datetime
    rank_correlation: float | None = None
    set_overlap: float | None = None
    top_result_changed: bool | None = None
    order_differences: int | None = None
    mrr_delta: float | None = None
    ndcg_delta: float | None = None
    control_latency_ms: float | None = None
    treatment_latency_ms: float | None = None
    rbo: float | None = None
    classified: str | None = None
    """`identical`, `minor`, `major` or `incompatible`; None when there was nothing to compare."""
    problem: str | None = None
    """Why the treatment gave no result; None when it did."""

    def __post_init__(self) -> None:
        require(self, values.identifier, "query_id", "feature_id")
        allow(self, values.finite, "rbo")
        allow(self, values.label, "classified")
        allow(self, values.text, "problem")
        require(self, values.identifiers, "control_result_ids", "treatment_result_ids")
        require(self, values.moment, "created_at")
        allow(self, values.finite, "rank_correlation", "set_overlap", "mrr_delta", "ndcg_delta")
        allow(self, values.finite, "control_latency_ms", "treatment_latency_ms")
        allow(self, values.flag, "top_result_changed")
        allow(self, values.count, "order_differences")


# --- The change log and the audit log ---


class RowKind(StrEnum):
    """What kind of row changed."""

    MEMORY = "memory"
    CHUNK = "chunk"


class Operation(StrEnum):
    """What happened to it."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One line of the change log. `seq` only grows; within a tenant it grows in the order of commits."""

    seq: int
    kind: RowKind
    row_id: str
    operation: Operation
    at: datetime
    number: int | None = None
    """The row's number, by which derived indexes know it. None on lines from before rows had numbers."""

    def __post_init__(self) -> None:
        require(self, values.count, "seq")
        allow(self, values.count, "number")
        require(self, one_of(RowKind), "kind")
        require(self, values.identifier, "row_id")
        require(self, one_of(Operation), "operation")
        require(self, values.moment, "at")


class LogPosition(NamedTuple):
    """How far a follower has read. Another epoch means the past was rewritten by a restore: begin anew."""

    epoch: str
    seq: int


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditEntry:
    """Who did what to which thing, and the detail needed to undo or judge it."""

    action: str
    target: str
    actor: str
    at: datetime
    detail: Mapping[str, Any] = field(default_factory=dict)
    via: str = ""
    """From where it was done, such as `command line` or `http 10.0.0.7`; empty when unknown."""
    place: int | None = field(default=None, compare=False)
    """The entry's number in the chain of its tenant, from 1. None: it has not been stored yet."""

    def __post_init__(self) -> None:
        require(self, values.identifier, "action")
        require(self, values.short_label, "target")
        require(self, values.label, "actor")
        require(self, values.moment, "at")
        require(self, values.json_object, "detail")
        require(self, values.optional_label, "via")
        allow(self, values.count, "place")
