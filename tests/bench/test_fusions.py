import numpy as np
from bench.fusions import ALL, FOLDS, Candidate, choose, ranking

from assay.records import ChannelCandidates

VECTOR = ChannelCandidates(channel="vector", ids=("a#0", "b#0", "b#1"), scores=(0.9, 0.6, 0.5))
BM25 = ChannelCandidates(channel="bm25", ids=("b#0", "c#0"), scores=(8.0, 2.0))
FTS5 = ChannelCandidates(channel="fts5", ids=("c#0",), scores=(1.0,))


def test_a_memory_stands_once_at_its_best_passage() -> None:
    # a: .9 * .9 = .81; b: .9 * .6 + .1 * 1 = .64; c: .1 * 8 / 8 * .25 = .025.
    assert ranking([VECTOR, BM25], Candidate("convex", 0.1, 0.0)) == ["a", "b", "c"]


def test_the_weight_of_bm25_decides_between_the_channels() -> None:
    # a: .1 * .9 = .09; b: .1 * .6 + .9 = .96; c: .9 * .25 = .225.
    assert ranking([VECTOR, BM25], Candidate("convex", 0.9, 0.0)) == ["b", "c", "a"]


def test_a_channel_that_weighs_nothing_offers_nothing() -> None:
    assert ranking([VECTOR, FTS5], Candidate("convex", 0.5, 0.0)) == ["a", "b"]
    assert ranking([VECTOR, FTS5], Candidate("convex", 0.5, 0.2)) == ["a", "b", "c"]


def test_min_max_gives_the_last_of_a_list_nothing() -> None:
    # b#1 is the least of its list and c the least of the other; a has 1 of .5, b .25 of .5 and all of .5.
    assert ranking([VECTOR, BM25], Candidate("min-max", 0.5, 0.0)) == ["b", "a"]


def test_rrf_looks_at_ranks_alone() -> None:
    # a is first of one list, c second of the other, b second and first.
    assert ranking([VECTOR, BM25], Candidate("rrf", 0.5, 0.0)) == ["b", "a", "c"]


def test_what_is_best_on_the_others_is_chosen_and_measured_on_what_was_held_out() -> None:
    steady, tempting = 3, 7
    measured = {name: np.full((len(ALL), 10), 0.1) for name in ("x", "y", "z")}
    for values in measured.values():
        values[steady] = 0.5
    measured["x"][tempting] = 1.0
    chosen = choose(measured)
    # Without x the steady one is best; with it the tempting one is, and disappoints where it was not seen.
    assert chosen.times == {ALL[steady]: FOLDS, ALL[tempting]: 2 * FOLDS}
    assert {name: round(mean, 9) for name, mean in chosen.means.items()} == {"x": 0.5, "y": 0.1, "z": 0.1}


def test_only_what_may_be_chosen_is() -> None:
    measured = {name: np.tile(np.linspace(0, 1, len(ALL))[:, None], 10) for name in ("x", "y")}
    assert {one.scaling for one in choose(measured, lambda one: one.scaling == "convex").times} == {"convex"}
    assert {one.scaling for one in choose(measured).times} == {"rrf"}
