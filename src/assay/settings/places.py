"""Where things lie when nobody said otherwise, and how an address is shown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


def default_db(environment: Mapping[str, str]) -> Path:
    """The store when nobody said otherwise."""
    return user_folder(environment, "XDG_DATA_HOME", ".local/share") / "assay" / "assay.db"


def default_cache(environment: Mapping[str, str]) -> Path:
    """What can be made again: corpora taken in for evaluation."""
    return user_folder(environment, "XDG_CACHE_HOME", ".cache") / "assay"


def fit_to_show(value: Any) -> str:
    """A value as text, without the password an address may hold."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = ", ".join(value) if isinstance(value, tuple) else str(value)
    if "://" not in text:
        return text
    try:
        password = urlsplit(text).password
    except ValueError:
        return "(an address that cannot be read)"
    return text.replace(f":{password}@", ":***@") if password else text


def user_folder(environment: Mapping[str, str], variable: str, fallback: str) -> Path:
    """One of the folders a user keeps such things in: as the environment says, else below the home folder."""
    given = environment.get(variable)
    # The standard says that a relative path here is to be ignored.
    if given and Path(given).is_absolute():
        return Path(given)
    return Path(environment.get("HOME") or Path.home()) / fallback
