"""Where settings files and the user's folders are, and how a value is shown.

The settings file is the one that `--config` or ASSAY_CONFIG names, else the first `assay.toml` found from the working
folder upwards (not beyond the home folder), else the one in the user's configuration folder. A file that was found and
belongs to another user of the machine is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from assay.errors import SettingError

FILE_NAME = "assay.toml"
CONFIG_VARIABLE = "ASSAY_CONFIG"
"""The environment variable that names the settings file to use."""
ROOT_USER = 0
"""Files of this user are taken too: an image or a package may have put them there."""


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


def named_file(file: Path | None, environment: Mapping[str, str], folder: Path) -> Path | None:
    """The settings file that the user named, by option or environment; it has to be there."""
    text = str(file) if file is not None else environment.get(CONFIG_VARIABLE, "")
    if not text:
        return None
    place = folder / Path(text).expanduser()
    if not place.is_file():
        origin = "--config" if file is not None else CONFIG_VARIABLE
        raise SettingError(f"{origin} names {place}, and there is no such file", remedy="Name an existing file.")
    return place


def find_file(folder: Path, environment: Mapping[str, str], *, user: int | None = None) -> Path | None:
    """The settings file that counts when none is named: upwards from a folder, then the user's own.

    A file that belongs to another user than `user` (None: the one who runs this) is refused.
    """
    for place in _folders_above(folder, environment):
        if (place / FILE_NAME).is_file():
            _refuse_foreign(place / FILE_NAME, user)
            return place / FILE_NAME
    users = users_file(environment)
    return users if users.is_file() else None


def users_file(environment: Mapping[str, str]) -> Path:
    """Where the user's own settings file is, or would be."""
    return user_folder(environment, "XDG_CONFIG_HOME", ".config") / "assay" / FILE_NAME


def _folders_above(folder: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """A folder and those it lies in, not beyond the home folder."""
    home = Path(environment.get("HOME") or Path.home())
    homes = (home, home.resolve())
    for place in (folder, *folder.parents):
        yield place
        if place in homes:
            return


def _refuse_foreign(file: Path, user: int | None) -> None:
    """Refuse a file of another user: whoever can write into a shared folder must not decide what Assay does."""
    if os.name != "posix":
        return
    ours = {os.geteuid() if user is None else user, ROOT_USER}
    # A link in a shared folder belongs to whoever made it, whatever it leads to.
    owners = {file.lstat().st_uid, file.stat().st_uid}
    if not owners <= ours:
        raise SettingError(
            f"{file} belongs to another user (number {max(owners - ours)})",
            remedy=f"If you mean this file, name it: --config {file} or {CONFIG_VARIABLE}={file}. "
            "Otherwise work in another folder.",
        )
