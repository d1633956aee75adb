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


_NODE = 46
"""Pixels from one node to the next in its column."""
_COLUMNS = {0: 3.0, 1: 36.0, 2: 70.0}
_TITLE = 30


def neighbours(nodes: Sequence[Node], ties: Sequence[Tie]) -> Figure:
    """Draw a memory on the left, its neighbours beside it and theirs on the right; arrows run as the edges do."""
    columns: dict[int, list[int]] = {}
    for place, node in enumerate(nodes):
        columns.setdefault(min(node.hops, 2), []).append(place)
    height = _NODE * max((len(own) for own in columns.values()), default=1) + 12
    spots: dict[int, Place] = {}
    for hops, own in columns.items():
        spare = (height - _NODE * len(own)) / 2
        for order, place in enumerate(own):
            spots[place] = (_COLUMNS[hops], round(spare + _NODE * (order + 0.6), 1))
    kinds: dict[int, list[str]] = {}
    marks = [_draw_tie(tie, nodes, spots, kinds) for tie in ties]
    for place, node in enumerate(nodes):
        x, y = spots[place]
        dot = Mark(
            shape=Shape.DOT, x=x, y=y, size=9 if node.hops == 0 else 6, title=node.title, address=node.address,
            colour="accent" if node.hops == 0 else "accent-soft",
        )  # fmt: skip
        marks += [
            dot,
            Mark(
                shape=Shape.TEXT,
                x=x,
                y=y + 4.5,
                text=f"  {shorten(node.title, _TITLE)}",
                anchor="start",
                colour="ink",
                title=node.title,
                data=False,
            ),
        ]
        if place in kinds:
            marks.append(
                Mark(
                    shape=Shape.TEXT,
                    x=x,
                    y=y - 11,
                    text=", ".join(dict.fromkeys(kinds[place])),
                    anchor="start",
                    colour="quiet",
                    data=False,
                )
            )
    rows = tuple((nodes[tie.source].title, tie.kind.replace("_", " "), nodes[tie.target].title) for tie in ties)
    return Figure(
        panels=(Panel(height=height, marks=tuple(marks)),), table=Table(columns=("from", "edge", "to"), rows=rows)
    )


def _draw_tie(tie: Tie, nodes: Sequence[Node], spots: Mapping[int, Place], kinds: dict[int, list[str]]) -> Mark:
    """Return the arrow of an edge, and note its kind at the end that is further from the middle."""
    outward = nodes[tie.target].hops >= nodes[tie.source].hops
    kind = tie.kind.replace("_", " ")
    kinds.setdefault(tie.target if outward else tie.source, []).append(f"{kind} →" if outward else f"← {kind}")
    (x, y), (x2, y2) = spots[tie.source], spots[tie.target]
    gap = 1.6 if x2 > x else -1.6 if x2 < x else 0.0
    return Mark(
        shape=Shape.ARROW, x=round(x + gap, 2), y=y, x2=round(x2 - gap, 2), y2=y2, colour="doubt",
        title=f"{nodes[tie.source].title} {kind} {nodes[tie.target].title}",
    )  # fmt: skip
