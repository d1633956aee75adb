"""The schema: made from nothing, brought forward with its data, or left exactly as it was."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect, text
from tests.storage import samples
from tests.storage.homes import BOUND_S, Home, raw

from assay.errors import AssayError, BadValue, MigrationFailed, SchemaChanged, SchemaTooNew, SchemaTooOld, StoreCorrupt
from assay.records import IdFactory, Scope
from assay.records.access import FileKind
from assay.records.research_log import QuestionOutcome, ResearchFilter, ResearchSession
from assay.storage import Store, open_store, schema
from assay.storage.backend import WriteLock
from assay.storage.migrations import older_stores
from assay.storage.postgres import PostgresBackend, prepare_schema, read_url
from assay.storage.repositories.base import EPOCH
from assay.storage.repositories.month_partitions import MONTHLY, other_of
from assay.storage.repositories.research import as_json, totals_of
from assay.storage.rows import insert, to_row
from assay.storage.schema import CURRENT, Schema
from assay.storage.sqlite import APPLICATION_ID, SqliteBackend, prepare_file
from assay.storage.tables import metadata, research_days, research_sessions
from assay.storage.work import Work
from assay.testing import FixedClock, note

VERSIONS = sorted(file.name.split("_")[0] for file in (CURRENT.scripts / "versions").glob("*.py"))
OLDER = [schema.OLDEST, *list(older_stores.STEPS)[:-1]]
"""Revisions of 0.1 and after it, from before the steps were made into one."""

NEXT = f"""
from alembic import op
import sqlalchemy as sa

revision = "9001"
down_revision = "{CURRENT.newest}"
branch_labels = None
depends_on = None


def upgrade():
    op.create_table("later", sa.Column("id", sa.Text, primary_key=True))
    op.add_column("memories", sa.Column("mood", sa.Text, nullable=True))
    op.execute("UPDATE memories SET title = 'touched'")
"""
FAILING = NEXT + "    raise RuntimeError('the disk of the moon is full')\n"


@pytest.fixture
def home(empty_home: Home) -> Home:
    """Nothing is there yet: making a store is what is tested."""
    return empty_home


def scripts(folder: Path, step: str) -> Schema:
    """Today's migrations and one more."""
    shutil.copytree(CURRENT.scripts, folder / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "scripts" / "versions" / "9001_next.py").write_text(step, encoding="utf-8")
    return Schema(scripts=folder / "scripts", newest="9001")


def open_with(home: Home, wanted: Schema) -> Store:
    return open_store(home.address, clock=home.clock, options=home.options, schema=wanted)


def fill(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add(samples.memory("m_1"), samples.chunks("m_1", 2))
        work.memories.add(note("m_2"))
        work.edges.put(samples.edge("m_1", "m_2"))
        work.queries.add_many([samples.full_query("q_1")])
        work.results.add(samples.full_result())


def check(store: Store, scope: Scope) -> None:
    with store.reading(scope) as work:
        assert work.memories.get("m_1") == samples.memory("m_1")
        assert work.memories.chunks_of("m_1") == samples.chunks("m_1", 2)
        assert work.edges.of("m_2") == [samples.edge("m_1", "m_2")]
        assert work.queries.get("q_1") == samples.full_query("q_1")
        assert work.results.latest() == [samples.full_result()]
    assert store.problems() == []


def state(store: Store) -> dict[str, list[str]]:
    """Every table with its columns, and the version."""
    with store._backend.reading() as connection:
        look = inspect(connection)
        tables = {name: sorted(column["name"] for column in look.get_columns(name)) for name in look.get_table_names()}
        return {**tables, "version": [str(schema.revision(connection))]}


@contextmanager
def bare(home: Home) -> Iterator[Connection]:
    """A writing connection to a place with no schema yet, as `opening` prepares it."""
    if home.backend == "sqlite":
        path = Path(home.address)
        prepare_file(path, create=True)
        file = SqliteBackend(path, lock=WriteLock(path, clock=home.clock, timeout_s=BOUND_S), readers=1)
        with file.writing() as connection:
            connection.execute(text(f"PRAGMA application_id = {APPLICATION_ID}"))
            yield connection
        file.close()
    else:
        name = home.options.postgres_schema
        server = PostgresBackend(read_url(home.address), schema=name, readers=1, lock_timeout_s=BOUND_S)
        with server.writing("(schema)") as connection:
            prepare_schema(server, connection)
            yield connection
        server.close()


def test_the_newest_version_is_the_last_file() -> None:
    assert VERSIONS[-1] == CURRENT.newest


def test_the_first_version_follows_the_steps_of_older_stores() -> None:
    assert VERSIONS[0] == schema.FIRST == list(older_stores.STEPS)[-1]
    assert sorted(OLDER) == OLDER
    assert OLDER[-1] < schema.FIRST


def test_every_version_follows_the_one_before() -> None:
    files = sorted((CURRENT.scripts / "versions").glob("*.py"))
    for before, file in zip([None, *VERSIONS], files, strict=False):
        content = file.read_text(encoding="utf-8")
        assert f'revision = "{file.name.split("_")[0]}"' in content
        assert f"down_revision = {before and chr(34) + before + chr(34)}" in content


def test_a_new_store_has_exactly_the_tables_and_columns_that_queries_see(store: Store) -> None:
    with store._backend.reading() as connection:
        look = inspect(connection)
        # Words of passages are written and read by SQL of their own; months are parts of tables.
        others = {other_of(table) for table in MONTHLY}
        made = {name for name in look.get_table_names() if not name.startswith(("passages_", "passage_stem"))} - others
        assert made == {*metadata.tables, schema.VERSION_TABLE}
        for table in metadata.sorted_tables:
            there = {
                column["name"]: column["type"].compile(connection.dialect) for column in look.get_columns(table.name)
            }
            seen = {column.name: column.type.compile(connection.dialect) for column in table.columns}
            assert there == seen, table.name
            keys = {column.name for column in table.primary_key}
            if store.backend_name == "postgres" and table.name in MONTHLY:
                # The key of a table in months holds what they are divided by.
                keys.add("query_id")
            assert set(look.get_pk_constraint(table.name)["constrained_columns"]) == keys


def test_every_text_is_ordered_by_bytes(store: Store) -> None:
    """No locale of the machine decides: PostgreSQL says so of each column, SQLite knows no other order."""
    if store.backend_name == "sqlite":
        asked = "SELECT sql FROM sqlite_master WHERE sql LIKE '%COLLATE%'"
    else:
        asked = """
            SELECT c.relname || '.' || a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
            JOIN pg_collation o ON o.oid = a.attcollation
            WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND a.attnum > 0
              AND o.collname <> 'C' AND c.relname <> 'schema_version'"""
    with store._backend.reading() as connection:
        assert connection.execute(text(asked)).scalars().all() == []


def test_every_table_of_sqlite_is_strict(tmp_path: Path, clock: FixedClock) -> None:
    with open_store(tmp_path / "notes.db", clock=clock) as store, store._backend.reading() as connection:
        asked = text(
            "SELECT name FROM pragma_table_list"
            " WHERE schema = 'main' AND type = 'table' AND strict = 0 AND name NOT LIKE 'sqlite%'"
        )
        assert connection.execute(asked).scalars().all() == [schema.VERSION_TABLE]


def test_opening_again_runs_no_step_and_keeps_everything(home: Home, scope: Scope) -> None:
    with home.open() as store:
        fill(store, scope)
        before = state(store)
    store = home.open()
    assert state(store) == before
    check(store, scope)
    with store.reading(Scope()) as work:
        assert len(work.audit.entries()) == 1


@pytest.mark.parametrize("version", [*OLDER, *VERSIONS])
def test_every_past_version_is_brought_to_the_newest_with_its_data(home: Home, scope: Scope, version: str) -> None:
    with bare(home) as connection:
        steps = schema.upgrade(connection, "here", Schema(scripts=CURRENT.scripts, newest=version))
        assert steps == ([version] if version in OLDER else VERSIONS[: VERSIONS.index(version) + 1])
        assert schema.revision(connection) == version
        # Written as that version knew it: columns that came later have defaults or are no part of it.
        Work(connection, scope, home.clock).meta.put(EPOCH, IdFactory(home.clock).new("ep"))
        connection.execute(
            text(
                "INSERT INTO audit (tenant, action, target, actor, at, detail)"
                " VALUES (:tenant, 'past.written', :version, 'ada', '2026-01-05T09:00:00.000000Z', '{}')"
            ),
            {"tenant": scope.tenant, "version": version},
        )
    store = home.open()
    with store.reading(scope) as work:
        assert [line.target for line in work.audit.entries()] == [version]
    fill(store, scope)
    check(store, scope)
    assert state(store)["version"] == [CURRENT.newest]


def structure(store: Store) -> dict[str, tuple[object, ...]]:
    """Columns, keys, references, unique constraints, checks and indexes of every table, in no order of their own."""
    with store._backend.reading() as connection:
        look = inspect(connection)
        return {
            table: (
                {(column["name"], str(column["type"]), column["nullable"]) for column in look.get_columns(table)},
                *(
                    sorted(json.dumps(item, default=str, sort_keys=True) for item in ask(table))
                    for ask in (
                        look.get_foreign_keys,
                        look.get_unique_constraints,
                        look.get_check_constraints,
                        look.get_indexes,
                    )
                ),
            )
            for table in look.get_table_names()
            if not table.startswith("passages_fts")
        }


@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection")  # of the one index on an expression
@pytest.mark.parametrize("version", OLDER)
def test_a_store_that_was_brought_forward_has_the_tables_of_a_new_one(home: Home, version: str) -> None:
    with bare(home) as connection:
        schema.upgrade(connection, "here", Schema(scripts=CURRENT.scripts, newest=version))
        assert "login_sessions" not in inspect(connection).get_table_names()
    if home.backend == "sqlite":
        new = Home(f"{home.address}.new", home.clock)
    else:
        new = Home(home.address, home.clock, postgres_schema=f"{home.options.postgres_schema}_new")
    assert structure(home.open()) == structure(new.open())
    new.close()


@pytest.mark.parametrize("version", ["0001", "0007"])
def test_a_store_older_than_version_0_1_is_refused_and_untouched(home: Home, version: str) -> None:
    with home.open() as store, raw(store) as connection:
        connection.execute(text(f"UPDATE {schema.VERSION_TABLE} SET version_num = '{version}'"))
    before = fingerprint(home)
    with pytest.raises(SchemaTooOld, match=version) as refused:
        home.open()
    assert "0.1" in refused.value.remedy
    assert fingerprint(home) == before


def test_runs_of_an_old_store_get_the_tenant_of_their_results_as_owner(home: Home) -> None:
    with bare(home) as connection:
        schema.upgrade(connection, "here", Schema(scripts=CURRENT.scripts, newest="0010"))
        for tenant, run_id in (("alpha", "run_1"), ("alpha", "run_2"), ("alpha", "run_2"), ("beta", "run_3")):
            mine = Work(connection, Scope(tenant=tenant), home.clock)
            mine.meta.put(EPOCH, IdFactory(home.clock).new("ep"))
            mine.results.add(samples.result(run_id=run_id))
    store = home.open()
    with store.reading(Scope(tenant="gamma")) as work:
        found = work.owned_files.owners(FileKind.RUN, ["run_1", "run_2", "run_3", "run_4"])
    assert found == {"run_1": {"alpha"}, "run_2": {"alpha"}, "run_3": {"beta"}}
    with store.reading(Scope(tenant="beta")) as work:
        [kept] = work.owned_files.all(FileKind.RUN)
    assert (kept.principal, kept.created_at) == ("", samples.result().created_at)


def test_questions_of_an_old_store_have_no_outcome_and_are_counted_beside_new_ones(home: Home, scope: Scope) -> None:
    old = ResearchSession(log_id="r_old", created_at=samples.AT, question="before")
    new = replace(old, log_id="r_new", question="after", outcome=QuestionOutcome.ANSWERED)
    with bare(home) as connection:
        schema.upgrade(connection, "here", Schema(scripts=CURRENT.scripts, newest="0013"))
        Work(connection, scope, home.clock).meta.put(EPOCH, IdFactory(home.clock).new("ep"))
        row = {**to_row(old, research_sessions), "tenant": scope.tenant, "custom_scores": {}}
        row.pop("outcome")
        connection.execute(insert(connection, research_sessions).values(row))
        kept = as_json(totals_of(old))
        kept.pop("outcomes")
        day = {"tenant": scope.tenant, "day": samples.AT.date().isoformat(), "totals": kept}
        connection.execute(insert(connection, research_days).values(day))
    store = home.open()
    with store.writing(scope) as work:
        assert work.research.page().sessions == (old,)
        assert work.research.totals().outcomes == {}
        work.research.put(new, {})
    with store.reading(scope) as work:
        totals = work.research.totals()
        assert (totals.sessions, totals.outcomes) == (2, {QuestionOutcome.ANSWERED: 1})
        assert work.research.page(ResearchFilter(outcome=QuestionOutcome.ANSWERED)).sessions == (new,)
    with pytest.raises(BadValue, match="outcome_is_known"), raw(store) as connection:
        connection.execute(text("UPDATE research_sessions SET outcome = 'excellent'"))


def test_an_old_store_is_brought_forward_with_all_it_holds(home: Home, scope: Scope, tmp_path: Path) -> None:
    with home.open() as store:
        fill(store, scope)
        before = state(store)
    with open_with(home, scripts(tmp_path, NEXT)) as store:
        after = state(store)
        with store.reading(scope) as work:
            assert [memory.title for memory in work.memories.page()] == ["touched", "touched"]
            assert work.memories.chunks_of("m_1") == samples.chunks("m_1", 2)
        with store.reading(Scope()) as work:
            assert work.audit.entries()[0].detail == {"steps": ["9001"]}
    assert after["version"] == ["9001"]
    assert set(after) - set(before) == {"later"}
    assert set(after["memories"]) - set(before["memories"]) == {"mood"}


def test_a_step_that_fails_leaves_the_old_store_whole_and_working(home: Home, scope: Scope, tmp_path: Path) -> None:
    with home.open() as store:
        fill(store, scope)
        before = state(store)
    with pytest.raises(MigrationFailed, match="the disk of the moon is full") as failed:
        open_with(home, scripts(tmp_path, FAILING))
    assert "9001" in failed.value.message
    assert failed.value.remedy
    store = home.open()
    assert state(store) == before
    check(store, scope)
    with store.writing(scope) as work:
        work.memories.add(note("m_3"))


def test_a_step_that_fails_on_a_new_place_leaves_it_free_for_the_next_attempt(home: Home, tmp_path: Path) -> None:
    with pytest.raises(MigrationFailed):
        open_with(home, scripts(tmp_path, FAILING))
    assert state(home.open())["version"] == [CURRENT.newest]


def test_an_old_store_is_left_alone_when_it_may_not_be_changed(home: Home, scope: Scope, tmp_path: Path) -> None:
    with home.open() as store:
        fill(store, scope)
        before = state(store)
    later = scripts(tmp_path, NEXT)
    with pytest.raises(SchemaTooOld, match=CURRENT.newest) as refused:
        open_store(home.address, clock=home.clock, options=home.options, schema=later, migrate=False)
    assert "9001" in refused.value.message
    assert refused.value.remedy
    store = home.open()
    assert state(store) == before
    assert store.checkpoints.list() == []


def test_a_store_migrated_under_an_open_one_is_written_no_more_by_it(home: Home, scope: Scope, tmp_path: Path) -> None:
    old = home.open()
    fill(old, scope)
    with open_with(home, scripts(tmp_path, NEXT)) as new:
        with pytest.raises(SchemaChanged, match="9001") as refused, old.writing(scope) as work:
            work.memories.remove("m_1")
        assert refused.value.remedy
        with new.writing(scope) as work:
            work.memories.remove("m_2")
        assert new.problems() == []


def test_migrating_a_file_takes_a_checkpoint_first_that_brings_the_old_state_back(
    tmp_path: Path, clock: FixedClock, scope: Scope
) -> None:
    home = Home(str(tmp_path / "notes.db"), clock)
    with home.open() as store:
        fill(store, scope)
        assert store.checkpoints.list() == []
    with open_with(home, scripts(tmp_path, NEXT)) as store:
        (made,) = store.checkpoints.list()
    assert (made.name, made.schema, made.memories) == ("before schema 9001", CURRENT.newest, 2)
    copy = home.checkpoint_folder / f"{made.id}.db"
    Path(home.address).write_bytes(copy.read_bytes())
    check(home.open(), scope)
    home.close()


def test_a_new_file_needs_no_checkpoint(tmp_path: Path, clock: FixedClock) -> None:
    with open_store(tmp_path / "notes.db", clock=clock) as store:
        assert store.checkpoints.list() == []


def test_a_schema_newer_than_the_program_is_refused_and_untouched(home: Home, scope: Scope) -> None:
    with home.open() as store:
        fill(store, scope)
        with raw(store) as connection:
            connection.execute(text(f"UPDATE {schema.VERSION_TABLE} SET version_num = '9999'"))
        before = state(store)
    bytes_before = fingerprint(home)
    with pytest.raises(SchemaTooNew, match="9999") as refused:
        home.open()
    assert home.options.postgres_schema in refused.value.message or home.address in refused.value.message
    assert refused.value.remedy
    assert fingerprint(home) == bytes_before
    assert before["version"] == ["9999"]


def fingerprint(home: Home) -> str:
    """The content of a file; a server's is not ours to read."""
    if home.backend == "postgres":
        return ""
    return hashlib.sha256(Path(home.address).read_bytes()).hexdigest()


@pytest.mark.parametrize("rows", [0, 2])
def test_a_version_table_without_exactly_one_row_is_called_damage(home: Home, rows: int) -> None:
    with home.open() as store, raw(store) as connection:
        connection.execute(text(f"DELETE FROM {schema.VERSION_TABLE}"))
        for number in range(rows):
            connection.execute(text(f"INSERT INTO {schema.VERSION_TABLE} VALUES ('000{number}')"))
    with pytest.raises(StoreCorrupt, match=f"{rows} rows") as refused:
        home.open()
    assert refused.value.remedy


OPENER = """
import sys
from pathlib import Path
from assay.clock import SystemClock
from assay.records import Scope
from assay.storage import StoreOptions, open_store
from assay.testing import note

address, name, schema = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
with open_store(address, clock=SystemClock(), options=StoreOptions(postgres_schema=schema)) as store:
    with store.writing(Scope(tenant="acme")) as work:
        work.memories.add(note(name))
"""


@pytest.mark.slow
def test_processes_that_open_the_same_new_place_at_once_all_succeed(home: Home, scope: Scope) -> None:
    names = ["m_1", "m_2", "m_3"]
    command = [sys.executable, "-c", OPENER, home.address]
    started = [
        subprocess.Popen(
            [*command, name, home.options.postgres_schema],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    ended = [process.communicate("go\n", timeout=BOUND_S) for process in started]
    assert [(process.returncode, said[1]) for process, said in zip(started, ended, strict=True)] == [(0, "")] * 3
    store = home.open()
    with store.reading(scope) as work:
        assert [memory.id for memory in work.memories.page()] == names
    assert store.problems() == []


def test_the_failure_names_the_last_step_that_went_well(home: Home, tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=f"after step {CURRENT.newest}"):
        open_with(home, scripts(tmp_path, FAILING))


def test_no_index_of_a_table_that_others_refer_to_begins_with_the_tenant(store: Store) -> None:
    """PostgreSQL would check every reference by reading the whole tenant until it has statistics."""
    with store._backend.reading() as connection:
        look = inspect(connection)
        referred = {key["referred_table"] for name in look.get_table_names() for key in look.get_foreign_keys(name)}
        # PostgreSQL lists a reference to a table in months once more for each part.
        referred -= {other_of("eval_queries")}
        assert referred == {"memories", "chunks", "eval_queries"}
        plain = [index for name in referred for index in look.get_indexes(name) if not index["unique"]]
        partial = {"eval_queries_in_corpus", "memories_constitutional"}
        begins = {str(index["name"]) for index in plain if index["column_names"][0] == "tenant"}
        assert begins == partial
