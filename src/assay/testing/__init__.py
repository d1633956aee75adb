"""Doubles and small values for tests, yours as well as ours.

- `clock`: `FixedClock`, a clock that the test moves.
- `notes`: `note`, a memory with everything filled in, and `NOTES`, a small collection to search.
- `embedder`: `HashedEmbedder`, which makes vectors of words without a model.
- `model`: `ScriptedModel`, a chat model with scripted replies.
- `fault_server`: a chat service that fails in every way a real one does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.testing.clock import FixedClock
from assay.testing.model import ScriptedModel
from assay.testing.notes import NOTES, note

if TYPE_CHECKING:
    from assay.testing.embedder import HashedEmbedder

__all__ = ["NOTES", "FixedClock", "HashedEmbedder", "ScriptedModel", "note"]


def __getattr__(name: str) -> Any:
    # `assay demo` takes its notes from here, and `assay --help` must not wait for numpy.
    if name == "HashedEmbedder":
        from assay.testing.embedder import HashedEmbedder  # noqa: PLC0415 - see above

        return HashedEmbedder
    raise AttributeError(f"module 'assay.testing' has no attribute {name!r}; it has {', '.join(__all__)}")
