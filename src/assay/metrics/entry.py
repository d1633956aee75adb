"""What the catalog says of a metric: enough to parse its name, compute nothing, and write its reference page."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Cutoff(StrEnum):
    """Whether a metric looks at the first k results."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    NONE = "none"


class Better(StrEnum):
    """Which way is better."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """One `name=value` inside the brackets of a metric."""

    name: str
    meaning: str
    default: str
    """In the spelling users type; left out of the printed form."""
    choices: tuple[str, ...] = ()
    """The values it may take; empty when `kind` decides."""
    kind: str = "word"
    """`word`, `whole`, `number`, `share` (a number strictly between 0 and 1)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricEntry:
    """One metric in the catalog."""

    name: str
    family: str
    summary: str
    formula: str
    lowest: float | None
    """None: unbounded below."""
    highest: float | None
    """None: unbounded above."""
    better: Better
    cutoff: Cutoff
    parameters: tuple[Parameter, ...] = ()
    citation: str
    disagreement: str = ""
    """Where the field computes something else under the same name."""
    example: str
    """A worked case in a sentence or two; a test computes it."""
