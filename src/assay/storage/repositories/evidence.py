"""Judgments, results, feedback, experiments, and lists of them in pages.

- Judgments, results, feedback, sequential tests and shadow runs.
- Pages of long lists, newest first.
- Votes, interleaved lists and promotion steps.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Column, Select, Table, delete, func, select, update

from assay.errors import RecordNotFound
from assay.records import AbTest, AbTestStatus, EvalResult, FeedbackEvent, Judgment, LoggedQuery, Origin, ShadowRun
from assay.records.evidence import JudgmentSource, RunType
from assay.records.flags import AbVote, Interleaving, LadderStep
from assay.records.learning import evidence_from_json
from assay.records.run_results import ListedRun
from assay.storage.repositories.base import Repository
from assay.storage.rows import from_row, insert, to_row, upsert
from assay.storage.tables import (
    ab_votes,
    eval_ab_tests,
    eval_feedback,
    eval_judgments,
    eval_queries,
    eval_results,
    eval_shadow_runs,
    interleavings,
    ladder_steps,
)

# --- Judgments, results, feedback, sequential tests and shadow runs ---


class Judgments(Repository):
    """Who graded which memory for which query."""

    def put_many(self, judgments: Sequence[Judgment]) -> None:
        """Keep judgments; the same annotator's newer grade takes the place of the older one."""
        if not judgments:
            return
        key = ("tenant", "query_id", "memory_id", "source", "annotator")
        statement = upsert(self._connection, eval_judgments, key=key, fresh=("relevance", "confidence", "created_at"))
        self._connection.execute(
            statement, [{"tenant": self._tenant, **to_row(judgment, eval_judgments)} for judgment in judgments]
        )

    def replace_of(self, sources: Collection[JudgmentSource], judgments: Sequence[Judgment]) -> None:
        """Keep judgments of some sources in place of all that those sources gave before."""
        table = eval_judgments
        given = table.c.source.in_([str(source) for source in sources])
        self._connection.execute(delete(table).where(self._mine(table), given))
        self.put_many(judgments)

    def of(self, query_id: str) -> list[Judgment]:
        """Every judgment of one query."""
        table = eval_judgments
        order = (table.c.memory_id, table.c.source, table.c.annotator)
        statement = self._select(table, table.c.query_id == query_id).order_by(*order)
        return [from_row(Judgment, row, table) for row in self._connection.execute(statement)]

    def of_words(self, query: str) -> list[Judgment]:
        """Return every judgment of searches with exactly these words, oldest first."""
        grades, asked = eval_judgments, eval_queries
        statement = (
            select(grades)
            .join(asked, (asked.c.tenant == grades.c.tenant) & (asked.c.query_id == grades.c.query_id))
            .where(self._mine(grades), asked.c.query == query)
            .order_by(grades.c.created_at, grades.c.id)
        )
        return [from_row(Judgment, row, grades) for row in self._connection.execute(statement)]

    def with_texts(self, sources: Collection[JudgmentSource]) -> list[tuple[str, Judgment]]:
        """Return every judgment of some sources with the words of its query, oldest first."""
        grades, asked = eval_judgments, eval_queries
        statement = (
            select(asked.c.query, grades)
            .join(asked, (asked.c.tenant == grades.c.tenant) & (asked.c.query_id == grades.c.query_id))
            .where(self._mine(grades), grades.c.source.in_([str(source) for source in sources]))
            .order_by(grades.c.created_at, grades.c.id)
        )
        return [(str(row.query), from_row(Judgment, row, grades)) for row in self._connection.execute(statement)]

    def state(self) -> tuple[int, str]:
        """Return how many judgments there are and when the newest was given: both stay while none changes."""
        newest = select(func.count(), func.max(eval_judgments.c.created_at)).where(self._mine(eval_judgments))
        count, at = self._connection.execute(newest).one()
        return int(count), str(at)

    def count_by_source(self) -> dict[str, int]:
        """Return how many judgments each source gave."""
        table = eval_judgments
        statement = select(table.c.source, func.count()).where(self._mine(table)).group_by(table.c.source)
        return {str(source): int(count) for source, count in self._connection.execute(statement)}


class Results(Repository):
    """Results of evaluation runs."""

    def add(self, result: EvalResult) -> None:
        """Keep the result of a run."""
        self._connection.execute(eval_results.insert().values({"tenant": self._tenant, **to_row(result, eval_results)}))

    def of(self, run_id: str) -> list[EvalResult]:
        """The rows of one run, oldest first."""
        statement = self._select(eval_results, eval_results.c.run_id == run_id).order_by(eval_results.c.id)
        return [from_row(EvalResult, row, eval_results) for row in self._connection.execute(statement)]

    def verdicts(self, run_ids: Sequence[str]) -> dict[str, str]:
        """Return the newest verdict of the gate on each of these runs that has one, by the run's id."""
        table = eval_results
        statement = (
            select(table.c.run_id, table.c.metrics_json)
            .where(self._mine(table), table.c.run_type == str(RunType.REGRESSION), self._among(table.c.run_id, run_ids))
            .order_by(table.c.id)
        )
        return {str(row.run_id): str(row.metrics_json["status"]) for row in self._connection.execute(statement)}

    def latest(self, *, limit: int = 20) -> list[EvalResult]:
        """The newest rows first."""
        statement = self._select(eval_results).order_by(eval_results.c.id.desc()).limit(limit)
        return [from_row(EvalResult, row, eval_results) for row in self._connection.execute(statement)]

    def newest_of_memory(self) -> EvalResult | None:
        """The newest run that searched this memory's own documents; None when there is none.

        Runs of other systems and over other documents are rows too, and say nothing of this memory.
        """
        table = eval_results
        statement = (
            select(table.c.id, table.c.metrics_json)
            .where(self._mine(table), table.c.run_type == str(RunType.FULL))
            .order_by(table.c.created_at.desc(), table.c.id.desc())
        )
        for row in self._connection.execute(statement):
            if evidence_from_json(row.metrics_json).own:
                found = self._connection.execute(self._select(table, table.c.id == row.id)).one()
                return from_row(EvalResult, found, table)
        return None


class Recorded(NamedTuple):
    """How many events were new, and how many had been recorded before."""

    new: int
    repeated: int


class Feedback(Repository):
    """Feedback events about shown results."""

    def record(self, events: Sequence[FeedbackEvent]) -> Recorded:
        """Store events; one whose key exists already is not counted again."""
        if not events:
            return Recorded(0, 0)
        rows = [{"tenant": self._tenant, **to_row(event, eval_feedback)} for event in events]
        statement = insert(self._connection, eval_feedback).on_conflict_do_nothing(
            index_elements=["tenant", "event_key"]
        )
        counted = self._connection.execution_options(preserve_rowcount=True)
        new = counted.execute(statement, rows).rowcount
        return Recorded(new, len(events) - new)

    def of_query(self, query_id: str) -> list[FeedbackEvent]:
        """Every event of one query, in the order it was recorded."""
        statement = self._select(eval_feedback, eval_feedback.c.query_id == query_id).order_by(eval_feedback.c.id)
        return [from_row(FeedbackEvent, row, eval_feedback) for row in self._connection.execute(statement)]

    def count(self) -> int:
        """How many events are recorded."""
        counted = select(func.count()).select_from(eval_feedback).where(self._mine(eval_feedback))
        return int(self._connection.execute(counted).scalar_one())

    def remove_before(self, moment: datetime) -> int:
        """Delete events older than a moment."""
        old = eval_feedback.c.created_at < moment
        return int(self._connection.execute(delete(eval_feedback).where(self._mine(eval_feedback), old)).rowcount)


class AbTests(Repository):
    """Sequential tests, one row for each attempt at a feature."""

    def put(self, test: AbTest) -> None:
        """Keep the state of a test, in place of its earlier state."""
        row = to_row(test, eval_ab_tests)
        statement = insert(self._connection, eval_ab_tests).values({"tenant": self._tenant, **row})
        fresh = {name: statement.excluded[name] for name in row if name not in ("feature_id", "attempt", "started_at")}
        key = ["tenant", "feature_id", "attempt"]
        self._connection.execute(statement.on_conflict_do_update(index_elements=key, set_=fresh))

    def latest(self, feature_id: str, *, to_change: bool = False) -> AbTest:
        """The newest attempt at a feature. `to_change` keeps others from changing it until this work is done."""
        table = eval_ab_tests
        statement = self._select(table, table.c.feature_id == feature_id).order_by(table.c.attempt.desc()).limit(1)
        statement = statement.with_for_update() if to_change else statement  # SQLite has one writer, and ignores it
        row = self._connection.execute(statement).one_or_none()
        if row is None:
            raise RecordNotFound(f"no test of {feature_id!r} was ever begun", remedy="Check the name of the feature.")
        return from_row(AbTest, row, table)

    def in_state(self, status: AbTestStatus) -> list[AbTest]:
        """Return every test in a state, by feature and attempt."""
        table = eval_ab_tests
        statement = self._select(table, table.c.status == str(status)).order_by(table.c.feature_id, table.c.attempt)
        return [from_row(AbTest, row, table) for row in self._connection.execute(statement)]


class ShadowRuns(Repository):
    """Control and treatment side by side."""

    def add_many(self, runs: Sequence[ShadowRun]) -> None:
        """Keep the comparisons."""
        if runs:
            rows = [{"tenant": self._tenant, **to_row(run, eval_shadow_runs)} for run in runs]
            self._connection.execute(eval_shadow_runs.insert(), rows)

    def of(self, feature_id: str, *, limit: int = 100) -> list[ShadowRun]:
        """A feature's newest comparisons first."""
        table = eval_shadow_runs
        statement = self._select(table, table.c.feature_id == feature_id).order_by(table.c.id.desc()).limit(limit)
        return [from_row(ShadowRun, row, table) for row in self._connection.execute(statement)]

    def update_deltas(self, run: ShadowRun) -> None:
        """Keep the judged differences of a comparison."""
        table = eval_shadow_runs
        same = (
            self._mine(table),
            table.c.query_id == run.query_id,
            table.c.feature_id == run.feature_id,
            table.c.created_at == run.created_at,
        )
        statement = update(table).where(*same).values(mrr_delta=run.mrr_delta, ndcg_delta=run.ndcg_delta)
        self._connection.execute(statement)

    def remove_before(self, moment: datetime) -> int:
        """Delete comparisons older than a moment."""
        table = eval_shadow_runs
        old = table.c.created_at < moment
        return int(self._connection.execute(delete(table).where(self._mine(table), old)).rowcount)


# --- Pages of long lists, newest first ---
#
# Only the columns that a list shows are read: rows of runs also hold the values of every query.

LARGEST = 500


class Lists(Repository):
    """Pages of one tenant's rows. `before` is the id of the last row of the page before; 0: the first page."""

    def runs(self, *, before: int = 0, limit: int = 50, run_type: RunType | None = None) -> list[tuple[int, ListedRun]]:
        """Results of runs, each with the number of its row."""
        table = eval_results
        names = [field.name for field in fields(ListedRun)]
        columns = (table.c[name] for name in ("id", *names))
        statement = self._page(select(*columns).where(self._mine(table)), table, before, limit)
        if run_type is not None:
            statement = statement.where(table.c.run_type == str(run_type))
        return [
            (int(number), ListedRun(**dict(zip(names, values, strict=True))))
            for number, *values in self._connection.execute(statement)
        ]

    def queries(
        self, *, before: int = 0, limit: int = 50, origin: Origin | None = None
    ) -> list[tuple[int, LoggedQuery]]:
        """Logged searches, without their candidates."""
        table = eval_queries
        statement = self._page(self._select(table), table, before, limit)
        if origin is not None:
            statement = statement.where(table.c.origin == str(origin))
        return [(int(row.id), from_row(LoggedQuery, row, table)) for row in self._connection.execute(statement)]

    def judgments(
        self, *, after: tuple[str, str, str, str] | None = None, limit: int = 50, source: JudgmentSource | None = None
    ) -> list[Judgment]:
        """Judgments in the order of query, memory, source and annotator: they have no number of their own."""
        table = eval_judgments
        keys: tuple[Column[Any], ...] = (table.c.query_id, table.c.memory_id, table.c.source, table.c.annotator)
        statement = self._select(table).order_by(*keys).limit(min(limit, LARGEST))
        if after is not None:
            statement = statement.where(_behind(keys, after))
        if source is not None:
            statement = statement.where(table.c.source == str(source))
        return [from_row(Judgment, row, table) for row in self._connection.execute(statement)]

    def _page(self, wanted: Select[Any], table: Table, before: int, limit: int) -> Select[Any]:
        newest = wanted.order_by(table.c.id.desc()).limit(min(limit, LARGEST))
        return newest.where(table.c.id < before) if before else newest


def _behind(keys: tuple[Column[Any], ...], after: tuple[str, ...]) -> Any:
    """Rows behind a place in the order of several columns."""
    column, value = keys[0], after[0]
    if len(keys) == 1:
        return column > value
    return (column > value) | ((column == value) & _behind(keys[1:], after[1:]))


# --- Votes, interleaved lists and promotion steps ---


class VoteRows(Repository):
    """The vote of each distinct query in each attempt."""

    def cast(self, vote: AbVote) -> bool:
        """Keep a vote; False when this query has voted in this attempt before."""
        row = {"tenant": self._tenant, **to_row(vote, ab_votes)}
        key = ["tenant", "feature_id", "attempt", "query_key"]
        statement = insert(self._connection, ab_votes).values(row).on_conflict_do_nothing(index_elements=key)
        counted = self._connection.execution_options(preserve_rowcount=True)
        return bool(counted.execute(statement).rowcount)

    def of(self, feature_id: str, attempt: int) -> list[AbVote]:
        """Every vote of an attempt, in the order it was cast."""
        table = ab_votes
        mine = (table.c.feature_id == feature_id, table.c.attempt == attempt)
        statement = self._select(table, *mine).order_by(table.c.id)
        return [from_row(AbVote, row, table) for row in self._connection.execute(statement)]

    def search_of(self, feature_id: str, attempt: int, query_key: str) -> str | None:
        """Return the id of the search whose vote counted for a query; None when it named none."""
        table = ab_votes
        mine = (table.c.feature_id == feature_id, table.c.attempt == attempt, table.c.query_key == query_key)
        row = self._connection.execute(self._select(table, *mine)).one_or_none()
        return None if row is None else from_row(AbVote, row, table).query_id

    def arms(self, feature_id: str, attempt: int) -> dict[str, int]:
        """How many votes each side has."""
        table = ab_votes
        statement = (
            select(table.c.arm, func.count())
            .where(self._mine(table), table.c.feature_id == feature_id, table.c.attempt == attempt)
            .group_by(table.c.arm)
        )
        return {str(arm): int(count) for arm, count in self._connection.execute(statement)}


class Interleavings(Repository):
    """Merged lists that were shown."""

    def add(self, shown: Interleaving) -> None:
        """Keep a merged list."""
        row = {"tenant": self._tenant, **to_row(shown, interleavings)}
        self._connection.execute(interleavings.insert().values(row))

    def waiting(self, feature_id: str, attempt: int, *, until: datetime, limit: int = 1_000) -> list[Interleaving]:
        """Those shown before a moment whose vote was not cast yet, oldest first."""
        table = interleavings
        mine = (table.c.feature_id == feature_id, table.c.attempt == attempt, table.c.credited_at.is_(None))
        statement = self._select(table, *mine, table.c.created_at <= until).order_by(table.c.query_id).limit(limit)
        return [from_row(Interleaving, row, table) for row in self._connection.execute(statement)]

    def mark_credited(self, query_id: str, at: datetime) -> None:
        """Mark a merged list whose vote was cast."""
        table = interleavings
        mine = (self._mine(table), table.c.query_id == query_id)
        self._connection.execute(update(table).where(*mine).values(credited_at=at))


class LadderSteps(Repository):
    """The steps of features on the ladder."""

    def add(self, step: LadderStep) -> None:
        """Store a step; its actor is the principal of the scope."""
        row = {"tenant": self._tenant, **to_row(step, ladder_steps), "actor": self._principal}
        self._connection.execute(ladder_steps.insert().values(row))

    def of(self, feature_id: str) -> list[LadderStep]:
        """Every step of a change, oldest first."""
        statement = self._select(ladder_steps, ladder_steps.c.feature_id == feature_id).order_by(ladder_steps.c.id)
        return [from_row(LadderStep, row, ladder_steps) for row in self._connection.execute(statement)]

    def features(self) -> list[str]:
        """Every change that ever took a step, by name."""
        statement = select(ladder_steps.c.feature_id).where(self._mine(ladder_steps)).distinct()
        return sorted(str(feature) for feature in self._connection.execute(statement).scalars())
