"""Edges between memories."""

from __future__ import annotations

import random

import pytest
from tests.storage import samples

from assay.errors import RecordNotFound
from assay.records import Edge, EdgeKind, Scope
from assay.storage import Reached, Saved, Store
from assay.testing import note


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


def joined(store: Store, scope: Scope, *pairs: tuple[str, str, float]) -> None:
    with store.writing(scope) as work:
        for one in sorted({name for source, target, _ in pairs for name in (source, target)}):
            work.memories.add(note(one))
        for source, target, strength in pairs:
            work.edges.put(samples.edge(source, target, strength=strength))


def test_around_goes_both_ways_and_halves_with_every_hop(store: Store, scope: Scope) -> None:
    joined(store, scope, ("m_a", "m_b", 0.8), ("m_c", "m_b", 0.5), ("m_c", "m_d", 1.0))
    with store.reading(scope) as work:
        assert work.edges.around(["m_a"]) == [
            Reached("m_b", "m_a", 1, 0.4, ("m_a", "m_b")),
            Reached("m_c", "m_a", 2, 0.4 * 0.5 * 0.5, ("m_a", "m_b", "m_c")),
        ]
        assert [one.memory_id for one in work.edges.around(["m_a"], hops=3)] == ["m_b", "m_c", "m_d"]
        assert [one.memory_id for one in work.edges.around(["m_a"], hops=1)] == ["m_b"]
        assert [one.memory_id for one in work.edges.around(["m_a"], limit=1)] == ["m_b"]
        assert work.edges.around([]) == []
        assert work.edges.around(["m_unknown"]) == []


def test_around_several_seeds_keeps_the_strongest_way_and_no_seed(store: Store, scope: Scope) -> None:
    joined(store, scope, ("m_a", "m_x", 0.2), ("m_b", "m_x", 0.9), ("m_a", "m_b", 1.0), ("m_x", "m_x", 1.0))
    with store.reading(scope) as work:
        assert work.edges.around(["m_a", "m_b"]) == [Reached("m_x", "m_b", 1, 0.45, ("m_b", "m_x"))]


def test_around_never_leaves_the_tenant(store: Store, scope: Scope) -> None:
    joined(store, scope, ("m_a", "m_b", 1.0))
    joined(store, Scope(tenant="other"), ("m_a", "m_z", 1.0), ("m_b", "m_y", 1.0))
    with store.reading(scope) as work:
        assert [one.memory_id for one in work.edges.around(["m_a"])] == ["m_b"]


@pytest.mark.parametrize("seed", range(6))
def test_the_strongest_ways_are_those_of_a_plain_walk(store: Store, scope: Scope, seed: int) -> None:
    rng = random.Random(seed)
    ids = [f"m_{number}" for number in range(12)]
    keep_memories(store, scope, *ids)
    pairs = [(rng.choice(ids), rng.choice(ids)) for _ in range(30)]
    # Few strengths, so that ways are often as strong as each other.
    edges = [samples.edge(one, other, strength=rng.choice([0.25, 0.5, 1.0])) for one, other in dict.fromkeys(pairs)]
    with store.writing(scope) as work:
        for edge in edges:
            work.edges.put(edge)
    with store.reading(scope) as work:
        for limit in (3, 100):
            assert work.edges.around(ids[:2], limit=limit) == walk_plainly(edges, ids[:2], limit)


def walk_plainly(edges: list[Edge], seeds: list[str], limit: int) -> list[Reached]:
    def rank(reached: Reached) -> tuple[float, str, tuple[str, ...]]:
        return -reached.strength, reached.memory_id, reached.path

    frontier = {seed: Reached(seed, seed, 0, 1.0, (seed,)) for seed in seeds}
    best: dict[str, Reached] = {}
    for _ in range(2):
        ways = [(edge.source_id, edge.target_id, edge.strength) for edge in edges]
        steps = [
            Reached(far, at.seed, at.hops + 1, at.strength * strength * 0.5, (*at.path, far))
            for near, far, strength in [*ways, *((far, near, strength) for near, far, strength in ways)]
            if (at := frontier.get(near)) is not None and far not in seeds and far not in best
        ]
        fresh = {step.memory_id: step for step in sorted(steps, key=rank, reverse=True)}
        best |= fresh
        frontier = {step.memory_id: step for step in sorted(fresh.values(), key=rank)[:limit]}
    return sorted(best.values(), key=rank)[:limit]
