"""Feature flags as a tenant has switched them. What is NULL was not said: the registry's default holds."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select

from assay.storage.repositories.base import Repository, mine
from assay.storage.rows import upsert
from assay.storage.tables import flags


class FlagRow(NamedTuple):
    """What is stored of one flag."""

    name: str
    enabled: bool | None
    rollout_percent: int | None
    shadow: bool | None
    activated_at: datetime | None
    reviewed_at: datetime | None
    updated_at: datetime
    updated_by: str


_EVERY = select(flags).where(mine(flags)).order_by(flags.c.name)


class FlagRows(Repository):
    """The flags of one tenant."""

    def get(self, name: str) -> FlagRow | None:
        """One flag, if anything is stored of it."""
        row = self._connection.execute(self._select(flags, flags.c.name == name)).one_or_none()
        return None if row is None else FlagRow(*row[1:])

    def all(self) -> list[FlagRow]:
        """Every stored flag, by name."""
        return [FlagRow(*row[1:]) for row in self._rows(_EVERY)]

    def put(
        self,
        name: str,
        *,
        enabled: bool | None = None,
        rollout_percent: int | None = None,
        shadow: bool | None = None,
        activated_at: datetime | None = None,
        reviewed_at: datetime | None = None,
    ) -> None:
        """Keep a flag's whole row, in place of what was there."""
        row = {
            "tenant": self._tenant,
            "name": name,
            "enabled": enabled,
            "rollout_percent": rollout_percent,
            "shadow": shadow,
            "activated_at": activated_at,
            "reviewed_at": reviewed_at,
            "updated_at": self._clock.now(),
            "updated_by": self._principal,
        }
        wanted = upsert(self._connection, flags, key=("tenant", "name"), fresh=FlagRow._fields[1:])
        self._connection.execute(wanted, row)
