"""What datasets hold, in counts, and splitting one into parts.

- Counts of kinds, lengths and grades, and the list of datasets.
- Splitting by category, seeded.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import BadValue, NothingMeasured
from assay.evaluation.datasets.bundled import list_bundled
from assay.evaluation.datasets.checks import label_sources
from assay.evaluation.datasets.loading import load_dataset
from assay.records.datasets import DatasetOverview, LeastMedianMost, ListedDataset

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assay.evaluation.datasets.registry import Imported
    from assay.records.datasets import Case, Dataset

# --- Counts of kinds, lengths and grades, and the list of datasets ---


def show(dataset: Dataset) -> DatasetOverview:
    """Count what a dataset holds."""
    labels = [case.labels for case in dataset.cases if case.grades]
    relevant = [sum(grade >= dataset.relevance_level for grade in row.values()) for row in labels]
    grades = Counter(grade for row in labels for grade in row.values())
    return DatasetOverview(
        name=dataset.name,
        version=dataset.version,
        description=dataset.description,
        created_at=dataset.created_at,
        tag_hint=f"{dataset.name}-v{dataset.version}",
        content_hash=dataset.content_hash,
        corpus_hash=dataset.corpus_hash,
        scale=(dataset.lowest_grade, dataset.highest_grade, dataset.relevance_level),
        ranked_unit=dataset.ranked_unit,
        floors=dataset.floors,
        documents=len(dataset.documents),
        words=_spread(len(document.text.split()) for document in dataset.documents),
        entity_types=_count_kinds(document.entity_type for document in dataset.documents),
        formats=_count_kinds(document.format.value for document in dataset.documents),
        cases=len(dataset.cases),
        categories=_count_kinds(case.category for case in dataset.cases),
        difficulties=_count_kinds(case.difficulty for case in dataset.cases),
        unanswerable=sum(not case.answerable for case in dataset.cases),
        anchored=sum(bool(case.anchors and case.anchors.supports) for case in dataset.cases),
        harvested=sum(case.harvested_at is not None for case in dataset.cases),
        judgments=sum(grades.values()),
        grades=dict(sorted(grades.items())),
        with_rubric=sum(bool(case.rubric) for case in dataset.cases),
        surfaced_by=_count_kinds(name for case in dataset.cases for grade in case.grades for name in grade.channels),
        label_sources=label_sources(dataset.cases),
        relevant=_spread(relevant),
        best_precision_at_5=_best_precision(relevant),
    )


def _best_precision(relevant: list[int]) -> float | None:
    """Over the cases that have something relevant: the others enter no mean."""
    counted = [min(count, 5) / 5 for count in relevant if count]
    return statistics.fmean(counted) if counted else None


def _spread(numbers: Iterable[float]) -> LeastMedianMost | None:
    found = list(numbers)
    return LeastMedianMost(least=min(found), median=statistics.median(found), most=max(found)) if found else None


def _count_kinds(kinds: Iterable[str]) -> dict[str, int]:
    return dict(Counter(kind for kind in kinds if kind).most_common())


def list_datasets(imported: Iterable[Imported]) -> tuple[ListedDataset, ...]:
    """Return the datasets that come with Assay, then the imported ones."""
    return (
        *map(_describe_bundled, list_bundled()),
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
def _describe_bundled(name: str) -> ListedDataset:
    """Count a dataset that comes with Assay; read once in a process, since it never changes."""
    dataset = load_dataset(name)
    return ListedDataset(
        name=name,
        version=dataset.version,
        bundled=True,
        documents=len(dataset.documents),
        cases=len(dataset.cases),
        content_hash=dataset.content_hash,
    )


# --- Splitting by category, seeded ---
#
# Cases of one category are shuffled, categories stand one behind the other, and each case goes to the part that is
# furthest behind its share. So the parts are as large as asked for, to a case, and each category is shared out evenly.
# All parts keep all documents: the task is the same in each.


def split_dataset(dataset: Dataset, shares: Mapping[str, float], *, seed: int = 0) -> dict[str, Dataset]:
    """A dataset for each part, named after it; the shares add up to 1."""
    _check(shares)
    parts: dict[str, list[Case]] = {name: [] for name in shares}
    for place, case in enumerate(_shuffle_by_category(dataset.cases, np.random.default_rng(seed)), start=1):
        behind = {name: share * place - len(parts[name]) for name, share in shares.items()}
        parts[max(behind, key=lambda name: behind[name])].append(case)
    empty = [name for name, cases in parts.items() if not cases]
    if empty:
        raise NothingMeasured(
            f"part {empty[0]!r} of {dataset.name} would hold none of its {len(dataset.cases):,} cases",
            remedy="Give it a larger share.",
        )
    order = {case.id: place for place, case in enumerate(dataset.cases)}
    return {name: _part(dataset, name, sorted(cases, key=lambda item: order[item.id])) for name, cases in parts.items()}


def _shuffle_by_category(cases: tuple[Case, ...], rng: np.random.Generator) -> list[Case]:
    """Order cases by category and shuffle each category; the order in the file does not matter."""
    strata: dict[str, list[Case]] = {}
    for case in sorted(cases, key=lambda given: (given.category, given.id)):
        strata.setdefault(case.category, []).append(case)
    return [stratum[place] for stratum in strata.values() for place in rng.permutation(len(stratum))]


def _part(dataset: Dataset, name: str, cases: list[Case]) -> Dataset:
    return replace(dataset, name=f"{dataset.name}-{name}", cases=tuple(cases))


def _check(shares: Mapping[str, float]) -> None:
    total = math.fsum(shares.values())
    if len(shares) < 2 or min(shares.values()) <= 0 or not math.isclose(total, 1.0, abs_tol=1e-9):
        shown = ", ".join(f"{name}={share:g}" for name, share in shares.items())
        raise BadValue(
            f"the shares {shown or '(none)'} are not a split",
            remedy="Give two or more shares above 0 with the sum 1.",
        )
