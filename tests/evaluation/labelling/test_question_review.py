"""The review of proposed questions: what stands after decisions of several people, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.evaluation.labelling.proposed import proposed_dataset

from assay.errors import BadValue, RecordNotFound
from assay.evaluation.labelling import LabelJournal, Pressed, apply_labels, rewordings, standing
from assay.evaluation.question_review import UNREAD, list_proposals, review_question
from assay.records.datasets import ReviewDecision, ReviewState
from assay.testing import FixedClock

DATASET = proposed_dataset()
KEEP, DROP, UNDO = ReviewDecision.KEEP, ReviewDecision.DROP, ReviewDecision.UNDO


@pytest.fixture
def journal(tmp_path: Path) -> LabelJournal:
    return LabelJournal(tmp_path / "labels.jsonl", clock=FixedClock())


def states(journal: LabelJournal) -> list[str]:
    return [question.state.value for question in list_proposals(DATASET, journal.labels(), "ada").questions]


def test_decisions_become_the_dataset(journal: LabelJournal) -> None:
    review_question(DATASET, journal, "ada", "g1", KEEP, wording="  How long is\na badge good for? ")
    review_question(DATASET, journal, "bo", "g2", DROP)
    found = list_proposals(DATASET, journal.labels(), "ada")
    assert (found.kept, found.dropped, found.left, found.last) == (1, 1, 1, "g1")
    first = found.questions[0]
    assert (first.question, first.proposed) == ("How long is a badge good for?", "How long is a badge valid?")
    assert (first.rel_path, first.heading_path, first.quotes) == ("badges.md", "Badges", ("It is valid for a year.",))
    assert [question.reviewed_by for question in found.questions] == ["ada", "bo", ""]
    applied = apply_labels(DATASET, standing(journal.labels()), rewordings(journal.labels()))
    assert [(case.id, case.query) for case in applied.dataset.cases] == [
        ("g1", "How long is a badge good for?"),
        ("g3", "Who has a key?"),
        ("own", "Written by a person?"),
    ]


def test_the_last_decision_stands_and_ones_own_is_undone(journal: LabelJournal) -> None:
    review_question(DATASET, journal, "ada", "g1", DROP)
    review_question(DATASET, journal, "bo", "g1", KEEP)
    assert states(journal)[0] == "kept"
    review_question(DATASET, journal, "bo", "g1", UNDO)
    assert states(journal)[0] == "dropped"
    review_question(DATASET, journal, "ada", "g1", KEEP)
    review_question(DATASET, journal, "ada", "g1", UNDO)
    assert states(journal)[0] == "dropped", "an earlier decision of the same person stands again"
    review_question(DATASET, journal, "ada", "g1", UNDO)
    assert states(journal)[0] == "open"


def test_the_first_words_take_a_wording_back(journal: LabelJournal) -> None:
    review_question(DATASET, journal, "ada", "g1", KEEP, wording="Other words?")
    review_question(DATASET, journal, "ada", "g1", KEEP)
    assert rewordings(journal.labels()) == {"g1": "Other words?"}
    review_question(DATASET, journal, "ada", "g1", KEEP, wording=DATASET.cases[0].query)
    assert rewordings(journal.labels()) == {}


def test_what_was_kept_unread_gives_way_to_a_person(journal: LabelJournal) -> None:
    journal.add(("g1", "badges.md"), UNREAD, Pressed.GRADE, 3)
    assert states(journal) == ["kept unread", "open", "open"]
    review_question(DATASET, journal, "ada", "g1", DROP)
    journal.add(("g1", "badges.md"), UNREAD, Pressed.GRADE, 3)
    assert list_proposals(DATASET, journal.labels(), "ada").questions[0].state is ReviewState.DROPPED


def test_what_cannot_be_decided_is_refused_with_the_remedy(journal: LabelJournal) -> None:
    for case in ("own", "none"):
        with pytest.raises(RecordNotFound, match=f"no proposed question '{case}'"):
            review_question(DATASET, journal, "ada", case, KEEP)
    for decision, wording in ((DROP, "x"), (UNDO, "x"), (KEEP, " "), (UNDO, None)):
        with pytest.raises(BadValue):
            review_question(DATASET, journal, "ada", "g1", decision, wording=wording)
    assert journal.labels() == []
