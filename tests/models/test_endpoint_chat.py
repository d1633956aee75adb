"""A chat model behind an address, against a real server that fails in every way one can."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.models.service import endpoint

from assay.clock import SystemClock
from assay.errors import EndpointMisbehaved, EndpointUnavailable, ModelError
from assay.models.chat import ChatRequest, Message
from assay.models.endpoint_chat import EndpointChat, strict_form
from assay.testing.fault_server import FAULTS, envelope, refusing, replying, sending, serving

KEY = "sk-canary-7f3a"
ASKED = ChatRequest(messages=(Message(role="user", content="Well?"),), max_tokens=7, seed=3)
SCHEMA = {"type": "object", "properties": {"score": {"type": "integer"}}}


def chat(url: str, **options: Any) -> EndpointChat:
    return EndpointChat(endpoint(url, **options), name="small:1b", clock=SystemClock())


def test_a_question_goes_out_as_every_server_knows_it_and_the_reply_comes_back_with_its_costs() -> None:
    with serving(replying("Very well.", prompt_tokens=12, completion_tokens=4)) as service:
        reply = chat(service.url).complete(ASKED)
        (heard,) = service.heard
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens, reply.tokens) == ("Very well.", 12, 4, 16)
    assert (reply.tries, reply.worked_on, reply.finish_reason) == (1, 0, "stop")
    assert heard.path == "/v1/chat/completions"
    assert heard.body["messages"] == [{"role": "user", "content": "Well?"}]
    assert (heard.body["max_tokens"], heard.body["temperature"], heard.body["seed"]) == (7, 0.0, 3)
    assert "response_format" not in heard.body


def test_a_schema_goes_along_and_a_server_that_refuses_it_is_never_sent_one_again() -> None:
    refusal = sending(b'{"error": "response_format is not known"}', 400)
    asked = ChatRequest(messages=ASKED.messages, schema=SCHEMA, schema_name="verdict")
    with serving(refusal, replying("{}")) as service:
        model = chat(service.url)
        assert model.complete(asked).tries == 2
        model.complete(asked)
        formats = [one.body.get("response_format") for one in service.heard]
    shape = {"name": "verdict", "schema": strict_form(SCHEMA), "strict": True}
    assert formats == [{"type": "json_schema", "json_schema": shape}, None, None]


def test_a_server_is_held_to_every_property_in_the_order_given_also_inside() -> None:
    issue = {"type": "object", "required": [], "properties": {"text": {"type": "string", "maxLength": 9}}}
    listed = {"critique": {"type": "string"}, "issues": {"type": "array", "items": issue}, "score": {"type": "number"}}
    given = {"type": "object", "required": ["score"], "properties": listed}
    made = strict_form(given)
    assert (made["required"], made["additionalProperties"]) == (["critique", "issues", "score"], False)
    assert made["properties"]["issues"]["items"] == {**issue, "required": ["text"], "additionalProperties": False}
    assert given["required"] == ["score"]  # what is read goes by the schema as it was given


def test_a_refused_key_is_no_reason_to_ask_without_a_schema() -> None:
    asked = ChatRequest(messages=ASKED.messages, schema=SCHEMA)
    with serving(sending(b"no", 401)) as service:
        with pytest.raises(EndpointUnavailable) as caught:
            chat(service.url).complete(asked)
        assert len(service.heard) == 1
    assert (caught.value.status, caught.value.tries, caught.value.worked_on) == (401, 1, 0)


@pytest.mark.parametrize("fault", [name for name in FAULTS if name not in ("refused", "hang", "slow_drip")])
def test_every_fault_is_an_error_or_a_text_within_three_requests(fault: str) -> None:
    with serving(FAULTS[fault]) as service:
        try:
            tries = chat(service.url, max_bytes=2_000_000).complete(ASKED).tries
        except ModelError as problem:
            tries = problem.tries
        assert 1 <= tries == len(service.heard) <= 3


def test_a_port_where_nobody_listens_cost_nothing() -> None:
    with refusing() as url, pytest.raises(EndpointUnavailable) as caught:
        chat(url).complete(ASKED)
    assert (caught.value.tries, caught.value.worked_on) == (3, 0)


def test_failures_say_how_much_work_they_may_have_caused() -> None:
    with serving(FAULTS["server_error"], FAULTS["too_many_requests"], replying("ok")) as service:
        reply = chat(service.url).complete(ASKED)
    assert (reply.tries, reply.worked_on) == (3, 1)
    with serving(FAULTS["wrong_schema"]) as service, pytest.raises(EndpointMisbehaved) as caught:
        chat(service.url).complete(ASKED)
    assert (caught.value.tries, caught.value.worked_on) == (1, 1)


def test_fewer_attempts_can_be_asked_for_and_never_more() -> None:
    with serving(FAULTS["server_error"]) as service:
        for asked, heard in ((1, 1), (9, 4)):
            with pytest.raises(EndpointUnavailable):
                chat(service.url).complete(ChatRequest(messages=ASKED.messages, attempts=asked))
            assert len(service.heard) == heard


def test_counts_that_are_none_are_nothing_said() -> None:
    body = json.loads(envelope("ok"))
    body["usage"] = {"prompt_tokens": True, "completion_tokens": -4}
    with serving(sending(json.dumps(body).encode())) as service:
        reply = chat(service.url).complete(ASKED)
    assert (reply.prompt_tokens, reply.completion_tokens, reply.tokens) == (None, None, None)


def test_what_no_store_keeps_is_marked_in_the_text() -> None:
    with serving(replying("a\ud800b\x00c")) as service:
        assert chat(service.url).complete(ASKED).text == "a?b\N{REPLACEMENT CHARACTER}c"


def test_a_key_is_sent_and_appears_in_no_error() -> None:
    with serving(sending(f"bad key {KEY}".encode(), 403)) as service:
        with pytest.raises(EndpointUnavailable) as caught:
            chat(service.url, key=KEY).complete(ASKED)
        assert service.heard[0].headers["Authorization"] == f"Bearer {KEY}"
    assert KEY not in f"{caught.value} {caught.value!r} {caught.value.__cause__!r}"
