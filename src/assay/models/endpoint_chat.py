"""A chat model behind any OpenAI-compatible address: Ollama, vLLM, llama.cpp, OpenAI, gateways.

`models.endpoint` makes the calls and is the only place that repeats them. A JSON schema is sent with the request, in
the strict form that servers require (`strict_form`). A server that refuses it gets the request once more without it,
and no schema from then on. The result is text that both back ends of the store can keep, or an error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from assay.clock import Clock
from assay.errors import EndpointMisbehaved, EndpointUnavailable
from assay.models.chat import ChatReply, ChatRequest, ModelFingerprint, storable
from assay.models.endpoint import Answered, Endpoint

NOT_UNDERSTOOD = frozenset({400, 415, 422, 501})
"""What servers answer to a field they do not know."""
ATTEMPTS = 3
"""How often one question is sent at most, the asking without a schema included."""
PATH = "/chat/completions"


class EndpointChat:
    """A model by name, at an endpoint."""

    def __init__(
        self, endpoint: Endpoint, *, name: str, clock: Clock, digest: Callable[[], str | None] | None = None
    ) -> None:
        self._endpoint = endpoint
        self._name = name
        self._clock = clock
        self._digest = digest
        self._known: ModelFingerprint | None = None
        self._gate = threading.Lock()
        self._schemas = True

    @property
    def name(self) -> str:
        """The model as the settings name it."""
        return self._name

    def fingerprint(self) -> ModelFingerprint:
        """The name, and the digest of the weights where the server reports it; requested once."""
        with self._gate:
            if self._known is None:
                digest = None if self._digest is None else self._digest()
                self._known = ModelFingerprint(model=self._name, digest=digest)
            return self._known

    def complete(self, request: ChatRequest) -> ChatReply:
        """Ask, and wait for the reply."""
        began = self._clock.monotonic()
        answered = self._ask(request, began)
        return self._reply(answered, (self._clock.monotonic() - began) * 1000.0)

    def _ask(self, request: ChatRequest, began: float) -> Answered:
        most = min(request.attempts or ATTEMPTS, ATTEMPTS)
        with_schema = request.schema is not None and self._schemas
        try:
            return self._send(request, request.deadline_s, most, with_schema=with_schema)
        except EndpointUnavailable as problem:
            if not with_schema or problem.status not in NOT_UNDERSTOOD or problem.tries >= most:
                raise
            self._schemas, spent = False, problem.tries
        left = None if request.deadline_s is None else request.deadline_s - (self._clock.monotonic() - began)
        answered = self._send(request, left if left is None else max(left, 0.001), most - spent, with_schema=False)
        return answered._replace(tries=answered.tries + spent)

    def _send(self, request: ChatRequest, deadline_s: float | None, attempts: int, *, with_schema: bool) -> Answered:
        question = {
            "model": self._name,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "seed": request.seed,
            "stream": False,
        }
        if with_schema and request.schema is not None:
            shape = {"name": request.schema_name, "schema": strict_form(request.schema), "strict": True}
            question["response_format"] = {"type": "json_schema", "json_schema": shape}
        return self._endpoint.send(PATH, question, deadline_s=deadline_s, attempts=attempts)

    def _reply(self, answered: Answered, latency_ms: float) -> ChatReply:
        envelope = answered.value if isinstance(answered.value, Mapping) else {}
        choice = _first(envelope.get("choices"))
        message = choice.get("message")
        text = message.get("content") if isinstance(message, Mapping) else None
        if not isinstance(text, str):
            raise self._no_text(answered)
        usage = envelope.get("usage")
        used = usage if isinstance(usage, Mapping) else {}
        return ChatReply(
            text=storable(text),
            model=storable(_word(envelope.get("model")) or self._name),
            latency_ms=latency_ms,
            prompt_tokens=_count(used.get("prompt_tokens")),
            completion_tokens=_count(used.get("completion_tokens")),
            finish_reason=_word(choice.get("finish_reason")),
            tries=answered.tries,
            worked_on=answered.worked_on,
        )

    def _no_text(self, answered: Answered) -> EndpointMisbehaved:
        problem = EndpointMisbehaved(
            f"{self._endpoint.place} answered without a text of {self._name}",
            remedy="Check that the address is that of an OpenAI-compatible chat service.",
        )
        problem.tries, problem.worked_on = answered.tries, answered.worked_on + 1
        return problem


def strict_form(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with every property required and no other allowed.

    Some servers accept nothing else as strict. Others write what is required first, so a score would come before the
    critique it should rest on. Reading goes by the schema as it was given: what is optional there may be missing.
    """
    made = dict(schema)
    if isinstance(inner := schema.get("items"), Mapping):
        made["items"] = strict_form(inner)
    if isinstance(listed := schema.get("properties"), Mapping):
        made["properties"] = {name: strict_form(part) for name, part in listed.items()}
        made |= {"required": list(listed), "additionalProperties": False}
    return made


def _first(choices: Any) -> Mapping[str, Any]:
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        return choices[0]
    return {}


def _word(value: Any) -> str:
    return value[:200] if isinstance(value, str) else ""


def _count(value: Any) -> int | None:
    """Return the token counts where the server reports them; anything that is not a count is ignored."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None
