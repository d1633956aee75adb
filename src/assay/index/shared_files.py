"""Files that a grown base shares with the base before it, so that growing does not copy them.

Files of a base never change, but for one way: rows may be added behind those that any base counts. So a new base can
have the same file under a link of its own, and what a killed process added is overwritten by the next.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.index.columns import Whole

_PER_PAGE = 512
"""Whole numbers in a page of memory."""


def share_file(source: Path, target: Path) -> None:
    """Give a file a second name; where the file system has no links, copy it."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(source, target)


class Header(NamedTuple):
    """What an NPY file says before its numbers."""

    kind: np.dtype[np.generic]
    width: int
    """Numbers in a row."""
    size: int
    """Bytes of the header."""


def read_header(file: BinaryIO) -> Header:
    """Read the header of a matrix; raises ValueError for a file that is none."""
    np.lib.format.read_magic(file)
    shape, by_columns, kind = np.lib.format.read_array_header_1_0(file)
    if len(shape) != 2 or by_columns:
        raise ValueError(f"the file holds an array of shape {shape}, not rows")
    return Header(kind, shape[1], file.tell())


def append_rows(path: Path, known: int, fresh: NDArray[np.generic]) -> None:
    """Write rows behind the first `known` of a file, over anything that is there."""
    with path.open("r+b") as file:
        header = read_header(file)
        file.seek(header.size + known * header.width * header.kind.itemsize)
        file.write(np.ascontiguousarray(fresh, header.kind).data)
        file.truncate()


def map_rows(path: Path, count: int) -> NDArray[np.generic]:
    """Map the first rows of a file, as many as a base counts: there may be more, of a later base."""
    with path.open("rb") as file:
        header = read_header(file)
    if not count:
        return np.zeros((0, header.width), header.kind)
    shape = (count, header.width)
    # As a plain array: a memmap makes a new memmap of everything that is taken from it.
    return np.asarray(np.memmap(path, header.kind, mode="c", offset=header.size, shape=shape))


def touch_pages(*columns: Whole | NDArray[np.uint64]) -> int:
    """Read a number of every page, so that the first search need not wait for them; return a sum of no meaning."""
    return sum(int(np.add.reduce(column[::_PER_PAGE].view(np.int64))) for column in columns)
