"""The charts as plain values, in plotly's own form. A colour is the name of one of the page's: `var(--accent)`.

The page's script paints them with the colours in force, so one chart is right on a light screen, a dark one and paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from assay.evaluation.reporting import wording
from assay.evaluation.reporting.content import Line
from assay.evaluation.waterfall import Waterfall
from assay.metrics.run_facts import LatencySummary

Figure = dict[str, Any]

_ROW = 34
"""Pixels of one row of a chart."""
_FRAME = 78
"""Pixels above and below the rows."""
_LONGEST_LABEL = 24


def interval_charts(lines: Sequence[tuple[str, Line]]) -> list[Figure]:
    """Draw values with their intervals, one figure for each range that metrics have, such as 0 to 1 and 0 to 5."""
    groups: dict[tuple[float | None, float | None], list[tuple[str, Line]]] = {}
    for name, line in lines:
        if line.value is not None:
            groups.setdefault((line.lowest, line.highest), []).append((name, line))
    return [interval_bars(group) for group in groups.values()]


def interval_bars(lines: Sequence[tuple[str, Line]]) -> Figure:
    """A value with its interval for each label, its baseline and what it must reach; the lines have one range."""
    known = [(name, line) for name, line in lines if line.value is not None]
    shown = list(zip(distinct_labels([name for name, _ in known]), (line for _, line in known), strict=True))
    bounded = [(label, line) for label, line in shown if line.low is not None and line.high is not None]
    alone = [(label, line) for label, line in shown if line.low is None or line.high is None]
    traces = [_values(bounded)] if bounded else []
    if alone:
        points = [(label, line.value) for label, line in alone]
        traces.append(_points("value, no interval", points, _marker("circle-open", "--accent", 10)))
    for name, marks, marker in (
        ("baseline", [(label, line.baseline) for label, line in shown], _marker("diamond-open", "--ink", 9)),
        ("required", [(label, line.floor) for label, line in shown], _marker("line-ns-open", "--fail", 16)),
    ):
        given = [(label, value) for label, value in marks if value is not None]
        if given:
            traces.append(_points(name, given, marker))
    layout = _layout(len(shown), legend=len(traces) > 1)
    layout["xaxis"] |= _axis([line for _, line in shown])
    # With several traces plotly would order rows by trace; the order of the table is kept.
    layout["yaxis"] |= {"categoryorder": "array", "categoryarray": [label for label, _ in shown]}
    return {"data": traces, "layout": layout}


def _axis(lines: Sequence[Line]) -> Figure:
    """Return an axis over the whole range of the metrics; where that is unbounded, over everything that is drawn."""
    drawn = [
        value
        for line in lines
        for value in (line.value, line.low, line.high, line.baseline, line.floor)
        if value is not None
    ]
    lowest = [line.lowest for line in lines if line.lowest is not None]
    highest = [line.highest for line in lines if line.highest is not None]
    low = min([*lowest, *drawn, 0.0])
    high = max([*highest, *drawn, *([] if highest else [low + 1.0])])
    margin = (high - low) * 0.02
    ticks = {"dtick": 0.2} if (low, high) == (0.0, 1.0) else {}
    return {"range": [low if low == 0.0 else low - margin, high + margin], **ticks}


def _values(shown: Sequence[tuple[str, Line]]) -> Figure:
    highs = [(line.high or 0.0) - (line.value or 0.0) for _, line in shown]
    lows = [(line.value or 0.0) - (line.low or 0.0) for _, line in shown]
    bars = {"type": "data", "symmetric": False, "array": highs, "arrayminus": lows, "thickness": 6, "width": 0}
    return _points(
        "value, 95 % interval",
        [(label, line.value) for label, line in shown],
        _marker("circle", "--accent", 10),
        error_x=bars | {"color": "var(--accent-soft)"},
    )


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
    return {
        "symbol": symbol,
        "color": f"var({colour})",
        "size": size,
        "line": {"width": 2, "color": f"var({colour})"},
    }


def latency_histogram(times: Sequence[float], total: LatencySummary) -> Figure:
    """How long cases took, with the percentiles."""
    layout = _layout(6, legend=False)
    layout["xaxis"] |= {"title": {"text": "milliseconds"}, "rangemode": "tozero"}
    layout["yaxis"] |= {"title": {"text": "cases"}, "autorange": True}
    layout["margin"] |= {"t": 64}
    layout["bargap"] = 0.06
    marks = [(name, getattr(total, name)) for name in ("p50", "p95", "p99")]
    given = [(name, value) for name, value in marks if value is not None]
    layout["shapes"] = [_upright(value) for _, value in given]
    layout["annotations"] = [_flag(name, value, place) for place, (name, value) in enumerate(given)]
    bars = {"type": "histogram", "x": list(times), "nbinsx": 30, "marker": {"color": "var(--accent)"}}
    return {"data": [bars | {"hovertemplate": "%{x} ms: %{y}<extra></extra>"}], "layout": layout}


def _upright(value: float) -> Figure:
    line = {"color": "var(--ink)", "width": 1, "dash": "dot"}
    return {"type": "line", "x0": value, "x1": value, "yref": "paper", "y0": 0, "y1": 1, "line": line}


def _flag(name: str, value: float, place: int) -> Figure:
    """Above the line; neighbours stand at different heights, so that they stay apart."""
    text = f"{name} {wording.number(value, 'ms')}"
    spot = {"x": value, "yref": "paper", "y": 1.02, "yshift": 15 * place, "yanchor": "bottom"}
    return spot | {"text": text, "showarrow": False, "font": {"size": 12}, "xanchor": "center"}


def funnel(water: Waterfall) -> Figure:
    """How many gold items passed each step, and of how many that is not known."""
    total = len(water.fates)
    names = ["gold", *(wording.step_name(step, water.k) for step in water.steps)]
    passed = [total, *(water.reached(step) for step in water.steps)]
    doubtful = [0, *(water.doubtful(step) for step in water.steps)]
    traces = [_bars("passed", names, passed, "--accent")]
    if any(doubtful):
        traces.append(_bars("not known", names, doubtful, "--doubt"))
    layout = _layout(len(names), legend=any(doubtful)) | {"barmode": "stack", "bargap": 0.3}
    layout["xaxis"] |= {"range": [0, total * 1.02], "title": {"text": "gold items"}}
    return {"data": traces, "layout": layout}


def _bars(name: str, labels: Sequence[str], counts: Sequence[int], colour: str) -> Figure:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "x": list(counts),
        "y": list(labels),
        "text": [str(count) if count else "" for count in counts],
        "textposition": "inside",
        "insidetextanchor": "end",
        "insidetextfont": {"color": "var(--on-accent)"},
        "marker": {"color": f"var({colour})"},
        "hovertemplate": "%{y}: %{x}<extra>" + name + "</extra>",
    }


def _layout(rows: int, *, legend: bool) -> Figure:
    return {
        "height": rows * _ROW + _FRAME + (28 if legend else 0),
        "margin": {"l": 8, "r": 12, "t": 34, "b": 36},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "var(--ink)", "size": 13, "family": "var(--sans)"},
        "xaxis": {"gridcolor": "var(--rule)", "zeroline": False, "automargin": True, "fixedrange": True},
        "yaxis": {
            "autorange": "reversed",
            "automargin": True,
            "fixedrange": True,
            "ticklabelstandoff": 8,
            "gridcolor": "var(--rule)",
            "zeroline": False,
        },
        "showlegend": legend,
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.0, "yanchor": "bottom"},
        "hoverlabel": {"bgcolor": "var(--card)", "font": {"color": "var(--ink)"}, "bordercolor": "var(--rule)"},
    }


def distinct_labels(names: Sequence[str], longest: int = _LONGEST_LABEL) -> list[str]:
    """Shorten names to labels that stay apart, free of what plotly would read as markup.

    A long name loses its middle, since parameters at its end tell metrics apart. Names that would still share a label
    keep all of it: rows with one label are drawn on one line.
    """
    kept = [_shortened(name, longest) for name in names]
    shared = {label for label in kept if kept.count(label) > 1}
    return [escape(name if label in shared else label, quote=False) for name, label in zip(names, kept, strict=True)]


def _shortened(name: str, longest: int) -> str:
    if len(name) <= longest:
        return name
    ending = longest // 2
    return f"{name[: longest - ending - 1]}…{name[-ending:]}"
