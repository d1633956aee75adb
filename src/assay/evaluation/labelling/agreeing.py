"""How far people agree who labelled the same pairs: kappa of each two, alpha of all, and where they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from assay.errors import NothingMeasured
from assay.evaluation.labelling.journal import Label
from assay.records.evidence import HIGHEST_GRADE
from assay.statistics import Agreement, cohen_kappa, krippendorff_alpha

GRADES = tuple(range(HIGHEST_GRADE + 1))


class Pairwise(NamedTuple):
    """Two people."""

    first: str
    second: str
    pairs: int
    """Labelled by both."""
    same: int
    """With the same grade."""
    kappa: Agreement
    """Quadratic weights: two grades apart is worse than one."""


class Disagreement(NamedTuple):
    """A pair that people grade differently."""

    case_id: str
    document_id: str
    grades: Mapping[str, int]
    """By annotator."""

    @property
    def apart(self) -> int:
        """How far the grades lie apart."""
        return max(self.grades.values()) - min(self.grades.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class AgreementReport:
    """Everybody together."""

    annotators: Mapping[str, int]
    """How many pairs each has graded."""
    pairwise: tuple[Pairwise, ...]
    alpha: Agreement
    """Krippendorff's, ordinal."""
    disagreements: tuple[Disagreement, ...]
    """The farthest apart first."""


def agreement(stands: Mapping[str, Mapping[tuple[str, str], Label]], *, rng: np.random.Generator) -> AgreementReport:
    """Of what stands, by annotator; skipped pairs have no grade."""
    graded = {who: {key: one.grade for key, one in of.items() if one.grade is not None} for who, of in stands.items()}
    graded = {who: of for who, of in sorted(graded.items()) if of}
    keys = sorted({key for of in graded.values() for key in of})
    twice = [key for key in keys if sum(key in of for of in graded.values()) > 1]
    if not twice:
        raise NothingMeasured(
            f"no pair was graded by two people; there are {len(graded)}",
            remedy="Let a second person label the same pairs: `assay label ... --annotator NAME`.",
        )
    rows = [[of.get(key) for of in graded.values()] for key in twice]
    return AgreementReport(
        annotators={who: len(of) for who, of in graded.items()},
        pairwise=tuple(_pairwise(graded, rng)),
        alpha=krippendorff_alpha(rows, rng=rng, scale="ordinal", categories=GRADES),
        disagreements=_disagreements(graded, twice),
    )


def _pairwise(graded: Mapping[str, Mapping[tuple[str, str], int]], rng: np.random.Generator) -> list[Pairwise]:
    found = []
    for first, second in combinations(graded, 2):
        both = sorted(graded[first].keys() & graded[second].keys())
        if both:
            left, right = ([graded[who][key] for key in both] for who in (first, second))
            kappa = cohen_kappa(left, right, rng=rng, weights="quadratic", categories=GRADES)
            same = sum(one == other for one, other in zip(left, right, strict=True))
            found.append(Pairwise(first, second, len(both), same, kappa))
    return found


def _disagreements(
    graded: Mapping[str, Mapping[tuple[str, str], int]], keys: list[tuple[str, str]]
) -> tuple[Disagreement, ...]:
    all_ = [Disagreement(*key, {who: of[key] for who, of in graded.items() if key in of}) for key in keys]
    return tuple(sorted((one for one in all_ if one.apart), key=lambda one: (-one.apart, one.case_id, one.document_id)))
