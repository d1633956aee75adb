"""What a format does not keep of a dataset, found by reading back what was written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from assay.errors import InputError
from assay.evaluation.datasets.loading import read_path
from assay.evaluation.datasets.registering import Source
from assay.records.datasets import Dataset

LOSSLESS = frozenset({"golden", "golden-files", "golden-lines"})
"""Formats of Assay's own that keep everything; a test holds it."""
EMPTY: tuple[Any, ...] = (None, "", (), {}, [])
"""Values of which nothing can be lost."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportLosses:
    """What is not in the files that were written."""

    documents: int
    """Documents that do not come back at all."""
    cases: int
    document_fields: Mapping[str, int]
    """Fields of documents that are gone or changed, each with how many documents."""
    case_fields: Mapping[str, int]

    def lines(self) -> list[str]:
        """Say what is lost; nothing for a lossless export."""
        found = []
        for what, gone, lost in (
            ("documents", self.documents, self.document_fields),
            ("cases", self.cases, self.case_fields),
        ):
            if gone:
                found.append(f"{gone:,} {what} are not in it")
            if lost:
                named = ", ".join(f"{name} ({count:,})" for name, count in lost.items())
                found.append(f"fields of {what} that it does not keep: {named}")
        return found


def find_losses(dataset: Dataset, place: Path, kind: str, *, split: str | None = None) -> ExportLosses | None:
    """Compare a dataset with what was written of it; None: what was written cannot be read back by itself."""
    if kind in LOSSLESS:
        return ExportLosses(documents=0, cases=0, document_fields={}, case_fields={})
    try:
        back = read_path(place, source=Source(format=kind, split=split if kind == "beir" else None))
    except InputError:
        return None
    documents, document_fields = _compare(dataset.documents, back.documents)
    cases, case_fields = _compare(dataset.cases, back.cases)
    return ExportLosses(documents=documents, cases=cases, document_fields=document_fields, case_fields=case_fields)


def _compare(before: Iterable[Any], after: Iterable[Any]) -> tuple[int, dict[str, int]]:
    there = {record.id: record for record in after}
    gone = 0
    lost: Counter[str] = Counter()
    for record in before:
        other = there.get(record.id)
        if other is None:
            gone += 1
            continue
        for field in fields(record):
            value = getattr(record, field.name)
            if value not in EMPTY and getattr(other, field.name) != value:
                lost[field.name] += 1
    return gone, dict(sorted(lost.items()))
