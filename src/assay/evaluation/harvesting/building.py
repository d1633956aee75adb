"""The log, the pool, what use says and the memories themselves, as one dataset with a list of what to label by hand.

The documents are all current memories of the scope, not the pooled ones alone: with nothing else to be found, every
number would be too good. Their ids stay, so that judgments can be traced to the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from assay.errors import BadValue
from assay.evaluation.harvesting.diversity import Matrix, most_diverse, word_vectors
from assay.evaluation.harvesting.harvest import By, Harvested, harvest, sample
from assay.evaluation.harvesting.pooling import pool
from assay.evaluation.harvesting.weak_labels import weak_grades
from assay.evaluation.labelling.tasks import Task
from assay.hashing import HASH_PREFIX, content_hash
from assay.memory.engine import Engine
from assay.records import Edge, MemoryRecord, Scope
from assay.records.datasets import Case, Dataset, Document
from assay.storage import Work

HARVESTED = "harvested"
"""The tag of every case made here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildOptions:
    """How to build."""

    name: str = "use"
    version: str = "1.0.0"
    size: int = 200
    by: By = By.NEWEST
    to_label: int = 50
    unjudged: int | None = None
    """The grade of what was found and never judged; None: it has none."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.size < 1 or self.to_label < 0:
            raise BadValue(f"{self.size} cases, {self.to_label} to label", remedy="Ask for one case or more.")
        if self.unjudged is not None and not 0 <= self.unjudged <= 3:
            raise BadValue(f"unjudged {self.unjudged} is no grade", remedy="Give a grade from 0 to 3.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Built:
    """What came of it."""

    dataset: Dataset
    tasks: tuple[Task, ...]
    """What to label by hand: every candidate of the most diverse questions."""
    harvested: int
    """Distinct questions of the log."""
    notes: tuple[str, ...]

    @property
    def graded(self) -> int:
        """Cases with a grade at least."""
        return sum(1 for one in self.dataset.cases if one.grades)


def build(engine: Engine, scope: Scope, options: BuildOptions) -> Built:
    """Make a dataset of what a scope was asked."""
    rng = np.random.default_rng(options.seed)
    engine.store.log.flush()
    with engine.store.reading(scope) as work:
        found = harvest(work)
        documents = {one.id: one for one in _current(work)}
        edges = tuple(_edges(work, documents))
    chosen = sample(found, options.size, options.by, rng)
    pools = [{one: by for one, by in pool(engine, scope, one.query).items() if one in documents} for one in chosen]
    with engine.store.reading(scope) as work:
        cases = [_case(work, one, of, documents, options) for one, of in zip(chosen, pools, strict=True)]
    picked, note = _to_label(engine, cases, options.to_label)
    tasks = [
        Task(
            case_id=cases[place].id,
            query=cases[place].query,
            document_id=one,
            title=documents[one].title,
            text=documents[one].text,
        )
        for place in picked
        for one in pools[place]
    ]
    dataset = Dataset(
        name=options.name,
        version=options.version,
        description="Questions that were asked in use, with what use says of their answers.",
        created_at=_day(engine.clock.now()),
        documents=tuple(documents.values()),
        cases=tuple(cases),
        edges=edges,
    )
    return Built(dataset=dataset, tasks=tuple(tasks), harvested=len(found), notes=tuple(filter(None, [note])))


def _current(work: Work) -> Iterator[Document]:
    after = ""
    while page := work.memories.page(after=after):
        after = page[-1].id
        yield from (_document(one) for one in page if one.superseded_at is None)


def _document(one: MemoryRecord) -> Document:
    return Document(
        id=one.id,
        text=one.body,
        title=one.title,
        entity_type=one.entity_type,
        format=one.format,
        rel_path=one.rel_path,
        folder=one.folder,
        tags=one.tags,
        metadata=one.metadata,
        tier=one.tier,
        triggers=one.triggers,
        dated=one.valid_from,
    )


def _edges(work: Work, documents: dict[str, Document]) -> Iterator[Edge]:
    if not work.edges.count():
        return
    for ident in documents:
        for edge in work.edges.of(ident):
            if edge.source_id == ident and edge.target_id in documents:
                yield edge


def _case(
    work: Work, one: Harvested, of: dict[str, set[str]], documents: dict[str, Document], options: BuildOptions
) -> Case:
    events = [event for ident in one.query_ids for event in work.feedback.of_query(ident)]
    judgments = [judgment for ident in one.query_ids for judgment in work.judgments.of(ident)]
    grades = weak_grades(events, judgments, pool=of, unjudged=options.unjudged)
    return Case(
        id=f"u-{content_hash(one.query).removeprefix(HASH_PREFIX)[:12]}",
        query=one.query,
        grades=tuple(grade for grade in grades if grade.document_id in documents),
        intent=one.intent,
        tags=(HARVESTED,),
        harvested_at=one.last_asked,
    )


def _to_label(engine: Engine, cases: Sequence[Case], count: int) -> tuple[list[int], str]:
    if not count:
        return [], ""
    vectors, note = _vectors(engine, [one.query for one in cases])
    return most_diverse(vectors, [one.intent or "" for one in cases], count), note


def _vectors(engine: Engine, queries: list[str]) -> tuple[Matrix, str]:
    if engine.embedder is None:
        return word_vectors(queries), "Without an embedder, questions to label were told apart by their words."
    return engine.embedder.embed(queries), ""


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"
