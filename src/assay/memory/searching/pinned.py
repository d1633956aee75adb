"""Constitutional memories: all of them, with every result, outside k, ranking, filters and session history.

They change seldom and are wanted always, so they are kept per tenant for as long as the change log stands still.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from assay.records import LogPosition, MemoryRecord, Pinned
from assay.storage import Work


class _Law(NamedTuple):
    """One constitutional memory and when it held."""

    pinned: Pinned
    valid_from: datetime
    superseded_at: datetime | None

    def held(self, moment: datetime | None) -> bool:
        if moment is None:
            return self.superseded_at is None
        return self.valid_from <= moment and (self.superseded_at is None or self.superseded_at > moment)


class PinnedMemories:
    """Reads the constitutional memories of a tenant, once for each position of its change log."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[LogPosition | None, tuple[_Law, ...]]] = {}

    def of(
        self, work: Work, *, tenant: str, position: LogPosition | None, as_of: datetime | None
    ) -> tuple[Pinned, ...]:
        """Those that hold now, or held then; oldest first. `position` is how far the log is known, if it is."""
        kept = self._kept.get(tenant)
        if kept is None or kept[0] != position:
            kept = (position, tuple(_law(work, one) for one in work.memories.constitutional(include_superseded=True)))
            # What is known of the log may be newer than this snapshot: then these rows are not kept for it.
            if position == work.changes.position():
                # One assignment, so that threads need no lock: at worst two read the same rows.
                self._kept[tenant] = kept
        return tuple(law.pinned for law in kept[1] if law.held(as_of))


def _law(work: Work, memory: MemoryRecord) -> _Law:
    tokens = sum(piece.token_count for piece in work.memories.chunks_of(memory.id))
    pinned = Pinned(memory_id=memory.id, title=memory.title, body=memory.body, tokens=tokens)
    return _Law(pinned, memory.valid_from, memory.superseded_at)
