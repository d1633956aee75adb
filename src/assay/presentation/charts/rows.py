"""Figures with one row for each name: values with intervals, differences, bars, and steps that items pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from assay.presentation.charts.figures import Figure, Key, Mark, Scale, Shape, Table, whole_range
from assay.presentation.charts.labels import ROW, label_rows, write_interval, write_number

_MIDDLE = ROW / 2


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
_WITH_INTERVAL = Key(name="value, 95 % interval", shape=Shape.DOT, colour="accent")
_WITHOUT = Key(name="value, no interval", shape=Shape.RING, colour="accent")
_BASELINE = Key(name="baseline", shape=Shape.DIAMOND, colour="ink")
_REQUIRED = Key(name="required", shape=Shape.TICK, colour="fail")


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
    scale = _range_of([measure for _, measure in known])
    legend: dict[Key, None] = {}
    marks = []
    for name, measure in known:
        own = _draw_measure(name, measure, scale)
        legend |= dict.fromkeys(key for key, _ in own)
        marks.append([mark for _, mark in own])
    keys = [key for key in (_WITH_INTERVAL, _WITHOUT, _BASELINE, _REQUIRED) if key in legend]
    table = Table(
        columns=("metric", "value", "95 % interval", "baseline", "required"),
        rows=tuple(
            (
                name,
                write_number(one.value),
                write_interval(one.low, one.high),
                write_number(one.baseline),
                write_number(one.floor),
            )
            for name, one in known
        ),
    )
    return Figure(
        panels=tuple(label_rows([name for name, _ in known], marks)),
        ticks=scale.ticks(),
        table=table,
        legend=tuple(keys) if len(keys) > 1 else (),
    )


def _draw_measure(name: str, measure: Measure, scale: Scale) -> list[tuple[Key, Mark]]:
    """Return the marks of one row with the line of the legend they belong to."""
    value = measure.value or 0.0
    bounded = measure.low is not None and measure.high is not None
    title = f"{name}: {value:.3f} {write_interval(measure.low, measure.high)}"
    drawn = []
    if measure.low is not None and measure.high is not None:
        span = Mark(
            shape=Shape.SPAN, x=scale.at(measure.low), x2=scale.at(measure.high), y=_MIDDLE, size=6,
            colour="accent-soft", title=title,
        )  # fmt: skip
        drawn.append((_WITH_INTERVAL, span))
    key = _WITH_INTERVAL if bounded else _WITHOUT
    drawn.append((key, Mark(shape=key.shape, x=scale.at(value), y=_MIDDLE, title=title)))
    for key, other in ((_BASELINE, measure.baseline), (_REQUIRED, measure.floor)):
        if other is not None:
            title = f"{name}, {key.name}: {other:.3f}"
            drawn.append((key, Mark(shape=key.shape, x=scale.at(other), y=_MIDDLE, colour=key.colour, title=title)))
    return drawn


def _range_of(measures: Sequence[Measure]) -> Scale:
    """Return a scale over the whole range of the metrics; where that is unbounded, over everything that is drawn."""
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
    return Scale(low - (0.0 if low == 0.0 else margin), high + margin, 1.0, 99.0)


class ChartChange(NamedTuple):
    """A difference with its interval, and whether it was seen."""

    name: str
    delta: float
    low: float | None
    high: float | None
    verdict: str


_CHANGE_COLOURS = {"better": "pass", "worse": "fail"}


def changes(found: Sequence[ChartChange]) -> Figure:
    """Draw differences between two runs with their intervals, around the line of no difference."""
    # The line of no difference is always in sight.
    scale = whole_range([value for change in found for value in (change.delta, change.low, change.high)], 0.0)
    margin = (scale.high - scale.low) * 0.04
    scale = Scale(scale.low - margin, scale.high + margin)
    table = Table(
        columns=("metric", "difference", "95 % interval", "verdict"),
        rows=tuple(
            (change.name, f"{change.delta:+.3f}", write_interval(change.low, change.high, "+.3f"), change.verdict)
            for change in found
        ),
    )
    return Figure(
        panels=tuple(label_rows([change.name for change in found], [_draw_change(change, scale) for change in found])),
        ticks=scale.ticks(form="+.3g"),
        across="difference",
        table=table,
    )


def _draw_change(change: ChartChange, scale: Scale) -> list[Mark]:
    """Return a difference with its interval; without one it is drawn hollow."""
    colour = _CHANGE_COLOURS.get(change.verdict, "doubt")
    title = f"{change.name}: {change.delta:+.3f} {write_interval(change.low, change.high, '+.3f')}, {change.verdict}"
    at = scale.at(change.delta)
    if change.low is None or change.high is None:
        return [Mark(shape=Shape.RING, x=at, y=_MIDDLE, colour=colour, title=title)]
    ends = Mark(
        shape=Shape.WHISKER, x=scale.at(change.low), x2=scale.at(change.high), y=_MIDDLE, colour=colour, title=title
    )
    return [ends, Mark(shape=Shape.DOT, x=at, y=_MIDDLE, colour=colour, title=title)]


class FunnelStep(NamedTuple):
    """One step that gold items pass."""

    name: str
    passed: int
    doubtful: int
    """Of how many it is not known whether they passed."""


def funnel(found: Sequence[FunnelStep]) -> Figure:
    """Draw how many gold items passed each step, and of how many that is not known; the first step has all."""
    scale = Scale(0.0, float(max(1, found[0].passed)))
    doubted = any(step.doubtful for step in found)
    marks = []
    for step in found:
        passed, both = scale.at(step.passed), scale.at(step.passed + step.doubtful)
        own = [_row_bar(0.0, passed, "accent", f"{step.name}: {step.passed:,} passed")] if step.passed else []
        if step.doubtful:
            own.append(_row_bar(passed, both, "doubt", f"{step.name}: {step.doubtful:,} not known"))
        text = f"{step.passed:,}" + (f" + {step.doubtful:,}" if step.doubtful else "")
        marks.append([*own, _bar_text(both, text)])
    keys = (
        Key(name="passed", shape=Shape.BAR, colour="accent"),
        Key(name="not known", shape=Shape.BAR, colour="doubt"),
    )
    return Figure(
        panels=tuple(label_rows([step.name for step in found], marks)),
        ticks=scale.ticks(5),
        across="gold items",
        legend=keys if doubted else (),
        table=Table(
            columns=("step", "passed", "not known"),
            rows=tuple((step.name, f"{step.passed:,}", f"{step.doubtful:,}") for step in found),
        ),
    )


def _row_bar(begin: float, end: float, colour: str, title: str, address: str = "") -> Mark:
    width = round(end - begin, 3)
    return Mark(shape=Shape.BAR, x=begin, x2=width, y=5, y2=ROW - 10, colour=colour, title=title, address=address)


def _bar_text(end: float, text: str) -> Mark:
    """Return the number at the end of a bar: inside where there is no room beside it."""
    inside = end > 84
    colour, anchor = ("on-accent", "end") if inside else ("ink", "start")
    return Mark(shape=Shape.TEXT, x=end, y=_MIDDLE + 4.5, text=text, anchor=anchor, colour=colour, data=False)


class Span(NamedTuple):
    """Something that took time."""

    name: str
    begin_ms: float
    end_ms: float
    colour: str = "accent"
    note: str = ""
    tokens: int | None = None
    cost: str = ""
    cached: bool = False
    depth: int = 0
    """How far it is indented: a part of the span above it has one more."""


def timeline(spans: Sequence[Span]) -> Figure:
    """Draw what was done when, one row a span; the table has tokens, cost and what was not done again."""
    scale = Scale(0.0, max([*(span.end_ms for span in spans), 1.0]))
    marks = []
    for span in spans:
        begin, end = scale.at(span.begin_ms), scale.at(span.end_ms)
        took = span.end_ms - span.begin_ms
        facts = [f"{span.tokens:,} tokens" if span.tokens is not None else "", span.cost, span.note]
        title = f"{span.name}: {took:,.1f} ms from {span.begin_ms:,.0f} ms on; {'; '.join(filter(None, facts))}"
        # A span too short to see is still there.
        wide = max(end, min(100.0, begin + 0.4))
        bar = _row_bar(min(begin, 99.6), wide, span.colour, title.removesuffix("; "))
        text = "cached" if span.cached else f"{took:,.0f} ms" if took >= 1 else f"{took:.1f} ms"
        marks.append([bar, _span_text(begin, wide, text)])
    names = [f"{'· ' * span.depth}{span.name.rpartition(': ')[2] if span.depth else span.name}" for span in spans]
    rows = tuple(
        (
            span.name,
            f"{span.begin_ms:,.0f} ms",
            f"{span.end_ms - span.begin_ms:,.1f} ms",
            "not counted" if span.tokens is None else f"{span.tokens:,}",
            span.cost or "not known",
            "yes" if span.cached else "no",
            span.note,
        )
        for span in spans
    )
    return Figure(
        panels=tuple(label_rows(names, marks)),
        ticks=scale.ticks(5),
        across="milliseconds",
        table=Table(columns=("span", "begins", "took", "tokens", "cost", "cached", "what"), rows=rows),
    )


def _span_text(begin: float, end: float, text: str) -> Mark:
    """Return how long a span took: behind its bar, or before it where there is no room."""
    at, anchor = (end, "start") if end < 80 or begin < 20 else (begin, "end")
    colour = "ink"
    if end >= 80 and begin < 20:
        at, anchor, colour = end, "end", "on-accent"
    return Mark(shape=Shape.TEXT, x=at, y=_MIDDLE + 4.5, text=text, anchor=anchor, colour=colour, data=False)


def bars(
    counts: Mapping[str, float], *, what: str, share: bool = False, addresses: Mapping[str, str] | None = None
) -> Figure:
    """Draw one bar a name, longest first; `addresses` says where bars lead."""
    rows = sorted(counts.items(), key=lambda row: -row[1])
    return _draw_bars(rows, what, share=share, addresses=addresses or {})


def steps(rows: Sequence[tuple[str, int]]) -> Figure:
    """Draw how many were left after each step of a search."""
    return _draw_bars(rows, "left after the step")


def _draw_bars(
    rows: Sequence[tuple[str, float]], what: str, *, share: bool = False, addresses: Mapping[str, str] | None = None
) -> Figure:
    scale = Scale(0.0, float(max((value for _, value in rows), default=1) or 1))
    leads = addresses or {}
    texts = [f"{value:.0%}" if share else f"{value:,.0f}" for _, value in rows]
    marks = [
        [
            _row_bar(0.0, scale.at(value), "accent", f"{name}: {text}", leads.get(name, "")),
            _bar_text(scale.at(value), text),
        ]
        for (name, value), text in zip(rows, texts, strict=True)
    ]
    return Figure(
        panels=tuple(label_rows([name for name, _ in rows], marks, leads)),
        ticks=scale.ticks(5, form=".0%" if share else ""),
        across=what,
        table=Table(
            columns=("name", what), rows=tuple((name, text) for (name, _), text in zip(rows, texts, strict=True))
        ),
    )
