"""Split a passage into statements that can stand in an answer.

Like `claims.sentences`, but made for quoting: front matter, headings, rules and empty marks are left out, an item of a
list and a row of a table stay whole, and a sentence that runs over the end of a line is joined again. Everything else
on a line of its own stays on its own: records and letters are lists of lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.text.claims import LONGEST, sentences

_HEADING = re.compile(r"^#{1,6}(?:\s|$)")
_RULE = re.compile(r"^(?:[-*_=]\s?){3,}$")
_FENCE = re.compile(r"^(?:`{3,}|~{3,})")
_ITEM = re.compile(r"^(?:[-*+\u2022]|\d{1,3}[.)])(?:\s+|$)(?:\[[ xX]\](?:\s+|$))?")
_SEPARATOR_LETTERS = frozenset(" \t:|-")
_LABELLED = re.compile(r"^[\w. ]{1,40}:\s")
WRAPPED_FROM = 50
"""A line shorter than this was ended by its writer, not by the width of a page."""


def statements(text: str) -> list[str]:
    """Return what a passage states, in order; marks without a letter or a number state nothing."""
    lines = [line.strip() for line in _without_front_matter(text.splitlines())]
    return [found for unit in _units(lines) for found in _split(unit) if any(map(str.isalnum, found))]


def show_statement(statement: str) -> str:
    """Return a statement as it is shown: cells of a table row with commas between.

    >>> show_statement("| Deluxe | 180 euros |")
    'Deluxe, 180 euros'
    """
    if not _is_row(statement):
        return statement
    return ", ".join(cell for part in statement.strip("|").split("|") if (cell := part.strip()))


def _without_front_matter(lines: Sequence[str]) -> Sequence[str]:
    if not lines or lines[0].strip() != "---":
        return lines
    end = next((place for place, line in enumerate(lines[1:], start=1) if line.strip() in {"---", "..."}), None)
    return lines if end is None else lines[end + 1 :]


def _units(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines that state something, those that belong together joined."""
    unit = ""
    for place, line in enumerate(lines):
        following = lines[place + 1] if place + 1 < len(lines) else ""
        if unit and _goes_on(unit, line):
            unit = f"{unit} {line}"
            continue
        if unit:
            yield unit
        unit = "" if _says_nothing(line, following) else line
    if unit:
        yield unit


def _goes_on(unit: str, line: str) -> bool:
    """Return whether a line continues the one before it: a sentence wrapped at the width of a page."""
    last = unit.rsplit("\n", 1)[-1]
    if len(last) < WRAPPED_FROM or len(unit) > LONGEST or last[-1] in ".!?:;|" or _is_row(unit):
        return False
    return bool(line) and (line[0].islower() or line[0].isdigit()) and not _ITEM.match(line) and not _is_row(line)


def _says_nothing(line: str, following: str) -> bool:
    if not line or _HEADING.match(line) or _RULE.match(line) or _FENCE.match(line) or _is_separator(line):
        return True
    # A line above a line of = or - is a heading too; a line above the separator names the columns of a table.
    return bool(re.match(r"^(?:={3,}|-{3,})$", following)) or bool(_is_row(line) and _is_separator(following))


def _is_separator(line: str) -> bool:
    """Return whether a line only separates the head of a table from its rows, such as `| --- | :-: |`."""
    return "|" in line and "-" in line and set(line) <= _SEPARATOR_LETTERS


def _is_row(line: str) -> bool:
    return line.startswith("|") or (line.count(" | ") > 0 and not _LABELLED.match(line))


def _split(unit: str) -> Iterator[str]:
    if (_ITEM.match(unit) or _is_row(unit)) and len(unit) <= LONGEST:
        yield _ITEM.sub("", unit)
    else:
        yield from sentences(unit)
