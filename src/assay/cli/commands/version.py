"""`assay version`, and what `assay --version` prints."""

from __future__ import annotations

import platform
import sqlite3
from importlib.metadata import version as installed_version

import typer

from assay.cli.surface import Surface, command
from assay.extras import DISTRIBUTION


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "version")
    def version(surface: Surface) -> None:
        """Show the versions of Assay and of the libraries it uses."""
        show_version(surface)


def show_version(surface: Surface) -> None:
    """Print the version of Assay, of Python and of SQLite."""
    found = {
        "assay": installed_version(DISTRIBUTION),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }
    surface.result(found, f"assay {found['assay']}  (Python {found['python']}, SQLite {found['sqlite']})")
