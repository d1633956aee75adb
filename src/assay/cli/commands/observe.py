"""`assay observe`: tell what an agent read or wrote, so that use says what results were worth."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from assay.cli.surface import Surface, command
from assay.records.learning import Observed
from assay.verbs import usage

SessionOption = Annotated[str, typer.Option("--session", metavar="ID", help="The session that was observed.")]
MemoryOption = Annotated[str | None, typer.Option("--memory", metavar="ID", help="A memory that was read.")]
PathOption = Annotated[str | None, typer.Option("--path", metavar="PATH", help="The path of a file that was read.")]
WroteOption = Annotated[
    str | None, typer.Option("--wrote", metavar="TEXT", help="A text that was written; - reads standard input.")
]
KeyOption = Annotated[
    str | None, typer.Option("--key", metavar="KEY", help="Sent twice under one key, it counts once.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "observe")
    def observe(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        session: SessionOption,
        memory: MemoryOption = None,
        path: PathOption = None,
        wrote: WroteOption = None,
        key: KeyOption = None,
    ) -> None:
        """Tell what an agent read or wrote in a session; what that says of its searches is recorded."""
        text = sys.stdin.read() if wrote == "-" else wrote
        given = {"session_id": session, "memory_id": memory, "path": path, "wrote": text, "event_key": key}
        event = {name: value for name, value in given.items() if value is not None}
        done = surface.call(usage.RECORD, run_once=True, events=[event])
        surface.show(usage.RECORD, done, _told(done.recorded[0], session))


def _told(done: Observed, session: str) -> str:
    if not done.events:
        return f"nothing recorded: no search of the session {session} returned it"
    lines = [f"{done.new} new, {done.repeated} recorded before"]
    for one in done.events:
        place = "" if one.rank_in_results is None else f" at rank {one.rank_in_results}"
        lines.append(f"  {one.event_type.value:<18} {one.memory_id or ''}{place} of {one.query_id}")
    return "\n".join(lines)
