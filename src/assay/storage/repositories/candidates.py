"""Candidates: what ranking wants to know of a passage but its text, and of its memory but its body.

A search looks at hundreds and shows ten. So a memory is read once however many of its passages are candidates, and
lists and times stay as they are stored until somebody looks at them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from sys import intern
from typing import Any, NamedTuple, Self

from sqlalchemy import select, type_coerce

from assay.storage.repositories.base import among, mine
from assay.storage.tables import chunks, memories
from assay.storage.types import TextType, read_moment


class CandidateMemory(NamedTuple):
    """The memory of a candidate. What is stored as JSON or as a time is read where it is asked for.

    Only what changes with a line in the change log: rows are kept until one comes.
    """

    id: str
    number: int
    title: str
    tier: str
    folder: str
    rel_path: str
    context_type: str
    entity_type: str
    confidence: float
    stored_tags: str
    stored_learned_triggers: str
    stored_created_at: str
    stored_updated_at: str
    stored_valid_from: str
    stored_superseded_at: str | None

    @classmethod
    def of(cls, row: Iterable[Any]) -> Self:
        """Of a row, with what many rows say alike said by one text: rows are kept by the ten thousand."""
        made = cls._make(row)
        created = made.stored_created_at
        return made._replace(
            tier=intern(made.tier),
            folder=intern(made.folder),
            stored_tags=intern(made.stored_tags),
            stored_learned_triggers=intern(made.stored_learned_triggers),
            stored_updated_at=created if made.stored_updated_at == created else made.stored_updated_at,
            stored_valid_from=created if made.stored_valid_from == created else made.stored_valid_from,
        )

    @property
    def tags(self) -> list[str]:
        """Its tags."""
        return _list(self.stored_tags)

    @property
    def learned_triggers(self) -> list[str]:
        """What it learned from use."""
        return _list(self.stored_learned_triggers)

    @property
    def created_at(self) -> datetime:
        """When it was first saved."""
        return read_moment(self.stored_created_at)

    @property
    def updated_at(self) -> datetime:
        """When it was last changed."""
        return read_moment(self.stored_updated_at)

    @property
    def valid_from(self) -> datetime:
        """Since when it holds."""
        return read_moment(self.stored_valid_from)

    @property
    def superseded_at(self) -> datetime | None:
        """Until when it held; None while it does."""
        return None if self.stored_superseded_at is None else read_moment(self.stored_superseded_at)


class Candidate(NamedTuple):
    """A passage and its memory."""

    number: int
    memory_id: str
    position: int
    token_count: int
    heading_path: str
    passage_id: str
    """As the query log names it."""
    memory: CandidateMemory

    @classmethod
    def of(cls, row: Iterable[Any], memory: CandidateMemory) -> Self:
        """Of a row and its memory."""
        number, _, position, token_count, heading_path = row
        return cls(number, memory.id, position, token_count, heading_path, f"{memory.id}#{position}", memory)


_PASSAGE = [chunks.c[name] for name in Candidate._fields[:-2]]
_STORED = "stored_"
BY_NUMBER = select(*_PASSAGE).where(mine(chunks), among(chunks.c.number, "numbers"))
"""Passages as `Candidate` has them, without their ids and memories."""
FIRST_OF = select(*_PASSAGE).where(mine(chunks), among(chunks.c.memory_id, "ids"), chunks.c.position == 0)
"""The same, of the first passage of each of some memories."""
THEIR_MEMORIES = select(
    *(
        type_coerce(memories.c[name.removeprefix(_STORED)], TextType) if name.startswith(_STORED) else memories.c[name]
        for name in CandidateMemory._fields
    )
).where(mine(memories), among(memories.c.id, "ids"))
"""Memories as `CandidateMemory` has them."""


def _list(stored: str) -> list[str]:
    # Most memories have no tags and have learned nothing.
    found: list[str] = [] if stored == "[]" else json.loads(stored)
    return found
