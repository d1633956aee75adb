"""However few passages a filter leaves, the best of them are found, in order."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from assay.index import lexical, scoring
from assay.index.lexical import LexicalBase, LexicalBuilder
from assay.index.scoring import Scored, best

COUNT = 6_000
WORDS = [f"w{place}" for place in range(40)]


@cache
def bags() -> list[list[str]]:
    rng = np.random.default_rng(3)
    shares = 1 / np.arange(1, len(WORDS) + 1)
    return [list(rng.choice(WORDS, size=rng.integers(1, 9), p=shares / shares.sum())) for _ in range(COUNT)]


@cache
def base() -> LexicalBase:
    builder = LexicalBuilder(None)
    for bag in bags():
        builder.add(bag)
    return builder.finish()


def scores(weights: dict[str, float]) -> np.ndarray:
    """By the formula, one passage after the other."""
    norms = scoring.length_norms(np.array([len(bag) for bag in bags()]), base().average_length)
    found = np.zeros(COUNT)
    for word, weight in weights.items():
        found += weight * scoring.term_scores(np.array([bag.count(word) for bag in bags()]), norms)
    return found


@pytest.mark.parametrize("left", [1, 30, 170, 180, 2_500, 5_999, 6_000])
@pytest.mark.parametrize("words", [["w0"], ["w0", "w1", "w2"], ["w39", "w5"], ["w0", "unknown"]])
def test_the_best_that_pass_are_found(left: int, words: list[str]) -> None:
    rng = np.random.default_rng(left)
    passing = np.zeros(COUNT, bool)
    passing[rng.choice(COUNT, left, replace=False)] = True
    weights = {word: 1.0 + place for place, word in enumerate(words)}
    places, found = base().search(weights, 20, passing, left)
    expected = scores(weights)
    among = np.flatnonzero(passing & (expected > 0))
    wanted = best([Scored(among, expected[among])], 20, digits=lexical.SCORE_DIGITS)
    got = best([Scored(places, found)], 20, digits=lexical.SCORE_DIGITS)
    assert [one.score for one in got] == pytest.approx([one.score for one in wanted], abs=3e-4)
    if len(words) == 1:
        assert [one.number for one in got] == [one.number for one in wanted]


def test_frequencies_are_counted() -> None:
    assert base().frequency("w7") == sum("w7" in bag for bag in bags())
    assert base().frequency("unknown") == 0


def test_nothing_is_found_for_no_known_word_or_nothing_that_passes() -> None:
    everything = np.ones(COUNT, bool)
    assert len(base().search({"unknown": 1.0}, 5, everything, COUNT)[0]) == 0
    assert len(base().search({"w0": 1.0}, 5, ~everything, 0)[0]) == 0
    assert len(base().search({"w0": 1.0}, 0, everything, COUNT)[0]) == 0


def test_a_question_asked_again_is_not_mistaken_for_another() -> None:
    places = np.arange(COUNT)
    asked = [{"w0": 1.0}, {"w0": 2.0}, {"w1": 1.0}, {"unknown": 1.0}, {"w0": 1.0, "w1": 1.0}]
    apart = [base().score(weights, places) for weights in asked]
    for weights, (found, expected) in zip(asked, apart, strict=True):
        base().search(weights, 5, np.ones(COUNT, bool), COUNT)
        again = base().score(weights, places)
        assert (again[0].tolist(), again[1].tolist()) == (found.tolist(), expected.tolist())
        assert sorted(found.tolist()) == np.flatnonzero(scores(weights)).tolist()


def test_in_a_large_index_frequent_words_rank_what_rarer_ones_chose(tmp_path: Path) -> None:
    weights = {"w0": 1.0, "w1": 1.2, "w9": 4.0, "w20": 6.0}
    large = kept_base(tmp_path, all_words_below=COUNT - 1)
    assert large.frequency("w1") > COUNT / 5 > large.frequency("w9")
    everything = np.ones(COUNT, bool)
    for limit in (5, 60):
        wanted = best([Scored(*base().search(weights, limit, everything, COUNT))], limit, digits=lexical.SCORE_DIGITS)
        found = large.search(weights, limit, everything, COUNT)
        assert len(found[0]) == limit + lexical.CHOSEN
        assert best([Scored(*found)], limit, digits=lexical.SCORE_DIGITS) == wanted
        assert all({"w9", "w20"} & set(bags()[place]) for place in found[0].tolist())


def test_a_filter_is_kept_where_rarer_words_choose(tmp_path: Path) -> None:
    passing = np.arange(COUNT) % 3 == 0
    places, _ = kept_base(tmp_path, all_words_below=0).search({"w0": 1.0, "w9": 4.0}, 20, passing, int(passing.sum()))
    assert len(places) >= 20
    assert passing[places].all()


@pytest.mark.parametrize("weights", [{"w0": 1.0, "unknown": 5.0}, {"w0": 1.0, "w1": 2.0}, {"w0": 1.0, "w39": 9.0}])
def test_frequent_words_choose_where_rarer_ones_find_too_little(weights: dict[str, float], tmp_path: Path) -> None:
    everything, limit = np.ones(COUNT, bool), 400
    large = kept_base(tmp_path, all_words_below=0)
    assert large.frequency("w39") < limit
    wanted = best([Scored(*base().search(weights, limit, everything, COUNT))], limit, digits=lexical.SCORE_DIGITS)
    assert (
        best([Scored(*large.search(weights, limit, everything, COUNT))], limit, digits=lexical.SCORE_DIGITS) == wanted
    )


def kept_base(folder: Path, *, all_words_below: int) -> LexicalBase:
    builder = LexicalBuilder(folder / "words")
    for bag in bags():
        builder.add(bag)
    return LexicalBase.open(folder / "words", tokens=builder.finish().tokens, all_words_below=all_words_below)
