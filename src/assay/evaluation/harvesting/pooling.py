"""The pool of a question: what several ways of searching find for it now, so that no single one decides what is judged.

Searches are asked as an evaluation: nothing learns from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from assay.memory.engine import Engine
from assay.records import Channel, Mode, Origin, Scope, SearchRequest

DEPTH = 20
WAYS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "as it is": {},
        "words": {"channels": (Channel.FTS5, Channel.BM25)},
        "meaning": {"channels": (Channel.VECTOR,)},
        "deep": {"mode": Mode.DEEP},
    }
)
"""How each of them asks."""


def pool(engine: Engine, scope: Scope, query: str, *, depth: int = DEPTH) -> dict[str, set[str]]:
    """Memories in the first places of any way, best first, each with the channels that found it."""
    found: dict[str, set[str]] = {}
    lists = [_asked(engine, scope, query, depth, way) for way in WAYS.values()]
    for rank in range(depth):
        for hits in lists:
            if rank < len(hits):
                memory, channels = hits[rank]
                found.setdefault(memory, set()).update(channels)
    return found


def _asked(
    engine: Engine, scope: Scope, query: str, depth: int, way: Mapping[str, Any]
) -> list[tuple[str, tuple[str, ...]]]:
    request = SearchRequest(query=query, k=depth, origin=Origin.EVALUATION, tool_name="assay dataset build", **way)
    result = engine.searcher.search(scope, request)
    return [(hit.memory_id, tuple(one.value for one in hit.channels)) for hit in result.hits]
