"""What datasets hold, counted: kinds, lengths, grades, and the best that judgments allow; and the list of them."""

from __future__ import annotations

import functools
import statistics
from collections import Counter
from collections.abc import Iterable

from assay.evaluation.datasets.bundled import bundled_names
from assay.evaluation.datasets.labels import label_sources
from assay.evaluation.datasets.loading import load_dataset
from assay.evaluation.datasets.registry import Imported
from assay.records.dataset_overview import DatasetOverview, LeastMedianMost, ListedDataset
from assay.records.datasets import Dataset


def show(dataset: Dataset) -> DatasetOverview:
    """Count what a dataset holds."""
    labels = [one.labels for one in dataset.cases if one.grades]
    relevant = [sum(grade >= dataset.relevance_level for grade in row.values()) for row in labels]
    grades = Counter(grade for row in labels for grade in row.values())
    return DatasetOverview(
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


def _spread(numbers: Iterable[float]) -> LeastMedianMost | None:
    found = list(numbers)
    return LeastMedianMost(least=min(found), median=statistics.median(found), most=max(found)) if found else None


def _counted(kinds: Iterable[str]) -> dict[str, int]:
    return dict(Counter(one for one in kinds if one).most_common())


def list_datasets(imported: Iterable[Imported]) -> tuple[ListedDataset, ...]:
    """Return the datasets that come with Assay, then the imported ones."""
    return (
        *map(_bundled, bundled_names()),
        *(
            ListedDataset(
                name=card.name,
                version=card.version,
                bundled=False,
                documents=card.documents,
                cases=card.cases,
                content_hash=card.content_hash,
                imported_at=card.imported_at,
            )
            for card in imported
        ),
    )


@functools.cache
def _bundled(name: str) -> ListedDataset:
    """Count a dataset that comes with Assay; read once in a process, since nobody changes it."""
    dataset = load_dataset(name)
    return ListedDataset(
        name=name,
        version=dataset.version,
        bundled=True,
        documents=len(dataset.documents),
        cases=len(dataset.cases),
        content_hash=dataset.content_hash,
    )
