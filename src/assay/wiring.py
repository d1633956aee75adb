"""The only place that builds concrete objects from settings.

What is heavy or optional is imported inside the function that needs it: the base install has no SQLAlchemy, and
`assay --help` must not wait for it.
"""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING

from assay.clock import Clock, SystemClock
from assay.errors import MissingExtra
from assay.hashing import HASH_PREFIX, content_hash
from assay.records import Scope
from assay.settings import Settings, default_db, fit_to_show

if TYPE_CHECKING:
    from pathlib import Path

    from assay.storage import Checkpoint, Restored, Store, StoreOptions


def scope_of(settings: Settings) -> Scope:
    """Whose rows are meant, and who acts."""
    return Scope(tenant=settings.tenant, principal=settings.principal)


def open_store(settings: Settings, *, clock: Clock | None = None, create: bool = True, migrate: bool = True) -> Store:
    """The store the settings name."""
    need_extra("memory", "sqlalchemy", "alembic")
    from assay.storage import open_store as open_at  # noqa: PLC0415 - see the module's docstring

    clock = clock or SystemClock()
    options = store_options(settings)
    return open_at(settings.db, clock=clock, create=create, migrate=migrate, options=options)


def list_checkpoints(settings: Settings) -> list[Checkpoint]:
    """The store's checkpoints, also when the store itself cannot be opened."""
    need_extra("memory", "sqlalchemy", "alembic")
    from assay.storage import list_checkpoints as list_at  # noqa: PLC0415 - see the module's docstring

    return list_at(settings.db, store_options(settings))


def restore_checkpoint(settings: Settings, wanted: str, *, clock: Clock | None = None) -> Restored:
    """Bring the store back to a checkpoint, also when the store itself cannot be opened."""
    need_extra("memory", "sqlalchemy", "alembic")
    from assay.storage import restore_checkpoint as restore_at  # noqa: PLC0415 - see the module's docstring

    return restore_at(settings.db, wanted, scope_of(settings), clock or SystemClock(), store_options(settings))


def store_options(settings: Settings) -> StoreOptions:
    """How the settings ask for the store to be opened."""
    from assay.storage import StoreOptions  # noqa: PLC0415 - see the module's docstring

    return StoreOptions(
        lock_timeout_s=settings.lock_timeout_s,
        readers=settings.readers,
        flush_interval_s=settings.flush_interval_s,
        log_capacity=settings.log_capacity,
        postgres_schema=settings.postgres_schema,
        checkpoint_folder=_checkpoint_folder(settings),
        postgres_programs=settings.postgres_programs,
    )


def need_extra(extra: str, *modules: str) -> None:
    """Refuse, with the install command, when an optional part is not there."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"this needs the Python package {missing[0]!r}, which is not installed",
            remedy=f"Install it: pip install 'assay[{extra}]'.",
        )


def _checkpoint_folder(settings: Settings) -> Path | None:
    from assay.storage import is_postgres  # noqa: PLC0415 - see the module's docstring

    if not is_postgres(settings.db):
        return settings.checkpoint_folder
    # A server has no "beside": its checkpoints lie with the user's data, apart for each server and database.
    server = content_hash(fit_to_show(settings.db)).removeprefix(HASH_PREFIX)[:8]
    folder = settings.checkpoint_folder or default_db(os.environ).parent / "checkpoints"
    return folder / f"{settings.postgres_schema}-{server}"
