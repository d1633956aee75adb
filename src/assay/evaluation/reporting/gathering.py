"""From a run to what a report says of it: the gate's findings, what changed, where evidence was lost, each query."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from assay.errors import NothingMeasured
from assay.evaluation.comparing import Compared, is_loss, leading, movers
from assay.evaluation.gating import GateOptions, Verdict
from assay.evaluation.gating.rules import answer, ask
from assay.evaluation.gating.verdict import FAILURE_CEILINGS, refused
from assay.evaluation.readings import Reading, differing, reading_of
from assay.evaluation.recommending import Drop, Evidence, recommend
from assay.evaluation.reporting.content import Breakdown, Changed, Mover, Part, Report
from assay.evaluation.reporting.files import config_json, metrics_json
from assay.evaluation.reporting.judges import NOBODY, judges_of
from assay.evaluation.reporting.per_query import queries_of
from assay.evaluation.reporting.standing import line_of, lines_of, rulings_of, sentence_of, status_of
from assay.evaluation.results import RunResult
from assay.evaluation.waterfall import Waterfall, waterfall
from assay.metrics.aggregate import UNLABELLED, Aggregate
from assay.metrics.spec import MetricSpec
from assay.records.datasets import Dataset
from assay.records.runs import CaseStatus

MOST_PARTS = 20
"""Values of one label that are shown; those with most queries."""
SHOWN_METRICS = 4
"""Metrics beside each part."""
MOST_MOVERS = 20
RANKINGS = ("recall", "precision", "ndcg", "success", "recall_any")
"""Metrics whose cutoff tells how far down a reader looks."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Around:
    """What a run is looked at with; all of it may be missing."""

    dataset: Dataset | None = None
    no_dataset: str = "The dataset was not at hand, so what was expected is not known."
    """Why there is none."""
    baseline: Reading | None = None
    options: GateOptions = field(default_factory=GateOptions)
    k: int | None = None
    """How far down a reader looks; None: as the first metric with a cutoff says."""
    title: str = ""


def gather(run: RunResult, around: Around | None = None) -> Report:
    """Everything a report says of a run. Raises `NotComparable` for a baseline of another instrument."""
    around = around or Around()
    reading = reading_of(run, _texts(around.dataset))
    baseline = around.baseline
    verdict, compared = _judged(reading, baseline, around.options)
    k = around.k or reader_depth(run)
    water = None if around.dataset is None else waterfall(around.dataset, run.cases, k=k)
    lines = lines_of(run, verdict, compared, {**FAILURE_CEILINGS, **run.floors, **around.options.floors})
    return Report(
        title=around.title or f"Retrieval on {run.manifest.dataset}: {run.name}",
        run=run.name,
        run_id=run.run_id,
        dataset=f"{run.manifest.dataset} {run.manifest.dataset_version}",
        date=run.manifest.started_at.date().isoformat(),
        status=status_of(verdict),
        verdict=sentence_of(verdict, lines),
        rulings=rulings_of(verdict),
        lines=lines,
        counts={status.value: count for status, count in run.counts.items()},
        baseline="" if baseline is None else baseline.name,
        configuration=_configuration(reading.subject, None if baseline is None else baseline.subject),
        breakdowns=_breakdowns(run),
        latency=run.latency,
        times=tuple(one.total_ms for one in run.cases if one.status is CaseStatus.OK and one.total_ms is not None),
        waterfall=water,
        no_waterfall="" if water else around.no_dataset,
        moved_by="" if compared is None else leading(list(compared.metrics)),
        movers=_movers(compared),
        queries=queries_of(run, around.dataset, water, baseline),
        recommendations=recommend(_evidence(run, around, water, compared)),
        measured_with=_measured_with(run),
        caveats=run.caveats if compared is None else compared.caveats,
        metrics_json=metrics_json(run, verdict, lines, water),
        config_json=config_json(run, baseline),
    )


def reader_depth(run: RunResult) -> int:
    """How far down a reader looks: the cutoff of the first metric that has one, else all that was asked for."""
    cutoffs = (spec.cutoff for spec in run.aggregates if spec.name in RANKINGS and spec.cutoff)
    return next(cutoffs, run.manifest.k)


class _Judged(NamedTuple):
    verdict: Verdict
    compared: Compared | None


def _judged(reading: Reading, baseline: Reading | None, options: GateOptions) -> _Judged:
    """What the gate says. A run in which nothing could be scored still has a report: it shows why."""
    try:
        question = ask(reading, baseline, options)
    except NothingMeasured as problem:
        return _Judged(refused(problem, run=reading.name, baseline=None if baseline is None else baseline.name), None)
    return _Judged(answer(question), question.compared)


def _texts(dataset: Dataset | None) -> dict[str, str]:
    return {} if dataset is None else {one.id: one.query for one in dataset.cases}


def _configuration(subject: Mapping[str, Any], before: Mapping[str, Any] | None) -> tuple[Changed, ...]:
    now = _settings(subject)
    was = None if before is None else _settings(before)
    names = [*now, *(name for name in was or {} if name not in now)]
    return tuple(
        Changed(
            name=name,
            before=None if was is None else _text(was.get(name)),
            now=_text(now.get(name)),
        )
        for name in names
    )


def _settings(subject: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting by its dotted name; a group without any is no setting."""
    return {one.field: one.after for one in differing({}, subject) if one.after != {}}


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _breakdowns(run: RunResult) -> tuple[Breakdown, ...]:
    wanted = list(run.shown)[:SHOWN_METRICS]
    return tuple(
        _breakdown(label, parts, wanted) for label, parts in run.breakdowns.items() if set(parts) - {UNLABELLED}
    )


def _breakdown(
    label: str, parts: Mapping[str, Mapping[MetricSpec, Aggregate]], wanted: Sequence[MetricSpec]
) -> Breakdown:
    found = [(name, [metrics[spec] for spec in wanted if spec in metrics]) for name, metrics in parts.items()]
    counted = [(name, max((one.cases for one in metrics), default=0), metrics) for name, metrics in found]
    most = sorted(counted, key=lambda one: -one[1])[:MOST_PARTS]
    return Breakdown(
        label=label,
        parts=tuple(Part(name=name, cases=cases, lines=tuple(map(line_of, ones))) for name, cases, ones in most),
        left_out=len(counted) - len(most),
    )


def _movers(compared: Compared | None) -> tuple[Mover, ...]:
    """The largest changes of the leading metric, losses before gains."""
    if compared is None:
        return ()
    found = movers(compared.control, compared.treatment, leading(list(compared.metrics)), MOST_MOVERS)
    ordered = sorted(found, key=lambda one: (not is_loss(one), -abs(one.after - one.before)))
    return tuple(
        Mover(
            query_id=one.case,
            text=one.query,
            metric=one.metric,
            before=one.before,
            now=one.after,
            loss=is_loss(one),
        )
        for one in ordered
    )


def _evidence(run: RunResult, around: Around, water: Waterfall | None, compared: Compared | None) -> Evidence:
    lead = next(iter(run.aggregates), None)
    change = None if compared is None or lead is None else compared.metrics.get(str(lead))
    # Where a difference was seen, the set was large enough to see it.
    unseen = None if change is None or change.comparison.verdict in ("better", "worse") else change.comparison
    judged, shown = (0, 0) if water is None or around.dataset is None else _labelled(run, around.dataset, water.k)
    floors = {**run.floors, **around.options.floors}
    return Evidence(
        run=run,
        lead=lead,
        waterfall=water,
        judged=judged,
        shown=shown,
        drops=_drops(compared),
        detects=None if unseen is None else unseen.minimum_detectable_effect,
        needed=None if unseen is None else unseen.queries_needed,
        ceilings={name: floors[name] for name in ("p50", "p95", "p99") if name in floors},
    )


def _labelled(run: RunResult, dataset: Dataset, k: int) -> tuple[int, int]:
    """How many results within k anybody judged, and how many there are."""
    labels = {case.id: case.labels for case in dataset.cases if case.anchors is None}
    shown = [
        (labels[one.case_id], name)
        for one in run.cases
        if one.repeat == 0 and one.retrieved is not None and one.case_id in labels
        for name in one.retrieved.ids[:k]
    ]
    return sum(name in known for known, name in shown), len(shown)


def _drops(compared: Compared | None) -> list[Drop]:
    """The metric that fell by the largest share: the others mostly tell of the same queries."""
    fallen = [
        (change.after / change.before - 1.0, name, change.before, change.after)
        for name, change in (compared.metrics.items() if compared is not None else ())
        if change.before
        and change.after is not None
        and change.comparison.score.losses
        and change.after < change.before
    ]
    if compared is None or not fallen:
        return []
    _, name, before, after = min(fallen)
    lost = [
        one for one in movers(compared.control, compared.treatment, name, len(compared.control.cases)) if is_loss(one)
    ]
    return [Drop(metric=name, before=before, now=after, losers=tuple(one.case for one in lost))]


def _judge_facts(run: RunResult) -> list[tuple[str, str]]:
    return [fact for judge in judges_of(run.manifest) for fact in judge.facts()]


def _measured_with(run: RunResult) -> tuple[tuple[str, str], ...]:
    manifest = run.manifest
    return (
        ("run", run.run_id),
        ("system", manifest.system),
        ("dataset", f"{manifest.dataset} {manifest.dataset_version}"),
        ("instrument", manifest.instrument_hash),
        ("subject", manifest.subject_hash),
        ("result", run.result_hash),
        ("metrics", ", ".join(manifest.metrics)),
        ("relevant from grade", str(manifest.instrument.get("relevance_level", "-"))),
        ("results asked for", str(manifest.k)),
        ("repeats", str(manifest.repeats)),
        ("sample", "all queries" if manifest.sample is None else f"{manifest.sample:g} of the queries"),
        ("seed", str(manifest.seed)),
        ("started", manifest.started_at.isoformat()),
        ("host", manifest.host or "-"),
        *(_judge_facts(run) or [("judge", NOBODY)]),
        ("assay", str(manifest.subject.get("assay") or "-")),
    )
