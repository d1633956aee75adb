"""Checking and cleaning a draft before its content is judged.

- Structure: what a draft must be; one that is not is refused and nothing is written.
- Hidden characters: removed from a draft and reported as masks.
- Secrets: masked before anything is stored, embedded or compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from assay.errors import BadValue
from assay.hashing import canonical_json
from assay.records import Draft, Format, Mask, memory
from assay.records.memory import LABEL_FIELDS, TEXT_FIELDS
from assay.text.secrets import mask_json, mask_text

__all__ = [
    "mask_secrets",
    "mask_text",
]


# --- Structure: what a draft must be; one that is not is refused and nothing is written ---
#
# Titles, tiers, formats and characters are checked when the draft is made; here is what needs more than one field.

RESERVED = memory.RESERVED
MOST_TRIGGERS = 50
MOST_TAGS = 100
MOST_METADATA = 100_000
"""Characters of the metadata as JSON."""
MOST_CONSTITUTIONAL = 10
MOST_CONSTITUTIONAL_TOKENS = 2_000
"""Constitutional memories come with every search result, so all of them together must stay short."""


def check_draft(draft: Draft) -> None:
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
            remedy="Give another one a lower tier first with `assay tier ID critical`, or make this one critical.",
        )
    total = sum(others) + tokens
    if total > MOST_CONSTITUTIONAL_TOKENS:
        raise BadValue(
            f"constitutional memories would have {total:,} tokens together ({tokens:,} of them new), over"
            f" {MOST_CONSTITUTIONAL_TOKENS:,}",
            remedy="Shorten this one, or give another one a lower tier first with `assay tier ID critical`.",
        )


def _check_count(values: Sequence[str], field: str, most: int) -> None:
    if len(values) > most:
        raise BadValue(f"there are {len(values):,} {field}, over {most}", remedy=f"Keep the {most} that matter most.")


@lru_cache(maxsize=256)
def _check_inside(path: str, field: str) -> None:
    """Check that a path is relative, uses `/` and has no `..`, so that joining it to a root stays inside that root."""
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


# --- Hidden characters: removed from a draft and reported as masks ---
#
# Zero-width characters, direction overrides, tag characters, runs of variation selectors, private use and controls
# carry text past whoever reviews a note, and part the letters of a secret. What a script needs stays: joiners between
# letters or emoji that are written with them, a single variation selector, marks of direction in a text written from
# the right.

HIDDEN_TEXT = "hidden text"
"""Characters that are not typed by accident: zero-width, direction overrides, tags, runs of variation selectors."""
REORDERED = "direction or terminal controls"
"""What makes a screen show something else than what is stored: direction overrides, escape sequences of terminals."""
PRIVATE = "private use characters"
STRAY = "stray characters"
"""What files bring along: other controls, byte order marks, soft hyphens."""

_PRIVATE_USE = "\ue000-\uf8ff\U000f0000-\U0010fffd"
_STRAY = (
    "\x01-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"  # controls other than white space
    "\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufeff\ufff0-\ufffb"  # soft hyphen, fillers, marks
    + _PRIVATE_USE
)
_ALWAYS = _STRAY + (
    "\u200b\u202a-\u202e\u2060-\u2065\u206a-\u206f"  # zero-width, overrides
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"  # formats, tags
)
_MARKS = "\u061c\u200e\u200f\u2066-\u2069"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_JOINED = "[\u02b0-\U0010ffff]"
"""Characters between which a joiner may stand: none of a European alphabet."""
_FROM_THE_RIGHT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_HIDDEN = re.compile(
    f"[{_ALWAYS}]+"
    f"|(?<=[{_SELECTORS}])[{_SELECTORS}]+|(?<![\u00a9-\U0010ffff#*0-9])[{_SELECTORS}]+"
    f"|(?<!{_JOINED})[\u200c\u200d]+|[\u200c\u200d]+(?!{_JOINED})|(?<=[\u200c\u200d])[\u200c\u200d]+"
)
_STRAYS = re.compile(f"[{_STRAY}]")
_PRIVATES = re.compile(f"[{_PRIVATE_USE}]")
_OVERRIDES = re.compile("[\u202b\u202d\u202e\u2067]")
"""Those that turn the direction of text. A lone U+202A comes with paths that were copied on Windows."""
_ESCAPES = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]{0,40}[ -/]{0,10}[@-~]?|\x1b\\][^\x07\x1b\n]{0,300}(?:\x07|\x1b\\\\)?|\x1b[@-Z^_]?"
)
"""Escape sequences of terminals (ECMA-48), with what follows the escape character."""
_HIDDEN_MARKS = re.compile(f"[{_MARKS}]+")


def remove_hidden_text(draft: Draft) -> tuple[Draft, tuple[Mask, ...]]:
    """The draft without hidden characters, and where they were."""
    masks: list[Mask] = []
    fields: dict[str, Any] = {
        name: strip_hidden(text, name, masks) for name in TEXT_FIELDS if (text := getattr(draft, name)) is not None
    }
    for name in LABEL_FIELDS:
        fields[name] = tuple(strip_hidden(text, name, masks) for text in getattr(draft, name))
    fields["metadata"] = _strip_json(draft.metadata, masks)
    return (replace(draft, **fields), tuple(masks)) if masks else (draft, ())


def strip_hidden(text: str, where: str, masks: list[Mask]) -> str:
    """A text without what cannot be seen; what was taken out is added to `masks`."""
    if text.isascii() and text.isprintable():
        return text
    without_escapes = _ESCAPES.sub("", text) if "\x1b" in text or "\x9b" in text else text
    plain = _HIDDEN.sub("", without_escapes)
    if not _FROM_THE_RIGHT.search(plain):
        plain = _HIDDEN_MARKS.sub("", plain)
    if len(text) > len(plain):
        masks += _masks(text, without_escapes, plain, where)
    return plain


def _masks(text: str, without_escapes: str, plain: str, where: str) -> Iterator[Mask]:
    """What was taken out of a text, by kind."""
    private, overrides, strays = (
        len(pattern.findall(without_escapes)) - len(pattern.findall(plain))
        for pattern in (_PRIVATES, _OVERRIDES, _STRAYS)
    )
    escapes = len(text) - len(without_escapes)
    found = (
        (HIDDEN_TEXT, len(without_escapes) - len(plain) - strays - overrides),
        (REORDERED, escapes + overrides),
        (PRIVATE, private),
        (STRAY, strays - private),
    )
    for kind, count in found:
        if count:
            yield Mask(kind, where, count)


def _strip_json(value: Any, masks: list[Mask]) -> Any:
    if isinstance(value, Mapping):
        return {strip_hidden(key, "metadata", masks): _strip_json(inner, masks) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_strip_json(inner, masks) for inner in value]
    return strip_hidden(value, "metadata", masks) if isinstance(value, str) else value


# --- Secrets: masked before anything is stored, embedded or compared ---
#
# What a secret is, `assay.text.secrets` knows; here every field of a draft is looked at.


def mask_secrets(draft: Draft) -> tuple[Draft, tuple[Mask, ...]]:
    """Return the draft without its secrets, and what was masked where. A draft without any comes back as it is."""
    masks: list[Mask] = []
    fields: dict[str, Any] = {
        name: mask_text(text, name, masks) for name in TEXT_FIELDS if (text := getattr(draft, name)) is not None
    }
    for name in LABEL_FIELDS:
        fields[name] = tuple(mask_text(text, name, masks) for text in getattr(draft, name))
    fields["metadata"] = mask_json(draft.metadata, "metadata", masks)
    return (replace(draft, **fields), tuple(masks)) if masks else (draft, ())
