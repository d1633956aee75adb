"""Find files: every one below the named paths, once, in order, and none outside the root.

A link is followed when what it leads to lies inside the folder that was named; with `follow_links`, anywhere inside
the root. The place it leads to is what counts, so a file that two links lead to is found once and a loop of links ends.
Names that begin with a dot are passed over unless they were named themselves. What is not taken is returned with the
reason, never dropped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from assay.errors import InputError
from assay.memory.ingesting.report import Skip
from assay.records.memory import RECORDS, is_for_programs, kind_of

LONGEST_GLOB = 1_000
"""Characters of a pattern: making one takes time that grows with the square of its brackets."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundFile:
    """A file to be read."""

    path: Path
    """Where it lies, links resolved."""
    rel_path: str
    """From the root, with forward slashes."""
    source_id: str
    """The root's own name and the path below it: what the file is known by from one run to the next."""
    size: int
    changed_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Walked:
    """What a walk found."""

    files: tuple[FoundFile, ...]
    skipped: tuple[Skip, ...]
    folders: tuple[str, ...]
    """The source ids of the folders that were named: what lies below them was looked for completely."""
    passed: frozenset[str] = frozenset()
    """The source ids of files and folders that are there and were passed over."""


def walk(
    paths: Sequence[Path], *, root: Path | None = None, globs: Sequence[str] = (), follow_links: bool = False
) -> Walked:
    """Every file that the paths lead to, below the root that is named or that the paths suggest."""
    return _Walk((root or suggested_root(paths)).resolve(), tuple(globs), follow_links=follow_links).over(paths)


def suggested_root(paths: Sequence[Path]) -> Path:
    """The working folder when it holds every path, else the nearest folder that does, short of the whole disk."""
    here = Path.cwd().resolve()
    places = [place for place in map(_resolve, paths) if place is not None]
    if not places or all(place.is_relative_to(here) for place in places):
        return here
    common = Path(os.path.commonpath([place if place.is_dir() else place.parent for place in places]))
    return here if common == Path(common.anchor) else common


def walk_again(
    paths: Sequence[Path], *, root: Path | None = None, globs: Sequence[str] = (), follow_links: bool = False
) -> Walked:
    """The same for paths that were there before: one that has gone since is simply empty."""
    there = [path for path in paths if path.exists()]
    return walk(there, root=root, globs=globs, follow_links=follow_links)


class _Walk:
    def __init__(self, root: Path, globs: tuple[str, ...], *, follow_links: bool) -> None:
        if not root.is_dir():
            raise InputError(f"the root {root} is no folder", remedy="Name a folder that exists.")
        if any(len(glob) > LONGEST_GLOB for glob in globs):
            raise InputError(f"a pattern has over {LONGEST_GLOB:,} characters", remedy="Give a shorter --glob.")
        self._root = root
        self._globs = globs
        self._follow_links = follow_links
        self._top = root
        """The folder that links may not lead out of."""
        self._seen: set[Path] = set()
        self._files: list[FoundFile] = []
        self._skipped: list[Skip] = []
        self._passed: set[str] = set()

    def over(self, paths: Sequence[Path]) -> Walked:
        places = [self._check_named(path) for path in paths]
        for place in places:
            if place.is_dir():
                self._top = self._root if self._follow_links else place
                self._folder(place)
            else:
                self._file(place, self._relative(place))
        folders = tuple(self._source_id(self._relative(place)) for place in places if place.is_dir())
        return Walked(
            files=tuple(self._files), skipped=tuple(self._skipped), folders=folders, passed=frozenset(self._passed)
        )

    def _check_named(self, path: Path) -> Path:
        """A path the user wrote: it must be there and inside the root, or nothing is begun."""
        place = _resolve(path)
        if place is None or not place.exists():
            raise InputError(f"there is no file or folder {path}", remedy="Check the path.")
        if not place.is_relative_to(self._root):
            raise InputError(
                f"{path} is outside the root {self._root}",
                remedy="Name the folder it belongs to with --root (in Python: root=...).",
            )
        return place

    def _folder(self, folder: Path) -> None:
        if folder in self._seen:
            return
        self._seen.add(folder)
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as problem:
            self._skip(folder, "unreadable", problem.strerror or str(problem))
            return
        for entry in entries:
            self._entry(Path(entry.path))

    def _entry(self, path: Path) -> None:
        if path.name.startswith("."):
            self._skip(path, "hidden", "the name begins with a dot")
            return
        place = _resolve(path)
        if place is None:
            self._skip(path, "link", "a loop of links")
        elif not place.is_relative_to(self._top):
            self._skip(path, "outside", self._leads_out(place))
        elif place.is_dir():
            self._folder(place)
        elif self._is_wanted(place):
            self._file(place, self._relative(place))
        elif self._globs:
            self._passed.add(self._source_id(self._relative(place)))
        else:
            what = path.name if is_for_programs(path) else path.suffix or "no suffix"
            self._skip(path, "kind", f"{what} is not read unless the file or a pattern names it")

    def _leads_out(self, place: Path) -> str:
        if not place.is_relative_to(self._root):
            return f"the link leads out of the root, to {place}"
        return f"the link leads out of {self._top}, to {place}; --follow-links takes it"

    def _is_wanted(self, place: Path) -> bool:
        if not self._globs:
            return kind_of(place) is not None or place.suffix.lower() in RECORDS
        relative = self._relative(place)
        return any(fnmatchcase(relative, glob) or fnmatchcase(place.name, glob) for glob in self._globs)

    def _file(self, place: Path, relative: str) -> None:
        if place in self._seen:
            return
        self._seen.add(place)
        try:
            seen = place.stat()
        except OSError as problem:
            self._skip(place, "unreadable", problem.strerror or str(problem))
            return
        if not place.is_file():
            self._skip(place, "kind", "neither a file nor a folder")
            return
        self._files.append(
            FoundFile(
                path=place,
                rel_path=relative,
                source_id=self._source_id(relative),
                size=seen.st_size,
                changed_ns=seen.st_mtime_ns,
            )
        )

    def _relative(self, place: Path) -> str:
        return place.relative_to(self._root).as_posix()

    def _source_id(self, relative: str) -> str:
        return (PurePosixPath(self._root.name) / relative).as_posix()

    def _skip(self, path: Path, reason: str, detail: str) -> None:
        relative = self._relative(path)
        self._passed.add(self._source_id(relative))
        self._skipped.append(Skip(place=relative, reason=reason, detail=detail))


def _resolve(path: Path) -> Path | None:
    """Where a path leads; None for a loop of links."""
    try:
        return path.resolve(strict=True)
    except FileNotFoundError:
        return path.resolve()
    except (OSError, RuntimeError):
        return None


def changed(before: Sequence[FoundFile], after: Sequence[FoundFile]) -> Iterator[str]:
    """Source ids of files that came, went, or differ in size or time."""
    old = {one.source_id: (one.size, one.changed_ns) for one in before}
    new = {one.source_id: (one.size, one.changed_ns) for one in after}
    yield from sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
