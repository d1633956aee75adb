"""The dataset's file that a system means: as it is spelt, below another root, or with the name of a chunk behind it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

_CHUNK_NAME = re.compile(r"(?:::?chunk[:_-]?|::|#).*\Z")
"""What chunkers append to the path of a document: `faq.md#3`, `faq.md::12`, `faq.md:chunk:0`."""


class Paths:
    """The files of a dataset."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = frozenset(known)
        self._ending: dict[str, list[str]] = {}
        for path in sorted(self._known):
            for ending in _endings(path):
                self._ending.setdefault(ending, []).append(path)

    def find(self, given: str) -> str | None:
        """The file that is meant; None: it is not known, or it could be several."""
        if given in self._known:
            return given
        spelt = given.replace("\\", "/").removeprefix("file://").strip("/")
        whole = self._below_another_root(PurePosixPath(spelt).as_posix())
        return whole or self._below_another_root(_CHUNK_NAME.sub("", spelt))

    def _below_another_root(self, given: str) -> str | None:
        """Either path may be longer. A bare file name counts only where one file alone has it."""
        shorter = self._ending.get(given, [])
        if len(shorter) == 1:
            return shorter[0]
        for ending in _endings(given):
            is_bare = "/" not in ending
            if ending in self._known and not (is_bare and len(self._ending[ending]) > 1):
                return ending
        return None


def _endings(path: str) -> Iterator[str]:
    """The path, then without its first folder, and so on to the file's name."""
    parts = path.split("/")
    for start in range(len(parts)):
        yield "/".join(parts[start:])
