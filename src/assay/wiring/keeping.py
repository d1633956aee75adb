"""How long what is kept, where archives lie, and the use-cases that need both."""

from __future__ import annotations

import os
from pathlib import Path

from assay.clock import Clock, SystemClock
from assay.memory import retention
from assay.memory.retention import BroughtBack, RetentionPolicy, RetentionReport
from assay.settings import Settings, default_db, fit_to_show
from assay.storage import Checkpoint, Store
from assay.wiring.stores import open_store, scope_of, short_hash


def run_retention(settings: Settings, *, dry_run: bool = False, clock: Clock | None = None) -> RetentionReport:
    """Archive and remove what is older than the settings allow, or say what would be."""
    clock = clock or SystemClock()
    policy = retention_policy(settings)
    with open_store(settings, clock=clock, create=False) as store:
        if dry_run:
            return retention.plan(store, scope_of(settings), policy, clock)
        return retention.run(store, scope_of(settings), archive_folder(settings, store), policy, clock)


def restore_archive(settings: Settings, path: Path, *, clock: Clock | None = None) -> BroughtBack:
    """Bring the rows of an archive back into the store."""
    with open_store(settings, clock=clock, create=False) as store:
        return retention.bring_back(store, scope_of(settings), path)


def create_checkpoint(settings: Settings, name: str, *, clock: Clock | None = None) -> Checkpoint:
    """Copy the store as it is now."""
    with open_store(settings, clock=clock, create=False) as store:
        return store.checkpoints.create(name)


def delete_checkpoint(settings: Settings, wanted: str, *, clock: Clock | None = None) -> Checkpoint:
    """Delete a checkpoint by its id or name."""
    with open_store(settings, clock=clock, create=False) as store:
        return store.checkpoints.delete(wanted)


def retention_policy(settings: Settings) -> RetentionPolicy:
    """How long the settings keep what."""
    return RetentionPolicy(query_days=settings.retention_query_days, shadow_days=settings.retention_shadow_days)


def archive_folder(settings: Settings, store: Store) -> Path:
    """Where a store's archives lie: beside its file, or with the user's data; each store has a folder of its own."""
    own = short_hash(fit_to_show(settings.db) if store.backend_name == "postgres" else store.place)
    if settings.archive_folder is not None:
        return settings.archive_folder / own
    if store.backend_name == "sqlite":
        return Path(store.place + ".archives")
    return default_db(os.environ).parent / "archives" / f"{settings.postgres_schema}-{own}"
