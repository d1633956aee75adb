"""Columns side by side as plain lines: a table that is cut to the width of a screen would cut numbers and ids."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest


def grid(rows: Sequence[Sequence[str]], *, indent: str = "", gap: str = "   ") -> list[str]:
    """One line for each row, every column as wide as its widest cell."""
    widths = [max(len(cell) for cell in column) for column in zip_longest(*rows, fillvalue="")]
    return [
        (indent + gap.join(cell.ljust(width) for cell, width in zip(row, widths, strict=False))).rstrip()
        for row in rows
    ]
