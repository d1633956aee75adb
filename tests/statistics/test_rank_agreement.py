"""Two ranked lists: tau-b, Jaccard, RBO, moved items, and the documented classes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.statistics import (
    AgreementClass,
    RankAgreement,
    classify,
    jaccard,
    kendall_tau_b,
    rank_agreement,
    rank_biased_overlap,
)

LISTS = st.lists(st.sampled_from("abcdefghij"), max_size=10, unique=True)
TEN = list("abcdefghij")


def test_tau_b_with_ties() -> None:
    # scipy's own example: 2 concordant, 6 discordant... tau-b = -0.4714
    assert kendall_tau_b([12, 2, 1, 12, 2], [1, 4, 7, 1, 0]) == pytest.approx(-0.47140452079103173)


@pytest.mark.parametrize(("first", "second"), [([], []), ([1.0], [1.0]), ([1.0, 1.0], [1.0, 2.0])])
def test_tau_b_is_undefined_where_nothing_can_be_ordered(first: list[float], second: list[float]) -> None:
    assert kendall_tau_b(first, second) is None


def test_one_swap_of_neighbours_by_hand() -> None:
    # 45 pairs, one discordant: (44 - 1) / 45
    swapped = ["a", "c", "b", *TEN[3:]]
    found = rank_agreement(TEN, swapped)
    assert found.tau_b == pytest.approx(43 / 45)
    assert found == RankAgreement(
        tau_b=found.tau_b,
        jaccard=1.0,
        rbo=found.rbo,
        top_changed=False,
        order_differences=2,
        shared=10,
        classified="minor",
    )


def test_the_same_swap_at_the_top_is_major() -> None:
    assert rank_agreement(TEN, ["b", "a", *TEN[2:]]).classified == "major"


def test_a_reversed_list_is_incompatible() -> None:
    found = rank_agreement(TEN, TEN[::-1])
    assert (found.tau_b, found.classified, found.order_differences) == (-1.0, "incompatible", 10)


def test_equal_lists_are_identical() -> None:
    found = rank_agreement(TEN, TEN)
    assert (found.tau_b, found.jaccard) == (1.0, 1.0)
    assert found.rbo == pytest.approx(1.0)
    assert (found.classified, found.order_differences, found.top_changed) == ("identical", 0, False)


def test_two_empty_lists_are_identical() -> None:
    assert rank_agreement([], []) == RankAgreement(
        tau_b=None, jaccard=1.0, rbo=1.0, top_changed=False, order_differences=0, shared=0, classified="identical"
    )


def test_an_empty_list_beside_a_full_one_is_incompatible() -> None:
    assert rank_agreement([], ["a"]) == RankAgreement(
        tau_b=None, jaccard=0.0, rbo=0.0, top_changed=True, order_differences=0, shared=0, classified="incompatible"
    )


def test_one_equal_item_gives_no_tau_but_is_identical() -> None:
    found = rank_agreement(["a"], ["a"])
    assert (found.tau_b, found.jaccard, found.classified) == (None, 1.0, "identical")


def test_one_shared_item_among_others_gives_no_tau_and_so_no_agreement() -> None:
    found = rank_agreement(["a", "b"], ["a", "c"])
    assert (found.tau_b, found.classified) == (None, "incompatible")


@pytest.mark.parametrize(
    ("tau", "overlap", "top_changed", "expected"),
    [
        (0.99, 0.95, False, "identical"),
        (0.99, 0.94, False, "minor"),
        (0.989, 1.0, False, "minor"),
        (0.95, 0.70, False, "minor"),
        (0.95, 1.0, True, "major"),
        (0.949, 1.0, False, "major"),
        (0.85, 1.0, False, "major"),
        (0.849, 1.0, False, "incompatible"),
        (1.0, 0.699, False, "incompatible"),
        (None, 1.0, False, "incompatible"),
    ],
)
def test_the_documents_thresholds(
    tau: float | None, overlap: float, top_changed: bool, expected: AgreementClass
) -> None:
    assert classify(tau, overlap, top_changed=top_changed) == expected


def test_rbo_of_two_swapped_items_by_hand() -> None:
    # p = 1/2, overlaps 0 and 2: (1-p)/p * (0 + 2/2 p^2) + 2/2 p^2 = 1/4 + 1/4
    assert rank_biased_overlap("ab", "ba", persistence=0.5) == pytest.approx(0.5)


def test_rbo_of_uneven_lists_by_hand() -> None:
    # Equal as far as both go: extrapolation assumes that it goes on.
    assert rank_biased_overlap("a", "ab", persistence=0.5) == pytest.approx(1.0)
    # S = b, L = ab: X = 0, 1. (1-p)/p * (0 + 1/2 p^2 + 0) + ((1-0)/2 + 0) p^2 = 1/8 + 1/8
    assert rank_biased_overlap("b", "ab", persistence=0.5) == pytest.approx(0.25)


def test_duplicates_count_where_they_stand_first() -> None:
    assert rank_agreement(["a", "b", "a", "c"], ["a", "b", "c", "c"]) == rank_agreement(list("abc"), list("abc"))


def test_jaccard_by_hand() -> None:
    assert jaccard("abc", "bcd") == 2 / 4


@given(LISTS, LISTS)
def test_agreement_is_symmetric_and_within_range(first: list[str], second: list[str]) -> None:
    forth, back = rank_agreement(first, second), rank_agreement(second, first)
    assert (forth.tau_b, forth.jaccard, forth.order_differences, forth.classified) == (
        back.tau_b,
        back.jaccard,
        back.order_differences,
        back.classified,
    )
    assert forth.rbo == pytest.approx(back.rbo)
    assert 0.0 <= forth.rbo <= 1.0
    assert forth.tau_b is None or -1.0 <= forth.tau_b <= 1.0


@given(LISTS)
def test_a_list_agrees_with_itself(items: list[str]) -> None:
    found = rank_agreement(items, items)
    assert (found.jaccard, found.order_differences) == (1.0, 0)
    assert found.rbo == pytest.approx(1.0)


@given(LISTS, LISTS)
def test_names_do_not_matter(first: list[str], second: list[str]) -> None:
    assert rank_agreement(first, second) == rank_agreement([ord(i) for i in first], [ord(i) for i in second])
