"""Find and read the files of a public set below the folder that `--data` names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.errors import InputError, MalformedFile
from assay.hashing import HASH_PREFIX
from assay.regular_files import read_regular

LARGEST = 8 << 30
"""Bytes of one file: the largest public set is one file of 2.7 GB."""
DEPTHS = ("", "*/", "*/*/")
"""Folders below `--data` in which files are looked for."""


def find_files(data: Path, patterns: Iterable[str], *, what: str) -> list[Path]:
    """Return the files of the first pattern that has any, looked for in the folder and two levels below it."""
    wanted = tuple(patterns)
    for depth in DEPTHS:
        for pattern in wanted:
            found = sorted(path for path in data.glob(f"{depth}{pattern}") if path.is_file())
            if found:
                return found
    raise InputError(
        f"{data} has no file of {what}: looked for {', '.join(wanted)} there and in two levels of folders",
        remedy=f"Download {what} and name its folder with --data.",
    )


def find_file(data: Path, patterns: Iterable[str], *, what: str) -> Path:
    """Return the one file; several are refused, since which of them counts is not for a program to guess."""
    found = find_files(data, patterns, what=what)
    if len(found) > 1:
        names = ", ".join(str(path.relative_to(data)) for path in found)
        raise InputError(f"{what} is there more than once: {names}", remedy="Name the folder of one with --data.")
    return found[0]


def read_json(path: Path) -> Any:
    """Return the value of a JSON file."""
    try:
        return json.loads(read_regular(path, largest=LARGEST))
    except (OSError, ValueError) as problem:
        raise MalformedFile(f"cannot read {path}: {problem}", remedy="Give the file as it was published.") from problem


def read_json_lines(path: Path) -> list[Any]:
    """Return the values of a file with one JSON value a line."""
    try:
        lines = read_regular(path, largest=LARGEST).decode().splitlines()
        return [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError) as problem:
        raise MalformedFile(f"cannot read {path}: {problem}", remedy="Give the file as it was published.") from problem


def hash_files(paths: Iterable[Path]) -> dict[str, str]:
    """Return content hashes by file name."""
    return {
        path.name: HASH_PREFIX + hashlib.sha256(read_regular(path, largest=LARGEST)).hexdigest()
        for path in sorted(paths)
    }


def need(value: Any, key: str, path: Path) -> Any:
    """Return a field of an object; one that is not there is refused with the file."""
    if not isinstance(value, Mapping) or key not in value:
        has = ", ".join(map(repr, list(value)[:8])) if isinstance(value, Mapping) else type(value).__name__
        raise MalformedFile(
            f"{path} has an entry without {key!r}; it has {has}", remedy="Give the file as it was published."
        )
    return value[key]


def read_moment(text: str, *forms: str) -> datetime | None:
    """Return a date in one of the forms, in UTC; None where it has none of them."""
    for form in forms:
        try:
            return datetime.strptime(" ".join(text.split()), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None
