"""Settings: from `assay.toml`, the environment and command-line options into one frozen value that knows its origins.

`model` holds every setting with its type, limits, default and meaning, `loading` fills it, `approvals` says which of
them a project's file may not set by itself, `files` finds the settings files and the user's folders.
"""

from __future__ import annotations

from assay.settings.files import (
    APPROVALS,
    CONFIG_VARIABLE,
    FILE_NAME,
    Approval,
    ApprovedFile,
    ApprovedFiles,
    default_cache,
    default_db,
    find_file,
    fit_to_show,
    is_loopback,
    users_file,
)
from assay.settings.loading import LoadedSettings, load_settings, read_requests
from assay.settings.model import KNOWN, Origin, Settings

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
