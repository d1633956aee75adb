"""When an answer declines, and when passages answer a question."""

from __future__ import annotations

import pytest

from assay.judging.builtin.judges import BuiltinAbstention, answerable, read_abstention
from assay.judging.builtin.support import Evidence
from assay.judging.protocol import AbstentionJudge
from assay.records.judging import VerdictOutcome
from assay.research.synthesiser import NOT_ANSWERED, NOTHING_FOUND

NOTES = ("Backups run every night at 02:00. They are kept for 30 days and then deleted.",)


@pytest.mark.parametrize(
    "answer",
    [
        "I don't know.",
        "I do not have that information at the moment.",
        "Sorry, I could not find an answer to this.",
        "The provided documents do not mention the rent.",
        "There is not enough information to answer the question.",
        "This cannot be determined from the passages.",
        "The date is not specified.",
        "N/A",
        NOTHING_FOUND,
        NOT_ANSWERED,
        "I don't know. Please ask the office.",
    ],
)
def test_declining_is_read(answer: str) -> None:
    assert read_abstention(answer).abstained


@pytest.mark.parametrize(
    "answer",
    [
        "Backups are kept for 30 days.",
        "No, the lease does not allow pets.",
        "The gateway cannot accept files over 40 MB.",
        "He did not find the treasure and went home.",
        "I do not have exact figures. However, rents rose by 5 % in 2023. Wages fell at the same time.",
        "Rents rose by 5 %. Wages fell. The documents do not mention prices.",
    ],
)
def test_an_answer_is_not_taken_for_declining(answer: str) -> None:
    assert not read_abstention(answer).abstained


def test_the_judge_skips_an_empty_answer_and_names_the_words_that_decline() -> None:
    judge: AbstentionJudge = BuiltinAbstention()
    assert judge.judge("q", " ").outcome is VerdictOutcome.SKIPPED
    found = judge.judge("q", "Sorry, I don't know that.")
    assert (found.abstained, judge.kind) == (True, "builtin")
    assert "don't know" in found.reason


def test_passages_that_answer_are_likelier_than_passages_that_do_not() -> None:
    evidence = Evidence(NOTES)
    right = answerable("How long are backups kept?", evidence).probability
    wrong = answerable("Who designed the company logo in 1987?", evidence).probability
    assert right > 0.5 > wrong


def test_no_passage_answers_nothing() -> None:
    assert answerable("How long?", Evidence([])).probability == 0.0
