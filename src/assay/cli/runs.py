"""Where commands look for finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay import wiring
from assay.cli.surface import Surface
from assay.evaluation.lookup import Lookup

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run: its id, name or folder, or latest.")]
RunsOption = Annotated[
    Path | None, typer.Option("--runs", metavar="DIR", help="Where runs are kept; else as the settings say.")
]
SeedOption = Annotated[int, typer.Option("--seed", help="Of the resamples behind intervals and p-values.")]


def lookup(surface: Surface, runs: Path | None) -> Lookup:
    """Where to look for runs and datasets."""
    return wiring.lookup_of(surface.settings, runs=runs)
