"""The base: everything about one tenant at one position of the change log, which never changes again.

It lies in the files of one folder, mapped into memory, or in memory alone; whoever reads it cannot tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np

from assay.index.columns import Fact, Whole
from assay.index.lexical import LexicalBase
from assay.index.manifest import Manifest
from assay.index.options import IndexOptions
from assay.index.vectors import VectorBase, open_vectors

MEMORIES, PASSAGES, PENDING, WORDS = "memories.npy", "passages.npy", "pending.npy", "words"


class Row(IntEnum):
    """The rows of the table of passages."""

    NUMBER = 0
    MEMORY_NUMBER = 1
    MEMORY_PLACE = 2
    """Where its memory stands in the base's table of memories."""
    STAMP = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Base:
    """One generation."""

    manifest: Manifest | None
    """None: there is no base, and everything is in the tail."""
    memories: Whole
    passages: Whole
    pending: Whole
    """Numbers of passages that whoever opens it has to look at anew."""
    folders: tuple[str, ...]
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

    def described(self) -> Manifest:
        """What it says of itself."""
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
        lexical=None,
        vectors=None,
        folder=None,
    )


def open_base(folder: Path, manifest: Manifest, *, options: IndexOptions) -> Base:
    """Map the files of a generation."""
    return Base(
        manifest=manifest,
        memories=np.asarray(np.load(folder / MEMORIES, mmap_mode="c")),
        passages=np.asarray(np.load(folder / PASSAGES, mmap_mode="c")),
        pending=np.load(folder / PENDING),
        folders=manifest.folders,
        lexical=LexicalBase.open(folder / WORDS, tokens=manifest.tokens),
        vectors=open_vectors(folder, options=options) if manifest.model is not None else None,
        folder=folder,
    )
