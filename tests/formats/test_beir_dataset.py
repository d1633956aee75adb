"""BEIR folders: documents, queries and judgments come back; splits are chosen; bad lines are named."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.made import fact_values, histories, ids, labels, metadata, texts, visible

from assay.errors import BadValue, InputError, MalformedFile
from assay.formats.test_collections import read_beir, stream_corpus, write_beir
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.memory import Format


@st.composite
def any_dataset(draw: Any) -> Dataset:
    names = draw(st.lists(ids.filter(lambda one: one == one.strip()), min_size=1, max_size=4, unique=True))
    documents = tuple(
        Document(id=one, text=draw(texts), title=draw(texts), metadata=draw(metadata), format=Format.TEXT)
        for one in names
    )
    grades = st.lists(st.sampled_from(names), max_size=3, unique=True)
    cases = tuple(
        Case(
            id=f"q{number}",
            query=draw(visible),
            grades=tuple(Grade(document_id=one, grade=draw(st.integers(0, 3))) for one in draw(grades)),
            category=draw(texts),
            difficulty=draw(texts),
            tags=draw(labels),
            reference_answer=draw(st.none() | texts),
            answerable=draw(st.booleans()),
            history=draw(histories),
            rubric=draw(st.lists(texts, max_size=2).map(tuple)),
            **draw(fact_values),
        )
        for number in range(draw(st.integers(0, 3)))
    )
    given_grades = [one.grade for case in cases for one in case.grades]
    return Dataset(
        name="any",
        documents=documents,
        cases=cases,
        highest_grade=max([1, *given_grades]),
        relevance_level=1,
        ranked_unit="document",
    )


@settings(max_examples=50)
@given(dataset=any_dataset())
def test_any_dataset_comes_back(tmp_path_factory: pytest.TempPathFactory, dataset: Dataset) -> None:
    folder = tmp_path_factory.mktemp("beir")
    write_beir(folder, dataset)
    assert read_beir(folder, name="any") == dataset


def made(folder: Path, corpus: list[Any], queries: list[Any], **qrels: str) -> Path:
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    (folder / "corpus.jsonl").write_text("".join(json.dumps(one) + "\n" for one in corpus), encoding="utf-8")
    (folder / "queries.jsonl").write_text("".join(json.dumps(one) + "\n" for one in queries), encoding="utf-8")
    for split, rows in qrels.items():
        (folder / "qrels" / f"{split}.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}", encoding="utf-8")
    return folder


CORPUS = [{"_id": "d1", "title": "One", "text": "first"}, {"_id": 2, "text": "second", "url": "x"}]
QUERIES: list[dict[str, Any]] = [
    {"_id": "a", "text": "one?", "metadata": {"answer": "1", "type": "bridge", "level": "easy"}},
    {"_id": "b", "text": "two?"},
]


def test_a_split_has_the_queries_it_judges(tmp_path: Path) -> None:
    made(tmp_path, CORPUS, QUERIES, test="a\td1\t1\n", train="b\t2\t2\n")
    found = read_beir(tmp_path, split="train")
    assert [(one.id, one.labels) for one in found.cases] == [("b", {"2": 2})]
    assert (found.lowest_grade, found.highest_grade, found.relevance_level) == (0, 2, 1)
    with pytest.raises(InputError, match="has several splits") as told:
        read_beir(tmp_path)
    assert told.value.remedy == "Choose with --split one of: test, train."
    with pytest.raises(InputError, match="has no split 'dev'"):
        read_beir(tmp_path, split="dev")


def test_one_split_needs_no_choice_and_metadata_is_kept(tmp_path: Path) -> None:
    found = read_beir(made(tmp_path, CORPUS, QUERIES, test="a\td1\t1\n"))
    assert found.documents[1] == Document(id="2", text="second", metadata={"url": "x"}, format=Format.TEXT)
    (case,) = found.cases
    assert (case.reference_answer, case.category, case.difficulty) == ("1", "bridge", "easy")


def test_queries_of_one_file_of_judgments_may_name_their_split(tmp_path: Path) -> None:
    queries = [{**QUERIES[1], "metadata": {"split": "dev"}}, QUERIES[0]]
    made(tmp_path, CORPUS, queries)
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\na\td1\t1\nb\td1\t0\n", encoding="utf-8")
    assert [one.id for one in read_beir(tmp_path).cases] == ["b", "a"]
    assert [one.id for one in read_beir(tmp_path, split="dev").cases] == ["b"]
    with pytest.raises(InputError, match="has no split 'test'") as told:
        read_beir(tmp_path, split="test")
    assert "dev" in told.value.remedy


def test_gzipped_files_are_read(tmp_path: Path) -> None:
    made(tmp_path, CORPUS, QUERIES, test="a\td1\t1\n")
    for name in ("corpus.jsonl", "queries.jsonl"):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress((tmp_path / name).read_bytes()))
        (tmp_path / name).unlink()
    assert len(read_beir(tmp_path).documents) == 2


def test_a_corpus_is_streamed_and_tells_how_far_it_is(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(f'{{"_id": "{one}", "text": "t"}}\n' for one in range(2500)), encoding="utf-8")
    told: list[int] = []
    source = stream_corpus(path, on_read=told.append)
    assert next(source).id == "0"
    assert told == []
    assert sum(1 for _ in source) == 2499
    assert told == [1000, 2000]


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ({"text": "x"}, "the document has no '_id'"),
        ({"_id": "d9"}, "the document has no 'text'"),
        ({"_id": "d9", "text": None}, "text None is not text"),
        ({"_id": 1.5, "text": "x"}, "id 1.5 is not text"),
        ({"_id": "d9", "text": "x", "metadata": "m"}, "metadata is a text"),
        ({"_id": "d1", "text": "x"}, "id 'd1' was given on line 1"),
    ],
)
def test_a_bad_document_is_named(tmp_path: Path, line: Any, named: str) -> None:
    made(tmp_path, [*CORPUS, line], QUERIES, test="a\td1\t1\n")
    with pytest.raises(MalformedFile) as told:
        read_beir(tmp_path)
    assert "corpus.jsonl, line 3: " in told.value.message
    assert named in told.value.message


def test_bad_queries_and_judgments_are_named(tmp_path: Path) -> None:
    made(tmp_path, CORPUS, [*QUERIES, {"_id": "c", "text": ""}], test="a\td1\t1\nc\td1\t1\n")
    with pytest.raises(MalformedFile, match=r"queries\.jsonl, line 3: query '' is empty"):
        read_beir(tmp_path)
    made(tmp_path, CORPUS, QUERIES, test="a\td1\thigh\n")
    with pytest.raises(MalformedFile, match=r"test\.tsv, line 2: the grade 'high'"):
        read_beir(tmp_path)
    made(tmp_path, CORPUS, QUERIES, test="a\td1\t1\nz\td1\t1\n")
    with pytest.raises(BadValue, match=r"judges 1 queries that queries\.jsonl does not have, such as 'z'"):
        read_beir(tmp_path)


def test_a_folder_without_judgments_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no judgments"):
        read_beir(made(tmp_path, CORPUS, QUERIES))


def test_judgments_can_be_written_as_a_split(tmp_path: Path) -> None:
    dataset = read_beir(made(tmp_path / "a", CORPUS, QUERIES, test="a\td1\t1\n"), name="x")
    write_beir(tmp_path / "b", dataset, split="dev")
    assert read_beir(tmp_path / "b", name="x", split="dev") == dataset
