"""What a chat model is to Assay: a question in, a reply out, and enough about the model to say whose words they were.

`ChatModel` is what judges, the panel and the research pipeline ask. The client of real endpoints, the budget and the
cache all are one, so they can be put around each other; a scripted one for tests is in `assay.testing`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatRequest:
    """What is asked, and how the reply may look."""

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    """A JSON schema the reply should follow, where the server can hold the model to one."""
    schema_name: str = "verdict"
    max_tokens: int = 1_024
    temperature: float = 0.0
    seed: int = 0
    repeat: int = 0
    """Tells one asking of the same question from the next, for the cache."""
    fresh: bool = False
    """Ask the model even where a reply is kept; the new reply takes its place."""
    deadline_s: float | None = None
    """How long this call may take in all; None: as long as the model's own settings say."""
    attempts: int | None = None
    """How often it may be sent, passing faults included; None: as often as the model's own settings say."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatReply:
    """What came back."""

    text: str
    model: str
    """The model as the server names it."""
    latency_ms: float
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    finish_reason: str = ""
    cached: bool = False
    tries: int = 1
    """How often it was sent."""
    worked_on: int = 0
    """Earlier tries that the server may have worked on, and may ask money for, though nothing came of them."""

    @property
    def tokens(self) -> int | None:
        """Both directions together; None when the server did not count."""
        if self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelFingerprint:
    """Which model answers, as far as that can be known."""

    model: str
    digest: str | None = None
    """Of the weights, where the server tells it."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What moves its answers: temperature, seed, the most tokens."""


class ChatModel(Protocol):
    """Something that answers. A failure is an `EndpointUnavailable`, `EndpointMisbehaved` or `BudgetExhausted`."""

    @property
    def name(self) -> str:
        """The model as the settings name it."""
        ...

    def fingerprint(self) -> ModelFingerprint:
        """Which model this is. May ask the server, once."""
        ...

    def complete(self, request: ChatRequest) -> ChatReply:
        """Ask, and wait for the reply."""
        ...


def storable(text: str) -> str:
    """Return a text that every store can keep: what is not a character becomes a replacement character."""
    return text.encode(errors="replace").decode().replace("\x00", "\N{REPLACEMENT CHARACTER}")
