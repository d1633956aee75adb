"""How charts write names, numbers and intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.presentation.charts.figures import Mark, Panel

ROW = 30
"""Pixels of one row."""
_LONGEST_LABEL = 24
_UNKNOWN = "\N{EN DASH}"


def distinct_labels(names: Sequence[str], longest: int = _LONGEST_LABEL) -> list[str]:
    """Shorten names to labels that stay apart.

    A long name loses its middle, since parameters at its end distinguish metrics. Names that would still share a label
    keep all of it.
    """
    kept = [shorten(name, longest) for name in names]
    shared = {label for label in kept if kept.count(label) > 1}
    return [name if label in shared else label for name, label in zip(names, kept, strict=True)]


def shorten(name: str, longest: int) -> str:
    """Return a name without its middle where it is too long."""
    if len(name) <= longest:
        return name
    ending = longest // 2
    return f"{name[: longest - ending - 1]}…{name[-ending:]}"


def write_number(value: float | None, form: str = ".3f") -> str:
    """Return a number; a dash where it is not known."""
    return _UNKNOWN if value is None else format(value, form)


def write_interval(low: float | None, high: float | None, form: str = ".3f") -> str:
    """Return an interval, or that there is none."""
    return "no interval" if low is None or high is None else f"[{low:{form}}, {high:{form}}]"


def label_rows(
    names: Sequence[str], marks: Sequence[Sequence[Mark]], addresses: Mapping[str, str] | None = None
) -> list[Panel]:
    """Return one panel for each name."""
    return [
        Panel(height=ROW, marks=tuple(own), label=label, name=name, address=(addresses or {}).get(name, ""))
        for name, label, own in zip(names, distinct_labels(names), marks, strict=True)
    ]
