"""`assay doctor`: what stands between this machine and a working Assay."""

from __future__ import annotations

import typer
from rich.table import Table
from rich.text import Text

from assay.cli.surface import Surface, command
from assay.doctor import Finding, examine
from assay.errors import StorageError

_STYLES = {"ok": "green", "note": "yellow", "problem": "bold red"}


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "doctor")
    def doctor(surface: Surface) -> None:
        """Look at SQLite, disk, store, embedder and optional parts, and say what each finding means."""
        findings = examine(surface.settings)
        surface.result([one._asdict() for one in findings], _table(findings))
        if any(one.state == "problem" for one in findings):
            raise typer.Exit(StorageError.exit_code)


def _table(findings: list[Finding]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("state", no_wrap=True)
    table.add_column("subject", no_wrap=True, style="bold")
    table.add_column("seen", overflow="fold")
    for one in findings:
        table.add_row(Text(one.state, style=_STYLES[one.state]), one.subject, one.seen)
        for line in (one.meaning, f"-> {one.remedy}" if one.remedy else ""):
            if line:
                table.add_row("", "", Text(line, style="dim"))
    return table
