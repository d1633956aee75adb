"""Records and results of runs as JSON.

- Records as JSON values.
- The text of `result.json`, piece by piece.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from json.encoder import encode_basestring
from typing import Any, NamedTuple, cast

from assay.hashing import canonical_json
from assay.metrics.outcome_columns import CaseOrder, NumberedCases

# --- Records as JSON values ---
#
# Whatever is at its default is left out, so that a line stays short and a new field changes no old line.

Plain = dict[str, Any]


_PLAIN_ALREADY = frozenset({str, int, float, bool, type(None)})


def plain(value: Any) -> Any:
    """A record as JSON values."""
    return value if type(value) in _PLAIN_ALREADY else _make_plain(value)


def _make_plain(value: Any) -> Any:
    if (known := _fields_of(cast("Hashable", type(value)))) is not None:
        return {
            name: given if type(given) in _PLAIN_ALREADY else _make_plain(given)
            for name, default in known
            if (given := getattr(value, name)) != default
        }
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value


@cache
def _fields_of(kind: Hashable) -> tuple[tuple[str, Any], ...] | None:
    """Return the fields of a record's class with their defaults, looked up once; None for what is not a record."""
    if not is_dataclass(kind):
        return None
    return tuple((field.name, _default(field)) for field in fields(kind))


def _default(value: Any) -> Any:
    return value.default_factory() if value.default_factory is not MISSING else value.default


# --- The text of `result.json`, piece by piece ---
#
# As one text, or as JSON values, the outcomes of every case would be in memory several times.

PER_CASE = "per_case"
"""The field of a result with the outcomes of every case, by metric."""
Columns = Mapping[str, NumberedCases[Any]]
"""The outcomes of every case, by metric."""
_INDENTED = json.JSONEncoder(indent=1, ensure_ascii=False, allow_nan=False)


class _Style(NamedTuple):
    """What stands before the first member of an object, between two, between name and value, and after the last."""

    first: str
    between: str
    colon: str
    last: str


_CANONICAL = _Style("{", ",", ":", "}")


def _indent(level: int) -> _Style:
    inner = "\n" + " " * (level + 1)
    return _Style("{" + inner, "," + inner, ": ", "\n" + " " * level + "}")


def canonical_pieces(content: Plain, columns: Columns | None = None) -> Iterator[str]:
    """The canonical JSON of a result; `columns`, where they are given, stand for its field `per_case`."""

    def write(name: str) -> Iterable[str]:
        if name != PER_CASE or columns is None:
            return [canonical_json(content[name])]
        return write_columns(columns, lambda outcome: canonical_json(plain(outcome)))

    return _nest(((name, write(name)) for name in sorted(content)), _CANONICAL)


def write_columns(columns: Columns, write: Callable[[Any], str]) -> Iterator[str]:
    """The canonical JSON of outcomes by metric and case, each written as `write` gives it."""
    keys = _Keys(by_id=True)
    members = ((metric, _join(columns[metric], keys, write, _CANONICAL)) for metric in sorted(columns))
    return _nest(members, _CANONICAL)


def indented_pieces(content: Plain, columns: Columns | None = None) -> Iterator[str]:
    """The same as a file has it: in the order of its fields, with an indent of 1."""

    def write(name: str) -> Iterable[str]:
        if name != PER_CASE or columns is None:
            return _shift(_INDENTED.iterencode(content[name]), 1)
        keys = _Keys(by_id=False)
        return _nest(((metric, _indent_outcomes(column, keys)) for metric, column in columns.items()), _indent(1))

    return _nest(((name, write(name)) for name in content), _indent(0))


def _indent_outcomes(column: NumberedCases[Any], keys: _Keys) -> Iterator[str]:
    def write(outcome: Any) -> str:
        return "".join(_shift(_INDENTED.iterencode(plain(outcome)), 3))

    return _join(column, keys, write, _indent(2))


def _shift(pieces: Iterable[str], levels: int) -> Iterator[str]:
    """Indent text of JSON further; within its strings there are no ends of lines."""
    end = "\n" + " " * levels
    return (piece.replace("\n", end) for piece in pieces)


def _nest(members: Iterable[tuple[str, Iterable[str]]], style: _Style) -> Iterator[str]:
    """An object whose values come in pieces."""
    before = style.first
    for name, pieces in members:
        yield f"{before}{encode_basestring(name)}{style.colon}"
        yield from pieces
        before = style.between
    yield "{}" if before == style.first else style.last


class _Keys:
    """The ids of cases as JSON, made once for all metrics: a text for many of them, which takes the least memory."""

    def __init__(self, *, by_id: bool) -> None:
        self.by_id = by_id
        self._order: CaseOrder | None = None
        self._parts: list[str] = []

    def of(self, order: CaseOrder) -> Iterator[list[str]]:
        """The keys of the cases, many at a time."""
        if self._order is not order:
            parts = order.iterate_parts(by_id=self.by_id)
            self._order, self._parts = order, ["\n".join(map(encode_basestring, part)) for part in parts]
        return (part.split("\n") for part in self._parts)


def _join(column: NumberedCases[Any], keys: _Keys, write: Callable[[Any], str], style: _Style) -> Iterator[str]:
    """The outcomes of the cases as one object."""
    before = style.first
    for members in column.write_parts(
        keys.of(column.order), lambda outcome: f"{style.colon}{write(outcome)}", by_id=keys.by_id
    ):
        yield before + style.between.join(members)
        before = style.between
    yield "{}" if before == style.first else style.last
