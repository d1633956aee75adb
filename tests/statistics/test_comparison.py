"""The verdict: what the pairs say, and what they cannot say."""

from __future__ import annotations

import numpy as np
import pytest

from assay.errors import BadValue
from assay.statistics import Comparison, EffectSize, Pairs, Rules, Score, compare, compare_all, holm

QUICK = Rules(resamples=500, flips=2_000)


def shifted(rng: np.random.Generator, n: int, by: float, sigma: float = 0.1) -> Pairs:
    control = rng.uniform(0.3, 0.6, n)
    return Pairs(control=control, treatment=np.clip(control + rng.normal(by, sigma, n), 0.0, 1.0))


def test_a_clear_gain_is_better(rng: np.random.Generator) -> None:
    pairs = shifted(rng, 100, 0.08)
    found = compare(pairs.control, pairs.treatment, rng=rng, rules=QUICK)
    assert found.verdict == "better"
    assert found.interval is not None
    assert found.interval.method == "bootstrap"
    assert found.delta == found.interval.estimate
    assert sum(found.score) == found.n == found.units == 100
    assert found.queries_needed is None
    assert found.sentence.startswith("Better: +0.0")
    assert found.sentence.endswith("over 100 queries.")


def test_the_same_loss_is_worse_and_the_mirror_image(rng: np.random.Generator) -> None:
    pairs = shifted(rng, 100, 0.08)
    forth = compare(pairs.control, pairs.treatment, rng=np.random.default_rng(1), rules=QUICK)
    back = compare(pairs.treatment, pairs.control, rng=np.random.default_rng(1), rules=QUICK)
    assert (forth.verdict, back.verdict) == ("better", "worse")
    assert back.delta == pytest.approx(-(forth.delta or 0.0))
    assert back.p == forth.p
    assert back.score == Score(forth.score.losses, forth.score.ties, forth.score.wins)


def test_for_a_latency_less_is_better(rng: np.random.Generator) -> None:
    control = rng.uniform(100.0, 200.0, 60)
    found = compare(control, control - 20.0, rng=rng, rules=QUICK, higher_is_better=False, bounds=None)
    assert (found.verdict, found.score.wins) == ("better", 60)
    assert found.delta == pytest.approx(-20.0)
    assert "(no interval)" in found.sentence


def test_noise_is_no_difference_seen_and_says_what_it_could_have_seen(rng: np.random.Generator) -> None:
    d = np.tile([0.15, -0.15], 20)
    found = compare(np.full(40, 0.5), 0.5 + d, rng=rng, rules=QUICK)
    assert found.verdict == "no_difference_seen"
    # s = 0.15 * sqrt(40 / 39) = 0.1519: 75 pairs by the exact paired t.
    assert found.queries_needed == 75
    assert found.sentence.endswith("or more (80% power); 75 would be needed to see 0.05.")


def test_below_fifty_pairs_the_interval_is_students(rng: np.random.Generator) -> None:
    pairs = shifted(rng, 49, 0.05)
    found = compare(pairs.control, pairs.treatment, rng=rng, rules=QUICK)
    assert found.interval is not None
    assert found.interval.method == "t"


def test_five_queries_can_show_nothing(rng: np.random.Generator) -> None:
    found = compare([0.0] * 5, [1.0] * 5, rng=rng, rules=QUICK)
    assert (found.verdict, found.p, found.p_floor, found.queries_needed) == ("unresolvable", 2 / 32, 2 / 32, 6)
    assert found.sentence == "No outcome of 5 queries could have been significant at 0.05; it takes at least 6."


def test_six_queries_can(rng: np.random.Generator) -> None:
    found = compare([0.0] * 6, [1.0] * 6, rng=rng, rules=QUICK)
    assert (found.verdict, found.p) == ("better", 2 / 64)
    assert "(no smaller p is possible)" in found.sentence


def test_six_queries_cannot_when_nine_metrics_share_the_alpha(rng: np.random.Generator) -> None:
    metrics = {f"m{k}": Pairs(control=[0.0] * 6, treatment=[1.0] * 6) for k in range(9)}
    found = compare_all(metrics, rng=rng, rules=QUICK)
    # 9 * 2/64 = 0.28: it takes 2 / 2^9 <= 0.05 / 9
    assert {one.verdict for one in found.values()} == {"unresolvable"}
    assert {one.queries_needed for one in found.values()} == {9}


def test_holm_counts_the_metrics_that_were_compared(rng: np.random.Generator) -> None:
    metrics = {"ndcg@5": shifted(rng, 80, 0.05), "mrr": shifted(rng, 80, 0.03), "recall@5": shifted(rng, 80, 0.0)}
    found = compare_all(metrics, rng=rng, rules=QUICK)
    assert list(found) == list(metrics)
    assert [one.p_adjusted for one in found.values()] == holm([one.p or 0.0 for one in found.values()]).tolist()


def test_a_gain_that_holm_takes_back_is_not_a_gain(rng: np.random.Generator) -> None:
    # Eight gains of eight have p = 2/256 = 0.0078; among ten metrics of noise that is 0.078.
    noise = {f"noise{k}": Pairs(control=[0.5] * 40, treatment=0.5 + np.tile([0.1, -0.1], 20)) for k in range(9)}
    alone = Pairs(control=[0.0] * 8, treatment=[0.5] * 8)
    assert compare_all({"m": alone}, rng=rng, rules=QUICK)["m"].verdict == "better"
    assert compare_all({"m": alone, **noise}, rng=rng, rules=QUICK)["m"].verdict == "unresolvable"


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_can_be_said_of_fewer_than_two(n: int, rng: np.random.Generator) -> None:
    assert compare([0.25] * n, [0.75] * n, rng=rng) == Comparison(
        verdict="too_few",
        sentence=f"{n} queries cannot be compared; it takes at least 6.",
        n=n,
        units=n,
        delta=0.5 if n else None,
        interval=None,
        p=None,
        p_adjusted=None,
        p_floor=None,
        score=Score(n, 0, 0),
        effect_size=EffectSize(cohen_dz=None, hedges_gz=None),
        minimum_detectable_effect=None,
        queries_needed=6,
    )


def test_one_cluster_is_one_unit_however_many_queries(rng: np.random.Generator) -> None:
    found = compare([0.0] * 50, [1.0] * 50, rng=rng, clusters=["same"] * 50)
    assert (found.verdict, found.n, found.units) == ("too_few", 50, 1)
    assert found.sentence.startswith("1 clusters")


def test_five_clusters_are_unresolvable_however_many_queries(rng: np.random.Generator) -> None:
    found = compare([0.0] * 50, [1.0] * 50, rng=rng, clusters=[query % 5 for query in range(50)], rules=QUICK)
    assert found.verdict == "unresolvable"
    assert "5 clusters" in found.sentence


def test_identical_systems_are_not_certainly_equal(rng: np.random.Generator) -> None:
    values = rng.random(60)
    found = compare(values, values, rng=rng, rules=QUICK)
    assert (found.verdict, found.p, found.score) == ("no_difference_seen", 1.0, Score(0, 60, 0))
    assert found.minimum_detectable_effect is None
    assert found.sentence == "No difference seen: +0 [-0.0596, +0.0596], p = 1; all 60 queries changed alike."


def test_a_spread_no_dataset_can_beat_names_no_number(rng: np.random.Generator) -> None:
    d = np.tile([500.0, -500.0], 20)
    found = compare(np.zeros(40), d, rng=rng, rules=QUICK, bounds=None)
    assert (found.verdict, found.queries_needed) == ("no_difference_seen", None)


def test_enough_queries_need_no_more(rng: np.random.Generator) -> None:
    d = np.tile([0.05, -0.05], 50)
    found = compare(np.full(100, 0.5), 0.5 + d, rng=rng, rules=QUICK)
    assert found.queries_needed is not None
    assert found.queries_needed < 100
    assert "would be needed" not in found.sentence


def test_the_same_seed_gives_the_same_comparison(rng: np.random.Generator) -> None:
    pairs = shifted(rng, 80, 0.02)
    first, second = (
        compare(pairs.control, pairs.treatment, rng=np.random.default_rng(9), rules=QUICK) for _ in range(2)
    )
    assert first == second


def test_a_metric_outside_its_bounds_is_refused_by_name(rng: np.random.Generator) -> None:
    with pytest.raises(BadValue, match="latency has differences from 3 to 5"):
        compare_all({"latency": Pairs(control=[1.0, 1.0], treatment=[4.0, 6.0])}, rng=rng)


def test_labels_for_other_queries_are_refused(rng: np.random.Generator) -> None:
    with pytest.raises(BadValue, match="metric clusters has 1"):
        compare([0.1, 0.2], [0.1, 0.2], rng=rng, clusters=["a"])


def test_no_metrics_give_no_comparisons(rng: np.random.Generator) -> None:
    assert compare_all({}, rng=rng) == {}


def found_at(places: list[int], *, gold: int = 1) -> tuple[list[float], list[float]]:
    """recall@5 and precision@5 of queries with one gold document at these places."""
    recall = [1.0 if place <= 5 else 0.0 for place in places]
    return recall, [one * gold / 5 for one in recall]


def test_holm_counts_metrics_that_are_functions_of_each_other_once() -> None:
    before, after = found_at([1] * 30), found_at([9] * 6 + [1] * 24)
    recall = Pairs(control=before[0], treatment=after[0], over="these")
    precision = Pairs(control=before[1], treatment=after[1], over="these")
    misses = Pairs(
        control=[1 - one for one in before[0]],
        treatment=[1 - one for one in after[0]],
        higher_is_better=False,
        over="these",
    )
    alone = compare_all({"recall@5": recall}, rng=np.random.default_rng(3), rules=QUICK)["recall@5"]
    together = compare_all(
        {"recall@5": recall, "precision@5": precision, "miss_rate": misses}, rng=np.random.default_rng(3), rules=QUICK
    )
    assert {one.p_adjusted for one in together.values()} == {alone.p_adjusted}
    assert {one.verdict for one in together.values()} == {"worse"}
    assert together["precision@5"].delta == pytest.approx(-0.2 / 5)
    assert together["miss_rate"].delta == pytest.approx(0.2)


def test_metrics_over_other_queries_or_with_other_values_are_tests_of_their_own(rng: np.random.Generator) -> None:
    one, other = shifted(rng, 40, 0.05), shifted(rng, 40, 0.05)
    twin = Pairs(control=one.control, treatment=one.treatment, over="other queries")
    found = compare_all({"a": one, "b": other, "c": twin}, rng=rng, rules=QUICK)
    plain = [found[name].p or 0.0 for name in "abc"]
    assert [found[name].p_adjusted for name in "abc"] == pytest.approx(holm(plain).tolist())
