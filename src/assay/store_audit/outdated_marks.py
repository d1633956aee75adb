"""The mark by which a repair says in a text that it no longer holds.

    [outdated: now 500] The upload limit is 100 MB.

The mark stands in the text, because the text is all that every form has and all that an agent sees.
"""

from __future__ import annotations

import re

_MARK = re.compile(r"^\s*\[outdated(?:: [^\]\n]{0,200})?\]\s*", re.IGNORECASE)
LONGEST = 80
"""Characters of what holds now."""


def is_marked(text: str) -> bool:
    """Whether a text says of itself that it is outdated."""
    return _MARK.match(text) is not None


def mark_outdated(text: str, now: str) -> str:
    """Return a text with the mark; `now` says what holds instead, and may be empty."""
    if is_marked(text):
        return text
    said = " ".join(now.replace("[", "(").replace("]", ")").split())[:LONGEST].strip()
    return f"[outdated: {said}] {text}" if said else f"[outdated] {text}"
