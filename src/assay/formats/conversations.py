"""Chat exports, read turn by turn.

- Messages: what one turn is called in the exports of chat programs and frameworks.
- Files: JSON with one chat or several, JSONL, ChatGPT's tree of messages, and text with a name before each turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from assay.errors import MalformedFile
from assay.formats.front_matter import read_moment
from assay.formats.memory_files import chatgpt

# --- Messages: what one turn is called in the exports of chat programs and frameworks ---
#
# Messages of tools and of the system are no turns, and neither is one without a text (a picture, a reaction).

_SPEAKERS = ("speaker", "name", "sender", "from", "author", "username", "user", "role")
_TEXTS = ("text", "content", "body", "message", "value")
_TIMES = ("timestamp", "date", "ts", "time", "created_at", "create_time", "sent_at", "datetime")
_IDS = ("id", "_id", "message_id", "dia_id", "ts", "uuid")
_CHATS = ("messages", "turns", "conversation", "conversations", "chat", "dialog", "dialogue", "history")
_NAMES = ("name", "title", "conversation_id", "session_id", "id")
_NOBODY = frozenset({"system", "tool", "function", "developer"})
_WRITTEN = {"human": "user", "ai": "assistant", "gpt": "assistant", "bot": "assistant"}


class Turn(NamedTuple):
    """What one speaker said."""

    speaker: str
    text: str
    at: datetime | None
    """None: the export does not say, or in a form that could mean two days."""
    said_at: str
    """The time as the export writes it; empty: it has none."""
    own_id: str
    """What the export calls the message; empty: nothing."""


class Chat(NamedTuple):
    """One conversation of an export."""

    name: str
    """Empty: the file has only this one."""
    turns: tuple[Turn, ...]


def _read_message(record: Mapping[str, Any]) -> Turn | None:
    inner = record.get("data") if isinstance(record.get("data"), dict) else None  # LangChain's stored messages
    fields: Mapping[str, Any] = {**record, **inner} if inner else record
    text = next((found for key in _TEXTS if (found := _read_text(fields.get(key)))), "")
    kind = str(record.get("type", "")).lower()
    speaker = next((found for key in _SPEAKERS if (found := _read_name(fields.get(key)))), _WRITTEN.get(kind, ""))
    if not text or not _NOBODY.isdisjoint({speaker.lower(), kind, str(record.get("role", "")).lower()}):
        return None
    said_at = next((fields[key] for key in _TIMES if isinstance(fields.get(key), str | int | float)), "")
    own_id = next((str(fields[key]) for key in _IDS if isinstance(fields.get(key), str | int)), "")
    return Turn(_WRITTEN.get(speaker.lower(), speaker), text, _read_time(said_at), str(said_at), own_id)


def _read_text(value: Any) -> str:
    """A text, or the texts of a message in parts."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        parts = (part if isinstance(part, str) else _read_part(part) for part in value)
        return "\n".join(filter(None, (part.strip() for part in parts)))
    return ""


def _read_part(part: Any) -> str:
    text = part.get("text") if isinstance(part, dict) else None
    return text if isinstance(text, str) else ""


def _read_name(value: Any) -> str:
    if isinstance(value, dict):  # an author with a name or a role
        return next((str(value[key]) for key in ("name", "role", "username") if value.get(key)), "")
    return value.strip() if isinstance(value, str) else ""


def _read_time(value: str | float) -> datetime | None:
    if isinstance(value, str):
        try:
            return read_moment(float(value))  # seconds since 1970, as Slack writes them
        except ValueError:
            return read_moment(value)
    return read_moment(value / 1_000 if value > 1e11 else value)


# --- Files: JSON with one chat or several, JSONL, ChatGPT's tree of messages, text with a name before each turn ---

# A line of WhatsApp begins with its time: "12/03/24, 10:15 - Ann: hello" or "[2024-03-12, 10:15:33] Ann: hello".
_STAMPED = re.compile(r"\[?(\d[\d/.\-]{5,9},? \d\d?:\d\d(?::\d\d)?(?: ?[AaPp][Mm])?)\]?(?: -)? ([^:\n]{1,60}): (.*)")
_NAMED = re.compile(r"([^\W\d_][^:\n]{0,39}): (.+)")


def read_chats(text: str, *, place: str, is_json: bool, by_line: bool) -> Iterator[Chat]:
    """Return the chats of a file; `place` names it in errors."""
    if by_line:
        records = [_load(line, f"{place}, line {number}") for number, line in enumerate(text.splitlines(), 1) if line]
        yield from _read_value(records, place)
    elif is_json:
        yield from _read_value(_load(text, place), place)
    else:
        yield _read_lines(text, place)


def _load(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise MalformedFile(f"{place} is no JSON: {problem}", remedy="Export the chat again.") from problem


def _read_value(value: Any, place: str) -> Iterator[Chat]:
    records = value if isinstance(value, list) else [value]
    chats = [record for record in records if isinstance(record, dict) and _messages_of(record) is not None]
    if chats:
        for number, record in enumerate(chats, start=1):
            name = next((str(record[key]) for key in _NAMES if isinstance(record.get(key), str | int)), str(number))
            yield Chat(name if len(chats) > 1 else "", _turns_of(record))
        return
    turns = [turn for record in records if isinstance(record, dict) and (turn := _read_message(record)) is not None]
    if not turns:
        raise MalformedFile(
            f"{place} holds no message: no record has a text under {', '.join(_TEXTS)}, and none a list of messages"
            f" under {', '.join(_CHATS)}",
            remedy="Export the chat as JSON or text, or take the file in without --conversation.",
        )
    yield Chat("", tuple(turns))


def _messages_of(record: Mapping[str, Any]) -> Any:
    if isinstance(record.get("mapping"), dict):
        return record["mapping"]
    return next((record[key] for key in _CHATS if isinstance(record.get(key), list)), None)


def _turns_of(record: Mapping[str, Any]) -> tuple[Turn, ...]:
    if isinstance(record.get("mapping"), dict):
        said = chatgpt.read_turns(record)
        return tuple(Turn(turn.role.lower(), turn.text, read_moment(turn.at), str(turn.at or ""), "") for turn in said)
    messages = (message for message in _messages_of(record) if isinstance(message, dict))
    return tuple(turn for message in messages if (turn := _read_message(message)) is not None)


def _read_lines(text: str, place: str) -> Chat:
    """A line that does not begin a turn goes on with the one before; what stands before the first turn is left out."""
    turns: list[Turn] = []
    for line in text.splitlines():
        plain = line.replace("\u200e", "").replace("\u202f", " ").strip()
        if found := _STAMPED.match(plain):
            turns.append(Turn(found[2].strip(), found[3].strip(), read_moment(found[1]), found[1], ""))
        elif named := _NAMED.match(plain):
            turns.append(Turn(named[1].strip(), named[2].strip(), None, "", ""))
        elif plain and turns:
            turns[-1] = turns[-1]._replace(text=f"{turns[-1].text}\n{plain}")
    if not turns:
        raise MalformedFile(
            f"no line of {place} begins with a name and a colon",
            remedy="Write each turn as NAME: TEXT, or take the file in without --conversation.",
        )
    return Chat("", tuple(turn for turn in turns if turn.text))
