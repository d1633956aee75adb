"""A reply that can be read, or the reason why not: JSON out of prose, and one question to repair it.

A reply may hold several objects: a model that reasons aloud often quotes before it concludes, and judged text may hold
a forged verdict that it repeats. So the last one that fits counts. JSON is read strictly: no NaN, no repeated key.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, NoReturn, TypeVar

from assay.errors import ModelError
from assay.models.budget import usage_of_failure, usage_of_reply
from assay.models.chat import ChatModel, ChatReply, ChatRequest, Message
from assay.records.judging import Usage

T = TypeVar("T")
ATTEMPTS = 3
"""How often anything is sent for one question, the repair included."""
MOST_OBJECTS = 200
"""Objects looked at in one reply, from its end; more is noise."""
MOST_OPEN = 40
"""Braces that never close; each costs a look through the rest."""
LONGEST_REPLY = 50_000
"""Characters looked at, from the end of a reply."""
LONGEST_QUOTE = 4_000
"""How much of an unreadable reply is shown to its author."""


class UnreadableReply(ValueError):
    """A reply contains nothing that can be used; the message is the reason."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Structured(Generic[T]):
    """What was read, and everything that was replied on the way."""

    value: T | None
    """None: nothing could be read."""
    problem: str = ""
    """Why nothing could be read; empty when something was."""
    replies: tuple[ChatReply, ...]
    """One, or two when a repair request was needed."""
    usage: Usage
    """Of every request, also of a repair question that failed."""

    @property
    def raw(self) -> tuple[str, ...]:
        """The replies as they came."""
        return tuple(reply.text for reply in self.replies)


def ask_structured(model: ChatModel, request: ChatRequest, read: Callable[[str], T]) -> Structured[T]:
    """Ask, read the reply with `read`, and ask once to repair what it finds unreadable.

    Both questions share the request's deadline and its number of attempts. What the model raises is passed on, except
    in the repair: an unreadable reply is then what is left.
    """
    most = request.attempts or ATTEMPTS
    first = model.complete(replace(request, attempts=most))
    usage = usage_of_reply(request, first)
    value, problem = _read(first, read)
    if value is not None:
        return Structured(value=value, replies=(first,), usage=usage)
    again = _repair(request, first, problem, most)
    if again is None:
        return Structured(value=None, problem=problem, replies=(first,), usage=usage)
    try:
        second = model.complete(again)
    except ModelError as failure:
        problem = f"{problem}; asking again failed: {failure.message}"
        usage += usage_of_failure(again, failure)
        return Structured(value=None, problem=problem, replies=(first,), usage=usage)
    value, still = _read(second, read)
    usage += usage_of_reply(again, second)
    return Structured(value=value, problem="" if value is not None else still, replies=(first, second), usage=usage)


def _read(reply: ChatReply, read: Callable[[str], T]) -> tuple[T | None, str]:
    try:
        return read(reply.text), ""
    except UnreadableReply as problem:
        cut = ", and it was cut off at its length" if reply.finish_reason == "length" else ""
        return None, f"{problem}{cut}"


def _repair(request: ChatRequest, reply: ChatReply, problem: str, most: int) -> ChatRequest | None:
    """The one further question; None when no attempt or no time is left for it."""
    left = None if request.deadline_s is None else request.deadline_s - reply.latency_ms / 1000.0
    if reply.tries >= most or (left is not None and left <= 0):
        return None
    shape = "one JSON object, much shorter than that," if reply.finish_reason == "length" else "one JSON object"
    wanted = f"Your reply could not be read: {problem}. Reply again with {shape} and nothing else."
    said = Message(role="assistant", content=reply.text[:LONGEST_QUOTE] or "(nothing)")
    messages = (*request.messages, said, Message(role="user", content=wanted))
    return replace(request, messages=messages, deadline_s=left, attempts=most - reply.tries)


def last_object(text: str, fits: Callable[[dict[str, Any]], T]) -> T:
    """The last JSON object of a text that `fits` accepts; it refuses one by raising `UnreadableReply`."""
    first_refusal: UnreadableReply | None = None
    for found in _objects_from_the_end(text):
        try:
            return fits(found())
        except UnreadableReply as problem:
            first_refusal = first_refusal or problem
    raise first_refusal or UnreadableReply("it holds no JSON object")


def _objects_from_the_end(text: str) -> Iterator[Callable[[], dict[str, Any]]]:
    """Return every object in a text, the last first; objects inside others are left out."""
    text = text[-LONGEST_REPLY:]
    spans: list[tuple[int, int]] = []
    place = open_ended = 0
    while open_ended < MOST_OPEN and (start := text.find("{", place)) >= 0:
        end = _end_of(text, start)
        if end is None:
            place, open_ended = start + 1, open_ended + 1
        else:
            spans.append((start, end))
            place = end
    for start, end in reversed(spans[-MOST_OBJECTS:]):
        yield lambda piece=text[start:end]: _strict(piece)  # type: ignore[misc] # mypy cannot infer a default's type


def _end_of(text: str, start: int) -> int | None:
    """Where the object that begins here ends, by its braces; None: it never does."""
    depth, inside, escaped = 0, False, False
    for place in range(start, len(text)):
        letter = text[place]
        if inside:
            inside = letter != '"' or escaped
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            inside, escaped = True, False
        elif letter == "{":
            depth += 1
        elif letter == "}":
            depth -= 1
            if depth == 0:
                return place + 1
    return None


def _strict(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text, object_pairs_hook=_no_repeats, parse_constant=_no_constant)
    except UnreadableReply:
        raise
    except (ValueError, RecursionError) as problem:
        raise UnreadableReply(f"it is not JSON: {str(problem)[:200]}") from problem
    if not isinstance(found, dict):  # pragma: no cover - what begins with a brace is an object
        raise UnreadableReply("it is not a JSON object")
    return found


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise UnreadableReply("it has a key twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise UnreadableReply(f"it has the number {name}, which JSON does not allow")
