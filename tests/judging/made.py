"""Judges and cases for tests: small, scripted, and without a model."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from assay.judging.injection import InjectionGuard
from assay.judging.model_judge import JudgeOptions, LlmJudge
from assay.judging.rubric import load_rubric
from assay.models.chat import ChatModel, ChatRequest
from assay.records.judging import JudgeInput, RubricKind
from assay.testing import ScriptedModel

GUARD = InjectionGuard(b"a secret of the tests")


def verdict(score: int, **more: Any) -> dict[str, Any]:
    """What a groundedness judge replies."""
    return {"supported_claims": ["a"], "unsupported_claims": [], "reason": "because", "score": score, **more}


def case(answer: str = "Twelve hours [1].", kind: RubricKind = RubricKind.GROUNDEDNESS, **more: Any) -> JudgeInput:
    """A case with something to judge."""
    filled: dict[str, Any] = {
        "question": "How long does the cookie live?",
        "passages": ("The session cookie lives for twelve hours.", "Deploys go out before noon."),
    }
    return JudgeInput(kind=kind, answer=answer, **{**filled, **more})


def judge_of(model: ChatModel, kind: RubricKind = RubricKind.GROUNDEDNESS, **options: Any) -> LlmJudge:
    """A judge that asks this model."""
    return LlmJudge(model, load_rubric(kind.value), guard=GUARD, options=JudgeOptions(**options))


def reading_answers(score: Callable[[str], int], *, name: str = "reader") -> ScriptedModel:
    """A model that scores the answer it is shown by a function of its text, deaf to everything else."""

    def says(request: ChatRequest) -> dict[str, Any]:
        shown = re.search(r"<<<ANSWER \w+>>>\n(.*?)\n<<<END ANSWER", request.messages[1].content, re.DOTALL)
        assert shown is not None
        return verdict(score(shown[1]))

    return ScriptedModel(says, name=name)
