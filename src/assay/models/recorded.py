"""A chat model that replays recorded replies, so that a panel of models can be seen without a model.

A recording is a JSON list with an object for each question:

- `question`: its text; a request is about the question whose text it holds.
- `plan` and `answer`: the replies of planner and synthesiser, in the order of the attempts.
- `scores`: by checkpoint (`plan`, `retrieval`, `answer`) a list of attempts, each with a reply for each role.
- `review`: by checkpoint, the replies of the model that reviews the panel.

A statement of an answer names no number but words of the passage that it rests on (`rests_on`): passages get their
numbers when they are found. A request for which nothing is recorded, or whose passages do not hold the words, raises
`EndpointMisbehaved`, which callers treat as they treat a model that fails.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from assay.errors import EndpointMisbehaved, MalformedFile
from assay.models.chat import ChatReply, ChatRequest, ModelFingerprint

NAME = "recorded"
"""What a recorded model calls itself, so that pages show where its replies come from."""
_CHECKPOINTS = {"intent_alignment": "plan", "context_recall": "retrieval", "faithfulness": "answer"}
"""The checkpoint that a request for scores is about, by the first dimension it names."""
_PASSAGE = re.compile(r"^\[(\d+)\] ", re.MULTILINE)


class Recording:
    """Recorded replies of all seats, and which of them were replayed."""

    def __init__(self, conversations: Sequence[Mapping[str, Any]]) -> None:
        self._conversations = conversations
        self._given: Counter[tuple[str, ...]] = Counter()
        self._gate = threading.Lock()

    @classmethod
    def read(cls, text: str, name: str) -> Recording:
        """Read the text of a recording, which comes from `name`; raises `MalformedFile` where it is none."""
        try:
            found = json.loads(text)
            return cls([dict(conversation, question=str(conversation["question"])) for conversation in found])
        except (ValueError, TypeError, KeyError) as problem:
            raise MalformedFile(
                f"{name} is not a recording of model replies: {problem}", remedy="Write a list with a question in each."
            ) from problem

    @property
    def questions(self) -> tuple[str, ...]:
        """Every question that has recorded replies."""
        return tuple(conversation["question"] for conversation in self._conversations)

    def find_reply(self, seat: str, request: ChatRequest) -> Mapping[str, Any]:
        """Return the next reply of a seat; raises where none is recorded."""
        text = "\n".join(message.content for message in request.messages)
        conversation = next((found for found in self._conversations if found["question"] in text), None)
        if conversation is None:
            raise _no_reply(seat, "this question")
        kind = request.schema_name
        if kind in {"plan", "answer"}:
            return _with_numbers(self._next(seat, conversation, conversation.get(kind, ()), kind), text)
        checkpoint = _checkpoint_of(seat, request)
        attempts = conversation.get(kind, {}).get(checkpoint, ())
        if kind == "scores":
            attempts = [attempt[seat] for attempt in attempts if seat in attempt]
        return self._next(seat, conversation, attempts, f"{kind} of {checkpoint}")

    def _next(
        self, seat: str, conversation: Mapping[str, Any], replies: Sequence[Mapping[str, Any]], kind: str
    ) -> Mapping[str, Any]:
        key = (seat, conversation["question"], kind)
        with self._gate:
            place = self._given[key]
            self._given[key] += 1
        if place >= len(replies):
            raise _no_reply(seat, f"attempt {place + 1} at the {kind}")
        return replies[place]


class RecordedModel:
    """A chat model that replays what is recorded for one seat of the pipeline."""

    def __init__(self, recording: Recording, seat: str) -> None:
        self._recording = recording
        self._seat = seat

    @property
    def name(self) -> str:
        """What it is called."""
        return NAME

    def fingerprint(self) -> ModelFingerprint:
        """Its name; there are no weights."""
        return ModelFingerprint(model=NAME)

    def complete(self, request: ChatRequest) -> ChatReply:
        """The next recorded reply. It took no time and no tokens are counted: nothing was computed."""
        reply = self._recording.find_reply(self._seat, request)
        return ChatReply(text=json.dumps(reply, ensure_ascii=False), model=NAME, latency_ms=0.0, finish_reason="stop")


def _checkpoint_of(seat: str, request: ChatRequest) -> str:
    properties = (request.schema or {}).get("properties", {})
    for dimension in properties.get("scores", {}).get("required", ()):
        if dimension in _CHECKPOINTS:
            return _CHECKPOINTS[dimension]
    raise _no_reply(seat, f"a request for {request.schema_name}")


def _with_numbers(reply: Mapping[str, Any], text: str) -> Mapping[str, Any]:
    """Return an answer whose statements cite the passages that hold the words they rest on."""
    if "statements" not in reply:
        return reply
    statements = [
        {"text": statement["text"], "citations": [_find_passage(words, text) for words in statement["rests_on"]]}
        for statement in reply["statements"]
    ]
    return {**reply, "statements": statements}


def _find_passage(words: str, text: str) -> int:
    """Return the number of the first passage that holds some words."""
    marks = list(_PASSAGE.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=True):
        if words in text[mark.end() : end]:
            return int(mark[1])
    raise EndpointMisbehaved(
        f"no passage holds {words!r}, which the recorded answer rests on", remedy="Record the answer anew."
    )


def _no_reply(seat: str, what: str) -> EndpointMisbehaved:
    return EndpointMisbehaved(f"nothing is recorded of {seat} for {what}", remedy="Record it, or set up a model.")
