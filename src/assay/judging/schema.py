"""The part of JSON Schema that verdicts need: whether a schema is one, and what is wrong with a value under it.

A keyword that is not understood is refused, never passed over: a rubric must not seem stricter than it is. How long a
text or list may be guides the model and its server only; a long reason is still a reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

TYPES = ("object", "array", "string", "number", "integer", "boolean")
_KEYWORDS = {
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "minItems", "maxItems"},
    "string": {"enum", "maxLength"},
    "number": {"minimum", "maximum"},
    "integer": {"minimum", "maximum"},
    "boolean": set[str](),
}
_ALWAYS = {"type", "description", "title"}


def faults(schema: Any, where: str = "schema") -> Iterator[str]:
    """What is wrong with a schema, each in a sentence that names the place."""
    if not isinstance(schema, Mapping):
        yield f"{where} is not a table"
        return
    kind = schema.get("type")
    if kind not in TYPES:
        yield f"{where}.type {kind!r} is not one of {', '.join(TYPES)}"
        return
    for keyword in sorted(set(schema) - _ALWAYS - _KEYWORDS[kind]):
        yield f"{where}.{keyword} is not known for a {kind}"
    if kind == "array":
        yield from faults(schema.get("items"), f"{where}.items")
    if kind == "object":
        yield from _object_faults(schema, where)
    if kind in ("number", "integer"):
        low, high = schema.get("minimum", 0), schema.get("maximum", 0)
        if not _is_number(low) or not _is_number(high) or ("maximum" in schema and "minimum" in schema and low > high):
            yield f"{where} has no range from {low!r} to {high!r}"


def _object_faults(schema: Mapping[str, Any], where: str) -> Iterator[str]:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(required, list):
        yield f"{where} needs a table of properties and a list of what is required"
        return
    for name, inner in properties.items():
        yield from faults(inner, f"{where}.properties.{name}")
    for name in required:
        if name not in properties:
            yield f"{where} requires {name!r}, which it does not describe"


def wrongs(value: Any, schema: Mapping[str, Any], where: str = "") -> Iterator[str]:
    """What is wrong with a value under a sound schema."""
    kind = schema["type"]
    if not _is_a(value, kind):
        yield f"{where or 'it'} is not {_article(kind)}"
    elif kind == "object":
        yield from _object_wrongs(value, schema, where)
    elif kind == "array":
        for place, item in enumerate(value):
            yield from wrongs(item, schema["items"], f"{where}[{place}]")
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{where} is not one of {', '.join(map(str, schema['enum']))}"
    elif kind in ("number", "integer") and not _in_range(value, schema):
        yield f"{where} {value} is not from {schema.get('minimum')} to {schema.get('maximum')}"


def _object_wrongs(value: Mapping[str, Any], schema: Mapping[str, Any], where: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", []):
        if name not in value:
            yield f"it lacks {where}{name}"
    for name, inner in value.items():
        if name in properties:
            yield from wrongs(inner, properties[name], f"{where}{name}")
        elif schema.get("additionalProperties") is False:
            yield f"it has {str(name)[:40]!r}, which nobody asked for"


def _in_range(value: float, schema: Mapping[str, Any]) -> bool:
    return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))


def _is_a(value: Any, kind: str) -> bool:
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "integer":
        return _is_number(value) and float(value).is_integer()
    if kind == "number":
        return _is_number(value)
    return isinstance(value, {"object": Mapping, "array": list, "string": str}[kind])


def _is_number(value: Any) -> bool:
    # JSON's 1e999 is read as infinity.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aio" else f"a {kind}"
