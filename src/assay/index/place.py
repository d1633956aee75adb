"""Where indexes lie unless told otherwise: beside the SQLite file, or in the user's cache folder for a server."""

from __future__ import annotations

import os
from pathlib import Path

from assay.index.generations import hash_of
from assay.storage import Store


def default_folder(store: Store) -> Path:
    """The folder of a store's indexes."""
    if store.backend_name == "sqlite":
        return Path(store.place + "-index")
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "assay" / "index" / hash_of(store.place)
