"""reStructuredText as sections, like `markdown.sections`: every title opens one, and its path names those above it.

A title is a line at the left margin with a line of one punctuation mark under it, at least as long as the title, and
maybe the same over it. Which mark is which level is not fixed: levels are numbered in the order in which marks first
appear. Nothing here raises, whatever the text is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from assay.records import heading_path
from assay.text.markdown import MAX_HEADING, Section

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1+[ \t]*\Z")
_ROLE = re.compile(r":[\w.+:-]+:(?=`)")
_TARGET = re.compile(r"[ ]*<[^>`]+>(?=`)")
_MARKS = re.compile(r"`{1,2}_{0,2}|\*{1,2}|\\")


class _Line(NamedTuple):
    text: str
    start: int
    end: int


class _Title(NamedTuple):
    style: tuple[str, bool]
    name: str
    start: int
    end: int


def sections(body: str) -> list[Section]:
    """The sections of a reStructuredText, in order. The texts of all sections, joined, are the body."""
    titles = list(_titles(_lines(body)))
    starts = [0, *(title.start for title in titles)]
    ends = [*starts[1:], len(body)]
    openings = [0, *(title.end - title.start for title in titles)]
    paths = ["", *_paths(titles)]
    made = [
        Section(path, start, body[start:end], opening)
        for path, start, end, opening in zip(paths, starts, ends, openings, strict=True)
    ]
    return [section for section in made if section.text]


def _lines(body: str) -> list[_Line]:
    found = (_Line(one.group().rstrip(), one.start(), one.end()) for one in _LINE.finditer(body))
    return [line for line in found if line.end > line.start]


def _titles(lines: list[_Line]) -> Iterator[_Title]:
    for place in range(1, len(lines)):
        title, under = lines[place - 1], lines[place]
        if not _is_underlined(title.text, under.text):
            continue
        over = lines[place - 2] if place > 1 else None
        if over is not None and over.text == under.text:
            yield _Title((under.text[0], True), _plain(title.text), over.start, under.end)
        # A line in the middle of a paragraph is not a title, whatever stands under it.
        elif (over is None or not over.text) and not title.text[0].isspace():
            yield _Title((under.text[0], False), _plain(title.text), title.start, under.end)


def _is_underlined(title: str, under: str) -> bool:
    long_enough = len(under) >= len(title) or len(under) >= 4
    return bool(title.strip()) and long_enough and bool(_ADORNMENT.match(under)) and not _ADORNMENT.match(title)


def _plain(title: str) -> str:
    """A title as it is read: without roles, link targets, quotes and emphasis."""
    return _MARKS.sub("", _TARGET.sub("", _ROLE.sub("", title.strip()[: 4 * MAX_HEADING])))[:MAX_HEADING]


def _paths(titles: list[_Title]) -> Iterator[str]:
    levels: dict[tuple[str, bool], int] = {}
    above: list[tuple[int, str]] = []
    for title in titles:
        level = levels.setdefault(title.style, len(levels))
        above = [*(other for other in above if other[0] < level), (level, title.name)]
        yield heading_path.normalise(heading_path.SEPARATOR.join(name for _, name in above))
