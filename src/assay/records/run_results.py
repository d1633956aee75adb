"""Results of runs, of comparing runs and of the gate, with their caveats, as every surface shows them.

- Caveats: what a reader must know beside a number.
- Measured runs and comparisons.
- Results of the gate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from assay.records import values
from assay.records.evaluations import Outcome, RunManifest
from assay.records.fields import allow, one_of, require

# --- Caveats: what a reader must know beside a number ---
#
# Whoever computes a number adds the caveats; a run result, a comparison and a measurement carry them, and every
# surface prints them. Programs look at `kind`, `metrics`, `count` and `figures`; people read `sentence`.


class CaveatKind(StrEnum):
    """What the caveat is about."""

    FAILED_CASES = "failed_cases"
    """Cases in which the system failed or timed out."""
    SKIPPED_CASES = "skipped_cases"
    """Cases that were never tried."""
    SYSTEM_NOTE = "system_note"
    """What the adapter of the system reported, added up over the cases."""
    NO_ANSWERS = "no_answers"
    """The dataset requires answers and the system gave none."""
    UNTOLD = "untold"
    """Metrics that tables leave out, because the system does not report what they need."""
    NOT_APPLICABLE = "not_applicable"
    """Cases to which a metric does not apply, and why."""
    NO_JUDGE = "no_judge"
    """A metric needs a judge, and none was used."""
    JUDGE = "judge"
    """What must be known of a judge: failed verdicts, or that gates may not listen to it."""
    UNJUDGED = "unjudged"
    """Results without a judgment count as not relevant."""
    SHORT_LISTS = "short_lists"
    """Cases with fewer results than a metric looks at."""
    TIES = "ties"
    """Results of equal score, of which some are relevant and others are not."""
    LABELS = "labels"
    """The labels themselves: weak, made from use, leaking into the documents, running backward."""
    COPIES = "copies"
    """Documents that are in the corpus more than once."""
    REPEATS = "repeats"
    """Something was counted more than once, or once instead of more often."""
    RETRIES = "retries"
    """More requests were made than cases."""
    PARTIAL = "partial"
    """The run covers only a part of the dataset: a sample, or a budget that ended it."""
    STOPPED_EARLY = "stopped_early"
    """A sequential test ended the run before its last case; its numbers are not those of a full run."""
    PLACEMENT = "placement"
    """Results that could not be placed in the documents."""
    SEAL = "seal"
    """Whether the files of the run are as Assay wrote them."""
    CLUSTERS = "clusters"
    """Cases that belong together and do not count as independent."""
    COST = "cost"
    """The cost of the run, and how many cases did not report theirs."""
    LATENCY = "latency"
    """What times include or leave out: cold starts, time-outs, another machine."""
    INDEX = "index"
    """The recall of an approximate vector index against exact search, beside the times of both."""
    OTHER = "other"
    """Anything else, such as the notes of a run made by version 0.1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Caveat:
    """Something a reader must know beside a number."""

    kind: CaveatKind
    sentence: str
    """For people: what it is, with its counts, and what follows from it."""
    metrics: tuple[str, ...] = ()
    """The metrics concerned; empty: all of them."""
    count: int | None = None
    """How many cases, results or documents are concerned."""
    of: int | None = None
    """Out of how many."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """Further numbers by name, for programs."""

    def __post_init__(self) -> None:
        require(self, one_of(CaveatKind), "kind")
        require(self, values.text, "sentence")
        allow(self, values.count, "count", "of")

    def as_json(self) -> dict[str, Any]:
        """The one shape of a caveat on every surface."""
        return {
            "kind": self.kind.value,
            "sentence": self.sentence,
            "metrics": list(self.metrics),
            "count": self.count,
            "of": self.of,
            "figures": dict(self.figures),
        }


def read_caveat(found: Mapping[str, Any] | str) -> Caveat:
    """Read what `Caveat.as_json` gave; a plain sentence is a note of version 0.1."""
    if isinstance(found, str):
        return Caveat(kind=CaveatKind.OTHER, sentence=found)
    return Caveat(**{**found, "metrics": tuple(found.get("metrics", ()))})


def caveats_about(caveats: tuple[Caveat, ...], kind: CaveatKind) -> tuple[Caveat, ...]:
    """Return the caveats of one kind."""
    return tuple(caveat for caveat in caveats if caveat.kind is kind)


# --- Measured runs and comparisons ---
#
# The evaluation makes these from its own values (`RunResult.summary`, `Compared.result`), which need numpy; whoever
# only reads results, such as the HTTP client, needs no more than this module.


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricValue:
    """One metric over the cases of a run."""

    metric: str
    value: float | None
    """The mean of the scored cases; None: nothing could be computed, which is not 0."""
    scored: int
    others: Mapping[str, int]
    """How many cases ended without a value, by how they ended."""
    worst: float | None
    """The value if every case without one had come out as badly as possible."""
    best: float | None
    """The value if every case without one had come out as well as possible."""
    interval: tuple[float | None, float | None] | None
    interval_level: float | None
    interval_method: str | None
    fingerprint: str
    """A hash of how the metric was measured: equal, or not comparable."""

    @property
    def cases(self) -> int:
        """Every case, scored or not."""
        return self.scored + sum(self.others.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class LatencyValues:
    """How long one stage took, in milliseconds."""

    p50: float | None
    p95: float | None
    p99: float | None
    mean: float | None
    timed: int
    left_out: Mapping[str, int]
    timed_out: int
    at_least: tuple[str, ...]
    """Which of the values above are lower bounds, because cases were cut off by the time limit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RateValue:
    """How often something happened."""

    value: float | None
    hits: int
    of: int
    left_out: Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSummary:
    """What a run measured, without the values of every case."""

    run_id: str
    name: str
    dataset: str
    instrument_hash: str
    """What it was measured with, as one hash: runs with the same can be compared. `manifest` has the whole."""
    result_hash: str
    """Of case ids, rankings, outcomes and values; not of times."""
    metrics: Mapping[str, MetricValue]
    counts: Mapping[str, int]
    """Cases by how they ended."""
    rates: Mapping[str, RateValue]
    latency: Mapping[str, LatencyValues]
    """By stage, `total` first."""
    breakdowns: Mapping[str, Mapping[str, Mapping[str, MetricValue]]]
    """By label such as `category`, then by its value."""
    run_metrics: Mapping[str, float] = field(default_factory=dict)
    """Metrics of the whole run that have a value, such as `judge_cost`; milliseconds, seconds, tokens or dollars."""
    floors: Mapping[str, float]
    """What the dataset demands, by metric."""
    caveats: tuple[Caveat, ...]
    """What a reader must know beside the numbers."""
    notes: tuple[str, ...] = ()
    """What became of the run itself, such as that it could not be stored."""
    manifest: RunManifest


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedRun:
    """A run, or a verdict of the gate on one, as a list shows it."""

    run_id: str
    run_type: str
    """`full`: a run. `regression`: a verdict of the gate on the run of that id."""
    feature_id: str | None
    """The flag of which the run is one side."""
    query_count: int
    created_at: datetime
    mrr_at_10: float | None
    ndcg_at_10: float | None
    recall_at_10: float | None
    avg_latency_ms: float | None
    result_diversity_score: float | None
    """The share of distinct folders among the first five results, on average."""
    control_run_id: str | None
    """Of a verdict: the run or baseline it was held against."""
    mrr_delta: float | None
    """Of a verdict: run minus control."""
    ndcg_delta: float | None
    p_value: float | None
    """Of a verdict: Holm-adjusted, of the metric that decides."""
    is_significant: bool | None
    """Whether p is below 0.05."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedRun:
    """One side of a comparison."""

    name: str
    run_id: str
    host: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedMetric:
    """One metric on two sides, over the cases that have a value on both."""

    before: float | None
    after: float | None
    verdict: str
    sentence: str
    """The verdict in words."""
    n: int
    units: int
    """Independent units among the cases: cases that belong together count as one."""
    delta: float | None
    interval: tuple[float | None, float | None] | None
    """Of the difference."""
    interval_method: str | None
    p: float | None
    p_adjusted: float | None
    """Corrected by Holm for the number of metrics."""
    p_floor: float | None
    """The smallest p-value that this many cases could have given."""
    wins: int
    ties: int
    losses: int
    minimum_detectable_effect: float | None
    queries_needed: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredFile:
    """One run file, measured against judgments."""

    name: str
    path: str
    metrics: Mapping[str, MetricValue]
    queries_without_results: tuple[str, ...]
    """Judged queries of which the run has no results."""
    queries_without_judgments: tuple[str, ...]
    """Queries of the run without a judgment: they are left out."""
    repeated_results: int
    """Results that repeat a document of their query: they count once, at the better rank."""
    per_query: Mapping[str, Mapping[str, Outcome]] | None = None
    """By metric, then by query; None: not requested."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedFile:
    """A run file against the first one, query by query."""

    control: str
    treatment: str
    metrics: Mapping[str, ComparedMetric]


@dataclass(frozen=True, kw_only=True, slots=True)
class FileMeasurement:
    """Run files measured against judgments, and each later one compared with the first."""

    qrels: str
    queries: int
    judgments: int
    relevance_level: int
    """The lowest grade that counts as relevant."""
    depth: int | None
    """How many results of each query were looked at; None: all."""
    absent: str
    """What a judged query without results counts as."""
    dataset: str
    """A hash of the judgments, independent of the order of their lines."""
    runs: tuple[MeasuredFile, ...]
    comparisons: tuple[ComparedFile, ...]
    caveats: tuple[Caveat, ...]
    """What a reader must know beside the numbers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WrittenReport:
    """A report of a run, and the files it was written to."""

    status: str
    """PASS, DEGRADED, FAIL, INCONCLUSIVE or NOT GATED."""
    verdict: str
    """The whole in a sentence."""
    run_id: str
    lost: str
    """How many of the expected items were missed, and where; empty: what was expected is not known."""
    files: tuple[str, ...]
    """The one to open first comes first."""
    notes: tuple[str, ...] = ()
    """What the files lack, or what became of them."""


@dataclass(frozen=True, slots=True)
class Mover:
    """A case whose value changed."""

    case: str
    query: str
    metric: str
    before: float
    after: float


@dataclass(frozen=True, slots=True, order=True)
class OneSided:
    """A case with a value on one side only, under these metrics."""

    case: str
    metrics: tuple[str, ...]
    before: str
    """An outcome, or `absent`."""
    after: str


@dataclass(frozen=True, slots=True)
class ListAgreement:
    """How alike the lists are, on average over the cases both have."""

    cases: int
    rbo: float
    jaccard: float
    top_changed: int
    """Cases whose first result is another one."""


@dataclass(frozen=True, slots=True)
class LatencyChange:
    """One percentile of the same cases on two sides, in milliseconds; limits are None where too few were timed."""

    percent: int
    before: float
    after: float
    low: float | None
    """Of the difference."""
    high: float | None
    ratio_low: float | None
    """Of after / before."""
    ratio_high: float | None
    cases: int


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that is not the same on both sides; None: it is not there at all."""

    field: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.field}: {_shorten(self.before)} -> {_shorten(self.after)}"


def _shorten(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    # Of a hash the first digits are enough to see that it is another one.
    most = 19 if text.startswith("sha256:") else 60
    return text if len(text) <= most else f"{text[:most]}..."


@dataclass(frozen=True, kw_only=True, slots=True)
class BlessedRun:
    """A run that became the baseline of its dataset."""

    run_id: str
    name: str
    dataset: str
    blessed_at: datetime
    note: str
    despite: str
    """Why it was blessed although something was wrong with it; empty: nothing was."""
    shortcomings: tuple[str, ...]
    """What was wrong with it."""
    replaces: str | None
    """The run that was the baseline before; None: there was none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparisonResult:
    """What changed between two runs over the same cases."""

    control: ComparedRun
    treatment: ComparedRun
    metrics: Mapping[str, ComparedMetric]
    movers: tuple[Mover, ...]
    """The cases that changed most, the biggest first."""
    list_agreement: ListAgreement | None
    """None: one side did not keep its lists."""
    latency: tuple[LatencyChange, ...]
    same_host: bool
    """Whether the times were taken on one machine; others say little of each other."""
    one_sided: tuple[OneSided, ...]
    changed: tuple[Difference, ...]
    """What differs in what was measured."""
    caveats: tuple[Caveat, ...]


# --- Results of the gate ---
#
# One failed rule fails the gate. Without a failure, one rule that could not be decided leaves it `inconclusive`, which
# is never a pass.


class Status(StrEnum):
    """How a rule, or the whole gate, came out."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    """It cannot be decided with what was measured."""
    NOT_APPLICABLE = "not_applicable"
    """The question does not arise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleVerdict:
    """One rule about one thing."""

    rule: str
    about: str = ""
    """The metric, rate or channel; empty when the rule applies to the whole run."""
    status: Status
    sentence: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    """The numbers behind the sentence."""

    @property
    def title(self) -> str:
        """The rule and what it is about."""
        return f"{self.rule} {self.about}".strip()


@dataclass(frozen=True, kw_only=True, slots=True)
class GateResult:
    """All rules together."""

    status: Status
    """The worst status of all rules; a gate in which no rule applied is inconclusive."""
    passed: bool
    """Whether every rule that applies holds."""
    run: str
    baseline: str | None
    """None: there was none to compare with."""
    dataset: str
    rules: tuple[RuleVerdict, ...]
    caveats: tuple[Caveat, ...]
    """What a reader must know beside the numbers of run and baseline."""
