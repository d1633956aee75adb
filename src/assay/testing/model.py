"""A chat model with scripted replies that records its requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

from assay.models.chat import ChatReply, ChatRequest, ModelFingerprint

Line = str | Mapping[str, Any] | Exception
"""A text, an object that is sent as JSON, or something to raise."""


class ScriptedModel:
    """Gives the replies in order and repeats the last one, or calls a function of the request.

    >>> model = ScriptedModel("yes", {"score": 4})
    >>> from assay.models.chat import Message
    >>> asked = ChatRequest(messages=(Message(role="user", content="Well?"),))
    >>> model.complete(asked).text, model.complete(asked).text, len(model.asked)
    ('yes', '{"score": 4}', 2)
    """

    def __init__(
        self,
        *lines: Line | Callable[[ChatRequest], Line],
        name: str = "scripted",
        digest: str | None = "scripted-1",
        latency_ms: float = 1.0,
    ) -> None:
        self._lines = list(lines) or [""]
        self._name = name
        self._digest = digest
        self._latency_ms = latency_ms
        self._gate = threading.Lock()
        self.asked: list[ChatRequest] = []
        """Every request, in order."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self._name

    def fingerprint(self) -> ModelFingerprint:
        """Its name and the digest it was given."""
        return ModelFingerprint(model=self._name, digest=self._digest)

    def complete(self, request: ChatRequest) -> ChatReply:
        """The next line; tokens are counted as words."""
        with self._gate:
            self.asked.append(request)
            line = self._lines.pop(0) if len(self._lines) > 1 else self._lines[0]
        said = line(request) if callable(line) else line
        if isinstance(said, Exception):
            raise said
        text = said if isinstance(said, str) else json.dumps(said)
        return ChatReply(
            text=text,
            model=self._name,
            latency_ms=self._latency_ms,
            prompt_tokens=sum(len(message.content.split()) for message in request.messages),
            completion_tokens=len(text.split()),
            finish_reason="stop",
        )
