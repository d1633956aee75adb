"""`assay index status|compact|reembed|delete`: the derived indexes, which can be made again at any time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from assay import wiring
from assay.cli.plain import plain
from assay.cli.surface import Surface, command
from assay.formats.grid import grid

if TYPE_CHECKING:
    from assay.memory.reembedding import ModelState


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Look after the derived indexes.", no_args_is_help=True)
    app.add_typer(group, name="index")

    @command(group, "status")
    def status(surface: Surface) -> None:
        """Show what the indexes hold, how far they are, which models the vectors are of, and the folders."""
        with wiring.open_engine(surface.settings, create=False) as engine:
            found = plain(engine.indexes.status(surface.scope))
            found["models"] = plain(engine.vector_models(surface.scope))
            found["folders"] = dict(engine.folders(surface.scope))
        surface.result(found, "\n".join(_facts(found)))

    @command(group, "compact")
    def compact(surface: Surface) -> None:
        """Fold what came later into a new base; searches go on meanwhile."""
        with wiring.open_engine(surface.settings, create=False) as engine:
            done = engine.indexes.compact(surface.scope)
            found = plain(engine.indexes.status(surface.scope))
        surface.result({"compacted": plain(done), "status": found}, "\n".join(_facts(found)))

    @command(group, "reembed")
    def reembed(surface: Surface) -> None:
        """Make vectors of the configured model for every chunk, then let search use them."""
        with wiring.open_engine(surface.settings, create=False) as engine, _progress(surface) as progress:
            state = engine.reembed(surface.scope, progress=progress)
        surface.result(plain(state), f"{state.done:,} of {state.chunks:,} chunks have vectors of {state.model}")

    @command(group, "delete")
    def delete(surface: Surface) -> None:
        """Delete the files of the indexes; the next search makes what it needs again."""
        with wiring.open_engine(surface.settings, create=False) as engine:
            gone = engine.delete_indexes(surface.scope)
        surface.result({"deleted": gone}, f"Deleted {gone}" if gone else "There were no files.")


@contextmanager
def _progress(surface: Surface) -> Iterator[Callable[[ModelState], None] | None]:
    if surface.common.json or surface.common.quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda state: bar.update(task, completed=state.done, total=state.chunks)


def _facts(found: dict[str, Any]) -> list[str]:
    return grid([(name.replace("_", " "), _value(value)) for name, value in found.items()])


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name or '(none)'} {_value(inner)}" for name, inner in value.items()) or "-"
    if isinstance(value, list):
        return ", ".join(_value(one) for one in value) or "-"
    return (
        "-" if value is None else f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    )
