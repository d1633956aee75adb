"""Chat exports are read turn by turn, whoever made them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from assay.errors import MalformedFile
from assay.formats.conversations import Chat, read_chats

AT = datetime(2024, 3, 12, 10, 15, tzinfo=UTC)


def chats(value: Any, *, by_line: bool = False) -> list[Chat]:
    text = "\n".join(map(json.dumps, value)) if by_line else json.dumps(value)
    return list(read_chats(text, place="chat.json", is_json=True, by_line=by_line))


def said(found: list[Chat]) -> list[tuple[str, str]]:
    return [(turn.speaker, turn.text) for chat in found for turn in chat.turns]


TWO = [("user", "Where is the key?"), ("assistant", "Under the mat.")]


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "system", "content": "Be kind."}, *({"role": who, "content": text} for who, text in TWO)],
        [{"role": who, "content": [{"type": "text", "text": text}, {"type": "image"}]} for who, text in TWO],
        [{"type": kind, "data": {"content": text}} for kind, (_, text) in zip(("human", "ai"), TWO, strict=True)],
        [{"author": {"role": who}, "body": text} for who, text in TWO],
        [{"from": kind, "value": text} for kind, (_, text) in zip(("human", "gpt"), TWO, strict=True)],
    ],
    ids=["messages", "parts", "LangChain", "author", "ShareGPT"],
)
def test_messages_of_many_programs_are_the_same_turns(messages: list[dict[str, Any]]) -> None:
    assert said(chats(messages)) == TWO
    assert said(chats({"messages": messages})) == TWO
    assert said(chats(messages, by_line=True)) == TWO
    several = chats([{"title": "keys", "messages": messages}, {"title": "more", "messages": messages}])
    assert [chat.name for chat in several] == ["keys", "more"]
    assert said(several) == TWO + TWO


def test_chatgpts_tree_is_read_as_it_was_shown() -> None:
    nodes = {
        "a": {"message": {"author": {"role": "user"}, "content": {"parts": ["Hello"]}, "create_time": 1.0}},
        "b": {"message": {"author": {"role": "assistant"}, "content": {"parts": ["Hi"]}}, "parent": "a"},
        "c": {"message": {"author": {"role": "assistant"}, "content": {"parts": ["Go"]}}, "parent": "a"},
    }
    assert said(chats([{"title": "t", "mapping": nodes, "current_node": "b"}])) == [
        ("user", "Hello"),
        ("assistant", "Hi"),
    ]


@pytest.mark.parametrize(
    ("message", "at", "said_at"),
    [
        ({"ts": f"{AT.timestamp()}"}, AT, f"{AT.timestamp()}"),
        ({"timestamp": AT.timestamp() * 1_000}, AT, f"{AT.timestamp() * 1_000}"),
        ({"date": "2024-03-12T10:15:00"}, AT, "2024-03-12T10:15:00"),
        ({"date": "12/03/24"}, None, "12/03/24"),
        ({}, None, ""),
    ],
)
def test_times_are_read_where_they_can_mean_one_moment_only(
    message: dict[str, Any], at: datetime | None, said_at: str
) -> None:
    [turn] = chats([{"user": "Ann", "text": "Hello", **message}])[0].turns
    assert (turn.at, turn.said_at) == (at, said_at)


def test_text_with_names_before_turns() -> None:
    text = "Messages are encrypted.\n12/03/24, 10:15 - Ann: Hello\nyou\n[2024-03-12, 10:15:33] Bo: Yes: me\nCy: Late"
    [chat] = read_chats(text, place="chat.txt", is_json=False, by_line=False)
    assert said([chat]) == [("Ann", "Hello\nyou"), ("Bo", "Yes: me"), ("Cy", "Late")]
    assert [turn.said_at for turn in chat.turns] == ["12/03/24, 10:15", "2024-03-12, 10:15:33", ""]


@pytest.mark.parametrize(
    ("text", "is_json", "told"),
    [
        ("{", True, "chat is no JSON"),
        ('[{"a": 1}, 3]', True, "chat holds no message"),
        ("nothing here", False, "no line of chat begins with a name"),
    ],
)
def test_what_is_no_chat_is_refused_with_the_remedy(text: str, is_json: bool, told: str) -> None:
    with pytest.raises(MalformedFile, match=told) as refused:
        list(read_chats(text, place="chat", is_json=is_json, by_line=False))
    assert refused.value.remedy
