"""What a dataset holds, counted: kinds, lengths, grades, and the best that its judgments allow."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from assay.evaluation.datasets.labels import label_sources
from assay.records.datasets import Dataset


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """Least, middle and most of something."""

    least: float
    median: float
    most: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Overview:
    """One dataset in numbers."""

    name: str
    version: str
    description: str
    tag_hint: str
    content_hash: str
    corpus_hash: str
    scale: tuple[int, int, int]
    """Lowest grade, highest grade, the lowest that is relevant."""
    ranked_unit: str
    floors: Mapping[str, float]
    documents: int
    words: Spread | None
    """Of a document; None where there are no documents."""
    entity_types: Mapping[str, int]
    formats: Mapping[str, int]
    cases: int
    categories: Mapping[str, int]
    difficulties: Mapping[str, int]
    unanswerable: int
    anchored: int
    """Cases whose gold is a place in a file."""
    judgments: int
    grades: Mapping[int, int]
    label_sources: Mapping[str, int]
    """How many grades each source gave: `manual`, `validated`, `implicit`, `bootstrapped`, `llm_judge`."""
    relevant: Spread | None
    """Documents that are relevant to a case; None where nothing is judged."""
    best_precision_at_5: float | None
    """What precision@5 would be if everything relevant came first: a floor above it cannot be met."""


def show(dataset: Dataset) -> Overview:
    """Count what a dataset holds."""
    labels = [one.labels for one in dataset.cases if one.grades]
    relevant = [sum(grade >= dataset.relevance_level for grade in row.values()) for row in labels]
    grades = Counter(grade for row in labels for grade in row.values())
    return Overview(
        name=dataset.name,
        version=dataset.version,
        description=dataset.description,
        tag_hint=f"{dataset.name}-v{dataset.version}",
        content_hash=dataset.content_hash,
        corpus_hash=dataset.corpus_hash,
        scale=(dataset.lowest_grade, dataset.highest_grade, dataset.relevance_level),
        ranked_unit=dataset.ranked_unit,
        floors=dataset.floors,
        documents=len(dataset.documents),
        words=_spread(len(one.text.split()) for one in dataset.documents),
        entity_types=_counted(one.entity_type for one in dataset.documents),
        formats=_counted(one.format.value for one in dataset.documents),
        cases=len(dataset.cases),
        categories=_counted(one.category for one in dataset.cases),
        difficulties=_counted(one.difficulty for one in dataset.cases),
        unanswerable=sum(not one.answerable for one in dataset.cases),
        anchored=sum(bool(one.anchors and one.anchors.supports) for one in dataset.cases),
        judgments=sum(grades.values()),
        grades=dict(sorted(grades.items())),
        label_sources=label_sources(dataset.cases),
        relevant=_spread(relevant),
        best_precision_at_5=_best_precision(relevant),
    )


def _best_precision(relevant: list[int]) -> float | None:
    """Over the cases that have something relevant: the others enter no mean."""
    counted = [min(one, 5) / 5 for one in relevant if one]
    return statistics.fmean(counted) if counted else None


def _spread(numbers: Iterable[float]) -> Spread | None:
    found = list(numbers)
    return Spread(least=min(found), median=statistics.median(found), most=max(found)) if found else None


def _counted(kinds: Iterable[str]) -> dict[str, int]:
    return dict(Counter(one for one in kinds if one).most_common())
