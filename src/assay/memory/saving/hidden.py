"""Characters that a reader does not see and a machine does are taken out of a draft, and reported as masks are.

Zero-width characters, direction overrides, tag characters, runs of variation selectors, private use and controls carry
text past whoever reviews a note, and part the letters of a secret. What a script needs stays: joiners between letters
or emoji that are written with them, a single variation selector, marks of direction in a text written from the right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from assay.records import Draft, Mask

HIDDEN_TEXT = "hidden text"
"""What nobody types by accident: zero-width characters, direction overrides, tags, runs of variation selectors."""
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


def remove(draft: Draft) -> tuple[Draft, tuple[Mask, ...]]:
    """The draft without hidden characters, and where they were."""
    masks: list[Mask] = []
    fields: dict[str, Any] = {
        name: seen(getattr(draft, name), name, masks) for name in ("title", "body", "rel_path", "folder")
    }
    for name in ("triggers", "tags"):
        fields[name] = tuple(seen(text, name, masks) for text in getattr(draft, name))
    fields["metadata"] = _of_json(draft.metadata, masks)
    return (replace(draft, **fields), tuple(masks)) if masks else (draft, ())


def seen(text: str, where: str, masks: list[Mask]) -> str:
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


def _of_json(value: Any, masks: list[Mask]) -> Any:
    if isinstance(value, Mapping):
        return {seen(key, "metadata", masks): _of_json(inner, masks) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_of_json(inner, masks) for inner in value]
    return seen(value, "metadata", masks) if isinstance(value, str) else value
