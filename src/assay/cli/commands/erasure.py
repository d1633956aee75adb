"""Commands that remove data: forget, rescan, retention.

- `assay forget`: erase memories, a person, a writer or a whole tenant, to the last byte.
- `assay rescan`: find secrets that an older version stored in clear, and mask them.
- `assay retention run|restore`: old searches into archives, and back.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from assay import wiring
from assay.cli.plain import plain
from assay.cli.surface import Surface, command
from assay.errors import InputError, StorageError
from assay.formats.grid import grid
from assay.presentation.wording import count_of
from assay.records import Erased, ErasurePlan, Forget
from assay.records.maintenance import RescanReport, RetentionReport
from assay.verbs import maintenance
from assay.verbs import memory as memory_verbs

# --- `assay forget`: erase memories, a person, a writer or a whole tenant, to the last byte ---

NOTHING_FOUND = 2
FORGET_MOST_SHOWN = 20

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
ForgetDryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say what would go, and touch nothing.")]
ForgetYesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def register_forget(app: typer.Typer) -> None:
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
        dry_run: ForgetDryRunOption = False,
        yes: ForgetYesOption = False,
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
                surface.result(plain(plan), "\n".join(_plan_lines(plan)))
                raise typer.Exit(0 if dry_run and not plan.empty else NOTHING_FOUND)
            _confirm_forget(surface, what, plan, yes=yes)
            done = engine.forget(surface.scope, what)
        surface.result(plain(done), "\n".join(_erasure_lines(done)))
        if done.left:
            raise typer.Exit(StorageError.exit_code)


def _hide(surface: Surface, ids: list[str], *, others: bool) -> None:
    if others or not ids:
        raise InputError("--reversible forgets memories by id only", remedy="Name one id or more, and nothing else.")
    done = [surface.call(memory_verbs.FORGET, memory_id=memory_id) for memory_id in dict.fromkeys(ids)]
    lines = [
        f"{'already forgotten' if erasure.unchanged else 'forgotten'} {erasure.memory_id} {erasure.title!r};"
        f" bring it back: assay restore {erasure.memory_id}"
        for erasure in done
    ]
    surface.result([memory_verbs.FORGET.to_json(memory) for memory in done], "\n".join(lines))


def _finish(surface: Surface) -> None:
    with wiring.open_engine(surface.settings, create=False) as engine:
        was = engine.forgetting.was_cut_short(surface.scope)
        engine.forgetting.finish(surface.scope)
    told = "finished: the database was written anew" if was else "nothing was unfinished; the database was written anew"
    surface.result({"was_unfinished": was}, told)


def _confirm_forget(surface: Surface, what: Forget, plan: ErasurePlan, *, yes: bool) -> None:
    if yes:
        return
    if surface.common.json or not sys.stdin.isatty():
        raise InputError(
            "forgetting cannot be undone, and there is no terminal to confirm it",
            remedy="Look with --dry-run, then --yes.",
        )
    surface.console.print("\n".join(_plan_lines(plan)), soft_wrap=True)
    whose = f"everything of the tenant {surface.scope.tenant}" if what.everything else "this"
    typer.confirm(f"Erase {whose} for good?", abort=True)


def _plan_lines(plan: ErasurePlan) -> Iterator[str]:
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
    yield from grid(
        [(memory.memory_id, memory.title[:60]) for memory in plan.memories[:FORGET_MOST_SHOWN]], indent="  "
    )
    if len(plan.memories) > FORGET_MOST_SHOWN:
        yield f"  and {len(plan.memories) - FORGET_MOST_SHOWN:,} more"
    if plan.other_versions:
        yield "other versions of the same sources stay (--versions takes them too)"
        yield from grid(
            [(version.memory_id, version.title[:60]) for version in plan.other_versions[:FORGET_MOST_SHOWN]],
            indent="  ",
        )


def _erasure_lines(done: Erased) -> Iterator[str]:
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


# --- `assay rescan`: find secrets that an older version stored in clear, and mask them ---

SECRETS_FOUND = 2
RESCAN_MOST_SHOWN = 20

ApplyOption = Annotated[bool, typer.Option("--apply", help="Mask them in place, and erase the old bytes.")]
RescanYesOption = Annotated[bool, typer.Option("--yes", "-y", help="With --apply: do not ask.")]


def register_rescan(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "rescan")
    def rescan(surface: Surface, apply: ApplyOption = False, yes: RescanYesOption = False) -> None:
        """Look for secrets in everything that is stored, by the rules of this version.

        Finds what an older version stored in clear: in memories, logged searches, research records, verdicts and
        archives. Exit code 2 when there are some. With --apply they are masked in place and cannot be brought back.
        """
        found = surface.call(maintenance.RESCAN)
        if apply and not found.clean:
            _confirm_rescan(surface, found, yes=yes)
            found = surface.call(maintenance.RESCAN, apply=True)
        surface.show(maintenance.RESCAN, found, "\n".join(_format_rescan(found)))
        if found.left:
            raise typer.Exit(StorageError.exit_code)
        if not found.clean:
            raise typer.Exit(SECRETS_FOUND)


def _confirm_rescan(surface: Surface, found: RescanReport, *, yes: bool) -> None:
    if yes:
        return
    if surface.common.json or not sys.stdin.isatty():
        raise InputError(
            "masking cannot be undone, and there is no terminal to confirm it",
            remedy="Look without --apply first, then give --apply --yes.",
        )
    surface.console.print("\n".join(_format_rescan(found)), soft_wrap=True)
    typer.confirm("Mask these secrets for good?", abort=True)


def _format_rescan(found: RescanReport) -> Iterator[str]:
    if not found.secrets:
        yield "no secrets are stored in clear"
        if found.unfinished:
            yield "an earlier run was cut short before the old bytes were gone; finish it: assay rescan --apply"
        return
    places = f"{count_of(len(found.memories), 'memory')} and {count_of(sum(found.rows.values()), 'other row')}"
    stand = ("was" if found.secrets == 1 else "were") if found.masked else ("is" if found.secrets == 1 else "are")
    yield f"{count_of(found.secrets, 'secret')} in {places} {stand} {'masked' if found.masked else 'stored in clear'}"
    yield from grid([(kind, f"{count:,}") for kind, count in found.kinds.items()], indent="  ")
    shown = list(found.memories.items())[:RESCAN_MOST_SHOWN]
    yield from grid([(memory_id, ", ".join(kinds)) for memory_id, kinds in shown], indent="  ")
    if len(found.memories) > RESCAN_MOST_SHOWN:
        yield f"  and {len(found.memories) - RESCAN_MOST_SHOWN:,} more memories"
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
    yield "Change every secret that was stored in clear: everyone with access to the store could read it."


# --- `assay retention run|restore`: old searches into archives, and back ---

RetentionDryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say what would go, and touch nothing.")]
FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="An archive, as `retention run` named it.")]


def register_retention(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Keep the log small: archive old searches, bring them back.", no_args_is_help=True)
    app.add_typer(group, name="retention")

    @command(group, "run")
    def run(surface: Surface, dry_run: RetentionDryRunOption = False) -> None:
        """Archive old searches and feedback, and delete old comparisons and log lines; evidence stays."""
        done = surface.call(maintenance.RUN_RETENTION, dry_run=dry_run)
        surface.show(maintenance.RUN_RETENTION, done, "\n".join(_format_retention(done)))

    @command(group, "restore")
    def restore(surface: Surface, file: FileArgument) -> None:
        """Bring the rows of an archive back: all of them, or none when anything is wrong with it."""
        done = surface.call(maintenance.RESTORE_ARCHIVE, path=str(file))
        text = f"{done.new:,} of {done.rows:,} rows came back; the others were there"
        surface.show(maintenance.RESTORE_ARCHIVE, done, text)


def _format_retention(done: RetentionReport) -> Iterator[str]:
    yield "would go" if done.dry_run else "gone"
    facts = [
        ("searches", f"{done.queries:,} into archives, from before {_moment(done.queries_before)}"),
        ("feedback", f"{done.events:,} into archives, from before {_moment(done.queries_before)}"),
        ("comparisons", f"{done.shadow_runs:,} deleted, from before {_moment(done.shadow_before)}"),
        ("log lines", "seen when it is done" if done.log_lines is None else f"{done.log_lines:,} deleted"),
        ("kept as evidence", f"{done.exempt_queries:,} old searches"),
    ]
    yield from grid(facts, indent="  ")
    if done.archives:
        yield from ("archives", *(f"  {path}" for path in done.archives))


def _moment(when: datetime) -> str:
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    register_forget(app)
    register_rescan(app)
    register_retention(app)
