"""Files written whole or not at all, and what is said when the disk refuses."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.errors import InputError
from assay.private_files import make_private_folder, open_private


def write_lines(path: Path, lines: Iterable[str], *, private: bool = False) -> None:
    """Write a text file under a passing name and put it in place at the end; packed when it is named .gz.

    A `private` file can be read by its owner alone, and so can folders that are made for it.
    """
    with writing(path):
        make_private_folder(path.parent) if private else path.parent.mkdir(parents=True, exist_ok=True)
        passing = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            if private:
                os.close(open_private(passing, os.O_WRONLY | os.O_EXCL))
            _write(passing, lines, packed=path.suffix == ".gz")
            passing.replace(path)
        finally:
            passing.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say what could not be written, instead of what the system calls it."""
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise InputError(
            f"{problem.filename or path} cannot be written: {reason}", remedy="Check the path and the space left there."
        ) from problem


def inside(root: Path, name: str) -> Path | None:
    """A path below a folder; None for one that leads out of it."""
    place = (root / name).resolve()
    return place if place.is_relative_to(root.resolve()) and not Path(name).is_absolute() else None


def _write(path: Path, lines: Iterable[str], *, packed: bool) -> None:
    if packed:
        with gzip.open(path, "wt", encoding="utf-8", newline="\n") as opened:
            opened.writelines(lines)
    else:
        with path.open("w", encoding="utf-8", newline="") as plain:
            plain.writelines(lines)
