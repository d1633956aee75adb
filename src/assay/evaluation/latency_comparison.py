"""Compare how long two runs took: percentiles of the cases timed on both sides, with bootstrap intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.records.run_results import LatencyChange

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    was_times, now_times = _all_times(before), _all_times(after)
    cases = [case for case in before.cases if was_times.get(case) and now_times.get(case)]
    if not cases:
        return ()
    left, right = _matrix([was_times[case] for case in cases]), _matrix([now_times[case] for case in cases])
    was, now = _percentiles(left), _percentiles(right)
    drawn = _resample_pairs(left, right, rng, resamples) if len(cases) >= FEWEST_TIMED else None
    return tuple(
        LatencyChange(percent, float(was[place]), float(now[place]), *_limits(drawn, place), len(cases))
        for place, percent in enumerate(PERCENTS)
    )


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
    found = np.full((len(times), max(map(len, times))), np.nan)
    for row, pair in enumerate(times):
        found[row, : len(pair)] = pair
    return found
