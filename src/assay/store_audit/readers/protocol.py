"""What a reader of stores offers: recognise a store, read its memories, and rewrite a copy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from assay.formats.front_matter import read_moment
from assay.records.store_audits import StoreItem, StoreKind, UnreadEntry


class TextChange(NamedTuple):
    """What is to become of one memory of a copy."""

    text: str | None
    """The text it is to have; None: it goes."""


Changes = Mapping[str, TextChange]
"""By the keys of memories; a memory that is not named stays as it is."""


class StoreReader(Protocol):
    """Reads stores of one kind. No call changes a store, except `rewrite`, which is given a copy."""

    @property
    def kind(self) -> StoreKind:
        """The kind of store it reads."""
        ...

    @property
    def cannot_rewrite(self) -> str:
        """Why a copy cannot be rewritten in the same form; empty: it can."""
        ...

    def recognises(self, path: Path) -> bool:
        """Whether a file or folder looks like a store of this kind."""
        ...

    def files(self, path: Path) -> list[Path]:
        """Return the files that are read, in order."""
        ...

    def read(self, path: Path) -> Iterator[StoreItem | UnreadEntry]:
        """Yield every memory, oldest first where the store knows, and everything that could not be read."""
        ...

    def rewrite(self, copy: Path, changes: Changes) -> None:
        """Change a copy of a store in place."""
        ...


def newest_of(*times: Any) -> datetime | None:
    """Return the latest of some times, read from what a store holds; None where none of them is a time."""
    found = [moment for time in times if (moment := read_moment(time)) is not None]
    return max(found, default=None)


def owner_of(record: Mapping[str, Any]) -> str:
    """Return whose memory a record is: its user and agent, as far as it names them.

    A run is no owner: what somebody said in two sessions is about the same person.
    """
    named = (record.get(name) for name in ("user_id", "agent_id"))
    return "/".join(str(name) for name in named if name)
