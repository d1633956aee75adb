"""Bases on disk: one folder per tenant, a folder in it for each generation, and a file `current` that names one.

    <folder>/<hash of the tenant>/<generation>/manifest.json, memories.npy, passages.npy, words/, vectors.npy, ...
    <folder>/<hash of the tenant>/current, fold.lock

A generation is written under another name, made durable and renamed; then `current` is replaced. Everything here may
be deleted at any time: what is mapped stays readable, and what is missing is built anew.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from assay.index.base import Base, open_base
from assay.index.manifest import FORMAT, NAME, Manifest, file_sizes, read_manifest
from assay.index.options import IndexOptions
from assay.private_files import make_private_folder
from assay.records import LogPosition
from assay.text.terms import ANALYSIS_VERSION

_CURRENT = "current"
_LOCK = "fold.lock"
_UNFINISHED = ".making-"


class NoBase(Exception):
    """There is no base that can be used; the message says why."""


class Generations:
    """The bases of one tenant of one store."""

    def __init__(self, folder: Path, *, store: str, tenant: str) -> None:
        self.folder = folder / hash_of(tenant)
        self._store = store
        self._tenant = hash_of(tenant)

    def load(self, model: str | None, end: LogPosition, *, options: IndexOptions) -> Base:
        """Map the current base; `NoBase` when there is none that fits the model, the log and this version."""
        try:
            name = (self.folder / _CURRENT).read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            raise NoBase("there is no index yet") from None
        folder = self.folder / Path(name).name
        try:
            manifest = read_manifest(folder)
        except (OSError, ValueError, TypeError, KeyError) as problem:
            raise NoBase(f"generation {name!r} has no readable manifest ({type(problem).__name__})") from None
        self._check(manifest, options)
        _check_content(manifest, folder, model, end)
        try:
            return open_base(folder, manifest, options=options)
        except Exception as problem:
            raise NoBase(f"generation {name} cannot be opened: {problem}") from problem

    def is_current(self, base: Base) -> bool:
        """Whether a base is the one that `current` names, with its files in place."""
        try:
            name = (self.folder / _CURRENT).read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            return False
        return base.folder is not None and base.folder == self.folder / name and base.folder.is_dir()

    def _check(self, manifest: Manifest, options: IndexOptions) -> None:
        expected = {
            "format": FORMAT,
            "analysis": ANALYSIS_VERSION,
            "title_repeats": options.title_repeats,
            "store": self._store,
            "tenant": self._tenant,
        }
        for field, value in expected.items():
            if (found := getattr(manifest, field)) != value:
                raise NoBase(f"generation {manifest.generation} has {field} {found!r}, not {value!r}")

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Whether this process alone may fold, for the time of the body."""
        make_private_folder(self.folder)
        file = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            os.ftruncate(file, 0)
            os.pwrite(file, str(os.getpid()).encode(), 0)
            try:
                yield True
            finally:
                with suppress(OSError):
                    os.ftruncate(file, 0)
        finally:
            os.close(file)

    def lock_holder(self) -> str | None:
        """The process that folds now, if any; a killed one leaves its number, but not the lock."""
        try:
            with (self.folder / _LOCK).open(encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return (self.folder / _LOCK).read_text(encoding="utf-8").strip() or "unknown"
        except OSError:
            return None
        return None

    @contextmanager
    def making(self) -> Iterator[Path]:
        """A folder to write a new generation into; gone again when the body raises."""
        make_private_folder(self.folder)
        folder = self.folder / f"{_UNFINISHED}{uuid4().hex}"
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def publish(self, made: Path, manifest: Manifest) -> Path:
        """Make what was written durable, give it its name, and let `current` name it."""
        (made / NAME).write_text(manifest.as_text(), encoding="utf-8")
        _make_durable(made)
        final = self.folder / manifest.generation
        made.rename(final)
        pointer = self.folder / f"{_UNFINISHED}{uuid4().hex}"
        pointer.write_text(manifest.generation, encoding="utf-8")
        _sync(pointer)
        pointer.rename(self.folder / _CURRENT)
        _sync(self.folder)
        return final

    def sweep(self, keep: str) -> None:
        """Delete every generation but one, and what killed processes left unfinished. Hold the lock."""
        with suppress(OSError):
            for path in self.folder.iterdir():
                if path.is_dir() and path.name != keep:
                    shutil.rmtree(path, ignore_errors=True)
                elif path.name.startswith(_UNFINISHED):
                    path.unlink(missing_ok=True)

    def erase(self) -> Path | None:
        """Delete everything but the lock, after whoever folds now; None when there is nothing."""
        if not self.folder.is_dir():
            return None
        file = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            for path in [path for path in self.folder.iterdir() if path.name != _LOCK]:
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
        finally:
            os.close(file)
        return self.folder

    def bytes_on_disk(self) -> int:
        """What lies in the tenant's folder."""
        total = 0
        for path in self.folder.rglob("*"):
            with suppress(OSError):
                total += path.stat().st_size if path.is_file() else 0
        return total


def _check_content(manifest: Manifest, folder: Path, model: str | None, end: LogPosition) -> None:
    if manifest.model != model:
        raise NoBase(f"generation {manifest.generation} holds vectors of {manifest.model}, not of {model}")
    if manifest.epoch != end.epoch or manifest.seq > end.seq:
        raise NoBase(f"generation {manifest.generation} is of another past of the store")
    sizes = file_sizes(folder)
    wrong = sorted(name for name, size in manifest.files.items() if sizes.get(name) != size)
    if wrong:
        raise NoBase(f"generation {manifest.generation} is damaged: {', '.join(wrong)}")


def hash_of(text: str) -> str:
    """A name for a folder that any text can have."""
    return sha256(text.encode("utf-8")).hexdigest()[:16]


def _make_durable(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        _sync(path)
    _sync(folder)


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
