"""Parts of a dataset: cases shared out by category, seeded, so that every part has every kind in proportion.

Cases of one category are shuffled, categories stand one behind the other, and each case goes to the part that is
furthest behind its share. So the parts are as large as asked for, to a case, and each category is shared out evenly.
All parts keep all documents: the task is the same in each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from assay.errors import BadValue, NothingMeasured
from assay.records.datasets import Case, Dataset


def split_dataset(dataset: Dataset, shares: Mapping[str, float], *, seed: int = 0) -> dict[str, Dataset]:
    """A dataset for each part, named after it; the shares add up to 1."""
    _check(shares)
    parts: dict[str, list[Case]] = {name: [] for name in shares}
    for place, one in enumerate(_arranged(dataset.cases, np.random.default_rng(seed)), start=1):
        behind = {name: share * place - len(parts[name]) for name, share in shares.items()}
        parts[max(behind, key=lambda name: behind[name])].append(one)
    empty = [name for name, cases in parts.items() if not cases]
    if empty:
        raise NothingMeasured(
            f"part {empty[0]!r} of {dataset.name} would hold none of its {len(dataset.cases):,} cases",
            remedy="Give it a larger share.",
        )
    order = {one.id: place for place, one in enumerate(dataset.cases)}
    return {name: _part(dataset, name, sorted(cases, key=lambda one: order[one.id])) for name, cases in parts.items()}


def _arranged(cases: tuple[Case, ...], rng: np.random.Generator) -> list[Case]:
    """By category, shuffled within; where a case stood in its file does not matter."""
    strata: dict[str, list[Case]] = {}
    for one in sorted(cases, key=lambda case: (case.category, case.id)):
        strata.setdefault(one.category, []).append(one)
    return [stratum[place] for stratum in strata.values() for place in rng.permutation(len(stratum))]


def _part(dataset: Dataset, name: str, cases: list[Case]) -> Dataset:
    return replace(dataset, name=f"{dataset.name}-{name}", cases=tuple(cases))


def _check(shares: Mapping[str, float]) -> None:
    total = math.fsum(shares.values())
    if len(shares) < 2 or min(shares.values()) <= 0 or not math.isclose(total, 1.0, abs_tol=1e-9):
        shown = ", ".join(f"{name}={share:g}" for name, share in shares.items())
        raise BadValue(
            f"the shares {shown or '(none)'} are no split", remedy="Give two or more shares above 0 that add up to 1."
        )
