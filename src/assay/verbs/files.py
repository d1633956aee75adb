"""Verbs on files of this machine, which a caller names by their paths: Python and command line only.

No server and no agent may have a file opened by naming its path, so these verbs have no route and no tool.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from assay.access import acts
from assay.clock import SystemClock
from assay.errors import InputError, UnknownSystem
from assay.records.access import FileKind
from assay.records.datasets import AgreementReport, AppliedLabels
from assay.records.explanations import LostQueries, QueryExplanation
from assay.records.run_results import FileMeasurement, WrittenReport
from assay.verbs.fields import Whole, YesNo
from assay.verbs.verb import Caller, Family, Request, Verb

if TYPE_CHECKING:
    from assay.evaluation.labelling import LabelJournal
    from assay.evaluation.reporting import Report
    from assay.evaluation.results import RunResult
    from assay.evaluation.why.explaining import Opening
    from assay.records.datasets import Dataset
    from assay.systems.protocol import System

DEFAULT_METRICS = "ndcg@10,mrr@10,recall@100"
MOST_FILES = 100
MOST_CALLS = 200
Name = Annotated[str, Field(min_length=1, max_length=4_000)]
"""A name or a path."""


class MeasureFilesRequest(Request):
    """Which run files to measure, and how."""

    qrels: Annotated[Path, Field(description="Judgments: TREC qrels or BEIR qrels.tsv.")]
    runs: Annotated[
        tuple[Path, ...],
        Field(
            min_length=1,
            max_length=MOST_FILES,
            description=f"1 to {MOST_FILES} TREC runs, plain or .gz; the first is the control.",
        ),
    ]
    metrics: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=2_000)], ...],
        Field(min_length=1, max_length=100, description="Such as ndcg@10, mrr@10; see `assay metrics`."),
    ] = (DEFAULT_METRICS,)
    relevance_level: Annotated[Whole, Field(description="The lowest grade that is relevant, from 1.")] = 1
    depth: Annotated[Whole | None, Field(description="Use only the first N results of each query, from 1.")] = None
    absent: Annotated[
        str, Field(max_length=20, description="What a judged query without results counts as: empty or skip.")
    ] = "empty"
    per_query: Annotated[YesNo, Field(description="Also give every query's value.")] = False
    seed: Annotated[Whole, Field(ge=0, description="Of the resamples behind intervals and p-values, from 0.")] = 0


class ReportRequest(Request):
    """Which run to report on, what to compare it with, and where the files go."""

    run: Annotated[Name, Field(description="A run: its id, name or folder, or latest.")] = "latest"
    baseline: Annotated[
        Name | None, Field(description="A baseline file or a run to compare with; baseline.json if it is there.")
    ] = None
    no_baseline: Annotated[YesNo, Field(description="Compare with nothing.")] = False
    html: Annotated[YesNo, Field(description="Also write one HTML file with charts; opens offline.")] = False
    output: Annotated[Path, Field(description="Where the files go; replaced if they are there.")] = Path("reports")
    name: Annotated[
        str | None,
        Field(max_length=200, description="What the files are called, without an ending; rag-eval-DATE if left out."),
    ] = None
    k: Annotated[Whole | None, Field(ge=1, description="How far down a reader looks; as the metrics say.")] = None
    dataset: Annotated[Name | None, Field(description="What the run was measured on, if it has moved.")] = None
    runs: Annotated[Path | None, Field(description="Where runs are kept; else as the settings say.")] = None


class ExplainRunRequest(Request):
    """Which query of a run to explain, and whether its system may be asked again."""

    run: Annotated[Name, Field(description="A run: its id, name or folder, or latest.")] = "latest"
    query: Annotated[Name, Field(description="A query, by its id or words; `lost`: all that lost gold.")] = "lost"
    probe: Annotated[
        YesNo,
        Field(description="Ask the system again: deeper, with other words, with fewer. Runs its code or service."),
    ] = False
    calls: Annotated[
        Whole, Field(ge=1, le=MOST_CALLS, description=f"Calls for one query at most, 1 to {MOST_CALLS}.")
    ] = 20
    k: Annotated[Whole | None, Field(ge=1, description="How far down a reader looks; as the metrics say.")] = None
    dataset: Annotated[Name | None, Field(description="What the run was measured on, if it has moved.")] = None
    runs: Annotated[Path | None, Field(description="Where runs are kept; else as the settings say.")] = None


class LabelsRequest(Request):
    """Which labels."""

    dataset: Annotated[Name, Field(description="A dataset's name or folder, or a to_label.jsonl.")]
    labels: Annotated[Path | None, Field(description="The file of labels; beside the dataset if left out.")] = None


class ApplyLabelsRequest(LabelsRequest):
    """Which labels, and where the dataset with them goes."""

    to: Annotated[Path, Field(description="Where the dataset with the labels is written.")]


def measure(caller: Caller, request: MeasureFilesRequest) -> FileMeasurement:
    """Measure run files against judgments; raises `NothingMeasured` where a file and the judgments share nothing."""
    # All of this needs numpy, which a client of another machine's server does without.
    from assay.evaluation.measure import MeasureRequest as Asked  # noqa: PLC0415
    from assay.evaluation.measure import measure_files  # noqa: PLC0415
    from assay.metrics.engine import ScoringRules  # noqa: PLC0415
    from assay.metrics.spec import parse_specs  # noqa: PLC0415

    asked = Asked(
        qrels=request.qrels,
        runs=request.runs,
        specs=parse_specs(list(request.metrics)),
        rules=ScoringRules(level=request.relevance_level, depth=request.depth, absent=request.absent),
        seed=request.seed,
    )
    return measure_files(asked, caller.executor).result(per_query=request.per_query)


def gather_report(caller: Caller, request: ReportRequest) -> Report:
    """Gather everything that the report of a run says, without writing it."""
    from assay import wiring  # noqa: PLC0415 - numpy only when there is something to report
    from assay.evaluation.reporting import gather  # noqa: PLC0415 - the same
    from assay.evaluation.reporting.building import default_baseline, look_around  # noqa: PLC0415 - the same

    place = wiring.lookup_of(caller.settings, runs=request.runs)
    run = place.result(request.run)
    baseline = None if request.no_baseline else request.baseline or default_baseline()
    floors = caller.settings.floors
    return gather(run, look_around(run, place, dataset=request.dataset, baseline=baseline, floors=floors, k=request.k))


def write(caller: Caller, request: ReportRequest) -> WrittenReport:
    """Write the report of a run as Markdown, with its numbers as JSON beside it."""
    from assay import wiring  # noqa: PLC0415 - numpy only when there is something to report
    from assay.evaluation.reporting import write_report  # noqa: PLC0415 - the same
    from assay.evaluation.reporting.wording import losses  # noqa: PLC0415 - the same

    report = gather_report(caller, request)
    files = write_report(report, request.output, name=request.name, html=request.html)
    claimed = wiring.claim_files(caller.settings, FileKind.REPORT, files)
    water = report.waterfall
    lost = "" if water is None else f"Missed {len(water.missed):,} of {len(water.fates):,} gold items: {losses(water)}"
    return WrittenReport(
        status=report.status.value,
        verdict=report.verdict,
        run_id=report.run_id,
        lost=lost,
        files=tuple(map(str, files)),
        notes=(claimed,) if claimed else (),
    )


def explain(caller: Caller, request: ExplainRunRequest) -> QueryExplanation | LostQueries:
    """Explain one query of a run, or all that lost gold; raises `InputError` where the dataset is not at hand."""
    return explain_values(caller, request)


def explain_values(
    caller: Caller,
    request: ExplainRunRequest,
    *,
    run: RunResult | str | Path | None = None,
    dataset: Dataset | None = None,
    open_system: Opening | None = None,
) -> QueryExplanation | LostQueries:
    """Explain a run that the request names, or values that only a program can give instead."""
    from assay import wiring  # noqa: PLC0415 - numpy only when there is something to explain
    from assay.evaluation.reporting.building import look_around, match_around  # noqa: PLC0415 - the same
    from assay.evaluation.why.explaining import ProbeOptions, explain_run  # noqa: PLC0415 - the same

    place = wiring.lookup_of(caller.settings, runs=request.runs)
    found = place.result(request.run if run is None else run)
    around = look_around(found, place, dataset=request.dataset) if dataset is None else match_around(found, dataset)
    if around.dataset is None:
        raise InputError(around.no_dataset.rstrip("."), remedy="Name a path or a registered dataset with --dataset.")
    probe = ProbeOptions(
        open_system=open_system or partial(_open_again, found.manifest.system),
        calls=request.calls,
        announce=lambda calls: caller.progress(0, calls, "calls"),
    )
    return explain_run(found, around.dataset, request.query, k=request.k, probe=probe if request.probe else None)


@contextmanager
def _open_again(spec: str, dataset: Dataset) -> Iterator[System]:
    """Open the system of a run by its name."""
    from assay import wiring  # noqa: PLC0415 - as above

    try:
        system = wiring.open_system(spec, dataset)
    except UnknownSystem as problem:
        raise UnknownSystem(
            f"the system {spec!r} of the run cannot be opened again: {problem.message}",
            remedy=f"{problem.remedy} A program can give it: assay.why(..., probe=True, system=...).",
        ) from problem
    with closing(system):
        yield system


def agree(_: Caller, request: LabelsRequest) -> AgreementReport:
    """Say how far people agree; raises `NothingMeasured` where no pair was graded by two."""
    import numpy as np  # noqa: PLC0415 - only when there is something to compare

    from assay.evaluation.labelling import agreement, read_standing  # noqa: PLC0415 - the same

    return agreement(read_standing(_journal(request)), rng=np.random.default_rng(0))


def apply(caller: Caller, request: ApplyLabelsRequest) -> AppliedLabels:
    """Write the dataset with every label that is in force."""
    from assay import wiring  # noqa: PLC0415 - numpy only when there is something to apply
    from assay.evaluation.datasets import export_dataset, load_dataset  # noqa: PLC0415 - the same
    from assay.evaluation.labelling import apply_labels, read_standing, rewordings  # noqa: PLC0415 - the same

    path = Path(request.dataset)
    place = path.parent if path.is_file() and path.suffix == ".jsonl" else request.dataset
    dataset = load_dataset(place, registry=wiring.registry_of(caller.settings))
    journal = _journal(request)
    applied = apply_labels(dataset, read_standing(journal), rewordings(journal.labels()))
    cases = applied.dataset.cases
    export_dataset(applied.dataset, request.to, kind="anchored" if all(case.anchors for case in cases) else "golden")
    return AppliedLabels(
        path=str(request.to),
        cases=len(cases),
        grades=applied.grades,
        accepted=applied.accepted,
        rejected=applied.rejected,
        strangers=applied.strangers,
        reworded=applied.reworded,
    )


def _journal(request: LabelsRequest) -> LabelJournal:
    from assay.evaluation.labelling import LabelJournal, labels_beside  # noqa: PLC0415 - numpy, as above

    return LabelJournal(request.labels or labels_beside(request.dataset), clock=SystemClock())


MEASURE = Verb(
    name="file.measure",
    summary="Measure run files against judgments; compare two or more of them query by query.",
    act=acts.FILE_READ,
    request=MeasureFilesRequest,
    result=FileMeasurement,
    call=measure,
    command="measure",
    python="measure",
)

REPORT = Verb(
    name="file.report",
    summary="Write a run's report as Markdown, and as one HTML file to forward.",
    act=acts.FILE_WRITE,
    request=ReportRequest,
    result=WrittenReport,
    call=write,
    command="report",
    python="report",
)

WHY = Verb(
    name="file.why",
    summary="Explain why a query of a run lost its gold, or list all that did.",
    act=acts.FILE_READ,
    request=ExplainRunRequest,
    result=QueryExplanation | LostQueries,
    call=explain,
    command="report --why",
    python="why",
)

AGREEMENT = Verb(
    name="label.agreement",
    summary="Say how far people who labelled the same pairs agree, and where they do not.",
    act=acts.FILE_READ,
    request=LabelsRequest,
    result=AgreementReport,
    call=agree,
    command="label --agreement",
    python="Dataset.label_agreement",
)
APPLY = Verb(
    name="label.apply",
    summary="Write a dataset with the labels of people in it.",
    act=acts.FILE_WRITE,
    request=ApplyLabelsRequest,
    result=AppliedLabels,
    call=apply,
    command="label --apply",
    python="Dataset.apply_labels",
)

FAMILY = Family(name="files", verbs=(MEASURE, REPORT, WHY, AGREEMENT, APPLY))
