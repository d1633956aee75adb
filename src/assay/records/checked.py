"""How a frozen record keeps the checked form of what it was given: rules from `values`, applied field by field."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from enum import StrEnum
from functools import cache, partial
from typing import Any, TypeVar

from assay.errors import BadValue

Choice = TypeVar("Choice", bound=StrEnum)
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
