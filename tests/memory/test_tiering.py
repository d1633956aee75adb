"""Changing a tier in place, on both back ends: who may, what it changes, how it is undone, and that it stays."""

from __future__ import annotations

from typing import Any

import pytest
from tests.memory.engines import engine_at
from tests.memory.learning.desk import Desk
from tests.storage.homes import Home

from assay.errors import BadValue, NotAllowed, NotReady, RecordNotFound
from assay.memory.engine import Engine
from assay.memory.learning import Which
from assay.memory.saving.drafts import MOST_CONSTITUTIONAL
from assay.memory.tiering import set_tier
from assay.records import Draft, MemoryRecord, Scope, SearchRequest, Tier
from assay.storage import Store
from assay.testing import FixedClock

KETTLE = "The kettle of the small kitchen is descaled with citric acid on the first Monday of a month."


def keep(engine: Engine, scope: Scope, title: str, body: str = KETTLE, **more: Any) -> str:
    saved = engine.saver.save(scope, Draft(title=title, body=body, **more), gated=False).memory_id
    assert saved is not None
    return saved


def record(engine: Engine, scope: Scope, memory_id: str) -> MemoryRecord:
    with engine.store.reading(scope) as work:
        return work.memories.get(memory_id)


def ranked(engine: Engine, scope: Scope) -> list[str]:
    return list(engine.searcher.search(scope, SearchRequest(query="descale the kettle with acid")).ids)


def test_a_tier_is_changed_in_place_audited_and_changed_back(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        first, second = keep(engine, scope, "Kettle"), keep(engine, scope, "Kettle")
        assert ranked(engine, scope) == [first, second]
        before = record(engine, scope, first)
        change = engine.set_tier(scope, first, Tier.DEPRECATED, reason="a new kettle")
        assert (change.tier_before, change.tier, change.unchanged) == (Tier.NORMAL, Tier.DEPRECATED, False)
        after = record(engine, scope, first)
        assert (after.tier, after.version, after.updated_at) == (Tier.DEPRECATED, before.version, before.updated_at)
        assert ranked(engine, scope) == [second, first]
        with engine.store.reading(scope) as work:
            [line] = [line for line in work.audit.entries(target=first) if line.action == "memory.tier"]
        told = {"before": "normal", "after": "deprecated", "automated": False, "reason": "a new kettle"}
        assert line.detail == told
        engine.set_tier(scope, first, change.tier_before)
        assert ranked(engine, scope) == [first, second]
        assert engine.set_tier(scope, first, Tier.NORMAL).unchanged
        with engine.store.reading(scope) as work:
            assert sum(line.action == "memory.tier" for line in work.audit.entries(target=first)) == 2


def test_a_program_changes_its_own_memories_only_and_no_constitutional_one(home: Home) -> None:
    ada, bot = Scope(tenant="acme", principal="ada"), Scope(tenant="acme", principal="bot")
    with engine_at(home) as engine:
        hers = keep(engine, ada, "Hers", written_with="save")
        own = keep(engine, bot, "Own", automated=True, written_with="memory_save")
        others = keep(engine, ada, "Script", automated=True, written_with="memory_save")
        for memory_id in (hers, others):
            with pytest.raises(NotAllowed, match="change the tier of") as refused:
                engine.set_tier(bot, memory_id, Tier.DEPRECATED, automated=True)
            assert f"assay tier {memory_id} deprecated" in str(refused.value.remedy)
        assert engine.set_tier(bot, own, Tier.CRITICAL, automated=True).tier is Tier.CRITICAL
        engine.set_tier(ada, own, Tier.CONSTITUTIONAL)
        with pytest.raises(NotAllowed, match="constitutional"):
            engine.set_tier(bot, own, Tier.NORMAL, automated=True)
        assert record(engine, ada, own).tier is Tier.CONSTITUTIONAL


def test_the_limit_of_constitutional_memories_holds_and_names_the_command(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        laws = [keep(engine, scope, f"Law {number}", tier=Tier.CONSTITUTIONAL) for number in range(MOST_CONSTITUTIONAL)]
        further = keep(engine, scope, "One more")
        with pytest.raises(BadValue, match="10 constitutional") as refused:
            engine.set_tier(scope, further, Tier.CONSTITUTIONAL)
        assert "`assay tier ID critical`" in str(refused.value.remedy)
        engine.set_tier(scope, laws[0], Tier.CRITICAL)
        engine.set_tier(scope, further, Tier.CONSTITUTIONAL)
        found = engine.searcher.search(scope, SearchRequest(query="kettle"))
        assert {law.memory_id for law in found.pinned} == {*laws[1:], further}
        long = keep(engine, scope, "Long", body=f"{KETTLE}\n\n" * 120)
        engine.set_tier(scope, further, Tier.NORMAL)
        with pytest.raises(BadValue, match="tokens together"):
            engine.set_tier(scope, long, Tier.CONSTITUTIONAL)


def test_what_does_not_hold_has_no_tier_to_change(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        old = keep(engine, scope, "Kettle")
        engine.saver.update(scope, old, {"title": "New kettle"})
        with pytest.raises(NotReady, match="superseded"):
            engine.set_tier(scope, old, Tier.CRITICAL)
        with pytest.raises(RecordNotFound, match="m_never"):
            engine.set_tier(scope, "m_never", Tier.CRITICAL)


def test_votes_neither_promote_nor_take_back_a_tier_that_was_set(store: Store, clock: FixedClock) -> None:
    desk = Desk(store, clock)
    desk.put("m_1")
    for number in range(5):
        desk.vote_on(f"zebra{number}")
    assert desk.memory().tier is Tier.IMPORTANT
    set_tier(desk.store, desk.scope, "m_1", Tier.NORMAL, clock=desk.clock, automated=False)
    for number in range(5):
        desk.vote_on(f"quagga{number}", principal="bob")
    assert desk.memory().tier is Tier.NORMAL
    set_tier(desk.store, desk.scope, "m_1", Tier.DEPRECATED, clock=desk.clock, automated=False)
    done = desk.learning.roll_back(desk.scope, Which(memory_id="m_1"))
    assert done.promotions == 1
    assert desk.memory().tier is Tier.DEPRECATED
    assert desk.memory().validation_count == 0
