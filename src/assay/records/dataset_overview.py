"""Datasets in numbers: one in a list, and one as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedDataset:
    """A dataset as a list shows it."""

    name: str
    version: str
    bundled: bool
    """Whether it comes with Assay."""
    documents: int
    cases: int
    content_hash: str
    imported_at: datetime | None = None
    """None: it comes with Assay."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LeastMedianMost:
    """Least, middle and most of something."""

    least: float
    median: float
    most: float


@dataclass(frozen=True, kw_only=True, slots=True)
class DatasetOverview:
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
    words: LeastMedianMost | None
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
    relevant: LeastMedianMost | None
    """Documents that are relevant to a case; None where nothing is judged."""
    best_precision_at_5: float | None
    """What precision@5 would be if everything relevant came first: a floor above it cannot be met."""
