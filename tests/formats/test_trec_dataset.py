"""TREC topics, qrels and runs: they come back; ids that cannot stand there are refused or encoded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.made import plain_ids

from assay.errors import BadValue, InputError, MalformedFile
from assay.formats.test_collections import read_topics_and_qrels, read_trec, write_trec
from assay.formats.trec import read_grades, read_scores, write_trec_qrels, write_trec_run
from assay.records.datasets import Case, Dataset, Grade

words = st.lists(st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=5), min_size=1)


@st.composite
def any_dataset(draw: Any) -> Dataset:
    names = draw(st.lists(plain_ids, max_size=4, unique=True))
    documents = st.lists(plain_ids, max_size=3, unique=True)
    cases = tuple(
        Case(
            id=one,
            query=" ".join(draw(words)),
            grades=tuple(Grade(document_id=doc, grade=draw(st.integers(-1, 3))) for doc in draw(documents)),
        )
        for one in names
    )
    given_grades = [one.grade for case in cases for one in case.grades]
    return Dataset(
        name="any",
        documents=(),
        cases=cases,
        lowest_grade=min([0, *given_grades]),
        highest_grade=max([1, *given_grades]),
        relevance_level=1,
        ranked_unit="document",
    )


@settings(max_examples=50)
@given(dataset=any_dataset())
def test_any_dataset_comes_back(tmp_path_factory: pytest.TempPathFactory, dataset: Dataset) -> None:
    folder = tmp_path_factory.mktemp("trec")
    write_trec(folder, dataset)
    assert read_trec(folder, name="any") == dataset


@settings(max_examples=50)
@given(
    run=st.dictionaries(
        plain_ids,
        st.dictionaries(plain_ids, st.floats(-(2.0**99), 2.0**99, width=32), min_size=1, max_size=4),
        max_size=4,
    )
)
def test_any_run_comes_back(tmp_path_factory: pytest.TempPathFactory, run: dict[str, dict[str, float]]) -> None:
    path = tmp_path_factory.mktemp("runs") / "run"
    write_trec_run(path, run, "x")
    assert read_scores(path) == run


def test_a_document_listed_twice_keeps_its_better_score(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q Q0 d 1 0.25 x\nq Q0 d 2 0.5 x\nq Q0 e 3 0.125 x\n", encoding="utf-8")
    assert read_scores(tmp_path / "run") == {"q": {"d": float(np.float32(0.5)), "e": 0.125}}


def test_grades_are_read_from_either_kind_and_comments_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("# c\n\nq 0 d 1\nr 0 e -1\nq 0 f 2\n", encoding="utf-8")
    (tmp_path / "b").write_bytes(b"query-id\tcorpus-id\tscore\r\nq 1\ta document\t1\r\n")
    assert read_grades(tmp_path / "a") == {"q": {"d": 1, "f": 2}, "r": {"e": -1}}
    assert read_grades(tmp_path / "b") == {"q 1": {"a document": 1}}
    (tmp_path / "c").write_text("q 0 d 1\nq 0 d 2\n", encoding="utf-8")
    with pytest.raises(MalformedFile, match="line 2: topic 'q' judges document 'd' 2"):
        read_grades(tmp_path / "c")


def test_the_older_form_of_topics_is_read(tmp_path: Path) -> None:
    (tmp_path / "topics").write_text(
        "<top>\n<num> Number: 301\n<title> Topic: International\n  organised crime\n<desc> Description:\nx\n</top>\n"
        "<top>\n<num>302</num>\n<title>Polio</title>\n</top>\n",
        encoding="utf-8",
    )
    write_trec_qrels(tmp_path / "qrels", {"301": {"d": 1}})
    found = read_trec(tmp_path)
    assert [(one.id, one.query) for one in found.cases] == [("301", "International organised crime"), ("302", "Polio")]


@pytest.mark.parametrize(
    ("topics", "named"),
    [
        ("q1\tone\nq2 two\n", "line 2: has no id or no text"),
        ("q1\tone\n\nq1\tagain\n", "line 3: topic 'q1' was given on line 1"),
        ("<top>\n<title> x\n</top>", "line 1: a topic has no <num> or no <title>"),
    ],
)
def test_bad_topics_are_named(tmp_path: Path, topics: str, named: str) -> None:
    (tmp_path / "topics.tsv").write_text(topics, encoding="utf-8")
    write_trec_qrels(tmp_path / "qrels.txt", {"q1": {"d": 1}})
    with pytest.raises(MalformedFile) as told:
        read_trec(tmp_path)
    assert named in told.value.message


def test_judged_topics_that_nobody_wrote_down_are_told(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("q1\tone\n", encoding="utf-8")
    write_trec_qrels(tmp_path / "q", {"q1": {"d": 1}, "q9": {"d": 1}})
    with pytest.raises(BadValue, match=r"judges 1 topics that .* does not have, such as 'q9'"):
        read_topics_and_qrels(tmp_path / "t", tmp_path / "q", name="x")
    with pytest.raises(InputError, match="has no file of topics"):
        read_trec(tmp_path)


def test_ids_with_blanks_are_refused_or_encoded_one_to_one(tmp_path: Path) -> None:
    names = ["a b", "a%20b", "#c", "é\td"]
    grades = tuple(Grade(document_id=one, grade=1) for one in names)
    dataset = Dataset(name="x", documents=(), cases=(Case(id="q", query="?", grades=grades),))
    with pytest.raises(BadValue, match="3 ids hold blanks or begin with '#'") as told:
        write_trec(tmp_path, dataset)
    assert "--encode-ids" in told.value.remedy
    assert not (tmp_path / "topics.tsv").exists()
    write_trec(tmp_path, dataset, encode_ids=True)
    assert list(read_grades(tmp_path / "qrels.txt")["q"]) == ["a%20b", "a%2520b", "%23c", "é%09d"]
