"""Rubrics: what a judge is asked, as versioned files with the JSON schema of the verdict.

Three come with Assay (`rubrics/`). One of your own is a TOML file of the same shape, given by its path. A rubric is
checked when it is loaded; its hash is part of the judge's fingerprint, so a changed word is another judge.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from assay.errors import BadValue, MalformedFile
from assay.hashing import content_hash
from assay.judging.schema import faults
from assay.records import values
from assay.records.checked import one_of
from assay.records.judging import RubricKind
from assay.records.toml_text import read_toml_text
from assay.regular_files import read_regular_text

PARTS = ("question", "passages", "reference", "answer")
"""What a rubric may show of a case."""
VALUES = {RubricKind.GROUNDEDNESS: "score", RubricKind.CORRECTNESS: "score", RubricKind.ABSTENTION: "abstained"}
"""The field of the verdict that counts."""
_TYPES = {"score": ("integer", "number"), "abstained": ("boolean",)}
_FIELDS = {"name", "kind", "version", "system", "task", "parts", "schema"}
_REMEDY = "Compare it with the rubrics that come with Assay."


@dataclass(frozen=True, kw_only=True, slots=True)
class Rubric:
    """What is asked of a judge, and how its verdict looks."""

    name: str
    kind: RubricKind
    version: str
    system: str
    """Who the judge is, and that judged text never speaks to it."""
    task: str
    """What to do; stands after the judged text, so that it is the last word."""
    parts: tuple[str, ...]
    """What is shown of a case, in this order."""
    schema: Mapping[str, Any]

    @property
    def prompt_hash(self) -> str:
        """Of every word and of the schema."""
        return content_hash([self.system, self.task, list(self.parts), dict(self.schema)])

    @property
    def value_field(self) -> str:
        """The field of the verdict that counts."""
        return VALUES[self.kind]


def load_rubric(named: str | Path) -> Rubric:
    """A rubric that comes with Assay by its name, any other by the path of its file."""
    if str(named) in [one.value for one in RubricKind]:
        place = resources.files("assay.judging") / "rubrics" / f"{named}.toml"
        return parse_rubric(place.read_text(encoding="utf-8"), str(named))
    try:
        text = read_regular_text(Path(named))
    except (OSError, UnicodeDecodeError) as problem:
        known = ", ".join(one.value for one in RubricKind)
        raise MalformedFile(
            f"cannot read the rubric {named}: {problem}", remedy=f"Give the path of a file, or one of {known}."
        ) from problem
    return parse_rubric(text, str(named))


def parse_rubric(text: str, where: str) -> Rubric:
    """A rubric from the text of its file; `where` names it in errors."""
    try:
        found = read_toml_text(text)
    except tomllib.TOMLDecodeError as problem:
        raise MalformedFile(f"{where} is no TOML: {problem}", remedy=_REMEDY) from problem
    if set(found) != _FIELDS:
        odd = ", ".join(sorted(set(found) ^ _FIELDS))
        raise MalformedFile(f"{where} lacks or does not know: {odd}", remedy=_REMEDY)
    try:
        rubric = _checked(found)
    except BadValue as problem:
        raise MalformedFile(f"{where}: {problem.message}", remedy=problem.remedy) from problem
    _refuse_faults(rubric, where)
    return rubric


def _checked(found: Mapping[str, Any]) -> Rubric:
    parts = values.labels(found["parts"], "parts")
    strange = [one for one in parts if one not in PARTS]
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
    problem = next(faults(rubric.schema), None) or _no_value(rubric)
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
