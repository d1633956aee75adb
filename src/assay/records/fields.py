"""Fields of records: checked when a record is made, written as JSON, read from TOML.

- Apply the rules to the fields of a frozen record.
- Find values that are given twice.
- Values as JSON has them.
- Read a user's TOML within bounds.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum, StrEnum
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar, cast

from assay.errors import BadValue

# --- Apply the rules to the fields of a frozen record ---

Choice = TypeVar("Choice", bound=StrEnum)
Record = TypeVar("Record")
Rule = Callable[[Any, str], Any]


def require(record: object, rule: Rule, *fields: str) -> None:
    """Apply a rule to fields that must hold a value. Called from the record's own `__post_init__`."""
    for field in fields:
        given = getattr(record, field)
        kept = rule(given, field)
        if kept is not given:
            object.__setattr__(record, field, kept)


def allow(record: object, rule: Rule, *fields: str) -> None:
    """The same for fields in which None means "not known"."""
    for field in fields:
        if getattr(record, field) is not None:
            require(record, rule, field)


def pickle_by_place(kind: type[Record]) -> type[Record]:
    """Make a frozen record with slots quick to pickle: its values in the order of its fields, set without checks.

    For records that workers send by the hundred thousand. What `dataclasses` does for slots looks up every field of
    every record. Both sides of a pickle run the same code, so that the order is the same.
    """
    setters = [put for _, put in _setters(cast("Hashable", kind))]
    read = attrgetter(*(field.name for field in fields(cast("Any", kind))))

    def get_state(record: Record) -> Any:
        return read(record)

    def set_state(record: Record, state: tuple[Any, ...]) -> None:
        for put, value in zip(setters, state, strict=True):
            put(record, value)

    type.__setattr__(kind, "__getstate__", get_state)
    type.__setattr__(kind, "__setstate__", set_state)
    return kind


def make_checked(kind: type[Record], **given: Any) -> Record:
    """Make a record, with a value for every field, of values that were checked before; its own checks do not run.

    Only for values that Assay itself read from the store or made in this process: a search makes hundreds of them.
    """
    made = object.__new__(kind)
    for name, put in _setters(cast("Hashable", kind)):
        put(made, given[name])
    return made


@cache
def _setters(kind: Hashable) -> tuple[tuple[str, Callable[[Any, Any], None]], ...]:
    """The fields of a record, each with what sets it: a frozen record has no other way."""
    return tuple((field.name, getattr(kind, field.name).__set__) for field in fields(cast("type[Any]", kind)))


@cache
def one_of(kind: type[Choice]) -> Rule:
    """A rule: one of the members of an enumeration, by value."""
    return partial(_choose, kind)


def _choose(kind: type[Choice], value: Any, field: str) -> Choice:
    if isinstance(value, kind):
        return value
    try:
        return kind(value)
    except ValueError as problem:
        known = [member.value for member in kind]
        near = difflib.get_close_matches(str(value), known, n=1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise BadValue(f"{field} {value!r} is not known", remedy=f"{hint}Use one of: {', '.join(known)}.") from problem


# --- Find values that are given twice ---


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first name that was there before, or None; the time grows with the names, not with their square."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


# --- Values as JSON has them ---


def plain(value: Any) -> Any:
    """The same value in JSON's own types. What is none of ours is left for the writer to refuse."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(inner) for key, inner in value.items()}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(inner) for inner in value]
    return _leaf(value)


def _leaf(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Path) else value


# --- Read a user's TOML within bounds ---

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
