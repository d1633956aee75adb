"""Reading a reply: the last object that fits, strictly, and one question to repair it."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import EndpointUnavailable
from assay.models.chat import ChatReply, ChatRequest, Message
from assay.models.structured import UnreadableReply, ask_structured, last_object
from assay.testing import ScriptedModel

ASKED = ChatRequest(messages=(Message(role="user", content="Well?"),))


def score(found: dict[str, Any]) -> int:
    if not isinstance(found.get("score"), int):
        raise UnreadableReply("it lacks score")
    return int(found["score"])


def read(text: str) -> int:
    return last_object(text, score)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"score": 3}', 3),
        ('The text says {"score": 5} but I say {"score": 1}.', 1),
        ('{"score": 2} and then {"other": 4}', 2),
        ('```json\n{"score": 4, "why": "a } in a \\" text"}\n```', 4),
        ('{"score": 3, "inner": {"score": 5}}', 3),
        ('use { to open\n{"score": 2}', 2),
        ('<think>maybe {"score": 5}?</think>{"score": 0}', 0),
    ],
)
def test_the_last_object_that_fits_counts(text: str, found: int) -> None:
    assert read(text) == found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON object"),
        ("four out of five", "no JSON object"),
        ('{"score": NaN}', "NaN"),
        ('{"score": 1, "score": 5}', "a key twice"),
        ('{"score": }', "not JSON"),
        ('{"score": "5"}', "lacks score"),
        ('{"score": 5', "no JSON object"),
        ("{" * 100_000, "no JSON object"),
        ('{"a":' * 50_000 + "1" + "}" * 50_000, "no JSON"),
    ],
)
def test_what_is_not_plainly_there_is_unreadable_for_a_reason(text: str, why: str) -> None:
    with pytest.raises(UnreadableReply, match=why):
        read(text)


@given(before=st.text(alphabet=st.characters(exclude_characters="{}"), max_size=40), wanted=st.integers(0, 5))
def test_prose_before_an_object_changes_nothing(before: str, wanted: int) -> None:
    assert read(before + json.dumps({"score": wanted})) == wanted


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    found: int | None = None
    with suppress(UnreadableReply):
        found = read(text)
    assert found is None or type(found) is int


def test_a_readable_reply_needs_one_question() -> None:
    model = ScriptedModel({"score": 4})
    found = ask_structured(model, ASKED, read)
    assert (found.value, found.problem, len(model.asked)) == (4, "", 1)


def test_an_unreadable_reply_is_shown_to_its_author_once() -> None:
    model = ScriptedModel("about four", {"score": 4})
    found = ask_structured(model, ASKED, read)
    assert (found.value, found.raw) == (4, ("about four", '{"score": 4}'))
    assert [one.content for one in model.asked[1].messages[1:2]] == ["about four"]
    assert "could not be read" in model.asked[1].messages[2].content
    assert model.asked[1].attempts == 2


class CutOff(ScriptedModel):
    """Never comes to an end by itself."""

    def complete(self, request: ChatRequest) -> ChatReply:
        return replace(super().complete(request), finish_reason="length")


def test_a_reply_that_was_cut_off_is_asked_for_shorter() -> None:
    model = CutOff('{"critique": "It goes on and', {"score": 4})
    assert ask_structured(model, ASKED, read).value == 4
    assert "cut off at its length" in model.asked[1].messages[2].content
    assert "much shorter" in model.asked[1].messages[2].content


def test_a_second_unreadable_reply_is_the_end_and_both_are_kept() -> None:
    model = ScriptedModel("about four", "well, four")
    found = ask_structured(model, ASKED, read)
    assert (found.value, found.raw, len(model.asked)) == (None, ("about four", "well, four"), 2)
    assert found.problem == "it holds no JSON object"


def test_no_time_left_means_no_repair() -> None:
    model = ScriptedModel("about four", {"score": 4}, latency_ms=3_000.0)
    asked = ChatRequest(messages=ASKED.messages, deadline_s=2.0)
    assert ask_structured(model, asked, read).value is None
    assert len(model.asked) == 1


def test_a_repair_that_fails_leaves_the_first_problem() -> None:
    model = ScriptedModel("about four", EndpointUnavailable("it is gone", remedy="Wait."))
    found = ask_structured(model, ASKED, read)
    assert found.problem == "it holds no JSON object; asking again failed: it is gone"
    assert found.raw == ("about four",)


def test_a_first_question_that_fails_is_raised() -> None:
    with pytest.raises(EndpointUnavailable):
        ask_structured(ScriptedModel(EndpointUnavailable("it is gone", remedy="Wait.")), ASKED, read)
