"""A synthesiser that asks a model, and checks every citation it gives against the passages it was shown.

A statement without a citation, or with the number of a passage that is not there, is sent back once; what is then still
uncited is left out, and the answer says so. Where nothing that can be cited is left, the rules answer instead, with the
reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.errors import ModelError
from assay.judging.injection import Guard, cleaned
from assay.judging.prompts import Prompt
from assay.judging.schema import wrongs
from assay.judging.showing import shown_passages, shown_question
from assay.models.chat import ChatModel, ChatRequest, Message, storable
from assay.models.structured import UnreadableReply, ask_structured, last_object
from assay.records.research import Citation, Passage, Plan, Statement, Synthesis
from assay.research.synthesiser import ExtractiveSynthesiser, Synthesiser

LONGEST = 2_000
LONGEST_QUOTE = 300
MOST_STATEMENTS = 30
_TEXT = {"type": "string", "maxLength": LONGEST}
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["abstained", "statements"],
    "properties": {
        "abstained": {"type": "boolean"},
        "reason": _TEXT,
        "statements": {
            "type": "array",
            "maxItems": MOST_STATEMENTS,
            "items": {
                "type": "object",
                "required": ["text", "citations"],
                "properties": {"text": _TEXT, "citations": {"type": "array", "items": {"type": "integer"}}},
            },
        },
    },
}


class ModelSynthesiser:
    """Answers by a model; by rules when it gives nothing that can be cited."""

    def __init__(
        self,
        model: ChatModel,
        prompt: Prompt,
        *,
        guard: Guard,
        rules: Synthesiser | None = None,
        deadline_s: float = 60.0,
        max_tokens: int = 2_048,
    ) -> None:
        self._model = model
        self._prompt = prompt
        self._guard = guard
        self._rules = rules or ExtractiveSynthesiser()
        self._deadline_s = deadline_s
        self._max_tokens = max_tokens

    def synthesise(
        self, question: str, passages: Sequence[Passage], *, plan: Plan | None = None, feedback: str = ""
    ) -> Synthesis:
        """An answer with citations, or an abstention."""
        if not passages:
            return self._rules.synthesise(question, passages, plan=plan)
        numbers = frozenset(one.number for one in passages)
        try:
            asked = self._request(question, passages, feedback)
            found = ask_structured(self._model, asked, lambda text: _strict(text, numbers))
        except ModelError as problem:
            return self._ruled(question, passages, feedback, problem.message)
        said, mended = found.value, ""
        if said is None:
            said, mended = _salvaged(found.raw, numbers), found.problem
        if said is None:
            return self._ruled(question, passages, feedback, f"the answer could not be used: {mended}")
        made = _abstention(said) if said["abstained"] else _answer(said["statements"], passages)
        return replace(made, synthesiser=self._model.name, prompt=self._prompt.key, fallback=mended[:LONGEST])

    def _ruled(self, question: str, passages: Sequence[Passage], feedback: str, why: str) -> Synthesis:
        return replace(self._rules.synthesise(question, passages, feedback=feedback), fallback=why[:LONGEST])

    def _request(self, question: str, passages: Sequence[Passage], feedback: str) -> ChatRequest:
        parts = [shown_passages(passages, self._guard).text, shown_question(question, self._guard)]
        parts += [f"An earlier answer was found wanting:\n{cleaned(feedback).text}"] if feedback else []
        asked = "\n\n".join([*parts, self._prompt.task])
        return ChatRequest(
            messages=(Message(role="system", content=self._prompt.system), Message(role="user", content=asked)),
            schema=_SCHEMA,
            schema_name="answer",
            max_tokens=self._max_tokens,
            deadline_s=self._deadline_s,
        )


def _strict(text: str, numbers: frozenset[int]) -> dict[str, Any]:
    return last_object(text, lambda found: _fits(found, numbers))


def _fits(found: dict[str, Any], numbers: frozenset[int]) -> dict[str, Any]:
    said = _shaped(found)
    for one in said["statements"]:
        foreign = [number for number in one["citations"] if number not in numbers]
        if foreign or not one["citations"]:
            what = f"cites [{foreign[0]}], which is no passage" if foreign else "cites no passage"
            raise UnreadableReply(f"the statement {one['text'][:80]!r} {what}")
    return said


def _shaped(found: dict[str, Any]) -> dict[str, Any]:
    problem = next(wrongs(found, _SCHEMA), None)
    if problem is not None:
        raise UnreadableReply(problem)
    listed = found["statements"][:MOST_STATEMENTS]
    statements = [
        {"text": text, "citations": list(dict.fromkeys(int(number) for number in one["citations"]))}
        for one in listed
        if (text := " ".join(storable(one["text"])[:LONGEST].split()))
    ]
    if not found["abstained"] and not statements:
        raise UnreadableReply("it states nothing and does not abstain")
    return {"abstained": found["abstained"], "reason": storable(str(found.get("reason", ""))), "statements": statements}


def _salvaged(raw: Sequence[str], numbers: frozenset[int]) -> dict[str, Any] | None:
    """The statements of the last readable reply that cite a passage which is there, without what is not."""
    for text in reversed(raw):
        try:
            said = last_object(text, _shaped)
        except UnreadableReply:
            continue
        cited = [
            {"text": one["text"], "citations": known}
            for one in said["statements"]
            if (known := [number for number in one["citations"] if number in numbers])
        ]
        if cited:
            return {**said, "abstained": False, "statements": cited}
    return None


def _abstention(said: Mapping[str, Any]) -> Synthesis:
    reason = said["reason"].strip()[:LONGEST] or "What was found does not answer this."
    return Synthesis(text=reason, abstained=True, reason=reason)


def _answer(statements: Sequence[Mapping[str, Any]], passages: Sequence[Passage]) -> Synthesis:
    cited = {number for one in statements for number in one["citations"]}
    lines = [f"{one['text']} {' '.join(f'[{number}]' for number in one['citations'])}" for one in statements]
    return Synthesis(
        text=" ".join(lines),
        statements=tuple(Statement(text=one["text"], citations=tuple(one["citations"])) for one in statements),
        citations=tuple(_citation(one) for one in passages if one.number in cited),
    )


def _citation(passage: Passage) -> Citation:
    return Citation(
        number=passage.number,
        memory_id=passage.memory_id,
        title=passage.title,
        rel_path=passage.rel_path,
        heading_path=passage.heading_path,
        quote=passage.text[:LONGEST_QUOTE],
    )
