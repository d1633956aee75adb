"""Where commands look for finished runs, and the store that gets rows of them."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay import wiring
from assay.cli.surface import Surface
from assay.evaluation.lookup import Lookup

if TYPE_CHECKING:
    from assay.storage import Work

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run: its id, name or folder, or latest.")]
RunsOption = Annotated[
    Path | None, typer.Option("--runs", metavar="DIR", help="Where runs are kept; else as the settings say.")
]
SeedOption = Annotated[int, typer.Option("--seed", help="Of the resamples behind intervals and p-values.")]


def lookup(surface: Surface, runs: Path | None) -> Lookup:
    """Where to look for runs and datasets."""
    return wiring.lookup_of(surface.settings, runs=runs)


def has_store(surface: Surface) -> bool:
    """Whether rows of runs and verdicts can be kept: a store was named or is there, and so is what opens it."""
    there = surface.common.db is not None or Path(surface.settings.db).is_file()
    return there and importlib.util.find_spec("sqlalchemy") is not None


@contextmanager
def writing_rows(surface: Surface) -> Iterator[Work]:
    """Begin a transaction of the store, which must exist."""
    with wiring.open_store(surface.settings, create=False) as store, store.writing(surface.scope) as work:
        yield work
