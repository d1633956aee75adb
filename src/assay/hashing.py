"""Identity by content: canonical JSON, a content hash that names its algorithm, and deterministic buckets.

Two values with the same meaning give the same text: keys sorted, no spaces, no NaN. What cannot be written that
way (NaN, infinity, a lone surrogate) is refused here, because a hash of it would not be the same everywhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

from assay.errors import BadValue

HASH_PREFIX = "sha256:"
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: Any) -> str:
    """The one JSON text of a value."""
    try:
        text = _ENCODER.encode(value)
        if not text.isascii():
            text.encode()
    except (TypeError, ValueError, RecursionError) as problem:
        raise BadValue(
            f"cannot write {_short(value)} as JSON: {problem}",
            remedy="Use text, finite numbers, true/false, null, lists and objects only.",
        ) from problem
    return text


def content_hash(value: Any) -> str:
    """The tagged hash of a value's canonical JSON."""
    return hash_pieces([canonical_json(value)])


def hash_pieces(pieces: Iterable[str]) -> str:
    """The tagged hash of a text that comes in pieces: of a large canonical JSON, never all of it is in memory."""
    found = hashlib.sha256()
    for piece in pieces:
        found.update(piece.encode())
    return HASH_PREFIX + found.hexdigest()


def list_pieces(texts: Iterable[str]) -> Iterator[str]:
    """The canonical JSON of a list in pieces, from the texts of its members."""
    before = "["
    for text in texts:
        yield before + text
        before = ","
    yield "[]" if before == "[" else "]"


def bucket(identity: str, salt: str) -> int:
    """A number from 0 to 99 that is always the same for this identity and salt."""
    digest = hashlib.sha256(f"{salt}\x00{identity}".encode()).digest()
    # 64 bits make the bias of the remainder smaller than any sample could show.
    return int.from_bytes(digest[:8], "big") % 100


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except RecursionError:
        return "a value nested too deeply"
    return text if len(text) <= 80 else text[:77] + "..."


def query_key(query: str) -> str:
    """Return a key that is equal for queries that differ only in case and spacing."""
    return content_hash(" ".join(query.casefold().split())).removeprefix(HASH_PREFIX)[:32]
