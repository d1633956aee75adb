"""Making a new base: built from the tables, or grown from the last one by its tail.

- Building from the tables, as one snapshot shows them: the same data always gives the same base.
- Growing: new passages are added to copies of the files.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import numpy as np

from assay.index.base import (
    MEMORIES,
    PASSAGES,
    PENDING,
    WORDS,
    Base,
    Generations,
    Manifest,
    Row,
    file_sizes,
    hash_of,
    open_base,
    warm_base,
)
from assay.index.columns import REMOVED, Fact, Folders, Names, Whole, find, make_table, merge_tables
from assay.index.lexical import LexicalBuilder, add_words
from assay.index.options import IndexOptions
from assay.index.shared_files import grow_table, share_file, write_header, write_table
from assay.index.state import State
from assay.index.tail import Passage, Reader
from assay.index.vectors import VectorBase, VectorBuilder, can_grow, grow_vectors
from assay.records import LogPosition

# --- Building from the tables, as one snapshot shows them: the same data always gives the same base ---

Progress = Callable[[int, int], None]
"""Called with the number of passages done and the total."""


class Stopped(Exception):
    """The build was stopped."""


class BuildPlan(NamedTuple):
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


def build(plan: BuildPlan, generations: Generations | None) -> Base:
    """A new base, published on disk when there is a place for it."""
    if generations is None:
        return _Build(plan, None).run()
    with generations.making() as folder, as_file_problems():
        manifest = _Build(plan, folder).run().require_manifest()
        final = generations.publish(folder, manifest)
    # Mapped anew: what the build held in memory is let go.
    built = open_base(final, manifest, options=plan.options)
    warm_base(built)
    return built


@contextmanager
def as_file_problems() -> Iterator[None]:
    """Both libraries say a full disk or a vanished folder in words of their own."""
    try:
        yield
    except (ValueError, RuntimeError) as problem:
        raise OSError(errno.EIO, str(problem)) from problem


class _Build:
    """One build: passages are read once, in the order of their numbers."""

    def __init__(self, plan: BuildPlan, folder: Path | None) -> None:
        self._plan = plan
        self._folder = folder
        self._lexical = LexicalBuilder(None if folder is None else folder / WORDS)
        self._vectors: VectorBuilder | None = None
        self._rows: list[Whole] = []
        self._count = 0
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
                self._plan.progress(self._count, self._plan.total)

    def _give_up(self) -> None:
        self._lexical.give_up()
        if self._vectors is not None:
            self._vectors.give_up()

    def _take(self, page: list[Passage]) -> None:
        begin = self._count
        for passage in page:
            self._lexical.add(passage.stems())
        # As numbers: tuples of ten million passages would be gigabytes.
        self._rows.append(np.array([passage.row for passage in page], np.int64))
        self._count += len(page)
        having = [(place, passage.vector) for place, passage in enumerate(page, begin) if passage.vector is not None]
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
        folders, types = Folders(), Names()
        nothing = np.zeros((len(Fact), 0), np.int64)
        pages = (make_table(page, folders, types) for page in self._plan.reader.memory_pages())
        memories = np.concatenate([nothing, *pages], axis=1)
        rows = np.concatenate([np.zeros((0, len(Row) - 1), np.int64), *self._rows])
        self._rows.clear()
        passages = passage_table(rows.T, memories[Fact.NUMBER])
        pending = np.zeros(0, np.int64)
        lexical = self._lexical.finish()
        vectors = self._finish_vectors()
        if self._folder is not None:
            write_table(self._folder / MEMORIES, memories)
            write_table(self._folder / PASSAGES, passages)
            np.save(self._folder / PENDING, pending)
        return Base(
            manifest=self._manifest(memories, vectors, lexical.tokens, (folders, types)),
            memories=memories,
            passages=passages,
            pending=pending,
            folders=tuple(folders.names()),
            types=tuple(types.names()),
            lexical=lexical,
            vectors=vectors,
            folder=self._folder,
        )

    def _finish_vectors(self) -> VectorBase | None:
        if self._plan.model is None:
            return None
        return self._vector_builder(self._dimension).finish()

    def _manifest(
        self, memories: Whole, vectors: VectorBase | None, tokens: int, names: tuple[Folders, Names]
    ) -> Manifest:
        plan, (folders, types) = self._plan, names
        return Manifest(
            generation=generation_name(plan.position.seq),
            store=plan.store,
            tenant=hash_of(plan.tenant),
            epoch=plan.position.epoch,
            seq=plan.position.seq,
            model=plan.model,
            dimension=self._dimension,
            passages=self._count,
            memories=memories.shape[1],
            vectors=0 if vectors is None else len(vectors.places),
            tokens=tokens,
            title_repeats=plan.options.title_repeats,
            folders=tuple(folders.names()),
            types=tuple(types.names()),
            files={} if self._folder is None else file_sizes(self._folder),
        )


def passage_table(columns: Whole, memory_numbers: Whole) -> Whole:
    """The table of passages, of all its rows but the places of their memories."""
    places, _ = find(memory_numbers, columns[Row.MEMORY_NUMBER])
    return np.insert(columns, Row.MEMORY_PLACE, places, axis=0)


def generation_name(seq: int) -> str:
    """Return a unique name that contains the position of the log."""
    return f"{seq:012d}-{uuid4().hex[:8]}"


# --- Growing: new passages are added to copies of the files ---
#
#     grown = what the base held, in its old places + new passages behind it
#
# Numbers of passages only rise, so new ones stand behind all others, and the words and the graph of the old ones stay
# as they are. Passages of the base that were changed or removed stay too, dead: the new base names them as `pending`,
# and whoever opens it looks at those anew. When they have become many, or the vectors want a graph for the first time,
# a base is built whole instead (`building`).

PENDING_SHARE = 0.5
"""Of the size at which a tail is folded: with more pending ones the tail would be due again too soon."""
PLACED_AT_ONCE = 100_000
"""Passages whose memories are looked up in one step of writing a table."""


class Growth(NamedTuple):
    """What is added to which base."""

    state: State
    folder: Path
    """Where the files of the base lie."""
    fresh: Whole
    """Places in the tail of the new passages, in the order of their numbers."""
    pending: Whole
    """Numbers of passages of the base, or before its end, that have changed."""


def growth_of(state: State, options: IndexOptions) -> Growth | None:
    """What can be added to the base of a state; None when it has to be built whole."""
    base, tail = state.base, state.tail
    # Without a memory left, the passages of the base would have none to stand by.
    if base.folder is None or not base.count or not state.alive.count or base.require_manifest().model != state.model:
        return None
    last = base.numbers[-1]
    fresh = np.flatnonzero(tail.alive & (tail.numbers > last))
    changed = tail.numbers[tail.alive & (tail.numbers <= last)]
    pending = np.union1d(base.numbers[~state.base_alive], changed)
    if len(pending) > PENDING_SHARE * options.fold_beyond(base.count) or not _vectors_can_grow(state, fresh, options):
        return None
    return Growth(state, base.folder, fresh[np.argsort(tail.numbers[fresh])], pending)


def grow(growth: Growth, generations: Generations, *, options: IndexOptions, stopped: Callable[[], bool]) -> Base:
    """The grown base, published."""
    base = growth.state.base

    def go_on() -> None:
        if stopped():
            raise Stopped

    with generations.making() as folder, as_file_problems():
        _share_words(growth.folder, folder)
        go_on()
        tokens = add_words(folder / WORDS, _bags(growth), first_place=base.count)
        if base.vectors is not None:
            _grow_vectors(growth, base.vectors, (growth.folder, folder), options, go_on)
        manifest = _write_tables(growth, folder, tokens)
        final = generations.publish(folder, manifest)
    grown = open_base(final, manifest, options=options)
    warm_base(grown)
    return grown


def _vectors_can_grow(state: State, fresh: Whole, options: IndexOptions) -> bool:
    vectors, tail = state.base.vectors, state.tail
    if vectors is None:
        return True
    added = int(np.isin(tail.vector_places, fresh).sum())
    same = not added or not len(vectors.places) or vectors.matrix.shape[1] == tail.vectors.full.shape[1]
    return same and can_grow(vectors, added, options)


def _share_words(source: Path, folder: Path) -> None:
    """Share the segments, which never change; the files that name them are replaced by those who add to them."""
    (folder / WORDS).mkdir()
    for path in sorted((source / WORDS).iterdir()):
        if path.suffix == ".json":
            shutil.copyfile(path, folder / WORDS / path.name)
        elif path.suffix != ".lock":
            share_file(path, folder / WORDS / path.name)


def _bags(growth: Growth) -> list[list[str]]:
    tail = growth.state.tail
    bags = tail.postings.bags(tail.count)
    return [bags[place] for place in growth.fresh.tolist()]


def _grow_vectors(
    growth: Growth, vectors: VectorBase, way: tuple[Path, Path], options: IndexOptions, go_on: Callable[[], None]
) -> None:
    tail, first = growth.state.tail, growth.state.base.count
    order = np.full(tail.count, -1, np.int64)
    order[growth.fresh] = np.arange(len(growth.fresh))
    places = order[tail.vector_places]
    rows = np.flatnonzero(places >= 0)
    rows = rows[np.argsort(places[rows])]
    # They were float16 when they came, so nothing is lost.
    found = tail.vectors.full[rows].astype(np.float16)
    grow_vectors(vectors, *way, places=first + places[rows], fresh=found, options=options, go_on=go_on)


class _Memories(NamedTuple):
    """The memories of a grown base."""

    numbers: Whole
    same_places: bool
    """Whether those of the base before have kept their places."""


def _write_memories(growth: Growth, folder: Path) -> _Memories:
    """Write the table of memories. Where none came between others or went, it is shared, or at least not merged."""
    known, fresh = growth.state.base.memories, growth.state.tail.memories
    places, there = find(known[Fact.NUMBER], fresh[Fact.NUMBER])
    new = fresh[:, ~there]
    behind = not new.shape[1] or not known.shape[1] or new[Fact.NUMBER, 0] > known[Fact.NUMBER, -1]
    if not behind or (fresh[Fact.TIER] == REMOVED).any():
        merged = merge_tables(known, fresh)
        merged = merged[:, merged[Fact.TIER] != REMOVED]
        write_table(folder / MEMORIES, merged)
        return _Memories(merged[Fact.NUMBER], same_places=False)
    if there.any():
        # Whoever has the base before still reads these memories as they were.
        write_table(folder / MEMORIES, known, new)
        table = np.lib.format.open_memmap(folder / MEMORIES, mode="r+")
        table[:, places[there]] = fresh[:, there]
        table.flush()
    else:
        grow_table(growth.folder / MEMORIES, folder / MEMORIES, known, new)
    return _Memories(np.concatenate([known[Fact.NUMBER], new[Fact.NUMBER]]), same_places=True)


def _write_passages(growth: Growth, folder: Path, memories: _Memories) -> None:
    """Write the table of passages: shared, or piece by piece, since in memory it would be there three times."""
    old, path = growth.state.base.passages, folder / PASSAGES
    fresh = passage_table(growth.state.tail.rows[growth.fresh].T, memories.numbers)
    if memories.same_places:
        grow_table(growth.folder / PASSAGES, path, old, fresh)
        return
    with path.open("wb") as file:
        write_header(file, np.dtype(np.int64), (len(Row), old.shape[1] + fresh.shape[1]))
        for row in Row:
            for begin in range(0, old.shape[1], PLACED_AT_ONCE):
                part = old[:, begin : begin + PLACED_AT_ONCE]
                moved = row is Row.MEMORY_PLACE
                values = find(memories.numbers, part[Row.MEMORY_NUMBER])[0] if moved else part[row]
                file.write(np.ascontiguousarray(values).data)
            file.write(np.ascontiguousarray(fresh[row]).data)


def _write_tables(growth: Growth, folder: Path, tokens: int) -> Manifest:
    state, tail = growth.state, growth.state.tail
    memories = _write_memories(growth, folder)
    _write_passages(growth, folder, memories)
    np.save(folder / PENDING, growth.pending)
    before = state.base.require_manifest()
    held = np.isin(tail.vector_places, growth.fresh)
    return replace(
        before,
        generation=generation_name(state.position.seq),
        grown_from=before.generation,
        epoch=state.position.epoch,
        seq=state.position.seq,
        dimension=before.dimension or (tail.vectors.full.shape[1] if held.any() else 0),
        passages=state.base.count + len(growth.fresh),
        memories=len(memories.numbers),
        vectors=before.vectors + (0 if state.base.vectors is None else int(held.sum())),
        tokens=before.tokens + tokens,
        folders=tuple(state.folders.names()),
        types=tuple(state.types.names()),
        files=file_sizes(folder),
    )
