"""Open files that a user names: regular files only, and never more of them than fits.

Opening a named pipe waits until a program writes to it, a device may never end, and a socket cannot be read. All of
them are refused before the first byte is read. Folders and missing files raise `OSError`, as `open` does.
"""

from __future__ import annotations

import errno
import gzip
import os
import stat
from importlib.resources import files
from pathlib import Path
from typing import BinaryIO

from assay.errors import InputError

LARGEST = 1 << 30
"""Bytes of a file that is read whole."""
_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
# Without waiting: a pipe without a writer opens at once, and a terminal does not become ours.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading its bytes; raise `InputError` for a pipe, a socket or a device."""
    try:
        descriptor = os.open(path, _FLAGS | getattr(os, "O_BINARY", 0))
    except OSError as problem:
        # A socket cannot be opened at all.
        if problem.errno == errno.ENXIO:
            raise _refusal(path, path.stat().st_mode) from problem
        raise
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise _refusal(path, mode)


def read_regular(path: Path, *, largest: int = LARGEST) -> bytes:
    """Return the bytes of a file; raise `InputError` when there are more than `largest`."""
    with open_regular(path) as opened:
        # The size is what the file system says now; the file may still grow while it is read.
        size = os.fstat(opened.fileno()).st_size
        content = opened.read(largest + 1) if size <= largest else b""
    if size > largest or len(content) > largest:
        raise InputError(
            f"{path} has {max(size, len(content)):,} bytes; at most {largest:,} are read", remedy="Split the file."
        )
    return content


def read_regular_text(path: Path, *, largest: int = LARGEST) -> str:
    """Return the text of a UTF-8 file with a newline for every line end, as `Path.read_text` does."""
    text = read_regular(path, largest=largest).decode()
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_packaged_text(*parts: str) -> str:
    """Return the text of a file that comes with Assay, by its path; an installed package has it packed."""
    place = Path(str(files("assay"))).joinpath(*parts)
    if place.is_file():
        return place.read_text(encoding="utf-8")
    return gzip.decompress(place.with_name(f"{parts[-1]}.gz").read_bytes()).decode()


def _refusal(path: Path, mode: int) -> Exception:
    if stat.S_ISDIR(mode):
        return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "not a regular file")
    return InputError(
        f"{path} is {kind}; only regular files are read", remedy="Write its content to a file and name that file."
    )
