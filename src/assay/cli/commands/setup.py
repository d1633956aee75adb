"""Commands for setting up and checking an installation: init, config, trust, doctor, health, index.

- `assay init`: make the store and a settings file to go with it.
- `assay config`: every setting, its value, and where the value came from.
- `assay trust`: approve the addresses, keys and programs in a project's settings file.
- `assay doctor`: what prevents Assay from working on this machine, and what may leave the machine.
- `assay health`: whether the memory works, channel by channel.
- `assay index status|compact|reembed|delete`: the derived indexes, which can be made again at any time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from assay import wiring
from assay.cli.plain import plain
from assay.cli.progress import Show, show_progress
from assay.cli.surface import Surface, command
from assay.cli.work import ClusterOption, ProcessesOption, open_executor
from assay.clock import SystemClock
from assay.doctor import Finding, examine, examine_cluster, examine_egress
from assay.errors import CheckpointFailed, InputError, SettingError, StorageError
from assay.formats.grid import grid
from assay.presentation.wording import count_of
from assay.records.memory_list import HealthReport
from assay.settings import (
    FILE_NAME,
    KNOWN,
    ApprovedFile,
    ApprovedFiles,
    LoadedSettings,
    find_file,
    fit_to_show,
    read_requests,
    users_file,
)
from assay.verbs import health as verb

if TYPE_CHECKING:
    from assay.memory.reembedding import ModelState
    from assay.storage import Store


# --- `assay init`: make the store and a settings file to go with it ---


def register_init(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "init")
    def init(
        surface: Surface,
        settings_file: Annotated[
            bool, typer.Option("--settings-file", help=f"Also write a commented {FILE_NAME} in this folder.")
        ] = False,
    ) -> None:
        """Make the store (or bring an older one up to date) and say where it is."""
        with wiring.open_store(surface.settings) as store:
            with store.reading(surface.scope) as work:
                memories = work.memories.count()
            place, backend = store.place, store.backend_name
            _prepare(surface, store)
        written = _write_settings(Path.cwd() / FILE_NAME) if settings_file else None
        surface.result(
            {"store": place, "backend": backend, "memories": memories, "settings_file": written},
            f"Store ready: {place}  ({count_of(memories, 'memory')})"
            + (f"\nSettings:    {written}" if written else ""),
        )


def _prepare(surface: Surface, store: Store) -> None:
    """Take the checkpoint that reconsolidation needs before it may change what is stored."""
    from assay.flags import explain_hold  # noqa: PLC0415 - the extra "memory"

    try:
        wiring.flags_of(surface.settings).activate(store, surface.scope, "reconsolidation")
    except CheckpointFailed as problem:
        surface.note(f"reconsolidation is held off: {explain_hold(problem)}")


def _write_settings(path: Path) -> str | None:
    """Write a file with every setting as a comment with its default; an existing file is left alone."""
    if path.exists():
        return None
    lines = [
        "# Settings of Assay. Remove the # of what you change. Order: options, environment, this file.",
        "# Addresses, key variables and programs that this file names count once you approve it: assay trust",
    ]
    section = ""
    for setting in sorted(KNOWN, key=lambda known: ("." in known.key, known.key)):
        before, _, name = setting.key.rpartition(".")
        if before != section:
            section = before
            lines += ["", f"[{section}]"]
        default = (
            ""
            if setting.default is None
            else list(setting.default)
            if isinstance(setting.default, tuple)
            else setting.default
        )
        shown = f'"{default}"' if isinstance(default, str) else fit_to_show(default)
        lines += [f"# {setting.meaning}", f"# {name} = {shown}"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


# --- `assay config`: every setting, its value, and where the value came from ---


def register_config(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "config")
    def config(surface: Surface) -> None:
        """Show every setting with its value and its origin."""
        surface.result(_config_json(surface.loaded), _config_table(surface.loaded))


def _config_json(loaded: LoadedSettings) -> dict[str, object]:
    return {
        "file": str(loaded.file) if loaded.file else None,
        "settings": {
            one.key: {"value": one.value or None, "layer": one.origin.layer, "place": one.origin.place or None}
            for one in loaded.list_settings()
        },
    }


def _config_table(loaded: LoadedSettings) -> Table:
    table = Table(box=None, pad_edge=False, caption_justify="left")
    table.add_column("setting", style="bold", no_wrap=True)
    table.add_column("value", overflow="fold")
    table.add_column("from", overflow="fold")
    for one in loaded.list_settings():
        style = "" if one.origin.layer != "default" else "dim"
        table.add_row(one.key, one.value or "-", f"{one.origin.layer} {one.origin.place}".strip(), style=style)
    table.caption = f"Settings file: {loaded.file or 'none found'}"
    return table


# --- `assay trust`: approve the addresses, keys and programs in a project's settings file ---

FileArgument = Annotated[
    Path | None, typer.Argument(metavar="FILE", help="The settings file. Unset: the one found from this folder.")
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
ListOption = Annotated[bool, typer.Option("--list", help="List the approved files.")]
RemoveOption = Annotated[bool, typer.Option("--remove", help="Take the approval of a file back.")]


def register_trust(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "trust")
    def trust(
        surface: Surface,
        file: FileArgument = None,
        yes: YesOption = False,
        list_all: ListOption = False,
        remove: RemoveOption = False,
    ) -> None:
        """Show what a settings file requests (addresses, key variables, programs), and approve it on confirmation."""
        if sum((list_all, remove, yes)) > 1:
            raise InputError("--list, --remove and --yes exclude each other", remedy="Give one of them.")
        approved = ApprovedFiles(os.environ)
        if list_all:
            _list(surface, approved)
        elif remove:
            _remove(surface, approved, _choose_file(file))
        else:
            _approve(surface, approved, _choose_file(file), yes=yes)


def _choose_file(file: Path | None) -> Path:
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
    surface.result([_trust_json(entry) for entry in entries], "\n".join(lines) if lines else "No file is approved.")


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
    surface.result({**_trust_json(entry), "approved": True}, f"{file} is approved until it asks for something else.")


def _ask(surface: Surface, file: Path, asked: dict[str, str]) -> None:
    if surface.common.json or not sys.stdin.isatty():
        raise InputError(
            f"{file} asks for {', '.join(asked)}, and there is no terminal to approve it",
            remedy=f"Look at the file, then: assay trust {file} --yes",
        )
    surface.console.print("\n".join([f"{file} asks for:", *_requests(asked)]), soft_wrap=True)
    typer.confirm("Approve it?", abort=True)


def _requests(asked: Any) -> list[str]:
    """Return what a file requests, one line each; control characters are shown by their numbers."""
    return [f"  {key} = {fit_to_show(value)!r}" for key, value in asked.items()]


def _trust_json(entry: ApprovedFile) -> dict[str, Any]:
    asked = {key: fit_to_show(value) for key, value in entry.asked.items()}
    return {"file": entry.path, "asked": asked, "approved_at": entry.approved_at}


# --- `assay doctor`: what prevents Assay from working on this machine, and what may leave the machine ---

_DOCTOR_STYLES = {"ok": "green", "note": "yellow", "problem": "bold red"}
EgressOption = Annotated[
    bool, typer.Option("--egress", help="Tell what may be contacted, why, and which setting says so; contacts nothing.")
]

ExaminedOption = Annotated[
    str | None,
    typer.Option("--cluster", metavar="ADDRESS", help="Ask the workers of a Dask cluster for versions and models."),
]


def register_doctor(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "doctor")
    def doctor(surface: Surface, egress: EgressOption = False, cluster: ExaminedOption = None) -> None:
        """Look at SQLite, disk, store, embedder and optional parts, and say what each finding means."""
        if cluster is not None:
            findings = examine_cluster(surface.settings, cluster)
        else:
            findings = examine_egress(surface.loaded) if egress else examine(surface.settings)
        surface.result([finding._asdict() for finding in findings], _doctor_table(findings))
        if any(finding.state == "problem" for finding in findings):
            raise typer.Exit(StorageError.exit_code)


def _doctor_table(findings: list[Finding]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("state", no_wrap=True)
    table.add_column("subject", no_wrap=True, style="bold")
    table.add_column("seen", overflow="fold")
    for finding in findings:
        table.add_row(Text(finding.state, style=_DOCTOR_STYLES[finding.state]), finding.subject, finding.seen)
        for line in (finding.meaning, f"-> {finding.remedy}" if finding.remedy else ""):
            if line:
                table.add_row("", "", Text(line, style="dim"))
    return table


# --- `assay health`: whether the memory works, channel by channel ---

_HEALTH_STYLES = {"ok": "green", "empty": "dim", "degraded": "yellow", "silent": "bold red"}


def register_health(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "health")
    def health(surface: Surface) -> None:
        """Ask every channel for something it must find, and show indexes, gate, learning, tests and drift."""
        found = surface.call(verb.HEALTH)
        surface.show(verb.HEALTH, found, _format_health(found))
        if any(part.state == "silent" for part in found.parts):
            raise typer.Exit(StorageError.exit_code)


def _format_health(found: HealthReport) -> Text:
    width = max(len(part.name) for part in found.parts)
    lines = [
        Text.assemble((f"{part.state:<9}", _HEALTH_STYLES.get(part.state, "")), f"{part.name:<{width}}  {part.reason}")
        for part in found.parts
    ]
    return Text("\n").join(lines)


# --- `assay index status|compact|reembed|delete`: the derived indexes, which can be made again at any time ---


def register_index(app: typer.Typer) -> None:
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
        """Fold what came later into a new base, and read facts again after an upgrade; searches go on meanwhile."""
        with wiring.open_engine(surface.settings, create=False) as engine:
            done, facts = engine.compact(surface.scope)
            found = plain(engine.indexes.status(surface.scope))
        lines = _facts(found)
        if facts is not None:
            counts = f"{count_of(facts.facts, 'fact')} of {count_of(facts.memories, 'memory')}"
            lines.append(f"read {counts}; outdated now: {facts.ended:,}")
        read = None if facts is None else facts._asdict()
        surface.result({"compacted": plain(done), "facts": read, "status": found}, "\n".join(lines))

    @command(group, "reembed")
    def reembed(surface: Surface, processes: ProcessesOption = None, cluster: ClusterOption = None) -> None:
        """Make vectors of the configured model for every chunk, then let search use them. Facts are read again too."""
        with open_executor(surface, processes, cluster) as executor:
            embedder = None if executor is None else wiring.spread_embedder(surface.settings, executor)
            with (
                wiring.open_engine(surface.settings, create=False, embedder=embedder) as engine,
                show_progress(surface, "chunks") as show,
            ):
                state = engine.reembed(surface.scope, progress=_count_chunks(show))
        surface.result(plain(state), f"{state.done:,} of {state.chunks:,} chunks have vectors of {state.model}")

    @command(group, "delete")
    def delete(surface: Surface) -> None:
        """Delete the files of the indexes; the next search makes what it needs again."""
        with wiring.open_engine(surface.settings, create=False) as engine:
            gone = engine.delete_indexes(surface.scope)
        surface.result({"deleted": gone}, f"Deleted {gone}" if gone else "There were no files.")


def _count_chunks(show: Show | None) -> Callable[[ModelState], None] | None:
    return None if show is None else lambda state: show(state.done, state.chunks, "chunks")


def _facts(found: dict[str, Any]) -> list[str]:
    return grid([(name.replace("_", " "), _value(value)) for name, value in found.items()])


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name or '(none)'} {_value(inner)}" for name, inner in value.items()) or "-"
    if isinstance(value, list):
        return ", ".join(_value(part) for part in value) or "-"
    return (
        "-" if value is None else f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    )


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    register_init(app)
    register_config(app)
    register_trust(app)
    register_doctor(app)
    register_health(app)
    register_index(app)
