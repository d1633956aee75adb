"""Results as tables of pandas, of Polars and of notebooks.

pandas and Polars are no dependencies of Assay; one that is missing is named with the command that installs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import escape

from assay.extras import load_package

Row = Mapping[str, object]


def make_pandas(rows: Sequence[Row], columns: Sequence[str] | None = None) -> Any:
    """Return the rows as a table of pandas."""
    return load_package("pandas", "pandas").DataFrame(list(rows), columns=columns)


def make_polars(rows: Sequence[Row], columns: Sequence[str] | None = None) -> Any:
    """Return the rows as a table of Polars."""
    polars = load_package("polars", "polars")
    # All rows decide on the types: the first values of a column may be missing.
    return polars.DataFrame(list(rows), schema=None if rows else columns, infer_schema_length=None)


def format_html(title: str, rows: Iterable[Sequence[str]], notes: Iterable[str] = ()) -> str:
    """Return a table for a notebook: the first row is its head; notes stand below. Everything is escaped."""
    head, *body = rows
    lines = [
        f"<p><b>{escape(title)}</b></p>",
        "<table><thead><tr>",
        *(f"<th>{escape(cell)}</th>" for cell in head),
        "</tr></thead><tbody>",
        *("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body),
        "</tbody></table>",
    ]
    told = [f"<li>{escape(note)}</li>" for note in notes]
    return "".join([*lines, *(["<ul>", *told, "</ul>"] if told else [])])
