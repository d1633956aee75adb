"""Marks: by what a row is recognised that holds something to be erased.

Pieces of text are looked for wherever they stand; ids and names only as whole words, so that erasing Ann spares the
annual report. In texts, case, width and runs of white space do not matter.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from assay.text.terms import normalised_phrase

ERASED = "(erased)"
"""What stands where something was erased from a row that stays."""
LEAST_WORD = 3
"""Letters of a word that is a name by itself."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]*[A-Za-z0-9]")


@dataclass(frozen=True, kw_only=True)
class Marks:
    """What gives a row away."""

    ids: frozenset[str] = frozenset()
    """Of memories and queries."""
    pieces: tuple[str, ...] = ()
    """Of their texts."""
    names: tuple[str, ...] = ()
    """Of a person."""

    def and_ids(self, more: Sequence[str]) -> Marks:
        """The same with further ids."""
        return replace(self, ids=self.ids | frozenset(more))

    def word_by_word(self) -> Marks:
        """The same with every longer word of a name as a name of its own."""
        single = [word for name in self.names for word in normalised_phrase(name).split() if len(word) >= LEAST_WORD]
        return replace(self, names=(*self.names, *single))

    def in_value(self, value: Any) -> bool:
        """Whether a text, or anything inside a JSON value, holds one of them."""
        return any(self._in_text(leaf) or self._names_id(leaf) for leaf in _leaves(value))

    def struck(self, value: Any) -> Any:
        """The value with `(erased)` in place of every text that holds a piece or a name, or speaks of an id.

        An id alone stays. Where an object names one, all its other texts go: they say something about what was erased.
        """
        if isinstance(value, str):
            speaks = self._in_text(value) or (value not in self.ids and self._names_id(value))
            return ERASED if speaks else value
        if isinstance(value, Mapping):
            if any(isinstance(inner, str) and inner in self.ids for inner in value.values()):
                return {key: _blank(inner, self.ids) for key, inner in value.items()}
            return {self.struck(key): self.struck(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.struck(inner) for inner in value]
        return value

    def as_bytes(self) -> list[bytes]:
        """Every text as it may stand in a file, ASCII in small letters; ids are no text."""
        spelt = [
            spelling
            for text in (*self.pieces, *self.names)
            for spelling in (text, text.lower(), text.upper(), text.casefold(), normalised_phrase(text))
        ]
        escaped = [json.dumps(one, ensure_ascii=False)[1:-1] for one in spelt]
        return [one.encode().lower() for one in dict.fromkeys([*spelt, *escaped]) if one.strip()]

    @cached_property
    def _folded(self) -> tuple[str, ...]:
        return tuple(filter(None, map(fold, self.pieces)))

    @cached_property
    def _named(self) -> re.Pattern[str] | None:
        folded = [re.escape(name) for name in map(fold, self.names) if name]
        return re.compile(rf"(?<!\w)(?:{'|'.join(folded)})(?!\w)") if folded else None

    def _names_id(self, text: str) -> bool:
        """Whether an id stands in a text; one that is named alone, or with a passage, is found at once."""
        return text.split("#", 1)[0] in self.ids or any(word in self.ids for word in _ID.findall(text))

    def _in_text(self, text: str) -> bool:
        folded = fold(text)
        return any(one in folded for one in self._folded) or (
            self._named is not None and self._named.search(folded) is not None
        )


def fold(text: str) -> str:
    """A text without case, width and runs of white space."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return " ".join(plain.casefold().split())


def _blank(value: Any, ids: frozenset[str]) -> Any:
    if isinstance(value, str):
        return value if value in ids else ERASED
    if isinstance(value, Mapping):
        return {key: _blank(inner, ids) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_blank(inner, ids) for inner in value]
    return value


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(key)
            yield from _leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner)
