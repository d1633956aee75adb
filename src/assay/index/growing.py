"""A base grown by its tail: new passages are added to copies of its files, instead of making all of them anew.

    grown = what the base held, in its old places + new passages behind it

Numbers of passages only rise, so new ones stand behind all others, and the words and the graph of the old ones stay as
they are. Passages of the base that were changed or removed stay too, dead: the new base names them as `pending`, and
whoever opens it looks at those anew. When they have become many, or the vectors want a graph for the first time, a base
is built whole instead (`building`).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assay.index.base import MEMORIES, PASSAGES, PENDING, WORDS, Base, Row, open_base
from assay.index.building import Stopped, as_file_problems, generation_name, passage_table
from assay.index.columns import REMOVED, Fact, Whole, merged
from assay.index.generations import Generations
from assay.index.lexical import add_words
from assay.index.manifest import Manifest, file_sizes
from assay.index.options import IndexOptions
from assay.index.state import State
from assay.index.vectors import VectorBase, can_grow, grow_vectors

PENDING_SHARE = 0.5
"""Of the size at which a tail is folded: with more pending ones the tail would be due again too soon."""


class Growth(NamedTuple):
    """What is added to which base."""

    state: State
    folder: Path
    """Where the files of the base lie."""
    fresh: Whole
    """Places in the tail of the new passages, in the order of their numbers."""
    pending: Whole
    """Numbers of passages of the base, or before its end, that are no longer what it says."""


def growth_of(state: State, options: IndexOptions) -> Growth | None:
    """What can be added to the base of a state; None when it has to be built whole."""
    base, tail = state.base, state.tail
    # Without a memory left, the passages of the base would have none to stand by.
    if base.folder is None or not base.count or not state.alive.count or base.described().model != state.model:
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
        _copy_words(growth.folder, folder)
        go_on()
        tokens = add_words(folder / WORDS, _bags(growth), first_place=base.count)
        if base.vectors is not None:
            _grow_vectors(growth, base.vectors, (growth.folder, folder), options, go_on)
        manifest = _write_tables(growth, folder, tokens)
        final = generations.publish(folder, manifest)
    generations.sweep(keep=final.name)
    return open_base(final, manifest, options=options)


def _vectors_can_grow(state: State, fresh: Whole, options: IndexOptions) -> bool:
    vectors, tail = state.base.vectors, state.tail
    if vectors is None:
        return True
    added = int(np.isin(tail.vector_places, fresh).sum())
    same = not added or not len(vectors.places) or vectors.matrix.shape[1] == tail.vectors.full.shape[1]
    return same and can_grow(vectors, added, options)


def _copy_words(source: Path, folder: Path) -> None:
    shutil.copytree(source / WORDS, folder / WORDS, ignore=shutil.ignore_patterns("*.lock"))


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


def _write_tables(growth: Growth, folder: Path, tokens: int) -> Manifest:
    state, tail = growth.state, growth.state.tail
    memories = merged(state.base.memories, tail.memories)
    memories = memories[:, memories[Fact.TIER] != REMOVED]
    old = state.base.passages[[Row.NUMBER, Row.MEMORY_NUMBER, Row.STAMP]]
    new = np.stack([column[growth.fresh] for column in (tail.numbers, tail.memory_numbers, tail.stamps)])
    passages = passage_table(np.concatenate([old, new], axis=1), memories)
    np.save(folder / MEMORIES, memories)
    np.save(folder / PASSAGES, passages)
    np.save(folder / PENDING, growth.pending)
    before = state.base.described()
    held = np.isin(tail.vector_places, growth.fresh)
    return replace(
        before,
        generation=generation_name(state.position.seq),
        grown_from=before.generation,
        epoch=state.position.epoch,
        seq=state.position.seq,
        dimension=before.dimension or (tail.vectors.full.shape[1] if held.any() else 0),
        passages=int(passages.shape[1]),
        memories=int(memories.shape[1]),
        vectors=before.vectors + (0 if state.base.vectors is None else int(held.sum())),
        tokens=before.tokens + tokens,
        folders=tuple(state.folders.names()),
        files=file_sizes(folder),
    )
