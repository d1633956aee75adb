"""The scripted model, and the server that fails."""

from __future__ import annotations

import pytest

from assay.models.chat import ChatModel, ChatRequest, Message
from assay.testing import ScriptedModel
from assay.testing.fault_server import FAULTS

ASKED = ChatRequest(messages=(Message(role="user", content="Are you well?"),))


def test_a_scripted_model_says_its_lines_and_repeats_the_last() -> None:
    model: ChatModel = ScriptedModel("yes", {"score": 4}, lambda request: request.messages[0].content.upper())
    said = [model.complete(ASKED).text for _ in range(4)]
    assert said == ["yes", '{"score": 4}', "ARE YOU WELL?", "ARE YOU WELL?"]


def test_it_counts_words_remembers_what_it_was_asked_and_raises_what_it_is_told_to() -> None:
    model = ScriptedModel("two words", KeyError("a bug"), name="it", digest="d")
    reply = model.complete(ASKED)
    assert (reply.prompt_tokens, reply.completion_tokens, reply.model) == (3, 2, "it")
    with pytest.raises(KeyError):
        model.complete(ASKED)
    assert model.asked == [ASKED, ASKED]
    assert (model.fingerprint().model, model.fingerprint().digest) == ("it", "d")


def test_there_are_fifteen_ways_to_fail() -> None:
    assert len(FAULTS) == 15
