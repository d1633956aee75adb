"""A planner that asks a model, over the one that does not: whatever the model fails to give, the rules have given.

Kind, time and what is ruled out are read by rules either way; the model gives the intent, the aspects and the queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from assay.errors import BadValue, ModelError
from assay.judging.injection import Guard, cleaned
from assay.judging.prompts import Prompt
from assay.judging.schema import wrongs
from assay.judging.showing import plan_text, shown_question
from assay.models.chat import ChatModel, ChatRequest, Message, storable
from assay.models.structured import UnreadableReply, ask_structured, last_object
from assay.records.research import Plan, PlanFeedback, PlannedQuery, Purpose
from assay.research.planner import LONGEST_QUERY, MOST_QUERIES, Planner, RulePlanner

LONGEST = 1_000
_TEXT = {"type": "string", "maxLength": LONGEST}
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["intent", "queries"],
    "properties": {
        "intent": _TEXT,
        "aspects": {"type": "array", "items": _TEXT, "maxItems": MOST_QUERIES},
        "queries": {
            "type": "array",
            "maxItems": MOST_QUERIES,
            "items": {
                "type": "object",
                "required": ["text"],
                "properties": {"text": _TEXT, "purpose": {"type": "string", "enum": [one.value for one in Purpose]}},
            },
        },
    },
}


class ModelPlanner:
    """Plans by a model; by rules when it gives no plan, with the reason in the plan."""

    def __init__(
        self,
        model: ChatModel,
        prompt: Prompt,
        *,
        guard: Guard,
        rules: Planner | None = None,
        deadline_s: float = 60.0,
        max_tokens: int = 1_024,
    ) -> None:
        self._model = model
        self._prompt = prompt
        self._guard = guard
        self._rules = rules or RulePlanner()
        self._deadline_s = deadline_s
        self._max_tokens = max_tokens

    def plan(self, question: str, *, feedback: PlanFeedback | None = None) -> Plan:
        """The first plan, or the next one after feedback."""
        ruled = self._rules.plan(question, feedback=feedback)
        try:
            found = ask_structured(self._model, self._request(question, feedback), _read)
        except ModelError as problem:
            return replace(ruled, fallback=problem.message[:LONGEST])
        if found.value is None:
            return replace(ruled, fallback=f"the plan could not be read: {found.problem}"[:LONGEST])
        made = found.value | {"aspects": found.value["aspects"] or ruled.aspects}
        return replace(ruled, planner=self._model.name, prompt=self._prompt.key, **made)

    def _request(self, question: str, feedback: PlanFeedback | None) -> ChatRequest:
        parts = [shown_question(question, self._guard), *_told(feedback), self._prompt.task]
        return ChatRequest(
            messages=(
                Message(role="system", content=self._prompt.system),
                Message(role="user", content="\n\n".join(parts)),
            ),
            schema=_SCHEMA,
            schema_name="plan",
            max_tokens=self._max_tokens,
            deadline_s=self._deadline_s,
        )


def _told(feedback: PlanFeedback | None) -> list[str]:
    if feedback is None:
        return []
    lines = [
        f"An earlier plan failed ({feedback.failure_type}). How to go on: {feedback.mode}.",
        cleaned(plan_text(feedback.previous)).text,
        cleaned(feedback.critique).text,
    ]
    return ["\n".join(lines)]


def _read(text: str) -> dict[str, Any]:
    return last_object(text, _fits)


def _fits(found: dict[str, Any]) -> dict[str, Any]:
    problem = next(wrongs(found, _SCHEMA), None)
    if problem is not None:
        raise UnreadableReply(problem)
    queries = _each_once(_query(one) for one in found["queries"] if one["text"].strip())[:MOST_QUERIES]
    if not queries:
        raise UnreadableReply("it has no query")
    return {
        "queries": queries,
        "intent": storable(found["intent"])[:LONGEST],
        "aspects": tuple(storable(one)[:LONGEST] for one in found.get("aspects", [])[:MOST_QUERIES] if one.strip()),
    }


def _each_once(queries: Iterable[PlannedQuery]) -> tuple[PlannedQuery, ...]:
    """Without what was asked for already: small models repeat themselves."""
    known: dict[str, PlannedQuery] = {}
    for one in queries:
        known.setdefault(one.text.casefold(), one)
    return tuple(known.values())


def _query(found: Mapping[str, Any]) -> PlannedQuery:
    try:
        return PlannedQuery(
            text=" ".join(storable(found["text"]).split())[:LONGEST_QUERY],
            purpose=Purpose(found.get("purpose", Purpose.MAIN)),
        )
    except BadValue as problem:
        raise UnreadableReply(problem.message) from problem
