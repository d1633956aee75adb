"""The keys of one JSON object, taken by name; what is missing or left over is refused with the names there are."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

from assay.errors import BadValue

T = TypeVar("T")
_MISSING = object()


class Keys:
    """One object being read. Values themselves are checked by the record that is made from them."""

    def __init__(self, value: Any, what: str) -> None:
        if not isinstance(value, dict):
            raise BadValue(f"{what} is {kind_of(value)}", remedy="Write it as a JSON object: {...}.")
        self._left = dict(value)
        self._what = what
        self._known: list[str] = []

    def need(self, name: str) -> Any:
        """The value of a key that must be there."""
        value = self.take(name, _MISSING)
        if value is _MISSING:
            there = ", ".join(sorted(self._left)) or "none"
            raise BadValue(f"{self._what} has no {name!r}", remedy=f"Add the key {name!r}; its keys are: {there}.")
        return value

    def take(self, name: str, default: Any = None) -> Any:
        """The value of a key that may be there."""
        self._known.append(name)
        return self._left.pop(name, default)

    def given(self, **names: str) -> dict[str, Any]:
        """The values of those keys that are there and not null, under other names."""
        found = {field: self.take(name) for field, name in names.items()}
        return {field: value for field, value in found.items() if value is not None}

    def done(self) -> None:
        """Refuse what nobody has taken: a key with a typo must not look like it was read."""
        for name in self._left:
            near = difflib.get_close_matches(name, self._known, n=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise BadValue(
                f"{self._what} has the key {name!r}, which is not known",
                remedy=f"{hint}Known are: {', '.join(sorted(set(self._known)))}.",
            )


def a_list(value: Any, what: str, of: Callable[[Any], T]) -> tuple[T, ...]:
    """Every element of a list, each made by `of`."""
    if not isinstance(value, list):
        raise BadValue(f"{what} is {kind_of(value)}", remedy="Write it as a JSON list: [...].")
    return tuple(of(one) for one in value)


def an_object(value: Any, what: str) -> dict[str, Any]:
    """A JSON object as it is."""
    if not isinstance(value, dict):
        raise BadValue(f"{what} is {kind_of(value)}", remedy="Write it as a JSON object: {...}.")
    return value


def texts(value: Any, what: str) -> tuple[str, ...]:
    """A list of texts; the record checks each."""
    return tuple(value) if isinstance(value, list) else a_list(value, what, lambda one: one)


def a_moment(value: Any, what: str) -> datetime:
    """A date or time; one without a zone is read as UTC."""
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError) as problem:
        raise BadValue(f"{what} {value!r} is no date or time", remedy="Write it as 2026-01-31T12:00:00Z.") from problem
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


def kind_of(value: Any) -> str:
    """What a JSON value is, in words."""
    names = {
        dict: "an object",
        list: "a list",
        str: "a text",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), "null" if value is None else type(value).__name__)
