"""What a disk holds when the power fails after some operation of the log.

The model is harsh but lawful. A file's bytes are safe once that file was synced; its name is safe once the folder
was synced. A write since then is there or not, whole or in some of its 512-byte sectors; changes of names since then
are there up to some point in their order. Nothing else ever reaches the disk, and nothing synced ever leaves it.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

SECTOR = 512
FOLDER = ""
"""The name of the folder itself in the log."""
_ENTRY = struct.Struct("<dQIIc7x")


class Operation(NamedTuple):
    """One line of the shim's log."""

    seconds: float
    kind: str
    name: str
    offset: int
    data: bytes


@dataclass
class _Node:
    """A file, whatever it is called."""

    safe: bytearray = field(default_factory=bytearray)
    pending: list[Operation] = field(default_factory=list)


class _Renaming(NamedTuple):
    """A change of names: a file made, removed or renamed."""

    name: str
    becomes: str | None
    node: _Node | None = None


class Disk:
    """The folder as the operations so far have left it, safe and not yet safe."""

    def __init__(self) -> None:
        self._now: dict[str, _Node] = {}
        self._safe: dict[str, _Node] = {}
        self._renamings: list[_Renaming] = []

    def apply(self, operation: Operation) -> None:
        """Let one more operation happen."""
        if operation.kind == "S":
            self._sync(operation.name)
        elif operation.kind in "WT":
            self._node(operation.name).pending.append(operation)
        elif operation.kind in "CUR":
            renaming = _renaming(operation)
            self._renamings.append(renaming)
            _rename(self._now, renaming)

    def after_power_cut(self, rng: random.Random) -> dict[str, bytes]:
        """The files that are found when the power comes back; every call draws anew."""
        names = dict(self._safe)
        for renaming in self._renamings[: rng.randint(0, len(self._renamings))]:
            _rename(names, renaming)
        luck = rng.choice((_none, _all, _some, _sectors, _torn_last))
        return {name: bytes(_with(node.safe, luck(node.pending, rng))) for name, node in names.items()}

    def _sync(self, name: str) -> None:
        if name == FOLDER:
            self._safe = dict(self._now)
            self._renamings.clear()
            return
        node = self._node(name)
        node.safe = _with(node.safe, node.pending)
        node.pending = []

    def _node(self, name: str) -> _Node:
        return self._now.setdefault(name, _Node())


def read_log(path: Path) -> Iterator[Operation]:
    """Every operation, in the order it happened."""
    log = path.read_bytes()
    at = 0
    while at + _ENTRY.size <= len(log):
        seconds, offset, path_size, data_size, kind = _ENTRY.unpack_from(log, at)
        at += _ENTRY.size
        name = log[at : at + path_size].decode()
        data = log[at + path_size : at + path_size + data_size]
        at += path_size + data_size
        yield Operation(seconds, kind.decode(), name, offset, data)


def _renaming(operation: Operation) -> _Renaming:
    if operation.kind == "C":
        return _Renaming(operation.name, operation.name, _Node())
    return _Renaming(operation.name, operation.data.decode() if operation.kind == "R" else None)


def _rename(names: dict[str, _Node], renaming: _Renaming) -> None:
    node = renaming.node or names.get(renaming.name)
    names.pop(renaming.name, None)
    if renaming.becomes is not None and node is not None:
        names[renaming.becomes] = node


def _with(safe: bytearray, operations: list[Operation]) -> bytearray:
    content = bytearray(safe)
    for one in operations:
        if one.kind == "T":
            del content[one.offset :]
            content.extend(bytes(one.offset - len(content)))
        else:
            content.extend(bytes(max(0, one.offset - len(content))))
            content[one.offset : one.offset + len(one.data)] = one.data
    return content


def _none(pending: list[Operation], rng: random.Random) -> list[Operation]:  # noqa: ARG001 - one of five alike
    return []


def _all(pending: list[Operation], rng: random.Random) -> list[Operation]:  # noqa: ARG001 - one of five alike
    return pending


def _some(pending: list[Operation], rng: random.Random) -> list[Operation]:
    return [one for one in pending if rng.random() < 0.5]


def _sectors(pending: list[Operation], rng: random.Random) -> list[Operation]:
    return [part for one in pending for part in _split(one) if rng.random() < 0.5]


def _torn_last(pending: list[Operation], rng: random.Random) -> list[Operation]:
    if not pending:
        return []
    return pending[:-1] + [part for part in _split(pending[-1]) if rng.random() < 0.5]


def _split(operation: Operation) -> list[Operation]:
    """A write in the sectors of the disk, whose borders are those of the file."""
    if operation.kind == "T":
        return [operation]
    parts, at = [], 0
    while at < len(operation.data):
        size = SECTOR - (operation.offset + at) % SECTOR
        parts.append(operation._replace(offset=operation.offset + at, data=operation.data[at : at + size]))
        at += size
    return parts
