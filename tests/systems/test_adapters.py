"""Adapters that need no package beside Assay's own, their names, and what the others say when theirs is missing."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest
from sqlalchemy import make_url
from tests.storage.homes import PostgresServer
from tests.systems.adapter_contract import (
    DIMENSION,
    EMBEDDER,
    QUERIES,
    TEXTS,
    AdapterCase,
    AdapterContract,
    ask,
    ids,
    nearest,
    vectors,
)
from tests.systems.sample import dataset
from tests.systems.search_engine import MAPPINGS, Engine, running

from assay.errors import AddressRefused, EndpointUnavailable, MissingExtra, UnknownSystem
from assay.network import ANYWHERE, Gatekeeper
from assay.records.evaluations import CaseStatus
from assay.systems.adapters.vector_store import (
    EXACT_NOTE,
    StoredVectors,
    StoreHit,
    StoreOpening,
    Vector,
    read_target,
    settle_ties,
)
from assay.systems.protocol import System
from assay.systems.registry import parse_spec
from assay.wiring import open_system
from assay.wiring.adapter_kinds import FRAMEWORKS, SEARCH_ENGINES, STORES

Fill = Callable[[Path, Mapping[str, str]], str]


@pytest.fixture
def fill_engine() -> Iterator[Callable[[str], Fill]]:
    with ExitStack() as stack:

        def of(kind: str) -> Fill:
            def fill(_: Path, texts: Mapping[str, str]) -> str:
                return f"{kind}:{stack.enter_context(running(Engine(kind, texts, vectors(texts)))).url}#notes"

            return fill

        yield of


@pytest.fixture(scope="session")
def tables(postgres: PostgresServer) -> PostgresServer:
    """A database for tables of vectors alone: tests that list every table of theirs share the server's first one."""
    postgres.run("CREATE DATABASE tables_of_vectors")
    return postgres._replace(address=postgres.address_of("tables_of_vectors"))


def address(postgres: PostgresServer) -> str:
    return make_url(postgres.address).set(drivername="postgresql").render_as_string(hide_password=False)


def fill_table(postgres: PostgresServer, texts: Mapping[str, str], *, index: bool) -> str:
    table = f"t_{uuid4().hex[:12]}"
    rows = zip(texts.items(), vectors(texts), strict=True)
    values = [
        f"('{key.replace(chr(39), chr(39) * 2)}', '{text.replace(chr(39), chr(39) * 2)}', '{row}')"
        for (key, text), row in rows
    ]
    postgres.run(
        "CREATE EXTENSION IF NOT EXISTS vector",
        f"CREATE TABLE {table} (doc text PRIMARY KEY, body text, embedding vector({DIMENSION}))",
        *([f"INSERT INTO {table} VALUES {', '.join(values)}"] if values else []),
        *([f"CREATE INDEX ON {table} USING hnsw (embedding vector_cosine_ops)"] if index else []),
    )
    return f"pgvector:{address(postgres)}#{table}"


@pytest.fixture(params=["opensearch", "elasticsearch", "pgvector", "pgvector without an index"])
def case(request: pytest.FixtureRequest) -> AdapterCase:
    kind, _, plain = str(request.param).partition(" ")
    if kind == "pgvector":
        server: PostgresServer = request.getfixturevalue("tables")
        return AdapterCase(
            kind=kind,
            fill=lambda _, texts: fill_table(server, texts, index=not plain),
            missing="{filled}#nothing",
            search="exact" if plain else "approximate",
        )
    fill_engine: Callable[[str], Fill] = request.getfixturevalue("fill_engine")
    return AdapterCase(kind=kind, fill=fill_engine(kind), missing="{filled}#nothing", search="approximate")


class TestContract(AdapterContract):
    """The contract, over these."""


def opened(kind: str, name: str, gate: Gatekeeper = ANYWHERE) -> System:
    opening = StoreOpening(
        target=read_target(name, SEARCH_ENGINES[kind].options), open_embedder=lambda: EMBEDDER, gate=gate
    )
    return SEARCH_ENGINES[kind].load()(kind, opening)  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", sorted(MAPPINGS))
def test_an_index_without_vectors_is_searched_by_words(kind: str) -> None:
    with (
        running(Engine(kind, TEXTS, vectors(TEXTS), field={})) as engine,
        closing(opened(kind, f"{kind}:{engine.url}#notes")) as system,
    ):
        assert ids(system, "umbrellas are lent")[0] == "o'hara's/Übersicht no. 7"
        assert ask(system, "zeppelin").status is CaseStatus.EMPTY
        assert system.subject()["by"] == "text"
        with pytest.raises(UnknownSystem, match="does not say which vector field"):
            opened(kind, f"{kind}:{engine.url}#notes?by=vector")


def test_options_choose_words_fields_and_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_AUTH", "ApiKey very-secret")
    with running(Engine("elasticsearch", TEXTS, vectors(TEXTS))) as engine:
        name = f"elasticsearch:{engine.url}#notes?by=text&text=body&id=doc&auth=SEARCH_AUTH"
        with closing(opened("elasticsearch", name)) as system:
            result = ask(system, "umbrellas are lent", 1)
        assert result.retrieved is not None
        assert result.retrieved.ids == ("d-o'hara's/Übersicht no. 7",)
        assert result.retrieved.passages[0].text.startswith("Umbrellas")
        assert {headers["Authorization"] for _, headers, _ in engine.heard} == {"ApiKey very-secret"}
        assert "very-secret" not in str(system.subject())
        with pytest.raises(UnknownSystem, match="by 'sound'"):
            opened("elasticsearch", f"elasticsearch:{engine.url}#notes?by=sound")


def test_a_field_without_a_graph_is_searched_exactly() -> None:
    flat = {**MAPPINGS["elasticsearch"], "index": False}
    with running(Engine("elasticsearch", TEXTS, vectors(TEXTS), field=flat)) as engine:
        with closing(opened("elasticsearch", f"elasticsearch:{engine.url}#notes")) as system:
            result = ask(system, QUERIES[0])
        assert result.retrieved is not None
        assert result.retrieved.ids == nearest(QUERIES[0], 3)
        assert EXACT_NOTE in result.retrieved.notes


def test_an_engine_that_refuses_a_search_is_an_error_of_the_case() -> None:
    with running(Engine("opensearch", TEXTS, vectors(TEXTS))) as engine:
        with closing(opened("opensearch", f"opensearch:{engine.url}#notes")) as system:
            engine.kind = "elasticsearch"
            result = ask(system, QUERIES[0])
        assert (result.status, "answered 400" in result.error) == (CaseStatus.ERROR, True)


def test_offline_refuses_engines_and_tables_that_are_not_configured() -> None:
    gate = Gatekeeper.of([], offline=True)
    with running(Engine("opensearch", TEXTS, vectors(TEXTS))) as engine:
        with pytest.raises(AddressRefused):
            opened("opensearch", f"opensearch:{engine.url}#notes", gate)
        assert engine.heard == []
    for place in ("postgresql://db.invalid/app", "postgresql:///app?host=db.invalid"):
        target = read_target(f"pgvector:{place}#notes")
        with pytest.raises(AddressRefused, match=r"postgresql://db\.invalid:5432"):
            STORES["pgvector"].load()(StoreOpening(target=target, open_embedder=lambda: EMBEDDER, gate=gate))


def test_a_server_that_is_away_is_named() -> None:
    with running(Engine("opensearch", {}, [])) as engine:
        name = f"opensearch:{engine.url}#notes"
    with pytest.raises(EndpointUnavailable) as refused:
        opened("opensearch", name)
    assert refused.value.unreachable


def test_a_table_says_which_columns_it_has(tables: PostgresServer) -> None:
    name = fill_table(tables, TEXTS, index=False)
    for options, why in (("?id=nix", "no column 'nix'"), ("?vector=body", "no one vector"), ("?text=nix", "'nix'")):
        with pytest.raises(UnknownSystem, match=why) as refused:
            open_table(name + options)
        assert "it has doc, body, embedding, with vectors in embedding" in refused.value.remedy
    with closing(open_table(f"{name}?text=body")) as system:
        result = ask(system, QUERIES[0], 1)
    assert result.retrieved is not None
    assert result.retrieved.passages[0].text == TEXTS[nearest(QUERIES[0], 1)[0]]


def open_table(name: str) -> System:
    opening = StoreOpening(target=read_target(name, STORES["pgvector"].options), open_embedder=lambda: EMBEDDER)
    return STORES["pgvector"].load()(opening)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("pgvector:mysql://host/app#t", "'mysql' is not an address of PostgreSQL"),
        ("pgvector:postgresql://me:hunter2@localhost/app#t", "has a password"),
        ("pgvector:postgresql://me:${NO_SUCH_VARIABLE}@localhost/app#t", "NO_SUCH_VARIABLE"),
    ],
)
def test_an_address_with_a_password_is_refused_and_not_shown(name: str, why: str) -> None:
    with pytest.raises(UnknownSystem) as refused:
        open_table(name)
    assert why in refused.value.message
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("chroma:./db", "does not name a place"),
        ("chroma:#notes", "does not name a place"),
        ("chroma:./db#notes?source=x", "has the option 'source'"),
        ("chroma:./db#notes?id=", "has the option 'id'"),
        ("langchain:module", "does not name an object"),
        ("langchain:module:name?source=x", "has the option 'source'"),
    ],
)
def test_a_name_that_cannot_be_read_is_refused(name: str, why: str) -> None:
    if name.startswith("langchain"):
        from assay.systems.adapters.framework import read_framework_target as read  # noqa: PLC0415

        with pytest.raises(UnknownSystem, match=why):
            read(name, ("id",))
    else:
        with pytest.raises(UnknownSystem, match=why):
            read_target(name)


def test_a_path_may_have_a_number_sign() -> None:
    target = read_target("chroma:./a#b/db#notes?id=metadata.source")
    assert (target.place, target.name, target.options) == ("./a#b/db", "notes", {"id": "metadata.source"})


@pytest.mark.parametrize("kind", sorted({**FRAMEWORKS, **STORES}))
def test_a_missing_package_is_named_with_its_install_line(kind: str) -> None:
    adapter = {**FRAMEWORKS, **STORES}[kind]
    package = adapter.package.split()[-1]
    modules = {"chromadb": "chromadb", "faiss-cpu": "faiss", "milvus-lite": "milvus_lite", "lancedb": "lancedb"}
    names = {"qdrant-client": "qdrant_client", "llama-index-core": "llama_index", "haystack-ai": "haystack"}
    more = {"langchain-core": "langchain_core", "pydantic-ai-slim": "pydantic_ai", "dspy": "dspy"}
    module = {**modules, **names, **more, "langgraph": "langgraph", "assaykit[postgres]": "psycopg"}[package]
    if importlib.util.find_spec(module) is not None:
        return  # the contract tries it
    with pytest.raises(MissingExtra) as refused:
        open_system(adapter.example, dataset())
    assert f"pip install {package}" in refused.value.remedy
    assert package in refused.value.message


def test_every_kind_is_known_by_its_example() -> None:
    for name, kind in {**FRAMEWORKS, **STORES, **SEARCH_ENGINES}.items():
        spec = parse_spec(kind.example, Path())
        assert spec.kind == name
        assert kind.summary.endswith(".")


@pytest.mark.parametrize(("distance", "first"), [("cosine", "b"), ("dot", "c"), ("l2", "a")])
def test_exact_search_orders_by_the_distance_of_the_index(distance: str, first: str) -> None:
    stored = StoredVectors(["a", "b", "c"], [[1.0, 0.2], [0.5, 0.0], [9.0, 8.0]], distance)
    [best] = stored.nearest(read_vector(1.0, 0.0), 1)
    assert best.id == first
    assert StoredVectors([], [], distance).nearest(read_vector(1.0, 0.0), 3) == []


def test_copies_as_near_as_the_last_result_count_whichever_was_found() -> None:
    hits = [StoreHit("a", 0.9), StoreHit("b", 0.5), StoreHit("c", 0.5), StoreHit("d", 0.5 - 1e-7), StoreHit("e", 0.4)]
    assert settle_ties(hits, ("a", "d"), 2) == ("a", "d")
    assert settle_ties(hits, ("a", "e"), 2) == ("a", "b")
    assert settle_ties(hits, ("d", "c"), 2) == ("a", "c"), "what is nearer is not given up for a copy"
    assert settle_ties(hits[:2], (), 5) == ("a", "b")
    assert settle_ties([StoreHit("a", 0.9), StoreHit("a", 0.8), StoreHit("b", 0.1)], (), 2) == ("a", "b")


def read_vector(*numbers: float) -> Vector:
    return np.array(numbers, dtype=np.float32)
