"""Measure run files against judgments: what `assay measure` does, without a store.

Every run is measured alone, then each later one is compared with the first, query by query. What is on one side
only, is given twice or cannot be used is listed beside the numbers. Where nothing could be measured there are no
numbers at all: an empty run, topics or documents that match nothing are `NothingMeasured`, never 0.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assay.errors import AssayError, ClusterFailed, NothingMeasured, NotReady
from assay.evaluation.caveats import extra_specs, ranking_caveats, tie_caveat, withhold
from assay.evaluation.comparison import MetricChange, describe_change, metric_changes, rules_for
from assay.formats.trec import example_document, load_run, read_qrels, stream_run
from assay.hashing import HASH_PREFIX
from assay.metrics.aggregate import Aggregate, Instrument, aggregate, metric_values
from assay.metrics.catalog import Better
from assay.metrics.engine import MeasuredRun, ScatteredTopics, ScoringRules, measure_batches
from assay.metrics.spec import MetricSpec
from assay.records.evaluations import Outcome, OutcomeKind
from assay.records.rankings import QrelTable
from assay.records.run_results import Caveat, CaveatKind, ComparedFile, FileMeasurement, MeasuredFile
from assay.statistics import Comparison, Pairs
from assay.work.jobs import Executor, Job, LocalExecutor


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasureRequest:
    """What to measure."""

    qrels: Path
    runs: tuple[Path, ...]
    specs: tuple[MetricSpec, ...]
    rules: ScoringRules = field(default_factory=ScoringRules)
    seed: int = 0
    """Of the resamples and sign flips of a comparison."""


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class FileReading:
    """One run with every requested metric, and the share of judged results beside each."""

    name: str
    path: Path
    measured: MeasuredRun
    aggregates: Mapping[MetricSpec, Aggregate]

    def result(self, specs: Sequence[MetricSpec]) -> MeasuredFile:
        """Return the run as every surface shows it, with each query's value under these metrics."""
        queries = {str(spec): dict(zip(self.measured.topics, self._outcomes(spec), strict=True)) for spec in specs}
        return MeasuredFile(
            name=self.name,
            path=str(self.path),
            metrics=metric_values(self.aggregates),
            queries_without_results=tuple(self.measured.absent),
            queries_without_judgments=tuple(self.measured.unknown),
            repeated_results=self.measured.repeats,
            per_query=queries or None,
        )

    def _outcomes(self, spec: MetricSpec) -> Iterator[Outcome]:
        scores = self.measured.scores[spec]
        return (scores.outcome(place) for place in range(len(self.measured.topics)))


@dataclass(frozen=True, kw_only=True, slots=True)
class RunComparison:
    """A run against the first one."""

    control: str
    treatment: str
    changes: Mapping[MetricSpec, MetricChange]

    @property
    def metrics(self) -> dict[MetricSpec, Comparison]:
        """The test result of each metric."""
        return {spec: change.comparison for spec, change in self.changes.items()}

    def result(self) -> ComparedFile:
        """Return the comparison as every surface shows it."""
        changes = {str(spec): describe_change(change) for spec, change in self.changes.items()}
        return ComparedFile(control=self.control, treatment=self.treatment, metrics=changes)


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Measurement:
    """Everything one request gave."""

    request: MeasureRequest
    instrument: Instrument
    topics: tuple[str, ...]
    judgments: int
    runs: tuple[FileReading, ...]
    comparisons: tuple[RunComparison, ...]
    caveats: tuple[Caveat, ...]
    """What a reader must know beside the numbers."""

    @property
    def notes(self) -> tuple[str, ...]:
        """The caveats in sentences."""
        return tuple(caveat.sentence for caveat in self.caveats)

    def result(self, *, per_query: bool = False) -> FileMeasurement:
        """Return everything as every surface shows it, with `per_query` the value of every query too."""
        rules = self.request.rules
        return FileMeasurement(
            qrels=str(self.request.qrels),
            queries=len(self.topics),
            judgments=self.judgments,
            relevance_level=rules.level,
            depth=rules.depth,
            absent=rules.absent,
            dataset=self.instrument.dataset,
            runs=tuple(run.result(self.request.specs if per_query else ()) for run in self.runs),
            comparisons=tuple(comparison.result() for comparison in self.comparisons),
            caveats=self.caveats,
        )


def measure_files(request: MeasureRequest, executor: Executor | None = None) -> Measurement:
    """Measure and compare the runs; with an executor, its workers measure one file each."""
    qrels = read_qrels(request.qrels)
    if not qrels.keys.size:
        raise NothingMeasured(f"{request.qrels} holds no judgments", remedy="Give a qrels file with at least one line.")
    rules = request.rules
    instrument = Instrument(
        relevance_level=rules.level, depth=rules.depth, absent=rules.absent, dataset=dataset_hash(qrels)
    )
    measuring = FileMeasuring(request, qrels, instrument)
    runs = tuple(_measure_all(measuring, executor or LocalExecutor()))
    return Measurement(
        request=request,
        instrument=instrument,
        topics=qrels.topics,
        judgments=len(qrels.keys),
        runs=runs,
        comparisons=_comparisons(request, runs),
        caveats=tuple(_find_caveats(request, qrels, runs)),
    )


class FileTask(NamedTuple):
    """One run file to measure."""

    number: int
    name: str
    path: Path


class MeasuredTask(NamedTuple):
    """What became of it: an error is a result too, since no other worker would read the file otherwise."""

    number: int
    found: FileReading | AssayError


class FileMeasuring:
    """Measures run files against judgments that were read once."""

    def __init__(self, request: MeasureRequest, qrels: QrelTable, instrument: Instrument) -> None:
        self.request = request
        self.instrument = instrument
        self._qrels = qrels

    def perform(self, task: FileTask) -> MeasuredTask:
        """Measure one file."""
        try:
            found = _measure_run(self.request, self._qrels, self.instrument, task.name, task.path)
        except AssayError as problem:
            return MeasuredTask(task.number, problem)
        return MeasuredTask(task.number, found)

    def close(self) -> None:
        """Nothing to give back."""


@dataclass(frozen=True, kw_only=True)
class RemoteMeasuring:
    """What a worker needs to measure: the judgments are read by each, and must be the same."""

    request: MeasureRequest
    instrument: Instrument

    def open(self) -> FileMeasuring:
        """Read the judgments, and refuse others than the caller's."""
        qrels = read_qrels(self.request.qrels)
        if dataset_hash(qrels) != self.instrument.dataset:
            raise NotReady(
                f"{self.request.qrels} holds other judgments on this worker", remedy="Share the folder, or copy it."
            )
        return FileMeasuring(self.request, qrels, self.instrument)


def _measure_all(measuring: FileMeasuring, executor: Executor) -> list[FileReading]:
    """Measure every run file; of several that cannot be measured, the first is told."""
    request = measuring.request
    here = isinstance(executor, LocalExecutor)
    # Workers may stand in another folder.
    sent = replace(request, qrels=request.qrels.absolute())
    files = [
        FileTask(number, name, path if here else path.absolute())
        for number, (name, path) in enumerate(zip(_names(request.runs), request.runs, strict=True))
    ]
    job = Job(
        perform=measuring.perform,
        lost=lambda task, why: MeasuredTask(
            task.number, ClusterFailed(f"{task.path} was not measured: {why}", remedy="Measure it without workers.")
        ),
        remote=lambda: RemoteMeasuring(request=sent, instrument=measuring.instrument),
        what="run files",
    )
    found: dict[int, FileReading | AssayError] = {}
    with closing(executor.run(iter(files), job)) as results:
        for number, outcome in results:
            found[number] = outcome
            if here and isinstance(outcome, AssayError):
                break  # in order, so that no later file is read in vain
    readings = []
    for number in sorted(found):
        outcome = found[number]
        if isinstance(outcome, AssayError):
            raise outcome
        readings.append(replace(outcome, path=request.runs[number]))
    return readings


def dataset_hash(qrels: QrelTable) -> str:
    """Hash of the judgments, independent of the order of their lines."""
    topics = np.array(
        [int.from_bytes(hashlib.sha256(topic.encode()).digest()[:8], "big") for topic in qrels.topics], "u8"
    )
    mixed = qrels.keys ^ (np.repeat(topics, qrels.lengths) * np.uint64(0x9E37_79B9_7F4A_7C15))
    mixed = (mixed + qrels.grades.astype(np.uint64)) * np.uint64(0xD6E8_FEB8_6659_FD93)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0x9E37_79B9_7F4A_7C15)
    sums = (len(topics), len(mixed), int(mixed.sum()), int((mixed >> np.uint64(32)).sum()))
    return HASH_PREFIX + hashlib.sha256(repr(sums).encode()).hexdigest()


def with_judged(specs: Sequence[MetricSpec]) -> tuple[MetricSpec, ...]:
    """The specs, and `judged` at each of their cutoffs: the share of considered results with a judgment."""
    cutoffs = {spec.cutoff for spec in specs}
    ordered = sorted((cutoff for cutoff in cutoffs if cutoff is not None), key=int)
    judged = [MetricSpec(name="judged", cutoff=cutoff) for cutoff in [*ordered, *([None] if None in cutoffs else [])]]
    return tuple(dict.fromkeys([*specs, *judged]))


def _measure_run(
    request: MeasureRequest, qrels: QrelTable, instrument: Instrument, name: str, path: Path
) -> FileReading:
    specs = with_judged(request.specs)
    wanted = tuple(dict.fromkeys([*specs, *extra_specs(request.specs)]))
    try:
        measured = measure_batches(qrels, stream_run(path), wanted, request.rules)
    except ScatteredTopics:
        measured = measure_batches(qrels, load_run(path), wanted, request.rules)
    _refuse_nothing(request, path, measured)
    aggregates = {spec: aggregate(measured.scores[spec], instrument) for spec in specs}
    if not any(aggregates[spec].scored for spec in request.specs):
        raise NothingMeasured(
            f"{path}: no query could be scored; none has a document of grade {request.rules.level} or more",
            remedy="Check the relevance level and the grades of the qrels.",
        )
    return FileReading(name=name, path=path, measured=measured, aggregates=aggregates)


def _refuse_nothing(request: MeasureRequest, path: Path, measured: MeasuredRun) -> None:
    if not measured.retrieved.any() and not measured.unknown:
        raise NothingMeasured(f"{path} holds no results", remedy="Give a run file with at least one line.")
    if not measured.retrieved.any():
        raise NothingMeasured(
            f"no query of {path} is a query of {request.qrels}",
            remedy=f"The run has {measured.unknown[0]!r}, the qrels have {measured.topics[0]!r}: compare their ids.",
        )
    if not measured.judged_results:
        example = next(iter(stream_run(path))).ids(0)[0].decode()
        raise NothingMeasured(
            f"no document of {path} is judged in {request.qrels} for its query",
            remedy=f"The run has {example!r}, the qrels have {example_document(request.qrels)!r}: compare their ids.",
        )


def _names(paths: Sequence[Path]) -> list[str]:
    """File names without their endings, or whole paths where those would be the same."""
    short = [path.name.removesuffix(".gz").rsplit(".", 1)[0] or path.name for path in paths]
    names = [name if short.count(name) == 1 else str(path) for name, path in zip(short, paths, strict=True)]
    return [f"{name}#{place}" if names.count(name) > 1 else name for place, name in enumerate(names, start=1)]


def _comparisons(request: MeasureRequest, runs: Sequence[FileReading]) -> tuple[RunComparison, ...]:
    rng = np.random.default_rng(request.seed)
    return tuple(
        RunComparison(control=runs[0].name, treatment=run.name, changes=_compare(request, runs[0], run, rng))
        for run in runs[1:]
    )


def _compare(
    request: MeasureRequest, control: FileReading, treatment: FileReading, rng: np.random.Generator
) -> dict[MetricSpec, MetricChange]:
    """Query by query, where both have a value; Holm-adjusted over the requested metrics."""
    pairs = {str(spec): _pairs(spec, control.measured, treatment.measured) for spec in request.specs}
    changes = metric_changes(pairs, rng=rng, rules=rules_for(len(control.measured.topics)))
    before, after = (ranking_caveats(side.measured, request.specs) for side in (control, treatment))
    return {
        spec: replace(change, comparison=withhold(change.comparison, before, after, str(spec)))
        for spec, change in ((spec, changes[str(spec)]) for spec in request.specs)
    }


def _pairs(spec: MetricSpec, control: MeasuredRun, treatment: MeasuredRun) -> Pairs:
    before, after = control.scores[spec], treatment.scores[spec]
    both = before.scored & after.scored
    return Pairs(
        control=before.values[both],
        treatment=after.values[both],
        higher_is_better=spec.entry.better is not Better.LOWER,
        over=both.tobytes(),
    )


def _find_caveats(request: MeasureRequest, qrels: QrelTable, runs: Sequence[FileReading]) -> Iterator[Caveat]:
    if qrels.negative:
        sentence = f"Judgments with a negative grade: {qrels.negative:,}. They count as unjudged, as in trec_eval."
        yield Caveat(kind=CaveatKind.LABELS, sentence=sentence, count=qrels.negative)
    if qrels.repeated:
        sentence = f"Judgments given twice with the same grade: {qrels.repeated:,}. They count once."
        yield Caveat(kind=CaveatKind.REPEATS, sentence=sentence, count=qrels.repeated)
    for run in runs:
        for caveat in (
            *_run_caveats(run),
            *ranking_caveats(run.measured, request.specs),
            *_tie_caveats(run),
        ):
            yield replace(caveat, sentence=f"{run.name}: {caveat.sentence}")


def _run_caveats(run: FileReading) -> Iterator[Caveat]:
    measured = run.measured
    fate = "left out of the means" if _skips_absent(run) else "counted as empty rankings"
    vacuous = max(
        (
            aggregate.others[OutcomeKind.NOT_APPLICABLE]
            for spec, aggregate in run.aggregates.items()
            if spec.name != "judged"
        ),
        default=0,
    )
    counts = (
        (CaveatKind.SKIPPED_CASES, len(measured.absent), f"judged queries without results, {fate}", measured.absent),
        (
            CaveatKind.LABELS,
            len(measured.unknown),
            "queries with results and without judgments, left out",
            measured.unknown,
        ),
        (
            CaveatKind.REPEATS,
            measured.repeats,
            "results that repeat a document of their query; the better rank counts",
            (),
        ),
        (CaveatKind.NOT_APPLICABLE, vacuous, "queries with nothing relevant to find, not applicable", ()),
    )
    for kind, count, what, ids in counts:
        if count:
            yield Caveat(kind=kind, sentence=f"{count:,} {what}{_some(ids)}.", count=count)


def _tie_caveats(run: FileReading) -> Iterator[Caveat]:
    if run.measured.tied:
        yield tie_caveat(run.measured.tied, len(run.measured.topics), rule="larger ids first, as in trec_eval")


def _skips_absent(run: FileReading) -> bool:
    return any(aggregate.others[OutcomeKind.SKIPPED] for aggregate in run.aggregates.values())


def _some(ids: Sequence[str], most: int = 10) -> str:
    if not ids:
        return ""
    more = f" and {len(ids) - most:,} more" if len(ids) > most else ""
    return f": {', '.join(ids[:most])}{more}"
