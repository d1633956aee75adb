"""Addresses with something else behind them: refused in our words, by name, with a way out, and left untouched."""

from __future__ import annotations

import os
import socket
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy.exc import TimeoutError as PoolTimeout
from tests.storage import samples
from tests.storage.homes import BOUND_S, Home, PostgresServer
from tests.storage.waiting import line_of, program

from assay.errors import (
    AssayError,
    ExtensionMissing,
    InputError,
    NotAStore,
    SettingError,
    StoreBusy,
    StoreClosed,
    StoreCorrupt,
    StoreNotFound,
    StoreReadOnly,
    StoreUnavailable,
)
from assay.records import Scope
from assay.storage import Store, StoreOptions, open_store
from assay.storage.backend import translate_errors
from assay.testing import FixedClock, note

SECRET = "hunter2-hunter2"


@pytest.fixture
def home(empty_home: Home) -> Home:
    """Nothing is there yet: making a store is what is tested."""
    return empty_home


@contextmanager
def refused(kind: type[AssayError], *named: str) -> Iterator[None]:
    """The body is refused with this class, a message that names the values, a remedy, and no secret."""
    with pytest.raises(AssayError) as found:
        yield
    problem = found.value
    assert type(problem) is kind, problem
    for value in named:
        assert value in problem.message
    assert problem.remedy
    assert SECRET not in str(problem)
    assert SECRET not in repr(problem.__cause__)


def open_at(address: str | Path, *, create: bool = True, **options: object) -> Store:
    chosen = StoreOptions(lock_timeout_s=BOUND_S, **options)  # type: ignore[arg-type]
    return open_store(address, clock=FixedClock(), create=create, options=chosen)


def keep(store: Store, scope: Scope, *ids: str) -> None:
    with store.writing(scope) as work:
        for one in ids:
            work.memories.add(note(one))


def ids(store: Store, scope: Scope) -> list[str]:
    with store.reading(scope) as work:
        return [memory.id for memory in work.memories.page()]


def test_a_file_that_is_not_there_is_not_made_unasked(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "notes.db"
    with refused(StoreNotFound, str(path)):
        open_at(path, create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with refused(NotAStore, str(tmp_path), "a folder"):
        open_at(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_no_store(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with refused(NotAStore, "pipe", "not a plain file"):
        open_at(tmp_path / "pipe")


def test_a_text_file_is_no_store_and_is_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear aunt, this is not a database. " * 50)
    before = path.read_bytes()
    with refused(NotAStore, str(path)):
        open_at(path)
    assert path.read_bytes() == before


def test_the_database_of_another_program_is_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "foreign.db"
    with closing(sqlite3.connect(path)) as foreign:
        foreign.executescript(
            "CREATE TABLE memories (id TEXT); PRAGMA application_id = 77; INSERT INTO memories VALUES (1)"
        )
    before = path.read_bytes()
    with refused(NotAStore, str(path), "77"):
        open_at(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["foreign.db"]


def test_a_foreign_database_without_a_mark_is_refused_too(tmp_path: Path) -> None:
    path = tmp_path / "foreign.db"
    with closing(sqlite3.connect(path)) as foreign:
        foreign.execute("CREATE TABLE schema_version (version_num TEXT)")
    before = path.read_bytes()
    with refused(NotAStore, str(path)):
        open_at(path)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_store(tmp_path: Path, scope: Scope) -> None:
    (tmp_path / "notes.db").touch()
    with refused(StoreNotFound, "notes.db"):
        open_at(tmp_path / "notes.db", create=False)
    with open_at(tmp_path / "notes.db") as store:
        keep(store, scope, "m_1")
        assert store.problems() == []


def test_a_path_through_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    path = tmp_path / "file" / "notes.db"
    with refused(StoreUnavailable, str(path)):
        open_at(path)
    with refused(StoreUnavailable, str(path.parent / "deeper" / "notes.db")):
        open_at(path.parent / "deeper" / "notes.db")


def test_a_name_longer_than_the_system_allows_is_refused(tmp_path: Path) -> None:
    with refused(StoreUnavailable, "x" * 300):
        open_at(tmp_path / ("x" * 300))


@pytest.mark.parametrize("address", ["", "  ", "a\x00b"])
def test_an_address_that_is_no_path_is_refused(address: str) -> None:
    with refused(InputError, repr(address)):
        open_at(address)


@pytest.mark.parametrize("address", ["mysql://user:hunter2-hunter2@host/db", "sqlite:///notes.db", "http://x"])
def test_an_address_of_an_unknown_kind_is_refused_without_its_secret(address: str) -> None:
    with refused(InputError, address.split("://", maxsplit=1)[0]):
        open_at(address)


@pytest.mark.parametrize(
    "name",
    ["a b.db", "what?.db", "a#b.db", "100%.db", "%41.db", "a&b=c.db", "\u6f22\u00e9\U0001f680.db", "a\nb.db", "'\".db"],
)
def test_any_name_a_file_can_have_is_the_name_of_a_store(tmp_path: Path, scope: Scope, name: str) -> None:
    with open_at(tmp_path / name) as store:
        keep(store, scope, "m_1")
        made = store.checkpoints.create("good")
        keep(store, scope, "m_2")
        store.checkpoints.restore(made.id, scope)
        assert ids(store, scope) == ["m_1"]
    assert {file.name for file in tmp_path.iterdir()} == {
        name,
        f"{name}.lock",
        f"{name}.queue",
        f"{name}.checkpoints",
    }


def test_everything_a_store_writes_belongs_to_its_owner_alone(tmp_path: Path, scope: Scope) -> None:
    before = os.umask(0)
    try:
        with open_at(tmp_path / "new" / "notes.db") as store:
            keep(store, scope, "m_1")
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "new").iterdir()}
    finally:
        os.umask(before)
    assert set(modes) == {f"notes.db{ending}" for ending in ("", "-wal", "-shm", ".lock", ".queue")}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_a_link_and_its_target_are_one_store(tmp_path: Path, scope: Scope) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "notes.db")
    with open_at(tmp_path / "notes.db") as store, open_at(tmp_path / "link.db") as linked:
        keep(linked, scope, "m_1")
        assert ids(store, scope) == ["m_1"]
        assert linked.place == store.place


def test_a_tilde_is_the_home_folder(tmp_path: Path) -> None:
    with open_at("~/notes.db") as store:
        assert store.place == str(tmp_path / "home" / "notes.db")


@pytest.mark.parametrize("left", [100, 4_096, 20_000])
def test_a_truncated_file_is_refused(tmp_path: Path, scope: Scope, left: int) -> None:
    path = tmp_path / "notes.db"
    with open_at(path) as store:
        keep(store, scope, *(f"m_{number}" for number in range(20)))
    content = path.read_bytes()[:left]
    path.write_bytes(content)
    with refused(StoreCorrupt, str(path)), open_at(path) as store:
        ids(store, scope)
    assert path.read_bytes() == content


def test_a_damaged_page_is_refused_where_it_is_met(tmp_path: Path, scope: Scope) -> None:
    path = tmp_path / "notes.db"
    with open_at(path) as store:
        keep(store, scope, *(f"m_{number}" for number in range(20)))
    with closing(sqlite3.connect(path)) as look:
        page = look.execute("SELECT rootpage FROM sqlite_master WHERE name = 'memories'").fetchone()[0]
    content = bytearray(path.read_bytes())
    content[(page - 1) * 4_096 : page * 4_096] = b"\xa5" * 4_096
    path.write_bytes(content)
    with open_at(path) as store:
        with refused(StoreCorrupt, str(path)):
            ids(store, scope)
        with refused(StoreCorrupt, str(path)):
            keep(store, scope, "m_new")
        with store.reading(scope) as work:
            assert work.audit.entries() == []


def test_a_file_deleted_under_an_open_store_is_missed_and_never_written_to(tmp_path: Path, scope: Scope) -> None:
    path = tmp_path / "notes.db"
    store = open_at(path)
    keep(store, scope, "m_1")
    path.rename(tmp_path / "elsewhere.db")
    with refused(StoreNotFound, str(path)):
        keep(store, scope, "m_2")
    with refused(StoreNotFound, str(path)):
        ids(store, scope)
    (tmp_path / "elsewhere.db").rename(path)
    keep(store, scope, "m_3")
    assert ids(store, scope) == ["m_1", "m_3"]
    store.close()


def test_a_file_replaced_under_an_open_store_is_noticed(tmp_path: Path, scope: Scope) -> None:
    path = tmp_path / "notes.db"
    open_at(tmp_path / "other.db").close()
    store = open_at(path)
    (tmp_path / "other.db").replace(path)
    with refused(StoreUnavailable, str(path), "replaced"):
        ids(store, scope)
    with refused(StoreUnavailable, str(path), "replaced"):
        keep(store, scope, "m_1")
    store.close()


FORKER = """
import os, sys
from assay.clock import SystemClock
from assay.errors import AssayError
from assay.records import Scope
from assay.storage import StoreOptions, open_store
from assay.testing import note

store = open_store(sys.argv[1], clock=SystemClock(), options=StoreOptions(postgres_schema=sys.argv[2]))
with store.writing(Scope()) as work:
    work.memories.add(note("m_parent"))
parent = os.getpid()
child = os.fork()
if child == 0:
    for use in (store.reading, store.writing):
        try:
            with use(Scope()) as work:
                print("used", flush=True)
        except AssayError as problem:
            print(problem.code, str(parent) in problem.message, bool(problem.remedy), flush=True)
    store.close()
    os._exit(0)
os.waitpid(child, 0)
with store.writing(Scope()) as work:
    work.memories.add(note("m_after"))
    print(work.memories.count(), flush=True)
store.close()
print("closed", flush=True)
"""


def test_a_forked_process_cannot_use_its_parents_store_and_does_not_harm_it(home: Home) -> None:
    with program(FORKER, home.address, home.options.postgres_schema) as process:
        said = [line_of(process) for _ in range(4)]
        assert said == ["store_closed True True", "store_closed True True", "2", "closed"]
        assert process.wait(BOUND_S) == 0
    assert home.open().problems() == []


def test_a_store_used_after_close_says_so(home: Home, scope: Scope) -> None:
    store = home.open()
    store.close()
    with refused(StoreClosed, store.place):
        ids(store, scope)
    with refused(StoreClosed, store.place):
        store.checkpoints.create("too late")


def test_all_connections_in_use_is_called_busy() -> None:
    with refused(StoreBusy, "/notes.db"), translate_errors("/notes.db"):
        raise PoolTimeout


@pytest.mark.parametrize(
    "address", ["postgresql://user:hunter2-hunter2@host:port/db", "postgresql://user@host:hunter2-hunter2/db"]
)
def test_an_address_that_cannot_be_read_is_refused_without_its_secret(address: str) -> None:
    with refused(SettingError, "address"):
        open_at(address)


def test_an_unknown_driver_is_named() -> None:
    with refused(SettingError, "postgresql+asyncpg"):
        open_at(f"postgresql+asyncpg://user:{SECRET}@localhost/db")


@pytest.mark.parametrize("name", ["Upper", "with space", "a,b", 'a"b', "", "x" * 27, "pg_mine", "1st"])
def test_a_schema_name_that_postgres_would_read_otherwise_is_refused(postgres: PostgresServer, name: str) -> None:
    with refused(SettingError, repr(name)):
        open_at(postgres.address, postgres_schema=name)


def test_a_server_that_is_down_is_named_without_the_password() -> None:
    with closing(socket.socket()) as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        with refused(StoreUnavailable, "127.0.0.1", str(port)):
            open_at(f"postgresql://user:{SECRET}@127.0.0.1:{port}/db")


def test_a_database_that_is_not_there_is_named(postgres: PostgresServer) -> None:
    with refused(StoreUnavailable, "no_such_database"):
        open_at(postgres.address_of("no_such_database"))


def test_a_wrong_password_is_told_and_not_shown(postgres: PostgresServer) -> None:
    rules = postgres.data / "pg_hba.conf"
    rules.write_text("local all locked scram-sha-256\n" + rules.read_text())
    postgres.run("CREATE ROLE locked LOGIN PASSWORD 'right'", "SELECT pg_reload_conf()")
    with refused(StoreUnavailable, "locked"):
        open_at(postgres.address_of("postgres", username="locked", password=SECRET))


def test_a_role_without_rights_is_told_what_to_grant(postgres: PostgresServer) -> None:
    postgres.run("CREATE ROLE guest LOGIN", "CREATE DATABASE guarded")
    postgres.run("CREATE EXTENSION vector", database="guarded")
    with refused(StoreReadOnly, "guest"):
        open_at(postgres.address_of("guarded", username="guest"))


def test_a_server_without_pgvector_is_told_how_to_get_it(postgres: PostgresServer) -> None:
    postgres.run("CREATE DATABASE plain", "ALTER DATABASE plain SET extension_control_path = '/nonexistent'")
    with refused(ExtensionMissing, "plain", "vector"):
        open_at(postgres.address_of("plain"))
    postgres.run("ALTER DATABASE plain RESET extension_control_path")
    with open_at(postgres.address_of("plain")) as store:
        assert store.problems() == []


def test_tables_of_other_programs_in_the_public_schema_do_not_matter(postgres: PostgresServer, scope: Scope) -> None:
    postgres.run("CREATE DATABASE crowded")
    postgres.run(
        "CREATE TABLE schema_version (version_num text)",
        "INSERT INTO schema_version VALUES ('V7')",
        "CREATE TABLE memories (id int)",
        database="crowded",
    )
    with open_at(postgres.address_of("crowded")) as store:
        keep(store, scope, "m_1")
        assert ids(store, scope) == ["m_1"]
        assert store.problems() == []


def test_two_schemas_of_one_database_are_two_stores(postgres: PostgresServer, scope: Scope) -> None:
    postgres.run("CREATE DATABASE pair")
    address = postgres.address_of("pair")
    with open_at(address, postgres_schema="public") as one, open_at(address, postgres_schema="other") as two:
        keep(one, scope, "m_one")
        keep(two, scope, "m_two")
        assert (ids(one, scope), ids(two, scope)) == (["m_one"], ["m_two"])


def test_a_password_is_never_part_of_the_place(postgres: PostgresServer) -> None:
    with open_at(postgres.address_of("postgres", password=SECRET), postgres_schema="place") as store:
        assert SECRET not in store.place
        assert "schema place" in store.place


def test_a_server_that_ends_our_connections_is_met_again(postgres: PostgresServer, scope: Scope) -> None:
    with open_at(postgres.address, postgres_schema="restarted") as store:
        keep(store, scope, "m_1")
        with refused(StoreUnavailable, "restarted"), store.writing(scope) as work:
            work.memories.add(samples.memory())
            end_connections(postgres)
            work.memories.count()
        assert ids(store, scope) == ["m_1"]


def end_connections(postgres: PostgresServer) -> None:
    postgres.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND datname = current_database() AND state = 'idle in transaction'"
    )


@pytest.mark.parametrize("address", [":memory:", "./:memory:", "file::memory:?cache=shared", "file:notes.db"])
def test_a_database_in_memory_is_refused_and_no_file_is_made(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with refused(InputError, address):
        open_store(address, clock=FixedClock())
    assert list(tmp_path.iterdir()) == []
