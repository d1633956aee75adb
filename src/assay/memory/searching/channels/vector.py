"""The `vector` channel: the passages whose vectors lie nearest to the query's, by cosine.

Vectors of two models are never compared: while a tenant's vectors are of another model than the query's, the channel
gives nothing and says how far re-embedding has come.
"""

from __future__ import annotations

from assay.errors import ChannelUnavailable
from assay.memory.searching.channels.ask import Ask, Offer


def search(ask: Ask) -> Offer:
    """The nearest passages."""
    view, vector = ask.opened_view(), ask.vector
    if vector is None:
        raise ChannelUnavailable("the query has no vector", remedy="Configure an embedder, or name other channels.")
    if not view.document_count:
        return []
    if view.model != vector.model:
        raise _other_model(ask, view.model, vector.model)
    found = view.nearest(vector.values, model=vector.model, limit=ask.limit, allowed=ask.allowed)
    return [(one.number, one.score) for one in found]


def _other_model(ask: Ask, active: str | None, model: str) -> ChannelUnavailable:
    done, every = ask.work.vectors.count(model), ask.work.memories.count_chunks()
    return ChannelUnavailable(
        f"the vectors here are of {active or 'no model'}, the query's is of {model}; "
        f"{done:,} of {every:,} passages are embedded with it",
        remedy="Wait for re-embedding, run `assay index reembed`, or go back to the former embedder.",
    )
