"""The decision table, row by row, at and around each of its thresholds."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.embedding.protocol import SimilarityProfile
from assay.memory.saving.neighbours import Pair, Verdict, decide_pair, for_protected, foremost

PROFILE = SimilarityProfile()


def below(value: float) -> float:
    return math.nextafter(value, 0)


def above(value: float) -> float:
    return math.nextafter(value, 1)


def verdict(similarity: float, *, agrees: bool, same: bool, **more: Any) -> Verdict:
    pair = Pair(similarity=similarity, agrees=agrees, same_subject=same)
    return decide_pair(replace(pair, **more), PROFILE)


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize(
    ("similarity", "expected"),
    [
        (1.0, Verdict.REJECT),
        (above(0.92), Verdict.REJECT),
        (0.92, Verdict.MERGE),
        (below(0.92), Verdict.MERGE),
        (above(0.88), Verdict.MERGE),
        (0.88, Verdict.MERGE),
    ],
)
def test_what_agrees_is_rejected_above_the_duplicate_threshold_and_merged_down_to_the_merge_threshold(
    similarity: float, expected: Verdict, *, same: bool
) -> None:
    assert verdict(similarity, agrees=True, same=same) is expected


@pytest.mark.parametrize("similarity", [1.0, above(0.92), 0.92, 0.88, below(0.88), above(0.75), 0.75])
def test_what_disagrees_supersedes_its_own_subject_and_is_marked_against_another(similarity: float) -> None:
    assert verdict(similarity, agrees=False, same=True) is Verdict.SUPERSEDE
    assert verdict(similarity, agrees=False, same=False) is Verdict.CONTRADICTS


@pytest.mark.parametrize("similarity", [below(0.88), 0.8, above(0.75), 0.75])
def test_between_related_and_merge_what_agrees_supersedes_only_what_it_covers(similarity: float) -> None:
    assert verdict(similarity, agrees=True, same=True, covers=True) is Verdict.SUPERSEDE
    assert verdict(similarity, agrees=True, same=True) is Verdict.STORE
    assert verdict(similarity, agrees=True, same=False, covers=True) is Verdict.STORE


@pytest.mark.parametrize("similarity", [below(0.88), 0.8, 0.75])
def test_a_rewording_is_merged_under_one_label_and_without_one_only_when_it_is_closer(similarity: float) -> None:
    assert verdict(similarity, agrees=True, same=True, labelled=True, adds=True, repeats=True) is Verdict.MERGE
    expected = Verdict.MERGE if similarity > 0.79 else Verdict.STORE
    assert verdict(similarity, agrees=True, same=False, adds=True, repeats=True) is expected
    assert verdict(similarity, agrees=False, same=True, repeats=True) is Verdict.SUPERSEDE


@pytest.mark.parametrize("similarity", [below(0.75), 0.7, 0.62])
def test_under_one_label_less_similar_texts_are_related(similarity: float) -> None:
    assert verdict(similarity, agrees=False, same=True, least=0.82) is Verdict.SUPERSEDE
    assert verdict(similarity, agrees=False, same=True, least=0.82, firm=False) is Verdict.STORE
    assert verdict(similarity, agrees=True, same=True, least=0.82) is Verdict.STORE
    assert verdict(0.61, agrees=False, same=True, least=0.82) is Verdict.STORE
    assert verdict(0.61, agrees=False, same=True, least=0.66) is Verdict.SUPERSEDE


def test_a_reported_change_without_a_common_label_is_marked_and_supersedes_nothing() -> None:
    assert verdict(0.65, agrees=False, same=False, least=0.82) is Verdict.CONTRADICTS
    assert verdict(0.65, agrees=False, same=False) is Verdict.STORE
    assert verdict(0.65, agrees=False, same=False, least=0.82, distinct=True, names_memory=True) is Verdict.CONTRADICTS
    assert verdict(0.65, agrees=False, same=False, least=0.82, distinct=True) is Verdict.STORE


@pytest.mark.parametrize(("agrees", "same"), list(product([True, False], repeat=2)))
def test_below_related_everything_is_stored(*, agrees: bool, same: bool) -> None:
    assert verdict(below(0.75), agrees=agrees, same=same) is Verdict.STORE
    assert verdict(-1.0, agrees=agrees, same=same) is Verdict.STORE


@pytest.mark.parametrize("similarity", [1.0, 0.92, 0.88, 0.75])
def test_what_says_more_is_never_turned_away_or_merged(similarity: float) -> None:
    assert verdict(similarity, agrees=True, same=True, adds=True, covers=True) is Verdict.SUPERSEDE
    assert verdict(similarity, agrees=True, same=True, adds=True) is Verdict.STORE
    assert verdict(similarity, agrees=True, same=False, adds=True) is Verdict.STORE


@given(similarity=st.floats(-1, 1), agrees=st.booleans(), same=st.booleans(), adds=st.booleans())
def test_texts_about_different_things_are_always_stored(
    similarity: float, *, agrees: bool, same: bool, adds: bool
) -> None:
    assert verdict(similarity, agrees=agrees, same=same, adds=adds, distinct=True) is Verdict.STORE


@given(similarity=st.floats(-1, 1), same=st.booleans(), adds=st.booleans())
def test_what_disagrees_is_never_lost(similarity: float, *, same: bool, adds: bool) -> None:
    assert verdict(similarity, agrees=False, same=same, adds=adds) not in (Verdict.REJECT, Verdict.MERGE)


def test_the_thresholds_are_those_of_the_embedder() -> None:
    pair = Pair(similarity=0.6, agrees=True, same_subject=False)
    assert decide_pair(pair, SimilarityProfile(related=0.3, merge=0.5, duplicate=0.55)) is Verdict.REJECT
    assert decide_pair(pair, SimilarityProfile(related=0.3, merge=0.5, duplicate=0.6)) is Verdict.MERGE


def test_a_protected_memory_is_never_touched() -> None:
    assert {one: for_protected(one) for one in Verdict} == {
        **{one: one for one in Verdict},
        Verdict.SUPERSEDE: Verdict.CONTRADICTS,
        Verdict.MERGE: Verdict.SUPPORTS,
    }


def test_an_update_wins_over_a_copy_elsewhere_and_nothing_means_store() -> None:
    assert foremost([Verdict.REJECT, Verdict.SUPERSEDE]) is Verdict.SUPERSEDE
    assert foremost([Verdict.STORE, Verdict.CONTRADICTS, Verdict.MERGE]) is Verdict.MERGE
    assert foremost([]) is Verdict.STORE
