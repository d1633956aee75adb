"""Chat exports as drafts: a memory for each turn, which is found by the words around it too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from assay.formats.conversations import Chat, Turn
from assay.hashing import content_hash
from assay.text.surroundings import find_surroundings

PAUSE = timedelta(hours=4)
"""A longer silence ends a sitting: what is said after it is not about what was said before."""
_LONGEST_NAME = 100


def make_turns(chat: Chat) -> Iterator[dict[str, Any]]:
    """Return the fields of a draft for each turn, without what the file decides; `own_id` is unique in the chat."""
    used: set[str] = set()
    number = 0
    for sitting in _split(chat.turns):
        around = find_surroundings([_write(turn) for turn in sitting])
        for turn, surroundings in zip(sitting, around, strict=True):
            number += 1
            own_id = turn.own_id if turn.own_id and turn.own_id not in used else str(number)
            used.add(own_id)
            title, body = _name(turn), _write(turn)
            yield {
                "own_id": f"{chat.name}/{own_id}" if chat.name else own_id,
                "title": title,
                "body": body,
                "surroundings": surroundings,
                "valid_from": turn.at,
                "source_hash": content_hash([title, body, surroundings, turn.said_at]),
            }


def _split(turns: Sequence[Turn]) -> list[list[Turn]]:
    sittings: list[list[Turn]] = []
    before = None
    for turn in turns:
        if not sittings or (before is not None and turn.at is not None and turn.at - before > PAUSE):
            sittings.append([])
        sittings[-1].append(turn)
        before = turn.at or before
    return sittings


def _write(turn: Turn) -> str:
    return f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text


def _name(turn: Turn) -> str:
    """Who spoke and when, as people write it, so that a question about a month finds the turns of it."""
    when = turn.said_at if turn.at is None else f"{turn.at.day} {turn.at:%B %Y, %H:%M}"
    parts = (turn.speaker[:_LONGEST_NAME], when[:_LONGEST_NAME])
    return ", ".join(filter(None, parts)) or turn.text.split("\n", 1)[0][:_LONGEST_NAME]
