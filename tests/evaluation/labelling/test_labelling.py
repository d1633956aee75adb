"""Labelling: every key is kept at once, undone by one key, and gone on with later."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import MalformedFile, NothingMeasured
from assay.evaluation.datasets.checks import ACCEPTED, GENERATED
from assay.evaluation.labelling import (
    LabelJournal,
    LabelSession,
    Pressed,
    Task,
    agreement,
    apply_labels,
    read_tasks,
    rewordings,
    standing,
    tasks_of,
    write_tasks,
)
from assay.records.answers import GoldAnchors, GoldSupport
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.evidence import JudgmentSource
from assay.testing import FixedClock

TASKS = [Task(case_id="q1", query="pool?", document_id=f"d{place}", text=f"text {place}") for place in range(4)]


def journal(folder: Path) -> LabelJournal:
    return LabelJournal(folder / "labels.jsonl", clock=FixedClock())


def pressing(folder: Path, keys: str, annotator: str = "ada") -> LabelSession:
    session = LabelSession(TASKS, journal(folder), annotator)
    for key in keys:
        session.press(key)
    return session


def grades(folder: Path, annotator: str = "ada") -> dict[str, int | None]:
    return {document: one.grade for (_, document), one in standing(journal(folder).labels())[annotator].items()}


def test_keys_grade_skip_and_undo(tmp_path: Path) -> None:
    session = pressing(tmp_path, "3x2us0")
    assert grades(tmp_path) == {"d0": 3, "d1": None, "d2": 0}
    assert session.current == TASKS[3]
    assert (session.done, session.total) == (3, 4)


def test_every_key_is_a_line_on_the_disk_before_the_next(tmp_path: Path) -> None:
    session = LabelSession(TASKS, journal(tmp_path), "ada")
    for number, key in enumerate("30u1", start=1):
        session.press(key)
        assert len((tmp_path / "labels.jsonl").read_text(encoding="utf-8").splitlines()) == number


def test_a_session_goes_on_where_the_last_one_stopped_and_can_undo_it(tmp_path: Path) -> None:
    pressing(tmp_path, "32q1")
    again = LabelSession(TASKS, journal(tmp_path), "ada")
    assert again.current == TASKS[2]
    again.press("u")
    assert again.current == TASKS[1]
    assert grades(tmp_path) == {"d0": 3}
    other = LabelSession(TASKS, journal(tmp_path), "bo")
    assert other.current == TASKS[0]
    assert other.press("u") == "nothing to undo"


def test_pairs_are_answered_in_any_order_and_once(tmp_path: Path) -> None:
    session = LabelSession(TASKS, journal(tmp_path), "ada")
    assert [task.document_id for task in session.upcoming(2)] == ["d0", "d1"]
    said = [session.press_on(key, ("q1", name)) for key, name in (("3", "d2"), ("1", "d2"), ("s", "d0"), ("2", "d9"))]
    assert said == ["3: the answer", "", "skipped", ""]
    assert grades(tmp_path) == {"d2": 3, "d0": None}
    assert [task.document_id for task in session.upcoming(9)] == ["d1", "d3"]
    assert session.press_on("u", ("", "")) == "undone"
    assert grades(tmp_path) == {"d2": 3}


def test_undoing_takes_back_the_label_of_its_own_pair(tmp_path: Path) -> None:
    session = pressing(tmp_path, "3")
    journal(tmp_path).add(("q1", "elsewhere"), "ada", Pressed.GRADE, 2)
    assert session.press("u") == "undone"
    assert grades(tmp_path) == {"elsewhere": 2}


def test_when_all_is_done_keys_do_nothing_more(tmp_path: Path) -> None:
    session = pressing(tmp_path, "01233")
    assert session.current is None
    assert grades(tmp_path) == {"d0": 0, "d1": 1, "d2": 2, "d3": 3}
    session.press("u")
    assert session.current == TASKS[3]


@given(st.text("0123suq", max_size=25), st.integers(0, 25))
def test_stopping_anywhere_and_going_on_ends_where_one_session_would(
    tmp_path_factory: pytest.TempPathFactory, keys: str, cut: int
) -> None:
    whole, parts = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("parts")
    keys = keys.replace("q", "")
    pressing(whole, keys)
    for some in (keys[:cut], keys[cut:]):
        pressing(parts, some)
    assert standing(journal(whole).labels()) == standing(journal(parts).labels())


def test_a_torn_line_is_passed_over_and_swallows_nothing(tmp_path: Path) -> None:
    pressing(tmp_path, "3")
    with (tmp_path / "labels.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"case": "q1", "docu')
    pressing(tmp_path, "2")
    assert grades(tmp_path) == {"d0": 3, "d1": 2}


@pytest.mark.parametrize("line", ['{"case": "q"}', '{"case": "q", "document": "d", "annotator": "a", "at": "x"}', "[]"])
def test_a_line_that_is_no_label_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "labels.jsonl").write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(MalformedFile, match=r"line 1 is not a label"):
        journal(tmp_path).labels()


def test_two_people_who_disagree_are_told_where(tmp_path: Path) -> None:
    pressing(tmp_path, "3020", "ada")
    pressing(tmp_path, "302s", "bo")
    pressing(tmp_path, "uu3s", "bo")
    found = agreement(standing(journal(tmp_path).labels()), rng=np.random.default_rng(0))
    assert found.annotators == {"ada": 4, "bo": 3}
    (pair,) = found.pairwise
    assert (pair.first, pair.second, pair.pairs, pair.same) == ("ada", "bo", 3, 2)
    assert pair.kappa.value is not None
    assert pair.kappa.value < 1.0
    assert [(one.document_id, one.grades) for one in found.disagreements] == [("d2", {"ada": 2, "bo": 3})]


def test_one_person_alone_agrees_with_nobody(tmp_path: Path) -> None:
    pressing(tmp_path, "30")
    with pytest.raises(NothingMeasured, match="graded by two people"):
        agreement(standing(journal(tmp_path).labels()), rng=np.random.default_rng(0))


def case(ident: str, **more: object) -> Case:
    return Case(id=ident, query=f"question {ident}", **more)  # type: ignore[arg-type] # one shape for all


def test_labels_become_grades_of_their_own(tmp_path: Path) -> None:
    weak = Grade(document_id="d1", grade=2, source=JudgmentSource.IMPLICIT, confidence=0.5)
    documents = tuple(Document(id=f"d{place}", text="words") for place in range(4))
    dataset = Dataset(name="use", documents=documents, cases=(case("q1", grades=(weak,)), case("q9")))
    pressing(tmp_path, "30s1", "ada")
    pressing(tmp_path, "2", "bo")
    found = apply_labels(dataset, standing(journal(tmp_path).labels()))
    assert found.grades == 4
    labelled = found.dataset.cases[0]
    assert labelled.labels == {"d1": 0, "d0": 3, "d3": 1}
    assert weak in labelled.grades
    assert {one.annotator for one in labelled.grades} == {"", "ada", "bo"}
    assert found.dataset.cases[1] == dataset.cases[1]


def test_a_person_overrules_a_grade_that_nobody_signed_and_no_other(tmp_path: Path) -> None:
    signed = Grade(document_id="d1", grade=3, annotator="cy")
    old = (Grade(document_id="d0", grade=3), signed, Grade(document_id="d2", grade=2))
    documents = tuple(Document(id=f"d{place}", text="words") for place in range(4))
    dataset = Dataset(name="use", documents=documents, cases=(case("q1", grades=old),))
    pressing(tmp_path, "00")
    labelled = apply_labels(dataset, standing(journal(tmp_path).labels())).dataset.cases[0]
    assert labelled.labels == {"d0": 0, "d1": 3, "d2": 2}
    assert signed in labelled.grades


def test_a_generated_case_counts_once_somebody_agreed_and_goes_when_nobody_did(tmp_path: Path) -> None:
    anchored = [
        case(
            ident,
            tags=(GENERATED,),
            anchors=GoldAnchors(
                supports=(GoldSupport(rel_path="a.md", heading_path="A > B", snippets=("It is so.",)),)
            ),
        )
        for ident in ("g1", "g2", "g3")
    ]
    note = Document(id="a.md", rel_path="a.md", text="# A\n\n## B\n\nIt is so.\n\n## C\n\nOther words.\n")
    dataset = Dataset(name="made", documents=(note,), cases=tuple(anchored))
    tasks = tasks_of(dataset)
    assert "It is so." in tasks[0].text
    assert "Other words" not in tasks[0].text
    session = LabelSession(tasks, journal(tmp_path), "ada")
    for key in "31q":
        session.press(key)
    found = apply_labels(dataset, standing(journal(tmp_path).labels()))
    assert (found.accepted, found.rejected) == (1, 1)
    assert [(one.id, one.tags) for one in found.dataset.cases] == [("g1", (GENERATED, ACCEPTED)), ("g3", (GENERATED,))]


def test_labels_of_cases_that_are_gone_are_counted(tmp_path: Path) -> None:
    pressing(tmp_path, "3")
    found = apply_labels(Dataset(name="d", documents=(), cases=(case("q5"),)), standing(journal(tmp_path).labels()))
    assert found.strangers == 1


def test_tasks_survive_their_file_and_an_empty_one_is_told(tmp_path: Path) -> None:
    path = tmp_path / "to_label.jsonl"
    write_tasks(path, TASKS)
    assert read_tasks(path) == TASKS
    path.write_text("", encoding="utf-8")
    with pytest.raises(NothingMeasured, match="nothing to label"):
        read_tasks(path)
    with pytest.raises(NothingMeasured, match="no document that could be labelled"):
        tasks_of(Dataset(name="d", documents=(), cases=(case("q"),)))


def test_a_question_is_asked_in_other_words_from_then_on_and_grades_stay(tmp_path: Path) -> None:
    session = pressing(tmp_path, "3")
    assert session.reword("  When does the pool\n open? ") == "reworded: When does the pool open?"
    assert session.done == 1
    assert session.current is not None
    assert session.current.query == "When does the pool open?"
    again = pressing(tmp_path, "", annotator="eve")
    assert {task.query for task in again.upcoming(9)} == {"When does the pool open?"}
    assert grades(tmp_path) == {"d0": 3}
    assert rewordings(journal(tmp_path).labels()) == {"q1": "When does the pool open?"}
    assert again.reword("") == "first wording"
    assert again.current == TASKS[0]
    assert rewordings(journal(tmp_path).labels()) == {}


def test_only_a_rewording_has_a_wording(tmp_path: Path) -> None:
    line = '{"case": "q1", "document": "d0", "annotator": "ada", "at": "2026-01-01T00:00:00+00:00", '
    (tmp_path / "labels.jsonl").write_text(line + '"grade": 3, "reword": "Other?"}\n', encoding="utf-8")
    with pytest.raises(MalformedFile, match="with the wording 'Other"):
        journal(tmp_path).labels()


def test_applied_labels_have_the_last_wording(tmp_path: Path) -> None:
    dataset = Dataset(name="d", documents=(), cases=(Case(id="q1", query="pool?", grades=()),))
    pressing(tmp_path, "3").reword("When does the pool open?")
    found = apply_labels(dataset, standing(journal(tmp_path).labels()), rewordings(journal(tmp_path).labels()))
    assert [case.query for case in found.dataset.cases] == ["When does the pool open?"]
    assert (found.reworded, found.grades) == (1, 1)
