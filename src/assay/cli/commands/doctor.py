"""`assay doctor`: what stands between this machine and a working Assay, and what may leave the machine."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from assay.cli.surface import Surface, command
from assay.doctor import Finding, examine, examine_egress
from assay.errors import StorageError

_STYLES = {"ok": "green", "note": "yellow", "problem": "bold red"}
EgressOption = Annotated[
    bool, typer.Option("--egress", help="Tell what may be contacted, why, and which setting says so; contacts nothing.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "doctor")
    def doctor(surface: Surface, egress: EgressOption = False) -> None:
        """Look at SQLite, disk, store, embedder and optional parts, and say what each finding means."""
        findings = examine_egress(surface.loaded) if egress else examine(surface.settings)
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
