"""`assay help [COMMAND...]`: the same as `assay COMMAND... --help`."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated, Any

import typer

from assay.errors import InputError

WordsArgument = Annotated[list[str] | None, typer.Argument(metavar="[COMMAND]...", help="Such as: run, or flag set.")]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command("help")
    def show_help(context: typer.Context, words: WordsArgument = None) -> None:
        """Show the help of the program, or of a command: `assay help run`."""
        found: Any = context.find_root()
        for word in words or []:
            command = found.command.get_command(found, word) if hasattr(found.command, "commands") else None
            if command is None:
                raise _unknown(found, word)
            found = typer.Context(command, info_name=word, parent=found)
        typer.echo(found.get_help())


def _unknown(context: Any, word: str) -> InputError:
    path = context.command_path
    known = list(getattr(context.command, "commands", ()))
    close = get_close_matches(word, known, n=1)
    hint = f"Did you mean `assay help {' '.join([*path.split()[1:], close[0]])}`? " if close else ""
    return InputError(f"`{path}` has no command {word!r}", remedy=f"{hint}See `{path} --help`.")
