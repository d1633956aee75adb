"""The edge: what may enter a record, checked once, when the record is made.

A value that SQLite and PostgreSQL would keep differently (NaN, NUL, a lone surrogate, 2**63) is refused here with
the name of its field, so no back end ever decides in silence. Every check returns the value it was given.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from assay.errors import BadValue
from assay.hashing import canonical_json

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)
MAX_TEXT = 16_000_000
"""Characters in one text field. Readers split larger documents."""
MAX_LABEL = 4_000
"""Characters in a title, path, name or trigger."""
MAX_SHORT_LABEL = 500
"""Characters in a label that an index holds: PostgreSQL refuses index entries above 2,704 bytes."""
MAX_NESTING = 64
"""Levels of lists and objects in a JSON value."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:#-]{0,127}")
_SIMPLE = {str, int, bool, type(None)}
_IDS = re.compile(rf"(?:{_ID.pattern}\n)+")


def text(value: Any, field: str, *, longest: int = MAX_TEXT, empty: bool = True) -> str:
    """A string that both back ends keep byte for byte."""
    if not isinstance(value, str):
        raise _build_error(field, value, "is not text", "Give a string.")
    if not empty and not value.strip():
        raise _build_error(field, value, "is empty", "Give at least one visible character.")
    if len(value) > longest:
        raise _build_error(field, value, f"has {len(value):,} characters, over {longest:,}", "Shorten or split it.")
    if "\x00" in value:
        raise _build_error(field, value, "contains a NUL character", "Remove U+0000; PostgreSQL cannot keep it.")
    if not value.isascii():
        _check_encodable(value, field)
    return value


def _check_encodable(value: str, field: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as problem:
        raise _build_error(
            field, value, f"has a lone surrogate at {problem.start}", "Decode the source as UTF-8 first."
        ) from problem


def label(value: Any, field: str) -> str:
    """A short text with something in it: a title, name or trigger."""
    return text(value, field, longest=MAX_LABEL, empty=False)


def optional_label(value: Any, field: str) -> str:
    """A short text that may be empty."""
    return text(value, field, longest=MAX_LABEL)


def short_label(value: Any, field: str) -> str:
    """A label that an index holds: a source, session or tool."""
    return text(value, field, longest=MAX_SHORT_LABEL, empty=False)


def optional_short_label(value: Any, field: str) -> str:
    """The same, which may be empty."""
    return text(value, field, longest=MAX_SHORT_LABEL)


def identifier(value: Any, field: str) -> str:
    """An id: letters, digits and `_ . : # -`, so that it is never mistaken for a path or a pattern."""
    text(value, field)
    if not _ID.fullmatch(value):
        raise _build_error(
            field, value, "is not an id", "Use 1 to 128 letters, digits or _ . : # - and begin with a letter or digit."
        )
    return str(value)


def whole(value: Any, field: str) -> int:
    """An integer of at most 64 bits."""
    return _between(value, field, INT64_MIN)


def count(value: Any, field: str) -> int:
    """An integer of at most 64 bits that is not negative."""
    return _between(value, field, 0)


def _between(value: Any, field: str, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _build_error(field, value, "is not a whole number", "Give an integer.")
    if not least <= value <= INT64_MAX:
        raise _build_error(field, value, "is out of range", f"Give a whole number from {least} to {INT64_MAX}.")
    return value


def flag(value: Any, field: str) -> bool:
    """True or false, and nothing that merely looks like it."""
    if not isinstance(value, bool):
        raise _build_error(field, value, "is not true or false", "Give a boolean.")
    return value


def finite(value: Any, field: str) -> float:
    """A number that is neither NaN nor infinite."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise _build_error(field, value, "is not a number", "Give a finite number.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _build_error(
            field, value, "is not finite", "A value that could not be computed is left out, not written as NaN."
        )
    return number


def share(value: Any, field: str) -> float:
    """A number from 0 to 1."""
    number = finite(value, field)
    if not 0.0 <= number <= 1.0:
        raise _build_error(field, value, "is outside 0 to 1", "Give a number from 0 to 1.")
    return number


def moment(value: Any, field: str) -> datetime:
    """A point in time that names its zone; kept in UTC."""
    if not isinstance(value, datetime):
        raise _build_error(field, value, "is not a time", "Give a datetime with a time zone.")
    if value.utcoffset() is None:
        raise _build_error(field, value, "has no time zone", "Use datetime.now(UTC) or attach a tzinfo.")
    try:
        return value.astimezone(UTC)
    except OverflowError as problem:
        raise _build_error(field, value, "is out of range in UTC", "Use the years 1 to 9999.") from problem


def labels(values: Any, field: str) -> tuple[str, ...]:
    """Several short texts, in order."""
    if isinstance(values, tuple) and not values:
        return values
    return tuple(label(value, field) for value in _several(values, field, "texts"))


def _several(values: Any, field: str, of_what: str) -> tuple[Any, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise _build_error(field, values, f"is not a list of {of_what}", f"Give a list or tuple of {of_what}.")
    return tuple(values)


def identifiers(values: Any, field: str) -> tuple[str, ...]:
    """Several ids, in order."""
    found = _several(values, field, "texts")
    # A logged query carries hundreds of ids: look at them one by one only when one of them is wrong.
    if set(map(type, found)) <= {str} and _IDS.fullmatch("\n".join(found) + "\n"):
        return found
    return tuple(identifier(value, field) for value in found)


def finites(values: Any, field: str) -> tuple[float, ...]:
    """Several finite numbers, in order."""
    found = _several(values, field, "numbers")
    if set(map(type, found)) <= {float} and math.isfinite(sum(found)):
        return found
    return tuple(finite(value, field) for value in found)


def json_object(value: Any, field: str) -> dict[str, Any]:
    """A JSON object, copied, so that a later change of the caller's mapping changes nothing here."""
    # Asking for a dict first is five times as quick as asking for any mapping.
    if not isinstance(value, (dict, Mapping)):
        raise _build_error(field, value, "is not an object", "Give a mapping from text to JSON values.")
    if not value:
        return {}
    _check_json(value, field, depth=0)
    if type(value) is dict and set(map(type, value.values())) <= _SIMPLE and set(map(type, value)) == {str}:
        # The same as below, for most metadata there is.
        return {key: value[key] for key in sorted(value)}
    copied: dict[str, Any] = json.loads(canonical_json(dict(value)))
    return copied


def _check_json(value: Any, field: str, depth: int) -> None:
    if depth > MAX_NESTING:
        raise _build_error(field, "...", f"is nested deeper than {MAX_NESTING} levels", "Flatten it.")
    # What there is most of comes first: a save tells dozens of texts.
    if isinstance(value, str):
        text(value, field)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            _check_json(inner, field, depth + 1)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            text(key, f"{field} key")
            _check_json(inner, f"{field}.{key}" if depth < 3 else field, depth + 1)
    elif isinstance(value, float):
        finite(value, field)
    elif isinstance(value, int):
        whole(int(value), field)  # true and false are integers to Python
    elif value is not None:
        raise _build_error(
            field, value, "is not a JSON value", "Use text, numbers, true/false, null, lists and objects."
        )


def _build_error(field: str, value: Any, problem: str, remedy: str) -> BadValue:
    shown = ascii(value)
    return BadValue(f"{field} {shown if len(shown) <= 80 else shown[:77] + '...'} {problem}", remedy=remedy)
