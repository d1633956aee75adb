"""Searches of the log as cases of a dataset: the question, its results to label, and the grades people gave.

The id of a case is that of its search. A case without grades is in no score until somebody has labelled it;
`labelling.tasks_of` lists its documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from assay.evaluation.labelling import FROM_SEARCH
from assay.records import Judgment, JudgmentSource, LoggedQuery, MemoryStatus
from assay.records.datasets import Case, Dataset, Document, Grade, Turn

if TYPE_CHECKING:
    from assay.storage import Work

_TRUST = list(JudgmentSource)


def new_search_dataset(name: str, at: datetime) -> Dataset:
    """An empty dataset for searches."""
    return Dataset(
        name=name,
        documents=(),
        cases=(),
        description="Searches that somebody looked into, with what they found.",
        created_at=f"{at:%Y-%m-%d}",
    )


def find_grades(judgments: Iterable[Judgment]) -> dict[str, int]:
    """Return the grade of each memory that counts: of the most trusted source, and of that the newest."""
    ordered = sorted(judgments, key=lambda judgment: (-_TRUST.index(judgment.source), judgment.created_at))
    return {judgment.memory_id: judgment.relevance for judgment in ordered}


def add_search_case(work: Work, dataset: Dataset, logged: LoggedQuery) -> Dataset:
    """Return a dataset with one more case: a search, what it found, and the grades that it has."""
    judgments = work.judgments.of(logged.query_id)
    wanted = dict.fromkeys([*logged.result_ids, *(judgment.memory_id for judgment in judgments)])
    there = {
        memory_id: memory
        for memory_id, memory in work.memories.by_ids(wanted).items()
        if memory.status is not MemoryStatus.FORGOTTEN
    }
    documents = {document.id: document for document in dataset.documents}
    for memory_id in wanted:
        if memory_id not in there:
            continue
        memory, known = there[memory_id], documents.get(memory_id)
        made = known or Document(
            id=memory_id,
            text=memory.body,
            title=memory.title,
            rel_path=memory.rel_path or "",
            folder=memory.folder,
            tier=memory.tier,
        )
        documents[memory_id] = replace(made, tags=tuple(dict.fromkeys([*made.tags, logged.query_id])))
    case = Case(
        id=logged.query_id,
        query=logged.query,
        history=() if logged.previous_query is None else (Turn(speaker="user", text=logged.previous_query),),
        grades=_list_grades(judgments, there),
        tags=(FROM_SEARCH,),
        harvested_at=logged.created_at,
    )
    return replace(dataset, documents=tuple(documents.values()), cases=(*dataset.cases, case))


def _list_grades(judgments: Sequence[Judgment], there: Iterable[str]) -> tuple[Grade, ...]:
    known = set(there)
    return tuple(
        Grade(
            document_id=judgment.memory_id,
            grade=judgment.relevance,
            source=judgment.source,
            annotator=judgment.annotator,
            confidence=judgment.confidence,
        )
        for judgment in judgments
        if judgment.memory_id in known
    )
