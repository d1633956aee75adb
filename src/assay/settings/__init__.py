"""Settings: from `assay.toml`, the environment and command-line options into one frozen value that knows its origins.

`table` holds every setting with its meaning, `loading` reads them, `approvals` says which of them a project's file may
not set by itself, `places` knows where things lie by default.
"""

from __future__ import annotations

from assay.settings.approvals import APPROVALS, Approval, ApprovedFile, ApprovedFiles, is_loopback
from assay.settings.loading import FILE_NAME, LoadedSettings, find_file, load_settings, read_requests, users_file
from assay.settings.places import default_cache, default_db, fit_to_show
from assay.settings.table import CONFIG_VARIABLE, KNOWN, Origin, Settings

__all__ = [
    "APPROVALS",
    "CONFIG_VARIABLE",
    "FILE_NAME",
    "KNOWN",
    "Approval",
    "ApprovedFile",
    "ApprovedFiles",
    "LoadedSettings",
    "Origin",
    "Settings",
    "default_cache",
    "default_db",
    "find_file",
    "fit_to_show",
    "is_loopback",
    "load_settings",
    "read_requests",
    "users_file",
]
