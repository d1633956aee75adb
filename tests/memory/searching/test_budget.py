"""What fits a token budget, and what a session need not be given again."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from assay.memory.searching.results import fit_budget
from assay.records import Author, AuthorKind, Hit, HitPassage, Tier


def hit(name: str, *tokens: int) -> Hit:
    return Hit(
        memory_id=name,
        rank=1,
        score=0.5,
        title=name,
        passages=tuple(
            HitPassage(position=place, text=f"{name}{place}", heading_path="", tokens=count)
            for place, count in enumerate(tokens)
        ),
        best_position=0,
        tier=Tier.NORMAL,
        folder="",
        rel_path="",
        tags=(),
        channels=(),
        updated_at=datetime(2025, 1, 1, tzinfo=UTC),
        author=Author(name="ada", kind=AuthorKind.PERSON),
    )


def shown(hits: tuple[Hit, ...]) -> list[str]:
    return [passage.text for one in hits for passage in one.passages]


def test_without_a_budget_and_within_it_nothing_is_dropped() -> None:
    hits = [hit("a", 10, 20), hit("b", 5)]
    for budget in (None, 35, 36):
        assert fit_budget(hits, budget) == (tuple(hits), 35, 0, 0)


def test_whole_passages_are_dropped_from_the_tail() -> None:
    found = fit_budget([hit("a", 10, 20), hit("b", 5), hit("c", 1)], 34)
    assert (shown(found.kept), found.tokens, found.dropped, found.overrun) == (["a0", "a1"], 30, 2, 0)


def test_what_is_behind_the_first_that_does_not_fit_is_dropped_though_it_would_fit() -> None:
    assert shown(fit_budget([hit("a", 10), hit("b", 50), hit("c", 1)], 20).kept) == ["a0"]


def test_within_a_hit_the_best_passages_are_kept_and_stand_in_document_order() -> None:
    found = fit_budget([hit("a", 10, 10, 10)], 20, best_first={"a": [2, 1, 0]})
    assert shown(found.kept) == ["a1", "a2"]


def test_the_first_passage_is_kept_though_it_alone_is_over_the_budget_and_the_overrun_is_told() -> None:
    found = fit_budget([hit("a", 10, 90), hit("b", 5)], 30, best_first={"a": [1, 0]})
    assert (shown(found.kept), found.tokens, found.dropped, found.overrun) == (["a1"], 90, 2, 60)


def test_a_budget_of_nothing_still_shows_the_first() -> None:
    assert fit_budget([hit("a", 7)], 0).overrun == 7


def test_nothing_found_fits_any_budget() -> None:
    assert fit_budget([], 0) == ((), 0, 0, 0)


@given(
    sizes=st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=4), max_size=6),
    budget=st.integers(0, 300),
    more=st.integers(0, 100),
)
def test_a_larger_budget_never_shows_less(sizes: list[list[int]], budget: int, more: int) -> None:
    hits = [hit(f"m{place}_", *tokens) for place, tokens in enumerate(sizes)]
    small, large = fit_budget(hits, budget), fit_budget(hits, budget + more)
    assert set(shown(small.kept)) <= set(shown(large.kept))
    assert small.tokens - small.overrun <= budget
    assert small.dropped + len(shown(small.kept)) == sum(map(len, sizes))
