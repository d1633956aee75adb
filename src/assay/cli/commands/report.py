"""`assay report`: a run as Markdown and as one HTML file to forward, or one of its queries explained on the screen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.runs import RunArgument, RunsOption
from assay.cli.surface import Surface, command
from assay.errors import InputError
from assay.evaluation.reporting import Report
from assay.evaluation.reporting.markdown import explain, explain_json, find_query
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
    str | None, typer.Option("--why", metavar="QUERY", help="Explain one query, by id or words; write nothing.")
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
        k: KOption = None,
        dataset: DatasetOption = None,
        runs: RunsOption = None,
    ) -> None:
        """Write a run's report, or explain where one query lost its evidence."""
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
        if why is not None:
            _explain(surface, files.gather_report(surface.caller(None, "report"), files.REPORT.make(given)), why)
            return
        written = surface.call_unopened(files.REPORT, **given)
        surface.show(files.REPORT, written, _format_report(written))


def _explain(surface: Surface, made: Report, wanted: str) -> None:
    if made.waterfall is None:
        raise InputError(made.no_waterfall.rstrip("."), remedy="Name a path or a registered dataset with --dataset.")
    query = find_query(made, wanted)
    surface.result(explain_json(query, made.waterfall), "\n".join(explain(query, made.waterfall)))


def _format_report(written: WrittenReport) -> str:
    lines = [f"{written.status}  {written.verdict}", written.lost, *written.files, *written.notes]
    return "\n".join(filter(None, lines))
