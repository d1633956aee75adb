"""Files that a grown base shares with the base before it, so that growing does not copy them.

Files of a base never change, but for one way: more may be added behind what any base counts. So a new base can have the
same file under a link of its own, and what a killed process added is overwritten by the next.

- Rows: a matrix grows at its end.
- Tables: a few long rows, each with room behind it. Room that nothing was written to takes no disk.
"""

from __future__ import annotations

import mmap
import os
import shutil
import time
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.index.columns import Whole

_PER_PAGE = 512
"""Whole numbers in a page of memory."""
_TOUCHED_AT_ONCE = 1_024
"""Pages; they take a millisecond or two where they lie in the page cache."""
_FORGOTTEN_AT_ONCE = 16 * 2**20
"""Bytes; they take about a millisecond."""
_PAUSE_S = 0.001


def share_file(source: Path, target: Path) -> None:
    """Give a file a second name; where the file system has no links, copy it."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(source, target)


# --- Rows: a matrix grows at its end ---


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


# --- Tables: a few long rows, each with room behind it ---

_ROOM = 4
"""A table that is full is written with a quarter more room: all copies together are no more than five tables."""


def write_header(file: BinaryIO, kind: np.dtype[Any], shape: tuple[int, int]) -> None:
    """Write what stands before the numbers of a matrix that are written piece by piece, row after row."""
    about = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, about)


def grow_table(source: Path, target: Path, known: NDArray[Any], fresh: NDArray[Any]) -> None:
    """Make a file of a table with more columns behind those that a base knows; shared if there is room for them."""
    with source.open("rb") as file:
        header = read_header(file)
    begin, end = known.shape[1], known.shape[1] + fresh.shape[1]
    if end > header.width:
        write_table(target, known, fresh)
        return
    share_file(source, target)
    with target.open("r+b") as file:
        for row, values in enumerate(fresh if begin < end else ()):
            file.seek(header.size + (row * header.width + begin) * header.kind.itemsize)
            file.write(np.ascontiguousarray(values, header.kind).data)


def write_table(path: Path, *parts: NDArray[Any]) -> None:
    """Write the columns of several tables behind each other, with room for more."""
    end = sum(part.shape[1] for part in parts)
    shape, kind = (len(parts[0]), end + end // _ROOM), parts[0].dtype
    with path.open("wb") as file:
        write_header(file, kind, shape)
        size = file.tell()
        for row in range(shape[0]):
            file.seek(size + row * shape[1] * kind.itemsize)
            for part in parts:
                file.write(np.ascontiguousarray(part[row]).data)
        file.truncate(size + shape[0] * shape[1] * kind.itemsize)


def map_table(path: Path, count: int) -> NDArray[Any]:
    """Map the first columns of a table, as many as a base counts."""
    # As a plain array: a memmap makes a new memmap of everything that is taken from it.
    table = np.asarray(np.load(path, mmap_mode="c"))
    if table.ndim != 2 or table.shape[1] < count:
        raise ValueError(f"{path.name} holds an array of shape {table.shape}, not {count} columns")
    return table[:, :count]


def touch_pages(*columns: Whole | NDArray[np.uint64]) -> int:
    """Read a number of every page, so that the first search need not wait for them; return a sum of no meaning."""
    total, step = 0, _TOUCHED_AT_ONCE * _PER_PAGE
    for column in columns:
        for begin in range(0, len(column), step):
            total += int(np.add.reduce(column[begin : begin + step : _PER_PAGE].view(np.int64)))
            # Searches may run beside it, and reading keeps the interpreter lock.
            time.sleep(0)
    return total


def forget_pages(array: NDArray[Any]) -> None:
    """Undo what reading a mapped array has mapped, piece by piece; whoever reads it again maps it again.

    To unmap gigabytes at once takes a third of a second, in which no thread gets memory from the system. Nothing where
    the system cannot, and for what is not mapped.
    """
    held: object = array
    while isinstance(held, np.ndarray):
        held = held.base
    if isinstance(held, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        for begin in range(0, len(held), _FORGOTTEN_AT_ONCE):
            held.madvise(mmap.MADV_DONTNEED, begin, min(_FORGOTTEN_AT_ONCE, len(held) - begin))
            # The call keeps the interpreter lock; others would wait for it five milliseconds at a time.
            time.sleep(_PAUSE_S)
