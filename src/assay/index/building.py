"""Builds a base from the tables, as one snapshot shows them: the same data always gives the same base."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import numpy as np

from assay.index.base import MEMORIES, PASSAGES, PENDING, WORDS, Base, open_base
from assay.index.columns import Fact, Folders, Whole, find, table
from assay.index.generations import Generations, hash_of
from assay.index.lexical import LexicalBuilder
from assay.index.manifest import Manifest, file_sizes
from assay.index.options import IndexOptions
from assay.index.reading import Passage, Reader
from assay.index.vectors import VectorBase, VectorBuilder
from assay.records import LogPosition

Progress = Callable[[int, int], None]
"""Told how many passages are done, of how many."""


class Stopped(Exception):
    """The build was told to stop."""


class Plan(NamedTuple):
    """What a base is to be built of."""

    reader: Reader
    position: LogPosition
    model: str | None
    store: str
    tenant: str
    total: int
    """Passages in the snapshot."""
    options: IndexOptions
    progress: Progress | None
    stopped: Callable[[], bool]


def build(plan: Plan, generations: Generations | None) -> Base:
    """A new base, published on disk when there is a place for it."""
    if generations is None:
        return _Build(plan, None).run()
    with generations.making() as folder, as_file_problems():
        manifest = _Build(plan, folder).run().described()
        final = generations.publish(folder, manifest)
    generations.sweep(keep=final.name)
    # Mapped anew: what the build held in memory is let go.
    return open_base(final, manifest, options=plan.options)


@contextmanager
def as_file_problems() -> Iterator[None]:
    """Both libraries say a full disk or a vanished folder in words of their own."""
    try:
        yield
    except (ValueError, RuntimeError) as problem:
        raise OSError(errno.EIO, str(problem)) from problem


class _Build:
    """One build: passages are read once, in the order of their numbers."""

    def __init__(self, plan: Plan, folder: Path | None) -> None:
        self._plan = plan
        self._folder = folder
        self._lexical = LexicalBuilder(None if folder is None else folder / WORDS)
        self._vectors: VectorBuilder | None = None
        self._rows: list[tuple[int, int, int]] = []
        self._dimension = 0

    def run(self) -> Base:
        try:
            self._read()
            return self._finish()
        except BaseException:
            self._give_up()
            raise

    def _read(self) -> None:
        for page in self._plan.reader.passages():
            if self._plan.stopped():
                raise Stopped
            self._take(page)
            if self._plan.progress is not None:
                self._plan.progress(len(self._rows), self._plan.total)

    def _give_up(self) -> None:
        self._lexical.give_up()
        if self._vectors is not None:
            self._vectors.give_up()

    def _take(self, page: list[Passage]) -> None:
        begin = len(self._rows)
        for one in page:
            self._lexical.add(one.stems())
            self._rows.append((one.number, one.memory_number, one.stamp))
        having = [(place, one.vector) for place, one in enumerate(page, begin) if one.vector is not None]
        if having:
            places = np.array([place for place, _ in having], np.int64)
            matrix = np.stack([vector for _, vector in having])
            self._vector_builder(matrix.shape[1]).add(places, matrix)

    def _vector_builder(self, dimension: int) -> VectorBuilder:
        if self._vectors is None:
            self._dimension = dimension
            self._vectors = VectorBuilder(
                self._folder, count=self._plan.reader.vector_count(), dimension=dimension, options=self._plan.options
            )
        return self._vectors

    def _finish(self) -> Base:
        folders = Folders()
        memories = table(self._plan.reader.memories(), folders)
        passages = passage_table(np.array(self._rows, np.int64).reshape(-1, 3).T, memories)
        pending = np.zeros(0, np.int64)
        lexical = self._lexical.finish()
        vectors = self._finish_vectors()
        if self._folder is not None:
            np.save(self._folder / MEMORIES, memories)
            np.save(self._folder / PASSAGES, passages)
            np.save(self._folder / PENDING, pending)
        return Base(
            manifest=self._manifest(memories, vectors, lexical.tokens, folders),
            memories=memories,
            passages=passages,
            pending=pending,
            folders=tuple(folders.names()),
            lexical=lexical,
            vectors=vectors,
            folder=self._folder,
        )

    def _finish_vectors(self) -> VectorBase | None:
        if self._plan.model is None:
            return None
        return self._vector_builder(self._dimension).finish()

    def _manifest(self, memories: Whole, vectors: VectorBase | None, tokens: int, folders: Folders) -> Manifest:
        plan = self._plan
        return Manifest(
            generation=generation_name(plan.position.seq),
            store=plan.store,
            tenant=hash_of(plan.tenant),
            epoch=plan.position.epoch,
            seq=plan.position.seq,
            model=plan.model,
            dimension=self._dimension,
            passages=len(self._rows),
            memories=memories.shape[1],
            vectors=0 if vectors is None else len(vectors.places),
            tokens=tokens,
            title_repeats=plan.options.title_repeats,
            folders=tuple(folders.names()),
            files={} if self._folder is None else file_sizes(self._folder),
        )


def passage_table(columns: Whole, memories: Whole) -> Whole:
    """The table of passages, of their numbers, memories and stamps."""
    numbers, memory_numbers, stamps = columns
    places, _ = find(memories[Fact.NUMBER], memory_numbers)
    return np.stack([numbers, memory_numbers, places, stamps])


def generation_name(seq: int) -> str:
    """A name that nothing else has, and that says up to where it knows the log."""
    return f"{seq:012d}-{uuid4().hex[:8]}"
