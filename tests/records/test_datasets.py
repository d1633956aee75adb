"""Datasets in memory: what identifies one, and what none may say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from tests.formats.made import datasets

from assay.errors import BadValue
from assay.records.answers import EquivalenceClasses, GoldAnchors
from assay.records.datasets import Case, Dataset, Document, Grade

DATASET = Dataset(
    name="inn",
    documents=(Document(id="a", text="x"), Document(id="b", text="y")),
    cases=(
        Case(id="q", query="?", grades=(Grade(document_id="a", grade=3), Grade(document_id="b", grade=1))),
        Case(id="r", query="!", equivalence=EquivalenceClasses(classes=(frozenset("ab"),))),
    ),
)


@settings(max_examples=40)
@given(dataset=datasets())
def test_the_order_of_documents_cases_and_grades_does_not_matter(dataset: Dataset) -> None:
    turned = replace(
        dataset,
        documents=dataset.documents[::-1],
        cases=tuple(replace(one, grades=one.grades[::-1]) for one in dataset.cases[::-1]),
        edges=dataset.edges[::-1],
    )
    assert turned.content_hash == dataset.content_hash


@pytest.mark.parametrize(
    "changed",
    [
        replace(DATASET, documents=(Document(id="a", text="z"), DATASET.documents[1])),
        replace(DATASET, documents=(replace(DATASET.documents[0], metadata={"k": 1}), DATASET.documents[1])),
        replace(DATASET, cases=DATASET.cases[:1]),
        replace(DATASET, cases=(replace(DATASET.cases[0], query="??"), DATASET.cases[1])),
        replace(DATASET, cases=(replace(DATASET.cases[0], grades=DATASET.cases[0].grades[:1]), DATASET.cases[1])),
        replace(DATASET, relevance_level=1),
        replace(DATASET, ranked_unit="chunk"),
    ],
)
def test_whatever_moves_a_number_moves_the_hash(changed: Dataset) -> None:
    assert changed.content_hash != DATASET.content_hash


def test_the_hash_is_the_one_that_stored_runs_have() -> None:
    assert DATASET.corpus_hash == "sha256:24d5f0c5cf4afd2dc9910bfddd745c733079c8b3810736c92086218d817e22ab"
    assert DATASET.content_hash == "sha256:fb68ab9f66fdbbb92591f347526760cd5a6ddcfabffa3198e13d7fc207647424"


def test_words_about_a_dataset_do_not() -> None:
    told = replace(
        DATASET,
        name="other",
        version="2.0.0",
        description="words",
        created_at="today",
        floors={"mrr": 0.7},
        cases=(replace(DATASET.cases[0], declared_relevant=("b",)), DATASET.cases[1]),
    )
    assert told.content_hash == DATASET.content_hash


def test_corpora_are_told_apart_on_their_own() -> None:
    assert replace(DATASET, cases=()).corpus_hash == DATASET.corpus_hash
    assert replace(DATASET, documents=DATASET.documents[:1]).corpus_hash != DATASET.corpus_hash


def test_a_case_says_once_whether_it_can_be_answered() -> None:
    with pytest.raises(BadValue, match="case 'q' is answerable"):
        Case(id="q", query="?", anchors=GoldAnchors(answerable=False))
    assert not Case(id="q", query="?", anchors=GoldAnchors(answerable=False), answerable=False).answerable


@pytest.mark.parametrize("level", [-1, 4])
def test_the_relevance_level_stands_on_the_scale(level: int) -> None:
    with pytest.raises(BadValue, match=f"reads grade {level} as relevant"):
        replace(DATASET, relevance_level=level)
