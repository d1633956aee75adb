"""How long rows are kept, where archives are, and the use-cases that need both."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from assay.clock import Clock
from assay.memory import retention
from assay.memory.retention import RetentionPolicy, ScheduledRetention
from assay.records import Scope
from assay.records.maintenance import RetentionReport
from assay.settings import Settings, default_db, fit_to_show
from assay.storage import HeldLease, Store
from assay.wiring.stores import short_hash


def run_retention(
    settings: Settings, store: Store, scope: Scope, clock: Clock, *, dry_run: bool = False
) -> RetentionReport:
    """Archive and remove what is older than the settings allow, or say what would be."""
    policy = retention_policy(settings)
    if dry_run:
        return retention.plan(store, scope, policy, clock)
    return retention.run(store, scope, archive_folder(settings, store), policy, clock)


def schedule_retention(settings: Settings, store: Store, clock: Clock) -> ScheduledRetention | None:
    """Return what archives old rows in a server, as often as the settings say; None: it does not."""
    if not settings.retention_every_hours:
        return None
    folder, policy = archive_folder(settings, store), retention_policy(settings)

    def run(scope: Scope, lease: HeldLease) -> RetentionReport:
        return retention.run_held(store, scope, folder, policy, clock, lease=lease)

    return ScheduledRetention(store, run, every=timedelta(hours=settings.retention_every_hours), clock=clock)


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
