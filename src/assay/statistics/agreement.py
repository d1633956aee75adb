"""How far raters agree beyond chance: Cohen's kappa for two, Krippendorff's alpha for any number with gaps.

Both are 1 - observed / expected disagreement; what a disagreement weighs is the only choice. Numeric labels lie as far
apart as their values, so an unused grade of a scale changes nothing; other labels lie one step apart in the order of
`categories`. The interval resamples items. Raters who never disagreed get an exact bound on the disagreement that n
items can have missed, not [1, 1]; where only one label was ever used there is no agreement beyond chance to speak of,
and the value is None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from assay.errors import BadValue
from assay.statistics.checks import Floats, finite, one_of, open_share, same_length, whole
from assay.statistics.intervals import unseen_share

Label = str | int | float
Weights = Literal["unweighted", "linear", "quadratic"]
Scale = Literal["nominal", "ordinal", "interval"]
Matrix = NDArray[np.float64]
RESAMPLES = 2_000
_BLOCK = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """Agreement beyond chance: 1 is perfect, 0 is chance, below is worse than chance."""

    value: float | None
    """None where chance alone would agree always."""
    low: float | None
    high: float | None
    level: float
    n: int
    """Items that count: those with at least two ratings."""
    undefined: int
    """Resamples that had no value and are left out of the interval."""
    method: Literal["bootstrap", "no_disagreement", "not_computable"]


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
