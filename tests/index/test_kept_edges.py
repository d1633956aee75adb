"""Edges kept in memory: the same answers as the store's, and gone as soon as anybody writes an edge."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from tests.index.conftest import Opening
from tests.storage import samples

from assay.index.kept_edges import EDGES_A_SEARCH, FEWEST_SEARCHES, EdgeTable, KeptEdges
from assay.records import EdgeKind, LogPosition, Scope
from assay.storage import MOST_EDGES, EdgeRow, Saved, Standing, Store
from assay.storage.erasing import Marks

ROWS = [EdgeRow("m_1", "m_2", "supports", 0.5)]


def standing(edges_written: int, epoch: str = "e") -> Standing:
    return Standing(LogPosition(epoch, 1), 0, None, edges_written)


def keep_memories(store: Store, scope: Scope, ids: Sequence[str]) -> None:
    with store.writing(scope) as work:
        work.memories.add_many(Saved(memory) for memory in samples.notes(*ids))


def ask(kept: KeptEdges, at: Standing, times: int, rows: Sequence[EdgeRow] | None = ROWS) -> list[EdgeTable | None]:
    return [kept.at(at, lambda _: rows) for _ in range(times)]


# --- When a table is there ---


def test_edges_are_read_after_some_searches_and_kept_until_edges_are_written() -> None:
    kept = KeptEdges()
    *before, first = ask(kept, standing(1), FEWEST_SEARCHES)
    assert set(before) == {None}
    assert first is not None
    assert set(ask(kept, standing(1), 3)) == {first}
    assert set(ask(kept, standing(2), FEWEST_SEARCHES - 1)) == {None}
    assert ask(kept, standing(2), 1) not in ([None], [first])


def test_a_restored_store_is_another_one_although_as_many_edges_were_written() -> None:
    kept = KeptEdges()
    assert ask(kept, standing(1), FEWEST_SEARCHES)[-1] is not None
    assert ask(kept, standing(1, epoch="restored"), 1) == [None]


def test_an_older_snapshot_is_not_given_newer_edges_nor_the_other_way_round() -> None:
    kept = KeptEdges()
    assert ask(kept, standing(2), FEWEST_SEARCHES)[-1] is not None
    assert ask(kept, standing(1), 1) == [None]
    assert ask(kept, standing(2), 1) == [None]


def test_too_many_edges_are_not_kept_and_looked_at_seldom() -> None:
    asked: list[int] = []

    def refuse(most: int) -> None:
        asked.append(most)

    kept = KeptEdges(most=100 * EDGES_A_SEARCH)
    assert {kept.at(standing(1), refuse) for _ in range(FEWEST_SEARCHES + 250)} == {None}
    assert asked == [100 * EDGES_A_SEARCH] * 3


def test_more_edges_need_more_searches_before_they_are_read_again() -> None:
    kept, many = KeptEdges(), [EdgeRow("m_1", f"m_{number}", "caused", 0.5) for number in range(20 * EDGES_A_SEARCH)]
    assert ask(kept, standing(1), FEWEST_SEARCHES, many)[-1] is not None
    assert set(ask(kept, standing(2), 19, many)) == {None}
    assert ask(kept, standing(2), 1, many) != [None]


# --- The same answers as the store's ---


@pytest.mark.parametrize("seed", range(4))
def test_a_table_answers_as_the_store_does(store: Store, scope: Scope, seed: int) -> None:
    rng = random.Random(seed)
    ids = [f"m_{number:02}" for number in range(30)]
    keep_memories(store, scope, ids)
    with store.writing(scope) as work:
        for _ in range(400):
            # Some memories have far more edges than others, and few strengths make many ways equally strong.
            source, target = ids[min(int(rng.expovariate(0.15)), 29)], rng.choice(ids)
            kind, strength = rng.choice(list(EdgeKind)), rng.choice([0.25, 0.5, 1.0])
            work.edges.put(samples.edge(source, target, kind=kind, strength=strength))
    with store.reading(scope) as work:
        found = work.edges.read_all(1_000)
        assert found is not None
        assert len(found) == work.edges.count()
        table = EdgeTable(found)
        for asked in (ids[:1], ids[3:8], ids, ["m_unknown"], []):
            assert len(table.read_steps(asked)) <= MOST_EDGES
            steps = [tuple(step) for step in work.edges._read_steps(asked)] if asked else []
            assert sorted(table.read_steps(asked)) == sorted(steps)
            # Which of two kinds comes first at the same strength is not said.
            assert sorted(table.stances(asked)) == sorted(work.edges.stances(asked) if asked else [])


def test_every_edge_is_read_or_none(store: Store, scope: Scope) -> None:
    keep_memories(store, scope, ["m_1", "m_2", "m_3"])
    keep_memories(store, Scope(tenant="other"), ["m_1", "m_2"])
    with store.writing(Scope(tenant="other")) as work:
        work.edges.put(samples.edge("m_1", "m_2", strength=0.9))
    with store.writing(scope) as work:
        work.edges.put(samples.edge("m_1", "m_2", kind=EdgeKind.CAUSED, strength=0.5))
        assert work.edges.read_all(1) == [EdgeRow("m_1", "m_2", "caused", 0.5)]
        work.edges.put(samples.edge("m_2", "m_3"))
        assert work.edges.read_all(1) is None


# --- Whatever writes an edge says so ---


def test_every_way_of_writing_edges_is_counted(store: Store, scope: Scope) -> None:
    keep_memories(store, scope, ["m_1", "m_2", "m_3"])
    counts = []

    def count() -> None:
        with store.reading(scope) as work:
            counts.append(work.changes.standing().edges_written)

    count()
    for evidence in ("", "stronger", "Ada Swan said so"):
        with store.writing(scope) as work:
            work.edges.put(samples.edge("m_1", "m_2", evidence=evidence))
        count()
    with store.writing(scope) as work:
        work.erasure.strike(Marks(pieces=("Ada Swan",)))
    count()
    with store.writing(scope) as work:
        work.edges.put(samples.edge("m_1", "m_2"))
        work.edges.remove("m_1", "m_2", EdgeKind.SUPPORTS)
        work.edges.put(samples.edge("m_2", "m_3"))
    count()
    with store.writing(scope) as work:
        work.memories.remove("m_3")
    count()
    assert len(set(counts)) == len(counts)
    with store.writing(scope) as work:
        work.memories.remove("m_2")  # it has no edges any more
    with store.reading(scope) as work:
        assert work.changes.standing().edges_written == counts[-1]
    with store.reading(Scope(tenant="other")) as work:
        assert work.changes.standing().edges_written == 0


def test_a_view_follows_edges_as_they_are_written(store: Store, scope: Scope, open_indexes: Opening) -> None:
    keep_memories(store, scope, ["m_1", "m_2", "m_3"])
    indexes = open_indexes()
    for target in ("m_2", "m_3"):
        with store.writing(scope) as work:
            work.edges.put(samples.edge("m_1", target, kind=EdgeKind.CONTRADICTS))
        for _ in range(FEWEST_SEARCHES + 1):
            with store.reading(scope) as work:
                view = indexes.view(work)
                assert view.around(["m_1"], hops=2, limit=9) == work.edges.around(["m_1"], hops=2, limit=9)
                assert sorted(view.stances(["m_1"])) == sorted(work.edges.stances(["m_1"]))
        with store.reading(scope) as work:
            assert work.edges.around(["m_1"])[-1].memory_id == target


def test_a_snapshot_from_before_a_write_sees_the_edges_of_then(
    store: Store, scope: Scope, open_indexes: Opening
) -> None:
    keep_memories(store, scope, ["m_1", "m_2"])
    indexes = open_indexes()
    with store.reading(scope) as before:
        before.changes.standing()
        with store.writing(scope) as work:
            work.edges.put(samples.edge("m_1", "m_2"))
        for _ in range(FEWEST_SEARCHES + 1):
            with store.reading(scope) as work:
                assert [near.memory_id for near in indexes.view(work).around(["m_1"], hops=2, limit=9)] == ["m_2"]
        assert indexes.view(before).around(["m_1"], hops=2, limit=9) == []
