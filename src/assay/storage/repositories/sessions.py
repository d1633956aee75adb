"""Sessions with their tasks, files that hold rows, and decisions of saves.

- Sessions, tasks and files that hold rows.
- Decisions of saves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, bindparam, delete, func, not_, or_, select

from assay.errors import RecordNotFound
from assay.records import (
    EventType,
    FeedbackEvent,
    Judgment,
    KnownFile,
    LoggedQuery,
    Origin,
    RecentSession,
    SaveDecision,
    TaskRecord,
    values,
)
from assay.records.fields import allow, one_of, require
from assay.storage.repositories.base import Repository, mine
from assay.storage.repositories.memories import is_forgotten
from assay.storage.rows import from_row, insert, mask_value, to_row
from assay.storage.tables import eval_feedback, eval_judgments, eval_queries, known_files, memories, memory_saves, tasks

# --- Sessions, tasks and files that hold rows ---


class SessionRows(Repository):
    """The records of one session in each table."""

    def searches(self, session_id: str) -> list[LoggedQuery]:
        """Its searches in use, oldest first, without their candidates."""
        columns = eval_queries.c
        statement = self._select(eval_queries, columns.session_id == session_id, columns.origin == str(Origin.USE))
        return [
            from_row(LoggedQuery, row, eval_queries)
            for row in self._connection.execute(statement.order_by(columns.created_at, columns.query_id))
        ]

    def events(self, session_id: str) -> list[FeedbackEvent]:
        """Its feedback in the order it was recorded."""
        statement = self._select(eval_feedback, eval_feedback.c.session_id == session_id).order_by(eval_feedback.c.id)
        return [from_row(FeedbackEvent, row, eval_feedback) for row in self._connection.execute(statement)]

    def searches_of(self, session_ids: Iterable[str]) -> list[LoggedQuery]:
        """The searches in use of several sessions, oldest first, without their candidates."""
        columns = eval_queries.c
        among = self._among(columns.session_id, session_ids)
        statement = self._select(eval_queries, among, columns.origin == str(Origin.USE))
        return [
            from_row(LoggedQuery, row, eval_queries)
            for row in self._connection.execute(statement.order_by(columns.created_at, columns.query_id))
        ]

    def events_of(self, session_ids: Iterable[str]) -> list[FeedbackEvent]:
        """The feedback of several sessions in the order it was recorded."""
        among = self._among(eval_feedback.c.session_id, session_ids)
        statement = self._select(eval_feedback, among).order_by(eval_feedback.c.id)
        return [from_row(FeedbackEvent, row, eval_feedback) for row in self._connection.execute(statement)]

    def judgments(self, query_ids: Iterable[str]) -> list[Judgment]:
        """Every judgment of some searches."""
        statement = self._select(eval_judgments, self._among(eval_judgments.c.query_id, query_ids))
        return [from_row(Judgment, row, eval_judgments) for row in self._connection.execute(statement)]

    def titles(self, memory_ids: Iterable[str]) -> dict[str, str]:
        """The titles of those memories that are there and not forgotten."""
        statement = select(memories.c.id, memories.c.title).where(
            self._mine(memories), self._among(memories.c.id, memory_ids), not_(is_forgotten(self._connection))
        )
        return {row.id: row.title for row in self._connection.execute(statement)}

    def recent(self, *, limit: int, after: tuple[datetime, str] | None = None) -> list[RecentSession]:
        """Return the sessions with the newest searches first.

        `after` is the time of the last search and id of the session after which to continue.
        """
        columns = eval_queries.c
        last = func.max(columns.created_at, type_=columns.created_at.type)
        first = func.min(columns.created_at, type_=columns.created_at.type)
        statement = (
            select(
                columns.session_id,
                func.count().label("searches"),
                first.label("began_at"),
                last.label("last_at"),
            )
            .where(self._mine(eval_queries), columns.session_id.is_not(None), columns.origin == str(Origin.USE))
            .group_by(columns.session_id)
            .order_by(last.desc(), columns.session_id)
            .limit(limit)
        )
        if after is not None:
            moment, session_id = after
            statement = statement.having(or_(last < moment, and_(last == moment, columns.session_id > session_id)))
        rows = self._connection.execute(statement).mappings().all()
        again = self._count_repeated([row["session_id"] for row in rows])
        return [RecentSession(**row, re_searches=again.get(row["session_id"], 0)) for row in rows]

    def _count_repeated(self, session_ids: Iterable[str]) -> dict[str, int]:
        """Count the searches of each session that were repeated in vain."""
        columns = eval_feedback.c
        statement = (
            select(columns.session_id, func.count())
            .where(
                self._mine(eval_feedback),
                self._among(columns.session_id, session_ids),
                columns.event_type == str(EventType.RE_SEARCH),
            )
            .group_by(columns.session_id)
        )
        return {session_id: int(count) for session_id, count in self._connection.execute(statement)}


class Tasks(Repository):
    """The tasks of one tenant."""

    def put(self, task: TaskRecord) -> None:
        """Keep a task, in place of what was known of it."""
        row = to_row(task, tasks)
        statement = insert(self._connection, tasks).values({"tenant": self._tenant, **row})
        fresh = {name: statement.excluded[name] for name in row if name != "task_id"}
        self._connection.execute(statement.on_conflict_do_update(index_elements=["tenant", "task_id"], set_=fresh))

    def find(self, task_id: str) -> TaskRecord | None:
        """A task, if there is one of that id."""
        row = self._connection.execute(self._select(tasks, tasks.c.task_id == task_id)).one_or_none()
        return None if row is None else from_row(TaskRecord, row, tasks)

    def get(self, task_id: str) -> TaskRecord:
        """A task that was begun."""
        found = self.find(task_id)
        if found is None:
            raise RecordNotFound(
                f"no task {task_id!r} was begun in this scope",
                remedy="Begin it with `assay task preflight`, or check the id.",
            )
        return found

    def of_session(self, session_id: str) -> list[TaskRecord]:
        """The tasks of a session, oldest first."""
        statement = self._select(tasks, tasks.c.session_id == session_id).order_by(tasks.c.begun_at, tasks.c.task_id)
        return [from_row(TaskRecord, row, tasks) for row in self._connection.execute(statement)]

    def ended(self, *, limit: int) -> list[TaskRecord]:
        """Ended tasks, the newest first."""
        statement = self._select(tasks, tasks.c.ended_at.is_not(None))
        newest = statement.order_by(tasks.c.ended_at.desc(), tasks.c.task_id).limit(limit)
        return [from_row(TaskRecord, row, tasks) for row in self._connection.execute(newest)]


class KnownFiles(Repository):
    """The files outside the database that hold rows of this tenant."""

    def note(self, path: str, kind: str) -> None:
        """Record that a file holds rows. Call it before the file is written, so that a crash leaves no unknown file."""
        file = KnownFile(path=path, kind=kind, noted_at=self._clock.now())
        statement = insert(self._connection, known_files).values({"tenant": self._tenant, **to_row(file, known_files)})
        self._connection.execute(statement.on_conflict_do_nothing(index_elements=["tenant", "path"]))

    def every(self) -> list[KnownFile]:
        """All of them, by path."""
        statement = self._select(known_files).order_by(known_files.c.path)
        return [from_row(KnownFile, row, known_files) for row in self._connection.execute(statement)]

    def drop(self, paths: Sequence[str]) -> None:
        """Forget files that are gone."""
        self._connection.execute(
            delete(known_files).where(self._mine(known_files), self._among(known_files.c.path, paths))
        )


# --- Decisions of saves ---

_ADD = memory_saves.insert()
NEWEST = 20_000
"""Saves of the store that are looked at for floods of notes that are all alike."""


def _count_alike(*, of_others: bool) -> Select[Any]:
    """Build a statement that reads the newest first and without a subquery, so that SQLite stops at the limit."""
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
    """The reason for which the gate would have rejected it, had it been enforced."""
    quality: float | None = None
    similarity: float | None = None
    """Of the nearest memory; None when none was compared."""
    neighbour_id: str | None = None
    source_id: str | None = None
    enforced: bool = True
    """Whether the gate was enforced."""
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
            {"tenant": self._tenant, **to_row(save, memory_saves), "actor": save.actor or self._principal}
            for save in saves
        ]
        if rows:
            self._insert(_ADD, rows)

    def import_many(self, saves: Sequence[SaveRecord]) -> None:
        """Store saves from an imported file, masking secrets: saves of the saver are masked already."""
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

    def find_known(self, save_ids: Sequence[str]) -> set[str]:
        """Return which of these saves are recorded."""
        statement = select(memory_saves.c.save_id).where(
            self._mine(memory_saves), self._among(memory_saves.c.save_id, save_ids)
        )
        return set(self._connection.execute(statement).scalars())

    def recent(self, limit: int = 100) -> list[SaveRecord]:
        """The newest saves first."""
        return self._read(limit=limit)

    def counts(self, since: datetime | None = None) -> SaveCounts:
        """How many saves ended how, from a moment on."""
        statement = select(memory_saves.c.decision, memory_saves.c.would_reject, func.count()).where(
            self._mine(memory_saves)
        )
        if since is not None:
            statement = statement.where(memory_saves.c.at >= since)
        counted = SaveCounts({}, {})
        for decision, reason, count in self._connection.execute(
            statement.group_by(memory_saves.c.decision, memory_saves.c.would_reject)
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
        while others wait. With `of_others`, only saves beside or in place of another actor's memory count.
        """
        counted = self._rows(
            _ALIKE_OF_OTHERS if of_others else _ALIKE, actor=actor, similarity=similarity, since=since, enough=enough
        )
        return int(counted[0][0])

    def _read(self, *conditions: ColumnElement[bool], limit: int | None = None) -> list[SaveRecord]:
        statement = self._select(memory_saves, *conditions).order_by(memory_saves.c.id.desc()).limit(limit)
        return [from_row(SaveRecord, row, memory_saves) for row in self._connection.execute(statement)]
