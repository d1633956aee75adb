"""Nested cross-validation: honest about noise, and not blind to what is there."""

from __future__ import annotations

import numpy as np
import pytest
from tests.evaluation.tuning.logs import drawn

from assay.errors import BadValue, NothingMeasured
from assay.evaluation.tuning import FusionChoice, Replay, Space, Trials, cross_validate, space_of, tune
from assay.evaluation.tuning.decision import IN_FORCE, choose, splits
from assay.metrics.spec import MetricSpec
from assay.records import Channel, FusionMethod

NDCG = MetricSpec.parse("ndcg@10")


def noise(seed: int, configurations: int = 400, cases: int = 120) -> Trials:
    """Every configuration is as good as every other, and each case says something else."""
    return Trials(values=np.random.default_rng(seed).uniform(0.0, 1.0, size=(configurations, cases)))


@pytest.mark.parametrize("seed", range(8))
def test_noise_gains_nothing_on_cases_that_were_not_seen(seed: int) -> None:
    trials = noise(seed)
    found = cross_validate(trials, np.random.default_rng(seed), repeats=3)
    assert found.interval.low is not None
    assert found.interval.high is not None
    assert found.interval.low <= 0.0 <= found.interval.high
    # On the cases it was chosen by, the best of them seems better than what is in force.
    apparent = float(trials.values.mean(axis=1).max() - trials.values[IN_FORCE].mean())
    assert apparent > found.gain


def test_a_planted_gain_is_found_and_measured() -> None:
    rng = np.random.default_rng(5)
    values = rng.uniform(0.0, 0.6, size=(200, 150))
    values[77] = np.minimum(values[IN_FORCE] + rng.uniform(0.1, 0.3, size=150), 1.0)
    found = cross_validate(Trials(values=values), rng)
    assert found.proven
    assert next(iter(found.chosen)) == 77
    assert found.gain == pytest.approx(float((values[77] - values[IN_FORCE]).mean()), abs=0.02)


def test_what_loses_more_cases_than_it_may_is_not_chosen() -> None:
    values = np.array([[0.5] * 20, [0.9] * 19 + [0.0], [0.6] * 20])
    lost = values == 0.0
    rng = np.random.default_rng(0)
    everything = np.arange(20)
    assert choose(Trials(values=values, lost=lost), everything, rng) == 2
    assert choose(Trials(values=values, lost=lost, may_lose=1), everything, rng) == 1


def test_of_equals_what_is_in_force_stays() -> None:
    values = np.tile(np.linspace(0.1, 0.9, 30), (5, 1))
    found = cross_validate(Trials(values=values), np.random.default_rng(0))
    assert found.chosen == {IN_FORCE: 50}
    assert found.gain == 0.0
    assert not found.proven


def test_every_case_is_measured_on_once_and_never_learnt_from_there() -> None:
    seen = []
    for one in splits(np.arange(23), 5, np.random.default_rng(1)):
        assert not set(one.learn) & set(one.measure)
        seen += one.measure.tolist()
    assert sorted(seen) == list(range(23))


def test_too_few_cases_are_refused() -> None:
    with pytest.raises(NothingMeasured, match="9 cases are too few"):
        cross_validate(noise(0, cases=9), np.random.default_rng(0))


def test_tuning_finds_the_channel_that_tells() -> None:
    rng = np.random.default_rng(11)
    replay = Replay(drawn(120, rng, words=0.5, vectors=0.0), NDCG, level=2)
    found = tune(replay, space_of(FusionChoice(), Space(count=400), rng), rng)
    assert not found.keep
    assert found.nested.proven
    assert found.after > found.before + 0.1
    assert found.chosen.weights[Channel.BM25] > found.chosen.weights[Channel.VECTOR]
    assert found.chosen.settings(found.incumbent)["search.weights.bm25"]
    assert found.channels[0].channel is Channel.BM25


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_tuning_on_noise_keeps_what_is_there(seed: int) -> None:
    rng = np.random.default_rng(seed)
    replay = Replay(drawn(100, rng, words=0.0, vectors=0.0), NDCG, level=2)
    found = tune(replay, space_of(FusionChoice(), Space(count=300), rng), rng)
    assert found.keep
    assert found.sentence.startswith("Keep what you have")


def test_a_space_with_only_losers_keeps_what_is_there() -> None:
    rng = np.random.default_rng(2)
    replay = Replay(drawn(100, rng, words=0.0, vectors=0.6), NDCG, level=2)
    worse = Space(count=100, methods=(FusionMethod.CONVEX,), ranges={Channel.VECTOR: (0.001, 0.002)})
    found = tune(replay, space_of(FusionChoice(), worse, rng), rng)
    assert found.keep
    assert found.chosen == found.incumbent
    assert found.sentence == "Keep what you have: none of 100 configurations is better."


def test_what_is_in_force_stands_first_and_ranges_hold() -> None:
    space = Space(count=50, ranges={Channel.GRAPH: (0.2, 0.3)}, methods=(FusionMethod.RRF,), rrf_ks=(7,))
    first, *others = space_of(FusionChoice(), space, np.random.default_rng(0))
    assert first == FusionChoice()
    assert len(others) == 50
    assert all(0.199 <= one.weights[Channel.GRAPH] <= 0.301 and one.rrf_k == 7 for one in others)


@pytest.mark.parametrize(
    "given", [{"count": 0}, {"methods": ()}, {"ranges": {Channel.BM25: (0.5, 0.1)}}, {"ranges": {Channel.BM25: (0, 1)}}]
)
def test_a_space_that_cannot_be_drawn_from_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(BadValue):
        Space(**given)  # type: ignore[arg-type] # what a command line may be given
