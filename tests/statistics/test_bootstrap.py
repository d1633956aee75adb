"""Bootstrap intervals and what a cluster is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.statistics import UNIT, bootstrap_difference, bootstrap_mean, mean_interval, units_of
from assay.statistics import intervals as module


def ends(values: object, seed: int = 1, **options: object) -> tuple[float | None, float | None]:
    found = bootstrap_mean(values, rng=np.random.default_rng(seed), resamples=500, **options)  # type: ignore[arg-type]  # options are passed through
    return found.low, found.high


def test_the_same_seed_gives_the_same_interval(rng: np.random.Generator) -> None:
    values = rng.random(80)
    assert ends(values) == ends(values)
    assert ends(values) != ends(values, seed=2)


def test_memory_blocks_do_not_change_the_draws(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    values = rng.random(80)
    whole = ends(values)
    monkeypatch.setattr(module, "_BLOCK", 80 * 7)
    assert ends(values) == whole


def test_it_lies_close_to_the_t_interval_of_a_normal_sample(rng: np.random.Generator) -> None:
    values = rng.normal(0.2, 0.15, 400)
    found, student = bootstrap_mean(values, rng=rng), mean_interval(values)
    assert found.method == "bootstrap"
    assert found.low == pytest.approx(student.low, abs=0.002)
    assert found.high == pytest.approx(student.high, abs=0.002)


@pytest.mark.parametrize(("n", "method"), [(2, "t"), (49, "t"), (50, "bootstrap")])
def test_below_fifty_pairs_there_is_no_bootstrap(n: int, method: str, rng: np.random.Generator) -> None:
    assert bootstrap_mean(rng.random(n), rng=rng).method == method


def test_fifty_queries_in_ten_clusters_are_ten(rng: np.random.Generator) -> None:
    labels = [query // 5 for query in range(50)]
    assert bootstrap_mean(rng.random(50), rng=rng, clusters=labels).method == "clustered_t"


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_a_perfect_or_zero_score_gets_a_real_interval(score: float, rng: np.random.Generator) -> None:
    found = bootstrap_mean([score] * 100, rng=rng, bounds=UNIT)
    # 1 - 0.025^(1/100) = 0.0362
    assert (found.method, found.estimate) == ("no_variance", score)
    assert (found.high or 0.0) - (found.low or 0.0) == pytest.approx(0.0362167, abs=1e-7)


def test_no_difference_on_any_query_is_not_certainty(rng: np.random.Generator) -> None:
    values = rng.random(60)
    found = bootstrap_difference(values, values, rng=rng)
    assert found.low == pytest.approx(-0.0596, abs=1e-4)
    assert found.high == pytest.approx(0.0596, abs=1e-4)


def test_pairing_takes_out_what_the_queries_share(rng: np.random.Generator) -> None:
    hard = rng.random(100) * 0.8
    found = bootstrap_difference(hard, hard + rng.normal(0.05, 0.02, 100), rng=rng)
    assert found.low is not None
    assert found.low > 0.04


def test_clusters_widen_the_interval(rng: np.random.Generator) -> None:
    labels = np.repeat(np.arange(60), 5)
    values = rng.normal(0.0, 0.1, 60)[labels] + rng.normal(0.0, 0.02, 300)
    alone = bootstrap_mean(values, rng=rng)
    clustered = bootstrap_mean(values, rng=rng, clusters=labels.tolist())
    assert clustered.method == "clustered_bootstrap"
    assert (clustered.high or 0) - (clustered.low or 0) > 1.8 * ((alone.high or 0) - (alone.low or 0))


def test_a_cluster_is_a_shared_label_of_any_kind() -> None:
    found = units_of(np.array([1.0, 2.0, 4.0, 8.0]), ["a", 7, "a", ("x", 1)])
    assert (found.sums.tolist(), found.sizes.tolist(), found.count) == ([5.0, 2.0, 8.0], [2.0, 1.0, 1.0], 3)


def test_without_labels_every_query_stands_alone() -> None:
    found = units_of(np.array([1.0, 2.0, 6.0]))
    # The standard error is s / sqrt(n): s^2 = (4 + 1 + 9) / 2 = 7
    assert (found.count, found.mean, found.clustered) == (3, 3.0, False)
    assert found.standard_error == pytest.approx((7 / 3) ** 0.5)


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_the_interval_follows_shift_and_scale(seed: int) -> None:
    values = np.random.default_rng(seed).random(60)
    low, high = ends(values)
    moved_low, moved_high = ends(values * 4.0 + 1.0)
    assert moved_low == pytest.approx(4.0 * (low or 0.0) + 1.0)
    assert moved_high == pytest.approx(4.0 * (high or 0.0) + 1.0)
