"""Edges between memories."""

from __future__ import annotations

import pytest
from tests.storage import samples

from assay.errors import RecordNotFound
from assay.records import Edge, EdgeKind, Scope
from assay.storage import Saved, Store


def keep_memories(store: Store, scope: Scope, *ids: str) -> None:
    with store.writing(scope) as work:
        work.memories.add_many(Saved(memory) for memory in samples.notes(*ids))


def test_an_edge_with_every_field_filled_comes_back_equal(store: Store, scope: Scope) -> None:
    keep_memories(store, scope, "m_1", "m_2")
    kept = samples.edge("m_1", "m_2", created_at=samples.ELSEWHERE, evidence=samples.LONG)
    with store.writing(scope) as work:
        work.edges.put(kept)
    with store.reading(scope) as work:
        assert work.edges.of("m_1") == [kept]
        assert work.edges.of("m_2") == [kept]


def test_edges_of_every_kind_stand_side_by_side_in_byte_order(store: Store, scope: Scope) -> None:
    keep_memories(store, scope, "m_a", "m_B", "m_b")
    with store.writing(scope) as work:
        for kind in reversed(EdgeKind):
            work.edges.put(samples.edge("m_a", "m_b", kind=kind))
        work.edges.put(samples.edge("m_B", "m_a"))
        work.edges.put(samples.edge("m_a", "m_B"))
        work.edges.put(samples.edge("m_a", "m_a"))
    with store.reading(scope) as work:
        found = [(edge.source_id, edge.target_id, edge.kind) for edge in work.edges.of("m_a")]
        assert work.edges.count() == len(found) == 9
    assert found == sorted(found, key=lambda key: tuple(part.encode() for part in key))


def test_the_same_edge_takes_the_new_strength_and_evidence(store: Store, scope: Scope) -> None:
    keep_memories(store, scope, "m_1", "m_2")
    fresh = samples.edge("m_1", "m_2", strength=0.9, evidence="", created_at=samples.LATE)
    with store.writing(scope) as work:
        work.edges.put(samples.edge("m_1", "m_2"))
        work.edges.put(samples.edge("m_1", "m_2", kind=EdgeKind.CAUSED))
        work.edges.put(fresh)
    with store.reading(scope) as work:
        assert work.edges.of("m_1") == [samples.edge("m_1", "m_2", kind=EdgeKind.CAUSED), fresh]


@pytest.mark.parametrize("missing", [samples.edge("m_gone", "m_1"), samples.edge("m_1", "m_gone")])
def test_an_edge_to_a_memory_that_is_not_there_is_refused_by_name(store: Store, scope: Scope, missing: Edge) -> None:
    keep_memories(store, scope, "m_1")
    with store.writing(scope) as work:
        with pytest.raises(RecordNotFound, match="m_gone") as refused:
            work.edges.put(missing)
        work.edges.put(samples.edge("m_1", "m_1"))
    assert refused.value.remedy
    with store.reading(scope) as work:
        assert work.edges.of("m_1") == [samples.edge("m_1", "m_1")]


def test_removing_an_edge_leaves_its_siblings(store: Store, scope: Scope) -> None:
    keep_memories(store, scope, "m_1", "m_2")
    with store.writing(scope) as work:
        work.edges.put(samples.edge("m_1", "m_2"))
        work.edges.put(samples.edge("m_2", "m_1"))
        work.edges.put(samples.edge("m_1", "m_2", kind=EdgeKind.CAUSED))
        work.edges.remove("m_1", "m_2", EdgeKind.SUPPORTS)
    with store.reading(scope) as work:
        assert work.edges.of("m_1") == [
            samples.edge("m_1", "m_2", kind=EdgeKind.CAUSED),
            samples.edge("m_2", "m_1"),
        ]


def test_removing_an_edge_that_is_not_there_is_refused_by_name(store: Store, scope: Scope) -> None:
    keep_memories(store, scope, "m_1", "m_2")
    with pytest.raises(RecordNotFound, match="'m_1' caused 'm_2'") as refused, store.writing(scope) as work:
        work.edges.remove("m_1", "m_2", EdgeKind.CAUSED)
    assert refused.value.remedy


def test_a_memory_without_edges_has_none(store: Store, scope: Scope) -> None:
    keep_memories(store, scope, "m_1")
    with store.reading(scope) as work:
        assert work.edges.of("m_1") == []
        assert work.edges.count() == 0
