"""The base: everything about one tenant at one position of the change log, immutable, with its files.

- The manifest: the description of a base on disk, so that one that does not fit is never searched.
- The base.
- Generations on disk: a folder for each tenant, in it one for each generation, and a file that names the current one.
- The default folder: beside the SQLite file, or in the user's cache folder for a server.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from enum import IntEnum
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from assay.index.columns import Fact, Whole
from assay.index.lexical import LexicalBase
from assay.index.options import IndexOptions
from assay.index.shared_files import map_table, touch_pages
from assay.index.vectors import MATRIX, VectorBase, open_vectors
from assay.private_files import make_private_folder
from assay.records import LogPosition
from assay.storage import Store
from assay.text.terms import ANALYSIS_VERSION

# --- The manifest: the description of a base on disk, so that one that does not fit is never searched ---

FORMAT = 4
"""Of the files of a base; another one is built anew."""
NAME = "manifest.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """One base."""

    generation: str
    store: str
    """Which store it was made of."""
    tenant: str
    epoch: str
    seq: int
    model: str | None
    """Whose vectors; None when it holds none."""
    dimension: int
    passages: int
    memories: int
    vectors: int
    tokens: int
    title_repeats: int
    folders: tuple[str, ...]
    types: tuple[str, ...]
    """Context types and entity types, by their code in the table of memories."""
    grown_from: str | None = None
    """The generation it was added to; None when it was built whole."""
    format: int = FORMAT
    analysis: str = ANALYSIS_VERSION
    files: Mapping[str, int]
    """The size of every file."""

    @property
    def position(self) -> LogPosition:
        """The position of the change log it includes."""
        return LogPosition(self.epoch, self.seq)

    def as_text(self) -> str:
        """As it is written."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1, sort_keys=True)


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest in a folder. Raises OSError, ValueError or TypeError when there is none."""
    said: Mapping[str, Any] = json.loads((folder / NAME).read_text(encoding="utf-8"))
    return Manifest(**{**said, "folders": tuple(said["folders"]), "types": tuple(said["types"])})


def file_sizes(folder: Path) -> dict[str, int]:
    """Every file below a folder but the manifest itself and the locks of a writer."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock" and path.name != NAME)
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}


# --- The base ---
#
# It lies in the files of one folder, mapped into memory, or in memory alone; whoever reads it cannot tell.

MEMORIES, PASSAGES, PENDING, WORDS = "memories.npy", "passages.npy", "pending.npy", "words"


class Row(IntEnum):
    """The rows of the table of passages."""

    NUMBER = 0
    MEMORY_NUMBER = 1
    MEMORY_PLACE = 2
    """The place of its memory in the base's table of memories."""
    STAMP = 3
    POSITION = 4
    TOKENS = 5


@dataclass(frozen=True, kw_only=True, slots=True, weakref_slot=True)
class Base:
    """One generation."""

    manifest: Manifest | None
    """None: there is no base, and everything is in the tail."""
    memories: Whole
    passages: Whole
    pending: Whole
    """Numbers of passages that must be read again when the base is opened."""
    folders: tuple[str, ...]
    types: tuple[str, ...]
    lexical: LexicalBase | None
    vectors: VectorBase | None
    folder: Path | None
    """None: it is in memory only."""

    @property
    def count(self) -> int:
        """How many passages it holds."""
        return int(self.passages.shape[1])

    @property
    def numbers(self) -> Whole:
        """The passages' numbers, ascending."""
        found: Whole = self.passages[Row.NUMBER]
        return found

    def require_manifest(self) -> Manifest:
        """Return the manifest; raises ValueError if the base has none."""
        if self.manifest is None:
            raise ValueError
        return self.manifest


def no_base() -> Base:
    """Nothing, for tenants that fit into the tail."""
    return Base(
        manifest=None,
        memories=np.zeros((len(Fact), 0), np.int64),
        passages=np.zeros((len(Row), 0), np.int64),
        pending=np.zeros(0, np.int64),
        folders=(),
        types=(),
        lexical=None,
        vectors=None,
        folder=None,
    )


def open_base(folder: Path, manifest: Manifest, *, options: IndexOptions) -> Base:
    """Map the files of a generation."""
    return Base(
        manifest=manifest,
        memories=map_table(folder / MEMORIES, manifest.memories),
        passages=map_table(folder / PASSAGES, manifest.passages),
        pending=np.load(folder / PENDING),
        folders=manifest.folders,
        types=manifest.types,
        lexical=LexicalBase.open(folder / WORDS, tokens=manifest.tokens, all_words_below=options.words_below),
        vectors=open_vectors(folder, options=options) if manifest.model is not None else None,
        folder=folder,
    )


def warm_base(base: Base) -> None:
    """Read what every search reads, in the thread that made the base: else the first search waits for the pages."""
    touch_pages(*(base.memories[fact] for fact in (Fact.NUMBER, Fact.TIER, Fact.SUPERSEDED)))
    touch_pages(*(base.passages[row] for row in (Row.NUMBER, Row.MEMORY_NUMBER, Row.MEMORY_PLACE)))
    if base.vectors is not None:
        touch_pages(base.vectors.places)
        if base.vectors.codes is not None:
            touch_pages(*base.vectors.codes.columns)


# --- Generations on disk: a folder for each tenant, in it one for each generation, and a file that names the current
#     one
#
#     <folder>/<hash of the tenant>/<generation>/manifest.json, memories.npy, passages.npy, words/, vectors.npy, ...
#     <folder>/<hash of the tenant>/current, fold.lock
#
# A generation is written under another name, made durable and renamed; then `current` is replaced. Everything here may
# be deleted at any time: what is mapped stays readable, and what is missing is built anew.

_CURRENT = "current"
_LOCK = "fold.lock"
_UNFINISHED = ".making-"


class NoBase(Exception):
    """There is no usable base; the message gives the reason."""


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
    def lock(self) -> Iterator[bool]:
        """Hold the lock for folding; yields whether this process got it."""
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
        """Delete everything but the lock, after a running fold has ended; None when there is nothing."""
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
    wrong = sorted(name for name, size in manifest.files.items() if not _has_size(name, sizes.get(name), size))
    if wrong:
        raise NoBase(f"generation {manifest.generation} is damaged: {', '.join(wrong)}")


def _has_size(name: str, found: int | None, expected: int) -> bool:
    """Whether a file has its size; that of the vectors may be longer, since a later base adds to it."""
    return found == expected or (name == MATRIX and found is not None and found > expected)


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


# --- The default folder: beside the SQLite file, or in the user's cache folder for a server ---


def default_folder(store: Store) -> Path:
    """The folder of a store's indexes."""
    if store.backend_name == "sqlite":
        return Path(store.place + "-index")
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "assay" / "index" / hash_of(store.place)
