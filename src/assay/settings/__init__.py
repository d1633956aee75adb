"""Settings from `assay.toml`, the environment and command-line options, in one frozen value with the origin of each.

- `model`: every setting with its type, limits, default and meaning.
- `loading`: fills the settings from options, the environment and files.
- `files`: where settings files are, how values are shown, and which settings need the user's approval.
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
