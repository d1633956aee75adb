"""Figures with two axes: histograms, values over time, parts of a whole over time, and the evidence of a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import NamedTuple

from assay.presentation.charts.figures import Figure, Key, Mark, Panel, Scale, Shape, Table, Tick, whole_range
from assay.presentation.charts.labels import write_interval, write_number

_TOP = 10.0
_HEIGHT = 200


def _down(scale: Scale, height: int = _HEIGHT, top: float = _TOP) -> Scale:
    """Return the same range of values laid over the pixels of a panel, the largest on top."""
    return Scale(scale.low, scale.high, float(height - 1), top)


def latency_histogram(times: Sequence[float], marks: Sequence[tuple[str, float]]) -> Figure:
    """Draw how long cases took in milliseconds, with a line at each of `marks`: a text and a time."""
    across = whole_range([*times, *(value for _, value in marks)], 0.0)
    bins = min(30, max(1, len(times)))
    width = across.high / bins
    counts = [0] * bins
    for value in times:
        counts[min(bins - 1, int(value / width))] += 1
    top = 12.0 + 15.0 * len(marks)
    down = _down(Scale(0.0, float(max(counts))), _HEIGHT + 30, top)
    spans = [f"{place * width:,.0f} to {(place + 1) * width:,.0f} ms" for place in range(bins)]
    drawn = [
        _column(place / bins, 1 / bins, count, down, f"{span}: {count:,}")
        for place, (count, span) in enumerate(zip(counts, spans, strict=True))
        if count
    ]
    for place, (text, value) in enumerate(marks):
        at = across.at(value)
        # Neighbours stand at different heights, so that they stay apart.
        y = 12.0 + 15.0 * (len(marks) - 1 - place)
        drawn += [
            Mark(shape=Shape.RULE, x=at, x2=at, y=y + 3, y2=down.begin, colour="ink", title=text, data=False),
            Mark(shape=Shape.TEXT, x=at, y=y, text=text, anchor=_anchor(at), colour="ink", data=False),
        ]
    table = Table(
        columns=("time", "cases"), rows=tuple((span, f"{count:,}") for span, count in zip(spans, counts, strict=True))
    )
    return _plane(drawn, down, across.ticks(5), table, across="milliseconds", name="cases")


def _anchor(at: float) -> str:
    return "start" if at < 15 else "end" if at > 85 else "middle"


def _column(
    begin: float, share: float, count: float, down: Scale, title: str, *, colour: str = "accent", address: str = ""
) -> Mark:
    """Return an upright bar from zero; `begin` and `share` are parts of the width."""
    top = down.at(count)
    return Mark(
        shape=Shape.BAR, x=round(100 * (begin + share * 0.04), 3), x2=round(100 * share * 0.92, 3), y=top,
        y2=round(down.begin - top, 3), title=title, colour=colour, address=address,
    )  # fmt: skip


def _plane(
    marks: Sequence[Mark],
    down: Scale,
    ticks: Sequence[Tick],
    table: Table,
    *,
    across: str = "",
    name: str = "",
    form: str = "",
    legend: Sequence[Key] = (),
) -> Figure:
    """Return a figure with two axes."""
    panel = Panel(height=int(down.begin) + 1, marks=tuple(marks), ticks=down.ticks(5, form=form))
    return Figure(panels=(panel,), ticks=tuple(ticks), table=table, across=across, down=name, legend=tuple(legend))


def histogram(counts: Sequence[int], *, bar: float | None = None, addresses: Sequence[str] = ()) -> Figure:
    """Draw how many questions have which score; bins of equal width from 0 to 1, each leading to its address."""
    width = 1 / len(counts)
    down = _down(Scale(0.0, float(max(*counts, 1))))
    spans = [f"{place * width:.2f} to {(place + 1) * width:.2f}" for place in range(len(counts))]
    marks = [
        _column(
            place * width, width, count, down, f"{spans[place]}: {count:,}",
            colour="accent" if bar is None or (place + 0.5) * width >= bar else "accent-soft",
            address=addresses[place] if addresses else "",
        )
        for place, count in enumerate(counts) if count
    ]  # fmt: skip
    if bar is not None:
        at = Scale(0.0, 1.0).at(bar)
        marks.append(
            Mark(
                shape=Shape.RULE,
                x=at,
                x2=at,
                y=0,
                y2=down.begin,
                colour="doubt",
                title=f"threshold {bar:.2f}",
                data=False,
            )
        )
    table = Table(
        columns=("overall score", "questions"),
        rows=tuple((span, f"{count:,}") for span, count in zip(spans, counts, strict=True)),
    )
    return _plane(marks, down, Scale(0.0, 1.0).ticks(6), table, across="overall score", name="questions")


class Point(NamedTuple):
    """One value over time with its interval."""

    at: str
    """The day, or the moment, in ISO form."""
    value: float | None
    low: float | None
    high: float | None
    scored: int
    address: str = ""
    note: str = ""
    """What else a reader sees who points at it."""


class Line(NamedTuple):
    """Values over time with a name."""

    name: str
    points: Sequence[Point]
    colour: str = "accent"


def trend(points: Sequence[Point], *, what: str = "mean score", low: float = 0.0, high: float | None = 1.0) -> Figure:
    """Draw a value over time with its interval as a band."""
    return lines([Line(what, points)], what=what, low=low, high=high)


def lines(
    found: Sequence[Line],
    *,
    what: str,
    low: float = 0.0,
    high: float | None = None,
    form: str = "",
    level: tuple[str, float] | None = None,
) -> Figure:
    """Draw values over time, with their intervals as bands; `level` is a line to compare with, and its name."""
    known = [point for line in found for point in line.points if point.value is not None]
    values = [value for point in known for value in (point.value, point.low, point.high)]
    span = whole_range([*values, level[1] if level else None], low, high)
    down = _down(Scale(span.low, span.high + (0.0 if high is not None else 0.05 * (span.high - span.low))))
    across = _times([point.at for point in known])
    marks = []
    if level is not None:
        at = down.at(level[1])
        marks += [
            Mark(
                shape=Shape.RULE,
                x=0,
                x2=100,
                y=at,
                y2=at,
                colour="ink",
                title=f"{level[0]}: {level[1]:{form or '.3f'}}",
                data=False,
            ),
            Mark(shape=Shape.TEXT, x=100, y=at - 4, text=level[0], anchor="end", colour="quiet", data=False),
        ]
    for line in found:
        marks += _draw_line(line, across, down, form or ".3f", named=len(found) > 1)
    table = _line_table(found, what, form or ".3f")
    legend = [Key(name=line.name, shape=Shape.LINE, colour=line.colour) for line in found] if len(found) > 1 else []
    return _plane(marks, down, _time_ticks(known, across), table, name=what, form=form, legend=legend)


def _line_table(found: Sequence[Line], what: str, form: str) -> Table:
    several = len(found) > 1
    rows = [
        (
            _day(point.at),
            *([line.name] if several else []),
            write_number(point.value, form),
            write_interval(point.low, point.high, form),
            f"{point.scored:,}",
        )
        for line in found
        for point in line.points
    ]
    return Table(columns=("from", *(["line"] if several else []), what, "95 % interval", "over"), rows=tuple(rows))


def _moment(text: str) -> float:
    """Return a day or a moment as a number of days."""
    return (
        datetime.fromisoformat(text).timestamp() / 86_400
        if "T" in text
        else float(date.fromisoformat(text).toordinal())
    )


def _day(text: str) -> str:
    return text.replace("T", " ")[:16]


def _times(moments: Sequence[str]) -> Scale:
    days = [_moment(text) for text in moments]
    first, last = min(days, default=0.0), max(days, default=0.0)
    # A single moment stands in the middle.
    return Scale(first, last, 2.0, 98.0)


def _time_ticks(points: Sequence[Point], across: Scale, most: int = 5) -> list[Tick]:
    days = sorted({point.at for point in points})
    step = max(1, -(-len(days) // most))
    return [
        Tick(at=across.at(_moment(day)), text=f"{datetime.fromisoformat(day):%d %b}", line=False)
        for day in days[::step]
    ]


def _draw_line(line: Line, across: Scale, down: Scale, form: str, *, named: bool) -> list[Mark]:
    known = [point for point in line.points if point.value is not None]
    drawn: list[Mark] = []
    tops = [(across.at(_moment(point.at)), down.at(point.high)) for point in known if point.high is not None]
    ends = [(across.at(_moment(point.at)), down.at(point.low)) for point in known if point.low is not None]
    if len(tops) > 1 and len(tops) == len(ends) == len(known):
        drawn.append(Mark(shape=Shape.AREA, places=(*tops, *reversed(ends)), colour="accent-band", data=False))
    places = [(across.at(_moment(point.at)), down.at(point.value or 0.0)) for point in known]
    drawn.append(Mark(shape=Shape.LINE, places=tuple(places), colour=line.colour, size=2, data=False))
    for point, (x, y) in zip(known, places, strict=True):
        name = f"{line.name}, " if named else ""
        title = f"{name}{_day(point.at)}: {point.value:{form}}"
        title += f" {write_interval(point.low, point.high, form)}" if point.low is not None else ""
        title += f" over {point.scored:,}" + (f"; {point.note}" if point.note else "")
        if point.low is not None and point.high is not None and len(known) == 1:
            drawn.append(
                Mark(
                    shape=Shape.UPRIGHT,
                    x=x,
                    y=down.at(point.high),
                    y2=down.at(point.low),
                    size=4,
                    colour="accent-soft",
                    title=title,
                )
            )
        drawn.append(Mark(shape=Shape.DOT, x=x, y=y, colour=line.colour, title=title, address=point.address))
    return drawn


class Series(NamedTuple):
    """A part of a whole: its key, its name and its colour."""

    key: str
    name: str
    colour: str


class Stack(NamedTuple):
    """The parts of one time."""

    at: str
    """The first day, in ISO form."""
    counts: Mapping[str, int]
    addresses: Mapping[str, str]
    name: str = ""
    """The time in words."""


def stacked(found: Sequence[Stack], series: Sequence[Series], *, what: str, share: bool = False) -> Figure:
    """Draw parts of a whole over time as a band, the first part at the bottom; `share`: as shares of each time."""
    wholes = [sum(stack.counts.get(part.key, 0) for part in series) for stack in found]
    down = _down(Scale(0.0, 1.0 if share else float(max([*wholes, 1]))), 240)
    marks = []
    for place, (stack, whole) in enumerate(zip(found, wholes, strict=True)):
        below = 0
        for part in series:
            count = stack.counts.get(part.key, 0)
            if not count:
                continue
            unit = whole if share else 1
            top, bottom = down.at((below + count) / unit), down.at(below / unit)
            below += count
            marks.append(
                Mark(
                    shape=Shape.BAR, x=round(100 * (place + 0.04) / len(found), 3), x2=round(92 / len(found), 3), y=top,
                    y2=round(max(1.0, bottom - top), 3), colour=part.colour, address=stack.addresses.get(part.key, ""),
                    title=f"{stack.name or stack.at}, {part.name}: {count:,} of {whole:,} ({count / whole:.0%})",
                )
            )  # fmt: skip
    step = max(1, -(-len(found) // 5))
    ticks = [
        Tick(at=round(100 * (place + 0.5) / len(found), 3), text=f"{date.fromisoformat(stack.at):%d %b}", line=False)
        for place, stack in enumerate(found)
        if place % step == 0
    ]
    table = Table(
        columns=("from", "questions", *(part.name for part in series)),
        rows=tuple(
            (stack.name or stack.at, f"{whole:,}", *(_part(stack.counts.get(part.key, 0), whole) for part in series))
            for stack, whole in zip(found, wholes, strict=True)
        ),
    )
    legend = [Key(name=part.name, shape=Shape.BAR, colour=part.colour) for part in series]
    return _plane(marks, down, ticks, table, name=what, form=".0%" if share else "", legend=legend)


def _part(count: int, whole: int) -> str:
    return f"{count:,} ({count / whole:.0%})" if whole else "0"


def evidence_path(path: Sequence[tuple[int, float, float]], bound: float, least: int) -> Figure:
    """Draw the evidence of a sequential test after each vote, against the line at which it decides."""
    votes = [count for count, _, _ in path]
    names = (("treatment better", 1, "pass"), ("treatment worse", 2, "fail"))
    across = whole_range([float(count) for count in votes], 0.0)
    span = whole_range([value for point in path for value in point[1:]], 0.0, bound)
    down = _down(Scale(span.low, span.high + 0.08 * (span.high - span.low)), 240)
    at = down.at(bound)
    marks = [
        Mark(shape=Shape.RULE, x=0, x2=100, y=at, y2=at, colour="ink", title=f"decides at {bound:.2f}", data=False),
        Mark(
            shape=Shape.TEXT, x=1, y=at - 4, text=f"decides at {bound:.2f}", anchor="start", colour="quiet", data=False
        ),
    ]
    if votes and least <= across.high:
        x = across.at(least)
        marks.append(
            Mark(
                shape=Shape.RULE,
                x=x,
                x2=x,
                y=0,
                y2=down.begin,
                colour="doubt",
                title=f"least votes: {least:,}",
                data=False,
            )
        )
    for name, place, colour in names:
        places = tuple((across.at(point[0]), down.at(point[place])) for point in path)
        marks.append(Mark(shape=Shape.LINE, places=places, colour=colour, size=2, title=name))
        if path:
            last = path[-1]
            marks.append(
                Mark(
                    shape=Shape.DOT,
                    x=across.at(last[0]),
                    y=down.at(last[place]),
                    colour=colour,
                    size=4,
                    title=f"{name} after {last[0]:,} votes: ln K {last[place]:.2f}",
                )
            )
    step = max(1, len(path) // 40)
    shown = [*path[::step], *([] if not path or (len(path) - 1) % step == 0 else [path[-1]])]
    table = Table(
        columns=("votes", *(name for name, _, _ in names)),
        rows=tuple((f"{count:,}", f"{better:.2f}", f"{worse:.2f}") for count, better, worse in shown),
    )
    legend = [Key(name=name, shape=Shape.LINE, colour=colour) for name, _, colour in names]
    return _plane(marks, down, across.ticks(5), table, across="votes", name="evidence, ln K", legend=legend)
