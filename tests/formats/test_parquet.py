"""Parquet: three tables like BEIR, or one table of cases; both come back, and what is wrong is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from tests.formats.test_beir_dataset import any_dataset
from tests.formats.test_longmemeval import question
from tests.formats.test_ragas import MULTI, OLD, SINGLE

from assay.errors import AssayError, InputError, MalformedFile
from assay.evaluation.datasets import load_dataset
from assay.formats.parquet import read_parquet, write_parquet
from assay.records.datasets import Dataset


def table(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


@settings(max_examples=30)
@given(dataset=any_dataset())
def test_any_dataset_comes_back(tmp_path_factory: pytest.TempPathFactory, dataset: Dataset) -> None:
    folder = tmp_path_factory.mktemp("parquet")
    write_parquet(folder, dataset)
    assert read_parquet(folder, name="any") == dataset


def test_a_table_may_be_cut_into_files_and_metadata_may_be_a_struct(tmp_path: Path) -> None:
    table(tmp_path / "corpus" / "0.parquet", [{"id": 1, "title": "Pool", "text": "Opens at seven."}])
    table(tmp_path / "corpus" / "1.parquet", [{"id": 2, "title": None, "text": "Towels."}])
    turns = [{"speaker": "user", "text": "Is there a pool?"}]
    said = {"answerable": True, "history": turns, "category": "times"}
    other = {"answerable": False, "history": None, "category": None}
    rows = [{"_id": "q1", "text": "When?", "metadata": said}, {"_id": "q2", "text": "Why?", "metadata": other}]
    table(tmp_path / "queries.parquet", rows)
    table(tmp_path / "qrels.parquet", [{"query-id": "q1", "corpus-id": 1, "score": 1.0}])
    found = load_dataset(tmp_path)
    first, second = found.cases
    assert [one.id for one in found.documents] == ["1", "2"]
    assert first.labels == {"1": 1}
    assert (first.turn, first.category, second.answerable) == (2, "times", False)


def test_a_table_of_cases_is_known_by_its_columns(tmp_path: Path) -> None:
    samples = load_dataset(table(tmp_path / "ragas.parquet", [{**SINGLE, "rubrics": None}]))
    assert samples.cases[0].query == SINGLE["user_input"]
    assert load_dataset(table(tmp_path / "multi.parquet", [MULTI])).cases[0].turn == 2
    assert load_dataset(table(tmp_path / "old.parquet", [OLD])).cases[0].reference_answer == "At seven."
    assert load_dataset(table(tmp_path / "lme.parquet", [question()])).cases[0].labels == {"answer_1": 1}
    anchored = {"id": "c1", "question": "Who?", "answerable": True, "gold_supports": [{"rel_path": "a.md"}]}
    assert load_dataset(table(tmp_path / "anchored.parquet", [anchored])).cases[0].anchors is not None


@pytest.mark.parametrize(
    ("name", "rows", "message"),
    [
        ("qrels", [{"query-id": "q1", "corpus-id": "a", "score": "high"}], "is not a judgment"),
        ("qrels", [{"query-id": "q9", "corpus-id": "a", "score": 1}], "judges 1 queries that"),
        ("qrels", [{"query-id": "q1", "corpus-id": "a", "score": one} for one in (0, 1)], "judges 'a' 0 and 1"),
        ("corpus", [{"_id": "a", "text": "x"}, {"_id": "a", "text": "y"}], "line 2: id 'a' was given on line 1"),
        ("corpus", [{"_id": "a", "txt": "x"}], "line 1: the document has no 'text'"),
        ("queries", [{"_id": "q1", "text": "x", "metadata": "{"}], "metadata '{' is not JSON"),
    ],
)
def test_a_row_that_is_wrong_is_named(tmp_path: Path, name: str, rows: list[dict[str, Any]], message: str) -> None:
    table(tmp_path / "corpus.parquet", [{"_id": "a", "text": "x"}])
    table(tmp_path / "queries.parquet", [{"_id": "q1", "text": "x"}])
    table(tmp_path / "qrels.parquet", [{"query-id": "q1", "corpus-id": "a", "score": 1}])
    table(tmp_path / f"{name}.parquet", rows)
    with pytest.raises(AssayError, match=message):
        read_parquet(tmp_path)


def test_what_is_no_parquet_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_text("no")
    with pytest.raises(MalformedFile, match="cannot be read as Parquet"):
        load_dataset(tmp_path / "x.parquet")
    with pytest.raises(MalformedFile, match="has the columns a"):
        load_dataset(table(tmp_path / "y.parquet", [{"a": 1}]))
    table(tmp_path / "corpus.parquet", [{"_id": "a", "text": "x"}])
    with pytest.raises(InputError, match="has no table 'qrels'"):
        load_dataset(tmp_path)
