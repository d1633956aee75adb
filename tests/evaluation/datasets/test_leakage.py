"""What gives answers away is found, and ordinary overlap is not called so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.evaluation.datasets.small import graded, with_first

from assay.evaluation.datasets.checks import leaks
from assay.records.datasets import Dataset, Document

POOL = (
    "The pool on the roof is heated all year, and guests may swim from six in the morning until ten at night "
    "without asking at the desk."
)


def with_document(dataset: Dataset, **changes: Any) -> Dataset:
    return replace(dataset, documents=(*dataset.documents, Document(id="pool", **{"text": POOL, **changes})))


def found(dataset: Dataset) -> list[tuple[str, str]]:
    return [(one.code, one.where) for one in leaks(dataset)]


def test_nothing_leaks_where_nothing_does() -> None:
    assert found(with_document(graded())) == []


@pytest.mark.parametrize(
    "query",
    [
        "guests may swim from six",
        "GUESTS may — swim: from six!",
        "may guests swim from six in the morning until ten at night without asking at the desk",
    ],
)
def test_a_query_copied_from_a_document_is_found(query: str) -> None:
    assert found(with_document(with_first(graded(), query=query))) == [("query-copied", "case q0")]


@pytest.mark.parametrize(
    "query",
    [
        "the heated pool",
        "may guests swim from six",
        "is the pool on the roof heated all year for guests or closed in winter months",
        "can we swim at night, or is the water cold and the door locked after dinner?",
    ],
)
def test_a_question_in_ones_own_words_is_not(query: str) -> None:
    assert found(with_document(with_first(graded(), query=query))) == []


def test_a_query_that_is_a_title_is_found() -> None:
    spoilt = with_document(
        with_first(graded(), query="Swimming pool opening hours summer"), title="Swimming pool opening hours summer"
    )
    assert found(spoilt) == [("query-copied", "case q0")]


@pytest.mark.parametrize(
    "changes",
    [
        {"metadata": {"faq": [{"a": "Only in July, and in August"}]}},
        {"tags": ("only in july and in august",)},
        {"triggers": ("Only in July; and in August.",)},
    ],
)
def test_an_answer_in_metadata_tags_or_triggers_is_found(changes: dict[str, Any]) -> None:
    spoilt = with_document(with_first(graded(), reference_answer="Only in July and in August."), **changes)
    assert found(spoilt) == [("answer-in-metadata", "case q0")]


def test_a_query_in_metadata_is_found() -> None:
    spoilt = with_document(graded(), metadata={"asked": "What do we know of thing 3?"})
    assert found(spoilt) == [("query-in-metadata", "case q3")]


def test_metadata_that_repeats_the_text_and_short_answers_give_nothing_away() -> None:
    spoilt = with_first(graded(), reference_answer="heated all year")
    assert found(with_document(spoilt, metadata={"sentences": [POOL]})) == []
    assert found(with_document(with_first(graded(), reference_answer="yes"), metadata={"a": "yes"})) == []


def test_a_question_that_holds_its_answer_is_found() -> None:
    spoilt = with_first(graded(), query="Is it heated all year?", reference_answer="Heated all year")
    assert found(spoilt) == [("answer-in-query", "case q0")]
