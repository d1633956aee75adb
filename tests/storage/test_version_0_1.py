"""A store of Assay 0.1 opens, is migrated with all it holds, and searches find what they found in 0.1.

`version_0_1/make.py` made the fixtures with the code of 0.1. Do not record the hits anew when this test fails: a
change of ranking that is intended is named in the changelog, and the searches it concerns are listed here.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import inspect
from tests.storage.homes import PostgresServer
from tests.storage.version_0_1.make import SEARCHED_AT, WAYS, open_memory

from assay import Memory, Research
from assay.evaluation.lookup import Lookup
from assay.evaluation.reporting import gather, write_report
from assay.memory.searching import SearchOptions
from assay.records import EdgeKind, MemoryStatus, Mode
from assay.storage.schema import CURRENT, revision
from assay.storage.tables import metadata
from assay.testing import FixedClock

OLD = Path(__file__).parent / "version_0_1"
RECORDED: dict[str, Any] = json.loads((OLD / "hits.json").read_text(encoding="utf-8"))
MEMORIES = {MemoryStatus.CURRENT: 26, MemoryStatus.SUPERSEDED: 3, MemoryStatus.QUARANTINED: 1}
"""How many memories of each status 0.1 had when the fixtures were made."""


@pytest.fixture(params=["sqlite", "postgres"])
def old_store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store as 0.1 left it."""
    script = (OLD / f"{request.param}.sql").read_text(encoding="utf-8")
    if request.param == "sqlite":
        path = tmp_path / "notes.db"
        connection = sqlite3.connect(path)
        connection.executescript(script)
        connection.close()
        return str(path)
    server: PostgresServer = request.getfixturevalue("postgres")
    database = f"old_{uuid4().hex[:12]}"
    server.run(f"CREATE DATABASE {database}")
    server.run("CREATE EXTENSION vector SCHEMA public", script, database=database)
    return server.address_of(database)


@pytest.fixture
def memory(old_store: str) -> Iterator[Memory]:
    """The old store, opened by today's code a month after it was written."""
    with open_memory(old_store, FixedClock(SEARCHED_AT)) as memory:
        yield memory


def test_an_old_store_is_brought_to_the_newest_schema(memory: Memory) -> None:
    store = memory.engine.store
    with store._backend.reading() as connection:
        assert revision(connection) == CURRENT.newest
        look = inspect(connection)
        for table in metadata.sorted_tables:
            assert {column["name"] for column in look.get_columns(table.name)} == {*table.columns.keys()}, table.name
    assert store.problems() == []
    assert store.foreign_code() == []
    with store.reading(memory.scope) as work:
        assert work.audit.check().is_whole


def test_searches_of_an_old_store_find_what_they_found_in_version_0_1(memory: Memory) -> None:
    recorded = RECORDED[memory.engine.store.backend_name]
    assert len(recorded) == len(RECORDED["questions"]) * len(WAYS)
    # Tiers moved no result in 0.1, intents set weights, and full text was asked for every question.
    memory.set_flag("tier_boost", 0)
    memory.set_flag("adaptive_fusion", 100)
    searcher = memory.engine.searcher
    memory.engine.searcher = searcher.with_options(replace(SearchOptions(), full_text_always=True))
    differing = {}
    compared = 0
    for number, question in enumerate(RECORDED["questions"]):
        for way, arguments in WAYS.items():
            found = memory.search(question, k=5, **arguments)
            if found.mode is Mode.DEEP:
                # Deep mode expands and spreads by other rules since.
                continue
            compared += 1
            hits = [[hit.memory_id, round(hit.score, 9)] for hit in found.hits]
            if hits != recorded[f"{way} {number}"]:
                differing[way, question] = {"in 0.1": recorded[f"{way} {number}"], "now": hits}
    assert differing == {}
    assert compared > len(recorded) / 2


def test_without_full_text_the_first_result_of_a_question_is_that_of_version_0_1(memory: Memory) -> None:
    recorded = RECORDED[memory.engine.store.backend_name]
    memory.set_flag("tier_boost", 0)
    for number, question in enumerate(RECORDED["questions"]):
        found = memory.search(question, k=5)
        if found.mode is not Mode.DEEP:
            assert found.hits[0].memory_id == recorded[f"auto {number}"][0][0], question


def test_everything_in_an_old_store_can_be_read(memory: Memory) -> None:
    assert {status: memory.list(status=status).total for status in MEMORIES} == MEMORIES
    first = RECORDED[memory.engine.store.backend_name]["auto 0"][0][0]
    shown = memory.show(first)
    assert shown.memory.title == "Decision: every outgoing money call carries an idempotency key"
    assert {edge.edge.kind for edge in shown.edges} == {EdgeKind.CAUSED, EdgeKind.ENABLED, EdgeKind.DERIVED_FROM}
    research = Research(memory, builtin=True)
    (asked,) = research.sessions().sessions
    assert research.get(asked.log_id).session.question == "Why does the storefront render on the server?"
    with memory.engine.store.reading(memory.scope) as work:
        (token,) = work.access_tokens.all()
    assert (token.name, token.person) == ("deploy", False)


def test_an_old_store_takes_new_memories_and_updates(memory: Memory) -> None:
    first = RECORDED[memory.engine.store.backend_name]["auto 0"][0][0]
    updated = memory.update(first, body="Every request that moves money carries an idempotency key from today on.")
    assert updated.memory_id is not None
    assert updated.superseded == (first,)
    assert memory.search("idempotency key").hits[0].memory_id == updated.memory_id
    assert memory.engine.store.problems() == []


def test_a_run_of_version_0_1_is_read_and_reported_with_the_metrics_it_named(tmp_path: Path) -> None:
    written = json.loads((OLD / "run" / "result.json").read_text(encoding="utf-8"))
    shutil.copytree(OLD / "run", tmp_path / "runs" / written["run_id"])
    place = Lookup(runs=tmp_path / "runs")
    reading = place.run("from-0.1")
    assert reading.metrics == ("recall@5", "acknowledge_both")
    assert reading.mean("recall@5") == written["metrics"]["recall@5"]["value"]
    assert reading.mean("acknowledge_both") is None
    assert not reading.sealed
    report = gather(place.result("from-0.1"))
    _, text, *_ = write_report(report, tmp_path / "report", html=True)
    assert "recall@5" in text.read_text(encoding="utf-8")
