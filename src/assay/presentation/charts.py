"""The chart kit: figures in plotly's own form, as plain values.

A colour is the name of one of the style sheet's: `var(--accent)`. `charts.js` draws with the colours in force, so one
figure is right on a light screen, a dark one and paper. `layout` and `row_layout` are what all figures share,
`distinct_labels` keeps rows apart; below them is one function for each kind of figure. Only scatter, bar and histogram
are used: they run under a policy that forbids evaluating text as code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple, Protocol

Figure = dict[str, Any]

_ROW = 34
"""Pixels of one row of a chart."""
_FRAME = 56
"""Pixels above and below the rows."""
_LEGEND = 50
"""Pixels that a legend adds."""
_LONGEST_LABEL = 24


def layout(height: int, *, legend: bool = False) -> Figure:
    """Return what all figures share."""
    axis = {"gridcolor": "var(--rule)", "zeroline": False, "automargin": True, "fixedrange": True}
    return {
        "height": height,
        "margin": {"l": 8, "r": 12, "t": 34 if legend else 12, "b": 36},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "var(--ink)", "size": 13, "family": "var(--sans)"},
        "xaxis": {**axis},
        "yaxis": {**axis, "ticklabelstandoff": 8},
        "showlegend": legend,
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.0, "yanchor": "bottom"},
        "hoverlabel": {"bgcolor": "var(--card)", "font": {"color": "var(--ink)"}, "bordercolor": "var(--rule)"},
    }


def row_layout(rows: int, *, legend: bool = False) -> Figure:
    """Return the layout of a figure with one row for each name, the first on top."""
    made = layout(rows * _ROW + _FRAME + (_LEGEND if legend else 0), legend=legend)
    made["yaxis"] |= {"autorange": "reversed"}
    return made


def distinct_labels(names: Sequence[str], longest: int = _LONGEST_LABEL) -> list[str]:
    """Shorten names to labels that stay apart, free of what plotly would read as markup.

    A long name loses its middle, since parameters at its end distinguish metrics. Names that would still share a label
    keep all of it: rows with one label are drawn on one line.
    """
    kept = [_shorten(name, longest) for name in names]
    shared = {label for label in kept if kept.count(label) > 1}
    return [escape(name if label in shared else label, quote=False) for name, label in zip(names, kept, strict=True)]


def _shorten(name: str, longest: int) -> str:
    if len(name) <= longest:
        return name
    ending = longest // 2
    return f"{name[: longest - ending - 1]}…{name[-ending:]}"


def _points(name: str, given: Sequence[tuple[str, float | None]], marker: Figure, **more: Any) -> Figure:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [value for _, value in given],
        "y": [label for label, _ in given],
        "marker": marker,
        "hovertemplate": "%{y}: %{x:.3f}",
        **more,
    }


def _marker(symbol: str, colour: str, size: int) -> Figure:
    return {"symbol": symbol, "color": colour, "size": size, "line": {"width": 2, "color": colour}}


def _error_bars(lows: Sequence[float], highs: Sequence[float], colour: str, **more: Any) -> Figure:
    """Return the intervals of points, as distances below and above them."""
    return {
        "type": "data",
        "symmetric": False,
        "array": list(highs),
        "arrayminus": list(lows),
        "color": colour,
        **more,
    }


def _row_bars(labels: Sequence[str], values: Sequence[float], texts: Sequence[str], **more: Any) -> Figure:
    """Return one bar a row."""
    return {
        "type": "bar",
        "orientation": "h",
        "x": list(values),
        "y": list(labels),
        "text": list(texts),
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": "var(--accent)"},
        "hovertemplate": "%{y}: %{text}<extra></extra>",
        **more,
    }


def _level(value: float) -> Figure:
    line = {"color": "var(--ink)", "width": 1, "dash": "dot"}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": value, "y1": value, "line": line}


def _upright(value: float, colour: str = "var(--doubt)") -> Figure:
    line = {"color": colour, "width": 1, "dash": "dot"}
    return {"type": "line", "x0": value, "x1": value, "yref": "paper", "y0": 0, "y1": 1, "line": line}


def _note(value: float, text: str) -> Figure:
    spot = {"xref": "paper", "x": 1, "xanchor": "right", "y": value, "yanchor": "bottom", "showarrow": False}
    return {**spot, "text": escape(text, quote=False), "font": {"size": 12, "color": "var(--quiet)"}}


class Measure(Protocol):
    """A number with its interval; None: not known."""

    @property
    def value(self) -> float | None:
        """The number itself."""
        ...

    @property
    def low(self) -> float | None:
        """The lower end of its interval."""
        ...

    @property
    def high(self) -> float | None:
        """The upper end of its interval."""
        ...

    @property
    def baseline(self) -> float | None:
        """What it is compared with."""
        ...

    @property
    def floor(self) -> float | None:
        """What it must reach."""
        ...

    @property
    def lowest(self) -> float | None:
        """The smallest value it can have; None: there is none."""
        ...

    @property
    def highest(self) -> float | None:
        """The largest value it can have; None: there is none."""
        ...


Named = tuple[str, Measure]


def interval_charts(measures: Sequence[Named]) -> list[Figure]:
    """Draw values with their intervals, one figure for each range that metrics have, such as 0 to 1 and 0 to 5."""
    groups: dict[tuple[float | None, float | None], list[Named]] = {}
    for name, measure in measures:
        if measure.value is not None:
            groups.setdefault((measure.lowest, measure.highest), []).append((name, measure))
    return [interval_bars(group) for group in groups.values()]


def interval_bars(measures: Sequence[Named]) -> Figure:
    """Draw a value with its interval for each name, its baseline and what it must reach; all have one range."""
    known = [(name, measure) for name, measure in measures if measure.value is not None]
    labels = distinct_labels([name for name, _ in known])
    shown: list[Named] = [(label, measure) for label, (_, measure) in zip(labels, known, strict=True)]
    bounded = [(label, measure) for label, measure in shown if measure.low is not None and measure.high is not None]
    alone = [(label, measure.value) for label, measure in shown if measure.low is None or measure.high is None]
    traces = [_draw_values(bounded)] if bounded else []
    if alone:
        traces.append(_points("value, no interval", alone, _marker("circle-open", "var(--accent)", 10)))
    for name, marks, marker in (
        ("baseline", [(label, measure.baseline) for label, measure in shown], _marker("diamond-open", "var(--ink)", 9)),
        ("required", [(label, measure.floor) for label, measure in shown], _marker("line-ns-open", "var(--fail)", 16)),
    ):
        given = [(label, value) for label, value in marks if value is not None]
        if given:
            traces.append(_points(name, given, marker))
    drawn = row_layout(len(shown), legend=len(traces) > 1)
    drawn["xaxis"] |= _whole_range([measure for _, measure in shown])
    # With several traces plotly would order rows by trace; the order of the table is kept.
    drawn["yaxis"] |= {"categoryorder": "array", "categoryarray": [label for label, _ in shown]}
    return {"data": traces, "layout": drawn}


def _draw_values(shown: Sequence[Named]) -> Figure:
    highs = [(measure.high or 0.0) - (measure.value or 0.0) for _, measure in shown]
    lows = [(measure.value or 0.0) - (measure.low or 0.0) for _, measure in shown]
    return _points(
        "value, 95 % interval",
        [(label, measure.value) for label, measure in shown],
        _marker("circle", "var(--accent)", 10),
        error_x=_error_bars(lows, highs, "var(--accent-soft)", thickness=6, width=0),
    )


def _whole_range(measures: Sequence[Measure]) -> Figure:
    """Return an axis over the whole range of the metrics; where that is unbounded, over everything that is drawn."""
    drawn = [
        value
        for measure in measures
        for value in (measure.value, measure.low, measure.high, measure.baseline, measure.floor)
        if value is not None
    ]
    lowest = [measure.lowest for measure in measures if measure.lowest is not None]
    highest = [measure.highest for measure in measures if measure.highest is not None]
    low = min([*lowest, *drawn, 0.0])
    high = max([*highest, *drawn, *([] if highest else [low + 1.0])])
    margin = (high - low) * 0.02
    ticks = {"dtick": 0.2} if (low, high) == (0.0, 1.0) else {}
    return {"range": [low if low == 0.0 else low - margin, high + margin], **ticks}


def latency_histogram(times: Sequence[float], marks: Sequence[tuple[str, float]]) -> Figure:
    """Draw how long cases took in milliseconds, with a line at each of `marks`: a text and a time."""
    drawn = layout(282)
    drawn["xaxis"] |= {"title": {"text": "milliseconds"}, "rangemode": "tozero"}
    drawn["yaxis"] |= {"title": {"text": "cases"}}
    drawn["margin"] |= {"t": 64}
    drawn["bargap"] = 0.06
    drawn["shapes"] = [_upright(value, "var(--ink)") for _, value in marks]
    drawn["annotations"] = [_flag(text, value, place) for place, (text, value) in enumerate(marks)]
    bars = {"type": "histogram", "x": list(times), "nbinsx": 30, "marker": {"color": "var(--accent)"}}
    return {"data": [bars | {"hovertemplate": "%{x} ms: %{y}<extra></extra>"}], "layout": drawn}


def _flag(text: str, value: float, place: int) -> Figure:
    """Above the line; neighbours stand at different heights, so that they stay apart."""
    spot = {"x": value, "yref": "paper", "y": 1.02, "yshift": 15 * place, "yanchor": "bottom"}
    return spot | {"text": text, "showarrow": False, "font": {"size": 12}, "xanchor": "center"}


class FunnelStep(NamedTuple):
    """One step that gold items pass."""

    name: str
    passed: int
    doubtful: int
    """Of how many it is not known whether they passed."""


def funnel(steps: Sequence[FunnelStep]) -> Figure:
    """Draw how many gold items passed each step, and of how many that is not known; the first step has all."""
    names = [step.name for step in steps]
    traces = [_funnel_bars("passed", names, [step.passed for step in steps], "var(--accent)")]
    doubted = any(step.doubtful for step in steps)
    if doubted:
        traces.append(_funnel_bars("not known", names, [step.doubtful for step in steps], "var(--doubt)"))
    drawn = row_layout(len(names), legend=doubted) | {"barmode": "stack", "bargap": 0.3}
    drawn["xaxis"] |= {"range": [0, steps[0].passed * 1.02], "title": {"text": "gold items"}}
    return {"data": traces, "layout": drawn}


def _funnel_bars(name: str, labels: Sequence[str], counts: Sequence[int], colour: str) -> Figure:
    return _row_bars(
        labels,
        counts,
        [str(count) if count else "" for count in counts],
        name=name,
        textposition="inside",
        insidetextanchor="end",
        insidetextfont={"color": "var(--on-accent)"},
        marker={"color": colour},
        hovertemplate="%{y}: %{x}<extra>" + name + "</extra>",
    )


class ChartChange(NamedTuple):
    """A difference with its interval, and whether it was seen."""

    name: str
    delta: float
    low: float | None
    high: float | None
    verdict: str


def changes(found: Sequence[ChartChange]) -> Figure:
    """Differences between two runs with their intervals, around the line of no difference."""
    colours = {"better": "var(--pass)", "worse": "var(--fail)"}
    order = distinct_labels([change.name for change in found])
    named = [change._replace(name=name) for change, name in zip(found, order, strict=True)]
    traces = []
    for verdict in ("better", "worse", "other"):
        own = [change for change in named if (change.verdict if change.verdict in colours else "other") == verdict]
        for bounded in (True, False):
            drawn_so = [change for change in own if (change.low is not None and change.high is not None) is bounded]
            if drawn_so:
                traces.append(_change_points(drawn_so, colours.get(verdict, "var(--doubt)"), verdict, bounded=bounded))
    drawn = row_layout(len(found))
    # The line of no difference is always in sight.
    zero = {"zeroline": True, "zerolinecolor": "var(--quiet)", "rangemode": "tozero"}
    drawn["xaxis"] |= {**zero, "title": {"text": "difference"}}
    drawn["yaxis"] |= {"categoryorder": "array", "categoryarray": order}
    return {"data": traces, "layout": drawn}


def _change_points(own: Sequence[ChartChange], colour: str, name: str, *, bounded: bool) -> Figure:
    """Points with their intervals; without `bounded` they have none and are drawn hollow."""
    marker = _marker("circle" if bounded else "circle-open", colour, 10)
    given = [(change.name, change.delta) for change in own]
    if not bounded:
        return _points(name, given, marker, hovertemplate="%{y}: %{x:+.3f}, no interval<extra></extra>")
    highs = [0.0 if change.high is None else change.high - change.delta for change in own]
    lows = [0.0 if change.low is None else change.delta - change.low for change in own]
    return _points(
        name,
        given,
        marker,
        error_x=_error_bars(lows, highs, colour, thickness=3, width=5),
        customdata=[f"[{change.low:+.3f}, {change.high:+.3f}]" for change in own],
        hovertemplate="%{y}: %{x:+.3f} %{customdata}<extra></extra>",
    )


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


def histogram(counts: Sequence[int], *, bar: float | None = None) -> Figure:
    """How many sessions have which score; bins of equal width from 0 to 1."""
    width = 1 / len(counts)
    centres = [(place + 0.5) * width for place in range(len(counts))]
    spans = [f"{place * width:.2f} to {(place + 1) * width:.2f}" for place in range(len(counts))]
    colours = ["var(--accent)" if bar is None or centre >= bar else "var(--accent-soft)" for centre in centres]
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
    rows = sorted(counts.items(), key=lambda row: -row[1])
    values = [value for _, value in rows]
    texts = [f"{value:.0%}" if share else f"{value:,.0f}" for value in values]
    drawn = row_layout(len(rows))
    drawn["xaxis"] |= {"title": {"text": what}, "range": [0, max(values, default=1) * 1.15 or 1]}
    if share:
        drawn["xaxis"] |= {"tickformat": ".0%"}
    return {"data": [_row_bars(distinct_labels([name for name, _ in rows]), values, texts)], "layout": drawn}


class Point(NamedTuple):
    """One place of a line with its interval."""

    at: str
    value: float | None
    low: float | None
    high: float | None
    scored: int


def trend(points: Sequence[Point]) -> Figure:
    """A mean over time with its interval as a band."""
    known = [point for point in points if point.value is not None]
    ends = [point for point in known if point.low is not None and point.high is not None]
    band = {
        "type": "scatter",
        "mode": "lines",
        "x": [*(point.at for point in ends), *(point.at for point in reversed(ends))],
        "y": [*(point.high for point in ends), *(point.low for point in reversed(ends))],
        "fill": "toself",
        "fillcolor": "var(--accent-wash)",
        "line": {"width": 0},
        "hoverinfo": "skip",
    }
    line = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": [point.at for point in known],
        "y": [point.value for point in known],
        "customdata": [point.scored for point in known],
        "line": {"color": "var(--accent)", "width": 2},
        "marker": {"size": 7},
        "hovertemplate": "%{x}: %{y:.3f} over %{customdata}<extra></extra>",
    }
    drawn = layout(240)
    drawn["yaxis"] |= {"range": [0, 1.02], "dtick": 0.2, "title": {"text": "mean score"}}
    drawn["xaxis"] |= {"type": "date", "tickformat": "%d %b"}
    if len({point.at for point in known}) == 1:
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
        "text": [distinct_labels([node.title])[0] for node in nodes],
        "textposition": ["bottom center" if y <= 0 else "top center" for _, y in spots],
        "cliponaxis": False,
        "marker": {
            "size": [22 if node.hops == 0 else 14 if node.hops == 1 else 10 for node in nodes],
            "color": ["var(--accent)" if node.hops == 0 else "var(--accent-soft)" for node in nodes],
        },
        "customdata": [node.address for node in nodes],
        "hovertemplate": "%{text}<extra></extra>",
    }
    drawn = layout(380)
    for axis in ("xaxis", "yaxis"):
        drawn[axis] = {"visible": False, "range": [-1.45, 1.45], "fixedrange": True}
    return {"data": [lines, middles, dots], "layout": drawn}


def _rings(nodes: Sequence[Node]) -> list[tuple[float, float]]:
    sizes = {hops: sum(1 for node in nodes if node.hops == hops) for hops in {node.hops for node in nodes}}
    furthest = max(sizes, default=0) or 1
    taken: dict[int, int] = dict.fromkeys(sizes, 0)
    spots = []
    for node in nodes:
        angle = 2 * math.pi * (taken[node.hops] + 0.25 * node.hops) / max(sizes[node.hops], 1) + math.pi / 7
        taken[node.hops] += 1
        reach = node.hops / furthest
        spots.append((reach * math.cos(angle), reach * math.sin(angle)))
    return spots


def steps(rows: Sequence[tuple[str, int]]) -> Figure:
    """How many were left after each step of a search."""
    counts = [count for _, count in rows]
    drawn = row_layout(len(rows))
    most = max(counts, default=1) or 1
    drawn["xaxis"] |= {"range": [0, most * 1.12], "title": {"text": "left after the step"}}
    names = distinct_labels([name for name, _ in rows])
    return {"data": [_row_bars(names, counts, [f"{count:,}" for count in counts])], "layout": drawn}
