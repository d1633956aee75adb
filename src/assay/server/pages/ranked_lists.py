"""Ranked lists side by side: one column a channel, the lines between equal passages, and the difference of two lists.

Values only: where they come from is in `debugged_search` and `debugged_run`, how they look in `ranked_lists.html`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from assay.memory.searching.highlighting import TextPiece

COLUMN_WIDTH = 100
"""Units of the drawing that a column is wide; a row is one unit high."""
MARGIN = 7
"""Units between the edge of a column and its entries: room for the lines."""


class ListEntry(NamedTuple):
    """One place of a ranked list."""

    rank: int
    passage: str
    """What joins columns: the id of a passage, or of a document where a run reports no passages."""
    item: str
    """What is graded: the id of a memory or document."""
    score: float | None = None
    """On the scale of its own list."""
    fused_rank: int | None = None
    """Of a result: its place by fusion alone, among memories or documents; None: not in the fused list."""

    @property
    def moved(self) -> int:
        """How many places later stages brought it up; below 0: down."""
        return 0 if self.fused_rank is None else self.fused_rank - self.rank


class RankedList(NamedTuple):
    """One column."""

    name: str
    entries: tuple[ListEntry, ...]
    """The first ones, as far as they are shown."""
    total: int
    """How many the list has."""
    about: str = ""
    """What it is, in a word or two."""
    explains: str = ""
    """The same as a sentence."""
    is_cut: bool = False
    """Whether the reader's cut at k applies to it."""


class JoinLine(NamedTuple):
    """A line between two columns, in units of the drawing."""

    passage: str
    item: str
    from_x: int
    from_y: float
    to_x: int
    to_y: float


class Grading(NamedTuple):
    """What is known of how relevant an item is."""

    grade: int | None
    """The grade that counts; None: gold without a grade, or not judged."""
    is_gold: bool
    mine: int | None = None
    """The grade that the viewer gave."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VoteLine:
    """One vote of a channel for a passage."""

    position: str
    channel: str
    rank: int
    score: float
    scaled: float
    weight: float
    adds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownPassage:
    """A passage as the right side of the page shows it."""

    number: int
    """Its number on this page, for links within it."""
    passage: str
    item: str
    title: str
    address: str
    """Where the whole is; empty: nowhere on this server."""
    where: str
    pieces: tuple[TextPiece, ...]
    missing: str = ""
    """Why there is no text."""
    ranks: Mapping[str, int]
    """Its place in each column."""
    votes: tuple[VoteLine, ...] = ()
    fused: float | None = None
    sum_line: str = ""
    boosts: tuple[str, ...] = ()
    moves: tuple[str, ...] = ()
    """What stages after fusion did with it, one sentence each."""
    relevance: str = ""
    warnings: tuple[str, ...] = ()


class ListMove(NamedTuple):
    """What became of one item between two lists."""

    item: str
    before: int | None
    after: int | None

    @property
    def kind(self) -> str:
        """`entered`, `left`, `moved` or `stayed`."""
        if self.before is None:
            return "entered"
        if self.after is None:
            return "left"
        return "stayed" if self.before == self.after else "moved"


def join_lists(lists: Sequence[RankedList]) -> list[JoinLine]:
    """Return a line from each entry to the same passage in the next column that has it."""
    lines = []
    last: dict[str, tuple[int, int]] = {}
    for column, ranked in enumerate(lists):
        for row, entry in enumerate(ranked.entries):
            known = last.get(entry.passage)
            if known is not None:
                lines.append(_draw_line(entry, known, (column, row)))
            last[entry.passage] = (column, row)
    return lines


def _draw_line(entry: ListEntry, begin: tuple[int, int], end: tuple[int, int]) -> JoinLine:
    return JoinLine(
        passage=entry.passage,
        item=entry.item,
        from_x=(begin[0] + 1) * COLUMN_WIDTH - MARGIN,
        from_y=begin[1] + 0.5,
        to_x=end[0] * COLUMN_WIDTH + MARGIN,
        to_y=end[1] + 0.5,
    )


def compare_lists(before: Sequence[str], after: Sequence[str]) -> list[ListMove]:
    """Return what entered, left, moved and stayed, in the order of the newer list; what left comes last."""
    old = {item: rank for rank, item in reversed(list(enumerate(before, start=1)))}
    new = {item: rank for rank, item in reversed(list(enumerate(after, start=1)))}
    kept = [ListMove(item, old.get(item), rank) for item, rank in sorted(new.items(), key=lambda pair: pair[1])]
    left = [ListMove(item, rank, None) for item, rank in sorted(old.items(), key=lambda pair: pair[1])]
    return [*kept, *(move for move in left if move.item not in new)]


def list_passages(lists: Iterable[RankedList]) -> list[ListEntry]:
    """Return every passage that a column shows, once, those of the last column first."""
    found = {entry.passage: entry for ranked in reversed(list(lists)) for entry in reversed(ranked.entries)}
    order = [entry.passage for ranked in reversed(list(lists)) for entry in ranked.entries]
    return [found[passage] for passage in dict.fromkeys(order)]


def ranks_of(passage: str, lists: Iterable[RankedList]) -> dict[str, int]:
    """Return the place of a passage in each column that shows it."""
    return {
        ranked.name: next(entry.rank for entry in ranked.entries if entry.passage == passage)
        for ranked in lists
        if any(entry.passage == passage for entry in ranked.entries)
    }
