"""Read TOML of a user within bounds: `tomllib` takes the square of a dotted key, and follows nesting by recursion."""

from __future__ import annotations

import tomllib
from typing import Any

MOST_DOTS = 1_000
"""Dots in one line; a key of so many parts is none."""


def read_toml_text(text: str) -> dict[str, Any]:
    """Return the tables of a TOML text; raise `tomllib.TOMLDecodeError` for what cannot be read in reasonable time."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.count(".") > MOST_DOTS:
            raise tomllib.TOMLDecodeError(f"line {number:,} has over {MOST_DOTS:,} dots")
    try:
        return tomllib.loads(text)
    except RecursionError as problem:
        raise tomllib.TOMLDecodeError("it is nested too deeply") from problem
