"""Settings: from `assay.toml`, the environment and command-line options into one frozen value that knows its origins.

`table` holds every setting with its meaning, `loading` reads them, `places` knows where things lie by default.
"""

from __future__ import annotations

from assay.settings.loading import FILE_NAME, LoadedSettings, find_file, load_settings
from assay.settings.places import default_cache, default_db, fit_to_show
from assay.settings.table import KNOWN, Origin, Settings

__all__ = [
    "FILE_NAME",
    "KNOWN",
    "LoadedSettings",
    "Origin",
    "Settings",
    "default_cache",
    "default_db",
    "find_file",
    "fit_to_show",
    "load_settings",
]
