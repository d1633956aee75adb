"""Moving a store: every row of every tenant, verified, all or nothing, and the same hits before and after."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import text
from tests.storage import samples
from tests.storage.homes import TEMPLATE_SCHEMA, Home, PostgresServer, copied_database, raw
from tests.truth import lifetime
from tests.truth.probing import Stage

from assay import Memory
from assay.access import Access, StoredTokens, Tokens
from assay.errors import InputError, MoveFailed, SchemaTooOld, StoreNotFound, TargetNotEmpty
from assay.records import Scope
from assay.storage import Place, Store, StoreMove, move_store, open_store
from assay.storage.repositories import whole_tables
from assay.testing import FixedClock, HashedEmbedder

OTHER = Scope(tenant="blue", principal="bob")
QUESTIONS = ("Which lift goes to the roof?", "breakfast hours", "parking for an electric car", "luggage room")
MANY_DOCUMENTS = 24
RARE = {
    "learning_evidence",
    "model_replies",
    "model_accounts",
    "model_reservations",
    "leases",
    "shared_limits",
    "live_questions",
    "live_events",
    "memory_votes",
    "eval_shadow_runs",
    "judge_inputs",
    "judge_verdicts",
    "judge_calibrations",
}
"""Tables that a store without a model, or with one process, may live without."""


def place_of(home: Home) -> Place:
    return Place(address=home.address, options=home.options)


def move(source: Home, target: Home, **given: Any) -> StoreMove:
    scope = Scope(tenant="acme", principal="ada")
    return move_store(place_of(source), place_of(target), scope=scope, clock=source.clock, **given)


@pytest.fixture
def file_home(tmp_path: Path, clock: FixedClock) -> Iterator[Home]:
    home = Home(str(tmp_path / "source.db"), clock)
    yield home
    home.close()


@pytest.fixture
def target_home(tmp_path: Path, clock: FixedClock) -> Iterator[Home]:
    home = Home(str(tmp_path / "target.db"), clock)
    yield home
    home.close()


@pytest.fixture
def server_home(postgres: PostgresServer, postgres_template: str, tmp_path: Path, clock: FixedClock) -> Iterator[Home]:
    with copied_database(postgres, postgres_template) as address:
        home = Home(address, clock, postgres_schema=TEMPLATE_SCHEMA, checkpoint_folder=tmp_path / "checkpoints")
        yield home
        home.close()


def fill(store: Store, scope: Scope) -> None:
    """Keep awkward rows of two tenants, delete one, and make a token."""
    with store.writing(scope) as work:
        work.memories.add(samples.memory(body=samples.AWKWARD), samples.chunks("m_full", 2))
        work.memories.add_many([samples.embedded("m_1", "a first passage", "a second one"), samples.embedded("m_2")])
        work.edges.put(samples.edge("m_1", "m_2"))
        work.queries.add_many([samples.full_query(), samples.query("q_1")])
        work.judgments.put_many([samples.judgment()])
        work.results.add(samples.full_result())
        work.ab_tests.put(samples.full_ab_test())
        work.shadow_runs.add_many([samples.full_shadow_run()])
    with store.writing(OTHER) as work:
        work.memories.add_many([samples.embedded("m_1", "of another tenant"), samples.embedded("m_gone")])
        work.memories.remove("m_gone")


def tables_of(store: Store) -> dict[str, list[Any]]:
    """Every row of a store, but its epoch and the note about a move."""
    with store._backend.reading() as connection:
        found = {
            name: [row for batch in whole_tables.read_rows(connection, name) for row in batch]
            for name in whole_tables.NAMES
        }
    found["meta"] = [row for row in found["meta"] if row[0] != "epoch"]
    found["audit"] = [row for row in found["audit"] if "store.moved" not in row]
    return found


def counters_of(store: Store) -> dict[str, int]:
    with store._backend.reading() as connection:
        return whole_tables.read_counters(connection)


def test_everything_is_the_same_on_postgresql_and_back(
    file_home: Home, server_home: Home, target_home: Home, scope: Scope
) -> None:
    store = file_home.open()
    fill(store, scope)
    token = Tokens(store, file_home.clock).create(scope, name="ci", access=Access.READ)
    before = tables_of(store)
    last = counters_of(store)
    store.close()
    file = hashlib.sha256(Path(file_home.address).read_bytes()).hexdigest()

    there = move(file_home, server_home)
    assert hashlib.sha256(Path(file_home.address).read_bytes()).hexdigest() == file
    moved = server_home.open()
    assert tables_of(moved) == before
    assert moved.problems() == []
    assert StoredTokens(moved, file_home.clock).grant(token.text) is not None

    back = move(server_home, target_home)
    returned = target_home.open()
    after = tables_of(returned)
    assert after == before
    assert returned.problems() == []
    assert there.audit_chains == {"acme": True, "default": True}
    assert [table for table in there.tables if table.name not in ("audit", "meta")] == [
        table for table in back.tables if table.name not in ("audit", "meta")
    ]
    for opened in (moved, returned):
        # The number of the removed memory is not given again.
        with opened.writing(OTHER) as work:
            work.memories.add_many([samples.embedded("m_new")])
        found = counters_of(opened)
        assert (found["memories"], found["chunks"]) == (last["memories"] + 1, last["chunks"] + 1)


def test_the_bundled_dataset_is_found_alike_on_both(
    file_home: Home, server_home: Home, clock: FixedClock, tmp_path: Path
) -> None:
    documents = sorted(Path(str(files("assay") / "datasets/hotel/entities")).rglob("*.*"))[:MANY_DOCUMENTS]
    embedder = HashedEmbedder()
    with Memory(file_home.address, embedder=embedder, clock=clock, index_folder=tmp_path / "first") as memory:
        memory.ingest(*documents)
        before = [[(hit.memory_id, hit.score) for hit in memory.search(query, k=5)] for query in QUESTIONS]
        memory.engine.store.log.flush()
    move(file_home, server_home)
    with Memory(
        server_home.address,
        embedder=embedder,
        clock=clock,
        postgres_schema=server_home.options.postgres_schema,
        index_folder=tmp_path / "second",
    ) as memory:
        after = [[(hit.memory_id, hit.score) for hit in memory.search(query, k=5)] for query in QUESTIONS]
    assert all(hits for hits in before)
    assert [[memory_id for memory_id, _ in hits] for hits in after] == [
        [memory_id for memory_id, _ in hits] for hits in before
    ]
    for first, second in zip(before, after, strict=True):
        assert [score for _, score in second] == pytest.approx([score for _, score in first], abs=1e-3)


def test_a_target_with_rows_is_refused_and_left_alone(file_home: Home, target_home: Home, scope: Scope) -> None:
    fill(file_home.open(), scope)
    there = target_home.open()
    with there.writing(scope) as work:
        work.memories.add(samples.memory("m_kept"))
    before = tables_of(there)
    with pytest.raises(TargetNotEmpty, match="memories"):
        move(file_home, target_home)
    with pytest.raises(TargetNotEmpty, match="memories"):
        move(file_home, target_home, dry_run=True)
    assert tables_of(there) == before
    done = move(file_home, target_home, replace_rows=True)
    assert there.checkpoints.list()[-1].id == done.checkpoint
    assert [row[2] for row in tables_of(there)["memories"]] == ["m_full", "m_1", "m_2", "m_1"]


def test_a_failure_leaves_the_target_as_it_was(file_home: Home, target_home: Home, scope: Scope) -> None:
    fill(file_home.open(), scope)
    counted = move(file_home, target_home, dry_run=True)
    assert counted.count("memories") == 4
    assert counted.count("vectors") == counted.count("words") - 2 == 4
    assert not Path(target_home.address).exists(), "a dry run writes nothing"

    def fail(done: int, total: int, what: str) -> None:
        if what == "checking memories":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        move(file_home, target_home, on_rows=fail)
    with target_home.open()._backend.reading() as connection:
        assert whole_tables.count_rows(connection)["memories"] == 0
    assert move(file_home, target_home).count("memories") == 4


def test_a_copy_that_differs_is_refused(file_home: Home, target_home: Home, scope: Scope) -> None:
    fill(file_home.open(), scope)
    with open_store(target_home.address, clock=file_home.clock) as made, raw(made) as connection:
        # Something on the target's side changes what is written.
        spoil = "UPDATE memories SET title = 'spoilt' WHERE number = new.number"
        connection.execute(text(f"CREATE TRIGGER spoiling AFTER INSERT ON memories BEGIN {spoil}; END"))
    with pytest.raises(MoveFailed, match="memories"):
        move(file_home, target_home)


def test_rows_that_others_write_meanwhile_are_told_and_not_moved(
    file_home: Home, target_home: Home, scope: Scope
) -> None:
    store = file_home.open()
    fill(store, scope)
    # A store that `assay init` made and set up counts as empty.
    with target_home.open().writing(scope) as work:
        work.audit.append("flag.activate", "reconsolidation", {})
    target_home.close()
    written: list[str] = []

    def write(done: int, total: int, what: str) -> None:
        if not written:
            with store.writing(scope) as work:
                work.memories.add(samples.memory("m_late"))
            written.append(what)

    done = move(file_home, target_home, on_rows=write)
    assert "memories" in done.changed_meanwhile
    with target_home.open().reading(scope) as work:
        assert [memory.id for memory in work.memories.page()] == ["m_1", "m_2", "m_full"]


def test_places_that_cannot_be_moved_are_refused(file_home: Home, target_home: Home, scope: Scope) -> None:
    with pytest.raises(StoreNotFound):
        move(file_home, target_home)
    store = file_home.open()
    with pytest.raises(InputError, match="is the source and the target"):
        move(file_home, file_home)
    with raw(store) as connection:
        connection.execute(text("UPDATE schema_version SET version_num = '0023'"))
    with pytest.raises(SchemaTooOld):
        move(file_home, target_home)


@pytest.mark.slow
def test_every_table_of_a_store_that_has_lived_is_moved(postgres: PostgresServer, clock: FixedClock) -> None:
    with stage_of() as stage:
        lived = Home(str(lifetime.live(stage)), clock)
        folder = stage.new_folder()
        server = Home(
            postgres.address, clock, postgres_schema=f"t_{uuid4().hex[:12]}", checkpoint_folder=folder / "checkpoints"
        )
        before = tables_of(lived.open())
        assert {name for name, rows in before.items() if not rows} <= RARE
        move(lived, server)
        assert tables_of(server.open()) == before
        returned = Home(str(folder / "back.db"), clock)
        move(server, returned)
        assert tables_of(returned.open()) == before
        for home in (lived, server, returned):
            home.close()


@contextmanager
def stage_of() -> Iterator[Stage]:
    stage = Stage()
    try:
        yield stage
    finally:
        stage._opened.close()
