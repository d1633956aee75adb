"""Files and folders that only their owner can read: 0600 and 0700, for every umask.

`make_private_folder` creates a folder with every parent that is missing, `open_private` a file. `Path.mkdir` gives its
mode to the last folder only, and makes the parents readable for all users. What exists already keeps its mode: a user
who opened a folder to a group did so on purpose.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TextIO

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def make_private_folder(path: Path, *, exist_ok: bool = True) -> None:
    """Create a folder and its missing parents, each readable by the owner alone.

    Raises `FileExistsError` where the folder exists and `exist_ok` is false, or where a file has its name.
    """
    missing = [folder for folder in (path, *path.parents) if not folder.is_dir()]
    if not missing and not exist_ok:
        raise FileExistsError(f"{path} exists already")
    for folder in reversed(missing):
        # Another process may make a parent meanwhile; the folder itself is made by one of them when it must be new.
        try:
            folder.mkdir(mode=FOLDER_MODE)
        except FileExistsError:
            if not folder.is_dir() or (folder == path and not exist_ok):
                raise


def open_private(path: Path, flags: int) -> int:
    """Open a file and return its descriptor; a file that is created is readable by the owner alone."""
    return os.open(path, flags | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)


def open_new_private(path: Path) -> TextIO:
    """Open an empty UTF-8 text file for writing, readable by the owner alone; an older file there is removed first."""
    with suppress(FileNotFoundError):
        path.unlink()
    return os.fdopen(open_private(path, os.O_WRONLY | os.O_EXCL), "w", encoding="utf-8", newline="\n")
