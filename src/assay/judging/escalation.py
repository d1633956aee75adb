"""When a panel is unsure of itself, and the larger model that is then asked whom to trust.

It is asked when all roles are unconfident, when two of them are far apart on a dimension, and when the aggregate lies
at its threshold. It sees the material, every role's scores and critique, and gives scores of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from assay.errors import ModelError
from assay.judging.injection import Guard
from assay.judging.panel_options import PanelOptions, below, within
from assay.judging.prompts import Prompt
from assay.judging.schema import wrongs
from assay.judging.showing import dimension_lines, score_properties, shown_material, shown_results
from assay.models.chat import ChatModel, ChatRequest, Message, storable
from assay.models.structured import UnreadableReply, ask_structured, last_object
from assay.records.panel import EscalationResult, PanelState, PanelVerdict, RoleOutcome, Trigger
from assay.records.research import Material

MAX_TOKENS = 1_024
LONGEST = 2_000
"""Characters of one text of the reviewer that are kept."""


class Reviewer(Protocol):
    """Who is asked when the panel is unsure."""

    @property
    def name(self) -> str:
        """The model."""
        ...

    def review(
        self, material: Material, verdict: PanelVerdict, triggers: Sequence[Trigger], deadline_s: float
    ) -> EscalationResult:
        """Whom to trust, and the scores that count."""
        ...


def triggers_of(verdict: PanelVerdict, options: PanelOptions) -> tuple[Trigger, ...]:
    """Why a larger model should look at a verdict; nothing when there are no scores to look at."""
    scored = [one for one in verdict.results if one.scored]
    if verdict.state is PanelState.NO_QUORUM:
        return ()
    found = []
    if all(below(one.confidence or 0.0, options.sure_from) for one in scored):
        found.append(Trigger.LOW_CONFIDENCE)
    if any(below(options.most_apart, spread) for spread in verdict.spread.values()):
        found.append(Trigger.DISAGREEMENT)
    threshold = options.thresholds[verdict.checkpoint]
    if verdict.aggregate is not None and within(verdict.aggregate, threshold, options.borderline):
        found.append(Trigger.BORDERLINE)
    return tuple(found)


class ModelReviewer:
    """A model that reviews the panel."""

    def __init__(self, model: ChatModel, prompt: Prompt, *, guard: Guard, max_tokens: int = MAX_TOKENS) -> None:
        self._model = model
        self._prompt = prompt
        self._guard = guard
        self._max_tokens = max_tokens

    @property
    def name(self) -> str:
        """The model."""
        return self._model.name

    def review(
        self, material: Material, verdict: PanelVerdict, triggers: Sequence[Trigger], deadline_s: float
    ) -> EscalationResult:
        """Ask; whatever the model does is an outcome."""
        schema = _schema(verdict)
        request = ChatRequest(
            messages=(
                Message(role="system", content=self._prompt.system),
                Message(role="user", content=self._asked(material, verdict, triggers)),
            ),
            schema=schema,
            schema_name="review",
            max_tokens=self._max_tokens,
            deadline_s=deadline_s,
        )
        about: dict[str, Any] = {"triggers": tuple(triggers), "model": self.name, "prompt": self._prompt.key}
        try:
            found = ask_structured(self._model, request, lambda text: _read(text, schema))
        except ModelError as problem:
            return EscalationResult(outcome=RoleOutcome.UNAVAILABLE, reason=problem.message[:LONGEST], **about)
        about |= {
            "raw": found.raw,
            "latency_ms": sum(one.latency_ms for one in found.replies),
            "tokens": tokens_of([one.tokens for one in found.replies]),
        }
        if found.value is None:
            return EscalationResult(outcome=RoleOutcome.UNREADABLE, reason=found.problem[:LONGEST], **about)
        said = found.value
        return EscalationResult(
            outcome=RoleOutcome.SCORED,
            panel_review=storable(said["panel_review"])[:LONGEST],
            verdict=storable(said["verdict"])[:LONGEST],
            trust=said["trust"],
            scores=said["scores"],
            **about,
        )

    def _asked(self, material: Material, verdict: PanelVerdict, triggers: Sequence[Trigger]) -> str:
        return "\n\n".join(
            [
                shown_material(material, self._guard).text,
                shown_results(verdict.results, self._guard),
                f"The panel is reviewed because of: {', '.join(triggers)}.",
                dimension_lines(list(verdict.scores)),
                self._prompt.task,
            ]
        )


def tokens_of(counts: Sequence[int | None]) -> int | None:
    """All together; None when one was not counted."""
    known = [one for one in counts if one is not None]
    return sum(known) if len(known) == len(counts) else None


def _schema(verdict: PanelVerdict) -> dict[str, Any]:
    roles = [one.role for one in verdict.results if one.scored]
    trust = {name: {"type": "number", "minimum": 0, "maximum": 1} for name in roles}
    text = {"type": "string", "maxLength": LONGEST}
    return {
        "type": "object",
        "required": ["panel_review", "trust", "verdict", "scores"],
        "properties": {
            "panel_review": text,
            "trust": {"type": "object", "required": roles, "properties": trust},
            "verdict": text,
            "scores": score_properties(list(verdict.scores)),
        },
    }


def _read(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    def fits(found: dict[str, Any]) -> dict[str, Any]:
        problem = next(wrongs(found, schema), None)
        if problem is not None:
            raise UnreadableReply(problem)
        known = schema["properties"]
        return found | {name: {key: float(found[name][key]) for key in known[name]["required"]} for name in _NUMBERS}

    return last_object(text, fits)


_NUMBERS = ("trust", "scores")
