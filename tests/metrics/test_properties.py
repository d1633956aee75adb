"""Metric x property over the whole ranking catalog. The first test proves that none is missing from the table."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.metrics.cases import over, value

from assay.metrics.catalog import entries, find
from assay.metrics.engine import ScoringRules, measure_mappings
from assay.metrics.spec import MetricSpec


class Property(NamedTuple):
    """What holds for one spelling of a metric."""

    text: str
    best: float | None = 1.0
    """The value of a perfect ranking; None where it depends on the number of documents."""
    rises: bool = True
    """Moving a relevant document up never lowers it."""
    ignores_unjudged_tail: bool = True
    """Unjudged documents below everything else change nothing."""


TABLE = (
    Property("mrr"),
    Property("mrr@3"),
    Property("ndcg"),
    Property("ndcg@3"),
    Property("ndcg(gain=exp)@5"),
    Property("ndcg(unjudged=1)@5", best=None, ignores_unjudged_tail=False),
    Property("recall"),
    Property("recall@3", best=None),
    Property("precision@3", best=None),
    Property("ap"),
    Property("ap@3", best=None),
    Property("success@3"),
    Property("rprec"),
    Property("bpref"),
    Property("rbp", best=None),
    Property("rbp(p=0.5)@4", best=None),
    Property("judged", best=None, rises=False, ignores_unjudged_tail=False),
    Property("judged@3", best=None, rises=False, ignores_unjudged_tail=False),
)
PROPERTIES = pytest.mark.parametrize("one", TABLE, ids=lambda one: one.text)

SOME = settings(max_examples=25, deadline=None)
"""Every property runs for nineteen spellings."""
Grades = list[int | None]
shown = st.lists(st.one_of(st.none(), st.integers(-1, 3)), max_size=12)
missed = st.lists(st.integers(0, 3), max_size=5)


def test_the_table_covers_the_whole_ranking_catalog() -> None:
    names = {entry.name for entry in entries() if entry.family == "ranking"}
    assert {MetricSpec.parse(one.text).name for one in TABLE} == names


@PROPERTIES
@SOME
@given(grades=shown, others=missed, level=st.integers(1, 3))
def test_every_value_lies_within_the_range_of_the_catalog(
    one: Property, grades: Grades, others: list[int], level: int
) -> None:
    entry = find(MetricSpec.parse(one.text).name)
    assert entry.lowest is not None
    assert entry.highest is not None
    assert entry.lowest <= value(one.text, grades, others, level=level) <= entry.highest


@pytest.mark.parametrize("one", [one for one in TABLE if one.best is not None], ids=lambda one: one.text)
@SOME
@given(grades=st.lists(st.integers(0, 3), min_size=1, max_size=10).filter(any))
def test_a_perfect_ranking_has_the_best_value(one: Property, grades: list[int]) -> None:
    assert value(one.text, sorted(grades, reverse=True)) == one.best


@PROPERTIES
@SOME
@given(grades=st.lists(st.integers(0, 3), min_size=1, max_size=8).filter(any), order=st.randoms())
def test_no_order_beats_the_perfect_one(one: Property, grades: list[int], order: st.DrawFn) -> None:
    perfect = value(one.text, sorted(grades, reverse=True))
    shuffled = list(grades)
    order.shuffle(shuffled)  # type: ignore[attr-defined] # Hypothesis hands over a random.Random
    assert value(one.text, shuffled) <= perfect


@pytest.mark.parametrize("one", [one for one in TABLE if one.rises], ids=lambda one: one.text)
@SOME
@given(grades=st.lists(st.sampled_from([None, 0, 1]), min_size=2, max_size=10), others=missed, data=st.data())
def test_moving_a_relevant_document_up_never_lowers_the_value(
    one: Property, grades: Grades, others: list[int], data: st.DataObject
) -> None:
    place = data.draw(st.integers(1, len(grades) - 1))
    moved = [*grades[: place - 1], grades[place], grades[place - 1], *grades[place + 1 :]]
    if (grades[place] or 0) > (grades[place - 1] or 0):
        assert value(one.text, moved, others) >= value(one.text, grades, others) - 1e-12


@pytest.mark.parametrize("one", [one for one in TABLE if one.ignores_unjudged_tail], ids=lambda one: one.text)
@SOME
@given(grades=shown, others=missed)
def test_unjudged_documents_at_the_end_change_nothing(one: Property, grades: Grades, others: list[int]) -> None:
    assert value(one.text, [*grades, None, None], others) == value(one.text, grades, others)


queries = st.lists(st.tuples(shown, missed), min_size=1, max_size=6)


@PROPERTIES
@SOME
@given(cases=queries, order=st.randoms())
def test_the_order_and_company_of_queries_change_nothing(
    one: Property, cases: list[tuple[Grades, list[int]]], order: st.DrawFn
) -> None:
    numbers = list(range(len(cases)))
    order.shuffle(numbers)  # type: ignore[attr-defined] # Hypothesis hands over a random.Random
    qrels, run = {}, {}
    for number in numbers:
        grades, others = cases[number]
        row = {f"d{place}": grade for place, grade in enumerate(grades) if grade is not None}
        qrels[str(number)] = row | {f"m{place}": grade for place, grade in enumerate(others)}
        run[str(number)] = {f"d{place}": float(-place) for place in range(len(grades))}
    together = dict(zip(qrels, over(qrels, run, one.text).values.tolist(), strict=True))
    assert together == {str(number): value(one.text, *cases[number]) for number in numbers}


@PROPERTIES
@SOME
@given(grades=shown, others=missed, shift=st.sampled_from([-100.0, 3.0]), scale=st.sampled_from([0.5, 2.0]))
def test_only_the_order_of_scores_matters(
    one: Property, grades: Grades, others: list[int], shift: float, scale: float
) -> None:
    spec = MetricSpec.parse(one.text)
    qrels = {"q": {f"d{place}": grade for place, grade in enumerate(grades) if grade is not None}}
    qrels["q"] |= {f"m{place}": grade for place, grade in enumerate(others)}
    run = {"q": {f"d{place}": shift - scale * place for place in range(len(grades))}}
    measured = measure_mappings(qrels, run, [spec], ScoringRules())
    assert measured.scores[spec].values[0] == value(one.text, grades, others)
