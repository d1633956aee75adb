"""Colours of verdicts: red for what failed or is worse, green for what passed or is better, yellow for what is open.

Words are coloured where they are a verdict: at the beginning of a line, behind a label such as `Gate, default:`, or in
a column of their own. The same words within a sentence or a query are left alone. Rich writes the colours on a
terminal only, and none where NO_COLOR is set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rich.text import Text

STYLES: Mapping[str, str] = {
    "PASS": "green",
    "ACCEPTED": "green",
    "better": "green",
    "holds": "green",
    "passed": "green",
    "graduated": "green",
    "FAIL": "red",
    "REJECTED": "red",
    "BROKEN": "red",
    "worse": "red",
    "failed": "red",
    "does not hold": "red",
    "INCONCLUSIVE": "yellow",
    "UNDECIDED": "yellow",
    "inconclusive": "yellow",
    "not known yet": "yellow",
}
_WORDS = "|".join(re.escape(word) for word in STYLES)
_VERDICT = re.compile(rf"(?:^|  |: )(?P<word>{_WORDS})(?=$|  |\n)", re.MULTILINE)


def colour_verdicts(text: str) -> Text:
    """Return a text with its verdicts in colour."""
    painted = Text(text)
    for found in _VERDICT.finditer(text):
        painted.stylize(STYLES[found["word"]], found.start("word"), found.end("word"))
    return painted
