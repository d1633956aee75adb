"""A finished run as one value: what was measured, every case's outcome, and what the system gave for it.

A run is a folder: `manifest.json` (what was run over what), `cases.jsonl` (one case a line, in the order they ended)
and `result.json` (everything computed from the two). `RunResult` is all three; `load_run` reads them, `RunResult.save`
writes them. Cases that were never tried are `skipped` here and have no line, so that a later resume tries them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.errors import UnknownMetric
from assay.evaluation import frames
from assay.evaluation.caveats import seal_caveat
from assay.evaluation.run_catalogue import keep_entry, make_entry
from assay.evaluation.run_metrics import RUN_AREAS, RUN_GENERATION, RUN_JUDGING, RUN_UNITS
from assay.evaluation.running.case_columns import CaseColumns, read_columns
from assay.evaluation.running.files import SEAL, RunFolder, manifest_json, read_manifest
from assay.evaluation.running.json_text import PER_CASE, Plain, plain
from assay.formats.trec import write_trec_run
from assay.metrics.aggregate import Aggregate, metric_values
from assay.metrics.anchors import UNPLACED
from assay.metrics.catalog import Better, FromRun, recall
from assay.metrics.inputs import LatencySummary, RunFacts, scores_of_ranking
from assay.metrics.outcome_columns import CaseOrder, NumberedCases, OutcomeColumn
from assay.metrics.spec import MetricSpec
from assay.records.evaluations import CaseResult, CaseStatus, Cause, Outcome, OutcomeKind, Rate, RunManifest
from assay.records.run_results import (
    Caveat,
    CaveatKind,
    LatencyValues,
    RateValue,
    RunSummary,
    caveats_about,
    read_caveat,
)
from assay.statistics import Interval

PerCase = Mapping[str, Outcome]
Aggregates = Mapping[MetricSpec, Aggregate]
_ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class RunResult:
    """One run, scored."""

    manifest: RunManifest
    cases: Sequence[CaseResult]
    """Every case of every repeat, in the manifest's order; those never tried are `skipped`."""
    scores: Mapping[MetricSpec, PerCase]
    """What became of each case under each metric; with repeats, the mean of those that were scored."""
    noise: Mapping[MetricSpec, Mapping[str, float]] = field(default_factory=dict)
    """With repeats: by how much a case's value varies from one to the next (standard deviation)."""
    aggregates: Aggregates
    breakdowns: Mapping[str, Mapping[str, Aggregates]] = field(default_factory=dict)
    """By label (`category`, `difficulty`, `tags`, `intent`, `vault`), then by its value."""
    latency: Mapping[str, LatencySummary]
    """By stage, `total` first; milliseconds."""
    rates: Mapping[str, Rate]
    """`error_rate`, `timeout_rate`, `empty_response_rate`."""
    floors: Mapping[str, float] = field(default_factory=dict)
    """What the dataset demands, by metric."""
    caveats: tuple[Caveat, ...] = ()
    """What a reader must know beside the numbers."""
    elapsed_s: float | None = None
    """Seconds from the first question to the last answer; None: the run was resumed, or it was not recorded."""
    result_hash: str
    """Of case ids, rankings, outcomes and values; not of times."""
    folder: Path | None = None
    """Where its files are; None: it was never written."""
    sealed: bool = True
    """Whether its files carry seals; those that version 0.1 wrote do not, and an edit of them cannot be seen."""

    @property
    def name(self) -> str:
        """What people call it."""
        return self.manifest.name

    @property
    def run_id(self) -> str:
        """What it is stored under."""
        return self.manifest.run_id

    def per_case(self, metric: MetricSpec | str) -> dict[str, Outcome]:
        """What became of each case under one metric."""
        return dict(self.scores[self._find_spec(metric)])

    def value(self, metric: MetricSpec | str) -> float | None:
        """A metric's value over the run, latency percentiles and failure rates included; None: nothing was scored."""
        spec = MetricSpec.parse(metric) if isinstance(metric, str) else metric
        return self.run_outcome(spec).value if spec.is_of_run else self.aggregates[self._find_spec(spec)].value

    def run_outcome(self, metric: MetricSpec | str) -> Outcome:
        """The value of a metric of the whole run, or why it has none."""
        spec = MetricSpec.parse(metric) if isinstance(metric, str) else metric
        compute = spec.entry.compute
        if not isinstance(compute, FromRun):
            raise UnknownMetric(f"{spec} has a value for each case", remedy="Look at `per_case` and `value`.")
        return compute.function(spec, self._facts)

    @cached_property
    def run_metrics(self) -> dict[MetricSpec, Outcome]:
        """The requested metrics of the whole run, then those of answers and judging that have a value."""
        asked = {spec: self.run_outcome(spec) for spec in self.asked_run_metrics}
        more = {spec: self.run_outcome(spec) for spec in self._further_run_metrics() if spec not in asked}
        return {**asked, **{spec: outcome for spec, outcome in more.items() if outcome.value is not None}}

    @property
    def asked_run_metrics(self) -> tuple[MetricSpec, ...]:
        """The metrics of the whole run that were requested."""
        return tuple(spec for spec in map(MetricSpec.parse, self.manifest.metrics) if spec.is_of_run)

    def _further_run_metrics(self) -> list[MetricSpec]:
        """Metrics of the whole run that nobody has to ask for; a run without answers and judges has none."""
        confident = any(confidence is not None for confidence in self._facts.confidences.values())
        names = (
            *(RUN_AREAS if confident else ()),
            *(RUN_JUDGING if self._facts.spent else ()),
            *(RUN_GENERATION if "generation" in self.latency else ()),
        )
        return [MetricSpec.parse(name) for name in names]

    @cached_property
    def _facts(self) -> RunFacts:
        judges = self.manifest.subject.get("judge") or {}
        answers = {case.case_id: case.retrieved.answer for case in self._first_found() if case.retrieved is not None}
        return RunFacts(
            latency=self.latency,
            rates=self.rates,
            elapsed_s=self.elapsed_s,
            spent=[judge["spent"] for judge in judges.values() if "spent" in judge],
            indexed=self.manifest.subject.get("index") or None,
            per_case=self.scores,
            confidences={case: None if answer is None else answer.confidence for case, answer in answers.items()},
        )

    def _first_found(self) -> Iterable[CaseResult]:
        """For each case, as the last of it, the first repeat that found something; where it may hold an answer."""
        if not isinstance(self.cases, CaseColumns):
            return reversed(self.cases)
        return self.cases.first_found_with_more()

    def _find_spec(self, metric: MetricSpec | str) -> MetricSpec:
        spec = MetricSpec.parse(metric) if isinstance(metric, str) else metric
        if spec not in self.scores:
            raise UnknownMetric(
                f"the run {self.name} was not measured with {spec}",
                remedy=f"It has: {', '.join(map(str, self.scores))}. Run again with --metrics {spec}.",
            )
        return spec

    @property
    def has_answers(self) -> bool:
        """Whether the system gave answers, so that metrics are over different questions."""
        cases = self.cases.more.values() if isinstance(self.cases, CaseColumns) else self.cases
        return any(case.retrieved is not None and case.retrieved.answer is not None for case in cases)

    @property
    def is_stopped_early(self) -> bool:
        """Whether a sequential test ended the run: its means are over a part of the cases, chosen by their values."""
        return bool(caveats_about(self.caveats, CaveatKind.STOPPED_EARLY))

    @property
    def notes(self) -> tuple[str, ...]:
        """The caveats in sentences."""
        return tuple(caveat.sentence for caveat in self.caveats)

    @property
    def shown(self) -> Aggregates:
        """The metrics for a table, without those the system reports nothing for, which a caveat names."""
        untold = {name for caveat in caveats_about(self.caveats, CaveatKind.UNTOLD) for name in caveat.metrics}
        return {spec: aggregate for spec, aggregate in self.aggregates.items() if str(spec) not in untold}

    @property
    def counts(self) -> dict[CaseStatus, int]:
        """How many cases ended in each way."""
        if isinstance(self.cases, CaseColumns):
            return self.cases.count_statuses()
        found = Counter(case.status for case in self.cases)
        return {status: found[status] for status in CaseStatus}

    def results_of(self, case_id: str) -> tuple[CaseResult, ...]:
        """What the system gave for one case, one for each repeat."""
        return tuple(case for case in self.cases if case.case_id == case_id)

    def as_json(self) -> Plain:
        """Everything but the cases' own results, as `result.json` holds it."""
        return {**self._content(), PER_CASE: {str(spec): _outcomes_json(cases) for spec, cases in self.scores.items()}}

    def _content(self) -> Plain:
        """The same with an empty place for the outcomes of the cases."""
        return {
            "run_id": self.run_id,
            "name": self.name,
            "manifest": manifest_json(self.manifest),
            "metrics": {str(spec): aggregate.as_json() for spec, aggregate in self.aggregates.items()},
            PER_CASE: {},
            "noise": {str(spec): dict(cases) for spec, cases in self.noise.items()},
            "breakdowns": {label: _parts_json(parts) for label, parts in self.breakdowns.items()},
            "latency": {stage: latency_json(latency) for stage, latency in self.latency.items()},
            "rates": {name: rate_json(rate) for name, rate in self.rates.items()},
            "counts": {status.value: count for status, count in self.counts.items()},
            "run_metrics": {str(spec): plain(outcome) for spec, outcome in self.run_metrics.items()},
            "elapsed_s": self.elapsed_s,
            "floors": dict(self.floors),
            "caveats": [caveat.as_json() for caveat in self.caveats],
            "result_hash": self.result_hash,
        }

    def summary(self, notes: Sequence[str] = ()) -> RunSummary:
        """Return what was measured as every surface shows it; `notes` say what became of the run itself."""
        return RunSummary(
            run_id=self.run_id,
            name=self.name,
            dataset=self.manifest.dataset,
            instrument_hash=self.manifest.instrument_hash,
            result_hash=self.result_hash,
            metrics=metric_values(self.aggregates),
            counts={status.value: count for status, count in self.counts.items()},
            rates={name: RateValue(**rate_json(rate)) for name, rate in self.rates.items()},
            latency={stage: _latency_values(summary) for stage, summary in self.latency.items()},
            breakdowns={
                label: {value: metric_values(part) for value, part in parts.items()}
                for label, parts in self.breakdowns.items()
            },
            run_metrics={str(spec): found.value for spec, found in self.run_metrics.items() if found.value is not None},
            floors=self.floors,
            caveats=self.caveats,
            notes=tuple(notes),
            manifest=self.manifest,
        )

    def save(self, folder: Path) -> RunResult:
        """Write all three files into a new folder; return the run as it is stored there."""
        files = RunFolder(folder)
        files.write_manifest(self.manifest)
        files.write_cases(case for case in self.cases if case.status is not CaseStatus.SKIPPED)
        return self.save_result(folder)

    def save_result(self, folder: Path) -> RunResult:
        """Write `result.json` beside a manifest and cases that are there already, and seal all three."""
        files = RunFolder(folder)
        content = self._content()
        files.write_result(content, {str(spec): OutcomeColumn.of(cases) for spec, cases in self.scores.items()})
        keep_entry(files, make_entry(self.manifest, content))
        return replace(self, folder=folder, sealed=True)

    def write_trec(self, path: str | Path, *, repeat: int = 0) -> None:
        """The rankings as a TREC run. Its scores count places, so that every reader sees this order."""
        run = {
            case.case_id: scores_of_ranking(case.retrieved.ids)
            for case in self.cases
            if case.repeat == repeat and case.retrieved is not None
        }
        write_trec_run(Path(path), run, "".join(self.name.split()) or "assay")

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame` with a row for each case and metric; a case without a value has NaN and the reason."""
        return frames.to_pandas(self._case_rows(), frames.CASE_COLUMNS)

    def to_polars(self) -> Any:
        """A `polars.DataFrame` with a row for each case and metric; a case without a value has null and the reason."""
        return frames.to_polars(self._case_rows(), frames.CASE_COLUMNS)

    def _case_rows(self) -> list[frames.Row]:
        return [
            {
                "run": self.run_id,
                "case": case,
                "metric": str(spec),
                "value": outcome.value,
                "outcome": outcome.kind.value,
                "reason": outcome.reason,
                "stopped_early": self.is_stopped_early,
            }
            for spec, cases in self.scores.items()
            for case, outcome in cases.items()
        ]

    def _repr_html_(self) -> str:
        """The run as a table of a notebook, with what became of its floors in words."""
        rows = [
            (
                str(spec),
                None if aggregate.value is None else f"{aggregate.value:.3f}",
                _format_interval(aggregate),
                f"{aggregate.scored:,} of {aggregate.scored + sum(aggregate.others.values()):,}",
                _describe_floor(aggregate.value, self.floors.get(str(spec)), spec),
            )
            for spec, aggregate in self.aggregates.items()
        ]
        head = ("metric", "mean", "95 %", "cases with a value", "floor")
        title = f"{self.name} on {self.manifest.dataset}: {self._describe_endings()}"
        return frames.show_in_notebook(title, self._describe_floors(), head, rows, self.notes)

    def _describe_floors(self) -> str:
        """Whether the floors of the dataset are reached, in a sentence."""
        asked = {spec: self.floors[str(spec)] for spec in self.aggregates if str(spec) in self.floors}
        if not asked:
            return "The dataset demands no floor of these metrics."
        missed = [f"{spec}" for spec, floor in asked.items() if not _reaches(self.aggregates[spec].value, floor, spec)]
        if missed:
            return f"{len(missed)} of {len(asked)} floors are missed or not measured: {', '.join(missed)}."
        return f"Every floor is reached: {', '.join(map(str, asked))}."

    def _describe_endings(self) -> str:
        return ", ".join(f"{count} {status}" for status, count in self.counts.items() if count) or "no cases"

    def __repr__(self) -> str:
        width = max((len(str(spec)) for spec in self.aggregates), default=0)
        lines = [f"  {spec!s:<{width}}  {format_value(aggregate)}" for spec, aggregate in self.aggregates.items()]
        return "\n".join([f"{self.name} on {self.manifest.dataset}: {self._describe_endings()}", *lines])


def _format_interval(aggregate: Aggregate) -> str | None:
    limits = aggregate.interval
    return None if limits is None else f"[{_limit(limits.low)}, {_limit(limits.high)}]"


def _reaches(value: float | None, floor: float, spec: MetricSpec) -> bool:
    """Whether a floor is reached; for what is better when lower, a floor is a ceiling."""
    if value is None:
        return False
    over = value - floor if spec.entry.better is Better.LOWER else floor - value
    return over <= _ROUNDING


def _describe_floor(value: float | None, floor: float | None, spec: MetricSpec) -> str:
    if floor is None:
        return "none"
    if value is None:
        return f"{floor:g}, not measured"
    return f"{floor:g}, {'reached' if _reaches(value, floor, spec) else 'missed'}"


def count_scored(run: RunResult, spec: MetricSpec) -> str:
    """How many cases a metric counts; of one that is yes or no, also how many are yes: `22 of 145`."""
    values = [outcome.value for outcome in run.scores.get(spec, {}).values() if outcome.value is not None]
    if values and not spec.is_ranking and all(value in {0.0, 1.0} for value in values):
        return f"{values.count(1.0):,} of {len(values):,}"
    return f"{len(values):,}"


def format_run_metric(spec: MetricSpec, value: float | None) -> str:
    """A metric of the whole run with its unit."""
    unit, digits = RUN_UNITS.get(spec.name, ("", 3))
    return "-" if value is None else f"{value:,.{digits}f} {unit}".rstrip()


def _latency_values(summary: LatencySummary) -> LatencyValues:
    return LatencyValues(**{**latency_json(summary), "at_least": tuple(summary.at_least)})


def format_value(aggregate: Aggregate) -> str:
    """A value with its interval, or that there is none."""
    if aggregate.value is None:
        return "-"
    limits = aggregate.interval
    return (
        f"{aggregate.value:.3f}"
        if limits is None
        else f"{aggregate.value:.3f} [{_limit(limits.low)}, {_limit(limits.high)}]"
    )


def _limit(limit: float | None) -> str:
    return "-" if limit is None else f"{limit:.3f}"


def load_run(folder: Path) -> RunResult:
    """Read a finished run from its folder; raises `BrokenSeal` where one of its files was edited."""
    files = RunFolder(folder)
    written = files.load_manifest()
    manifest = read_manifest(written)
    order = CaseOrder(manifest.case_ids)
    lines = files.read_result_lines(written, order)
    found = files.read_result() if lines is None else lines.content
    per_case = found[PER_CASE] if lines is None else lines.columns
    files.check_cases(found)
    recall(per_case, manifest.own_metrics)
    return RunResult(
        manifest=manifest,
        cases=_read_cases(files, written, manifest, order),
        scores=_scores(per_case),
        noise={MetricSpec.parse(name): dict(cases) for name, cases in found["noise"].items()},
        aggregates={MetricSpec.parse(name): read_aggregate(aggregate) for name, aggregate in found["metrics"].items()},
        breakdowns={label: _parts(parts) for label, parts in found["breakdowns"].items()},
        latency={stage: _latency(latency) for stage, latency in found["latency"].items()},
        rates={name: _rate(rate) for name, rate in found["rates"].items()},
        floors=found["floors"],
        caveats=_caveats(found, manifest.name),
        elapsed_s=found.get("elapsed_s"),
        result_hash=found["result_hash"],
        folder=folder,
        sealed=SEAL in found,
    )


def _read_cases(files: RunFolder, written: Plain, manifest: RunManifest, order: CaseOrder) -> Sequence[CaseResult]:
    if not order.is_unique:
        return with_skipped(manifest, files.iterate_cases(written))
    return read_columns(files, written, order, manifest.repeats)


def _caveats(found: Plain, name: str) -> tuple[Caveat, ...]:
    """Those of the file, and that it has no seal where it has none."""
    written = tuple(map(read_caveat, found["caveats"] if "caveats" in found else found.get("notes") or ()))
    return written if SEAL in found else (seal_caveat(f"the run {name}"), *written)


ByRepeat = defaultdict[int, dict[str, CaseResult]]
"""What became of each case, by repeat, then by case."""


def sort_by_repeat(cases: Iterable[CaseResult]) -> ByRepeat:
    """The first line of each case."""
    done: ByRepeat = defaultdict(dict)
    for case in cases:
        done[case.repeat].setdefault(case.case_id, case)
    return done


def put_in_order(manifest: RunManifest, done: ByRepeat) -> tuple[CaseResult, ...]:
    """Every case of every repeat in the manifest's order; without a line it was never tried."""
    return tuple(
        done[repeat].get(case_id) or CaseResult(case_id=case_id, repeat=repeat, status=CaseStatus.SKIPPED)
        for repeat in range(manifest.repeats)
        for case_id in manifest.case_ids
    )


def with_skipped(manifest: RunManifest, cases: Iterable[CaseResult]) -> tuple[CaseResult, ...]:
    """The first line of every case of every repeat, in the manifest's order."""
    return put_in_order(manifest, sort_by_repeat(cases))


def _outcomes_json(cases: PerCase) -> Plain:
    """The outcomes of one metric; cases that share an outcome share what is written of it."""
    distinct = {id(outcome): outcome for outcome in cases.values()}
    written = {number: plain(outcome) for number, outcome in distinct.items()}
    return {case: written[id(outcome)] for case, outcome in cases.items()}


_CAUSES_BEFORE = {
    "no judge was asked about the answers of this run": Cause.NO_JUDGE,
    "no judge was asked for this metric": Cause.NO_JUDGE,
    "the system does not tell of its channels": Cause.UNTOLD,
    "the query was not expanded, or the system does not tell": Cause.UNTOLD,
}
"""Runs of version 0.1 have no causes; these are the reasons that it gave for what has one now."""


def _scores(found: Mapping[str, Mapping[str, Plain]]) -> dict[MetricSpec, PerCase]:
    """The outcomes by metric and case. Equal ones are one object: a million cases share a few thousand outcomes.

    `RunFolder.read_result` gives equal outcomes as one dictionary, so that they are known by their id.
    """
    made: dict[int, Outcome] = {}
    scores: dict[MetricSpec, PerCase] = {}
    for name, cases in found.items():
        if isinstance(cases, NumberedCases):
            column = OutcomeColumn(cases.order, cases.numbers, list(map(_outcome, cases.distinct)))
            scores[MetricSpec.parse(name)] = column
            continue
        for outcome in cases.values():
            if id(outcome) not in made:
                made[id(outcome)] = _outcome(outcome)
        scores[MetricSpec.parse(name)] = {case: made[id(outcome)] for case, outcome in cases.items()}
    return scores


def _outcome(found: Plain) -> Outcome:
    reason = found.get("reason", "")
    before = Cause.UNPLACED if reason.endswith(UNPLACED) else _CAUSES_BEFORE.get(reason)
    return Outcome(**{"cause": before, **found})


def _parts_json(parts: Mapping[str, Aggregates]) -> Plain:
    return {
        value: {str(spec): aggregate.as_json() for spec, aggregate in metrics.items()}
        for value, metrics in parts.items()
    }


def _parts(found: Mapping[str, Plain]) -> dict[str, Aggregates]:
    return {
        value: {MetricSpec.parse(name): read_aggregate(aggregate) for name, aggregate in metrics.items()}
        for value, metrics in found.items()
    }


def read_aggregate(found: Plain) -> Aggregate:
    """What `Aggregate.as_json` gave."""
    limits = found["interval"]
    interval = None
    if limits is not None:
        interval = Interval(
            estimate=found["value"],
            low=limits[0],
            high=limits[1],
            level=found["interval_level"],
            n=found["scored"],
            method=found["interval_method"],
        )
    return Aggregate(
        spec=MetricSpec.parse(found["metric"]),
        value=found["value"],
        scored=found["scored"],
        others=_read_counts(found["others"]),
        worst=found["worst"],
        best=found["best"],
        interval=interval,
        fingerprint=found["fingerprint"],
    )


def latency_json(latency_summary: LatencySummary) -> Plain:
    """The one shape of a latency on every surface."""
    shares = {
        "p50": latency_summary.p50,
        "p95": latency_summary.p95,
        "p99": latency_summary.p99,
        "mean": latency_summary.mean,
    }
    left_out = {kind.value: count for kind, count in latency_summary.left_out.items()}
    bounds = {"timed_out": latency_summary.timed_out, "at_least": list(latency_summary.at_least)}
    return {**shares, "timed": latency_summary.timed, "left_out": left_out, **bounds}


def _latency(found: Plain) -> LatencySummary:
    bounds = tuple(found.get("at_least", ()))
    return LatencySummary(**{**found, "left_out": _read_counts(found["left_out"]), "at_least": bounds})


def rate_json(rate: Rate) -> Plain:
    """The one shape of a rate on every surface."""
    left = {kind.value: count for kind, count in rate.left_out.items()}
    return {"value": rate.value, "hits": rate.hits, "of": rate.of, "left_out": left}


def _rate(found: Plain) -> Rate:
    return Rate(hits=found["hits"], of=found["of"], left_out=_read_counts(found["left_out"]))


def _read_counts(found: Mapping[str, int]) -> dict[OutcomeKind, int]:
    return {OutcomeKind(kind): count for kind, count in found.items()}
