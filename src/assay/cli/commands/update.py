"""`assay update`: save a new version of one memory; what is not given stays as it was."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.commands.save import NOTHING_KEPT, read_body, told
from assay.cli.commands.show import IdArgument
from assay.cli.surface import Surface, command
from assay.errors import InputError
from assay.records import SaveDecision, Tier
from assay.verbs import memory as memory_verbs


class Clearable(StrEnum):
    """Fields that an update can empty."""

    TAGS = "tags"
    TRIGGERS = "triggers"
    FOLDER = "folder"


TitleOption = Annotated[str | None, typer.Option("--title", "-t", help="A new title.")]
TextOption = Annotated[str | None, typer.Option("--text", help="A new body.")]
FileOption = Annotated[
    Path | None, typer.Option("--file", metavar="FILE|-", help="A new body from a file; - is standard input.")
]
TierOption = Annotated[Tier | None, typer.Option("--tier", help="A new tier.")]
TagOption = Annotated[list[str], typer.Option("--tag", help="New tags instead of the old ones; may repeat.")]
TriggerOption = Annotated[
    list[str], typer.Option("--trigger", help="New trigger phrases instead of the old ones; may repeat.")
]
FolderOption = Annotated[str | None, typer.Option("--folder", help="A new folder.")]
ClearOption = Annotated[list[Clearable], typer.Option("--clear", help="Empty this field; may repeat.")]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "update")
    def update(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        memory_id: IdArgument,
        title: TitleOption = None,
        text: TextOption = None,
        file: FileOption = None,
        tier: TierOption = None,
        tag: TagOption = [],  # noqa: B006 - typer reads the default, nobody changes it
        trigger: TriggerOption = [],  # noqa: B006 - the same
        folder: FolderOption = None,
        clear: ClearOption = [],  # noqa: B006 - the same
    ) -> None:
        """Change a memory: a new version takes its place and keeps what is not given. Undo: assay restore OLD-ID."""
        body = None if text is None and file is None else read_body(surface, file, text)
        given: dict[str, Any] = {"title": title, "body": body, "tier": tier, "folder": folder}
        changes = {name: value for name, value in given.items() if value is not None}
        changes |= {name: tuple(value) for name, value in (("tags", tag), ("triggers", trigger)) if value}
        for field in clear:
            if field.value in changes:
                raise InputError(f"--clear {field} and a new value were both given", remedy="Give one of them.")
            changes[field.value] = "" if field is Clearable.FOLDER else ()
        if not changes:
            raise InputError("nothing to change was given", remedy="See `assay update --help` for what can be changed.")
        outcome = surface.call(memory_verbs.UPDATE, memory_id=memory_id, **changes)
        surface.show(memory_verbs.UPDATE, outcome, "\n".join(told(outcome)))
        if outcome.decision is SaveDecision.REJECT:
            raise typer.Exit(NOTHING_KEPT)
