"""`assay forget`: erase memories, a person, a writer or a whole tenant, to the last byte."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from assay import wiring
from assay.cli.plain import plain
from assay.cli.surface import Surface, command
from assay.errors import InputError, StorageError
from assay.formats.grid import grid
from assay.records import Erased, ErasurePlan, Forget
from assay.verbs import memory as memory_verbs

NOTHING_FOUND = 2
MOST_SHOWN = 20

IdsArgument = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Memories, by id.")]
PersonOption = Annotated[
    list[str],
    typer.Option("--person", metavar="TEXT", help="Everything that names this person; may repeat for each spelling."),
]
WriterOption = Annotated[str | None, typer.Option("--writer", metavar="NAME", help="Everything this writer saved.")]
EverythingOption = Annotated[
    bool, typer.Option("--everything", help="Every row of the tenant that --tenant or the settings name.")
]
VersionsOption = Annotated[bool, typer.Option("--versions", help="With ids: the other versions of their sources too.")]
CheckpointsOption = Annotated[bool, typer.Option("--checkpoints", help="Delete the checkpoints that still hold it.")]
ReversibleOption = Annotated[
    bool,
    typer.Option("--reversible", help="With ids: only hide them from searches; assay restore brings them back."),
]
FinishOption = Annotated[bool, typer.Option("--finish", help="Finish an erasure that was cut short.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say what would go, and touch nothing.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "forget")
    def forget(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        ids: IdsArgument = None,
        person: PersonOption = [],  # noqa: B006 - typer reads the default, nobody changes it
        writer: WriterOption = None,
        everything: EverythingOption = False,
        versions: VersionsOption = False,
        checkpoints: CheckpointsOption = False,
        reversible: ReversibleOption = False,
        finish: FinishOption = False,
        dry_run: DryRunOption = False,
        yes: YesOption = False,
    ) -> None:
        """Erase for good: rows, words, vectors, logs, archives and index files; then search the files for it.

        With --reversible, hide memories from every search instead, until they are restored or erased.
        """
        if reversible:
            _hide(surface, ids or [], others=bool(person or writer or everything or versions or checkpoints or finish))
            return
        if finish:
            _finish(surface)
            return
        what = Forget(
            memory_ids=tuple(dict.fromkeys(ids or ())),
            names=tuple(person),
            writer=writer,
            everything=everything,
            versions=versions,
            checkpoints=checkpoints,
        )
        with wiring.open_engine(surface.settings, create=False) as engine:
            plan = engine.forgetting.plan(surface.scope, what)
            if dry_run or (plan.empty and not everything):
                surface.result(plain(plan), "\n".join(_planned(plan)))
                raise typer.Exit(0 if dry_run and not plan.empty else NOTHING_FOUND)
            _ask(surface, what, plan, yes=yes)
            done = engine.forget(surface.scope, what)
        surface.result(plain(done), "\n".join(_done(done)))
        if done.left:
            raise typer.Exit(StorageError.exit_code)


def _hide(surface: Surface, ids: list[str], *, others: bool) -> None:
    if others or not ids:
        raise InputError("--reversible forgets memories by id only", remedy="Name one id or more, and nothing else.")
    done = [surface.call(memory_verbs.FORGET, memory_id=memory_id) for memory_id in dict.fromkeys(ids)]
    lines = [
        f"{'already forgotten' if one.unchanged else 'forgotten'} {one.memory_id} {one.title!r};"
        f" bring it back: assay restore {one.memory_id}"
        for one in done
    ]
    surface.result([memory_verbs.FORGET.to_json(memory) for memory in done], "\n".join(lines))


def _finish(surface: Surface) -> None:
    with wiring.open_engine(surface.settings, create=False) as engine:
        was = engine.forgetting.unfinished(surface.scope)
        engine.forgetting.finish(surface.scope)
    told = "finished: the database was written anew" if was else "nothing was unfinished; the database was written anew"
    surface.result({"was_unfinished": was}, told)


def _ask(surface: Surface, what: Forget, plan: ErasurePlan, *, yes: bool) -> None:
    if yes:
        return
    if surface.common.json or not sys.stdin.isatty():
        raise InputError(
            "forgetting cannot be undone, and nobody is here to ask", remedy="Look with --dry-run, then --yes."
        )
    surface.console.print("\n".join(_planned(plan)), soft_wrap=True)
    whose = f"everything of the tenant {surface.scope.tenant}" if what.everything else "this"
    typer.confirm(f"Erase {whose} for good?", abort=True)


def _planned(plan: ErasurePlan) -> Iterator[str]:
    if plan.empty:
        yield "nothing of it is in the store"
        return
    facts = {
        "memories": len(plan.memories),
        "logged searches": plan.queries,
        "merged texts": plan.merges,
        "further rows": sum(plan.other_rows.values()),
        "files": len(plan.files),
        "copies": len(plan.checkpoints),
    }
    yield from grid([(name, f"{count:,}") for name, count in facts.items() if count], indent="  ")
    yield from grid([(one.memory_id, one.title[:60]) for one in plan.memories[:MOST_SHOWN]], indent="  ")
    if len(plan.memories) > MOST_SHOWN:
        yield f"  and {len(plan.memories) - MOST_SHOWN:,} more"
    if plan.other_versions:
        yield "other versions of the same sources stay (--versions takes them too)"
        yield from grid([(one.memory_id, one.title[:60]) for one in plan.other_versions[:MOST_SHOWN]], indent="  ")


def _done(done: Erased) -> Iterator[str]:
    yield "erased" if done.rows else "no row held it"
    yield from grid([(table, f"{count:,}") for table, count in sorted(done.rows.items())], indent="  ")
    yield from (f"changed {path}" for path in done.files_changed)
    if done.index_deleted:
        yield f"deleted the index files in {done.index_deleted}"
    if done.checkpoints:
        yield from _copies(done)
    yield from _proof(done)
    if done.plan.other_versions:
        yield f"{len(done.plan.other_versions)} other versions of the same sources stay; see --versions"


def _copies(done: Erased) -> Iterator[str]:
    listed = ", ".join(done.checkpoints)
    if done.checkpoints_deleted:
        yield f"deleted the copies that held it: {listed}"
    else:
        yield f"these copies still hold it: {listed}"
        yield "  Delete them too: the same command with --checkpoints, or assay checkpoint delete ID"


def _proof(done: Erased) -> Iterator[str]:
    if done.left:
        yield f"STILL FOUND, or not readable: {', '.join(done.left)}"
    elif done.searched:
        yield f"searched {len(done.searched)} files byte by byte: nothing left"
    else:
        yield "the database server's own files cannot be searched from here; every table was written anew"
    if done.said_elsewhere:
        yield f"{len(done.said_elsewhere)} of its lines also stand in rows that stay"
