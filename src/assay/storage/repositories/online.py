"""Votes, interleaved lists and steps of the promotion ladder."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import func, select, update

from assay.records.flags import AbVote, Interleaving, LadderStep
from assay.storage.repositories.base import Repository
from assay.storage.rows import from_row, insert, to_row
from assay.storage.tables import ab_votes, interleavings, ladder_steps


class Votes(Repository):
    """What each distinct query said in each attempt."""

    def cast(self, vote: AbVote) -> bool:
        """Keep a vote; False when this query has voted in this attempt before."""
        row = {"tenant": self._tenant, **to_row(vote, ab_votes)}
        key = ["tenant", "feature_id", "attempt", "query_key"]
        wanted = insert(self._connection, ab_votes).values(row).on_conflict_do_nothing(index_elements=key)
        counted = self._connection.execution_options(preserve_rowcount=True)
        return bool(counted.execute(wanted).rowcount)

    def of(self, feature_id: str, attempt: int) -> list[AbVote]:
        """Every vote of an attempt, in the order it was cast."""
        table = ab_votes
        mine = (table.c.feature_id == feature_id, table.c.attempt == attempt)
        wanted = self._select(table, *mine).order_by(table.c.id)
        return [from_row(AbVote, row, table) for row in self._connection.execute(wanted)]

    def search_of(self, feature_id: str, attempt: int, query_key: str) -> str | None:
        """Return the id of the search whose vote counted for a query; None when it named none."""
        table = ab_votes
        mine = (table.c.feature_id == feature_id, table.c.attempt == attempt, table.c.query_key == query_key)
        row = self._connection.execute(self._select(table, *mine)).one_or_none()
        return None if row is None else from_row(AbVote, row, table).query_id

    def arms(self, feature_id: str, attempt: int) -> dict[str, int]:
        """How many votes each side has."""
        table = ab_votes
        wanted = (
            select(table.c.arm, func.count())
            .where(self._mine(table), table.c.feature_id == feature_id, table.c.attempt == attempt)
            .group_by(table.c.arm)
        )
        return {str(arm): int(count) for arm, count in self._connection.execute(wanted)}


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
        wanted = self._select(table, *mine, table.c.created_at <= until).order_by(table.c.query_id).limit(limit)
        return [from_row(Interleaving, row, table) for row in self._connection.execute(wanted)]

    def credited(self, query_id: str, at: datetime) -> None:
        """Say that its vote was cast."""
        table = interleavings
        mine = (self._mine(table), table.c.query_id == query_id)
        self._connection.execute(update(table).where(*mine).values(credited_at=at))


class LadderSteps(Repository):
    """What happened to a change, step by step."""

    def add(self, step: LadderStep) -> None:
        """Keep a step; its actor is whoever acts."""
        row = {"tenant": self._tenant, **to_row(step, ladder_steps), "actor": self._principal}
        self._connection.execute(ladder_steps.insert().values(row))

    def of(self, feature_id: str) -> list[LadderStep]:
        """Every step of a change, oldest first."""
        wanted = self._select(ladder_steps, ladder_steps.c.feature_id == feature_id).order_by(ladder_steps.c.id)
        return [from_row(LadderStep, row, ladder_steps) for row in self._connection.execute(wanted)]

    def features(self) -> list[str]:
        """Every change that ever took a step, by name."""
        wanted = select(ladder_steps.c.feature_id).where(self._mine(ladder_steps)).distinct()
        return sorted(str(one) for one in self._connection.execute(wanted).scalars())
