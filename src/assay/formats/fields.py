"""Where the fields of every line of a block begin and end, found with whole-array operations.

Whatever is not plainly right (blank lines, comments, more or fewer fields) takes the second, slower way, which looks
at each line's own fields. Lines that begin with `#` are comments, as in trec_eval 10.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]

SLACK = 32
"""Bytes before and after the text, so that a word may be loaded around any field."""
_NEWLINE, _TAB, _RETURN, _SPACE, _HASH = 10, 9, 13, 32, 35


class Field(NamedTuple):
    """One field of every line."""

    starts: Places
    lengths: Places


class Fields(NamedTuple):
    """Every line's fields."""

    raw: bytes
    """The block with `SLACK` blanks at both ends."""
    text: Bytes
    """The same as numbers."""
    starts: Places
    """[line, field], places in `text`."""
    ends: Places

    def field(self, number: int) -> Field:
        """One field of every line."""
        starts = np.ascontiguousarray(self.starts[:, number])
        return Field(starts, self.ends[:, number] - starts)

    @property
    def lines(self) -> int:
        """How many lines there are."""
        return len(self.starts)

    def first(self, lines: int) -> Fields:
        """The first so many of them."""
        return self._replace(starts=self.starts[:lines], ends=self.ends[:lines])


class WrongShape(Exception):
    """Some line has fewer or more fields than it may."""


def split(data: bytes, width: int, *, more: bool = False, tabs: bool = False) -> Fields:
    """The first `width` fields of every line; `more` allows others after them, `tabs` splits at tabs alone."""
    raw = b"".join((b" " * (SLACK - 1), b"\n", data, b" " * SLACK))
    text = np.frombuffer(raw, dtype=np.uint8)
    blank = (text == _TAB) | (text == _NEWLINE) | (text == _RETURN) if tabs else text <= _SPACE
    blank[:SLACK] = blank[-SLACK:] = True
    edges = np.flatnonzero(blank[1:] != blank[:-1]) + 1
    starts, ends = edges[0::2], edges[1::2]
    breaks = np.flatnonzero(text == _NEWLINE)
    shape = _plain(text, starts, ends, breaks, width) or _careful(text, starts, ends, breaks, width, more=more)
    return Fields(raw, text, *shape)


def _plain(text: Bytes, starts: Places, ends: Places, breaks: Places, width: int) -> tuple[Places, Places] | None:
    """The usual case: every line has exactly these fields."""
    lines = len(breaks) - 1
    if len(starts) != lines * width:
        return None
    first, last = starts.reshape(lines, width), ends.reshape(lines, width)
    inside = (first[:, 0] > breaks[:-1]).all() and (last[:, -1] <= breaks[1:]).all()
    if not inside or (text[first[:, 0]] == _HASH).any():
        return None
    return first, last


def _careful(
    text: Bytes, starts: Places, ends: Places, breaks: Places, width: int, *, more: bool
) -> tuple[Places, Places]:
    lines = np.searchsorted(breaks, starts) - 1
    counts = np.bincount(lines, minlength=len(breaks) - 1)
    begin = np.cumsum(counts) - counts
    used = counts > 0
    used[used] = text[starts[begin[used]]] != _HASH
    counts, begin = counts[used], begin[used]
    if (counts < width).any() or (not more and (counts > width).any()):
        raise WrongShape
    chosen = begin[:, None] + np.arange(width)
    return starts[chosen], ends[chosen]
