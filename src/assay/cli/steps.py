"""Run other commands from within a command, exactly as a user would type them."""

from __future__ import annotations

import io
import json
import shlex
from contextlib import redirect_stdout
from dataclasses import replace
from typing import Any, NamedTuple

import typer

from assay.cli.group import load_command
from assay.cli.surface import Surface


class Step(NamedTuple):
    """A command that was run."""

    command: str
    """The command line, as it can be typed again."""
    code: int
    """Its exit code."""
    result: Any
    """What it printed with --json; None where that was not asked for."""


class Steps:
    """Runs commands one after the other with the common options of the command that runs them."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        self.done: list[Step] = []

    def run(self, *arguments: str) -> Step:
        """Run a command; its output is shown, or, with --json, kept. Raises what the command raises."""
        line = shlex.join(["assay", *arguments])
        self._surface.note(f"\n$ {line}")
        shown = io.StringIO()
        if self._surface.common.json:
            with redirect_stdout(shown):
                code = self._invoke(arguments)
            step = Step(line, code, json.loads(shown.getvalue() or "null"))
        else:
            step = Step(line, self._invoke(arguments), None)
        self.done.append(step)
        return step

    def _invoke(self, arguments: tuple[str, ...]) -> int:
        name, *rest = arguments
        loaded = load_command(name)
        context = loaded.make_context(name, rest, obj=replace(self._surface.common))
        try:
            with context:
                loaded.invoke(context)
        except typer.Exit as ended:
            return int(ended.exit_code)
        return 0
