"""Tables kept in memory: the same answers as the store's, and gone as soon as anybody writes what they hold."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from tests.index.conftest import Opening
from tests.storage import samples

from assay.index.kept_tables import FEWEST_SEARCHES, EdgeTable, FactTable, KeptTable, KeptTables
from assay.memory.fact_reading import read_facts_again
from assay.records import EdgeKind, Scope
from assay.storage import MOST_EDGES, EdgeRow, Saved, Store
from assay.storage.erasing import Marks
from assay.testing import note
from assay.testing.clock import START


@dataclass(frozen=True, eq=False)
class Made:
    """A table."""

    rows: int = 1


def keep_memories(store: Store, scope: Scope, ids: Sequence[str]) -> None:
    with store.writing(scope) as work:
        work.memories.add_many(Saved(memory) for memory in samples.notes(*ids))


def make(most: int = 10_000) -> KeptTable[Made]:
    return KeptTable(rows_a_search=100, most=most)


def ask(kept: KeptTable[Made], version: int, times: int, rows: int = 1) -> list[Made | None]:
    return [kept.at(version, lambda _: Made(rows)) for _ in range(times)]


# --- When a table is there ---


def test_a_table_is_read_after_some_searches_and_kept_until_something_is_written() -> None:
    kept = make()
    *before, first = ask(kept, 1, FEWEST_SEARCHES)
    assert set(before) == {None}
    assert first is not None
    assert set(ask(kept, 1, 3)) == {first}
    assert set(ask(kept, 2, FEWEST_SEARCHES - 1)) == {None}
    assert ask(kept, 2, 1) not in ([None], [first])


def test_an_older_snapshot_is_not_given_a_newer_table_nor_the_other_way_round() -> None:
    kept = make()
    assert ask(kept, 2, FEWEST_SEARCHES)[-1] is not None
    assert ask(kept, 1, 1) == [None]
    assert ask(kept, 2, 1) == [None]


def test_too_many_rows_are_not_kept_and_looked_at_seldom() -> None:
    asked: list[int] = []

    def refuse(most: int) -> None:
        asked.append(most)

    kept = make(most=10_000)
    assert {kept.at(1, refuse) for _ in range(FEWEST_SEARCHES + 250)} == {None}
    assert asked == [10_000] * 3


def test_more_rows_need_more_searches_before_they_are_read_again() -> None:
    kept = make()
    assert ask(kept, 1, FEWEST_SEARCHES, rows=2_000)[-1] is not None
    assert set(ask(kept, 2, 19, rows=2_000)) == {None}
    assert ask(kept, 2, 1, rows=2_000) != [None]


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
            counts.append(work.changes.standing().unlogged_writes)

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
        assert work.changes.standing().unlogged_writes == counts[-1]
    with store.reading(Scope(tenant="other")) as work:
        assert work.changes.standing().unlogged_writes == 0


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


# --- The memories that edges join ---


def test_a_view_answers_for_the_ends_of_edges_as_the_store_does(
    store: Store, scope: Scope, open_indexes: Opening
) -> None:
    with store.writing(scope) as work:
        work.memories.add_many(Saved(note(one), [samples.chunk(one, text=one)]) for one in ("m_1", "m_2", "m_3", "m_4"))
        work.memories.add(note("m_bare"))
        work.edges.put(samples.edge("m_1", "m_bare"))
        work.edges.put(samples.edge("m_2", "m_3", kind=EdgeKind.CONTRADICTS))
        work.edges.put(samples.edge("m_1", "m_2", kind=EdgeKind.CAUSED))
    indexes = open_indexes()

    def check() -> None:
        # Before tables are read, once they are, and from them.
        for _ in range(2 * FEWEST_SEARCHES):
            with store.reading(scope) as work:
                view = indexes.view(work)
                for ids in (["m_bare", "m_1", "m_2"], ["m_4", "m_3", "m_none"], ["m_2", "m_3"], []):
                    assert view.first_passages(ids) == work.passages.first_numbers(ids)
                    assert view.authors_of(ids) == work.memories.authors_of(ids)

    check()
    with store.writing(scope) as work:
        work.memories.update(replace(work.memories.get("m_3"), superseded_at=START))
        work.memories.update(work.memories.get("m_bare"), [samples.chunk("m_bare", text="no longer bare")])
    check()
    with store.writing(scope) as work:
        work.memories.remove("m_1")
    check()


def test_ends_of_edges_are_read_once_and_only_while_they_are_few(
    store: Store, scope: Scope, open_indexes: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_memories(store, scope, ["m_1", "m_2"])
    with store.writing(scope) as work:
        work.edges.put(samples.edge("m_1", "m_2", kind=EdgeKind.SUPPORTS))
    with store.reading(scope) as work:
        edges = EdgeTable(work.edges.read_all(9) or [])
        standing = work.changes.standing()
        assert (set(edges.memory_ids), set(edges.disputed_ids)) == ({"m_1", "m_2"}, {"m_1", "m_2"})
        kept = KeptTables()
        *before, table = [kept.ends(standing, work, edges) for _ in range(FEWEST_SEARCHES)]
        assert set(before) == {None}
        assert kept.ends(standing, work, edges) is table is not None
        monkeypatch.setattr("assay.index.kept_tables.MOST_KEPT_ENDS", 3)
        few = KeptTables()
        assert {few.ends(standing, work, edges) for _ in range(FEWEST_SEARCHES)} == {None}


# --- Facts that lead on ---


def put_facts(store: Store, scope: Scope, **bodies: str) -> None:
    with store.writing(scope) as work:
        for memory_id, body in bodies.items():
            work.memories.add(note(memory_id, body=body), [samples.chunk(memory_id, text=body)])


def test_facts_lead_on_as_the_store_says(store: Store, scope: Scope) -> None:
    put_facts(
        store,
        scope,
        m_1="The owner of billing is Ada Swan.",
        m_2="The owner of search is Bob Crane.",
        m_3="The city of Ada Swan is Bergen.",
    )
    put_facts(store, Scope(tenant="other"), m_1="The city of Bob Crane is Oslo.")
    with store.reading(scope) as work:
        facts = work.facts.read_all(9)
        assert facts is not None
        assert len(facts) == work.facts.count()
        leads = FactTable(facts)
        for asked in (["billing"], ["search"], ["search", "billing"], ["ada swan"], ["unknown"], []):
            assert leads.may_lead_on(asked) == work.facts.may_lead_on(asked, most=50)
        assert leads.may_lead_on(["billing"])
        assert work.facts.read_all(3) is None, "facts of other tenants count, too"


def test_contested_memories_are_those_that_the_store_names(store: Store, scope: Scope) -> None:
    put_facts(
        store,
        scope,
        m_1="The owner of billing is Ada Swan.",
        m_2="The owner of billing is Bob Crane.",
        m_3="The city of Ada Swan is Bergen. The city of Ada Swan was Oslo.",
        m_4="The colour of the door is red.",
    )
    with store.writing(scope) as work:
        work.facts.settle([fact.topic for fact in work.facts.of_memories(["m_1"])])
    ids = ["m_1", "m_2", "m_3", "m_4"]
    with store.reading(scope) as work:
        facts = work.facts.read_all(9)
        assert facts is not None
        for asked in ([], *([one] for one in ids), ids, ids[1:], ["m_unknown", "m_4"]):
            assert FactTable(facts).find_contested(asked) == work.facts.find_contested(asked)
        assert work.facts.find_contested(ids[1:]) == set()
        assert work.facts.find_contested(ids[:1]) == {"m_1"}, "its fact has ended"
        assert work.facts.find_contested(ids) == {"m_1", "m_2"}


def test_a_fact_that_ends_is_counted(store: Store, scope: Scope) -> None:
    put_facts(store, scope, m_1="The owner of billing is Ada Swan.", m_2="The owner of billing is Bob Crane.")
    with store.writing(scope) as work:
        before = work.changes.standing().unlogged_writes
        assert work.facts.settle([fact.topic for fact in work.facts.of_memories(["m_1"])])
        assert work.changes.standing().unlogged_writes > before


def test_a_view_follows_facts_as_they_are_written(store: Store, scope: Scope, open_indexes: Opening) -> None:
    put_facts(store, scope, m_1="The owner of billing is Ada Swan.")
    indexes = open_indexes()
    for expected, memory_id, body in (
        (False, "m_2", "The owner of search is Bob Crane."),
        (True, "m_3", "The city of Ada Swan is Bergen."),
    ):
        put_facts(store, scope, **{memory_id: body})
        for _ in range(FEWEST_SEARCHES + 2):
            with store.reading(scope) as work:
                assert indexes.view(work).may_lead_on(["billing"], most=50) == expected


def test_facts_that_are_read_again_are_seen_although_the_log_does_not_tell(
    store: Store, scope: Scope, open_indexes: Opening
) -> None:
    put_facts(store, scope, m_1="The owner of billing is Ada Swan.", m_2="The city of Ada Swan is Bergen.")
    with store.writing(scope) as work:
        for memory_id in ("m_1", "m_2"):
            work.facts.remove(memory_id)
    indexes = open_indexes()
    for _ in range(FEWEST_SEARCHES + 2):
        with store.reading(scope) as work:
            assert not indexes.view(work).may_have_facts()
            assert not indexes.view(work).may_lead_on(["billing"], most=50)
    assert read_facts_again(store, scope, may_end=True, version="another") is not None
    with store.reading(scope) as work:
        assert indexes.view(work).may_have_facts()
        assert indexes.view(work).may_lead_on(["billing"], most=50)
