"""`assay retention run|restore`: old searches into archives, and back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.surface import Surface, command
from assay.formats.grid import grid
from assay.records.maintenance import RetentionReport
from assay.verbs import maintenance

DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say what would go, and touch nothing.")]
FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="An archive, as `retention run` named it.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Keep the log small: archive old searches, bring them back.", no_args_is_help=True)
    app.add_typer(group, name="retention")

    @command(group, "run")
    def run(surface: Surface, dry_run: DryRunOption = False) -> None:
        """Archive old searches and feedback, and delete old comparisons and log lines; evidence stays."""
        done = surface.call(maintenance.RUN_RETENTION, dry_run=dry_run)
        surface.show(maintenance.RUN_RETENTION, done, "\n".join(_lines(done)))

    @command(group, "restore")
    def restore(surface: Surface, file: FileArgument) -> None:
        """Bring the rows of an archive back: all of them, or none when anything is wrong with it."""
        done = surface.call(maintenance.RESTORE_ARCHIVE, path=str(file))
        text = f"{done.new:,} of {done.rows:,} rows came back; the others were there"
        surface.show(maintenance.RESTORE_ARCHIVE, done, text)


def _lines(done: RetentionReport) -> Iterator[str]:
    yield "would go" if done.dry_run else "gone"
    facts = [
        ("searches", f"{done.queries:,} into archives, from before {_moment(done.queries_before)}"),
        ("feedback", f"{done.events:,} into archives, from before {_moment(done.queries_before)}"),
        ("comparisons", f"{done.shadow_runs:,} deleted, from before {_moment(done.shadow_before)}"),
        ("log lines", "seen when it is done" if done.log_lines is None else f"{done.log_lines:,} deleted"),
        ("kept as evidence", f"{done.exempt_queries:,} old searches"),
    ]
    yield from grid(facts, indent="  ")
    if done.archives:
        yield from ("archives", *(f"  {path}" for path in done.archives))


def _moment(when: datetime) -> str:
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
