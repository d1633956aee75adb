"""Agreement: between raters, and between two rankings.

- Raters: Cohen's kappa and Krippendorff's alpha.
- Rankings: Kendall's tau-b, Jaccard, rank-biased overlap, moved items.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import BadValue
from assay.records.evaluations import Agreement
from assay.statistics.inputs import Floats, finite, numbers, one_of, open_share, same_length, whole
from assay.statistics.intervals import unseen_share

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

# --- Raters: Cohen's kappa and Krippendorff's alpha ---
#
# Both are 1 - observed / expected disagreement; what a disagreement weighs is the only choice. Numeric labels lie as
# far apart as their values, so an unused grade of a scale changes nothing; other labels lie one step apart in the
# order of
# `categories`. The interval resamples items. Raters who never disagreed get an exact bound on the disagreement that n
# items can have missed, not [1, 1]; where only one label was ever used there is no agreement beyond chance to speak
# of, and the value is None.

Label = str | int | float
Weights = Literal["unweighted", "linear", "quadratic"]
Scale = Literal["nominal", "ordinal", "interval"]
Matrix = NDArray[np.float64]
RESAMPLES = 2_000
_BLOCK = 1_000_000


class _Ratio(NamedTuple):
    """Disagreement over all items; their quotient is what agreement falls short of 1."""

    observed: float
    expected: float

    @property
    def value(self) -> float | None:
        return 1.0 - self.observed / self.expected if self.expected > 0.0 else None


def cohen_kappa(
    first: Sequence[Label],
    second: Sequence[Label],
    *,
    rng: np.random.Generator,
    weights: Weights = "unweighted",
    categories: Sequence[Label] | None = None,
    level: float = 0.95,
    resamples: int = RESAMPLES,
) -> Agreement:
    """Cohen's kappa of two raters over the same items, with its interval."""
    same_length(first, "first", second, "second")
    one_of(weights, "weights", get_args(Weights))
    _check_sampling(len(first), level, resamples)
    places = _places([*first, *second], categories)
    table = _confusion(first, second, places)
    distance = _kappa_distance(_positions(places), weights)
    drawn = _resample_tables(table, resamples, rng)
    values = np.concatenate([_kappas(block, distance) for block in drawn])
    whole_table = _kappa_ratio(table, distance)
    return _with_interval(whole_table, float(distance.max()), values, n=len(first), level=level)


def krippendorff_alpha(
    items: Sequence[Sequence[Label | None]],
    *,
    rng: np.random.Generator,
    scale: Scale = "nominal",
    categories: Sequence[Label] | None = None,
    level: float = 0.95,
    resamples: int = RESAMPLES,
) -> Agreement:
    """Krippendorff's alpha, with its interval; each item is the row of its ratings, None where a rater has none."""
    one_of(scale, "scale", get_args(Scale))
    rated = [[label for label in item if label is not None] for item in items]
    rated = [ratings for ratings in rated if len(ratings) >= 2]
    _check_sampling(len(rated), level, resamples)
    places = _places([label for ratings in rated for label in ratings], categories)
    counts = _label_counts(rated, places)
    positions = _positions(places)
    drawn = rng.multinomial(len(rated), np.full(len(rated), 1.0 / len(rated)), size=resamples).astype(np.float64)
    found = (_alpha_ratio(counts, weights, positions, scale).value for weights in drawn)
    values = np.array([np.nan if value is None else value for value in found])
    ones = np.ones(len(rated))
    largest = float(_alpha_distance(counts.sum(axis=0), positions, scale).max())
    return _with_interval(_alpha_ratio(counts, ones, positions, scale), largest, values, n=len(rated), level=level)


def _with_interval(ratio: _Ratio, largest: float, values: Floats, *, n: int, level: float) -> Agreement:
    undefined = int(np.count_nonzero(np.isnan(values)))
    if ratio.value is None:
        return Agreement(
            value=None, low=None, high=None, level=level, n=n, undefined=undefined, method="not_computable"
        )
    if ratio.observed == 0.0:
        low = max(-1.0, 1.0 - unseen_share(n, level) * largest / ratio.expected)
        return Agreement(value=1.0, low=low, high=1.0, level=level, n=n, undefined=undefined, method="no_disagreement")
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(values[~np.isnan(values)], [tail, 1.0 - tail]).tolist()
    return Agreement(value=ratio.value, low=low, high=high, level=level, n=n, undefined=undefined, method="bootstrap")


def _check_sampling(n: int, level: float, resamples: int) -> None:
    if n < 1:
        raise BadValue("no item has two ratings", remedy="Give at least one item that two raters judged.")
    open_share(level, "level")
    whole(resamples, "resamples", least=100)


def _places(used: Sequence[Label], categories: Sequence[Label] | None) -> dict[Label, int]:
    """The place of each label in the order of the scale."""
    for label in used:
        if not isinstance(label, str):
            finite(label, "label")
    order = list(dict.fromkeys(categories)) if categories is not None else _sort_labels(set(used))
    places = {label: place for place, label in enumerate(order)}
    strange = next((label for label in used if label not in places), None)
    if strange is not None:
        raise BadValue(f"label {strange!r} is not in categories {order!r}", remedy="List every label of the scale.")
    return places


def _sort_labels(labels: set[Label]) -> list[Label]:
    if len({isinstance(label, str) for label in labels}) > 1:
        raise BadValue("labels mix text and numbers", remedy="Use one kind of label, or give categories in order.")
    return sorted(labels, key=lambda label: (str(label), 0.0) if isinstance(label, str) else ("", float(label)))


def _positions(places: Mapping[Label, int]) -> Floats:
    if any(isinstance(label, str) for label in places):
        return np.arange(len(places), dtype=np.float64)
    return np.array([float(label) for label in places])


def _confusion(first: Sequence[Label], second: Sequence[Label], places: Mapping[Label, int]) -> Matrix:
    size = len(places)
    codes = [places[a] * size + places[b] for a, b in zip(first, second, strict=True)]
    return np.bincount(codes, minlength=size * size).reshape(size, size).astype(np.float64)


def _kappa_distance(positions: Floats, weights: Weights) -> Matrix:
    apart = np.abs(positions[:, None] - positions[None, :])
    if weights == "unweighted":
        return (apart > 0).astype(np.float64)
    return apart if weights == "linear" else apart**2


def _kappa_ratio(table: Matrix, distance: Matrix) -> _Ratio:
    n = table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    return _Ratio(float((table * distance).sum() / n), float((expected * distance).sum() / n))


def _kappas(tables: NDArray[np.float64], distance: Matrix) -> Floats:
    """Kappa of each table; NaN, inside this module only, where it has none."""
    n = tables[0].sum()
    observed = (tables * distance).sum(axis=(1, 2))
    expected = np.einsum("ri,ij,rj->r", tables.sum(axis=2), distance, tables.sum(axis=1)) / n
    safe = np.where(expected > 0.0, expected, 1.0)
    return np.where(expected > 0.0, 1.0 - observed / safe, np.nan)


def _resample_tables(table: Matrix, resamples: int, rng: np.random.Generator) -> list[NDArray[np.float64]]:
    """Confusion tables of resampled items: a multinomial over the cells is the same draw."""
    n, cells = int(table.sum()), (table / table.sum()).ravel()
    rows = max(1, _BLOCK // table.size)
    sizes = [min(rows, resamples - done) for done in range(0, resamples, rows)]
    return [rng.multinomial(n, cells, size=size).reshape(size, *table.shape).astype(np.float64) for size in sizes]


def _label_counts(rated: Sequence[Sequence[Label]], places: Mapping[Label, int]) -> Matrix:
    """How often each item got each label."""
    counts = np.zeros((len(rated), len(places)))
    for row, ratings in enumerate(rated):
        for label in ratings:
            counts[row, places[label]] += 1.0
    return counts


def _alpha_ratio(counts: Matrix, weights: Floats, positions: Floats, scale: Scale) -> _Ratio:
    """Observed and expected disagreement of items taken so many times each (Krippendorff 2011)."""
    share = weights / (counts.sum(axis=1) - 1.0)
    pairs = (counts * share[:, None]).T @ counts
    totals = weights @ counts
    distance = _alpha_distance(totals, positions, scale)
    n = totals.sum()
    # A label's pairs with itself lie at distance 0, so they need not be taken off the diagonal.
    return _Ratio(float((pairs * distance).sum() / n), float(totals @ distance @ totals / (n * (n - 1.0))))


def _alpha_distance(totals: Floats, positions: Floats, scale: Scale) -> Matrix:
    if scale == "nominal":
        return 1.0 - np.eye(len(totals))
    # The ordinal distance is the interval distance between mid-ranks.
    places = positions if scale == "interval" else np.cumsum(totals) - totals / 2.0
    apart: Matrix = (places[:, None] - places[None, :]) ** 2
    return apart


# --- Rankings: Kendall's tau-b, Jaccard, rank-biased overlap, moved items ---
#
# Thresholds are those of the published evaluation framework (its section 4.4), with two edges it leaves open decided
# here: equal lists are `identical`, also when they are empty or too short for a tau; otherwise a set overlap below
# 0.70 or an undefined tau is `incompatible`. A repeated item counts where it stands first, as everywhere in Assay.

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
    """The name of a level of agreement, by the documented thresholds."""
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
