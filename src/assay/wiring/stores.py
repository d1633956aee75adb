"""The store the settings name, its options and its checkpoints."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from assay import access
from assay.clock import Clock, SystemClock
from assay.extras import need_extra
from assay.hashing import HASH_PREFIX, content_hash
from assay.records import Scope
from assay.settings import Settings, default_db, fit_to_show

if TYPE_CHECKING:
    from assay.storage import Checkpoint, Restored, Store, StoreMove, StoreOptions
    from assay.storage.store_move import OnRows

MOST = 1e6
"""Hours or minutes beyond which a length of time is refused anyway, and Python could not hold it."""


def scope_of(settings: Settings, via: str = "") -> Scope:
    """Whose rows are meant, who acts, and from where."""
    return Scope(tenant=settings.tenant, principal=settings.principal, via=via)


def sign_ins_of(settings: Settings, store: Store, clock: Clock) -> access.SignIns:
    """Sign-ins of browsers, as long as the settings let them be."""
    return access.SignIns(
        store,
        clock,
        lasts=timedelta(hours=min(settings.server_session_hours, MOST)),
        idle=timedelta(minutes=min(settings.server_session_idle_minutes, MOST)),
    )


def open_store(settings: Settings, *, clock: Clock | None = None, create: bool = True, migrate: bool = True) -> Store:
    """The store the settings name."""
    need_extra("memory", "sqlalchemy", "alembic")
    from assay.storage import open_store as open_at  # noqa: PLC0415 - see the package's docstring

    clock = clock or SystemClock()
    options = store_options(settings)
    return open_at(settings.db, clock=clock, create=create, migrate=migrate, options=options)


def list_checkpoints(settings: Settings) -> list[Checkpoint]:
    """The store's checkpoints, also when the store itself cannot be opened."""
    need_extra("memory", "sqlalchemy", "alembic")
    from assay.storage import list_checkpoints as list_at  # noqa: PLC0415 - see the package's docstring

    return list_at(settings.db, store_options(settings))


def restore_checkpoint(settings: Settings, wanted: str, *, clock: Clock | None = None) -> Restored:
    """Bring the store back to a checkpoint, also when the store itself cannot be opened."""
    need_extra("memory", "sqlalchemy", "alembic")
    from assay.storage import restore_checkpoint as restore_at  # noqa: PLC0415 - see the package's docstring

    return restore_at(settings.db, wanted, scope_of(settings), clock or SystemClock(), store_options(settings))


def move_store(
    settings: Settings,
    to: str,
    *,
    replace_rows: bool = False,
    dry_run: bool = False,
    on_rows: OnRows | None = None,
    clock: Clock | None = None,
) -> StoreMove:
    """Move the store of the settings to another address; the store itself is only read."""
    need_extra("memory", "sqlalchemy", "alembic")
    from assay.storage import Place, is_postgres  # noqa: PLC0415 - see the package's docstring
    from assay.storage import move_store as move  # noqa: PLC0415 - see the package's docstring

    target = settings.change(db=to if is_postgres(to) else str(Path(to).expanduser()))
    return move(
        Place(address=settings.db, options=store_options(settings)),
        Place(address=target.db, options=store_options(target)),
        scope=scope_of(settings, via="command line"),
        clock=clock or SystemClock(),
        replace_rows=replace_rows,
        dry_run=dry_run,
        on_rows=on_rows,
    )


def store_options(settings: Settings) -> StoreOptions:
    """How the settings ask for the store to be opened."""
    from assay.storage import StoreOptions, is_postgres  # noqa: PLC0415 - see the package's docstring

    # With the store's address withheld, settings.db is the default, which is not what was asked for.
    settings.refuse_withheld("db", *(("postgres.programs",) if is_postgres(settings.db) else ()))
    return StoreOptions(
        lock_timeout_s=settings.lock_timeout_s,
        readers=settings.readers,
        flush_interval_s=settings.flush_interval_s,
        log_capacity=settings.log_capacity,
        postgres_schema=settings.postgres_schema,
        statement_timeout_s=settings.statement_timeout_s,
        checkpoint_folder=_checkpoint_folder(settings),
        postgres_programs=settings.postgres_programs,
    )


def _checkpoint_folder(settings: Settings) -> Path | None:
    from assay.storage import is_postgres  # noqa: PLC0415 - see the package's docstring

    if not is_postgres(settings.db):
        return settings.checkpoint_folder
    # A server has no "beside": its checkpoints lie with the user's data, apart for each server and database.
    folder = settings.checkpoint_folder or default_db(os.environ).parent / "checkpoints"
    return folder / f"{settings.postgres_schema}-{short_hash(fit_to_show(settings.db))}"


def short_hash(text: str) -> str:
    """Return eight letters that identify a place."""
    return content_hash(text).removeprefix(HASH_PREFIX)[:8]
