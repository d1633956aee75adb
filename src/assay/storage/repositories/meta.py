"""Facts about the store itself: its epoch, when a flag was activated, how far the log was trimmed."""

from __future__ import annotations

from sqlalchemy import bindparam, select

from assay.storage.repositories.base import Repository
from assay.storage.rows import upsert
from assay.storage.tables import meta

EPOCH = "epoch"
"""Changes when a restore rewrites the past; derived indexes of another epoch are rebuilt."""
_KEPT = select(meta.c.value).where(meta.c.key == bindparam("key"))


def trim_key(tenant: str) -> str:
    """Under which it is kept how far a tenant's change log was trimmed."""
    return f"changes_trimmed_to:{tenant}"


def model_key(tenant: str) -> str:
    """Under which it is kept whose vectors a tenant's searches use."""
    return f"embedding_model:{tenant}"


class Meta(Repository):
    """Named texts that belong to the whole store, not to a tenant."""

    def get(self, key: str) -> str | None:
        """What is kept under a key, if anything."""
        found: str | None = self._connection.execute(_KEPT, {"key": key}).scalar_one_or_none()
        return found

    def put(self, key: str, value: str) -> None:
        """Keep a text under a key, in place of what was there."""
        row = {"key": key, "value": value, "updated_at": self._clock.now()}
        self._connection.execute(upsert(self._connection, meta, key=("key",), fresh=("value", "updated_at")), row)
