"""Build a report from a run, with its dataset and baseline, and write its files.

- The files of a report.
- From a run to the content of its report.
- The dataset, baseline and floors a run is read with.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.errors import NothingMeasured, ReportFailed
from assay.evaluation.baselines import FILE_NAME
from assay.evaluation.comparison import Compared, is_loss, leading, movers
from assay.evaluation.datasets import load_dataset
from assay.evaluation.gating import GateOptions, Verdict
from assay.evaluation.gating.rules import answer, ask
from assay.evaluation.gating.verdict import FAILURE_CEILINGS, verdict_of_error
from assay.evaluation.readings import Reading, differing, reading_of
from assay.evaluation.recommendations import Drop, RunEvidence, recommend
from assay.evaluation.reporting.content import Breakdown, Changed, Part, QueryMover, Report, SummaryLine
from assay.evaluation.reporting.sections import (
    NOBODY,
    ReportedJudge,
    judges_of,
    line_of,
    lines_of,
    queries_of,
    rulings_of,
    sentence_of,
    status_of,
)
from assay.evaluation.results import RunResult, latency_json, rate_json
from assay.evaluation.running.files import manifest_json
from assay.evaluation.waterfall import Waterfall, waterfall
from assay.metrics.aggregate import UNLABELLED, Aggregate
from assay.private_files import make_private_folder, open_new_private
from assay.records.evaluations import CaseStatus

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assay.evaluation.lookup import Lookup, Named
    from assay.metrics.spec import MetricSpec
    from assay.records.datasets import Dataset

# --- The files of a report ---
#
# Each is written under a passing name first; only when every one is on the disk do they take their places. A disk that
# refuses is named with its file.

DEFAULT_FOLDER = Path("reports")
METRICS = "metrics.json"
CONFIG = "config.json"


def choose_name(folder: Path, date: str, run_id: str) -> str:
    """Return what a report of a day is called, without its ending.

    The report of another run of that day stays: the next gets a number. A report of the same run is replaced.
    """
    first = f"rag-eval-{date}"
    names = chain([first], (f"{first}-{number}" for number in count(2)))
    return next(name for name in names if not _is_of_another_run(folder / f"{name}.md", run_id))


def _is_of_another_run(file: Path, run_id: str) -> bool:
    try:
        # Markdown has backslashes before the underscores of an id.
        return run_id not in file.read_text(encoding="utf-8").replace("\\", "")
    except (OSError, UnicodeDecodeError):
        # There is none, or writing it will say what is wrong with its place.
        return False


def as_text(value: Mapping[str, Any]) -> str:
    """A value as a JSON file."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_all(contents: Mapping[Path, str]) -> None:
    """Write every file, or leave everything as it was."""
    with ExitStack() as passing:
        staged = [(passing.enter_context(_stage_file(path, text)), path) for path, text in contents.items()]
        for beside, path in staged:
            with _naming(path):
                beside.replace(path)


@contextmanager
def _stage_file(path: Path, text: str) -> Iterator[Path]:
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with _naming(path):
            make_private_folder(path.parent)
            with open_new_private(beside) as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        yield beside
    finally:
        with suppress(OSError):
            beside.unlink()


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise ReportFailed(
            f"cannot write {path}: {problem.strerror or problem}",
            remedy="Make room there or give another folder with --output. The report that was there is untouched.",
        ) from problem


def metrics_json(
    run: RunResult, verdict: Verdict, lines: Sequence[SummaryLine], water: Waterfall | None
) -> dict[str, Any]:
    """`metrics.json`: every number, for machines."""
    return {
        "run_id": run.run_id,
        "run": run.name,
        "dataset": run.manifest.dataset,
        "dataset_version": run.manifest.dataset_version,
        "relevance_level": run.manifest.instrument.get("relevance_level"),
        "verdict": verdict.as_json(),
        "summary": [_line_json(line) for line in lines],
        "metrics": {str(spec): aggregate.as_json() for spec, aggregate in run.aggregates.items()},
        "run_metrics": {str(spec): outcome.value for spec, outcome in run.run_metrics.items()},
        "latency": {stage: latency_json(latency) for stage, latency in run.latency.items()},
        "rates": {name: rate_json(rate) for name, rate in run.rates.items()},
        "counts": {status.value: count for status, count in run.counts.items()},
        "caveats": [caveat.as_json() for caveat in run.caveats],
        "waterfall": None if water is None else _waterfall_json(water),
        **_reliability_json(judges_of(run.manifest)),
        "result_hash": run.result_hash,
    }


def _reliability_json(judges: Sequence[ReportedJudge]) -> dict[str, Any]:
    """By what was judged, how far its judge can be trusted; without a judge null, and why."""
    return {
        "judge_reliability": {judge.about: judge.reliability() for judge in judges} or None,
        "judge_reliability_reason": None if judges else NOBODY,
    }


def _line_json(line: SummaryLine) -> dict[str, Any]:
    return {
        "metric": line.metric,
        "value": line.value,
        "interval": [line.low, line.high],
        "baseline": line.baseline,
        "paired_value": line.paired,
        "pairs": line.pairs,
        "change": line.change,
        "change_beyond_chance": line.certain if line.change is not None else None,
        "required": line.floor,
        "unit": line.unit,
        "counted": line.scored,
        "status": line.status.value,
    }


def _waterfall_json(water: Waterfall) -> dict[str, Any]:
    return {
        "k": water.k,
        "gold": len(water.fates),
        "missed": len(water.missed),
        "untried": water.untried,
        "passed": {step.value: water.count_reached(step) for step in water.steps},
        "not_known": {step.value: water.doubtful(step) for step in water.steps},
        "lost": {stage.value: count for stage, count in water.lost.items()},
    }


def config_json(run: RunResult, baseline: Reading | None) -> dict[str, Any]:
    """`config.json`: what was run with what, and what it was held against."""
    against = None
    if baseline is not None:
        against = {"name": baseline.name, "run_id": baseline.run_id, "subject": dict(baseline.subject)}
    return {
        **manifest_json(run.manifest),
        "instrument_hash": run.manifest.instrument_hash,
        "subject_hash": run.manifest.subject_hash,
        "judges": [judge.as_config() for judge in judges_of(run.manifest)],
        "baseline": against,
    }


# --- From a run to the content of its report ---

MOST_PARTS = 20
"""Values of one label that are shown; those with most queries."""
SHOWN_METRICS = 4
"""Metrics beside each part."""
MOST_MOVERS = 20
RANKINGS = ("recall", "precision", "ndcg", "success", "recall_any")
"""Metrics whose cutoff is taken as the depth that a reader looks at."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Around:
    """What a run is looked at with; all of it may be missing."""

    dataset: Dataset | None = None
    no_dataset: str = "The dataset was not found, so the expected results are not known."
    """Why there is none."""
    baseline: Reading | None = None
    options: GateOptions = field(default_factory=GateOptions)
    k: int | None = None
    """How far down a reader looks; None: the cutoff of the first metric that has one."""
    title: str = ""


def gather(run: RunResult, surroundings: Around | None = None) -> Report:
    """Return the report of a run. Raises `NotComparable` for a baseline of another instrument."""
    surroundings = surroundings or Around()
    reading = reading_of(run, _texts(surroundings.dataset))
    baseline = surroundings.baseline
    verdict, compared = _judge(reading, baseline, surroundings.options)
    k = surroundings.k or reader_depth(run)
    water = None if surroundings.dataset is None else waterfall(surroundings.dataset, run.cases, k=k)
    lines = lines_of(run, verdict, compared, {**FAILURE_CEILINGS, **run.floors, **surroundings.options.floors})
    return Report(
        title=surroundings.title or f"Retrieval on {run.manifest.dataset}: {run.name}",
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
        times=tuple(case.total_ms for case in run.cases if case.status is CaseStatus.OK and case.total_ms is not None),
        waterfall=water,
        no_waterfall="" if water else surroundings.no_dataset,
        moved_by="" if compared is None else leading(list(compared.metrics)),
        movers=_movers(compared),
        queries=queries_of(run, surroundings.dataset, water, baseline),
        recommendations=recommend(_evidence(run, surroundings, water, compared)),
        measured_with=_describe_measurement(run),
        caveats=run.caveats if compared is None else compared.caveats,
        metrics_json=metrics_json(run, verdict, lines, water),
        config_json=config_json(run, baseline),
    )


def reader_depth(run: RunResult) -> int:
    """How far down a reader looks: the cutoff of the first metric that has one, else the depth of the run."""
    cutoffs = (spec.cutoff for spec in run.aggregates if spec.name in RANKINGS and spec.cutoff)
    return next(cutoffs, run.manifest.k)


class _Judged(NamedTuple):
    verdict: Verdict
    compared: Compared | None


def _judge(reading: Reading, baseline: Reading | None, options: GateOptions) -> _Judged:
    """Return the gate's verdict. A run in which nothing could be scored still gets a report that shows why."""
    try:
        question = ask(reading, baseline, options)
    except NothingMeasured as problem:
        return _Judged(
            verdict_of_error(problem, run=reading.name, baseline=None if baseline is None else baseline.name), None
        )
    return _Judged(answer(question), question.compared)


def _texts(dataset: Dataset | None) -> dict[str, str]:
    return {} if dataset is None else {case.id: case.query for case in dataset.cases}


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
    return {difference.field: difference.after for difference in differing({}, subject) if difference.after != {}}


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
    counted = [(name, max((metric.cases for metric in metrics), default=0), metrics) for name, metrics in found]
    most = sorted(counted, key=lambda item: -item[1])[:MOST_PARTS]
    return Breakdown(
        label=label,
        parts=tuple(Part(name=name, cases=cases, lines=tuple(map(line_of, ones))) for name, cases, ones in most),
        left_out=len(counted) - len(most),
    )


def _movers(compared: Compared | None) -> tuple[QueryMover, ...]:
    """The largest changes of the leading metric, losses before gains."""
    if compared is None:
        return ()
    found = movers(compared.control, compared.treatment, leading(list(compared.metrics)), MOST_MOVERS)
    ordered = sorted(found, key=lambda item: (not is_loss(item), -abs(item.after - item.before)))
    return tuple(
        QueryMover(
            query_id=query.case,
            text=query.query,
            metric=query.metric,
            before=query.before,
            now=query.after,
            loss=is_loss(query),
        )
        for query in ordered
    )


def _evidence(run: RunResult, surroundings: Around, water: Waterfall | None, compared: Compared | None) -> RunEvidence:
    lead = next(iter(run.aggregates), None)
    change = None if compared is None or lead is None else compared.metrics.get(str(lead))
    # Where a difference was seen, the set was large enough to see it.
    unseen = None if change is None or change.comparison.verdict in ("better", "worse") else change.comparison
    judged, shown = (
        (0, 0) if water is None or surroundings.dataset is None else _count_judged(run, surroundings.dataset, water.k)
    )
    floors = {**run.floors, **surroundings.options.floors}
    return RunEvidence(
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


def _count_judged(run: RunResult, dataset: Dataset, k: int) -> tuple[int, int]:
    """How many results within k anybody judged, and how many there are."""
    labels = {case.id: case.labels for case in dataset.cases if case.anchors is None}
    shown = [
        (labels[case.case_id], name)
        for case in run.cases
        if case.repeat == 0 and case.retrieved is not None and case.case_id in labels
        for name in case.retrieved.ids[:k]
    ]
    return sum(name in known for known, name in shown), len(shown)


def _drops(compared: Compared | None) -> list[Drop]:
    """The metric that fell by the largest share; the others mostly fell on the same queries."""
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
        mover
        for mover in movers(compared.control, compared.treatment, name, len(compared.control.cases))
        if is_loss(mover)
    ]
    return [Drop(metric=name, before=before, now=after, losers=tuple(mover.case for mover in lost))]


def _judge_facts(run: RunResult) -> list[tuple[str, str]]:
    return [fact for judge in judges_of(run.manifest) for fact in judge.facts()]


def _describe_measurement(run: RunResult) -> tuple[tuple[str, str], ...]:
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


# --- The dataset, baseline and floors a run is read with ---
#
# A run keeps no texts and no gold. A dataset that has changed since tells of other queries than those that were asked:
# then the report says so and shows ids.


def look_around(
    run: RunResult,
    place: Lookup,
    *,
    dataset: str | None = None,
    baseline: Named | None = None,
    floors: Mapping[str, float] | None = None,
    k: int | None = None,
) -> Around:
    """Look up what there is. A dataset that is named must be there; one that is not named may be missing."""
    name = run.manifest.dataset
    found = place.dataset(name) if dataset is None else load_dataset(dataset, registry=place.registry)
    fitting = None if found is None else match_dataset(run, found)
    return Around(
        dataset=fitting,
        no_dataset="" if fitting else _why(name, found),
        baseline=None if baseline is None else place.baseline(baseline),
        options=GateOptions(floors=dict(floors or {})),
        k=k,
    )


def match_around(run: RunResult, dataset: Dataset) -> Around:
    """Only a dataset to look at a run with, if it is the one that the run was measured on."""
    fitting = match_dataset(run, dataset)
    return Around(dataset=fitting, no_dataset="" if fitting else _why(run.manifest.dataset, dataset))


def default_baseline() -> str | None:
    """The blessed file of the working folder, if there is one."""
    return FILE_NAME if Path(FILE_NAME).is_file() else None


def match_dataset(run: RunResult, dataset: Dataset) -> Dataset | None:
    """The dataset as the run saw it, less what was excluded from scoring; None: it is another one by now."""
    instrument = run.manifest.instrument
    excluded = {*instrument.get("excluded_unresolved", ()), *instrument.get("excluded_unlabelled", ())}
    kept = tuple(case for case in dataset.cases if case.id not in excluded)
    scored = replace(dataset, cases=kept) if excluded else dataset
    return scored if scored.content_hash == run.manifest.instrument.get("dataset") else None


def _why(name: str, found: Dataset | None) -> str:
    if found is None:
        return f"The dataset {name} was not found, so the expected results are not known. Give it with --dataset."
    return (
        f"The dataset {found.name} is not the one the run was measured on (its content hash differs), so what was "
        "expected is not known. Give the one it was with --dataset."
    )
