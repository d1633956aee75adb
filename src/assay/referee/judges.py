"""Judges of the answers layer. Named, pinned and stored; a judge sees question, key and answer, and nothing else.

- `choice`: the letter of the key, exactly.
- `overlap`: the share of the key's words that the answer has; one line, no model.
- any judge of `assay judge` that judges correctness, with a model or without: `RegisteredJudge`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from assay.hashing import content_hash
from assay.judging.labels import GOOD_FROM
from assay.judging.protocol import Judging
from assay.records.judging import CorrectnessVerdict, JudgeInput, RubricKind
from assay.text.terms import stems

OVERLAP = 0.8
"""From this share of the key's words on, an answer counts as right for the judge `overlap`."""


class AnswerJudge(Protocol):
    """Decides whether an answer is right."""

    name: str

    @property
    def prompt_hash(self) -> str:
        """Everything that moves its verdicts."""
        ...

    @property
    def repeatable(self) -> bool:
        """Whether the same input always gives the same verdict, so that `bench verify` can ask again."""
        ...

    def judge(self, question: str, key: str, answer: str) -> bool | None:
        """Judge one answer; None: it cannot be decided."""
        ...


class RuleJudge:
    """A judge that is a rule."""

    repeatable = True

    def __init__(self, name: str, rule: Callable[[str, str, str], bool | None]) -> None:
        self.name = name
        self._rule = rule

    @property
    def prompt_hash(self) -> str:
        """Return the rule's name and version."""
        return content_hash([self.name, 1, OVERLAP if self.name == "overlap" else None])

    def judge(self, question: str, key: str, answer: str) -> bool | None:
        """Apply the rule."""
        return self._rule(question, key, answer)


def _judge_choice(_: str, key: str, answer: str) -> bool:
    return answer.strip().casefold() == key.strip().casefold()


def _judge_overlap(_: str, key: str, answer: str) -> bool | None:
    wanted = set(stems(key))
    if not wanted:
        return None
    return len(wanted.intersection(stems(answer))) / len(wanted) >= OVERLAP


class RegisteredJudge:
    """A judge of correctness that `assay judge` knows."""

    def __init__(self, name: str, judging: Judging) -> None:
        self.name = name
        self._judging = judging
        self._fingerprint = judging.fingerprint()

    @property
    def prompt_hash(self) -> str:
        """Return the id of its fingerprint: rubric, prompt, parser, model."""
        return self._fingerprint.id

    @property
    def repeatable(self) -> bool:
        """Return whether it uses no model."""
        return self._fingerprint.judge_kind == "builtin"

    def judge(self, question: str, key: str, answer: str) -> bool | None:
        """Ask it; an answer is right from the score on that counts as good everywhere."""
        given = JudgeInput(kind=RubricKind.CORRECTNESS, question=question, answer=answer, reference=key)
        verdict = self._judging.judge_case(given).verdict
        score = verdict.score if isinstance(verdict, CorrectnessVerdict) else None
        return None if score is None else score >= GOOD_FROM


RULE_JUDGES = {
    "choice": RuleJudge("choice", _judge_choice),
    "overlap": RuleJudge("overlap", _judge_overlap),
}
"""The judges that need nothing; `bench verify` asks them again."""
