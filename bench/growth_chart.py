"""The chart of `bench.growth` as SVG: two panels with logarithmic axes, time and memory over size.

Drawn here and not by Plotly, which the reports use: that needs a browser, and a page of Markdown shows a file. The
colours are those of Okabe and Ito, which people who see few colours can tell apart; markers differ, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple
from xml.etree import ElementTree as ET

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
WIDTH, HEIGHT = 920, 400
PANEL_W, PANEL_H, TOP, LEFT, GAP = 350, 270, 40, 70, 90


class Curve(NamedTuple):
    """One verb: size with seconds, size with megabytes, and the exponent of time."""

    name: str
    seconds: tuple[tuple[int, float], ...]
    megabytes: tuple[tuple[int, float], ...]
    exponent: float | None


class _Panel(NamedTuple):
    x: float
    low: tuple[int, int]
    """Decades at the lower left corner."""
    high: tuple[int, int]

    def place(self, size: float, value: float) -> tuple[float, float]:
        """Where a point is on the page."""
        shares = [
            (math.log10(given) - low) / (high - low)
            for given, low, high in zip((size, value), self.low, self.high, strict=True)
        ]
        return round(self.x + shares[0] * PANEL_W, 1), round(TOP + (1.0 - shares[1]) * PANEL_H, 1)


def draw_chart(curves: Sequence[Curve]) -> str:
    """Return the chart as a document."""
    root = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {WIDTH} {HEIGHT}",
            "role": "img",
            "font-family": "sans-serif",
            "font-size": "12",
        },
    )
    ET.SubElement(root, "title").text = "Processor time and memory over size, both on logarithmic scales"
    ET.SubElement(root, "rect", {"width": str(WIDTH), "height": str(HEIGHT), "fill": "#ffffff"})
    _draw_panel(root, LEFT, "Processor time", [(curve.name, curve.seconds) for curve in curves], _format_seconds)
    second = LEFT + PANEL_W + GAP
    _draw_panel(root, second, "Memory", [(curve.name, curve.megabytes) for curve in curves], _format_megabytes)
    _draw_legend(root, curves)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _draw_panel(
    root: ET.Element,
    x: float,
    title: str,
    curves: Sequence[tuple[str, tuple[tuple[int, float], ...]]],
    form: Callable[[float], str],
) -> None:
    sizes = [size for _, points in curves for size, _ in points]
    values = [value for _, points in curves for _, value in points]
    low = (_floor(min(sizes)), _floor(min(values)))
    high = (max(_ceil(max(sizes)), low[0] + 1), max(_ceil(max(values)), low[1] + 1))
    panel = _Panel(x, low, high)
    _write(root, x + PANEL_W / 2, TOP - 16, title, "middle", bold=True)
    for decade in range(panel.low[0], panel.high[0] + 1):
        at, _ = panel.place(10.0**decade, 10.0 ** panel.low[1])
        _line(root, (at, TOP), (at, TOP + PANEL_H), "#dddddd")
        _write(root, at, TOP + PANEL_H + 18, f"{10**decade:,}", "middle")
    for decade in range(panel.low[1], panel.high[1] + 1):
        _, at = panel.place(10.0 ** panel.low[0], 10.0**decade)
        _line(root, (x, at), (x + PANEL_W, at), "#dddddd")
        _write(root, x - 6, at + 4, form(10.0**decade), "end")
    for number, (_, points) in enumerate(curves):
        places = [panel.place(size, value) for size, value in points]
        path = " ".join(f"{across},{down}" for across, down in places)
        style = {"fill": "none", "stroke": _colour(number), "stroke-width": "2"}
        ET.SubElement(root, "polyline", {"points": path, **style})
        for place in places:
            _mark(root, place, number)


def _draw_legend(root: ET.Element, curves: Sequence[Curve]) -> None:
    step = (WIDTH - LEFT) / max(1, len(curves))
    for number, curve in enumerate(curves):
        x, y = LEFT + number * step, HEIGHT - 30
        _mark(root, (x, y), number)
        exponent = "" if curve.exponent is None else f" (n^{curve.exponent:.2f})"
        _write(root, x + 10, y + 4, f"{curve.name}{exponent}", "start")


def _mark(root: ET.Element, place: tuple[float, float], number: int) -> None:
    x, y = place
    shapes = [[(-4, -4), (4, -4), (4, 4), (-4, 4)], [(0, -5), (5, 4), (-5, 4)], [(0, -6), (6, 0), (0, 6), (-6, 0)]]
    points = " ".join(f"{x + across:g},{y + down:g}" for across, down in shapes[number % len(shapes)])
    ET.SubElement(root, "polygon", {"points": points, "fill": _colour(number)})


def _line(root: ET.Element, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
    ends = {"x1": f"{start[0]:g}", "y1": f"{start[1]:g}", "x2": f"{end[0]:g}", "y2": f"{end[1]:g}"}
    ET.SubElement(root, "line", {**ends, "stroke": colour})


def _write(root: ET.Element, x: float, y: float, text: str, anchor: str, *, bold: bool = False) -> None:
    weight = {"font-weight": "bold"} if bold else {}
    given = {"x": f"{x:g}", "y": f"{y:g}", "text-anchor": anchor, "fill": "#222222", **weight}
    ET.SubElement(root, "text", given).text = text


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _floor(value: float) -> int:
    return math.floor(math.log10(value))


def _ceil(value: float) -> int:
    return math.ceil(math.log10(value))


def _format_seconds(value: float) -> str:
    return f"{value * 1e3:g} ms" if value < 1.0 else f"{value:g} s"


def _format_megabytes(value: float) -> str:
    return f"{value:g} MB" if value < 1e3 else f"{value / 1e3:g} GB"
