"""Recorded replies are replayed in their order, cite the passages that are there, and never make anything up."""

from __future__ import annotations

import pytest

from assay.errors import EndpointMisbehaved, MalformedFile
from assay.models.chat import ChatRequest, Message
from assay.models.recorded import NAME, RecordedModel, Recording

QUESTION = "Where is the tea?"
PASSAGES = "[1] Keys\nThe key hangs beside the door.\n\n[2] Tea\nThe tea is in the left cupboard."
SCORES = {"properties": {"scores": {"required": ["faithfulness", "relevance"]}}}


def recording() -> Recording:
    return Recording(
        [
            {
                "question": QUESTION,
                "plan": [{"queries": [{"text": "first"}]}, {"queries": [{"text": "second"}]}],
                "answer": [
                    {"abstained": False, "statements": [{"text": "On the left.", "rests_on": ["left cupboard"]}]}
                ],
                "scores": {"answer": [{"fact_checker": {"confidence": 1}}]},
            }
        ]
    )


def ask(kind: str, text: str = QUESTION) -> ChatRequest:
    schema = SCORES if kind == "scores" else None
    return ChatRequest(messages=(Message(role="user", content=text),), schema_name=kind, schema=schema)


def test_attempts_get_their_replies_in_order_and_the_end_is_an_error() -> None:
    model = RecordedModel(recording(), "planner")
    assert [model.complete(ask("plan")).text for _ in range(2)] == [
        '{"queries": [{"text": "first"}]}',
        '{"queries": [{"text": "second"}]}',
    ]
    with pytest.raises(EndpointMisbehaved, match="nothing is recorded of planner for attempt 3 at the plan"):
        model.complete(ask("plan"))


def test_a_statement_cites_the_passage_that_holds_its_words() -> None:
    model = RecordedModel(recording(), "synthesiser")
    reply = model.complete(ask("answer", f"{PASSAGES}\n\n{QUESTION}"))
    assert '"citations": [2]' in reply.text
    assert (reply.model, reply.tokens) == (NAME, None)


def test_an_answer_whose_passage_is_gone_is_an_error() -> None:
    with pytest.raises(EndpointMisbehaved, match="no passage holds 'left cupboard'"):
        RecordedModel(recording(), "synthesiser").complete(ask("answer", f"[1] Keys\nA key.\n\n{QUESTION}"))


def test_each_role_has_its_own_scores_and_others_have_none() -> None:
    replies = recording()
    assert RecordedModel(replies, "fact_checker").complete(ask("scores")).text == '{"confidence": 1}'
    for seat, request in (("intent_analyst", ask("scores")), ("planner", ask("plan", "Another question?"))):
        with pytest.raises(EndpointMisbehaved, match=f"nothing is recorded of {seat}"):
            RecordedModel(replies, seat).complete(request)


def test_a_text_that_is_no_recording_is_refused() -> None:
    with pytest.raises(MalformedFile, match=r"replies\.json is not a recording"):
        Recording.read('[{"plan": []}]', "replies.json")
