"""What tests ask for by name: a clean environment, time, a scope, a real PostgreSQL, and a store on each back end."""

from __future__ import annotations

import gc
import importlib.util
import logging
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import settings
from tests.folders import IN_MEMORY, has_room_in_memory
from tests.packaging.environments import Environment, build_wheel, make_environment
from tests.storage.homes import (
    TEMPLATE_SCHEMA,
    Home,
    PostgresServer,
    copied_database,
    make_template,
    running_postgres,
)

from assay.records import Scope
from assay.storage import Store
from assay.testing import FixedClock

# No example has a deadline of its own: a busy machine is no failure, and a slow test shows in `--durations`.
settings.register_profile("patient", settings.default, deadline=None)
settings.load_profile("patient")

# Nearly every test makes a store that waits for the disk at each commit. In memory the whole suite takes about half the
# time. Power cuts have programs of their own.
if has_room_in_memory(gigabytes=2):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))

# Adapters of other packages are tried where all of these are: `make test-integrations`.
ADAPTED = ("chromadb", "dspy", "faiss", "haystack", "lancedb", "langgraph", "llama_index", "milvus_lite", "pydantic_ai")
collect_ignore = ["integrations"] if any(importlib.util.find_spec(name) is None for name in ADAPTED) else []

# A shell that runs the tests in the background has them ignore Ctrl-C, which the programs they start would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what is collected out of garbage collection, as `assay serve` does with what it has loaded.

    The tests and their imports are a gigabyte that stays for the whole run. What a test makes is collected as before.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)


def go_home(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Leave the settings of whoever runs the tests, for a home folder."""
    for name in [name for name in os.environ if name.startswith(("ASSAY_", "XDG_", "PG"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))


@pytest.fixture(scope="session", autouse=True)
def clean_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Do the same for fixtures of modules, which are made before the environment of a test is."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        go_home(monkeypatch, tmp_path_factory.mktemp("session") / "home")
        yield


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No setting and no home folder of whoever runs the tests reaches them."""
    go_home(monkeypatch, tmp_path / "home")
    yield
    # A server that ran in this process has sent the logs to standard error.
    root = logging.getLogger()
    root.handlers[:] = [handler for handler in root.handlers if type(handler) is not logging.StreamHandler]


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def scope() -> Scope:
    return Scope(tenant="acme", principal="ada")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One real server for each worker."""
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the code under test."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def base_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the wheel and no extra, as `pip install` makes it."""
    return make_environment("base", wheel, tmp_path_factory.mktemp("base") / "environment")


@pytest.fixture(scope="session")
def postgres_template(postgres: PostgresServer) -> str:
    """The name of a database with a new store: copying it takes a fifth of the time that the migrations take."""
    return make_template(postgres)


@pytest.fixture(params=["sqlite", "postgres"])
def empty_home(request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock) -> Iterator[Home]:
    """An address of one back end with nothing at it yet, for tests of what makes a store."""
    if request.param == "sqlite":
        home = Home(str(tmp_path / "notes.db"), clock)
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        home = Home(
            server.address,
            clock,
            postgres_schema=f"t_{uuid4().hex[:12]}",
            postgres_programs=server.programs,
            checkpoint_folder=tmp_path / "checkpoints",
        )
    yield home
    home.close()


@pytest.fixture(params=["sqlite", "postgres"])
def home(request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock) -> Iterator[Home]:
    """An address of one back end that no store was opened at before."""
    if request.param == "sqlite":
        home = Home(str(tmp_path / "notes.db"), clock)
        yield home
        home.close()
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        template: str = request.getfixturevalue("postgres_template")
        with copied_database(server, template) as address:
            home = Home(
                address,
                clock,
                postgres_schema=TEMPLATE_SCHEMA,
                postgres_programs=server.programs,
                checkpoint_folder=tmp_path / "checkpoints",
            )
            yield home
            home.close()


@pytest.fixture
def store(home: Home) -> Store:
    return home.open()
