"""`assay demo`: the main job from nothing: two configurations over a dataset, compared, gated, with a report."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from assay import wiring
from assay.cli.colours import colour_verdicts
from assay.cli.progress import Show, count_cases, show_progress
from assay.cli.surface import Surface, command
from assay.clock import SystemClock
from assay.errors import InputError
from assay.evaluation.comparison import Compared, MetricChange, compare_two
from assay.evaluation.datasets import load_dataset
from assay.evaluation.gating import Status, Verdict, judge
from assay.evaluation.readings import reading_of
from assay.evaluation.reporting import Around, Report, gather, write_report
from assay.evaluation.reporting.wording import losses
from assay.evaluation.results import RunResult
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running, run, sentence
from assay.extras import need_extra
from assay.formats.grid import grid
from assay.records.datasets import Dataset

DEFAULT_FOLDER = Path("build/demo")
DATASET = "hotel"
SYSTEMS = {"default": "assay", "fts-only": "assay:channels=fts5"}
"""The configuration as it is, and one that is worse on purpose: full text alone, without meaning."""
SHOWN = ("recall@5", "precision@5", "mrr", "ndcg@5")
TOLD = ("floor", "relative")
"""Rules whose first failure is printed; the report has them all."""
RUNS = "runs"
REPORT = "report"
_MADE = (RUNS, f"{REPORT}.html", f"{REPORT}.md", "metrics.json", "config.json")


@dataclass(frozen=True, kw_only=True)
class _Story:
    """What the demo found."""

    dataset: Dataset
    ingest_s: float
    taken_in: int
    runs: Mapping[str, RunResult]
    compared: Compared
    verdicts: Mapping[str, Verdict]
    report: Report
    files: tuple[Path, ...]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "demo")
    def demo(
        surface: Surface,
        folder: Annotated[
            Path, typer.Option(help="Where the demo keeps its files, made anew each time.")
        ] = DEFAULT_FOLDER,
    ) -> None:
        """Evaluate two configurations on the hotel dataset: compare, gate, explain, and write a report."""
        need_extra("memory")
        _clear(folder)
        story = _tell_the_story(surface, folder)
        surface.result(_as_json(story), colour_verdicts("\n".join(_lines(story))))


def _clear(folder: Path) -> None:
    """Remove what an earlier demo left. Anybody else's folder is left alone."""
    if not folder.exists():
        return
    if not folder.is_dir() or any(entry.name not in _MADE for entry in folder.iterdir()):
        raise InputError(
            f"{folder} holds something that no demo made", remedy="Name an empty or new folder with --folder."
        )
    shutil.rmtree(folder)


def _tell_the_story(surface: Surface, folder: Path) -> _Story:
    dataset = load_dataset(DATASET)
    surface.note(f"Taking in {len(dataset.documents)} documents and asking {len(dataset.cases)} queries twice ...\n")
    with show_progress(surface, "documents") as show:
        taken_in, seconds = _ingest(dataset, show)
        runs = {name: _run(dataset, name, folder / RUNS, show) for name in SYSTEMS}
    texts = {case.id: case.query for case in dataset.cases}
    good, bad = (reading_of(run, texts) for run in runs.values())
    report = gather(runs["fts-only"], Around(dataset=dataset, baseline=good))
    return _Story(
        dataset=dataset,
        ingest_s=seconds,
        taken_in=taken_in,
        runs=runs,
        compared=compare_two(good, bad),
        verdicts={"default": judge(good, None), "fts-only": judge(bad, good)},
        report=report,
        files=write_report(report, folder, name=REPORT, html=True),
    )


def _ingest(dataset: Dataset, show: Show | None) -> tuple[int, float]:
    """Take the documents in before anything is timed; how many were not there yet, and the seconds it took."""
    taken_in = 0

    def count(done: int, of: int) -> None:
        nonlocal taken_in
        taken_in = done
        if show is not None:
            show(done, of, "documents")

    clock = SystemClock()
    begun = clock.monotonic()
    wiring.open_system(SYSTEMS["default"], dataset, on_document=count).close()
    return taken_in, clock.monotonic() - begun


def _run(dataset: Dataset, name: str, runs: Path, show: Show | None) -> RunResult:
    spec = SYSTEMS[name]
    with closing(wiring.open_system(spec, dataset)) as system:
        running = Running(runs=runs, on_case=count_cases(show, f"{name}: queries"))
        return run(dataset, system, RunOptions(name=name, spec=spec), running)


def _lines(story: _Story) -> Iterator[str]:
    dataset, water = story.dataset, story.report.waterfall
    sizes = f"{len(dataset.documents)} documents, {len(dataset.cases)} queries"
    yield f"Assay demo: {dataset.name} ({sizes})   {_describe_ingest(story)}"
    yield from grid(list(_table(story)), indent=" ")
    yield f" {_counts(story)}"
    yield ""
    for name, verdict in story.verdicts.items():
        yield from _gate(name, verdict)
    if water is not None:
        yield f"Where fts-only lost {len(water.missed)} of {len(water.fates)} gold documents:  {losses(water)}"
    yield f"Report: {story.files[0]}"
    yield f"Next: assay report fts-only --runs {story.files[0].parent / RUNS} --why q001, and `assay help`"


def _describe_ingest(story: _Story) -> str:
    chunks = story.runs["default"].manifest.subject["chunks"]
    done = f"{story.ingest_s:.1f} s ingest" if story.taken_in else "taken in by an earlier run"
    return f"{done}, {chunks} chunks"


def _table(story: _Story) -> Iterator[tuple[str, ...]]:
    yield "", *story.runs, "difference (95 % interval)"
    for name in SHOWN:
        change = story.compared.metrics[name]
        yield name, _two(change.before), _two(change.after), _difference(change)
    yield "latency p95", *(_ms(run.value("p95")) for run in story.runs.values()), ""


def _two(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f} ms"


def _difference(change: MetricChange) -> str:
    seen = change.comparison
    if seen.delta is None:
        return "-"
    limits = "" if seen.interval is None else f" [{_two(seen.interval.low)}, {_two(seen.interval.high)}]"
    return f"{seen.delta:+.2f}{limits}  {seen.verdict.replace('_', ' ')}"


def _counts(story: _Story) -> str:
    runs = list(story.runs.values())
    lead = next(iter(runs[0].aggregates))
    ended = "; ".join(
        f"{name}: " + ", ".join(f"{count} {status}" for status, count in run.counts.items() if count)
        for name, run in story.runs.items()
    )
    return f"{ended}. {sentence(runs, lead)}"


def _gate(name: str, verdict: Verdict) -> Iterator[str]:
    head = f"Gate, {name}:".ljust(16) + verdict.status.value.upper().ljust(7)
    bad = verdict.of(Status.FAIL) or verdict.of(Status.INCONCLUSIVE)
    first = {ruling.rule: ruling.sentence for ruling in reversed(bad) if ruling.rule in TOLD}
    told = list(reversed(first.values())) or [f"all {len(verdict.of(Status.PASS))} rules hold"]
    told += [f"and {len(bad) - len(first)} more" for _ in range(len(bad) > len(first))]
    yield from (f"{head if place == 0 else ' ' * len(head)}{sentence}" for place, sentence in enumerate(told))


def _as_json(story: _Story) -> dict[str, object]:
    return {
        "dataset": story.dataset.name,
        "documents": len(story.dataset.documents),
        "queries": len(story.dataset.cases),
        "ingested": story.taken_in,
        "ingest_seconds": story.ingest_s,
        "runs": {name: run.run_id for name, run in story.runs.items()},
        "comparison": story.compared.as_json(),
        "gates": {name: verdict.as_json() for name, verdict in story.verdicts.items()},
        "waterfall": story.report.metrics_json["waterfall"],
        "files": [str(path) for path in story.files],
    }
