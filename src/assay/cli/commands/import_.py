"""`assay import`: take in memories that another tool, or Assay itself, has exported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from assay import wiring
from assay.cli.surface import Surface, command
from assay.records.saving import ImportFormat

if TYPE_CHECKING:
    from assay.memory.importing import ImportReport

PROBLEMS_SHOWN = 20
INCOMPLETE = 2
"""The exit code under --strict when something was not imported whole."""

PathArgument = Annotated[Path, typer.Argument(metavar="FILE|FOLDER", help="What was exported.")]
FormatOption = Annotated[ImportFormat, typer.Option("--format", help="Which tool wrote it; auto finds out.")]
UserOption = Annotated[str | None, typer.Option("--user", metavar="NAME", help="Only this user's memories (mem0).")]
FolderOption = Annotated[str, typer.Option("--folder", metavar="FOLDER", help="Put everything below this folder.")]
SourceOption = Annotated[
    str | None,
    typer.Option("--source", metavar="NAME", help="What the file is known by next time. Default: its own name."),
]
GateOption = Annotated[bool, typer.Option("--gate", help="Compare each memory with what is there, as a save is.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and write nothing.")]
StrictOption = Annotated[bool, typer.Option("--strict", help="Exit 2 when anything was not imported whole.")]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "import")
    def import_(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        path: PathArgument,
        format: FormatOption = ImportFormat.AUTO,  # noqa: A002 - the option's own word
        user: UserOption = None,
        folder: FolderOption = "",
        source: SourceOption = None,
        gate: GateOption = False,
        dry_run: DryRunOption = False,
        strict: StrictOption = False,
    ) -> None:
        """Import memories from mem0, MCP server-memory, ChatGPT, Obsidian, Markdown, JSONL or an Assay export.

        The same file again changes nothing, so an interrupted import is simply run again.
        """
        with wiring.open_engine(surface.settings) as engine:
            from assay.memory.importing import ImportOptions, as_json  # noqa: PLC0415 - the extra "memory"

            options = ImportOptions(user=user, folder=folder, gate=gate, dry_run=dry_run)
            with _progress(surface) as on_progress:
                report = engine.import_memories(
                    surface.scope, path, format=format, source=source, options=options, on_progress=on_progress
                )
        surface.result(as_json(report), "\n".join(_lines(report)))
        if strict and report.problems:
            raise typer.Exit(INCOMPLETE)


@contextmanager
def _progress(surface: Surface) -> Iterator[Callable[[int, int], None] | None]:
    """A bar with the time left, on a terminal; silence elsewhere."""
    if surface.common.json or surface.common.quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("importing"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True, markup=False), transient=True) as bar:
        task = bar.add_task("importing", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _lines(report: ImportReport) -> Iterator[str]:
    counts = ", ".join(f"{count:,} {fate}" for fate, count in report.counts.items()) or "nothing to import"
    would = "would be: " if report.dry_run else ""
    yield f"{report.format}, {report.total:,} {'memory' if report.total == 1 else 'memories'}: {would}{counts}"
    if report.edges:
        yield (
            f"{report.edges:,} edges made of links and relations"
            if report.format != "assay"
            else (f"{report.edges:,} edges restored")
        )
    if report.users:
        yield "users: " + ", ".join(f"{user} {count:,}" for user, count in report.users.items())
    if report.masked:
        yield f"{report.masked:,} secrets masked"
    for name, reasons in (("skipped", report.skipped), ("imported without a part", report.incomplete)):
        if reasons:
            yield f"{name}: " + ", ".join(f"{count:,} {reason}" for reason, count in reasons.items())
    yield from (f"  {problem}" for problem in report.problems[:PROBLEMS_SHOWN])
    if len(report.problems) > PROBLEMS_SHOWN:
        yield f"  and {len(report.problems) - PROBLEMS_SHOWN:,} more; --json has them all"
    yield from report.notes
