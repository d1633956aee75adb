"""Read text files in blocks, gzip or plain, and write files whole or not at all.

- Reading in blocks that end with a line.
- Writing whole files.
"""

from __future__ import annotations

import gzip
import os
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, NamedTuple

from assay.errors import InputError, MalformedFile
from assay.private_files import make_private_folder, open_private
from assay.regular_files import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# --- Reading in blocks that end with a line ---
#
# Every block is checked to be UTF-8 without NUL, so nobody behind this decodes in doubt. A mistake names file and
# line.
#
# Nothing here takes more time or memory than its input earns: a line and a whole file have a longest length, a packed
# file may not unpack to many times its own size, and only regular files are opened.

BLOCK = 2 << 20
"""Bytes read at a time: few enough for the arrays made from them to stay in the processor's cache."""
LONGEST_LINE = 1 << 20
LARGEST = 1 << 36
"""Bytes of a file that is streamed, unpacked."""
MOST_UNPACKED = 200
"""Times its own size that a packed file may unpack to. Text packs to between a third and a thirtieth of its size; zeros
or blanks pack to a thousandth."""
FREE_UNPACKED = 4 << 20
"""Bytes that any packed file may unpack to: a short file of equal lines is no attack."""
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


class Block(NamedTuple):
    """Whole lines of a file."""

    data: bytes
    """Ends with a line break."""
    offset: int
    """How many bytes of the unpacked text stand before it."""


def blocks(path: Path, size: int = BLOCK, longest: int = LONGEST_LINE, *, largest: int = LARGEST) -> Iterator[Block]:
    """The file's lines in order; `longest` is how many bytes a line may have, `largest` how many the file."""
    offset, length = 0, 0
    # The pieces of a line that has not ended yet: joined once, since joining at every piece is quadratic.
    waiting: list[bytes] = []
    for piece in _pieces(path, size):
        end = piece.rfind(b"\n") + 1
        if end:
            whole = b"".join((*waiting, piece[:end]))
            waiting, length = [], 0
            yield _check_block(path, Block(whole, offset))
            offset += len(whole)
        waiting.append(piece[end:])
        length += len(piece) - end
        if length > longest:
            raise line_error(path, Block(b"", offset), 0, f"is over {longest:,} bytes long", "Is it a text file?")
        if offset + length > largest:
            raise _too_large(path, f"has over {largest:,} bytes", "Split the file.")
    if length:
        yield _check_block(path, Block(b"".join((*waiting, b"\n")), offset))


def line_error(path: Path, block: Block, place: int, problem: str, expected: str) -> MalformedFile:
    """The error for the line at a byte of a block. Lines are counted here, because only errors need their numbers."""
    return MalformedFile(f"{path}, line {line_number(path, block, place):,}: {problem}", remedy=expected)


def line_number(path: Path, block: Block, place: int) -> int:
    """The number of the line at a byte of a block, counted from 1."""
    before, left = 0, block.offset
    for piece in _pieces(path, BLOCK):
        before += piece.count(b"\n", 0, left)
        left -= len(piece)
        if left <= 0:
            break
    return 1 + before + block.data.count(b"\n", 0, place)


def _pieces(path: Path, size: int) -> Iterator[bytes]:
    try:
        with open_regular(path) as raw:
            packed = raw.read(2) == _GZIP
            raw.seek(0)
            yield from _unpack(path, raw, size) if packed else _read(raw, size)
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise MalformedFile(
            f"{path} cannot be unpacked: {problem}", remedy="Fetch or pack the file again."
        ) from problem
    except IsADirectoryError as problem:
        raise InputError(f"{path} is a folder", remedy="Give a file in it, such as qrels/test.tsv.") from problem
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise InputError(f"{path} cannot be read: {reason}", remedy="Check the path and its permissions.") from problem


def _unpack(path: Path, raw: BinaryIO, size: int) -> Iterator[bytes]:
    """The pieces of a packed file, as long as they are not out of all proportion to what was read of it."""
    total = 0
    with gzip.GzipFile(fileobj=raw) as opened:
        for piece in _read(opened, size):
            total += len(piece)
            if total > FREE_UNPACKED and total > MOST_UNPACKED * raw.tell():
                raise _too_large(
                    path,
                    f"unpacks to over {MOST_UNPACKED} times its own size",
                    "If you trust it, unpack it with gunzip and name the plain file.",
                )
            yield piece


def _too_large(path: Path, problem: str, remedy: str) -> InputError:
    return InputError(f"{path} {problem}", remedy=remedy)


def _read(opened: IO[bytes] | gzip.GzipFile, size: int) -> Iterator[bytes]:
    piece = opened.read(size).removeprefix(_BOM)
    while piece:
        yield piece
        piece = opened.read(size)


def _check_block(path: Path, block: Block) -> Block:
    if b"\x00" in block.data:
        raise line_error(path, block, block.data.index(b"\x00"), "holds a NUL byte", "Give a text file in UTF-8.")
    if not block.data.isascii():
        try:
            block.data.decode()
        except UnicodeDecodeError as problem:
            place = problem.start
            byte = f"byte 0x{block.data[place]:02x}"
            raise line_error(path, block, place, f"is not UTF-8 ({byte})", "Save the file as UTF-8.") from problem
    return block


# --- Writing whole files ---


def write_lines(path: Path, lines: Iterable[str], *, private: bool = False) -> None:
    """Write a text file under a passing name and put it in place at the end; packed when it is named .gz.

    A `private` file can be read by its owner alone, and so can folders that are made for it.
    """
    with writing(path):
        make_private_folder(path.parent) if private else path.parent.mkdir(parents=True, exist_ok=True)
        passing = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            if private:
                os.close(open_private(passing, os.O_WRONLY | os.O_EXCL))
            _write(passing, lines, packed=path.suffix == ".gz")
            passing.replace(path)
        finally:
            passing.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say what could not be written, instead of what the system calls it."""
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise InputError(
            f"{problem.filename or path} cannot be written: {reason}", remedy="Check the path and the space left there."
        ) from problem


def inside(root: Path, name: str) -> Path | None:
    """A path below a folder; None for one that leads out of it."""
    place = (root / name).resolve()
    return place if place.is_relative_to(root.resolve()) and not Path(name).is_absolute() else None


def _write(path: Path, lines: Iterable[str], *, packed: bool) -> None:
    if packed:
        with gzip.open(path, "wt", encoding="utf-8", newline="\n") as opened:
            opened.writelines(lines)
    else:
        with path.open("w", encoding="utf-8", newline="") as plain:
            plain.writelines(lines)
