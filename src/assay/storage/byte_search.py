"""Which files still hold certain bytes. Run as a program, in a process of its own.

A live SQLite file must not be opened by plain file calls in a process that has it open: closing it would drop SQLite's
locks. So the parent runs this file, with one JSON object on standard input (`files`, `needles` in hexadecimal, ASCII in
small letters), and reads which needles were found in which file. It imports nothing of Assay and starts at once.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

BLOCK = 1 << 22


def found_in(path: Path, needles: Sequence[bytes]) -> list[int]:
    """Return the positions, in the list of needles, of those that a file contains; ASCII case does not matter."""
    overlap = max(map(len, needles), default=1) - 1
    found: set[int] = set()
    kept = b""
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            held = kept + block.lower()
            found |= {place for place, needle in enumerate(needles) if needle in held}
            kept = held[-overlap:] if overlap else b""
    return sorted(found)


def main() -> None:
    """Search, and print the needles found in each file."""
    request = json.load(sys.stdin)
    needles = [bytes.fromhex(needle) for needle in request["needles"]]
    found = {}
    for name in request["files"]:
        try:
            found[name] = found_in(Path(name), needles)
        except FileNotFoundError:
            continue
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
