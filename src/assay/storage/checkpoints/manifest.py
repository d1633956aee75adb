"""What a checkpoint says of itself: a small JSON file beside the copy."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from assay.errors import BadValue, CheckpointFailed
from assay.hashing import HASH_PREFIX
from assay.records import values
from assay.records.fields import require
from assay.storage.types import read_moment, write_moment

_BLOCK = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """One copy of the store."""

    id: str
    name: str
    created_at: datetime
    backend: str
    place: str
    """What it is a copy of."""
    schema: str
    epoch: str
    memories: int
    size_bytes: int
    content: str
    """The tagged hash of the copy."""
    audit_heads: Mapping[str, str] = field(default_factory=dict)
    """Where the audit log of each tenant ended: place and hash, by a mark of the tenant. Empty in older manifests."""

    def __post_init__(self) -> None:
        require(self, values.identifier, "id")
        require(self, values.label, "name", "backend", "place", "schema", "content")
        require(self, values.optional_label, "epoch")
        require(self, values.moment, "created_at")
        require(self, values.count, "memories", "size_bytes")
        require(self, values.json_object, "audit_heads")

    def as_json(self) -> dict[str, Any]:
        """The manifest's own shape."""
        return {**asdict(self), "created_at": write_moment(self.created_at)}


class Restored(NamedTuple):
    """What a restore did."""

    checkpoint: Checkpoint
    kept_aside: str
    """Where the state from before is: a checkpoint, a file or a schema."""
    note: str = ""
    """What else whoever restored it must know; empty: nothing."""


def read(path: Path) -> Checkpoint:
    """A checkpoint from its manifest file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        found["created_at"] = read_moment(found["created_at"])
        return Checkpoint(**found)
    except (OSError, ValueError, TypeError, KeyError, RecursionError, BadValue) as problem:
        raise CheckpointFailed(
            f"the description {path} cannot be read: {problem}",
            remedy="Put the description back or delete that file; other checkpoints can be restored by their id.",
        ) from problem


def write(path: Path, checkpoint: Checkpoint) -> None:
    """Write a manifest so that it is there whole or not at all."""
    beside = path.with_suffix(".tmp")
    with open(os.open(beside, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123 - the mode matters
        json.dump(checkpoint.as_json(), file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def hash_of(path: Path) -> str:
    """The tagged hash of a file. Never call it on a live database: closing the file would drop SQLite's locks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return HASH_PREFIX + digest.hexdigest()
