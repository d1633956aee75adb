"""`assay export`: write the memories to a file that loses nothing, or to a folder of Markdown notes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay import wiring
from assay.cli.plain import plain
from assay.cli.surface import Surface, command
from assay.records.saving import ExportFormat

PathArgument = Annotated[Path, typer.Argument(metavar="PATH", help="The file to write; with markdown, a new folder.")]
FormatOption = Annotated[
    ExportFormat, typer.Option("--format", help="jsonl: everything, to import again. markdown: current notes, to read.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "export")
    def export(surface: Surface, path: PathArgument, format: FormatOption = ExportFormat.JSONL) -> None:  # noqa: A002 - the option's own word
        """Export memories: as JSONL with every version, state, edge and date, or as Markdown notes.

        What is written is complete, or nothing is; only its owner can read it. `assay import` reads both.
        """
        with wiring.open_engine(surface.settings, create=False) as engine:
            done = engine.export_memories(surface.scope, path, format=format)
        states = ", ".join(f"{count:,} {status}" for status, count in done.by_status.items()) or "none"
        text = f"wrote {done.memories:,} memories ({states}) and {done.edges:,} edges to {done.path}"
        surface.result(plain(done), text)
