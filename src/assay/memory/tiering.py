"""Changing the tier of a memory in place: no new version, no new text, and nothing that a person decided is undone.

A tier that was set here stays: votes neither promote such a memory nor take it back with `assay learn rollback`, since
whoever set it knew of the votes. Setting the earlier tier again undoes a change. The next version of the memory
(`assay update`) starts afresh.
"""

from __future__ import annotations

from dataclasses import replace

from assay.clock import Clock
from assay.errors import NotReady
from assay.memory import rights
from assay.memory.saving.drafts import RESERVED, check_constitutional
from assay.memory.saving.writing import tokens_of
from assay.records import MemoryRecord, MemoryStatus, Scope, Tier, TierChange
from assay.records.memory import TIER_MARK
from assay.storage import Store


def set_tier(
    store: Store, scope: Scope, memory_id: str, tier: Tier, *, clock: Clock, automated: bool, reason: str = ""
) -> TierChange:
    """Give a current memory another tier. Audited. Setting the tier that it has changes nothing."""
    with store.writing(scope) as work:
        memory = work.memories.get(memory_id)
        command = f"assay tier {memory_id} {tier.value}"
        rights.check_change(memory, scope, "change the tier of", automated=automated, command=command)
        _check_current(memory)
        change = TierChange(memory_id=memory_id, title=memory.title, tier_before=memory.tier, tier=tier)
        if change.unchanged:
            return change
        if tier is Tier.CONSTITUTIONAL:
            others = [law.id for law in work.memories.constitutional()]
            check_constitutional(tokens_of(work, memory_id), [tokens_of(work, other) for other in others])
        work.memories.update(_with_tier(memory, tier, clock))
        detail = {"before": memory.tier.value, "after": tier.value, "automated": automated, "reason": reason}
        work.audit.append("memory.tier", memory_id, detail)
    return change


def _check_current(memory: MemoryRecord) -> None:
    if memory.status is not MemoryStatus.CURRENT:
        raise NotReady(
            f"the memory {memory.id!r} is {memory.status}, and its tier cannot be changed",
            remedy="Change the tier of the current version, or restore this one first.",
        )


def _with_tier(memory: MemoryRecord, tier: Tier, clock: Clock) -> MemoryRecord:
    """Return the memory with the tier, and a mark that it was set. It is not newer for that, so `updated_at` stays."""
    mark = {"before": memory.tier.value, "at": clock.now().isoformat()}
    own = {**memory.metadata.get(RESERVED, {}), TIER_MARK: mark}
    return replace(memory, tier=tier, metadata={**memory.metadata, RESERVED: own})
