"""Reference answers of a dataset that contradict their own evidence: the documents graded as relevant to the case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from assay.judging.builtin.gold_answers import GoldEvidence, GoldReading, check_gold
from assay.records.datasets import Case, Dataset

MOST_DOCUMENTS = 10
"""Documents of one case that are looked at, best grades first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SuspectGold:
    """One reference answer that looks wrong."""

    case_id: str
    question: str
    gold: str
    reading: GoldReading

    def as_json(self) -> dict[str, Any]:
        """The one shape on every surface."""
        return {
            "case": self.case_id,
            "question": self.question,
            "gold": self.gold,
            "problem": str(self.reading.problem),
            "states": list(self.reading.states),
            "evidence": list(self.reading.evidence),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedGold:
    """What was found in a dataset."""

    dataset: str
    checked: int
    """Cases with a reference answer and evidence."""
    suspects: tuple[SuspectGold, ...]

    def as_json(self) -> dict[str, Any]:
        """The one shape on every surface."""
        return {
            "dataset": self.dataset,
            "checked": self.checked,
            "suspects": [suspect.as_json() for suspect in self.suspects],
        }


def check_dataset_gold(dataset: Dataset) -> CheckedGold:
    """Hold every reference answer of a dataset against the documents graded as relevant to its case."""
    readings = list(_readings(dataset))
    return CheckedGold(
        dataset=dataset.name,
        checked=len(readings),
        suspects=tuple(
            SuspectGold(case_id=case.id, question=case.query, gold=case.reference_answer or "", reading=reading)
            for case, reading in readings
            if reading.problem is not None
        ),
    )


def _readings(dataset: Dataset) -> Iterator[tuple[Case, GoldReading]]:
    for case in dataset.cases:
        graded = sorted((grade for grade in case.grades if grade.grade > 0), key=lambda grade: -grade.grade)
        found = [dataset.by_id[grade.document_id] for grade in graded if grade.document_id in dataset.by_id]
        evidence = [
            GoldEvidence(document.text, "" if document.dated is None else f"{document.dated:%Y-%m-%d}")
            for document in found[:MOST_DOCUMENTS]
        ]
        if case.reference_answer and case.answerable and evidence:
            yield case, check_gold(case.query, case.reference_answer, evidence)
