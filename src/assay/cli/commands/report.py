"""`assay report`: a run as Markdown and as one HTML file to forward, or its queries explained on the screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.runs import RunArgument, RunsOption
from assay.cli.surface import Surface, command
from assay.errors import InputError
from assay.evaluation.why.terminal import NARROW, explain_lines, lost_lines
from assay.records.explanations import LostQueries
from assay.records.run_results import WrittenReport
from assay.verbs import files

BaselineOption = Annotated[
    str | None,
    typer.Option("--baseline", "-b", metavar="FILE|RUN", help="What to compare with; baseline.json if it is there."),
]
NoBaselineOption = Annotated[bool, typer.Option("--no-baseline", help="Compare with nothing.")]
HtmlOption = Annotated[bool, typer.Option("--html", help="Also write one HTML file with charts; opens offline.")]
OutputOption = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="Where the files go; replaced if they are there.")
]
NameOption = Annotated[
    str | None, typer.Option("--name", help="What the files are called, without an ending; rag-eval-DATE.")
]
WhyOption = Annotated[
    str | None,
    typer.Option(
        "--why",
        metavar="QUERY",
        help="Explain one query, by id or words, or `lost`: all that lost gold. Write nothing.",
    ),
]
ProbeOption = Annotated[
    bool, typer.Option("--probe", help="With --why: ask the system again: deeper, with other words, with fewer.")
]
CallsOption = Annotated[
    int | None, typer.Option("--calls", metavar="N", help="With --probe: calls for one query at most; 20.")
]
KOption = Annotated[int | None, typer.Option("-k", min=1, help="How far down a reader looks; as the metrics say.")]
DatasetOption = Annotated[
    str | None, typer.Option("--dataset", metavar="DATASET", help="What the run was measured on, if it has moved.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "report")
    def report(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        run: RunArgument = "latest",
        baseline: BaselineOption = None,
        no_baseline: NoBaselineOption = False,
        html: HtmlOption = False,
        output: OutputOption = Path("reports"),
        name: NameOption = None,
        why: WhyOption = None,
        probe: ProbeOption = False,
        calls: CallsOption = None,
        k: KOption = None,
        dataset: DatasetOption = None,
        runs: RunsOption = None,
    ) -> None:
        """Write a run's report, or explain where queries lost their evidence."""
        if why is not None:
            asked = {"run": run, "query": why, "probe": probe, "calls": calls, "k": k, "dataset": dataset, "runs": runs}
            _explain(surface, asked)
            return
        if probe or calls is not None:
            raise InputError("--probe and --calls are for --why", remedy="Name a query: --why QUERY, or --why lost.")
        given = {
            "run": run,
            "baseline": baseline,
            "no_baseline": no_baseline,
            "html": html,
            "output": output,
            "name": name,
            "k": k,
            "dataset": dataset,
            "runs": runs,
        }
        written = surface.call_unopened(files.REPORT, **given)
        surface.show(files.REPORT, written, _format_report(written))


def _explain(surface: Surface, given: Mapping[str, Any]) -> None:
    if given["calls"] is not None and not given["probe"]:
        raise InputError("--calls is for --probe", remedy="Add --probe, so that the system is asked again.")
    caller = replace(surface.caller(None, files.WHY.command), progress=partial(_announce, surface))
    found = files.WHY.call(caller, files.WHY.make(given))
    width = surface.console.width if surface.console.is_terminal else NARROW
    lines = lost_lines(found, width) if isinstance(found, LostQueries) else explain_lines(found, width)
    surface.show(files.WHY, found, "\n".join(lines))


def _announce(surface: Surface, _: float, calls: float | None, __: str) -> None:
    surface.progress(f"Asking the system again, {calls:,.0f} times at most.")


def _format_report(written: WrittenReport) -> str:
    lines = [f"{written.status}  {written.verdict}", written.lost, *written.files, *written.notes]
    return "\n".join(filter(None, lines))
