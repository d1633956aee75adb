"""Rows as data frames of pandas or polars, and as tables of a notebook.

- Data frames: the packages are found when a frame is asked for; Assay depends on neither.
- HTML tables for notebooks: every text is escaped, and nothing is loaded from anywhere.

A missing value stays missing: NaN or NA in pandas, null in polars, the word "missing" in a table; never 0.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from assay.errors import MissingExtra

# --- Data frames ---

Columns = Mapping[str, type]
"""The type of each column, by its name: `str`, `float`, `int` or `bool`. Every column may have missing values."""
Row = Mapping[str, object]
CASE_COLUMNS: Columns = {
    "run": str,
    "case": str,
    "metric": str,
    "value": float,
    "outcome": str,
    "reason": str,
    "stopped_early": bool,
}
"""Columns of a run as a data frame. Cases of a run that was stopped early are not a sample of the dataset's cases."""
CHANGE_COLUMNS: Columns = {
    "control": str,
    "treatment": str,
    "metric": str,
    "before": float,
    "after": float,
    "verdict": str,
    "sentence": str,
    "n": int,
    "units": int,
    "delta": float,
    "interval_low": float,
    "interval_high": float,
    "interval_method": str,
    "p": float,
    "p_adjusted": float,
    "p_floor": float,
    "wins": int,
    "ties": int,
    "losses": int,
    "minimum_detectable_effect": float,
    "queries_needed": int,
}
"""Columns of a comparison as a data frame."""
_PANDAS = {str: "object", float: "float64", int: "Int64", bool: "boolean"}
"""Types that can hold a missing value without becoming another type."""
_POLARS = {str: "String", float: "Float64", int: "Int64", bool: "Boolean"}


def to_pandas(rows: Iterable[Row], columns: Columns) -> Any:
    """Return rows as a `pandas.DataFrame`; raises `MissingExtra` where pandas is not installed."""
    pandas = _load("pandas", "to_pandas")
    listed = list(rows)
    return pandas.DataFrame(
        {name: pandas.Series([row.get(name) for row in listed], dtype=_PANDAS[kind]) for name, kind in columns.items()}
    )


def to_polars(rows: Iterable[Row], columns: Columns) -> Any:
    """Return rows as a `polars.DataFrame`; raises `MissingExtra` where polars is not installed."""
    polars = _load("polars", "to_polars")
    listed = list(rows)
    return polars.DataFrame(
        {name: [row.get(name) for row in listed] for name in columns},
        schema={name: getattr(polars, _POLARS[kind]) for name, kind in columns.items()},
    )


def _load(package: str, method: str) -> ModuleType:
    if importlib.util.find_spec(package) is None:
        raise MissingExtra(
            f"{method} needs the Python package {package!r}, which is not installed",
            remedy=f"Install it: pip install {package}",
        )
    return importlib.import_module(package)


# --- HTML tables for notebooks ---

_FOLDER = Path(__file__).with_name("templates")


def show_in_notebook(
    title: str, verdict: str, head: Sequence[str], rows: Iterable[Sequence[str | None]], notes: Sequence[str] = ()
) -> str:
    """Return a title, the verdict in words, a table, and notes folded away below it.

    None is a missing value. The first and the last column are text, the others are numbers.
    """
    from assay.presentation.templates import environment  # noqa: PLC0415 - only notebooks need it

    template = environment(_FOLDER).get_template("notebook.html")
    return template.render(title=title, verdict=verdict, head=head, rows=list(rows), notes=notes)
