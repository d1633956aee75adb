"""What a process says it did, kept outside the store: one line for each promise it was given.

A line is one `write` to a file opened for appending, so it outlives a SIGKILL of its writer. `try` is written before
an operation and `done` after its unit of work has ended: between the two, either state of the store is right.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Self


class Ledger:
    """An append-only file of lines, written by one process and read by another."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

    def note(self, *words: object) -> None:
        """Write a line."""
        os.write(self._file, (" ".join(str(word) for word in words) + "\n").encode())

    def close(self) -> None:
        """Give the file back."""
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read(path: Path) -> list[list[str]]:
    """Every whole line, as words."""
    if not path.exists():
        return []
    *whole, _ = path.read_text(encoding="utf-8").split("\n")
    return [line.split(" ") for line in whole]
