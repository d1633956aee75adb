"""Lists of pages: how many rows there are, their order, and all of them as CSV or JSON.

A page gives its rows to `list_rows` (rows in memory) or makes a `PageList` by itself (rows that a query sorts),
and returns it with the page: `Page(template=..., listed=listed)`. The address then takes `sort=NAME` or `sort=-NAME`
(descending) and `export=csv` or `export=json`. In the template, `ui.list_bar(listed)` shows the count, the order and
the exports, and `ui.list_heads(listed)` the headings of the columns.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from starlette.responses import Response

from assay.errors import BadValue
from assay.server.pages import filters

Cell = str | int | float | bool | datetime | date | None
"""A value of a column. None: there is none, which is neither 0 nor an empty text."""
Row = TypeVar("Row")
SORT = "sort"
EXPORT = "export"
PAGING = ("after", "before", "begin", "cursor")
"""Parameters of addresses that say where a page of rows begins; another order begins anew."""
MOST_EXPORTED = 100_000
"""Rows of one export."""
FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet compute a cell instead of showing it."""


class ExportKind(StrEnum):
    """How a list is written to a file."""

    CSV = "csv"
    JSON = "json"


MEDIA_TYPES = {ExportKind.CSV: "text/csv; charset=utf-8", ExportKind.JSON: "application/json"}


@dataclass(frozen=True, kw_only=True)
class ListColumn(Generic[Row]):
    """One column of a list."""

    name: str
    """In addresses and exports, such as `updated_at`."""
    value: Callable[[Row], Cell]
    """Its value in exports, and in the order of rows that are in memory."""
    title: str = ""
    """Its heading; by default the name as words."""
    numeric: bool = False
    sorts: bool = True
    """Whether rows can be sorted by it."""
    shown: bool = True
    """Whether the page has it; otherwise it is in exports only."""


class ListedAddress(Protocol):
    """The address of a page, as `PageView` has it."""

    @property
    def query(self) -> Mapping[str, str]:
        """Its query parameters."""
        ...

    def with_query(self, **changed: Any) -> str:
        """Return it with some query parameters changed; None removes one."""
        ...


class ListSort(NamedTuple):
    """An order of rows."""

    name: str
    descending: bool = False

    @property
    def said(self) -> str:
        """The order as an address has it."""
        return f"-{self.name}" if self.descending else self.name


class ListHead(NamedTuple):
    """The heading of a column."""

    title: str
    numeric: bool
    address: str
    """The page sorted by this column; empty where it cannot be."""
    order: str
    """`ascending` or `descending` where the rows are sorted by it, else empty."""


class OrderChoice(NamedTuple):
    """One order that can be chosen."""

    value: str
    title: str
    address: str
    """The page in this order."""


@dataclass(frozen=True, kw_only=True)
class PageList(Generic[Row]):
    """The rows of one page, in their order, and what is needed to export all of them."""

    view: ListedAddress
    name: str
    """Of the exported file, such as `memories`."""
    what: str
    """One row, such as `memory`; the count uses it."""
    columns: Sequence[ListColumn[Row]]
    rows: Sequence[Row]
    """Those that the page shows."""
    total: int
    """Rows of all pages."""
    sort: ListSort | None
    every: Callable[[], Iterable[Row]]
    """Yields the rows of all pages, for an export."""

    @property
    def heads(self) -> list[ListHead]:
        """The headings of the columns that the page shows."""
        return [self._head(column) for column in self.columns if column.shown]

    @property
    def choices(self) -> list[OrderChoice]:
        """Every order that can be chosen."""
        orders = [
            (column, ListSort(column.name, down)) for column in self.columns if column.sorts for down in (False, True)
        ]
        return [
            OrderChoice(
                sort.said,
                f"{_title(column)}, {'descending' if sort.descending else 'ascending'}",
                self._address_sorted(sort),
            )
            for column, sort in orders
        ]

    @property
    def chosen(self) -> str:
        """The order as an address has it; empty if there is none."""
        return "" if self.sort is None else self.sort.said

    def address_of(self, kind: str) -> str:
        """Return the address of an export of all rows."""
        return self.view.with_query(**dict.fromkeys(PAGING), **{EXPORT: kind})

    def _address_sorted(self, sort: ListSort) -> str:
        return self.view.with_query(**dict.fromkeys(PAGING), **{SORT: sort.said})

    def _head(self, column: ListColumn[Row]) -> ListHead:
        mine = self.sort is not None and self.sort.name == column.name
        descending = bool(mine and self.sort and self.sort.descending)
        order = "" if not mine else "descending" if descending else "ascending"
        # Numbers and times are looked at from the top first, texts from the beginning.
        following = ListSort(column.name, not descending if mine else column.numeric)
        address = self._address_sorted(following) if column.sorts else ""
        return ListHead(_title(column), column.numeric, address, order)

    def download(self, kind: ExportKind, now: datetime) -> Response:
        """Return all rows as a file; refuse a list that is too long for one."""
        if self.total > MOST_EXPORTED:
            raise BadValue(
                f"{self.total:,} rows are more than the {MOST_EXPORTED:,} of one export",
                remedy="Choose fewer with the filters of the page.",
            )
        values = [{column.name: column.value(row) for column in self.columns} for row in self.every()]
        text = (
            write_csv([column.name for column in self.columns], values) if kind is ExportKind.CSV else to_json(values)
        )
        name = f"assay-{self.name}-{now.astimezone(UTC):%Y-%m-%d}.{kind}"
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
        return Response(text.encode(), media_type=MEDIA_TYPES[kind], headers=headers)


def list_rows(
    view: ListedAddress,
    rows: Sequence[Row],
    columns: Sequence[ListColumn[Row]],
    *,
    name: str,
    what: str,
    default: str = "",
) -> PageList[Row]:
    """Return rows that are in memory as a list, in the order that the address names.

    `default` is the order without a parameter, such as `-started`; without it the rows stay as they are.
    """
    sort = read_sort(view.query, columns, default)
    ordered = rows if sort is None else sort_rows(rows, columns, sort)
    return PageList(
        view=view, name=name, what=what, columns=columns, rows=ordered, total=len(rows), sort=sort,
        every=lambda: ordered,
    )  # fmt: skip


def read_sort(query: Mapping[str, str], columns: Sequence[ListColumn[Any]], default: str = "") -> ListSort | None:
    """Parse `sort=NAME` or `sort=-NAME`; refuse a column that rows cannot be sorted by."""
    text = query.get(SORT, "").strip() or default
    if not text:
        return None
    name, names = text.removeprefix("-"), [column.name for column in columns if column.sorts]
    if name not in names:
        raise BadValue(f"rows cannot be sorted by {name!r}", remedy=f"Choose one of {', '.join(names)}.")
    return ListSort(name, text.startswith("-"))


def sort_rows(rows: Sequence[Row], columns: Sequence[ListColumn[Row]], sort: ListSort) -> list[Row]:
    """Return the rows in an order; those without a value come last in either direction."""
    value = next(column.value for column in columns if column.name == sort.name)
    with_value = [row for row in rows if value(row) is not None]
    without = [row for row in rows if value(row) is None]
    return sorted(with_value, key=lambda row: _sort_key(value(row)), reverse=sort.descending) + without


def read_export(query: Mapping[str, str]) -> ExportKind | None:
    """Parse `export=csv` or `export=json`; None: the page itself is wanted."""
    return filters.one_of(query, EXPORT, ExportKind)


def write_csv(names: Sequence[str], rows: Iterable[Mapping[str, Cell]]) -> str:
    """Return rows as CSV with a heading. A text that a spreadsheet would compute gets an apostrophe before it."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(names)
    writer.writerows([_csv_cell(row[name]) for name in names] for row in rows)
    return file.getvalue()


def to_json(rows: Iterable[Mapping[str, Cell]]) -> str:
    """Return rows as a JSON list of objects; a missing value is null."""
    plain = [{name: _plain(value) for name, value in row.items()} for row in rows]
    return json.dumps(plain, ensure_ascii=False, allow_nan=False, indent=1)


def _title(column: ListColumn[Any]) -> str:
    return column.title or column.name.replace("_", " ")


def _sort_key(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


def _plain(value: Cell) -> str | int | float | bool | None:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return value.isoformat() if isinstance(value, date) else value


def _csv_cell(value: Cell) -> str | int | float:
    plain = _plain(value)
    if plain is None:
        return ""
    if isinstance(plain, bool):
        return "true" if plain else "false"
    return f"'{plain}" if isinstance(plain, str) and plain.startswith(FORMULAS) else plain
