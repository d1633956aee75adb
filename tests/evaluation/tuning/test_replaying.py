"""Replay: what many configurations would have shown, exactly as the engine's own fusion and the catalogue say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.evaluation.tuning.logs import drawn, logged

from assay import wiring
from assay.errors import BadValue, NothingMeasured
from assay.evaluation.datasets import load_dataset
from assay.evaluation.tuning import FusionChoice, LoggedCase, Replay, Space, gather, space_of
from assay.evaluation.tuning.choices import CHANNELS, memory_of, weights_of
from assay.memory.searching.fusion import aggregate, floor_of, fuse
from assay.memory.searching.options import SearchOptions, weights_over
from assay.metrics.engine import ScoringRules, measure_mappings
from assay.metrics.inputs import scores_of_ranking
from assay.metrics.spec import MetricSpec
from assay.records import Channel, FusionMethod, Intent

NEAR = 1e-9
"""Scores closer than this, and not equal, are told apart by the last bit: a replay calls them equal."""
METRICS = tuple(map(MetricSpec.parse, ("ndcg@5", "ndcg(gain=exp)@3", "mrr@10", "recall@5", "precision@3", "ap@5")))


class Order(NamedTuple):
    """What the engine shows, and whether scores that differ do so by more than the order of adding them up."""

    units: list[str]
    settled: bool


def engine_order(case: LoggedCase, choice: FusionChoice, *, aggregated: bool = False) -> Order:
    """What the engine's own fusion and aggregation make of the lists."""
    options = SearchOptions(weights=weights_over(choice.weights))
    weights = options.weights_for(case.intent, channels=case.asked)
    numbers = {one: place for place, one in enumerate(sorted(case.unit_of))}
    names = {number: name for name, number in numbers.items()}
    lists = {
        Channel(one.channel): [(numbers[ident], score) for ident, score in zip(one.ids, one.scores, strict=True)]
        for one in case.lists
    }
    fused = fuse(lists, choice.method, weights, choice.rrf_k)
    memory = {number: sorted(map(memory_of, case.unit_of)).index(memory_of(name)) for number, name in names.items()}
    found = aggregate(fused, memory, aggregated, choice.coefficient, floor=floor_of(fused, memory))
    shown = [case.unit_of[names[one.best_number]] for one in found if one.score > 0.0]
    gaps = [gap for one in ([each.score for each in found], [each.fused for each in fused]) for gap in -np.diff(one)]
    return Order(list(dict.fromkeys(shown)), not any(0.0 < gap < NEAR for gap in gaps))


def catalogue(cases: list[LoggedCase], choice: FusionChoice, metric: MetricSpec, **more: bool) -> dict[str, float]:
    qrels = {one.case_id: dict(one.grades) for one in cases}
    runs = {one.case_id: scores_of_ranking(engine_order(one, choice, **more).units) for one in cases}
    measured = measure_mappings(qrels, runs, [metric], ScoringRules(level=2))
    column = measured.scores[metric]
    outcomes = {topic: column.outcome(place) for place, topic in enumerate(measured.topics)}
    return {topic: one.value for topic, one in outcomes.items() if one.value is not None}


def replayed(cases: list[LoggedCase], choice: FusionChoice, metric: MetricSpec, **more: bool) -> dict[str, float]:
    replay = Replay(cases, metric, level=2, **more)
    return dict(zip(replay.case_ids, replay.measure([choice])[0].tolist(), strict=True))


passages = st.builds(lambda memory, place: f"m{memory}#{place}", st.integers(0, 7), st.integers(0, 2))
scores = st.dictionaries(passages, st.integers(0, 6).map(lambda one: one / 4), max_size=14)
lists = st.dictionaries(st.sampled_from(list(Channel)), scores, min_size=1)
graded = st.dictionaries(st.integers(0, 9).map(lambda one: f"m{one}"), st.integers(0, 3), min_size=1)
weights = st.fixed_dictionaries({one: st.sampled_from([0.05, 0.1, 0.25, 0.5, 1.0]) for one in Channel})


@st.composite
def cases(draw: st.DrawFn) -> list[LoggedCase]:
    found = [
        logged(number, draw(lists), draw(graded), draw(st.sampled_from(list(Intent))))
        for number in range(draw(st.integers(1, 4)))
    ]
    return [*found, logged(99, {Channel.BM25: {"m1#0": 1.0}}, {"m1": 3})]


@given(cases(), weights, st.sampled_from(list(FusionMethod)), st.sampled_from(METRICS), st.booleans())
def test_a_replay_has_the_values_of_the_engines_own_order(
    found: list[LoggedCase], weighed: dict[Channel, float], method: FusionMethod, metric: MetricSpec, aggregated: bool
) -> None:
    choice = FusionChoice(method=method, weights=weighed, rrf_k=20, coefficient=0.5)
    assume(all(engine_order(one, choice, aggregated=aggregated).settled for one in found))
    told = replayed(found, choice, metric, aggregated=aggregated)
    expected = catalogue(found, choice, metric, aggregated=aggregated)
    for case, value in told.items():
        assert value == pytest.approx(expected[case], abs=1e-12)


@given(weights, st.sampled_from(list(Intent)), st.booleans())
def test_weights_are_those_of_the_engine(weighed: dict[Channel, float], intent: Intent, words: bool) -> None:
    asked = [one for one in Channel if words or one is not Channel.BM25]
    own = SearchOptions(weights=weights_over(weighed)).weights_for(intent, channels=asked)
    found = weights_of([FusionChoice(weights=weighed)], intent, asked)[0] * sum(weighed.values())
    assert found.tolist() == pytest.approx([own[one] for one in CHANNELS])


def test_blocks_and_the_order_of_choices_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    replay = Replay(drawn(40, rng, words=0.3, vectors=0.3), METRICS[0], level=2)
    choices = space_of(FusionChoice(), Space(count=300), rng)
    together = replay.measure(choices)
    apart = np.concatenate([replay.measure([one]) for one in choices])
    assert np.array_equal(together, apart)


def test_without_a_channel_it_is_as_if_that_had_not_been_asked() -> None:
    rng = np.random.default_rng(4)
    whole = drawn(30, rng, words=0.2, vectors=0.4)
    alone = [
        logged(number, {Channel.VECTOR: dict(zip(one.lists[1].ids, one.lists[1].scores, strict=True))}, one.grades)
        for number, one in enumerate(whole)
    ]
    left_out = Replay(whole, METRICS[2], level=2).measure([FusionChoice()], channels=[Channel.VECTOR])
    assert np.array_equal(left_out, Replay(alone, METRICS[2], level=2).measure([FusionChoice()]))


def test_what_scores_nothing_is_not_shown() -> None:
    apart = logged(1, {Channel.VECTOR: {"m1#0": -0.2, "m2#0": 0.4}}, {"m1": 3})
    assert replayed([apart], FusionChoice(), METRICS[2]) == {"q001": 0.0}


@pytest.mark.parametrize("text", ["ndcg", "bpref", "ndcg(unjudged=1)@10", "judged@5"])
def test_a_metric_that_cannot_be_replayed_is_refused(text: str) -> None:
    with pytest.raises(BadValue, match="cannot be tuned by"):
        Replay([logged(1, {}, {"m": 3})], MetricSpec.parse(text), level=2)


def test_cases_with_nothing_to_find_are_no_ground_to_tune_on() -> None:
    with pytest.raises(NothingMeasured, match="anything relevant"):
        Replay([logged(1, {Channel.BM25: {"m#0": 1.0}}, {"m": 0})], METRICS[0], level=2)


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[LoggedCase]]:
    """A sample of a bundled dataset, asked for real, without an embedder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        dataset = load_dataset("agent-memory")
        tunable = wiring.open_tunable("assay:embedder.kind=none", dataset)
        yield gather(tunable.system, dataset.cases[::6], k=10)
        tunable.system.close()


@pytest.mark.parametrize("metric", METRICS[:4:3])
@pytest.mark.parametrize("method", list(FusionMethod))
def test_real_searches_replay_to_the_engines_own_order(
    searched: list[LoggedCase], method: FusionMethod, metric: MetricSpec
) -> None:
    choice = FusionChoice(method=method)
    told, expected = replayed(searched, choice, metric), catalogue(searched, choice, metric)
    assert len(told) > 30
    assert told == pytest.approx({case: expected[case] for case in told}, abs=1e-12)
