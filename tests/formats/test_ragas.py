"""Ragas samples: single turn and multi-turn, from JSONL, JSON and CSV; what is expected comes back."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.made import ids, labels, texts, visible

from assay.errors import MalformedFile
from assay.evaluation.datasets import load_dataset
from assay.formats.ragas import read_ragas, write_ragas
from assay.records.datasets import Case, Dataset, Document, Grade, Turn
from assay.records.memory import Format

SINGLE = {
    "user_input": "When does the pool open?",
    "retrieved_contexts": ["Towels are free.", "The pool opens at seven."],
    "reference_contexts": ["The pool opens at seven."],
    "response": "At eight.",
    "reference": "At seven.",
    "rubrics": {"score1_description": "Wrong time.", "score5_description": "Says seven."},
    "synthesizer_name": "single_hop",
    "persona_name": "Guest",
}
MULTI = {
    "user_input": [
        {"content": "Is there a pool?", "type": "human"},
        {"content": "Yes, on the roof.", "type": "ai", "tool_calls": None},
        {"content": "And when does it open?", "type": "human"},
        {"content": "At eight.", "type": "ai"},
    ],
    "reference": "At seven.",
}


def written(path: Path, *samples: Any) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in samples))
    return path


def test_a_sample_gives_a_case_and_documents(tmp_path: Path) -> None:
    found = read_ragas(written(tmp_path / "s.jsonl", SINGLE))
    (case,) = found.cases
    assert case.query == "When does the pool open?"
    assert case.reference_answer == "At seven."
    assert case.rubric == ("score1_description: Wrong time.", "score5_description: Says seven.")
    assert (case.category, case.tags) == ("single_hop", ("persona:Guest",))
    relevant = [found.by_id[one].text for one in case.labels]
    assert relevant == ["The pool opens at seven."]
    assert sorted(one.text for one in found.documents) == ["The pool opens at seven.", "Towels are free."]
    assert found.relevance_level == 1


def test_the_last_question_of_a_conversation_is_asked_and_the_rest_is_history(tmp_path: Path) -> None:
    (case,) = read_ragas(written(tmp_path / "s.jsonl", MULTI)).cases
    assert case.query == "And when does it open?"
    assert case.history == (
        Turn(speaker="human", text="Is there a pool?"),
        Turn(speaker="ai", text="Yes, on the roof."),
    )
    assert case.turn == 2


def test_lists_and_tables_hold_the_same_samples(tmp_path: Path) -> None:
    lines = read_ragas(written(tmp_path / "a.jsonl", SINGLE, MULTI), name="a")
    (tmp_path / "b.json").write_text(json.dumps([SINGLE, MULTI]))
    with (tmp_path / "c.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, [*SINGLE])
        table.writeheader()
        table.writerow(SINGLE)
        table.writerow(MULTI)
    for path in (tmp_path / "b.json", tmp_path / "c.csv"):
        assert load_dataset(path).cases == lines.cases
        assert load_dataset(path).documents == lines.documents


def test_ids_of_contexts_are_kept_and_need_no_text(tmp_path: Path) -> None:
    named = {"user_input": "a", "reference_contexts": ["x"], "reference_context_ids": ["d1"]}
    bare = {"user_input": "b", "reference_context_ids": ["d1", 7]}
    first, second = read_ragas(written(tmp_path / "s.jsonl", named, bare)).cases
    assert first.labels == {"d1": 1}
    assert second.labels == {"d1": 1, "7": 1}


def test_a_question_that_comes_again_is_another_case(tmp_path: Path) -> None:
    found = read_ragas(written(tmp_path / "s.jsonl", SINGLE, SINGLE, SINGLE))
    assert len({one.id for one in found.cases}) == 3


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        ({"reference": "x"}, "line 2: the sample has no 'user_input'"),
        ({"user_input": [{"type": "ai", "content": "hello"}]}, "without a message of the user"),
        ({"user_input": [{"content": "hello"}]}, "has no speaker or no text"),
        ({"user_input": "a", "reference_contexts": "x"}, "reference_contexts is a text"),
        (
            {"user_input": "a", "reference_contexts": ["x"], "reference_context_ids": ["a", "b"]},
            "1 contexts have 2 ids",
        ),
        ({"user_input": "a", "reference_contexts": ["y"], "reference_context_ids": ["d"]}, "'d' has another text"),
        ({"user_input": ""}, "query"),
        ([1], "the sample is a list"),
    ],
)
def test_what_is_no_sample_is_told_with_its_line(tmp_path: Path, sample: Any, message: str) -> None:
    first = {"user_input": "q", "reference_contexts": ["x"], "reference_context_ids": ["d"]}
    with pytest.raises(MalformedFile, match=message):
        read_ragas(written(tmp_path / "s.jsonl", first, sample))


turns = st.tuples(
    st.lists(st.builds(Turn, speaker=st.sampled_from(["human", "ai"]), text=texts), max_size=2).map(tuple)
).map(lambda one: one[0])


@st.composite
def any_dataset(draw: Any) -> Dataset:
    """Whatever samples can hold: every document is relevant to some case."""
    named = draw(st.lists(ids, min_size=1, max_size=3, unique=True))
    documents = tuple(Document(id=one, text=draw(texts), format=Format.TEXT) for one in named)
    demands = st.lists(visible, max_size=2).map(tuple)
    cases = tuple(
        Case(
            id=f"q{one}",
            query=draw(visible),
            grades=(Grade(document_id=one, grade=1),),
            history=draw(turns),
            reference_answer=draw(st.none() | texts),
            answerable=draw(st.booleans()),
            rubric=draw(demands),
            category=draw(texts),
            difficulty=draw(texts),
            tags=draw(labels),
        )
        for one in named
    )
    return Dataset(
        name="any", documents=documents, cases=cases, highest_grade=1, relevance_level=1, ranked_unit="document"
    )


@settings(max_examples=50)
@given(dataset=any_dataset())
def test_any_dataset_comes_back(tmp_path_factory: pytest.TempPathFactory, dataset: Dataset) -> None:
    path = tmp_path_factory.mktemp("ragas") / "any.jsonl"
    write_ragas(path, dataset)
    assert read_ragas(path) == dataset


OLD = {
    "question": "When does the pool open?",
    "contexts": ["Towels are free.", "The pool opens at seven."],
    "answer": "At eight.",
    "ground_truth": "At seven.",
}


@pytest.mark.parametrize("name", ["old.jsonl", "old.json", "old.csv"])
def test_samples_of_ragas_0_1_are_told_and_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name.endswith(".csv"):
        with path.open("w", newline="") as opened:
            writer = csv.DictWriter(opened, OLD.keys())
            writer.writeheader()
            writer.writerow({key: str(value) for key, value in OLD.items()})
    else:
        path.write_text(json.dumps([OLD] if name.endswith(".json") else OLD) + "\n")
    found = load_dataset(path)
    (case,) = found.cases
    assert (case.query, case.reference_answer, case.grades) == ("When does the pool open?", "At seven.", ())
    assert sorted(one.text for one in found.documents) == ["The pool opens at seven.", "Towels are free."]


def test_several_ground_truths_give_the_first_and_newer_names_count(tmp_path: Path) -> None:
    many = {"question": "When?", "ground_truths": ["At seven.", "At 7 am."]}
    none = {"question": "Where?", "ground_truths": []}
    both = {"user_input": "Who?", "question": "Whom?", "reference": "Maria.", "ground_truth": "Nobody."}
    found = read_ragas(written(tmp_path / "s.jsonl", many, none, both))
    assert [(one.query, one.reference_answer) for one in found.cases] == [
        ("When?", "At seven."),
        ("Where?", None),
        ("Who?", "Maria."),
    ]
