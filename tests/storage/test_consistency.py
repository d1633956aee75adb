"""Every promise the tables keep among each other is broken once, by hand, and noticed."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text
from tests.storage import samples
from tests.storage.homes import raw

from assay.records import Scope
from assay.storage import Store, consistency, open_store
from assay.testing import FixedClock, note

ACME = Scope(tenant="acme")

BREAKAGES = {
    "chunk without its memory": (
        "DELETE FROM memories WHERE id = 'm_1'",
        ["m_1#0", "m_1#1"],
    ),
    "memory whose chunks are not numbered from 0 without gaps": (
        "DELETE FROM chunks WHERE memory_id = 'm_1' AND position = 0",
        ["m_1"],
    ),
    "edge without one of its ends": (
        "UPDATE edges SET target_id = 'm_gone'",
        ["m_1 supports m_gone"],
    ),
    "memory that the change log does not know, or knows as deleted": (
        "DELETE FROM changes WHERE row_id = 'm_1'",
        ["m_1"],
    ),
    "chunk that the change log does not know, or knows as deleted": (
        "UPDATE changes SET operation = 'delete' WHERE row_id = 'm_1#0'",
        ["m_1#0"],
    ),
    "deleted memory that the change log believes alive": (
        "UPDATE changes SET operation = 'update' WHERE row_id = 'm_3' AND operation = 'delete'",
        ["m_3"],
    ),
    "deleted chunk that the change log believes alive": (
        "DELETE FROM changes WHERE row_id = 'm_3#0' AND operation = 'delete'",
        ["m_3#0"],
    ),
    "chunk without its words": (
        "DELETE FROM passages_fts WHERE rowid = 1",
        ["m_1#0"],
    ),
    "words without their chunk": (
        "INSERT INTO passages_fts (rowid, body) VALUES (99, 'stray')",
        ["99"],
    ),
    "vector without its chunk": (
        "UPDATE vectors SET number = 99",
        ["99"],
    ),
    "query whose result count differs from its list": (
        "UPDATE eval_queries SET result_count = 2 WHERE query_id = 'q_1'",
        ["q_1"],
    ),
    "candidates without their query": (
        "UPDATE eval_candidates SET query_id = 'q_gone' WHERE channel = 'lexical'",
        ["q_gone"],
    ),
    "store without an epoch": (
        "DELETE FROM meta WHERE key = 'epoch'",
        ["meta"],
    ),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which every promise has something to hold."""
    path = tmp_path_factory.mktemp("consistency") / "notes.db"
    with open_store(path, clock=FixedClock()) as store:
        fill(store)
        assert store.problems() == []
    return path


def fill(store: Store) -> None:
    with store.writing(ACME) as work:
        for one in ("m_1", "m_2", "m_3"):
            work.memories.add(note(one), samples.chunks(one, 2))
        work.memories.add_many([samples.embedded("m_4", triggers=("roll back", "Roll-Back", "two"))])
        work.edges.put(samples.edge("m_1", "m_2"))
        work.memories.remove("m_3")
        work.queries.add_many(
            [samples.full_query("q_1"), samples.query("q_2"), samples.query("q_3", result_ids=["m_1"])]
        )


def broken(whole: Path, tmp_path: Path, statement: str) -> Store:
    """A private copy, broken behind the back of every constraint."""
    path = tmp_path / "broken.db"
    shutil.copyfile(whole, path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        assert connection.execute(statement).rowcount > 0
        connection.commit()
    return open_store(path, clock=FixedClock())


def test_every_promise_is_broken_below() -> None:
    assert set(BREAKAGES) == set(consistency._QUESTIONS)


@pytest.mark.parametrize("promise", BREAKAGES)
def test_a_broken_promise_is_reported_with_the_offender(whole: Path, tmp_path: Path, promise: str) -> None:
    statement, offenders = BREAKAGES[promise]
    with broken(whole, tmp_path, statement) as store:
        found = store.problems()
    assert sorted(problem for problem in found if problem.startswith(promise)) == [
        f"{promise}: {offender}" for offender in offenders
    ]


def test_a_chunk_the_log_never_heard_of_is_named(whole: Path, tmp_path: Path) -> None:
    with broken(whole, tmp_path, "DELETE FROM changes WHERE row_id = 'm_2#1'") as store:
        assert store.problems() == ["chunk that the change log does not know, or knows as deleted: m_2#1"]


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        (
            "DELETE FROM memory_triggers WHERE phrase = 'two'",
            "trigger that cannot be looked up: m_4 'two'",
        ),
        (
            "INSERT INTO memory_triggers (tenant, memory_id, phrase) VALUES ('acme', 'm_1', 'stray')",
            "trigger to look up that no memory has: m_1 'stray'",
        ),
    ],
)
def test_trigger_phrases_are_those_of_the_memories(whole: Path, tmp_path: Path, statement: str, problem: str) -> None:
    with broken(whole, tmp_path, statement) as store:
        assert store.problems() == [problem]


def test_only_the_first_few_offenders_are_shown(whole: Path, tmp_path: Path) -> None:
    with open_store(tmp_path / "many.db", clock=FixedClock()) as store:
        with store.writing(ACME) as work:
            for number in range(2 * consistency.LIMIT):
                work.memories.add(note(f"m_{number}"))
        with raw(store) as connection:
            connection.execute(text("DELETE FROM changes"))
        assert len(store.problems()) == consistency.LIMIT


def test_every_tenant_is_looked_at(store: Store) -> None:
    for tenant in ("one", "two"):
        with store.writing(Scope(tenant=tenant)) as work:
            work.memories.add(note(f"m_{tenant}"))
    with raw(store) as connection:
        connection.execute(text("DELETE FROM changes"))
    promise = "memory that the change log does not know, or knows as deleted"
    assert sorted(store.problems()) == [f"{promise}: m_one", f"{promise}: m_two"]


def test_a_whole_store_has_no_problems_on_either_back_end(store: Store) -> None:
    assert store.problems() == []
    fill(store)
    assert store.problems() == []


def test_what_was_trimmed_from_the_log_is_no_problem(store: Store) -> None:
    fill(store)
    with store.writing(ACME) as work:
        work.changes.trim(work.changes.position().seq)
    assert store.problems() == []
    with store.writing(ACME) as work:
        work.memories.remove("m_1")
        work.memories.add(note("m_5"), samples.chunks("m_5", 1))
    assert store.problems() == []


def test_the_questions_are_understood_by_both_back_ends_when_something_is_wrong(store: Store) -> None:
    fill(store)
    with raw(store) as connection:
        for statement in ("UPDATE eval_queries SET result_count = 9", "DELETE FROM meta WHERE key = 'epoch'"):
            connection.execute(text(statement))
        connection.execute(text("UPDATE changes SET operation = 'delete'"))
    found = {problem.split(":")[0] for problem in store.problems()}
    assert found == {
        "memory that the change log does not know, or knows as deleted",
        "chunk that the change log does not know, or knows as deleted",
        "query whose result count differs from its list",
        "store without an epoch",
    }


def test_the_database_refuses_a_vector_of_another_length(whole: Path, tmp_path: Path) -> None:
    shutil.copy(whole, tmp_path / "copy.db")
    connection = sqlite3.connect(tmp_path / "copy.db")
    with pytest.raises(sqlite3.IntegrityError, match="vector_has_its_dimension"):
        connection.execute("UPDATE vectors SET dimension = dimension + 1")
    connection.close()
