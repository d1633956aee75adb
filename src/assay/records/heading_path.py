"""Heading paths such as `Guide > Install > Linux`: one spelling, and one rule for "lies under".

A gold anchor matches a chunk whose path starts with it, so a change of chunking depth is not a miss.
"""

from __future__ import annotations

import re

SEPARATOR = " > "


def normalise(path: str) -> str:
    """Trimmed parts joined by ` > `; empty parts and repeated spaces are dropped."""
    if not path:
        return ""
    parts = (re.sub(r"\s+", " ", part).strip() for part in path.split(">"))
    return SEPARATOR.join(part for part in parts if part)


def heading_text(written: str) -> str:
    """The words of a Markdown heading as written after its opening hashes: without closing hashes and blanks.

    >>> heading_text("Install ## ")
    'Install'
    """
    return written.rstrip().rstrip("#").strip()


def lies_under(path: str, ancestor: str) -> bool:
    """Whether a path equals the ancestor or continues it. Everything lies under the empty path."""
    inner = normalise(path).split(SEPARATOR)
    outer = normalise(ancestor).split(SEPARATOR)
    return outer == [""] or inner[: len(outer)] == outer
