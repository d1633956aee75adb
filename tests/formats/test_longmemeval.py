"""LongMemEval: sessions are documents, `_abs` questions have no answer, and the list can be written again."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assay.errors import MalformedFile
from assay.evaluation.datasets import check_dataset, export_dataset, load_dataset
from assay.formats.longmemeval import read_longmemeval, write_longmemeval
from assay.records.datasets import Case, Dataset, Document, Grade

DOG = [
    {"role": "user", "content": "My dog is called Rex.\n\nassistant: not a turn", "has_answer": True},
    {"role": "assistant", "content": "What a good name!"},
]
FLOWERS = [{"role": "user", "content": "I like tulips."}, {"role": "assistant", "content": "So do I."}]


def question(ident: str = "q1", **more: Any) -> dict[str, Any]:
    return {
        "question_id": ident,
        "question_type": "single-session-user",
        "question": "What is my dog called?",
        "answer": "Rex",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00"],
        "haystack_session_ids": ["answer_1", "flowers"],
        "haystack_sessions": [DOG, FLOWERS],
        "answer_session_ids": ["answer_1"],
        **more,
    }


def written(path: Path, *questions: Any) -> Path:
    path.write_text(json.dumps(questions))
    return path


def test_sessions_are_documents_and_those_with_the_answer_are_relevant(tmp_path: Path) -> None:
    found = read_longmemeval(written(tmp_path / "lme.json", question()))
    (case,) = found.cases
    assert case.labels == {"answer_1": 1}
    assert case.category == "single-session-user"
    assert case.asked_at == datetime(2023, 5, 30, 23, 40, tzinfo=UTC)
    assert found.by_id["flowers"].text == "user: I like tulips.\n\nassistant: So do I."
    assert found.by_id["flowers"].dated == datetime(2023, 5, 21, 10, tzinfo=UTC)
    assert not [one for one in check_dataset(found) if one.severity == "error"]


def test_a_question_to_abstain_from_is_unanswerable(tmp_path: Path) -> None:
    asked = question("q2_abs", question="What is my cat called?", answer="There is no cat.")
    (case,) = read_longmemeval(written(tmp_path / "lme.json", asked)).cases
    assert not case.answerable
    assert case.labels == {"answer_1": 0}
    assert case.tags == ("abstention",)


def test_a_shared_session_is_kept_once_and_one_with_other_words_beside_it(tmp_path: Path) -> None:
    other = question("q3", haystack_sessions=[DOG, [{"role": "user", "content": "I like roses."}]])
    found = read_longmemeval(written(tmp_path / "lme.json", question(), question("q2"), other))
    assert [one.id for one in found.documents] == ["answer_1", "flowers", "flowers@q3"]
    assert found.by_id["answer_1"].metadata["questions"] == ["q1", "q2", "q3"]


def test_the_list_is_written_as_it_was_read(tmp_path: Path) -> None:
    other = question("q3_abs", haystack_sessions=[DOG, [{"role": "user", "content": "I like roses."}]], answer=None)
    path = written(tmp_path / "lme.json", question(), other)
    place = export_dataset(load_dataset(path), tmp_path / "out", kind="longmemeval")
    assert json.loads(place.read_text()) == [question(), other]
    assert load_dataset(place).content_hash == load_dataset(path).content_hash
    assert load_dataset(tmp_path / "out").cases == load_dataset(path).cases


def test_any_documents_can_be_somebodys_sessions(tmp_path: Path) -> None:
    dataset = Dataset(
        name="x",
        documents=(Document(id="a", text="An apple."), Document(id="b", text="A pear.")),
        cases=(
            Case(id="q1", query="fruit?", grades=(Grade(document_id="b", grade=3),)),
            Case(id="q2", query="fish?", answerable=False),
        ),
    )
    write_longmemeval(tmp_path / "x.json", dataset)
    found = load_dataset(tmp_path / "x.json")
    assert [one.labels for one in found.cases] == [{"b": 1}, {}]
    assert [one.answerable for one in found.cases] == [True, False]
    assert [one.id for one in found.cases] == ["q1", "q2_abs"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"haystack_session_ids": ["a"]}, "2 sessions, 1 ids and 2 dates"),
        ({"answer_session_ids": ["gone"]}, "no session 'gone'"),
        ({"haystack_sessions": [DOG, [{"role": "user"}]]}, "no role or no content"),
        ({"haystack_sessions": [DOG, "x"]}, "session 'flowers' is a text"),
        ({"haystack_dates": ["yesterday", ""]}, "'yesterday' is not a date"),
        ({"question": None}, "query"),
    ],
)
def test_what_is_no_question_is_told_with_its_line(tmp_path: Path, more: dict[str, Any], message: str) -> None:
    with pytest.raises(MalformedFile, match=message):
        read_longmemeval(written(tmp_path / "lme.json", question(**more)))


def test_a_question_given_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MalformedFile, match="'q1' was given before"):
        read_longmemeval(written(tmp_path / "lme.json", question(), question()))
