"""`assay baseline bless|show`: the run that later ones are held against, in a file that is reviewed like code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.runs import RunArgument, RunsOption, lookup
from assay.cli.surface import Surface, command
from assay.clock import SystemClock
from assay.evaluation.baselines import Baseline, baseline_json, load_baseline, write_baseline
from assay.evaluation.baselines import bless as bless_run
from assay.evaluation.comparison import number
from assay.evaluation.gating import GateOptions
from assay.formats.grid import grid

FileOption = Annotated[Path, typer.Option("--file", "-f", metavar="FILE", help="The baseline's file.")]
NoteOption = Annotated[str, typer.Option("--note", help="Why this run is blessed, for reviewers of the file.")]
DespiteOption = Annotated[
    str,
    typer.Option(
        "--despite", metavar="REASON", help="Bless a run that misses a floor, failed or is partial; the file says why."
    ),
]
DEFAULT_FILE = Path("baseline.json")


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Keep the run that later ones are held against.", no_args_is_help=True)
    app.add_typer(group, name="baseline")

    @command(group, "bless")
    def bless(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        run: RunArgument = "latest",
        file: FileOption = DEFAULT_FILE,
        note: NoteOption = "",
        despite: DespiteOption = "",
        runs: RunsOption = None,
    ) -> None:
        """Write a finished run down as the baseline: metrics, every case's values and outcomes, both fingerprints."""
        options = GateOptions(floors=surface.settings.floors)
        reading = lookup(surface, runs).run(run)
        baseline = bless_run(reading, at=SystemClock().now(), note=note, despite=despite, options=options)
        write_baseline(file, baseline)
        surface.result({"file": str(file), **_head(baseline)}, f"{file}: {_describe_baseline(baseline)}")

    @command(group, "show")
    def show(surface: Surface, file: FileOption = DEFAULT_FILE) -> None:
        """Show a baseline: what was blessed, when, and what it reached."""
        baseline = load_baseline(file)
        surface.result(
            baseline_json(baseline), "\n".join([_describe_baseline(baseline), *grid(_rows(baseline), indent="  ")])
        )


def _head(baseline: Baseline) -> dict[str, object]:
    reading = baseline.reading
    return {
        "run": reading.run_id,
        "name": reading.name,
        "dataset": reading.dataset,
        "cases": len(reading.cases),
        "metrics": {metric: reading.mean(metric) for metric in reading.metrics},
        "despite": baseline.despite,
        "shortcomings": list(baseline.shortcomings),
    }


def _describe_baseline(baseline: Baseline) -> str:
    reading = baseline.reading
    note = f" ({baseline.note})" if baseline.note else ""
    wrong = f", although {'; '.join(baseline.shortcomings)} ({baseline.despite})" if baseline.shortcomings else ""
    return (
        f"{reading.name} on {reading.dataset} {reading.dataset_version}, {len(reading.cases)} cases, "
        f"blessed {baseline.blessed_at:%Y-%m-%d %H:%M}{note}{wrong}"
    )


def _rows(baseline: Baseline) -> list[tuple[str, str, str]]:
    reading = baseline.reading
    times = reading.latency()
    quality = [
        (metric, number(reading.mean(metric)), f"{len(reading.values(metric))} scored") for metric in reading.metrics
    ]
    latency = [
        (f"latency {name}", f"{value:.1f} ms", f"on {reading.host or 'an unknown host'}")
        for name, value in (("p50", times.p50), ("p95", times.p95), ("p99", times.p99))
        if value is not None
    ]
    return [*quality, *latency]
