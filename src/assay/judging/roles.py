"""Roles that ask a model: the role's prompt, the material between marked lines, and scores in a strict shape.

Every failure of the model is an outcome: unreadable scores are not a score of 0, and neither is a server that is down.
Without a model the panel is one built-in check; `builtin_members` makes it a member.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.embedding.protocol import Embedder
from assay.errors import ModelError
from assay.judging.builtin.evaluators import builtin_checks
from assay.judging.injection import InjectionGuard, dimension_lines, render_material, score_properties
from assay.judging.panel import EvaluatorMember, PanelMember, tokens_of
from assay.judging.prompts import Prompt
from assay.judging.rubric import find_errors
from assay.models.chat import ChatModel, ChatRequest, Message, storable
from assay.models.structured import UnreadableReply, ask_structured, last_object
from assay.records.judging import JudgeKind, RoleOutcome, RoleResult
from assay.records.research import DIMENSIONS, Checkpoint, Issue, Material, Role, roles_at

MAX_TOKENS = 1_024
MOST_ISSUES = 8
LONGEST = 1_000
"""Characters of one text of a role that are kept."""
_REPLY = (
    "Reply with one JSON object and nothing else:\n"
    '{"critique": "what is right and what is wrong, in one or two sentences",\n'
    ' "issues": [{"issue": "...", "fix": "..."}],\n'
    ' "confidence": how sure you are of your scores: 1.0 certain, 0.5 unsure, 0.0 a guess,\n'
    ' "scores": {a number for each dimension: 1.0 nothing is wrong, 0.5 half of it, 0.0 all of it is wrong}}\n'
    '"issues" is [] where nothing is wrong.'
)


class ModelRole:
    """One role at one checkpoint, played by a model."""

    kind: JudgeKind = "model"

    def __init__(
        self,
        role: str,
        dimensions: tuple[str, ...],
        model: ChatModel,
        prompt: Prompt,
        *,
        guard: InjectionGuard,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        self.role = role
        self._dimensions = dimensions
        self._model = model
        self._prompt = prompt
        self._guard = guard
        self._max_tokens = max_tokens
        self._schema = _schema(dimensions)

    @property
    def name(self) -> str:
        """The model and its prompt."""
        return f"{self._model.name} ({self._prompt.key})"

    def examine(self, material: Material, deadline_s: float) -> RoleResult:
        """Ask, and read what came back."""
        shown = render_material(material, self._guard)
        about: dict[str, Any] = {
            "role": self.role,
            "evaluator": self._model.name,
            "kind": self.kind,
            "flags": shown.flags,
            "prompt": self._prompt.key,
        }
        try:
            found = ask_structured(self._model, self._request(shown.text, deadline_s), self._read)
        except ModelError as problem:
            return RoleResult(outcome=RoleOutcome.UNAVAILABLE, reason=problem.message[:LONGEST], **about)
        about |= {
            "raw": found.raw,
            "latency_ms": sum(reply.latency_ms for reply in found.replies),
            "tokens": tokens_of([reply.tokens for reply in found.replies]),
        }
        if found.value is None:
            return RoleResult(outcome=RoleOutcome.UNREADABLE, reason=found.problem[:LONGEST], **about)
        return RoleResult(**about, **found.value)

    def _request(self, shown: str, deadline_s: float) -> ChatRequest:
        asked = "\n\n".join([shown, self._prompt.task, dimension_lines(self._dimensions), _REPLY])
        return ChatRequest(
            messages=(Message(role="system", content=self._prompt.system), Message(role="user", content=asked)),
            schema=self._schema,
            schema_name="scores",
            max_tokens=self._max_tokens,
            deadline_s=deadline_s,
        )

    def _read(self, text: str) -> dict[str, Any]:
        return last_object(text, self._fits)

    def _fits(self, found: dict[str, Any]) -> dict[str, Any]:
        problem = next(find_errors(found, self._schema), None)
        if problem is not None:
            raise UnreadableReply(problem)
        return {
            "scores": {name: float(found["scores"][name]) for name in self._dimensions},
            "confidence": float(found["confidence"]),
            "critique": storable(str(found.get("critique", "")))[:LONGEST],
            "issues": tuple(_issue(issue) for issue in found.get("issues", [])[:MOST_ISSUES]),
        }


def builtin_members(embedder: Embedder | None = None) -> dict[Checkpoint, tuple[PanelMember, ...]]:
    """The one built-in check of every checkpoint, by rules."""
    return {key: (EvaluatorMember(check),) for key, check in builtin_checks(embedder).items()}


def model_members(
    models: Mapping[Role, ChatModel],
    prompts: Mapping[str, Prompt],
    *,
    guard: InjectionGuard,
    max_tokens: int = MAX_TOKENS,
) -> dict[Checkpoint, tuple[PanelMember, ...]]:
    """Every role of every checkpoint, each by its own model."""
    return {
        checkpoint: tuple(
            ModelRole(
                role.value,
                tuple(dimension.value for dimension in DIMENSIONS[checkpoint]),
                models[role],
                prompts[role.value],
                guard=guard,
                max_tokens=max_tokens,
            )
            for role in roles_at(checkpoint)
        )
        for checkpoint in Checkpoint
    }


def _schema(dimensions: tuple[str, ...]) -> dict[str, Any]:
    text = {"type": "string", "maxLength": LONGEST}
    issue = {"type": "object", "required": ["issue", "fix"], "properties": {"issue": text, "fix": text}}
    return {
        "type": "object",
        "required": ["confidence", "scores"],
        "properties": {
            "critique": text,
            "issues": {"type": "array", "items": issue, "maxItems": MOST_ISSUES},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "scores": score_properties(dimensions),
        },
    }


def _issue(found: Mapping[str, Any]) -> Issue:
    return Issue(issue=storable(found["issue"])[:LONGEST], fix=storable(found["fix"])[:LONGEST])
