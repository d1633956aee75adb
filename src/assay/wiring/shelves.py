"""The files that a caller may see, and whose a new file is."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import AssayError
from assay.evaluation.running.files import DEFAULT_RUNS
from assay.evaluation.shelf import FilePlaces, Shelf, file_key
from assay.records import Scope
from assay.settings import Settings, default_db
from assay.wiring.stores import open_store, scope_of

if TYPE_CHECKING:
    from assay.memory.engine import Engine
    from assay.records.owned_files import FileKind


def shelf_of(settings: Settings, engine: Engine, scope: Scope) -> Shelf:
    """Return the runs, datasets and labels that a caller may see."""
    return Shelf(store=engine.store, scope=scope, places=file_places(settings), clock=engine.clock)


def file_places(settings: Settings) -> FilePlaces:
    """Return where the settings' own tenant keeps its files, and beside it the folders of other tenants."""
    return FilePlaces(own_tenant=settings.tenant, runs=runs_folder(settings), datasets=datasets_folder(settings))


def runs_folder(settings: Settings) -> Path:
    """Return where the settings' own tenant keeps its runs."""
    return settings.runs_folder or DEFAULT_RUNS


def datasets_folder(settings: Settings) -> Path:
    """Return where the settings' own tenant keeps imported datasets."""
    return settings.datasets_folder or default_db(os.environ).parent / "datasets"


def claim_files(settings: Settings, kind: FileKind, paths: Iterable[Path]) -> str:
    """Write down that files belong to the settings' tenant, where there is a store.

    A store that cannot take it costs the note that is returned, not the files.
    """
    if not _has_store(settings):
        return ""
    try:
        with open_store(settings, create=False) as store, store.writing(scope_of(settings)) as work:
            for path in paths:
                work.owned_files.claim(kind, file_key(path))
    except AssayError as problem:
        return f"The store does not say whose these files are: {problem.message}."
    return ""


def _has_store(settings: Settings) -> bool:
    """Whether there is a store already; asked without opening it, and without what only a store needs."""
    if importlib.util.find_spec("sqlalchemy") is None:
        return False
    from assay.storage import is_postgres  # noqa: PLC0415 - see the package's docstring

    return is_postgres(settings.db) or Path(settings.db).is_file()
