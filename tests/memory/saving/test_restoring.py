"""Taking back one supersede or one merge, and nothing that came later."""

from __future__ import annotations

import pytest
from tests.memory.saving.conftest import MakeSaver, draft

from assay.errors import BadValue, InputError, RecordNotFound
from assay.flags import Flags
from assay.memory.saving import Saver
from assay.records import EdgeKind, MemoryRecord, Scope, Tier
from assay.storage import Store

OLD = draft(triggers=("rate limit",))
NEW = draft(body="The API allows 500 requests per minute.", triggers=("rate limit",))


def read(store: Store, scope: Scope, memory_id: str | None) -> MemoryRecord:
    with store.reading(scope) as work:
        return work.memories.get(str(memory_id))


def test_a_superseded_memory_holds_again_beside_what_superseded_it_and_both_are_marked(
    saver: Saver, store: Store, scope: Scope
) -> None:
    old, new = saver.save(scope, OLD), saver.save(scope, NEW)
    later = saver.save(scope, draft("Bins", "Paper goes out on Tuesday."))

    outcome = saver.restore(scope, str(old.memory_id))

    assert (outcome.memory_id, outcome.contradicts) == (old.memory_id, (new.memory_id,))
    assert [read(store, scope, one.memory_id).superseded_at for one in (old, new, later)] == [None, None, None]
    with store.reading(scope) as work:
        edges = [(edge.source_id, edge.kind, edge.target_id) for edge in work.edges.of(str(old.memory_id))]
        audited = [entry.action for entry in work.audit.entries(target=str(old.memory_id))]
    assert edges == [(new.memory_id, EdgeKind.CONTRADICTS, old.memory_id)]
    assert audited == ["memory.restore", "memory.supersede"]


def test_a_restored_memory_is_found_again_as_a_neighbour(saver: Saver, scope: Scope) -> None:
    old, _ = saver.save(scope, OLD), saver.save(scope, NEW)
    saver.restore(scope, str(old.memory_id))
    outcome = saver.save(scope, draft(body="The API allows 900 requests per minute.", triggers=("rate limit",)))
    assert old.memory_id in outcome.superseded


def merged(make_saver: MakeSaver, flags: Flags, store: Store, scope: Scope) -> tuple[Saver, str]:
    flags.turn(store, scope, "save_quality_gate", "off")
    saver = make_saver()
    first = saver.save(scope, draft(triggers=("rate limit",), tags=("mine",)))
    saver.save(scope, draft(triggers=("quota",), tags=("theirs",), source_id="s"))
    return saver, str(first.memory_id)


def test_a_merge_is_taken_apart_into_the_two_notes_it_was_made_of(
    make_saver: MakeSaver, flags: Flags, store: Store, scope: Scope
) -> None:
    saver, into = merged(make_saver, flags, store, scope)

    outcome = saver.restore(scope, into)

    first, second = read(store, scope, into), read(store, scope, outcome.memory_id)
    assert (first.frequency, first.triggers, first.metadata) == (1, ("rate limit",), {})
    assert (second.triggers, second.tags, second.source_id) == (("quota",), ("theirs",), "s")
    assert second.body == first.body
    with store.reading(scope) as work:
        assert len(work.memories.chunks_of(second.id)) == 1
        assert work.vectors.count("hashed-words") == 2
        assert work.audit.entries(target=into)[0].action == "memory.restore"


def test_merges_are_taken_apart_one_by_one_the_last_one_first(
    make_saver: MakeSaver, flags: Flags, store: Store, scope: Scope
) -> None:
    saver, into = merged(make_saver, flags, store, scope)
    saver.save(scope, draft(triggers=("throttle",)))
    assert read(store, scope, into).triggers == ("rate limit", "quota", "throttle")

    saver.restore(scope, into)
    assert (read(store, scope, into).frequency, read(store, scope, into).triggers) == (2, ("rate limit", "quota"))
    saver.restore(scope, into)
    assert read(store, scope, into).frequency == 1
    with pytest.raises(InputError, match="neither superseded nor merged"):
        saver.restore(scope, into)


def test_there_must_be_something_to_undo(saver: Saver, scope: Scope) -> None:
    kept = saver.save(scope, OLD)
    with pytest.raises(InputError, match="neither superseded nor merged") as problem:
        saver.restore(scope, str(kept.memory_id))
    assert problem.value.remedy
    with pytest.raises(RecordNotFound):
        saver.restore(scope, "m_unknown")


def test_another_tenant_cannot_restore_it(saver: Saver, scope: Scope) -> None:
    old, _ = saver.save(scope, OLD), saver.save(scope, NEW)
    with pytest.raises(RecordNotFound):
        saver.restore(Scope(tenant="other"), str(old.memory_id))


def test_a_constitutional_memory_comes_back_only_when_there_is_room(saver: Saver, store: Store, scope: Scope) -> None:
    first = saver.save(scope, draft("Rule", "The first rule.", tier=Tier.CONSTITUTIONAL, source_id="r"))
    saver.save(scope, draft("Rule", "The first rule, rewritten.", tier=Tier.IMPORTANT, source_id="r"))
    for number in range(10):
        kept = draft(f"Rule {number}", f"Rule number {number}.", tier=Tier.CONSTITUTIONAL)
        saver.save(scope, kept, gated=False)

    with pytest.raises(BadValue, match="10 constitutional memories"):
        saver.restore(scope, str(first.memory_id))
    assert read(store, scope, first.memory_id).superseded_at is not None
