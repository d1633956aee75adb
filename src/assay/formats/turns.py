"""Earlier turns of a conversation as JSON: `[{"speaker": "user", "text": "..."}]`, the same in every format.

Read are also the spellings of chat logs: `role` or `type` for the speaker, `content` for the text.
"""

from __future__ import annotations

from typing import Any

from assay.errors import BadValue
from assay.formats.keys import a_list, an_object
from assay.records.datasets import Turn

_SPEAKER, _TEXT = ("speaker", "role", "type"), ("text", "content")


def turns(value: Any, what: str) -> tuple[Turn, ...]:
    """Every turn of a list; whatever else a chat log says of a turn is not kept."""
    return a_list([] if value is None else value, what, lambda one: _turn(one, what))


def turn_fields(history: tuple[Turn, ...]) -> list[dict[str, str]]:
    """Turns as the list they are read from."""
    return [{"speaker": one.speaker, "text": one.text} for one in history]


def _turn(value: Any, what: str) -> Turn:
    said = an_object(value, f"a turn of {what}")
    speaker = next((said[name] for name in _SPEAKER if name in said), None)
    text = next((said[name] for name in _TEXT if name in said), None)
    if speaker is None or text is None:
        there = ", ".join(sorted(said)) or "none"
        raise BadValue(
            f"a turn of {what} has no speaker or no text",
            remedy=f"Write it as {{'speaker': 'user', 'text': '...'}}; its keys are: {there}.",
        )
    return Turn(speaker=speaker, text=text)
