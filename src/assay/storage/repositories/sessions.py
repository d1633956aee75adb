"""Sessions as the log and the feedback tell of them, the tasks done in them, and the files that hold rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import and_, delete, func, not_, or_, select

from assay.errors import RecordNotFound
from assay.records import FeedbackEvent, Judgment, KnownFile, LoggedQuery, Origin, RecentSession, TaskRecord
from assay.storage.repositories.base import Repository
from assay.storage.repositories.memory_filters import is_forgotten
from assay.storage.rows import from_row, insert, to_row
from assay.storage.tables import eval_feedback, eval_judgments, eval_queries, known_files, memories, tasks


class SessionRows(Repository):
    """What is written down of one session, table by table."""

    def searches(self, session_id: str) -> list[LoggedQuery]:
        """Its searches in use, oldest first, without their candidates."""
        asked = eval_queries.c
        wanted = self._select(eval_queries, asked.session_id == session_id, asked.origin == str(Origin.USE))
        return [
            from_row(LoggedQuery, row, eval_queries)
            for row in self._connection.execute(wanted.order_by(asked.created_at, asked.query_id))
        ]

    def events(self, session_id: str) -> list[FeedbackEvent]:
        """Its feedback in the order it was recorded."""
        wanted = self._select(eval_feedback, eval_feedback.c.session_id == session_id).order_by(eval_feedback.c.id)
        return [from_row(FeedbackEvent, row, eval_feedback) for row in self._connection.execute(wanted)]

    def judgments(self, query_ids: Iterable[str]) -> list[Judgment]:
        """Every judgment of some searches."""
        wanted = self._select(eval_judgments, self._among(eval_judgments.c.query_id, query_ids))
        return [from_row(Judgment, row, eval_judgments) for row in self._connection.execute(wanted)]

    def titles(self, memory_ids: Iterable[str]) -> dict[str, str]:
        """The titles of those memories that are there and not forgotten."""
        wanted = select(memories.c.id, memories.c.title).where(
            self._mine(memories), self._among(memories.c.id, memory_ids), not_(is_forgotten(self._connection))
        )
        return {row.id: row.title for row in self._connection.execute(wanted)}

    def recent(self, *, limit: int, after: tuple[datetime, str] | None = None) -> list[RecentSession]:
        """Return the sessions with the newest searches first.

        `after` is the time of the last search and the id of the session behind which to go on.
        """
        asked = eval_queries.c
        last = func.max(asked.created_at, type_=asked.created_at.type)
        first = func.min(asked.created_at, type_=asked.created_at.type)
        wanted = (
            select(
                asked.session_id,
                func.count().label("searches"),
                first.label("began_at"),
                last.label("last_at"),
            )
            .where(self._mine(eval_queries), asked.session_id.is_not(None), asked.origin == str(Origin.USE))
            .group_by(asked.session_id)
            .order_by(last.desc(), asked.session_id)
            .limit(limit)
        )
        if after is not None:
            moment, session_id = after
            wanted = wanted.having(or_(last < moment, and_(last == moment, asked.session_id > session_id)))
        return [RecentSession(**row) for row in self._connection.execute(wanted).mappings()]


class Tasks(Repository):
    """The tasks of one tenant."""

    def put(self, task: TaskRecord) -> None:
        """Keep a task, in place of what was known of it."""
        row = to_row(task, tasks)
        wanted = insert(self._connection, tasks).values({"tenant": self._tenant, **row})
        fresh = {name: wanted.excluded[name] for name in row if name != "task_id"}
        self._connection.execute(wanted.on_conflict_do_update(index_elements=["tenant", "task_id"], set_=fresh))

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
        wanted = self._select(tasks, tasks.c.session_id == session_id).order_by(tasks.c.begun_at, tasks.c.task_id)
        return [from_row(TaskRecord, row, tasks) for row in self._connection.execute(wanted)]


class KnownFiles(Repository):
    """The files outside the database that hold rows of this tenant."""

    def note(self, path: str, kind: str) -> None:
        """Remember that a file holds rows. Say so before it is written: a crash must not leave one unknown."""
        file = KnownFile(path=path, kind=kind, noted_at=self._clock.now())
        wanted = insert(self._connection, known_files).values({"tenant": self._tenant, **to_row(file, known_files)})
        self._connection.execute(wanted.on_conflict_do_nothing(index_elements=["tenant", "path"]))

    def every(self) -> list[KnownFile]:
        """All of them, by path."""
        wanted = self._select(known_files).order_by(known_files.c.path)
        return [from_row(KnownFile, row, known_files) for row in self._connection.execute(wanted)]

    def drop(self, paths: Sequence[str]) -> None:
        """Forget files that are gone."""
        self._connection.execute(
            delete(known_files).where(self._mine(known_files), self._among(known_files.c.path, paths))
        )
