"""The change log: what happened to memories and chunks, in order, for whoever keeps something derived from them.

A follower remembers a `LogPosition`. It reads on from there, unless a restore began a new epoch or the log was trimmed
beyond it: then `follow` says so and the follower rebuilds from the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import bindparam, delete, func, select

from assay.records import Change, LogPosition, Operation, RowKind
from assay.storage.repositories.base import Bound, Repository, mine
from assay.storage.repositories.meta import EPOCH, Meta, model_key, trim_key
from assay.storage.rows import from_row
from assay.storage.tables import changes, meta

BATCH = 10_000


class Line(NamedTuple):
    """Which row changed."""

    kind: RowKind
    row_id: str
    number: int


class Followed(NamedTuple):
    """What a follower gets."""

    changes: list[Change]
    position: LogPosition
    """Where to go on from next time."""
    must_rebuild: bool
    """The past was rewritten or trimmed away: read the tables instead, then go on from `position`."""


class Standing(NamedTuple):
    """What a follower compares itself with, of one snapshot."""

    position: LogPosition
    """The end of the log."""
    trimmed_to: int
    """A follower that has not read this far has to begin anew."""
    model: str | None
    """Whose vectors search uses."""


_STANDING = select(
    *(
        select(meta.c.value).where(meta.c.key == bindparam(name)).scalar_subquery()
        for name in ("epoch", "trim", "model")
    ),
    select(func.max(changes.c.seq)).where(mine(changes)).scalar_subquery(),
)
_ADD = changes.insert()
_AFTER = (
    select(changes)
    .where(mine(changes), changes.c.seq > bindparam("known"))
    .order_by(changes.c.seq)
    .limit(bindparam("most"))
)


class Changes(Repository):
    """The change log of one tenant."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(bound)
        self._meta = Meta(bound)

    def append(self, operation: Operation, lines: Sequence[Line]) -> None:
        """Write one line per row, in the same transaction as the rows."""
        if lines:
            same = {"tenant": self._tenant, "operation": str(operation), "at": self._clock.now()}
            rows = [{**same, "kind": str(kind), "row_id": row_id, "number": number} for kind, row_id, number in lines]
            self._insert(_ADD, rows)

    def standing(self) -> Standing:
        """Where the log ends and what search uses, in one question."""
        keys = {"epoch": EPOCH, "trim": trim_key(self._tenant), "model": model_key(self._tenant)}
        epoch, trimmed, model, newest = self._rows(_STANDING, **keys)[0]
        trimmed_to = int(trimmed or 0)
        return Standing(LogPosition(epoch or "", max(newest or 0, trimmed_to)), trimmed_to, model)

    def position(self) -> LogPosition:
        """The end of the log as this snapshot sees it."""
        return self.standing().position

    def follow(self, known: LogPosition | None, *, limit: int = BATCH) -> Followed:
        """The changes after a known position, at most `limit` at a time."""
        end, trimmed_to, _ = self.standing()
        if known is None or known.epoch != end.epoch or known.seq < trimmed_to:
            return Followed([], end, must_rebuild=True)
        if known.seq >= end.seq:
            return Followed([], known, must_rebuild=False)
        found = [from_row(Change, row, changes) for row in self._rows(_AFTER, known=known.seq, most=limit)]
        reached = found[-1].seq if found else known.seq
        return Followed(found, LogPosition(end.epoch, reached), must_rebuild=False)

    def trim(self, upto: int) -> int:
        """Forget the log up to and including a seq; followers behind it will rebuild."""
        end, trimmed_to, _ = self.standing()
        upto = min(upto, end.seq)
        gone = self._connection.execute(delete(changes).where(self._mine(changes), changes.c.seq <= upto)).rowcount
        self._meta.put(trim_key(self._tenant), str(max(upto, trimmed_to)))
        return int(gone)

    def trim_before(self, moment: datetime, *, keep: int = BATCH) -> int:
        """Forget lines older than a moment, but never the last `keep`; how many were forgotten."""
        last_kept = (
            select(changes.c.seq).where(self._mine(changes)).order_by(changes.c.seq.desc()).offset(keep).limit(1)
        )
        upto = self._connection.execute(last_kept).scalar_one_or_none()
        if upto is None:
            return 0
        old = select(func.max(changes.c.seq)).where(self._mine(changes), changes.c.seq <= upto, changes.c.at < moment)
        oldest = self._connection.execute(old).scalar_one_or_none()
        return 0 if oldest is None else self.trim(oldest)
