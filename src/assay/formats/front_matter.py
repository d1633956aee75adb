"""YAML front matter of Markdown: properties between two lines of `---` at the very top, and the text below them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from assay.errors import MissingExtra

_BLOCK = re.compile(r"\A---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE)
LONGEST = 100_000
"""Characters of front matter that are read."""
DEEPEST = 32
"""Lists and objects inside each other."""
_BRACKET = re.compile(r"[\[\]{}]")
CREATED = ("created", "date", "created_at", "creation_date", "date created", "created time")
UPDATED = ("updated", "modified", "updated_at", "last_modified", "lastmod", "date modified", "last edited time")


@dataclass(frozen=True, kw_only=True, slots=True)
class FrontMatter:
    """A document without its front matter, and the properties in it."""

    body: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    """In JSON's own types; dates are texts in ISO 8601."""
    problem: str = ""
    """Why the front matter could not be read; empty when it could, or when there is none."""

    @property
    def title(self) -> str:
        """The title that it gives; empty when it gives none."""
        found = self.properties.get("title")
        return str(found).strip() if isinstance(found, (str, int, float)) else ""

    @property
    def tags(self) -> tuple[str, ...]:
        """`tags` or `tag`: a list, or words between commas or blanks; without the `#`."""
        return _words(self.properties, ("tags", "tag"), r"[,\s]+")

    @property
    def aliases(self) -> tuple[str, ...]:
        """`aliases` or `alias`: other names of the document."""
        return _words(self.properties, ("aliases", "alias"), r",")

    @property
    def created(self) -> datetime | None:
        """The creation date in the properties; None where there is none or it is not a date."""
        return _first_moment(self.properties, CREATED)

    @property
    def updated(self) -> datetime | None:
        """The date of the last change in the properties."""
        return _first_moment(self.properties, UPDATED)


def split(text: str) -> FrontMatter:
    """Take the front matter off a Markdown text; a text without any is returned as it is."""
    found = _BLOCK.match(text[: LONGEST + 10])
    if found is None:
        return FrontMatter(body=text)
    loaded, problem = _load(found.group(1))
    if loaded is None:
        # Text between two rules is text, and what is broken may be: nothing is lost.
        return FrontMatter(body=text, problem=problem)
    return FrontMatter(body=text[found.end() :].lstrip("\r\n"), properties=loaded)


def _load(written: str) -> tuple[dict[str, Any] | None, str]:
    """The properties, or None when these are none; and why they could not be read."""
    try:
        import yaml  # type: ignore[import-untyped] # noqa: PLC0415 - only where there is front matter
    except ImportError as problem:
        raise MissingExtra(
            "front matter needs PyYAML, which is not installed", remedy="Run: pip install 'assaykit[memory]'"
        ) from problem
    if _is_too_deep(written):
        return None, f"it is nested deeper than {DEEPEST} levels"
    try:
        loaded = _load_plain(yaml, written)
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        mark = getattr(problem, "problem_mark", None)
        said = getattr(problem, "problem", None) or str(problem) or "it is not YAML"
        return None, f"{said} at line {mark.line + 2}" if mark is not None else str(said)
    if loaded is None:
        return {}, ""
    if not isinstance(loaded, dict):
        return None, ""
    return {str(name): _json(value) for name, value in loaded.items()}, ""


def _is_too_deep(written: str) -> bool:
    """Whether brackets stand deeper in each other than any property does: YAML takes the square of that depth."""
    depth = 0
    for found in _BRACKET.finditer(written):
        depth = depth + 1 if found[0] in "[{" else max(0, depth - 1)
        if depth > DEEPEST:
            return True
    return False


def _load_plain(yaml: Any, written: str) -> Any:
    """YAML without references: a few lines of them stand for more values than any memory holds."""
    for event in yaml.parse(written, Loader=yaml.SafeLoader) if "*" in written else ():
        if isinstance(event, yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="it refers to another value with *", problem_mark=event.start_mark)
    # Not libyaml's reader, fast as it is: a line of nested lists ends the whole process there.
    return yaml.safe_load(written)


def _json(value: Any) -> Any:
    """A YAML value in JSON's own types."""
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(name): _json(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(inner) for inner in value]
    if isinstance(value, set):
        return sorted((_json(inner) for inner in value), key=str)
    if value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)


def _words(properties: Mapping[str, Any], names: tuple[str, ...], between: str) -> tuple[str, ...]:
    found: list[str] = []
    for name in names:
        given = properties.get(name)
        if isinstance(given, str):
            found += re.split(between, given)
        elif isinstance(given, list):
            found += [str(item) for item in given if isinstance(item, (str, int, float))]
    return tuple(dict.fromkeys(word.strip().removeprefix("#") for word in found if word.strip().strip("#")))


def _first_moment(properties: Mapping[str, Any], names: tuple[str, ...]) -> datetime | None:
    lower = {name.lower(): value for name, value in properties.items()}
    return next((moment for name in names if (moment := read_moment(lower.get(name))) is not None), None)


def read_moment(value: Any) -> datetime | None:
    """A time in ISO 8601, or seconds since 1970; in UTC when no zone is given. None: it is neither."""
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        if isinstance(value, str):
            moment = datetime.fromisoformat(value.strip())
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None
