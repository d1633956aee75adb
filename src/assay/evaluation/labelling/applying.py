"""Labels into a dataset: what people said becomes grades of theirs, and generated cases count once somebody agreed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from assay.evaluation.datasets.generated import ACCEPTED, is_generated
from assay.evaluation.labelling.journal import Label
from assay.records.datasets import Case, Dataset, Grade
from assay.records.evidence import JudgmentSource

Stands = Mapping[str, Mapping[tuple[str, str], Label]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Applied:
    """A dataset with labels in it."""

    dataset: Dataset
    grades: int
    """Given by people."""
    accepted: int
    """Generated cases that count from now on."""
    rejected: int
    """Generated cases that people found wrong; they are gone."""
    strangers: int
    """Labels of cases that the dataset does not have."""


def apply_labels(dataset: Dataset, stands: Stands) -> Applied:
    """A copy with every label that stands."""
    by_case: dict[str, list[Label]] = {}
    for of in stands.values():
        for label in of.values():
            if label.grade is not None:
                by_case.setdefault(label.case_id, []).append(label)
    cases = [_labelled(one, by_case.get(one.id, []), dataset.relevance_level) for one in dataset.cases]
    kept = tuple(one for one in cases if one is not None)
    known = {one.id for one in dataset.cases}
    return Applied(
        dataset=replace(dataset, cases=kept),
        grades=sum(len(of) for case, of in by_case.items() if case in known),
        accepted=sum(is_generated(one) and ACCEPTED in one.tags and bool(by_case.get(one.id)) for one in kept),
        rejected=len(cases) - len(kept),
        strangers=sum(len(of) for case, of in by_case.items() if case not in known),
    )


def _labelled(case: Case, labels: list[Label], level: int) -> Case | None:
    """None: people looked at a generated case and nobody found it right."""
    if not labels:
        return case
    if case.anchors is None:
        return replace(case, grades=_grades(case, labels), tags=_tags(case))
    if not is_generated(case):
        return case
    return replace(case, tags=_tags(case)) if max(one.grade or 0 for one in labels) >= level else None


def _grades(case: Case, labels: list[Label]) -> tuple[Grade, ...]:
    given = {
        (one.document_id, JudgmentSource.MANUAL, one.annotator): Grade(
            document_id=one.document_id, grade=one.grade or 0, annotator=one.annotator
        )
        for one in labels
    }
    before = {(one.document_id, one.source, one.annotator): one for one in case.grades}
    return tuple({**before, **given}.values())


def _tags(case: Case) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*case.tags, *([ACCEPTED] if is_generated(case) else [])]))
