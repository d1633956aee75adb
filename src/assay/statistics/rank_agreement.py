"""How alike two ranked lists are: Kendall's tau-b, Jaccard, RBO, the top result, moved items, and one word for it all.

Thresholds are those of the published evaluation framework (its section 4.4), with two edges it leaves open decided
here: equal lists are `identical`, also when they are empty or too short for a tau; otherwise a set overlap below 0.70
or an undefined tau is `incompatible`. A repeated item counts where it stands first, as everywhere in Assay.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from assay.statistics.checks import Floats, numbers, open_share, same_length

AgreementClass = Literal["identical", "minor", "major", "incompatible"]

IDENTICAL_TAU = 0.99
IDENTICAL_OVERLAP = 0.95
MINOR_TAU = 0.95
MAJOR_TAU = 0.85
LEAST_OVERLAP = 0.70
PERSISTENCE = 0.9
"""RBO's p: the chance that a reader goes on to the next rank. At 0.9 the first ten ranks carry 86 % of the weight."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RankAgreement:
    """Two ranked lists side by side."""

    tau_b: float | None
    """Over shared items; None below two of them."""
    jaccard: float
    rbo: float
    top_changed: bool
    order_differences: int
    """Shared items that stand at another position."""
    shared: int
    classified: AgreementClass


def rank_agreement(
    first: Sequence[Hashable], second: Sequence[Hashable], *, persistence: float = PERSISTENCE
) -> RankAgreement:
    """Compare two lists of ids, best first."""
    left, right = list(dict.fromkeys(first)), list(dict.fromkeys(second))
    place_left = {item: place for place, item in enumerate(left)}
    place_right = {item: place for place, item in enumerate(right)}
    shared = [item for item in left if item in place_right]
    tau = kendall_tau_b([place_left[item] for item in shared], [place_right[item] for item in shared])
    overlap = jaccard(left, right)
    top_changed = left[:1] != right[:1]
    return RankAgreement(
        tau_b=tau,
        jaccard=overlap,
        rbo=rank_biased_overlap(left, right, persistence=persistence),
        top_changed=top_changed,
        order_differences=sum(place_left[item] != place_right[item] for item in shared),
        shared=len(shared),
        classified="identical" if left == right else classify(tau, overlap, top_changed=top_changed),
    )


def classify(tau_b: float | None, overlap: float, *, top_changed: bool) -> AgreementClass:
    """The word for an agreement, by the documented thresholds."""
    if tau_b is None or overlap < LEAST_OVERLAP:
        return "incompatible"
    if tau_b >= IDENTICAL_TAU and overlap >= IDENTICAL_OVERLAP:
        return "identical"
    if tau_b >= MINOR_TAU and not top_changed:
        return "minor"
    return "major" if tau_b >= MAJOR_TAU else "incompatible"


def jaccard(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Shared items over all items; two empty lists share everything they have."""
    left, right = set(first), set(second)
    union = len(left | right)
    return len(left & right) / union if union else 1.0


def kendall_tau_b(first: ArrayLike, second: ArrayLike) -> float | None:
    """Kendall's tau-b of paired values, ties allowed; None below two values or when one side never varies."""
    x, y = numbers(first, "first", least=0), numbers(second, "second", least=0)
    same_length(x, "first", y, "second")
    agree = untied_x = untied_y = 0.0
    for place in range(len(x) - 1):
        dx, dy = np.sign(x[place + 1 :] - x[place]), np.sign(y[place + 1 :] - y[place])
        agree += float(dx @ dy)
        untied_x += float(np.abs(dx).sum())
        untied_y += float(np.abs(dy).sum())
    if untied_x == 0.0 or untied_y == 0.0:
        return None
    return agree / math.sqrt(untied_x * untied_y)


def rank_biased_overlap(
    first: Sequence[Hashable], second: Sequence[Hashable], *, persistence: float = PERSISTENCE
) -> float:
    """RBO extrapolated beyond the seen ranks (Webber, Moffat and Zobel 2010, equation 32); two empty lists give 1."""
    p = open_share(persistence, "persistence")
    left, right = list(dict.fromkeys(first)), list(dict.fromkeys(second))
    short, long = sorted((left, right), key=len)
    if not short:
        return 0.0 if long else 1.0
    s, depth = len(short), len(long)
    common = _common_by_depth(short, long)
    ranks = np.arange(1, depth + 1)
    at_short, at_long = common[s - 1], common[-1]
    seen = np.sum(common / ranks * p**ranks)
    tail = ranks[s:]
    assumed = np.sum(at_short * (tail - s) / (s * tail) * p**tail)
    rest = ((at_long - at_short) / depth + at_short / s) * p**depth
    return float(min(1.0, (1.0 - p) / p * (seen + assumed) + rest))


def _common_by_depth(short: list[Hashable], long: list[Hashable]) -> Floats:
    """How many items both lists hold among their first d, for each d of the longer one."""
    place_short = {item: place for place, item in enumerate(short)}
    gained = np.zeros(len(long))
    for place, item in enumerate(long):
        if item in place_short:
            gained[max(place, place_short[item])] += 1.0
    return np.cumsum(gained)
