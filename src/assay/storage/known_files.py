"""Erasing from the files the store knows of: archives lose the rows, other files go when they hold something.

An archive that cannot be read is told, not touched: it may be the only copy of everybody else's rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.errors import MalformedFile
from assay.records import Scope
from assay.storage import archives
from assay.storage.failures import of_file
from assay.storage.marks import Marks

if TYPE_CHECKING:
    from assay.storage.store import Store


class StruckFiles(NamedTuple):
    """What became of the files."""

    changed: tuple[str, ...]
    unreadable: tuple[str, ...]
    """They may still hold it."""


def files_holding(store: Store, scope: Scope, marks: Marks | None) -> tuple[str, ...]:
    """The known files of a tenant that hold something, or may; without marks, all that are there."""
    with store.reading(scope) as work:
        known = [Path(one.path) for one in work.files.every()]
    return tuple(str(path) for path in known if path.is_file() and (marks is None or _may_hold(path, marks)))


def _may_hold(path: Path, marks: Marks) -> bool:
    try:
        return any(marks.in_value(row) for row in _rows(path))
    except (MalformedFile, OSError):
        return True


def _rows(path: Path) -> Iterable[Any]:
    if path.name.endswith(archives.SUFFIX):
        return archives.read(path)
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def strike_files(store: Store, scope: Scope, marks: Marks | None) -> StruckFiles:
    """Erase from every known file of a tenant; without marks, the files go."""
    with store.reading(scope) as work:
        known = [Path(one.path) for one in work.files.every()]
    changed, unreadable = [], []
    for path in known:
        # What a kill left of an archive in the making holds rows that are still in the store.
        path.with_name(path.name + archives.UNFINISHED).unlink(missing_ok=True)
        try:
            if path.is_file() and _strike(path, marks):
                changed.append(str(path))
        except MalformedFile:
            unreadable.append(str(path))
        except OSError as problem:
            raise of_file(problem, f"cannot erase from {path}") from problem
    gone = [str(path) for path in known if not path.exists()]
    with store.writing(scope) as work:
        work.files.drop(gone)
    return StruckFiles(tuple(changed), tuple(unreadable))


def _strike(path: Path, marks: Marks | None) -> bool:
    # Any other file is not ours to cut: one that holds something goes as a whole.
    if marks is None or not path.name.endswith(archives.SUFFIX):
        held = marks is None or _may_hold(path, marks)
        if held:
            path.unlink(missing_ok=True)
        return held
    rows = list(archives.read(path))
    kept = [row for row in rows if not marks.in_value(row)]
    if len(kept) == len(rows):
        return False
    if kept:
        archives.write(path, archives.verify(path).tenant, kept)
    else:
        path.unlink()
    return True
