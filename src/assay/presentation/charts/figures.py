"""What a figure is made of: panels of marks, axes, a legend, and the table behind it.

Figures are plain values. `presentation/templates/charts.html` draws them as SVG, so they need no script. Positions
across are in per cent of the width and positions down in pixels: a figure fills any width, and its text keeps its
size. A colour is the name of one of the style sheet's, such as `accent`, so one figure is right on a light screen, a
dark one and paper.

- The parts of a figure.
- Scales: from values to positions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

# --- The parts of a figure ---


class Shape(StrEnum):
    """How a mark is drawn."""

    DOT = "dot"
    RING = "ring"
    DIAMOND = "diamond"
    TICK = "tick"
    """A short upright line."""
    BAR = "bar"
    SPAN = "span"
    """A thick level line: an interval."""
    WHISKER = "whisker"
    """A level line with ends: an interval."""
    UPRIGHT = "upright"
    """An upright line with ends: an interval."""
    RULE = "rule"
    """A dotted line across the panel, level or upright."""
    ARROW = "arrow"
    LINE = "line"
    AREA = "area"
    TEXT = "text"


Place = tuple[float, float]
"""A position: per cent across, pixels down."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """One thing that is drawn."""

    shape: Shape
    x: float = 0.0
    """Per cent from the left."""
    y: float = 0.0
    """Pixels from the top."""
    x2: float = 0.0
    y2: float = 0.0
    places: tuple[Place, ...] = ()
    """The corners of a line or an area."""
    colour: str = "accent"
    title: str = ""
    """What a reader sees who points at it."""
    address: str = ""
    """Where it leads."""
    text: str = ""
    anchor: str = "middle"
    size: float = 5.0
    """The radius of a dot, or the width of a line, in pixels."""
    data: bool = True
    """Whether it shows a value; a level or a label does not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tick:
    """A value that is written at an axis."""

    at: float
    text: str
    strong: bool = False
    """Whether its line is the line of no difference."""
    line: bool = True

    @property
    def anchor(self) -> str:
        """How its text is placed, so that the first and the last stay inside the figure."""
        return "start" if self.at < 4 else "end" if self.at > 96 else "middle"


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """One row of a figure with rows, or the whole of one with two axes."""

    height: int
    marks: tuple[Mark, ...] = ()
    label: str = ""
    name: str = ""
    """The label in full."""
    address: str = ""
    ticks: tuple[Tick, ...] = ()
    """The values of its upright axis; their positions are pixels from the top."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """One line of the legend."""

    name: str
    shape: Shape
    colour: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """The same values in words; the first column names the row."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """Everything that is drawn."""

    panels: tuple[Panel, ...]
    table: Table
    ticks: tuple[Tick, ...] = ()
    """The values of the level axis; their positions are per cent from the left."""
    across: str = ""
    """What the level axis shows."""
    down: str = ""
    """What the upright axis shows."""
    legend: tuple[Key, ...] = ()

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The marks that show a value."""
        return tuple(mark for panel in self.panels for mark in panel.marks if mark.data)

    @property
    def gutter(self) -> int:
        """Pixels that the texts of the upright axis need."""
        longest = max((len(tick.text) for panel in self.panels for tick in panel.ticks), default=0)
        return 8 * longest + 10 if longest else 0

    @property
    def leads(self) -> bool:
        """Whether a mark or a label leads somewhere."""
        return any(panel.address or any(mark.address for mark in panel.marks) for panel in self.panels)


# --- Scales: from values to positions ---

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_ROUND = 3


@dataclass(frozen=True, slots=True)
class Scale:
    """A range of values laid over a range of positions."""

    low: float
    high: float
    begin: float = 0.0
    end: float = 100.0

    def at(self, value: float) -> float:
        """Return the position of a value; a value outside the range is at its end."""
        if self.high == self.low:
            return round((self.begin + self.end) / 2, _ROUND)
        share = min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))
        return round(self.begin + share * (self.end - self.begin), _ROUND)

    def ticks(self, most: int = 7, *, form: str = "") -> tuple[Tick, ...]:
        """Return round values of the range; `form` is how they are written."""
        values = round_values(self.low, self.high, most)
        step = values[1] - values[0] if len(values) > 1 else 1.0
        texts = [format(value, form) if form else write_value(value, step) for value in values]
        return tuple(
            Tick(at=self.at(value), text=text, strong=value == 0.0) for value, text in zip(values, texts, strict=True)
        )


def round_values(low: float, high: float, most: int) -> list[float]:
    """Return at most `most` round values from low to high, a round step apart."""
    if high <= low:
        return [low]
    least = (high - low) / max(1, most - 1)
    power = 10.0 ** math.floor(math.log10(least))
    step = next(power * step for step in _STEPS if power * step >= least * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(place * step, 12) + 0.0 for place in range(first, last + 1)]


def write_value(value: float, step: float) -> str:
    """Return a value with the digits that a step of this size needs."""
    digits = 0 if step >= 1 else min(6, -math.floor(math.log10(step) + 1e-9))
    if digits and round(step, digits) != round(step, 6):
        digits += 1
    return f"{value:,.{digits}f}"


def whole_range(values: Iterable[float | None], low: float | None = None, high: float | None = None) -> Scale:
    """Return a scale over the known values, and over `low` and `high` where given."""
    known = [value for value in values if value is not None]
    ends = [end for end in (low, high) if end is not None]
    both = [*known, *ends] or [0.0, 1.0]
    least, most = min(both), max(both)
    return Scale(least, most if most > least else least + 1.0)
