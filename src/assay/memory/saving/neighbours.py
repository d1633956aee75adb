"""The memories a draft is compared with: nominated by the index, measured exactly, judged by the two checks.

Nominating happens before the write lock is taken. Under the lock, whatever changed since is measured too, so that two
writers with the same thought never both store it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice, takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.embedding.protocol import SimilarityProfile
from assay.index import Indexes, View
from assay.memory.saving.options import SaveOptions
from assay.memory.saving.preparing import Prepared, last_headings
from assay.memory.saving.reconsolidation import Pair, Verdict, compare, decide, opposes
from assay.memory.saving.subject import Labelled, restates
from assay.records import AuthorKind, Draft, Filters, LogPosition, MemoryRecord, Nearest, RowKind, Tier
from assay.records.memory import INGESTED_WITH
from assay.storage import IndexPassage, Standing, Work
from assay.text.terms import normalised_phrase

Vector = NDArray[np.float32]
LOOSELY_RELATED = 0.5
"""From this similarity on, a program's draft is compared with what persons wrote: one changed word in a short note can
bring it far below what counts as related."""
PASSAGES_COMPARED = 8
"""Paragraphs that a program's draft is compared with, the nearest first."""
_HOLDING = Filters()
_EVER = Filters(include_superseded=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Nominated:
    """Which memories may be near a draft, and up to where the change log was known then."""

    numbers: tuple[int, ...]
    position: LogPosition
    replaced: tuple[int, ...] = ()
    """Those near a program's draft that hold no longer: it must not bring another's old note back unseen."""
    passages: Mapping[int, float] = field(default_factory=dict)
    """Passages near a program's draft with their similarity, most similar first: it may contradict a paragraph of a
    document whose mean is far away."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Neighbour:
    """A memory near a draft and what the draft would do to it."""

    memory: MemoryRecord
    pair: Pair
    verdict: Verdict
    protected: bool = False
    """Whether this draft may not touch it."""

    def shown(self) -> Nearest:
        """As the outcome of a save tells it."""
        return Nearest(
            memory_id=self.memory.id,
            title=self.memory.title,
            similarity=self.pair.similarity,
            agrees=self.pair.agrees,
            same_subject=self.pair.same_subject,
            reasons=self.pair.reasons,
        )


def nominate(work: Work, indexes: Indexes, prepared: Prepared, standing: Standing, options: SaveOptions) -> Nominated:
    """Memories with a chunk near the draft's mean or one of its chunks; the draft's vectors are of the model in use."""
    position, model = standing.position, standing.model
    mean = prepared.mean
    if mean is None or prepared.vectors is None or model is None:
        return Nominated(numbers=(), position=position)
    view = indexes.view(work)
    allowed = view.allowed(_HOLDING)
    asked = [mean, *(prepared.vectors[: options.asked] if len(prepared.vectors) > 1 else ())]
    found: dict[int, float] = {}
    for vector in asked:
        for one in view.nearest(vector, model=model, limit=options.fetched, allowed=allowed):
            found[one.number] = max(one.score, found.get(one.number, one.score))
    numbers = _owners(view, list(found))
    if not prepared.draft.automated:
        return Nominated(numbers=tuple(sorted(numbers)), position=position)
    replaced = _find_replaced(view, mean, model, options) - numbers
    nearest_first = sorted(found.items(), key=lambda passage: (-passage[1], passage[0]))
    return Nominated(
        numbers=tuple(sorted(numbers)),
        position=position,
        replaced=tuple(sorted(replaced)),
        passages=dict(nearest_first),
    )


def _find_replaced(view: View, mean: Vector, model: str, options: SaveOptions) -> frozenset[int]:
    allowed = view.allowed(_EVER)
    return _owners(view, [one.number for one in view.nearest(mean, model=model, limit=options.asked, allowed=allowed)])


def _owners(view: View, passages: Sequence[int]) -> frozenset[int]:
    owners = view.memories_of(np.unique(passages)) if passages else np.zeros(0, np.int64)
    return frozenset(int(one) for one in owners if one >= 0)


def changed_since(work: Work, position: LogPosition) -> tuple[int, ...] | None:
    """The numbers of memories that changed after a position; None when the log does not reach back that far."""
    ids: dict[str, None] = {}
    while True:
        followed = work.changes.follow(position)
        if followed.must_rebuild:
            return None
        if not followed.changes:
            return tuple(work.memories.numbers_of(list(ids)).values()) if ids else ()
        ids |= dict.fromkeys(_memory_id(change.kind, change.row_id) for change in followed.changes)
        position = followed.position


def _memory_id(kind: RowKind, row_id: str) -> str:
    return row_id if kind is RowKind.MEMORY else row_id.rpartition("#")[0]


_Key = tuple[str, datetime, float]


class _Near(NamedTuple):
    """A memory and how like the draft it is."""

    similarity: float
    memory: MemoryRecord

    @property
    def key(self) -> _Key:
        """Equal as long as comparing it would say the same."""
        return (self.memory.id, self.memory.updated_at, self.similarity)


class Judge:
    """Measures and judges the nearest of some memories; a pair is judged once, also when it is looked at again."""

    def __init__(self, prepared: Prepared, model: str, profile: SimilarityProfile, options: SaveOptions) -> None:
        self._prepared = prepared
        self._model = model
        self._profile = profile
        self._options = options
        self._judged: dict[_Key, Pair] = {}

    def nearest(self, work: Work, numbers: Iterable[int]) -> list[Neighbour]:
        """The most similar of these memories that still hold, most similar first."""
        mean = self._prepared.mean
        if mean is None:
            return []
        means = work.vectors.of_memories(list(numbers), self._model)
        ranked = sorted(((_cosine(mean, other), number) for number, other in means.items()), key=_nearest_first)
        near = self._choose_nearest(self._holding(work, ranked))
        self._compare(work, near)
        return [self._neighbour(one) for one in near]

    def of_passages(self, work: Work, passages: Mapping[int, float], known: Collection[Neighbour]) -> list[Neighbour]:
        """Documents of persons, by the paragraph that is nearest to a program's draft, where it says something else."""
        near = dict(islice(passages.items(), PASSAGES_COMPARED))
        if not near:
            return []
        # Paragraphs of one shape, such as entries of a diary, are related and differ without contradiction: memories
        # are read only for paragraphs that the draft restates or nearly repeats.
        rows = {row.number: row for row in work.passages.by_numbers(list(near))}
        compared_rows = [
            (rows[number], restated)
            for number, similarity in near.items()
            if number in rows
            and (
                (restated := restates(rows[number].text, self._prepared.draft.body))
                or similarity >= self._profile.merge
            )
        ]
        if not compared_rows:
            return []
        memories = work.memories.by_numbers(sorted({row.memory_number for row, _ in compared_rows}))
        judged = {one.memory.id for one in known if one.verdict is not Verdict.STORE}
        found: list[Neighbour] = []
        for row, restated in compared_rows:
            memory = memories.get(row.memory_number)
            if memory is None or memory.id in judged or memory.superseded_at or not self._is_protected(memory):
                continue
            compared = self._of_passage(memory, row, near[row.number], restated=restated)
            if compared is not None:
                judged.add(memory.id)
                found.append(compared)
        return found[: self._options.neighbours]

    def _of_passage(
        self, memory: MemoryRecord, passage: IndexPassage, similarity: float, *, restated: bool
    ) -> Neighbour | None:
        """Compare the draft with one paragraph; None: both may stand side by side."""
        old = replace(labelled(memory, last_headings([passage.heading_path])), body=passage.text)
        pair = compare(old, self._prepared.labelled, similarity)
        verdict = Verdict.CONTRADICTS if restated else decide(pair, self._profile)
        if verdict is Verdict.STORE:
            return None
        if verdict is Verdict.REJECT:
            # It repeats a paragraph and not the document: nothing is turned away for that.
            verdict = Verdict.MERGE
        return Neighbour(memory=memory, pair=pair, verdict=verdict, protected=True)

    def _choose_nearest(self, holding: Iterator[_Near]) -> list[_Near]:
        """The nearest; of those that a program may not touch, as many again, so that its own copies hide none."""
        most = self._options.neighbours
        near = list(islice(holding, most))
        if not self._prepared.draft.automated:
            return near
        left = most - sum(self._is_protected(one.memory) for one in near)
        related = takewhile(lambda one: one.similarity >= LOOSELY_RELATED, holding)
        return near + list(islice((one for one in related if self._is_protected(one.memory)), left))

    def _shares_label(self, memory: MemoryRecord) -> bool:
        """Whether title or a trigger is the same; headings are shared by many documents."""
        draft = self._prepared.draft
        mine, theirs = ({normalised_phrase(label) for label in (one.title, *one.triggers)} for one in (draft, memory))
        return not mine.isdisjoint(theirs)

    def _is_protected(self, memory: MemoryRecord) -> bool:
        return is_protected(memory, self._prepared.draft)

    def _holding(self, work: Work, ranked: Sequence[tuple[float, int]]) -> Iterator[_Near]:
        """Ranked memories that still hold, read as they are wanted: most that were nominated are never looked at."""
        size = self._options.neighbours
        for start in range(0, len(ranked), size):
            some = ranked[start : start + size]
            memories = work.memories.by_numbers([number for _, number in some])
            for similarity, number in some:
                if number in memories and memories[number].superseded_at is None:
                    yield _Near(similarity, memories[number])

    def _compare(self, work: Work, near: Sequence[_Near]) -> None:
        """Compare the draft with those it was not compared with before."""
        # Below, whatever the checks would say, the draft is stored; they are not cheap, and the lock is held.
        wanted = [one for one in near if self._is_compared(one) and one.key not in self._judged]
        if not wanted:
            return
        draft = self._prepared.labelled
        paths = work.memories.headings_of([one.memory.id for one in wanted])
        for one in wanted:
            old = labelled(one.memory, last_headings(paths.get(one.memory.id, ())))
            self._judged[one.key] = compare(old, draft, one.similarity)

    def _is_compared(self, near: _Near) -> bool:
        least = LOOSELY_RELATED if self._is_protected(near.memory) else self._profile.related
        return near.similarity >= least

    def _neighbour(self, near: _Near) -> Neighbour:
        similarity, memory = near
        if not self._is_compared(near):
            return Neighbour(memory=memory, pair=_unlike(similarity), verdict=Verdict.STORE)
        pair = self._judged[near.key]
        protected = self._is_protected(memory)
        verdict = decide(pair, self._profile)
        if protected and verdict is Verdict.STORE and opposes(pair) and self._shares_label(memory):
            verdict = Verdict.CONTRADICTS
        return Neighbour(memory=memory, pair=pair, verdict=verdict, protected=protected)


def _unlike(similarity: float) -> Pair:
    return Pair(similarity=similarity, agrees=True, same_subject=False, reasons=("too unlike to be compared",))


def labelled(memory: MemoryRecord, headings: tuple[str, ...] = ()) -> Labelled:
    """A stored memory as the checks read it."""
    return Labelled(
        title=memory.title,
        body=memory.body,
        triggers=memory.triggers,
        headings=headings,
        source_id=memory.source_id,
    )


def is_protected(memory: MemoryRecord, draft: Draft) -> bool:
    """Whether a draft may not take a memory's place: a program wrote the draft, and a person stands behind the memory.

    A document that was taken in from a file gives way to the same file taken in again, and to no other program.
    """
    if not draft.automated:
        return False
    taken_in_again = draft.written_with == memory.written_with == INGESTED_WITH
    return memory.tier is Tier.CONSTITUTIONAL or (memory.author.kind is AuthorKind.PERSON and not taken_in_again)


def _cosine(one: Vector, other: Vector) -> float:
    """Rounded to what vectors kept in half precision can tell apart, so that equal texts are exactly alike."""
    return min(1.0, round(float(one @ other), 6))


def _nearest_first(ranked: tuple[float, int]) -> tuple[float, int]:
    similarity, number = ranked
    return -similarity, number
