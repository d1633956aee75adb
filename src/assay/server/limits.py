"""Checks of a request's body: its content type, JSON syntax, nesting, and values that every store can hold.

`json.loads` alone accepts NaN, 1e999, integers of any length, lone surrogates and repeated keys. They are refused here
before a route sees them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from assay.gateway.headers import Headers
from assay.gateway.refusal import RequestRefused
from assay.records.fields import first_repeated
from assay.records.values import INT64_MAX, INT64_MIN, MAX_NESTING

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


def kind_of(headers: Headers) -> str:
    """Return the content type of a request, without its parameters."""
    found = next((value for name, value in headers if name == "content-type"), "")
    return found.partition(";")[0].strip().lower()


def check_body(kind: str, body: bytes, *, forms: bool) -> Any:
    """Return the value of a JSON body, None for a form or an empty body; refuse other types (415)."""
    if not body:
        return None
    if kind == JSON:
        return check_json(body)
    if not (forms and kind == FORM):
        raise RequestRefused(415, "wrong_kind", f"the content type {kind!a} is not supported", remedy=f"Send {JSON}.")
    return None


def check_raw_kind(kind: str, allowed: tuple[str, ...]) -> None:
    """Refuse (415) a content type that a route does not read by itself."""
    if kind not in allowed:
        raise RequestRefused(
            415, "wrong_kind", f"the content type {kind!a} is not supported", remedy=f"Send {' or '.join(allowed)}."
        )


def check_json(body: bytes) -> Any:
    """Return the value of a JSON body; refuse JSON that is malformed or holds a value that a store cannot hold."""
    try:
        text = body.decode()
        found = json.loads(
            text, parse_constant=_constant, parse_float=_float, parse_int=_int, object_pairs_hook=_object
        )
    except (UnicodeDecodeError, json.JSONDecodeError) as problem:
        raise RequestRefused(
            400, "malformed_json", f"the body is not JSON: {problem}", remedy="Send UTF-8 JSON."
        ) from problem
    except RecursionError as problem:
        raise _too_deep() from problem
    _check_depth(found)
    # In valid UTF-8 only an escape can yield a lone surrogate or a NUL.
    if "\\u" in text:
        _check_texts(found)
    return found


def _constant(word: str) -> float:
    raise _bad(f"{word} is not a JSON number", "Leave out values that could not be computed.")


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _bad(f"{text[:40]} is too large for a number", "Give a finite number.")
    return number


def _int(text: str) -> int:
    if len(text) > 20 or not INT64_MIN <= int(text) <= INT64_MAX:
        raise _bad(f"{text[:40]} has more than 64 bits", "Give a number within 64 bits.")
    return int(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = first_repeated(name for name, _ in pairs)
        raise _bad(f"the field {twice!a} occurs twice", "Give it once.")
    return found


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_NESTING):
        level = [inner for value in level if isinstance(value, (dict, list)) for inner in _inner(value)]
        if not level:
            return
    raise _too_deep()


def _inner(value: Mapping[str, Any] | list[Any]) -> list[Any]:
    return list(value.values()) if isinstance(value, Mapping) else value


def _check_texts(value: Any) -> None:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            _check_text(one)
        elif isinstance(one, dict):
            waiting += [*one, *one.values()]
        elif isinstance(one, list):
            waiting += one


def _check_text(text: str) -> None:
    if "\x00" in text:
        raise _bad(f"{text[:40]!a} contains a NUL character", "Remove U+0000.")
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        raise _bad(f"{text[:40]!a} has a lone surrogate", "Send whole characters.") from problem


def _bad(message: str, remedy: str) -> RequestRefused:
    return RequestRefused(422, "bad_value", message, remedy=remedy)


def _too_deep() -> RequestRefused:
    return RequestRefused(
        422, "bad_value", f"the body is nested deeper than {MAX_NESTING} levels", remedy="Flatten it."
    )
