"""`assay rescan`: find secrets that an older version stored in clear, and mask them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from assay.cli.surface import Surface, command
from assay.errors import InputError, StorageError
from assay.formats.grid import grid
from assay.records.maintenance import RescanReport
from assay.verbs import maintenance

SECRETS_FOUND = 2
MOST_SHOWN = 20

ApplyOption = Annotated[bool, typer.Option("--apply", help="Mask them in place, and erase the old bytes.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="With --apply: do not ask.")]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "rescan")
    def rescan(surface: Surface, apply: ApplyOption = False, yes: YesOption = False) -> None:
        """Look for secrets in everything that is stored, by the rules of this version.

        Finds what an older version stored in clear: in memories, logged searches, research records, verdicts and
        archives. Exit code 2 when there are some. With --apply they are masked in place and cannot be brought back.
        """
        found = surface.call(maintenance.RESCAN)
        if apply and not found.clean:
            _ask(surface, found, yes=yes)
            found = surface.call(maintenance.RESCAN, apply=True)
        surface.show(maintenance.RESCAN, found, "\n".join(_lines(found)))
        if found.left:
            raise typer.Exit(StorageError.exit_code)
        if not found.clean:
            raise typer.Exit(SECRETS_FOUND)


def _ask(surface: Surface, found: RescanReport, *, yes: bool) -> None:
    if yes:
        return
    if surface.common.json or not sys.stdin.isatty():
        raise InputError(
            "masking cannot be undone, and nobody is here to ask",
            remedy="Look without --apply first, then give --apply --yes.",
        )
    surface.console.print("\n".join(_lines(found)), soft_wrap=True)
    typer.confirm("Mask these secrets for good?", abort=True)


def _lines(found: RescanReport) -> Iterator[str]:
    if not found.secrets:
        yield "no secrets are stored in clear"
        if found.unfinished:
            yield "an earlier run was cut short before the old bytes were gone; finish it: assay rescan --apply"
        return
    places = f"{len(found.memories):,} memories and {sum(found.rows.values()):,} other rows"
    yield f"{found.secrets:,} secrets in {places} {'were masked' if found.masked else 'are stored in clear'}"
    yield from grid([(kind, f"{count:,}") for kind, count in found.kinds.items()], indent="  ")
    shown = list(found.memories.items())[:MOST_SHOWN]
    yield from grid([(memory_id, ", ".join(kinds)) for memory_id, kinds in shown], indent="  ")
    if len(found.memories) > MOST_SHOWN:
        yield f"  and {len(found.memories) - MOST_SHOWN:,} more memories"
    yield from grid([(table, f"{count:,} rows") for table, count in sorted(found.rows.items())], indent="  ")
    if found.files:
        yield f"these files hold some of them: {', '.join(found.files)}"
    if found.checkpoints:
        yield f"these checkpoints still hold some of them: {', '.join(found.checkpoints)}"
        yield "  A restore would bring them back. Delete each: assay checkpoint delete ID"
    if not found.masked:
        yield "mask them: assay rescan --apply"
    elif found.left:
        yield f"STILL FOUND in {', '.join(found.left)}"
    elif found.searched:
        yield f"searched {len(found.searched)} files byte by byte: nothing left"
    yield "Change every secret that was stored in clear: it was readable by whoever could read the store."
