"""A small dataset, and systems that behave well or badly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.evaluations import Retrieved
from assay.systems.protocol import System

TEXTS = {
    "pool": "The swimming pool opens at seven and closes at nine in the evening.",
    "sauna": "The sauna beside the swimming pool is heated from noon.",
    "breakfast": "Breakfast is served in the garden room until half past ten.",
    "parking": "Parking in the garage costs twelve a night; bicycles are free.",
    "pets": "Dogs and other pets are welcome in the ground floor rooms.",
}


def grades(**of: int) -> tuple[Grade, ...]:
    return tuple(Grade(document_id=name, grade=grade) for name, grade in of.items())


CASES = (
    Case(id="q1", query="when does the pool open", grades=grades(pool=3, sauna=2, pets=0), category="times"),
    Case(id="q2", query="where is breakfast served", grades=grades(breakfast=3), category="times", tags=("food",)),
    Case(id="q3", query="what does parking cost", grades=grades(parking=3, pets=0), category="prices"),
    Case(id="q4", query="are dogs welcome", grades=grades(pets=3), category="rules", tags=("food", "dogs")),
)


def dataset(name: str = "house", cases: tuple[Case, ...] = CASES, **more: Any) -> Dataset:
    documents = tuple(Document(id=one, text=text, title=one.title()) for one, text in TEXTS.items())
    return Dataset(name=name, documents=documents, cases=cases, **more)


def right(query: str, k: int) -> list[str]:
    """Finds what shares most words with the query."""
    words = set(query.split())
    return sorted(TEXTS, key=lambda one: -len(words & set(TEXTS[one].lower().split())))[:k]


class Given(System):
    """Returns whatever a function makes of the case."""

    def __init__(self, make: Callable[[Case], Any], name: str = "given") -> None:
        self.name = name
        self._make = make
        self.asked: list[str] = []

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        self.asked.append(case.id)
        made = self._make(case)
        return Retrieved(ids=tuple(made)) if isinstance(made, (list, tuple)) else made
