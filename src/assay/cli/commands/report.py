"""`assay report`: a run as Markdown and as one HTML file to forward, or one of its queries explained on the screen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay import wiring
from assay.cli.runs import RunArgument, RunsOption, lookup
from assay.cli.surface import Surface, command
from assay.errors import InputError
from assay.evaluation.reporting import Report, gather, missing_from_page, write_report
from assay.evaluation.reporting.building import default_baseline, look_around
from assay.evaluation.reporting.markdown import explain, explain_json, find_query
from assay.evaluation.reporting.wording import losses
from assay.records.access import FileKind

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
        place = lookup(surface, runs)
        found = place.result(run)
        against = None if no_baseline else baseline or default_baseline()
        beside = look_around(found, place, dataset=dataset, baseline=against, floors=surface.settings.floors, k=k)
        made = gather(found, beside)
        if why is not None:
            _explain(surface, made, why)
            return
        files = write_report(made, output, name=name, html=html)
        note = wiring.claim_files(surface.settings, FileKind.REPORT, files)
        lacking = missing_from_page() if html else None
        surface.result(_as_json(made, files, lacking), "\n".join(filter(None, [_shown(made, files), lacking])))
        if note:
            surface.note(note)


def _explain(surface: Surface, made: Report, wanted: str) -> None:
    if made.waterfall is None:
        raise InputError(made.no_waterfall.rstrip("."), remedy="Name a path or a registered dataset with --dataset.")
    query = find_query(made, wanted)
    surface.result(explain_json(query, made.waterfall), "\n".join(explain(query, made.waterfall)))


def _shown(made: Report, files: tuple[Path, ...]) -> str:
    water = made.waterfall
    lost = (
        [] if water is None else [f"Missed {len(water.missed):,} of {len(water.fates):,} gold items: {losses(water)}"]
    )
    return "\n".join([f"{made.status.value}  {made.verdict}", *lost, *map(str, files)])


def _as_json(made: Report, files: tuple[Path, ...], lacking: str | None) -> dict[str, object]:
    return {
        "status": made.status.value,
        "verdict": made.verdict,
        "run_id": made.run_id,
        "files": list(map(str, files)),
        "notes": [] if lacking is None else [lacking],
    }
