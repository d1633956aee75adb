"""Decisions of the save path: what each save did, on which numbers, and what it would have done if enforced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, bindparam, func, select

from assay.errors import RecordNotFound
from assay.records import SaveDecision, values
from assay.records.fields import allow, one_of, require
from assay.storage.masked_columns import mask_value
from assay.storage.repositories.base import Repository, mine
from assay.storage.rows import from_row, to_row
from assay.storage.tables import memories, memory_saves

_ADD = memory_saves.insert()
NEWEST = 20_000
"""Saves of the store that are looked at for floods of notes that are all alike."""


def _count_alike(*, of_others: bool) -> Select[Any]:
    """Newest first and without a subquery for the newest, so that SQLite stops reading at the last one wanted."""
    columns = memory_saves.c
    near = (memories.c.tenant == columns.tenant) & (memories.c.id == columns.neighbour_id)
    newest = select(func.max(columns.id)).scalar_subquery() - NEWEST
    found = (
        select(columns.neighbour_id)
        .select_from(memory_saves.join(memories, near))
        .where(mine(memory_saves), columns.actor == bindparam("actor"), columns.at >= bindparam("since"))
        .where(columns.similarity >= bindparam("similarity"), columns.id > newest)
        .order_by(columns.at.desc())
    )
    if of_others:
        kept = columns.decision != SaveDecision.REJECT.value
        found = found.where(kept, memories.c.written_by != bindparam("actor"))
    else:
        found = found.where(columns.decision == SaveDecision.STORE.value)
    return select(func.count()).select_from(found.limit(bindparam("enough")).subquery())


_ALIKE = _count_alike(of_others=False)
_ALIKE_OF_OTHERS = _count_alike(of_others=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class SaveRecord:
    """One save and what was decided."""

    save_id: str
    decision: SaveDecision
    at: datetime
    memory_id: str | None = None
    """What now holds the content; None when it was refused for its quality."""
    would_reject: str | None = None
    """What the gate would have said, had it been enforced."""
    quality: float | None = None
    similarity: float | None = None
    """Of the nearest memory; None when none was compared."""
    neighbour_id: str | None = None
    source_id: str | None = None
    enforced: bool = True
    """Whether the gate's word counted."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    actor: str = ""

    def __post_init__(self) -> None:
        require(self, values.identifier, "save_id")
        require(self, one_of(SaveDecision), "decision")
        require(self, values.moment, "at")
        allow(self, values.identifier, "memory_id", "neighbour_id")
        allow(self, values.label, "would_reject")
        allow(self, values.share, "quality")
        allow(self, values.finite, "similarity")
        allow(self, values.short_label, "source_id")
        require(self, values.flag, "enforced")
        require(self, values.json_object, "detail")
        require(self, values.optional_label, "actor")


class SaveCounts(NamedTuple):
    """How many saves ended how."""

    by_decision: dict[SaveDecision, int]
    would_reject: dict[str, int]
    """Stored although the gate would have rejected them, by its reason."""


class Saves(Repository):
    """The saves of one tenant."""

    def record(self, *saves: SaveRecord) -> None:
        """Keep what was decided."""
        self.record_many(saves)

    def record_many(self, saves: Sequence[SaveRecord]) -> None:
        """Keep what was decided of many saves, in one go."""
        rows = [
            {"tenant": self._tenant, **to_row(one, memory_saves), "actor": one.actor or self._principal}
            for one in saves
        ]
        if rows:
            self._insert(_ADD, rows)

    def import_many(self, saves: Sequence[SaveRecord]) -> None:
        """Keep saves that a file tells of; it may hold secrets, where what the saver tells holds none."""
        self.record_many([replace(save, detail=mask_value(dict(save.detail))) for save in saves])

    def get(self, save_id: str) -> SaveRecord:
        """One save."""
        found = self._read(memory_saves.c.save_id == save_id, limit=1)
        if not found:
            raise RecordNotFound(f"there is no save {save_id!r} in this scope", remedy="Check the id and the tenant.")
        return found[0]

    def of(self, memory_id: str) -> list[SaveRecord]:
        """The saves whose content a memory holds, or that were rejected for it; newest first."""
        return self._read(memory_saves.c.memory_id == memory_id)

    def of_many(self, memory_ids: Sequence[str]) -> list[SaveRecord]:
        """The saves of these memories, oldest first."""
        found = self._read(self._among(memory_saves.c.memory_id, memory_ids))
        return sorted(found, key=lambda save: (save.at, save.save_id))

    def known(self, save_ids: Sequence[str]) -> set[str]:
        """Which of these saves are written down."""
        wanted = select(memory_saves.c.save_id).where(
            self._mine(memory_saves), self._among(memory_saves.c.save_id, save_ids)
        )
        return set(self._connection.execute(wanted).scalars())

    def recent(self, limit: int = 100) -> list[SaveRecord]:
        """The newest saves first."""
        return self._read(limit=limit)

    def counts(self, since: datetime | None = None) -> SaveCounts:
        """How many saves ended how, from a moment on."""
        wanted = select(memory_saves.c.decision, memory_saves.c.would_reject, func.count()).where(
            self._mine(memory_saves)
        )
        if since is not None:
            wanted = wanted.where(memory_saves.c.at >= since)
        counted = SaveCounts({}, {})
        for decision, reason, count in self._connection.execute(
            wanted.group_by(memory_saves.c.decision, memory_saves.c.would_reject)
        ):
            kind = SaveDecision(decision)
            counted.by_decision[kind] = counted.by_decision.get(kind, 0) + count
            if reason is not None:
                counted.would_reject[reason] = counted.would_reject.get(reason, 0) + count
        return counted

    def count_alike(
        self, actor: str, *, similarity: float, since: datetime, enough: int, of_others: bool = False
    ) -> int:
        """Count an actor's newest saves, from a moment on, that were kept beside a memory this similar.

        Counting ends at `enough` and looks at the `NEWEST` saves of the store: it happens in every save of a program,
        while others wait. With `of_others`, only saves beside what somebody else wrote count, and those that took its
        place, too.
        """
        counted = self._rows(
            _ALIKE_OF_OTHERS if of_others else _ALIKE, actor=actor, similarity=similarity, since=since, enough=enough
        )
        return int(counted[0][0])

    def _read(self, *conditions: ColumnElement[bool], limit: int | None = None) -> list[SaveRecord]:
        wanted = self._select(memory_saves, *conditions).order_by(memory_saves.c.id.desc()).limit(limit)
        return [from_row(SaveRecord, row, memory_saves) for row in self._connection.execute(wanted)]
