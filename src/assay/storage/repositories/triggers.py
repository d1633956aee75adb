"""Trigger phrases of memories, normalised, for the exact lookup of phrases that stand in a query.

Only what the memory's author wrote: learned triggers are not among them. Kept by `Memories` with each change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import delete, select

from assay.records import MemoryRecord
from assay.storage.full_text import trigger_phrases
from assay.storage.repositories.base import Repository, among, mine
from assay.storage.tables import memories, memory_triggers


class TriggerMatch(NamedTuple):
    """A memory one of whose triggers was asked for."""

    phrase: str
    memory_number: int
    memory_id: str


_ADD = memory_triggers.insert()
# Two questions: joined, SQLite would begin with every memory of the tenant.
_HELD = select(memory_triggers.c.phrase, memory_triggers.c.memory_id).where(
    mine(memory_triggers), among(memory_triggers.c.phrase, "phrases")
)
_NUMBERS = select(memories.c.id, memories.c.number).where(mine(memories), among(memories.c.id, "ids"))


class Triggers(Repository):
    """The trigger phrases of one tenant."""

    def matching(self, phrases: Sequence[str]) -> list[TriggerMatch]:
        """Memories with one of these normalised phrases, superseded ones too; by phrase, then number."""
        held = self._rows(_HELD, phrases=phrases) if phrases else []
        if not held:
            return []
        numbers = {row.id: row.number for row in self._rows(_NUMBERS, ids={row.memory_id for row in held})}
        return sorted(TriggerMatch(row.phrase, numbers[row.memory_id], row.memory_id) for row in held)

    def keep(self, saved: Sequence[MemoryRecord]) -> None:
        """Write the phrases of new memories."""
        rows = [
            {"tenant": self._tenant, "memory_id": memory.id, "phrase": phrase}
            for memory in saved
            for phrase in trigger_phrases(memory.triggers)
        ]
        if rows:
            self._connection.execute(_ADD, rows)

    def replace(self, memory: MemoryRecord) -> None:
        """Write a memory's phrases anew."""
        own = (self._mine(memory_triggers), memory_triggers.c.memory_id == memory.id)
        self._connection.execute(delete(memory_triggers).where(*own))
        self.keep([memory])
