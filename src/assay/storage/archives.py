"""Files that hold rows: archives of rows that left the store, and erasing from such files.

- Archives: compressed JSON lines that can be verified and restored.
- Erase from known files: those recorded in the store.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, NoReturn

from assay.errors import MalformedFile
from assay.hashing import HASH_PREFIX, canonical_json
from assay.private_files import make_private_folder
from assay.records import Scope
from assay.regular_files import open_regular
from assay.storage.backend import of_file
from assay.storage.erasing import Marks

if TYPE_CHECKING:
    from assay.storage.store import Store


# --- Archives: compressed JSON lines that can be verified and restored ---
#
# The first line holds the kind, the format and the tenant; each further line is one row; the last line has the number
# of rows and the hash of everything before it. A file is written under a temporary name, synced, read back and only
# then renamed, so a file with its final name is complete. One that was cut or changed later is refused, with the line.

FORMAT = 1
SUFFIX = ".jsonl.gz"
UNFINISHED = ".making"
_KIND = "assay archive"
LONGEST_LINE = 64_000_000
"""Characters in one row: four times the longest text a field may hold."""


class Archive(NamedTuple):
    """An archive that was verified to be complete."""

    path: Path
    tenant: str
    rows: int


def write(path: Path, tenant: str, rows: Iterable[Mapping[str, Any]]) -> Archive:
    """Write an archive, sync it to disk and verify it."""
    beside = path.with_name(path.name + UNFINISHED)
    try:
        make_private_folder(path.parent)
        try:
            _write(beside, tenant, rows)
            made = verify(beside)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
        _sync(path.parent)
    except OSError as problem:
        raise of_file(problem, f"cannot write the archive {path}") from problem
    return made._replace(path=path)


def verify(path: Path) -> Archive:
    """Read a whole archive; refuse it if anything is missing or changed."""
    reading = _Reading(path)
    for _ in reading.rows():
        pass
    return Archive(path, reading.tenant, reading.count)


def read(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of an archive. Damage may show only at its end, so use no row before all are read."""
    return _Reading(path).rows()


class _Reading:
    """Reads one file once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tenant = ""
        self.count = 0
        self._line = 0
        self._digest = hashlib.sha256()

    def rows(self) -> Iterator[Mapping[str, Any]]:
        try:
            with open_regular(self.path) as raw, gzip.GzipFile(fileobj=raw) as file:
                yield from self._rows(file)
        except FileNotFoundError:
            raise MalformedFile(f"there is no archive {self.path}", remedy="Check the path.") from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
            self._refuse(f"the file is cut off or damaged ({problem})")
        except OSError as problem:
            raise of_file(problem, f"cannot read {self.path}") from problem

    def _rows(self, file: BinaryIO | gzip.GzipFile) -> Iterator[Mapping[str, Any]]:
        first, _ = self._next(file)
        if first.get("kind") != _KIND or first.get("format") != FORMAT or not isinstance(first.get("tenant"), str):
            self._refuse(f"this is not the beginning of an {_KIND} of format {FORMAT}")
        self.tenant = first["tenant"]
        while True:
            row, before = self._next(file)
            if "end" in row:
                self._check_end(row, before, file)
                return
            self.count += 1
            yield row

    def _next(self, file: BinaryIO | gzip.GzipFile) -> tuple[dict[str, Any], str]:
        """Return the next line, and the hash of all lines before it."""
        self._line += 1
        before = self._digest.hexdigest()
        line = file.readline(LONGEST_LINE)
        if not line.endswith(b"\n"):
            self._refuse("the file ends before its last line" if len(line) < LONGEST_LINE else "the line is too long")
        self._digest.update(line)
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as problem:
            self._refuse(f"not JSON: {problem}")
        if not isinstance(found, dict):
            self._refuse("not a JSON object")
        return found, before

    def _check_end(self, row: Mapping[str, Any], before: str, file: BinaryIO | gzip.GzipFile) -> None:
        if row.get("end") != self.count or row.get("content") != HASH_PREFIX + before:
            self._refuse(f"the last line does not match: it states {row.get('end')} rows, or another content")
        if file.read(1):
            self._refuse("there is more data after the last line")

    def _refuse(self, problem: str) -> NoReturn:
        raise MalformedFile(
            f"{self.path}, line {self._line}: {problem}",
            remedy="Bring the file back from a backup; nothing was read into the store.",
        )


def _write(path: Path, tenant: str, rows: Iterable[Mapping[str, Any]]) -> None:
    digest, count = hashlib.sha256(), 0
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as raw:
        with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as file:
            for row in _frame(tenant, rows):
                if "end" in row:
                    row = {**row, "end": count - 1, "content": HASH_PREFIX + digest.hexdigest()}  # noqa: PLW2901 - filled in
                line = canonical_json(row).encode() + b"\n"
                digest.update(line)
                file.write(line)
                count += 1
        raw.flush()
        os.fsync(raw.fileno())


def _frame(tenant: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    yield {"kind": _KIND, "format": FORMAT, "tenant": tenant}
    yield from rows
    yield {"end": 0}


def _sync(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


# --- Erase from known files ---
#
# The store records every file that it wrote rows to. An archive that cannot be read is reported and not changed: it may
# be the only copy of other rows.


class StruckFiles(NamedTuple):
    """The result of erasing from files."""

    changed: tuple[str, ...]
    unreadable: tuple[str, ...]
    """Files that could not be read and may still hold the erased text."""


def files_holding(store: Store, scope: Scope, marks: Marks | None) -> tuple[str, ...]:
    """Return the known files of a tenant that hold a mark or cannot be read; without marks, all of them."""
    with store.reading(scope) as work:
        known = [Path(file.path) for file in work.files.every()]
    return tuple(str(path) for path in known if path.is_file() and (marks is None or _may_hold(path, marks)))


def _may_hold(path: Path, marks: Marks) -> bool:
    try:
        return any(marks.in_value(row) for row in _rows(path))
    except (MalformedFile, OSError):
        return True


def _rows(path: Path) -> Iterable[Any]:
    if path.name.endswith(SUFFIX):
        return read(path)
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def strike_files(store: Store, scope: Scope, marks: Marks | None) -> StruckFiles:
    """Erase marked rows from every known file of a tenant; without marks, delete the files."""
    with store.reading(scope) as work:
        known = [Path(file.path) for file in work.files.every()]
    changed, unreadable = [], []
    for path in known:
        # An unfinished archive, left by a killed process, holds rows that are still in the store.
        path.with_name(path.name + UNFINISHED).unlink(missing_ok=True)
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
    # Other files have no rows that could be removed one by one, so a file that holds a mark is deleted.
    if marks is None or not path.name.endswith(SUFFIX):
        held = marks is None or _may_hold(path, marks)
        if held:
            path.unlink(missing_ok=True)
        return held
    rows = list(read(path))
    kept = [row for row in rows if not marks.in_value(row)]
    if len(kept) == len(rows):
        return False
    if kept:
        write(path, verify(path).tenant, kept)
    else:
        path.unlink()
    return True
