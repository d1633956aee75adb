"""Figures in plotly's own form, as plain values; `charts.js` draws them in the colours in force.

Runs' own figures (intervals of a run, its funnel, its latencies) are the report's: see `assay.evaluation.reporting`.
Only scatter and bar are used: they run under a policy that forbids evaluating text as code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from assay.evaluation.reporting.charts import distinct_labels

Figure = dict[str, Any]

_ROW, _FRAME, _LONGEST_LABEL = 34, 78, 28


class Change(NamedTuple):
    """A difference with its interval, and whether it was seen."""

    name: str
    delta: float
    low: float | None
    high: float | None
    verdict: str


def label(text: str) -> str:
    """Short, and free of what plotly would read as markup."""
    return labels([text])[0]


def labels(texts: Sequence[str]) -> list[str]:
    """Labels of rows: short, free of markup, and never the same for two different names."""
    return distinct_labels(texts, _LONGEST_LABEL)


def layout(height: int, *, legend: bool = False, **more: Any) -> Figure:
    """What all figures share."""
    axis = {"gridcolor": "var(--rule)", "zeroline": False, "automargin": True, "fixedrange": True}
    return {
        "height": height,
        "margin": {"l": 8, "r": 12, "t": 12 if not legend else 34, "b": 36},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "var(--ink)", "size": 13, "family": "var(--sans)"},
        "xaxis": {**axis},
        "yaxis": {**axis, "ticklabelstandoff": 8},
        "showlegend": legend,
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.0, "yanchor": "bottom"},
        "hoverlabel": {"bgcolor": "var(--card)", "font": {"color": "var(--ink)"}, "bordercolor": "var(--rule)"},
        **more,
    }


def changes(found: Sequence[Change]) -> Figure:
    """Differences between two runs with their intervals, around the line of no difference."""
    colours = {"better": "var(--pass)", "worse": "var(--fail)"}
    order = labels([one.name for one in found])
    named = [change._replace(name=name) for change, name in zip(found, order, strict=True)]
    traces = []
    for verdict in ("better", "worse", "other"):
        own = [one for one in named if (one.verdict if one.verdict in colours else "other") == verdict]
        for bounded in (True, False):
            drawn_so = [one for one in own if (one.low is not None and one.high is not None) is bounded]
            if drawn_so:
                traces.append(_change_points(drawn_so, colours.get(verdict, "var(--doubt)"), verdict, bounded=bounded))
    drawn = layout(len(found) * _ROW + _FRAME)
    # The line of no difference is always in sight.
    zero = {"zeroline": True, "zerolinecolor": "var(--quiet)", "rangemode": "tozero"}
    drawn["xaxis"] |= {**zero, "title": {"text": "difference"}}
    drawn["yaxis"] |= {"autorange": "reversed", "categoryorder": "array", "categoryarray": order}
    return {"data": traces, "layout": drawn}


def _change_points(own: Sequence[Change], colour: str, name: str, *, bounded: bool) -> Figure:
    """Points with their intervals; without `bounded` they have none and are drawn hollow."""
    trace: Figure = {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [one.delta for one in own],
        "y": [one.name for one in own],
        "marker": {"color": colour, "size": 10},
        "hovertemplate": "%{y}: %{x:+.3f}, no interval<extra></extra>",
    }
    if not bounded:
        return {**trace, "marker": {"color": colour, "size": 10, "symbol": "circle-open", "line": {"width": 2}}}
    highs = [0.0 if one.high is None else one.high - one.delta for one in own]
    lows = [0.0 if one.low is None else one.delta - one.low for one in own]
    error = {"type": "data", "symmetric": False, "array": highs, "arrayminus": lows, "thickness": 3, "width": 5}
    limits = [f"[{one.low:+.3f}, {one.high:+.3f}]" for one in own]
    shown = "%{y}: %{x:+.3f} %{customdata}<extra></extra>"
    return {**trace, "error_x": {**error, "color": colour}, "customdata": limits, "hovertemplate": shown}


def evidence_path(path: Sequence[tuple[int, float, float]], bound: float, least: int) -> Figure:
    """The evidence of a sequential test after each vote, against the line at which it decides."""
    votes = [count for count, _, _ in path]
    names = (("treatment better", 1, "--pass"), ("treatment worse", 2, "--fail"))
    traces = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": votes,
            "y": [point[place] for point in path],
            "line": {"color": f"var({colour})", "width": 2},
            "hovertemplate": "%{x} votes: ln K %{y:.2f}<extra>" + name + "</extra>",
        }
        for name, place, colour in names
    ]
    drawn = layout(320, legend=True)
    drawn["xaxis"] |= {"title": {"text": "votes"}, "rangemode": "tozero"}
    drawn["yaxis"] |= {"title": {"text": "evidence, ln K"}}
    drawn["shapes"] = [_level(bound)]
    drawn["annotations"] = [_note(bound, f"decides at {bound:.2f}")]
    if votes and least <= max(votes) * 1.5:
        drawn["shapes"].append(_upright(least))
    return {"data": traces, "layout": drawn}


def _level(value: float) -> Figure:
    line = {"color": "var(--ink)", "width": 1, "dash": "dot"}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": value, "y1": value, "line": line}


def _upright(value: float) -> Figure:
    line = {"color": "var(--doubt)", "width": 1, "dash": "dot"}
    return {"type": "line", "x0": value, "x1": value, "yref": "paper", "y0": 0, "y1": 1, "line": line}


def _note(value: float, text: str) -> Figure:
    spot = {"xref": "paper", "x": 1, "xanchor": "right", "y": value, "yanchor": "bottom", "showarrow": False}
    return {**spot, "text": escape(text, quote=False), "font": {"size": 12, "color": "var(--quiet)"}}


def histogram(counts: Sequence[int], *, bar: float | None = None) -> Figure:
    """How many sessions have which score; bins of equal width from 0 to 1."""
    width = 1 / len(counts)
    centres = [(place + 0.5) * width for place in range(len(counts))]
    spans = [f"{place * width:.2f} to {(place + 1) * width:.2f}" for place in range(len(counts))]
    colours = ["var(--accent)" if bar is None or one >= bar else "var(--accent-soft)" for one in centres]
    trace = {
        "type": "bar",
        "x": centres,
        "y": list(counts),
        "width": [width * 0.92] * len(counts),
        "marker": {"color": colours},
        "customdata": spans,
        "hovertemplate": "%{customdata}: %{y}<extra></extra>",
    }
    drawn = layout(240)
    drawn["xaxis"] |= {"range": [0, 1], "dtick": 0.2, "title": {"text": "overall score"}}
    drawn["yaxis"] |= {"title": {"text": "questions"}, "rangemode": "tozero"}
    if bar is not None:
        drawn["shapes"] = [_upright(bar)]
    return {"data": [trace], "layout": drawn}


def bars(counts: Mapping[str, float], *, what: str, share: bool = False) -> Figure:
    """One bar a name, longest first."""
    rows = sorted(counts.items(), key=lambda one: -one[1])
    trace = {
        "type": "bar",
        "orientation": "h",
        "x": [value for _, value in rows],
        "y": labels([name for name, _ in rows]),
        "text": [f"{value:.0%}" if share else f"{value:,.0f}" for _, value in rows],
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": "var(--accent)"},
        "hovertemplate": "%{y}: %{text}<extra></extra>",
    }
    drawn = layout(len(rows) * _ROW + _FRAME)
    most = max((value for _, value in rows), default=1)
    drawn["xaxis"] |= {"title": {"text": what}, "range": [0, most * 1.15 or 1]}
    drawn["yaxis"] |= {"autorange": "reversed"}
    if share:
        drawn["xaxis"] |= {"tickformat": ".0%"}
    return {"data": [trace], "layout": drawn}


class Point(NamedTuple):
    """One place of a line with its interval."""

    at: str
    value: float | None
    low: float | None
    high: float | None
    scored: int


def trend(points: Sequence[Point]) -> Figure:
    """A mean over time with its interval as a band."""
    known = [one for one in points if one.value is not None]
    ends = [one for one in known if one.low is not None and one.high is not None]
    band = {
        "type": "scatter",
        "mode": "lines",
        "x": [*(one.at for one in ends), *(one.at for one in reversed(ends))],
        "y": [*(one.high for one in ends), *(one.low for one in reversed(ends))],
        "fill": "toself",
        "fillcolor": "var(--accent-wash)",
        "line": {"width": 0},
        "hoverinfo": "skip",
    }
    line = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": [one.at for one in known],
        "y": [one.value for one in known],
        "customdata": [one.scored for one in known],
        "line": {"color": "var(--accent)", "width": 2},
        "marker": {"size": 7},
        "hovertemplate": "%{x}: %{y:.3f} over %{customdata}<extra></extra>",
    }
    drawn = layout(240)
    drawn["yaxis"] |= {"range": [0, 1.02], "dtick": 0.2, "title": {"text": "mean score"}}
    drawn["xaxis"] |= {"type": "date", "tickformat": "%d %b"}
    if len({one.at for one in known}) == 1:
        drawn["xaxis"] |= {"type": "category"}
    return {"data": [band, line] if len(ends) > 1 else [line], "layout": drawn}


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


def neighbours(nodes: Sequence[Node], ties: Sequence[Tie]) -> Figure:
    """The first node in the middle, its neighbours in a ring around it, theirs in a second one."""
    spots = _rings(nodes)
    lines: Figure = {
        "type": "scatter",
        "mode": "lines",
        "x": [value for tie in ties for value in (spots[tie.source][0], spots[tie.target][0], None)],
        "y": [value for tie in ties for value in (spots[tie.source][1], spots[tie.target][1], None)],
        "line": {"color": "var(--doubt)", "width": 1.4},
        "hoverinfo": "skip",
    }
    middles = {
        "type": "scatter",
        "mode": "text",
        "x": [(spots[tie.source][0] + spots[tie.target][0]) / 2 for tie in ties],
        "y": [(spots[tie.source][1] + spots[tie.target][1]) / 2 for tie in ties],
        "text": [escape(tie.kind.replace("_", " "), quote=False) for tie in ties],
        "textfont": {"size": 11, "color": "var(--quiet)"},
        "hoverinfo": "skip",
    }
    dots = {
        "type": "scatter",
        "mode": "markers+text",
        "x": [x for x, _ in spots],
        "y": [y for _, y in spots],
        "text": [label(one.title) for one in nodes],
        "textposition": ["bottom center" if y <= 0 else "top center" for _, y in spots],
        "cliponaxis": False,
        "marker": {
            "size": [22 if one.hops == 0 else 14 if one.hops == 1 else 10 for one in nodes],
            "color": ["var(--accent)" if one.hops == 0 else "var(--accent-soft)" for one in nodes],
        },
        "customdata": [one.address for one in nodes],
        "hovertemplate": "%{text}<extra></extra>",
    }
    drawn = layout(380)
    for axis in ("xaxis", "yaxis"):
        drawn[axis] = {"visible": False, "range": [-1.45, 1.45], "fixedrange": True}
    return {"data": [lines, middles, dots], "layout": drawn}


def _rings(nodes: Sequence[Node]) -> list[tuple[float, float]]:
    sizes = {hops: sum(1 for one in nodes if one.hops == hops) for hops in {one.hops for one in nodes}}
    furthest = max(sizes, default=0) or 1
    taken: dict[int, int] = dict.fromkeys(sizes, 0)
    spots = []
    for one in nodes:
        angle = 2 * math.pi * (taken[one.hops] + 0.25 * one.hops) / max(sizes[one.hops], 1) + math.pi / 7
        taken[one.hops] += 1
        reach = one.hops / furthest
        spots.append((reach * math.cos(angle), reach * math.sin(angle)))
    return spots


def steps(rows: Sequence[tuple[str, int]]) -> Figure:
    """How many were left after each step of a search."""
    trace = {
        "type": "bar",
        "orientation": "h",
        "x": [count for _, count in rows],
        "y": labels([name for name, _ in rows]),
        "text": [f"{count:,}" for _, count in rows],
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": "var(--accent)"},
        "hovertemplate": "%{y}: %{x}<extra></extra>",
    }
    drawn = layout(len(rows) * _ROW + _FRAME)
    most = max((count for _, count in rows), default=1) or 1
    drawn["xaxis"] |= {"range": [0, most * 1.12], "title": {"text": "left after the step"}}
    drawn["yaxis"] |= {"autorange": "reversed"}
    return {"data": [trace], "layout": drawn}
