"""Compare how long two runs took: percentiles of the cases timed on both sides, with bootstrap intervals."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.evaluation.paired_columns import pair_times
from assay.records.run_results import LatencyChange
from assay.statistics.resampling import STEP, draw_places

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.evaluation.readings import Reading

PERCENTS = (50, 95, 99)
FEWEST_TIMED = 20
"""Below so many cases the 95th percentile is the slowest case, and no interval of it is given."""
LEVEL = 0.95
RESAMPLES = 2_000
_UNSEEN_MS = 1e-9
_BLOCK = 1_000_000
"""Times held in memory at once."""

Times = NDArray[np.float64]
Limit = float | None


def latency_changes(
    before: Reading, after: Reading, *, rng: np.random.Generator, resamples: int = RESAMPLES
) -> tuple[LatencyChange, ...]:
    """p50, p95 and p99 of the cases timed on both sides, with bootstrap intervals over cases.

    A case that ran out of time counts with the time it was waited for.
    """
    left, right = pair_times(before, after) or _pair_each(before, after)
    cases = len(left)
    if not cases:
        return ()
    was, now = _percentiles(left), _percentiles(right)
    drawn = _resample_pairs(left, right, rng, resamples) if cases >= FEWEST_TIMED else None
    return tuple(
        LatencyChange(percent, float(was[place]), float(now[place]), *_limits(drawn, place), cases)
        for place, percent in enumerate(PERCENTS)
    )


def _pair_each(before: Reading, after: Reading) -> tuple[Times, Times]:
    """The times of the cases that have any on both sides: [case, repeat] each."""
    was_times, now_times = _all_times(before), _all_times(after)
    cases = [case for case in before.cases if was_times.get(case) and now_times.get(case)]
    return _matrix([was_times[case] for case in cases]), _matrix([now_times[case] for case in cases])


def _all_times(reading: Reading) -> dict[str, tuple[float, ...]]:
    return {case: (*reading.times.get(case, ()), *reading.waited.get(case, ())) for case in reading.cases}


def _limits(drawn: tuple[Times, Times] | None, place: int) -> tuple[Limit, Limit, Limit, Limit]:
    """Of the difference and of the ratio of one percentile."""
    if drawn is None:
        return None, None, None, None
    was, now = drawn[0][:, place], drawn[1][:, place]
    ends = [0.5 - LEVEL / 2, 0.5 + LEVEL / 2]
    # Coarse clocks give times of 0 ms: as much is added to both sides as no clock can tell.
    ratio = (now + _UNSEEN_MS) / (was + _UNSEEN_MS)
    low, high = np.quantile(now - was, ends).tolist()
    ratio_low, ratio_high = np.quantile(ratio, ends).tolist()
    return low, high, ratio_low, ratio_high


def _resample_pairs(left: Times, right: Times, rng: np.random.Generator, resamples: int) -> tuple[Times, Times]:
    """Percentiles of both sides over cases that are drawn again: [sample, percent] each.

    How often each case is drawn says all: times are sorted once, and a percentile is where the counts in that order
    add up to its place. Sorting every sample took four times as long.
    """
    if len(left) > STEP and left.shape[1] == right.shape[1] == 1:
        return resample_single(left[:, 0], right[:, 0], rng, resamples)
    cases = len(left)
    rows = max(1, _BLOCK // (left.size + right.size))
    sides = [_sort_times(times) for times in (left, right)]
    found: tuple[list[Times], list[Times]] = [], []
    for done in range(0, resamples, rows):
        drawn = rng.integers(0, cases, size=(min(rows, resamples - done), cases))
        drawn += cases * np.arange(len(drawn))[:, None]
        counts = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
        for (times, owners), percentiles in zip(sides, found, strict=True):
            percentiles.append(_drawn_percentiles(times, counts[:, owners]))
    return np.concatenate(found[0]), np.concatenate(found[1])


# Of many cases that were each timed once, only how many are drawn from below a percentile's neighbourhood is counted,
# and only those within it are put in order.

_REACH = 8.0
"""Standard deviations of a percentile's place among the drawn cases: it is never further off, or drawn again."""
_SIDE = 8
"""Bands of one side, at most: three neighbourhoods and what is around them."""
_NEAR = np.uint8(0x80)
"""Marks the cases that are in the neighbourhood of a percentile on either side."""


class _Side(NamedTuple):
    """Times of one side, cut into bands at the neighbourhoods of the percentiles."""

    times: Times
    """Sorted."""
    ranks: NDArray[np.int32]
    """The place of each case among the sorted times."""
    edges: NDArray[np.int64]
    """The ranks at which bands begin, without the first."""
    near: NDArray[np.bool_]
    """Which bands are neighbourhoods."""

    @property
    def bands(self) -> NDArray[np.uint8]:
        """The band of each case."""
        return np.searchsorted(self.edges, self.ranks, side="right").astype(np.uint8)

    def find(self, drawn: NDArray[np.int64], counts: NDArray[np.int64]) -> list[float] | None:
        """The percentiles of a sample, from how many of each band and which near ones were drawn; None: unknown."""
        reached, ranks = np.cumsum(counts), self.ranks[drawn]
        found = []
        for place in _places(len(self.times)).tolist():
            band = int(np.searchsorted(reached, place))
            if not self.near[band]:
                return None
            low, high = self.edges[band - 1] if band else 0, [*self.edges, len(self.times)][band]
            inside = ranks[(ranks >= low) & (ranks < high)]
            rank = place - 1 - (int(reached[band - 1]) if band else 0)
            found.append(float(self.times[np.partition(inside, rank)[rank]]))
        return found


def _cut_side(times: Times, reach: float) -> _Side:
    count, order = len(times), np.argsort(times, kind="stable")
    ranks = np.empty(count, dtype=np.int32)
    ranks[order] = np.arange(count, dtype=np.int32)
    shares = np.array(PERCENTS) / 100
    half = np.ceil(reach * np.sqrt(count * shares * (1 - shares))).astype(np.int64)
    middle = _places(count) - 1
    low, high = np.maximum(middle - half, 0), np.minimum(middle + half + 1, count)
    edges = np.unique(np.concatenate([low, high]))
    edges = edges[(edges > 0) & (edges < count)]
    starts = np.concatenate([[0], edges])
    near = np.any((starts[:, None] >= low) & (starts[:, None] < high), axis=1)
    return _Side(times[order], ranks, edges, near)


def _places(count: int) -> NDArray[np.int64]:
    """Nearest ranks of the percentiles among so many times, from 1."""
    places: NDArray[np.int64] = -(-np.array(PERCENTS) * count // 100)
    return places


def resample_single(
    left: Times, right: Times, rng: np.random.Generator, resamples: int, reach: float = _REACH
) -> tuple[Times, Times]:
    """The same where every case has one time on each side: [sample, percent] each."""
    sides = _cut_side(left, reach), _cut_side(right, reach)
    first, second = (side.bands for side in sides)
    codes = first * np.uint8(_SIDE) + second
    codes[sides[0].near[first] | sides[1].near[second]] |= _NEAR
    found = np.empty((2, resamples, len(PERCENTS)))
    for sample in range(resamples):
        before = rng.bit_generator.state
        drawn, counts = _draw_bands(codes, rng)
        each = sides[0].find(drawn, counts.sum(axis=1)), sides[1].find(drawn, counts.sum(axis=0))
        for place, (side, percentiles) in enumerate(zip(sides, each, strict=True)):
            found[place, sample] = _redraw(side, rng, before) if percentiles is None else percentiles
    return found[0], found[1]


def _draw_bands(codes: NDArray[np.uint8], rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The drawn cases that are near a percentile, and how often each pair of bands was drawn."""
    near, counts = list[NDArray[np.int64]](), np.zeros(2 * int(_NEAR), dtype=np.int64)
    for _, drawn in draw_places(len(codes), rng):
        code = codes[drawn]
        counts += np.bincount(code, minlength=len(counts))
        near.append(drawn[code >= _NEAR])
    pairs = (counts[: int(_NEAR)] + counts[int(_NEAR) :])[: _SIDE * _SIDE].reshape(_SIDE, _SIDE)
    return np.concatenate(near), pairs


def _redraw(side: _Side, rng: np.random.Generator, before: Mapping[str, Any]) -> Times:
    """The percentiles of the sample that was drawn from this state of the generator."""
    again = copy.deepcopy(rng)
    again.bit_generator.state = before
    drawn = again.integers(0, len(side.times), size=len(side.times))
    places = _places(len(side.times)) - 1
    percentiles: Times = side.times[np.partition(side.ranks[drawn], places)[places]]
    return percentiles


def _sort_times(times: Times) -> tuple[Times, NDArray[np.intp]]:
    """The times that were measured, sorted, and the case of each."""
    flat = times.ravel()
    order = np.argsort(flat, kind="stable")[: np.count_nonzero(~np.isnan(flat))]
    return flat[order], order // times.shape[1]


def _drawn_percentiles(times: Times, counts: NDArray[np.intp]) -> Times:
    """Nearest rank over sorted times, each of which counts as often as its case was drawn: [sample, percent]."""
    reached = np.cumsum(counts, axis=1)
    measured = reached[:, -1]
    places = -(-np.array(PERCENTS)[None, :] * measured[:, None] // 100)
    # All samples in one search: each begins above all that the one before it reaches.
    starts = np.concatenate([[0], np.cumsum(measured[:-1])])[:, None]
    found = np.searchsorted((reached + starts).ravel(), places + starts)
    percentiles: Times = times[found % len(times)]
    return percentiles


def _percentiles(times: Times) -> Times:
    """Nearest rank, over all repeats of all cases: one value a percent."""
    flat, owners = _sort_times(times)
    percentiles: Times = _drawn_percentiles(flat, np.ones((1, len(owners)), dtype=np.intp))[0]
    return percentiles


def _matrix(times: Sequence[Sequence[float]]) -> Times:
    """A row a case, a column a repeat; NaN, which sorts last, where a repeat was not answered."""
    found = np.full((len(times), max(map(len, times), default=1)), np.nan)
    for row, pair in enumerate(times):
        found[row, : len(pair)] = pair
    return found
