"""The query as a vector, made before the store is read and timed apart.

Nothing is embedded when no vector channel is to run, so that such a search never loads a model.
"""

from __future__ import annotations

from typing import NamedTuple

from assay.embedding.protocol import Embedder
from assay.errors import AssayError
from assay.memory.searching.channels.ask import QueryVector
from assay.memory.searching.guard import Failures
from assay.memory.searching.trace import Stopwatch

CHARACTERS_PER_TOKEN = 16
"""Far more than any tokenizer needs: of a longer query, the embedder would read no further anyway."""


class Embedded(NamedTuple):
    """The vector, or why there is none."""

    vector: QueryVector | None
    problem: str | None
    duration_ms: float


def embed_query(embedder: Embedder | None, query: str, *, stopwatch: Stopwatch, failures: Failures) -> Embedded:
    """Embed a query; an embedder that fails costs the search its vector channel and nothing else."""
    if embedder is None:
        return Embedded(None, "no embedder is configured. Set `embedder.kind`, or name other channels.", 0.0)
    begun = stopwatch()
    try:
        readable = query[: embedder.token_limit * CHARACTERS_PER_TOKEN]
        vector = QueryVector(embedder.model, embedder.embed([readable])[0])
    except AssayError as problem:
        failures.count("embedder", problem)
        return Embedded(None, str(problem), (stopwatch() - begun) * 1000.0)
    except Exception as problem:  # noqa: BLE001 - an embedder is somebody else's code; see the docstring
        failures.count("embedder", problem)
        return Embedded(None, f"{type(problem).__name__}: {problem}", (stopwatch() - begun) * 1000.0)
    return Embedded(vector, None, (stopwatch() - begun) * 1000.0)
