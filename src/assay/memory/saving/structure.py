"""What a draft must be before anything looks at what it says. A draft that is not is refused, and nothing is written.

Titles, tiers, formats and characters are checked when the draft is made; here is what needs more than one field.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from assay.errors import BadValue
from assay.hashing import canonical_json
from assay.records import Draft, Format, memory

RESERVED = memory.RESERVED
MOST_TRIGGERS = 50
MOST_TAGS = 100
MOST_METADATA = 100_000
"""Characters of the metadata as JSON."""
MOST_CONSTITUTIONAL = 10
MOST_CONSTITUTIONAL_TOKENS = 2_000
"""Constitutional memories come with every search result, so all of them together must stay short."""


def check(draft: Draft) -> None:
    """Refuse a draft that cannot be kept, naming what is wrong."""
    _check_count(draft.triggers, "triggers", MOST_TRIGGERS)
    _check_count(draft.tags, "tags", MOST_TAGS)
    if RESERVED in draft.metadata:
        raise BadValue(f"the metadata has the key {RESERVED!r}, which is reserved", remedy="Use another key.")
    length = len(canonical_json(draft.metadata))
    if length > MOST_METADATA:
        raise BadValue(
            f"the metadata has {length:,} characters as JSON, over {MOST_METADATA:,}", remedy="Move text to the body."
        )
    _check_inside(draft.rel_path, "rel_path")
    _check_inside(draft.folder, "folder")
    if draft.format is Format.JSON:
        _check_json(draft.body)


def check_constitutional(tokens: int, others: Sequence[int]) -> None:
    """Refuse one more constitutional memory than every search result can carry; by the tokens of each."""
    if len(others) + 1 > MOST_CONSTITUTIONAL:
        raise BadValue(
            f"there are {len(others)} constitutional memories already, and at most {MOST_CONSTITUTIONAL} are allowed",
            remedy="Give another one a lower tier first, or save this one as critical.",
        )
    total = sum(others) + tokens
    if total > MOST_CONSTITUTIONAL_TOKENS:
        raise BadValue(
            f"constitutional memories would have {total:,} tokens together ({tokens:,} of them new), over"
            f" {MOST_CONSTITUTIONAL_TOKENS:,}",
            remedy="Shorten this one, or give another one a lower tier first.",
        )


def _check_count(values: Sequence[str], field: str, most: int) -> None:
    if len(values) > most:
        raise BadValue(f"there are {len(values):,} {field}, over {most}", remedy=f"Keep the {most} that matter most.")


def _check_inside(path: str, field: str) -> None:
    """A path is relative, written with `/`, and never goes up: whoever joins it to a root stays inside that root."""
    if not path or not (parts := PurePosixPath(path).parts):
        return
    if "\\" in path or PurePosixPath(path).is_absolute() or PureWindowsPath(path).drive or ".." in parts:
        raise BadValue(
            f"{field} {path!r} does not stay inside its root",
            remedy="Give a relative path with / between its parts and without '..'.",
        )
    if parts[0].startswith("~"):
        raise BadValue(f"{field} {path!r} begins with a home folder", remedy="Give a path relative to its root.")


def _check_json(body: str) -> None:
    try:
        json.loads(body, parse_constant=_no_constant, object_pairs_hook=_no_twins)
    except json.JSONDecodeError as problem:
        raise BadValue(
            f"the body is not JSON: {problem.msg} at line {problem.lineno} column {problem.colno}",
            remedy="Correct it, or save it with the format TEXT.",
        ) from problem
    except ValueError as problem:
        # A number of over 4,300 digits: Python refuses it, because reading it takes the square of its length.
        raise BadValue(f"the body is not JSON: {problem}", remedy="Write the number as a text.") from problem
    except RecursionError as problem:
        raise BadValue("the body is JSON nested too deeply", remedy="Flatten it, or use the format TEXT.") from problem


def _no_constant(name: str) -> Any:
    raise BadValue(f"the body has {name}, which is not JSON", remedy="Leave the value out, or write it as text.")


def _no_twins(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Readers disagree about which of two equal keys counts, so neither does."""
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise BadValue(f"the body has the key {key!r} twice in one object", remedy="Keep one of them.")
        made[key] = value
    return made
