"""`from assay import Dataset, evaluate`, as in a notebook."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.systems.sample import TEXTS, dataset, right

from assay import Dataset, Memory, evaluate
from assay.errors import RecordNotFound, UnknownSystem
from assay.evaluation.datasets import export_dataset
from assay.evaluation.results import load_run
from assay.records import Origin


def test_a_function_is_evaluated_on_a_dataset_from_a_file(tmp_path: Path) -> None:
    export_dataset(dataset(), tmp_path / "house.json")
    house = Dataset.load(tmp_path / "house.json")
    result = evaluate(house, right, metrics="mrr,recall@5", k=5)
    assert result.name == "right"
    assert result.value("mrr") == 1.0
    assert house.content_hash == dataset().content_hash
    assert result.folder is None


def test_a_run_may_be_kept(tmp_path: Path) -> None:
    result = evaluate(dataset(), right, runs=tmp_path, name="mine")
    assert result.folder is not None
    assert load_run(result.folder).name == "mine"


def test_a_name_is_what_the_command_line_takes() -> None:
    assert evaluate(dataset(), "assay:embedder.kind=none", metrics=["mrr"]).value("mrr") == 1.0


def test_a_memory_is_evaluated_as_it_is_and_stays_open(tmp_path: Path) -> None:
    with Memory(tmp_path / "notes.db", embedder="none") as memory:
        for one, text in TEXTS.items():
            memory.save(title=one, body=text, source_id=one)
        assert evaluate(dataset(), memory, metrics="mrr").value("mrr") == 1.0
        assert len(memory.search("swimming pool")) > 0
        memory.engine.store.log.flush()
        with memory.engine.store.reading(memory.scope) as work:
            assert work.queries.count(origin=Origin.USE) == 1


def test_what_is_no_system_or_dataset_is_told() -> None:
    with pytest.raises(UnknownSystem, match="int is not a system"):
        evaluate(dataset(), 7)  # type: ignore[arg-type]
    with pytest.raises(RecordNotFound, match="hotell"):
        evaluate("hotell", right)
