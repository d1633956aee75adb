"""The drawing of a memory and its neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from assay.presentation.charts.figures import Figure, Mark, Panel, Place, Shape, Table
from assay.presentation.charts.labels import shorten


class Node(NamedTuple):
    """A memory in a drawing of its neighbours."""

    title: str
    hops: int
    address: str


class Tie(NamedTuple):
    """An edge between two nodes, by their places."""

    source: int
    target: int
    kind: str


_NODE = 40
"""Pixels from one node to the next."""
_INDENTS = (2.0, 12.0, 24.0)
"""Where nodes of each distance stand, in per cent of the width."""
_TITLE = 40


def neighbours(nodes: Sequence[Node], ties: Sequence[Tie]) -> Figure:
    """Draw a memory, its neighbours below it and theirs below those, one row each; arrows run as the edges do."""
    spots = _place(nodes, ties)
    kinds: dict[int, list[str]] = {}
    marks = [_draw_tie(tie, nodes, spots, kinds) for tie in ties]
    for place, node in enumerate(nodes):
        x, y = spots[place]
        dot = Mark(
            shape=Shape.DOT, x=x, y=y, size=9 if node.hops == 0 else 6, title=node.title, address=node.address,
            colour="accent" if node.hops == 0 else "accent-soft",
        )  # fmt: skip
        marks += [dot, _write(x, y + 4.5, f"  {shorten(node.title, _TITLE)}", "ink")]
        if place in kinds:
            marks.append(_write(x, y - 10, f"  {', '.join(dict.fromkeys(kinds[place]))}", "quiet"))
    rows = tuple((nodes[tie.source].title, tie.kind.replace("_", " "), nodes[tie.target].title) for tie in ties)
    panel = Panel(height=_NODE * max(1, len(nodes)) + 8, marks=tuple(marks))
    return Figure(panels=(panel,), table=Table(columns=("from", "edge", "to"), rows=rows))


def _write(x: float, y: float, text: str, colour: str) -> Mark:
    return Mark(shape=Shape.TEXT, x=x, y=y, text=text, anchor="start", colour=colour, data=False)


def _place(nodes: Sequence[Node], ties: Sequence[Tie]) -> dict[int, Place]:
    """Return where each node stands: in the row below the node that leads to it."""
    beside: dict[int, list[int]] = {}
    for tie in ties:
        beside.setdefault(tie.source, []).append(tie.target)
        beside.setdefault(tie.target, []).append(tie.source)
    order: dict[int, None] = {}

    def visit(place: int) -> None:
        order[place] = None
        for other in sorted(beside.get(place, ())):
            if other not in order and nodes[other].hops > nodes[place].hops:
                visit(other)

    for place in sorted(range(len(nodes)), key=lambda place: nodes[place].hops):
        if place not in order:
            visit(place)
    return {
        place: (_INDENTS[min(nodes[place].hops, 2)], round(_NODE * (row + 0.5) + 4, 1))
        for row, place in enumerate(order)
    }


def _draw_tie(tie: Tie, nodes: Sequence[Node], spots: Mapping[int, Place], kinds: dict[int, list[str]]) -> Mark:
    """Return the arrow of an edge, and note its kind at the end that is further from the middle."""
    outward = nodes[tie.target].hops >= nodes[tie.source].hops
    kind = tie.kind.replace("_", " ")
    kinds.setdefault(tie.target if outward else tie.source, []).append(f"{kind} →" if outward else f"← {kind}")
    (x, y), (x2, y2) = spots[tie.source], spots[tie.target]
    gap = 10.0 if y2 > y else -10.0 if y2 < y else 0.0
    return Mark(
        shape=Shape.ARROW, x=x, y=y + gap, x2=x2, y2=y2 - gap, colour="doubt",
        title=f"{nodes[tie.source].title} {kind} {nodes[tie.target].title}",
    )  # fmt: skip
