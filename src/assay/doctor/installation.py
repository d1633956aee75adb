"""What stands between this machine and a working Assay: each finding says what was seen, what it means, what to do.

Nothing is changed by looking.
"""

from __future__ import annotations

import platform
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from assay.doctor.finding import Finding
from assay.embedding import bundled
from assay.errors import AssayError, MissingExtra, ModelDamaged, StoreNotFound
from assay.extras import EXTRAS, install_command, missing_modules
from assay.settings import Settings, fit_to_show
from assay.wiring import list_checkpoints, open_store, scope_of
from assay.wiring.extensions import extension_problems

if TYPE_CHECKING:
    from assay.storage import Work
    from assay.storage.audit_chain import ChainCheck

SAFE_SQLITE = (3, 51, 3)
"""From here on SQLite itself survives two processes that write and checkpoint at the same instant."""
LOW_DISK_BYTES = 1_000_000_000
NO_DISK_BYTES = 50_000_000


def examine(settings: Settings) -> list[Finding]:
    """Look at everything; one failing look does not stop the others."""
    return [finding for look in _LOOKS for finding in look(settings)]


def _python(settings: Settings) -> Iterator[Finding]:  # noqa: ARG001 - one shape for all looks
    yield Finding("Python", "ok", platform.python_version())


def _sqlite(settings: Settings) -> Iterator[Finding]:  # noqa: ARG001 - one shape for all looks
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < SAFE_SQLITE:
        yield Finding(
            "SQLite",
            "note",
            version,
            "Before 3.51.3 two processes that write and checkpoint at once can damage a file. "
            "Assay's own processes take turns; other programs do not know of the turn.",
            "Open the store with other programs read-only.",
        )
    else:
        yield Finding("SQLite", "ok", version)
    with closing(sqlite3.connect(":memory:")) as connection:
        for feature, trial in _FEATURES.items():
            try:
                connection.execute(trial)
            except sqlite3.Error as problem:
                yield Finding(
                    f"SQLite {feature}", "problem", str(problem), "The store needs it.", "Use another build of Python."
                )
            else:
                yield Finding(f"SQLite {feature}", "ok", "works")


_FEATURES = {
    "full text": "CREATE VIRTUAL TABLE words USING fts5(body)",
    "strict tables": "CREATE TABLE strict_one (x INTEGER) STRICT",
    "upsert": "INSERT INTO strict_one VALUES (1) ON CONFLICT DO NOTHING",
}


def _extensions(settings: Settings) -> Iterator[Finding]:  # noqa: ARG001 - one shape for all looks
    for problem in extension_problems():
        yield Finding(
            "package",
            "note",
            problem,
            "What it adds cannot be used; everything else can.",
            "Repair or uninstall that package.",
        )


def _disk(settings: Settings) -> Iterator[Finding]:
    if "://" in settings.db:
        return
    folder = next(place for place in Path(settings.db).absolute().parents if place.exists())
    free = shutil.disk_usage(folder).free
    seen = f"{free / 1e9:.1f} GB free at {folder}"
    if free < NO_DISK_BYTES:
        yield Finding("Disk", "problem", seen, "Saves will fail.", "Free some space, or move the store with --db.")
    elif free < LOW_DISK_BYTES:
        yield Finding("Disk", "note", seen, "A checkpoint needs as much space as the store.", "Free some space.")
    else:
        yield Finding("Disk", "ok", seen)


def _store(settings: Settings) -> Iterator[Finding]:
    place = fit_to_show(settings.db)
    try:
        with open_store(settings, create=False, migrate=False) as store:
            with store.reading(scope_of(settings)) as work:
                memories = work.memories.count()
                chains = work.audit.check_everywhere()
                shortened = _find_shortened(settings, work)
            damage = store.damage()
            broken = [] if damage else store.problems()
            foreign = [] if damage else store.foreign_code()
            place = store.place
    except StoreNotFound as problem:
        yield Finding("Store", "note", problem.message, "The first save makes it.", problem.remedy)
        return
    except MissingExtra as problem:
        meaning = "There is no memory to keep; runs, comparisons, gates and reports need none."
        yield Finding("Store", "note", problem.message, meaning, problem.remedy)
        return
    except AssayError as problem:
        yield Finding("Store", "problem", problem.message, "It cannot be used like this.", problem.remedy)
        return
    for one in damage:
        yield Finding("Store", "problem", one, "The file is damaged.", "Restore a checkpoint: assay checkpoint list")
    if not damage:
        yield Finding("Store", "ok", f"{place}: {memories} memories of tenant {settings.tenant}")
    for one in broken:
        yield Finding("Store", "problem", one, "The tables disagree.", "Restore a checkpoint and report this.")
    for code in foreign:
        yield Finding(
            "Store",
            "problem",
            f"{code} was not made by Assay",
            "It runs with every save or read, and can copy or change what is kept.",
            "Find out who made it, and drop it; a checkpoint that holds it is not restored.",
        )
    yield from _audit_log(chains, shortened)
    yield from _permissions(settings)
    yield from _checkpoints(settings)


def _find_shortened(settings: Settings, work: Work) -> list[str]:
    """Tenants whose log no longer has the entry that it ended with when a checkpoint was made, with the checkpoint."""
    try:
        known = list_checkpoints(settings)
    except AssayError:
        # A description that cannot be read is a finding of its own.
        return []
    return [
        f"tenant {tenant}, checkpoint {one.id}" for one in known for tenant in work.audit.missing_heads(one.audit_heads)
    ]


def _audit_log(chains: Mapping[str, ChainCheck], shortened: Sequence[str]) -> Iterator[Finding]:
    for seen in shortened:
        yield Finding(
            "Audit log",
            "note",
            f"{seen}: the log does not have the entry that it ended with then",
            "Entries were cut off or written anew since, or the checkpoint was restored over a damaged store.",
            "Compare it with the log of that checkpoint.",
        )
    for tenant, check in chains.items():
        if not check.is_whole:
            yield Finding(
                "Audit log",
                "problem",
                f"tenant {tenant}, entry {check.broken_at}: {check.problem}",
                "Somebody changed the log outside of Assay; entries from there on prove nothing.",
                "Compare it with the log of a checkpoint from before.",
            )
    entries = sum(check.entries for check in chains.values())
    if all(check.is_whole for check in chains.values()):
        yield Finding("Audit log", "ok", f"{entries} entries, each fits the one before it")


def _permissions(settings: Settings) -> Iterator[Finding]:
    if "://" in settings.db:
        return
    mode = stat.S_IMODE(Path(settings.db).stat().st_mode)
    if mode & 0o077:
        yield Finding(
            "Permissions",
            "note",
            f"{mode:o}",
            "Other users of this machine can read what is remembered.",
            f"chmod 600 {settings.db}",
        )
    else:
        yield Finding("Permissions", "ok", f"{mode:o}: the owner alone")


def _checkpoints(settings: Settings) -> Iterator[Finding]:
    try:
        count = len(list_checkpoints(settings))
    except AssayError as problem:
        yield Finding("Checkpoints", "problem", problem.message, "One of them cannot be used.", problem.remedy)
        return
    if count:
        yield Finding("Checkpoints", "ok", f"{count}")
    else:
        yield Finding("Checkpoints", "note", "none", "There is nothing to go back to.", "assay checkpoint create NAME")


def _embedder(settings: Settings) -> Iterator[Finding]:  # noqa: ARG001 - one shape for all looks
    absent = [file.what for file in bundled.FILES if file.find() is None]
    if absent:
        yield Finding(
            "Embedder",
            "note",
            f"not installed: {', '.join(absent)}",
            "Search by meaning is not possible; search by words is.",
            install_command("memory"),
        )
        return
    try:
        places = [file.checked(extra=bundled.EXTRA) for file in bundled.FILES]
    except ModelDamaged as problem:
        yield Finding("Embedder", "problem", problem.message, "It will not be loaded.", problem.remedy)
    else:
        yield Finding("Embedder", "ok", f"{bundled.NAME}, {places[0].stat().st_size / 1e6:.0f} MB")


def _extras(settings: Settings) -> Iterator[Finding]:  # noqa: ARG001 - one shape for all looks
    for extra in EXTRAS:
        missing = _missing_parts(extra)
        if missing:
            seen = f"not installed: {', '.join(missing)}"
            yield Finding(f"Part {extra}", "note", seen, "Its commands say so.", install_command(extra))
        else:
            yield Finding(f"Part {extra}", "ok", "installed")


def _missing_parts(extra: str) -> list[str]:
    """What an extra lacks: the extras it contains by their names, its own packages by their modules."""
    contained = [f"the part {name}" for name in EXTRAS[extra].includes if missing_modules(name)]
    return [*contained, *(module for module in missing_modules(extra) if module in EXTRAS[extra].modules)]


_LOOKS: tuple[Callable[[Settings], Iterator[Finding]], ...] = (
    _python,
    _sqlite,
    _disk,
    _store,
    _embedder,
    _extras,
    _extensions,
)
