"""Rubrics: the task of a judge, the JSON schema of the verdict, and reading the reply.

- The part of JSON Schema that verdicts need.
- Rubric files.
- From a judge's reply to a verdict.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import BadValue, MalformedFile
from assay.hashing import content_hash
from assay.models.chat import storable
from assay.models.structured import UnreadableReply, last_object
from assay.records import values
from assay.records.fields import one_of, read_toml_text
from assay.records.judging import AbstentionVerdict, CorrectnessVerdict, GroundednessVerdict, RubricKind, Verdict
from assay.regular_files import read_packaged_text, read_regular_text

# --- The part of JSON Schema that verdicts need ---
#
# A keyword that is not understood is refused, never passed over: a rubric must not seem stricter than it is. How long
# a text or list may be guides the model and its server only; a long reason is still a reason.

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


def find_schema_faults(schema: Any, where: str = "schema") -> Iterator[str]:
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
        yield from find_schema_faults(schema.get("items"), f"{where}.items")
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
        yield from find_schema_faults(inner, f"{where}.properties.{name}")
    for name in required:
        if name not in properties:
            yield f"{where} requires {name!r}, which it does not describe"


def find_errors(value: Any, schema: Mapping[str, Any], where: str = "") -> Iterator[str]:
    """What is wrong with a value under a sound schema."""
    kind = schema["type"]
    if not _is_a(value, kind):
        yield f"{where or 'it'} is not {_article(kind)}"
    elif kind == "object":
        yield from _object_errors(value, schema, where)
    elif kind == "array":
        for place, item in enumerate(value):
            yield from find_errors(item, schema["items"], f"{where}[{place}]")
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{where} is not one of {', '.join(map(str, schema['enum']))}"
    elif kind in ("number", "integer") and not _in_range(value, schema):
        yield f"{where} {value} is not from {schema.get('minimum')} to {schema.get('maximum')}"


def _object_errors(value: Mapping[str, Any], schema: Mapping[str, Any], where: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", []):
        if name not in value:
            yield f"it lacks {where}{name}"
    for name, inner in value.items():
        if name in properties:
            yield from find_errors(inner, properties[name], f"{where}{name}")
        elif schema.get("additionalProperties") is False:
            yield f"it has {str(name)[:40]!r}, which was not requested"


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


# --- Rubric files ---
#
# Three come with Assay (`rubrics/`). One of your own is a TOML file of the same shape, given by its path. A rubric is
# checked when it is loaded; its hash is part of the judge's fingerprint, so a changed word is another judge.

PARTS = ("question", "passages", "reference", "answer")
"""What a rubric may show of a case."""
VALUES = {RubricKind.GROUNDEDNESS: "score", RubricKind.CORRECTNESS: "score", RubricKind.ABSTENTION: "abstained"}
"""The field of the verdict that counts."""
_TYPES = {"score": ("integer", "number"), "abstained": ("boolean",)}
_FIELDS = {"name", "kind", "version", "system", "task", "parts", "schema"}
_REMEDY = "Compare it with the rubrics that come with Assay."


@dataclass(frozen=True, kw_only=True, slots=True)
class Rubric:
    """The task of a judge, and the shape of its verdict."""

    name: str
    kind: RubricKind
    version: str
    system: str
    """The system text: the role of the judge, and that judged text gives it no orders."""
    task: str
    """The task, placed after the judged text so that it comes last."""
    parts: tuple[str, ...]
    """What is shown of a case, in this order."""
    schema: Mapping[str, Any]

    @property
    def prompt_hash(self) -> str:
        """Return the hash of all texts and of the schema."""
        return content_hash([self.system, self.task, list(self.parts), dict(self.schema)])

    @property
    def value_field(self) -> str:
        """The field of the verdict that counts."""
        return VALUES[self.kind]


def load_rubric(named: str | Path) -> Rubric:
    """A rubric that comes with Assay by its name, any other by the path of its file."""
    if str(named) in [kind.value for kind in RubricKind]:
        return parse_rubric(read_packaged_text("judging", "rubrics", f"{named}.toml"), str(named))
    try:
        text = read_regular_text(Path(named))
    except (OSError, UnicodeDecodeError) as problem:
        known = ", ".join(kind.value for kind in RubricKind)
        raise MalformedFile(
            f"cannot read the rubric {named}: {problem}", remedy=f"Give the path of a file, or one of {known}."
        ) from problem
    return parse_rubric(text, str(named))


def parse_rubric(text: str, where: str) -> Rubric:
    """A rubric from the text of its file; `where` names it in errors."""
    try:
        found = read_toml_text(text)
    except tomllib.TOMLDecodeError as problem:
        raise MalformedFile(f"{where} is not TOML: {problem}", remedy=_REMEDY) from problem
    if set(found) != _FIELDS:
        odd = ", ".join(sorted(set(found) ^ _FIELDS))
        raise MalformedFile(f"{where} lacks or does not know: {odd}", remedy=_REMEDY)
    try:
        rubric = _build_rubric(found)
    except BadValue as problem:
        raise MalformedFile(f"{where}: {problem.message}", remedy=problem.remedy) from problem
    _refuse_faults(rubric, where)
    return rubric


def _build_rubric(found: Mapping[str, Any]) -> Rubric:
    parts = values.labels(found["parts"], "parts")
    strange = [part for part in parts if part not in PARTS]
    if strange or "answer" not in parts:
        raise BadValue(f"parts {', '.join(parts)} are not parts of a case", remedy=f"Use some of {', '.join(PARTS)}.")
    return Rubric(
        name=values.short_label(found["name"], "name"),
        kind=one_of(RubricKind)(found["kind"], "kind"),
        version=values.short_label(found["version"], "version"),
        system=values.text(found["system"], "system", empty=False).strip(),
        task=values.text(found["task"], "task", empty=False).strip(),
        parts=tuple(parts),
        schema=found["schema"],
    )


def _refuse_faults(rubric: Rubric, where: str) -> None:
    problem = next(find_schema_faults(rubric.schema), None) or _no_value(rubric)
    if problem is not None:
        raise MalformedFile(f"{where}: {problem}", remedy=_REMEDY)


def _no_value(rubric: Rubric) -> str | None:
    """A schema that is sound and has no place for what the verdict is about."""
    field, schema = rubric.value_field, rubric.schema
    described = schema.get("properties", {}).get(field, {})
    if schema["type"] != "object" or field not in schema.get("required", []):
        return f"schema must require {field!r}: it is what counts"
    if described["type"] not in _TYPES[field]:
        return f"schema.properties.{field} must be {' or '.join(_TYPES[field])}"
    if field == "score" and (described.get("minimum"), described.get("maximum")) != (0, 5):
        return "schema.properties.score must run from 0 to 5"
    return None


# --- From a judge's reply to a verdict ---
#
# A score as text, beyond the scale, as NaN, or said twice in one object is never guessed at.

PARSER_VERSION = "2"
"""Part of every judge's fingerprint: raise it with any change here or in `models.structured` that can move a score."""
MOST_CLAIMS = 50
LONGEST = 2_000


def read_verdict(reply: str, rubric: Rubric) -> Verdict:
    """The verdict of a reply; raises `UnreadableReply` with the reason."""
    return last_object(reply, lambda found: _verdict(found, rubric))


def _verdict(found: dict[str, Any], rubric: Rubric) -> Verdict:
    problem = next(find_errors(found, rubric.schema), None)
    if problem is not None:
        raise UnreadableReply(problem)
    reason = storable(str(found.get("reason", "")))[:LONGEST]
    if rubric.kind is RubricKind.ABSTENTION:
        return AbstentionVerdict(abstained=found["abstained"], reason=reason)
    if rubric.kind is RubricKind.CORRECTNESS:
        return CorrectnessVerdict(score=float(found["score"]), reason=reason)
    return GroundednessVerdict(
        score=float(found["score"]),
        supported_claims=_claims(found.get("supported_claims")),
        unsupported_claims=_claims(found.get("unsupported_claims")),
        reason=reason,
    )


def _claims(found: Any) -> tuple[str, ...]:
    listed = found if isinstance(found, list) else []
    return tuple(storable(str(claim))[:LONGEST] for claim in listed[:MOST_CLAIMS])
