"""Two readings case by case: the pairs that a test needs, and times as pairs with the interval of their percentiles.

Cases come in the order of their ids, whatever the order of the files, so that chance falls the same way every time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.evaluation.readings import Reading, has_direction, lower_is_better
from assay.metrics.spec import MetricSpec
from assay.records.run_results import LatencyChange
from assay.statistics import Comparison, Pairs, Rules, compare_all

PERCENTS = (50, 95, 99)
FEWEST_TIMED = 20
"""Below so many cases the 95th percentile is the slowest case, and no interval of it is given."""
LEVEL = 0.95
_UNSEEN_MS = 1e-9
_RESAMPLES = 2_000
_BLOCK = 4_000_000
"""Times held in memory at once."""
_DRAWS = 200_000_000
"""Queries times resamples that a comparison may cost; a million queries need no 10,000 resamples."""
_MOST_RESAMPLES, _FEWEST_RESAMPLES = 10_000, 1_000

Times = NDArray[np.float64]
Limit = float | None


def rules_for(queries: int) -> Rules:
    """As many resamples and sign flips as so many queries can afford."""
    draws = min(_MOST_RESAMPLES, max(_FEWEST_RESAMPLES, _DRAWS // max(1, queries)))
    return Rules(resamples=draws, flips=draws)


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricChange:
    """One metric on two sides, over the cases that have a value on both."""

    before: float | None
    after: float | None
    comparison: Comparison


def shared_metrics(before: Reading, after: Reading) -> tuple[str, ...]:
    """What both measured and one way of which is better, in the control's order."""
    return tuple(one for one in before.metrics if one in after.outcomes and has_direction(one))


def paired(before: Reading, after: Reading, metric: str) -> Pairs:
    """The values of the cases that have one on both sides."""
    left, right = before.values(metric), after.values(metric)
    cases = [case for case in left if case in right]
    return Pairs(
        control=[left[case] for case in cases],
        treatment=[right[case] for case in cases],
        higher_is_better=not lower_is_better(metric),
        bounds=_bounds(metric),
        clusters=_clusters(before, after, cases),
        over=tuple(cases),
    )


def _clusters(before: Reading, after: Reading, cases: Sequence[str]) -> list[str] | None:
    """The cluster of each case, one of its own where it stands alone; None: all of them do."""
    known = {**before.clusters, **after.clusters}
    labels = [known.get(case, f"case {case}") for case in cases]
    return labels if len(set(labels)) < len(labels) else None


def metric_changes(
    pairs: Mapping[str, Pairs], *, rng: np.random.Generator, rules: Rules | None = None
) -> dict[str, MetricChange]:
    """Each metric with its means over the pairs and what the test says, with Holm over the distinct ones."""
    arrays = {name: (np.asarray(one.control), np.asarray(one.treatment)) for name, one in pairs.items()}
    most = max((len(left) for left, _ in arrays.values()), default=0)
    found = compare_all(pairs, rng=rng, rules=rules or rules_for(most))
    return {
        name: MetricChange(before=_mean(left), after=_mean(right), comparison=found[name])
        for name, (left, right) in arrays.items()
    }


def latency_changes(
    before: Reading, after: Reading, *, rng: np.random.Generator, resamples: int = _RESAMPLES
) -> tuple[LatencyChange, ...]:
    """p50, p95 and p99 of the cases timed on both sides, with bootstrap intervals over cases.

    A case that ran out of time counts with the time it was waited for.
    """
    was_times, now_times = _all_times(before), _all_times(after)
    cases = [case for case in before.cases if was_times.get(case) and now_times.get(case)]
    if not cases:
        return ()
    left, right = _matrix([was_times[case] for case in cases]), _matrix([now_times[case] for case in cases])
    was, now = _percentiles(left[None])[0], _percentiles(right[None])[0]
    drawn = _resampled(left, right, rng, resamples) if len(cases) >= FEWEST_TIMED else None
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


def _resampled(left: Times, right: Times, rng: np.random.Generator, resamples: int) -> tuple[Times, Times]:
    rows = max(1, _BLOCK // (left.size + right.size))
    was, now = [], []
    for done in range(0, resamples, rows):
        drawn = rng.integers(0, len(left), size=(min(rows, resamples - done), len(left)))
        was.append(_percentiles(left[drawn]))
        now.append(_percentiles(right[drawn]))
    return np.concatenate(was), np.concatenate(now)


def _percentiles(times: Times) -> Times:
    """Nearest rank, over all repeats of all cases, for each sample: [sample, percent]."""
    flat = np.sort(times.reshape(len(times), -1), axis=1)
    measured = np.count_nonzero(~np.isnan(flat), axis=1)
    places = -(-np.array(PERCENTS)[None, :] * measured[:, None] // 100) - 1
    return np.take_along_axis(flat, places, axis=1)


def _matrix(times: Sequence[Sequence[float]]) -> Times:
    """A row a case, a column a repeat; NaN, which sorts last, where a repeat was not answered."""
    found = np.full((len(times), max(map(len, times))), np.nan)
    for row, one in enumerate(times):
        found[row, : len(one)] = one
    return found


def _bounds(metric: str) -> tuple[float, float] | None:
    entry = MetricSpec.parse(metric).entry
    if entry.lowest is None or entry.highest is None:
        return None
    return (entry.lowest - entry.highest, entry.highest - entry.lowest)


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(np.mean(values)) if len(values) else None
