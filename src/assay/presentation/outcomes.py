"""How surfaces show what became of a question: its words, its colours, and its notices.

This is the one place that chooses a colour for the result of a question. Pages use the colour as a CSS class, the
command line as a style, and scripts get it with the page; none of them compares a score with a threshold.

- Green is for a question that was answered and passed, and for its parts. Nothing of a question that did not pass is
  green: a part that passed there is blue.
- Red is for what failed: a wrong refusal, an answer without evidence, a checkpoint or dimension below its threshold.
- Amber is for a refusal with nothing found, and for what could not be evaluated.
- Grey is for what was not measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from assay.records.judging import CheckpointState
from assay.records.research_log import NoticeKind, QuestionOutcome, ResearchStatus

if TYPE_CHECKING:
    from assay.records.alerts import RateAlert
    from assay.records.research_log import ResearchSession


class Tone(StrEnum):
    """A colour, as the class of the style sheet that gives it."""

    GREEN = "is-pass"
    AMBER = "is-warn"
    RED = "is-fail"
    BLUE = "is-info"
    GREY = ""


TERMINAL_STYLES: Mapping[Tone, str] = {
    Tone.GREEN: "green",
    Tone.AMBER: "yellow",
    Tone.RED: "red",
    Tone.BLUE: "blue",
    Tone.GREY: "dim",
}
"""The style of each colour at a terminal."""
OUTCOME_TONES: Mapping[QuestionOutcome, Tone] = {
    QuestionOutcome.ANSWERED: Tone.BLUE,
    QuestionOutcome.REFUSED: Tone.AMBER,
    QuestionOutcome.REFUSED_DESPITE_EVIDENCE: Tone.RED,
    QuestionOutcome.ANSWERED_WITHOUT_EVIDENCE: Tone.RED,
    QuestionOutcome.FAILED: Tone.RED,
}
"""The colour of a number of questions with an outcome. Answered is blue: whether they passed is another number."""
OUTCOME_TITLES: Mapping[QuestionOutcome, str] = {
    QuestionOutcome.ANSWERED: "Answered",
    QuestionOutcome.REFUSED: "Refused",
    QuestionOutcome.REFUSED_DESPITE_EVIDENCE: "Refused although a passage is there",
    QuestionOutcome.ANSWERED_WITHOUT_EVIDENCE: "Answered without evidence",
    QuestionOutcome.FAILED: "Failed",
}
"""The outcome as the title of a number."""
OUTCOME_COLOURS: Mapping[QuestionOutcome, str] = {
    QuestionOutcome.ANSWERED: "accent",
    QuestionOutcome.REFUSED: "amber",
    QuestionOutcome.REFUSED_DESPITE_EVIDENCE: "fail",
    QuestionOutcome.ANSWERED_WITHOUT_EVIDENCE: "plum",
    QuestionOutcome.FAILED: "ink",
}
"""The colour of the style sheet in which a chart draws an outcome; no two are alike."""
_LOST = {CheckpointState.SKIPPED.value, CheckpointState.JUDGE_FAILED.value}
_REFUSED_OR_WORSE: Mapping[QuestionOutcome, str] = {
    QuestionOutcome.REFUSED: "Nothing that was found seems to answer the question.",
    QuestionOutcome.REFUSED_DESPITE_EVIDENCE: (
        "A passage seems to hold the answer{}. Read the passages, or ask in other words."
    ),
    QuestionOutcome.ANSWERED_WITHOUT_EVIDENCE: (
        "Nothing that was found seems to hold the answer{}. Check it before you rely on it."
    ),
}
_OF_STATUS = {
    ResearchStatus.FAILED: "The search failed, so there is no answer.",
    ResearchStatus.WITHHELD: "A checkpoint that is set to block did not pass, so the answer is withheld.",
}
_ANSWERED = {
    True: "Every checkpoint passed.",
    False: "A checkpoint did not pass. Check the answer before you rely on it.",
    None: "Not every step was evaluated.",
}
_PASSED_WORDS = {True: "passed", False: "not passed", None: "not judged"}


def question_tone(session: ResearchSession) -> Tone:
    """Return the colour of a question's result and of its overall score, whatever the number is."""
    if session.outcome is not None and session.outcome is not QuestionOutcome.ANSWERED:
        return OUTCOME_TONES[session.outcome]
    if session.status is not ResearchStatus.ANSWERED:
        # Written by an earlier version, which counted a refusal as passed.
        return Tone.AMBER if session.status is ResearchStatus.ABSTAINED else Tone.RED
    return {True: Tone.GREEN, False: Tone.RED, None: Tone.GREY}[session.passed]


def question_words(session: ResearchSession) -> str:
    """Return the outcome of a question in a few words."""
    if session.outcome is None:
        return f"{session.status.value}, {_PASSED_WORDS[session.passed]}"
    if session.outcome is QuestionOutcome.ANSWERED:
        return f"answered, {_PASSED_WORDS[session.passed]}"
    if session.status is ResearchStatus.WITHHELD:
        return "failed, withheld"
    return session.outcome.value.replace("_", " ")


def describe_question(session: ResearchSession, evidence: float | None = None) -> str:
    """Return the outcome of a question as a sentence, and what to do about it."""
    if session.status in _OF_STATUS:
        return _OF_STATUS[session.status]
    if session.outcome is not None and session.outcome in _REFUSED_OR_WORSE:
        chance = "" if evidence is None else f" (chance {evidence:.2f})"
        return _REFUSED_OR_WORSE[session.outcome].format(chance)
    if session.status is ResearchStatus.ABSTAINED:
        return "An earlier version of Assay did not record whether a passage was there."
    return _ANSWERED[session.passed]


def checkpoint_tone(state: str, passed: bool | None, session: ResearchSession) -> Tone:
    """Return the colour of one checkpoint of a question."""
    if passed is not None:
        return part_tone(session) if passed else Tone.RED
    return Tone.AMBER if state in _LOST else Tone.GREY


def dimension_tone(score: float | None, session: ResearchSession, *, failed: bool) -> Tone:
    """Return the colour of one dimension's score; `failed`: it was below its bar when it was scored."""
    if score is None:
        return Tone.GREY
    return Tone.RED if failed else part_tone(session)


def part_tone(session: ResearchSession) -> Tone:
    """Return the colour of a part that passed: green only where the whole question passed."""
    return Tone.GREEN if question_tone(session) is Tone.GREEN else Tone.BLUE


def mean_tone(mean: float | None, threshold: float) -> Tone:
    """Return the colour of a mean over many questions. It is never green: a mean does not pass."""
    if mean is None:
        return Tone.GREY
    return Tone.RED if mean < threshold else Tone.BLUE


def alert_tone(alert: RateAlert) -> Tone:
    """Return the colour of a rate that changed."""
    return Tone.RED if alert.is_worse else Tone.BLUE


LIVE_TONES: Mapping[str, Tone] = {
    "passed": Tone.BLUE,
    "failed": Tone.RED,
    "working": Tone.BLUE,
    "skipped": Tone.AMBER,
    "done": Tone.GREY,
}
"""Colours while a question is being answered; nothing is green before the whole question has passed."""
_NOTICES: Mapping[NoticeKind, tuple[str, Tone]] = {
    NoticeKind.SKIPPED: ("Evaluation skipped", Tone.AMBER),
    NoticeKind.JUDGE_FAILED: ("Scores could not be read", Tone.AMBER),
    NoticeKind.SEVERE: ("Retrieval quality warning", Tone.AMBER),
    NoticeKind.NOT_PASSED: ("Not passed", Tone.AMBER),
    NoticeKind.ANSWER_FAILED: ("The answer did not pass", Tone.RED),
    NoticeKind.DISAGREEMENT: ("Evaluators disagree", Tone.AMBER),
    NoticeKind.WITHHELD: ("Answer withheld", Tone.RED),
    NoticeKind.FALLBACK: ("Rules took over", Tone.GREY),
    NoticeKind.SEARCH: ("Search problem", Tone.AMBER),
    NoticeKind.NOT_KEPT: ("Not kept", Tone.RED),
}


def notice_title(kind: str) -> str:
    """Return the title of a notice."""
    return _NOTICES[NoticeKind(kind)][0] if kind in _NOTICES else kind.replace("_", " ")


def notice_tone(kind: str) -> Tone:
    """Return the colour of a notice."""
    return _NOTICES[NoticeKind(kind)][1] if kind in _NOTICES else Tone.GREY
