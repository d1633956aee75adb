"""Candidates: what ranking wants to know of a passage and of its memory, and nothing that is only shown.

A search looks at hundreds and shows ten, and rows are kept by the ten thousand (`assay.index.kept`). So a memory is
read once however many of its passages are candidates, lists stay as they are stored until somebody looks at them, and
what many rows say alike is said by one object.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from sys import intern
from typing import Any, NamedTuple, Self

from sqlalchemy import select, type_coerce

from assay.storage.repositories.base import among, mine
from assay.storage.tables import chunks, memories
from assay.storage.types import TextType, read_moment


class CandidateMemory(NamedTuple):
    """The memory of a candidate. Times are seconds since 1970, exact to the microsecond.

    Only what changes with a line in the change log: rows are kept until one comes.
    """

    id: str
    number: int
    tier: str
    folder: str
    context_type: str
    entity_type: str
    confidence: float
    stored_tags: str
    stored_learned_triggers: str
    updated_at: float
    valid_from: float
    superseded_at: float | None
    """Until when it held; None while it does."""

    @classmethod
    def of(cls, row: Iterable[Any]) -> Self:
        """Of a row of `THEIR_MEMORIES`."""
        made = cls._make(row)
        updated, valid, superseded = made[-3:]
        updated_at = _seconds(updated)
        return made._replace(
            tier=intern(made.tier),
            folder=intern(made.folder),
            context_type=intern(made.context_type),
            entity_type=intern(made.entity_type),
            confidence=_CONFIDENCES.get(made.confidence, made.confidence),
            stored_tags=intern(made.stored_tags),
            stored_learned_triggers=intern(made.stored_learned_triggers),
            updated_at=updated_at,
            valid_from=updated_at if valid == updated else _seconds(valid),
            superseded_at=None if superseded is None else _seconds(superseded),
        )

    @property
    def tags(self) -> list[str]:
        """Its tags."""
        return _list(self.stored_tags)

    @property
    def learned_triggers(self) -> list[str]:
        """What it learned from use."""
        return _list(self.stored_learned_triggers)


class Candidate(NamedTuple):
    """A passage and its memory."""

    number: int
    memory_id: str
    position: int
    token_count: int
    memory: CandidateMemory

    @classmethod
    def of(cls, row: Iterable[Any], memory: CandidateMemory) -> Self:
        """Of a row and its memory."""
        number, _, position, token_count = row
        return cls(number, memory.id, position, token_count, memory)

    @property
    def passage_id(self) -> str:
        """As the query log names it."""
        return f"{self.memory_id}#{self.position}"


_PASSAGE = [chunks.c[name] for name in Candidate._fields[:-1]]
BY_NUMBER = select(*_PASSAGE).where(mine(chunks), among(chunks.c.number, "numbers"))
"""Passages as `Candidate` has them, without their memories."""
FIRST_OF = select(*_PASSAGE).where(mine(chunks), among(chunks.c.memory_id, "ids"), chunks.c.position == 0)
"""The same, of the first passage of each of some memories."""
_AS_TEXT = ("stored_tags", "stored_learned_triggers", "updated_at", "valid_from", "superseded_at")
THEIR_MEMORIES = select(
    *(
        type_coerce(memories.c[name.removeprefix("stored_")], TextType) if name in _AS_TEXT else memories.c[name]
        for name in CandidateMemory._fields
    )
).where(mine(memories), among(memories.c.id, "ids"))
"""Memories as `CandidateMemory.of` reads them."""
_CONFIDENCES = {0.5: 0.5, 1.0: 1.0}
"""Those that most memories have, each as one object."""


def _seconds(stored: Any) -> float:
    return read_moment(stored).timestamp()


def _list(stored: str) -> list[str]:
    # Most memories have no tags and have learned nothing.
    found: list[str] = [] if stored == "[]" else json.loads(stored)
    return found
