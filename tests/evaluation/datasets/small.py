"""Small datasets that every check has nothing to say about, to be spoilt one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from assay.records.answers import GoldAnchors, GoldSupport
from assay.records.datasets import Case, Dataset, Document, Grade

CATEGORIES = ("factual", "sentiment")
RULES = """# Lab rules

General words.

## Visitors

Visitors come with a member of staff.

## Opening hours

The lab opens at nine and closes at six.
"""
ACCESS = "# Access\n\n## Badges\n\nLost badges are replaced at the front desk.\n"


def graded(cases: int = 24, documents: int = 50) -> Dataset:
    """Cases with three grades each."""
    return Dataset(
        name="small",
        documents=tuple(Document(id=f"d{n}", text=f"Words about subject number {n}.") for n in range(documents)),
        cases=tuple(
            Case(
                id=f"q{n}",
                query=f"what do we know of thing {n}?",
                grades=(
                    Grade(document_id=f"d{n}", grade=3),
                    Grade(document_id=f"d{n + 1}", grade=2),
                    Grade(document_id=f"d{n + 2}", grade=0),
                ),
                category=CATEGORIES[n % 3 == 0],
            )
            for n in range(cases)
        ),
    )


def with_first(dataset: Dataset, **changes: Any) -> Dataset:
    """The same with another first case."""
    return replace(dataset, cases=(replace(dataset.cases[0], **changes), *dataset.cases[1:]))


def anchored(*supports: GoldSupport, notes: dict[str, str] | None = None) -> Dataset:
    """One anchored case over some notes."""
    texts = {"rules/lab.md": RULES, "access.md": ACCESS} if notes is None else notes
    documents = tuple(Document(id=path, text=text, rel_path=path) for path, text in texts.items())
    case = Case(id="c1", query="who may enter?", anchors=GoldAnchors(supports=supports))
    return Dataset(name="notes", documents=documents, cases=(case,), ranked_unit="anchor")
