"""Read the facts of stored memories again: those of an older version have none, and rules change.

`assay index compact` and `assay index reembed` do it once for each version of the rules. Batches are durable when
written, and reading twice gives the same facts: a run that was stopped begins anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from assay.hashing import content_hash
from assay.records import MemoryStatus, Scope
from assay.storage import Store, Work
from assay.text.facts import FACTS_VERSION

BATCH = 200
"""Memories between two writes."""


class FactsRead(NamedTuple):
    """What reading facts again has done."""

    memories: int
    """Memories that were read."""
    facts: int
    """Facts that there are now."""
    ended: int
    """Facts that no longer hold, because a later one took their place."""


def facts_are_current(work: Work, scope: Scope, version: str = FACTS_VERSION) -> bool:
    """Whether all facts of a tenant were read by the rules of this version."""
    return work.meta.get(_key(scope)) == version


def read_facts_again(
    store: Store,
    scope: Scope,
    *,
    may_end: bool,
    stopped: Callable[[], bool] = lambda: False,
    version: str = FACTS_VERSION,
) -> FactsRead | None:
    """Read the facts of every memory by the rules of this version; None: they were, or the run was stopped.

    With `may_end` false no fact ends: for a tenant that has reconsolidation switched off. `stopped` is called between
    batches.
    """
    with store.reading(scope) as work:
        if facts_are_current(work, scope, version):
            return None
    count, ended, after = 0, 0, ""
    while not stopped():
        with store.writing(scope) as work:
            page = work.memories.page(after=after, limit=BATCH)
            if not page:
                work.meta.put(_key(scope), version)
                return FactsRead(count, work.facts.count(), ended)
            ids = [memory.id for memory in page]
            touched = work.facts.topics_touched_by(ids)
            for memory in page:
                # What is forgotten or in quarantine states nothing.
                if memory.status not in (MemoryStatus.FORGOTTEN, MemoryStatus.QUARANTINED):
                    work.facts.read_again(memory)
            topics = sorted({*touched, *work.facts.topics_touched_by(ids)})
            ended += len(work.facts.settle(topics, may_end=may_end))
            work.meta.note_unlogged()
        count, after = count + len(page), ids[-1]
    return None


def _key(scope: Scope) -> str:
    # By a hash: what belongs to the whole store must not name a tenant that is erased.
    return f"facts_version:{content_hash(scope.tenant)}"
