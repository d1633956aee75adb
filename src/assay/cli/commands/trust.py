"""`assay trust`: approve what a project's settings file says of addresses, keys and programs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.surface import Surface, command
from assay.clock import SystemClock
from assay.errors import InputError, SettingError
from assay.settings import FILE_NAME, ApprovedFile, ApprovedFiles, find_file, fit_to_show, read_requests, users_file

FileArgument = Annotated[
    Path | None, typer.Argument(metavar="FILE", help="The settings file. Unset: the one found from this folder.")
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
ListOption = Annotated[bool, typer.Option("--list", help="List the approved files.")]
RemoveOption = Annotated[bool, typer.Option("--remove", help="Take the approval of a file back.")]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "trust")
    def trust(
        surface: Surface,
        file: FileArgument = None,
        yes: YesOption = False,
        list_all: ListOption = False,
        remove: RemoveOption = False,
    ) -> None:
        """Show what a settings file asks for (addresses, key variables, programs), and approve it after asking."""
        if sum((list_all, remove, yes)) > 1:
            raise InputError("--list, --remove and --yes exclude each other", remedy="Give one of them.")
        approved = ApprovedFiles(os.environ)
        if list_all:
            _list(surface, approved)
        elif remove:
            _remove(surface, approved, _chosen(file))
        else:
            _approve(surface, approved, _chosen(file), yes=yes)


def _chosen(file: Path | None) -> Path:
    if file is not None:
        return file.expanduser() / FILE_NAME if file.expanduser().is_dir() else file.expanduser()
    found = find_file(Path.cwd(), os.environ)
    if found is None or found == users_file(os.environ):
        raise SettingError(
            f"there is no {FILE_NAME} in this folder or above it", remedy="Give the path of a settings file."
        )
    return found


def _list(surface: Surface, approved: ApprovedFiles) -> None:
    entries = approved.all()
    lines = [line for entry in entries for line in (f"{entry.path}  ({entry.approved_at})", *_requests(entry.asked))]
    surface.result([_as_json(entry) for entry in entries], "\n".join(lines) if lines else "No file is approved.")


def _remove(surface: Surface, approved: ApprovedFiles, file: Path) -> None:
    if not approved.remove(file):
        raise InputError(f"{file} is not approved", remedy="List the approved files with `assay trust --list`.")
    surface.result({"file": str(file.resolve()), "removed": True}, f"{file} is not approved any more.")


def _approve(surface: Surface, approved: ApprovedFiles, file: Path, *, yes: bool) -> None:
    asked = read_requests(file)
    if not asked:
        surface.result(
            {"file": str(file.resolve()), "asked": {}, "approved": False},
            f"{file} names no address, no key variable and no program: it needs no approval.",
        )
        return
    if not yes:
        _ask(surface, file, asked)
    entry = approved.add(file, asked, now=SystemClock().now())
    surface.result({**_as_json(entry), "approved": True}, f"{file} is approved until it asks for something else.")


def _ask(surface: Surface, file: Path, asked: dict[str, str]) -> None:
    if surface.common.json or not sys.stdin.isatty():
        raise InputError(
            f"{file} asks for {', '.join(asked)}, and nobody is here to approve it",
            remedy=f"Look at the file, then: assay trust {file} --yes",
        )
    surface.console.print("\n".join([f"{file} asks for:", *_requests(asked)]), soft_wrap=True)
    typer.confirm("Approve it?", abort=True)


def _requests(asked: Any) -> list[str]:
    """What a file asks for, one line each; control characters of a hostile file are shown by their numbers."""
    return [f"  {key} = {fit_to_show(value)!r}" for key, value in asked.items()]


def _as_json(entry: ApprovedFile) -> dict[str, Any]:
    asked = {key: fit_to_show(value) for key, value in entry.asked.items()}
    return {"file": entry.path, "asked": asked, "approved_at": entry.approved_at}
