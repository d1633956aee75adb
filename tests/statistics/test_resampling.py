"""Samples that are drawn in steps are those that are drawn in one piece, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.evaluation.latency_comparison import PERCENTS, resample_single
from assay.statistics.inputs import Units, units_of
from assay.statistics.intervals import resample_means
from assay.statistics.paired_tests import draw_flips
from assay.statistics.resampling import STEP, Sample, draw_places

MANY = 2 * STEP + 7


def generators() -> tuple[np.random.Generator, np.random.Generator]:
    return np.random.default_rng(3), np.random.default_rng(3)


def make_values(kind: str, count: int = MANY) -> NDArray[np.float64]:
    rng = np.random.default_rng(11)
    return {
        "few": np.round(rng.random(count) - 0.5, 1),
        "zeros of both signs": np.where(rng.random(count) < 0.5, -0.0, 0.0),
        "all different": rng.random(count) - 0.5,
        "one": np.full(count, 0.1),
    }[kind]


KINDS = ["few", "zeros of both signs", "all different", "one"]


def test_places_in_steps_are_those_drawn_at_once() -> None:
    steps, whole = generators()
    drawn = np.concatenate([places for _, places in draw_places(MANY, steps)])
    assert np.array_equal(drawn, whole.integers(0, MANY, size=MANY))
    assert steps.bit_generator.state == whole.bit_generator.state


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_has_the_values_at_the_places_that_were_drawn(kind: str) -> None:
    values, (rng, _) = make_values(kind), generators()
    sample, places = Sample(values), rng.integers(0, MANY, size=MANY)
    for start in range(0, MANY, STEP):
        sample.pick(slice(start, start + STEP), places[start : start + STEP])
    assert sample.drawn.tobytes() == values[places].tobytes()


def draw_means(units: Units, resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """All samples in one piece."""
    drawn = rng.integers(0, units.count, size=(resamples, units.count))
    means: NDArray[np.float64] = units.sums[drawn].sum(axis=1) / units.sizes[drawn].sum(axis=1)
    return means


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("clustered", [False, True])
def test_means_of_large_samples_are_those_drawn_at_once(kind: str, clustered: bool) -> None:
    labels = np.random.default_rng(5).integers(0, 2 * MANY, size=MANY) if clustered else None
    units, (steps, whole) = units_of(make_values(kind), labels), generators()
    assert units.count > STEP
    assert resample_means(units, 5, steps).tobytes() == draw_means(units, 5, whole).tobytes()
    assert steps.bit_generator.state == whole.bit_generator.state


def test_flips_of_many_units_are_those_drawn_at_once() -> None:
    sums, (steps, whole) = make_values("all different"), generators()
    rows, width = 2_000_000 // MANY, -(-MANY // 8)
    bits = np.frombuffer(whole.bytes(rows * width), dtype=np.uint8).reshape(rows, width)
    kept = np.unpackbits(bits, axis=1, count=MANY).astype(np.float64)
    assert np.array_equal(draw_flips(sums, rows, steps), 2.0 * (kept @ sums) - sums.sum())


def test_clusters_given_as_numbers_are_those_given_as_labels() -> None:
    values, labels = make_values("few", 500), np.random.default_rng(1).integers(-40, 40, size=500)
    numbered, labelled = units_of(values, labels), units_of(values, [f"cluster {label}" for label in labels])
    assert np.array_equal(numbered.sums, labelled.sums)
    assert np.array_equal(numbered.sizes, labelled.sizes)


@pytest.mark.parametrize("count", [1, 2, 20, 99, 100, 1_000])
@pytest.mark.parametrize("reach", [0.0, 0.5, 8.0])
def test_percentiles_of_single_times_are_those_of_the_sorted_samples(count: int, reach: float) -> None:
    """However small a neighbourhood is looked at: a percentile outside it is drawn again."""
    rng, (steps, whole) = np.random.default_rng(count), generators()
    left, right = rng.random(count), np.round(rng.random(count), 1)
    found = resample_single(left, right, steps, 60, reach)
    drawn = whole.integers(0, count, size=(60, count))
    places = [-(-percent * count // 100) - 1 for percent in PERCENTS]
    for times, percentiles in zip((left, right), found, strict=True):
        assert np.array_equal(percentiles, np.sort(times[drawn], axis=1)[:, places])
    assert steps.bit_generator.state == whole.bit_generator.state
