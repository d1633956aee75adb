"""Seals: checksums that show when a file of a run or a baseline was edited after Assay wrote it.

    manifest.json   "seal": the hash of everything else in the file
    cases.jsonl     every line ends in "seal": the first digits of the hash of the line before it
    result.json     "seal": the hash of everything else in the file, of the manifest and of all lines of the cases

A seal is a plain hash, not a signature: it shows an edit, a damaged disk or a merge gone wrong. Whoever wants to forge
a run can compute a new seal. Files that version 0.1 wrote have no seal; they can be read, and are said to be unsealed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from assay.errors import BrokenSeal
from assay.hashing import HASH_PREFIX, content_hash

SEAL = "seal"
"""The field that holds the seal, in every file."""
RUN_AGAIN = "Run again, or let `assay run DATASET --resume {run}` compute it anew from the cases."
_DIGITS = 16
_LINE = re.compile(rb'(.*),"seal":"([0-9a-f]{16})"\}', re.DOTALL)


class ResultSeal(NamedTuple):
    """What the seal of a result holds."""

    result: str
    manifest: str
    cases: str


def add_seal(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a file with its seal."""
    bare = _without_seal(content)
    return {**bare, SEAL: content_hash(bare)}


def check_seal(content: Mapping[str, Any], path: Path, remedy: str) -> bool:
    """Refuse a file that was edited; return whether it has a seal at all."""
    if SEAL not in content:
        return False
    if content[SEAL] != content_hash(_without_seal(content)):
        raise _broken(path, remedy)
    return True


def seal_result(content: Mapping[str, Any], manifest: Mapping[str, Any], cases: bytes) -> dict[str, Any]:
    """Return the content of `result.json` with a seal over it and over the files it was computed from."""
    bare = _without_seal(content)
    return {**bare, SEAL: ResultSeal(content_hash(bare), _manifest_hash(manifest), _bytes_hash(cases))._asdict()}


def check_result(content: Mapping[str, Any], manifest: Mapping[str, Any], path: Path) -> bool:
    """Refuse a `result.json` that was edited or belongs to another manifest; return whether it has a seal at all."""
    remedy = RUN_AGAIN.format(run=path.parent.name)
    if SEAL not in content:
        if SEAL in manifest:  # version 0.1 sealed neither
            raise _broken(path, remedy)
        return False
    seal = _read_result_seal(content[SEAL], path, remedy)
    if seal.result != content_hash(_without_seal(content)):
        raise _broken(path, remedy)
    if seal.manifest != _manifest_hash(manifest):
        raise _broken(path.with_name("manifest.json"), "Run again, or take the file from a copy.")
    return True


def check_cases(content: Mapping[str, Any], cases: bytes, path: Path) -> None:
    """Refuse a `cases.jsonl` with other lines than those the result was computed from."""
    run = path.parent.name
    if SEAL in content:
        seal = _read_result_seal(content[SEAL], path, RUN_AGAIN.format(run=run))
        if seal.cases != _bytes_hash(cases):
            raise _broken(
                path,
                f"Run again, or take changed lines out: `assay run DATASET --resume {run}` asks those cases again.",
            )


def seal_line(line: str) -> str:
    """Return one line of `cases.jsonl` with its seal as the last field."""
    bare = line.removesuffix("}")
    return f'{bare},"{SEAL}":"{_line_digits(bare.encode())}"}}'


def check_line(line: bytes) -> bool | None:
    """Whether the seal of a line is right; None: the line has none."""
    found = _LINE.fullmatch(line)
    if found is None:
        return None
    return _line_digits(found[1]) == found[2].decode()


def _line_digits(bare: bytes) -> str:
    return hashlib.sha256(bare).hexdigest()[:_DIGITS]


def _without_seal(content: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name != SEAL}


def _manifest_hash(manifest: Mapping[str, Any]) -> str:
    return content_hash(_without_seal(manifest))


def _bytes_hash(content: bytes) -> str:
    return HASH_PREFIX + hashlib.sha256(content).hexdigest()


def _read_result_seal(found: Any, path: Path, remedy: str) -> ResultSeal:
    try:
        return ResultSeal(**found)
    except TypeError as problem:
        raise _broken(path, remedy) from problem


def _broken(path: Path, remedy: str) -> BrokenSeal:
    return BrokenSeal(f"{path} was changed after Assay wrote it: its content does not match its seal", remedy=remedy)
