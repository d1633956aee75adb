"""Labelled questions with the plan that the rules make and the passages that the engine finds.

- What is known of a question.
- The bundled sets, `hotel` and `vault`.
- Public collections.
- Asking: a store for each set, planned and searched as `assay ask` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from assay.embedding.protocol import Embedder
from assay.evaluation.datasets import load_dataset
from assay.memory.engine import Engine
from assay.records import Scope
from assay.records.datasets import Dataset, Document
from assay.records.memory import Format
from assay.records.research import Passage, Plan
from assay.research.planner import RulePlanner
from assay.research.search import MemorySearch, SearchLimits
from assay.settings import Settings
from assay.systems.assay_engine import take_in
from assay.testing import FixedClock
from assay.text.questions import key_words
from assay.wiring import open_engine
from bench.collections import read_grades, read_lines

# --- What is known of a question ---

SHOWN = 12
"""Passages that an answer is made from, as `ResearchOptions.passages`."""
FOUND = 24
"""Passages looked for, so that others move up where some are taken away."""
RESULTS = 16
"""Memories of one search; twice as many as `ResearchOptions.results` for the same reason."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledQuestion:
    """A question that a set has an answer to."""

    id: str
    text: str
    needed: frozenset[str]
    """Documents that answer it."""
    related: frozenset[str]
    """Those, and documents graded as somewhat relevant: never used as noise."""
    reference: str = ""
    """The answer by the authors of the set; empty where the set has none."""
    asks_for_now: bool = False
    """Whether old sources would be a fault: notes of a house or a company, not an encyclopaedia."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionSet:
    """Documents, and questions about them."""

    name: str
    documents: tuple[Document, ...]
    questions: tuple[LabelledQuestion, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ResearchedQuestion:
    """A question with its plan and what was found for it."""

    set_name: str
    question: LabelledQuestion
    plan: Plan
    found: tuple[Passage, ...]
    """Best first, at most `FOUND`; the memory of each is named by its document."""
    now: datetime

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def id(self) -> str:
        """Unique over all sets."""
        return f"{self.set_name}/{self.question.id}"

    @property
    def passages(self) -> tuple[Passage, ...]:
        """What an answer is made from."""
        return self.found[:SHOWN]

    @property
    def needed_passages(self) -> tuple[Passage, ...]:
        """Those of them that come from documents that answer the question."""
        return tuple(passage for passage in self.passages if passage.memory_id in self.question.needed)

    @property
    def documents(self) -> frozenset[str]:
        """The documents of everything found."""
        return frozenset(passage.memory_id for passage in self.found)


# --- The bundled sets, `hotel` and `vault` ---

BUNDLED = ("hotel", "vault")


def load_bundled_set(name: str) -> QuestionSet:
    """Read the answerable questions of a bundled set."""
    dataset = load_dataset(name)
    questions = (
        LabelledQuestion(
            id=case.id,
            text=case.query,
            needed=frozenset(key for key, grade in case.labels.items() if grade >= dataset.relevance_level),
            related=frozenset(key for key, grade in case.labels.items() if grade > dataset.lowest_grade),
            reference=case.reference_answer or "",
            asks_for_now=True,
        )
        for case in dataset.cases
        if case.answerable
    )
    return QuestionSet(
        name=name,
        documents=dataset.documents,
        questions=tuple(question for question in questions if question.needed),
    )


# --- Public collections ---
#
# In BEIR's layout, as `bench.collections` reads them, but with the answers that the metadata of the questions hold.

MOST_QUESTIONS = 60
"""Questions of one collection, spread over it."""
MOST_DOCUMENTS = 1_200
"""Documents of one collection: those the questions need, then others in their order."""
FEWEST_KEY_WORDS = 3
"""A question of fewer is the middle of a conversation and cannot be understood alone."""


def _read_squad2(about: Mapping[str, Any]) -> str:
    return str(about["answers"][0]) if about["answerable"] else ""


def _read_clapnq(about: Mapping[str, Any]) -> str:
    return str(about["outputs"][0]["answer"]) if about["answerable"] else ""


def _read_mtrag(about: Mapping[str, Any]) -> str:
    return str(about["reference"][0]) if about["answerability"] == "ANSWERABLE" else ""


def _read_hotpotqa(about: Mapping[str, Any]) -> str:
    return str(about["answer"])


def _read_nothing(about: Mapping[str, Any]) -> str:  # noqa: ARG001 - as all are called
    """Claims (scifact) have evidence, and no answer."""
    return ""


REFERENCES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "squad2": _read_squad2,
    "clapnq": _read_clapnq,
    "mtrag": _read_mtrag,
    "hotpotqa100": _read_hotpotqa,
    "scifact": _read_nothing,
}
"""How each collection keeps its reference answers."""


def load_collection(folder: Path, name: str) -> QuestionSet:
    """Read some answerable questions of a public collection, and documents around them."""
    place = folder / name
    grades = read_grades(place / "qrels.tsv")
    read_reference = REFERENCES[name]
    questions = [
        LabelledQuestion(
            id=str(line["_id"]),
            text=str(line["text"]),
            needed=needed,
            related=frozenset(grades[line["_id"]]),
            reference=read_reference(line["metadata"]),
        )
        for line in read_lines(place / "queries.jsonl")
        if (needed := frozenset(key for key, grade in grades.get(line["_id"], {}).items() if grade > 0))
        and len(key_words(line["text"])) >= FEWEST_KEY_WORDS
        and (read_reference is _read_nothing or read_reference(line["metadata"]))
    ]
    chosen = questions[:: max(1, len(questions) // MOST_QUESTIONS)][:MOST_QUESTIONS]
    needed_by_any = frozenset().union(*(question.related for question in chosen))
    lines = sorted(read_lines(place / "corpus.jsonl"), key=lambda line: line["_id"] not in needed_by_any)
    return QuestionSet(
        name=name,
        documents=tuple(
            Document(id=line["_id"], title=line.get("title") or "", text=line["text"], format=Format.TEXT)
            for line in lines[:MOST_DOCUMENTS]
        ),
        questions=tuple(chosen),
    )


# --- Asking: a store for each set, planned and searched as `assay ask` does ---

SCOPE = Scope()


def research(questions: QuestionSet, folder: Path, embedder: Embedder) -> list[ResearchedQuestion]:
    """Plan and search every question of a set; the store is made once in the folder."""
    clock = FixedClock()
    dataset = Dataset(name=questions.name, documents=questions.documents, cases=())
    place = folder / f"{questions.name}-{dataset.corpus_hash[-12:]}"
    place.mkdir(parents=True, exist_ok=True)
    with open_engine(Settings(db=str(place / "assay.db")), embedder=embedder, clock=clock, run_once=True) as engine:
        take_in(engine, SCOPE, dataset)
        document_of = _documents(engine)
        planner, search = RulePlanner(), MemorySearch(engine.searcher)
        limits = SearchLimits(results=RESULTS, passages=FOUND)
        found = []
        for question in questions.questions:
            plan = planner.plan(question.text)
            passages = search(SCOPE, plan, limits).passages
            found.append(
                ResearchedQuestion(
                    set_name=questions.name,
                    question=question,
                    plan=plan,
                    found=tuple(_name_by_document(passages, document_of)),
                    now=clock.now(),
                )
            )
    return found


def _name_by_document(passages: Sequence[Passage], document_of: Mapping[str, str]) -> Iterable[Passage]:
    """Ids of memories differ from store to store; those of documents do not."""
    return (replace(passage, memory_id=document_of[passage.memory_id]) for passage in passages)


def _documents(engine: Engine) -> dict[str, str]:
    found: dict[str, str] = {}
    with engine.store.reading(SCOPE) as work:
        while page := work.memories.page(after=max(found, default="")):
            found |= {memory.id: memory.source_id or memory.id for memory in page}
    return found
