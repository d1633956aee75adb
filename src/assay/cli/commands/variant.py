"""`assay variant add|list|remove`: other configurations and systems under names of their own."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.surface import Surface, command
from assay.formats.grid import grid
from assay.verbs import variants

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="A name of its own, such as more-words.")]
SpecArgument = Annotated[
    str,
    typer.Argument(
        metavar="SPEC",
        help="What it searches as: assay:search.weights.bm25=0.5,flags.mmr=off, or a system such as"
        " python:pkg.module:search.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(
        help="Define other configurations and systems, to compare them with what is served.", no_args_is_help=True
    )
    app.add_typer(group, name="variant")

    @command(group, "add")
    def add(surface: Surface, name: NameArgument, spec: SpecArgument) -> None:
        """Define a variant, or change what one searches as."""
        state = surface.call(variants.DEFINE, create=True, name=name, spec=spec)
        text = f"{name} searches as {state.flag.spec}.\nCompare it with past searches: `assay shadow replay {name}`."
        surface.show(variants.DEFINE, state, text)

    @command(group, "list")
    def list_all(surface: Surface) -> None:
        """List every variant with what it searches as."""
        found = surface.call(variants.LIST, create=True)
        rows = [
            ("variant", "on for", "shadow", "searches as"),
            *(
                (state.flag.name, f"{state.percent} %", "on" if state.shadow else "off", state.flag.spec)
                for state in found.flags
            ),
        ]
        empty = "No variant is defined. Such as: `assay variant add more-words assay:search.weights.bm25=0.5`."
        surface.show(variants.LIST, found, "\n".join(grid(rows)) if found.flags else empty)

    @command(group, "remove")
    def remove(surface: Surface, name: NameArgument) -> None:
        """Delete a variant; what was measured of it is kept."""
        found = surface.call(variants.REMOVE, create=True, name=name)
        surface.show(variants.REMOVE, found, f"{found.name} is gone; its comparisons and votes are kept.")
