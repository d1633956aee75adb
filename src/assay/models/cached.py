"""Replies that are paid for once: the same question to the same model, asked for the same time, has the same reply.

The key holds everything that moves a reply: messages, schema, parameters, the model's fingerprint, and the repeat, so
that asking three times for self-consistency asks three times. A reply that was cut off or is empty is not kept. A
request that is marked as fresh is always sent, and its reply replaces the kept one.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Protocol

from assay.hashing import content_hash
from assay.models.chat import ChatModel, ChatReply, ChatRequest, ModelFingerprint


class Replies(Protocol):
    """Where replies are kept."""

    def get(self, key: str) -> ChatReply | None:
        """The reply under a key."""
        ...

    def put(self, key: str, reply: ChatReply) -> None:
        """Keep a reply; a newer one replaces an older one."""
        ...


class RepliesInMemory:
    """Kept as long as the process lives."""

    def __init__(self) -> None:
        self._kept: dict[str, ChatReply] = {}
        self._gate = threading.Lock()

    def get(self, key: str) -> ChatReply | None:
        """The reply under a key."""
        with self._gate:
            return self._kept.get(key)

    def put(self, key: str, reply: ChatReply) -> None:
        """Keep a reply."""
        with self._gate:
            self._kept[key] = reply


class CachedModel:
    """Asks only what was not asked before."""

    def __init__(self, model: ChatModel, replies: Replies) -> None:
        self._model = model
        self._replies = replies

    @property
    def name(self) -> str:
        """The model as the settings name it."""
        return self._model.name

    def fingerprint(self) -> ModelFingerprint:
        """That of the model inside."""
        return self._model.fingerprint()

    def complete(self, request: ChatRequest) -> ChatReply:
        """The reply that is kept, or a new one."""
        key = reply_key(request, self._model.fingerprint())
        kept = None if request.fresh else self._replies.get(key)
        if kept is not None:
            return replace(kept, cached=True, latency_ms=0.0, tries=0, worked_on=0)
        reply = self._model.complete(request)
        if reply.text.strip() and reply.finish_reason != "length":
            self._replies.put(key, reply)
        return reply


def reply_key(request: ChatRequest, fingerprint: ModelFingerprint) -> str:
    """One hash of everything that moves the reply."""
    asked = [
        [[one.role, one.content] for one in request.messages],
        None if request.schema is None else [request.schema_name, dict(request.schema)],
        [request.max_tokens, request.temperature, request.seed, request.repeat],
        [fingerprint.model, fingerprint.digest, dict(fingerprint.parameters)],
    ]
    return content_hash(asked)
