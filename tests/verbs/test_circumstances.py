"""What a caller says of its own state reaches a search on every surface: the kind of work, and how full its context is.

Each call is made twice, with and without: the difference is what the field is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.verbs.examples import mark_tea
from tests.verbs.surfaces import Call, Place, Tenant, configured_at, place_at, surfaces_of

from assay.access import Access, Grant
from assay.records import LoggedQuery, Origin, SearchResult
from assay.verbs import Caller, Surface, searching

DEEP = "why is green tea steeped, and how does that differ from the oven"
SURFACES = {
    f"{name}, {'person' if person else 'program'}": call
    for person in (True, False)
    for name, call in surfaces_of(searching.SEARCH, person=person).items()
}
PACKING = {
    f"{name}, {'person' if person else 'program'}": call
    for person in (True, False)
    for name, call in surfaces_of(searching.CONTEXT, person=person).items()
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("circumstances")
    with place_at(Path(folder), str(folder / "notes.db")) as made:
        yield made


def ask(call: Call, tenant: Tenant, **given: Any) -> Any:
    options = {
        "context_type": "--context-type",
        "token_budget": "--budget",
        "tokens_used": "--tokens-used",
    }
    argv = ["search", DEEP, "--explain"]
    for name, value in given.items():
        argv += [options[name], str(value)]
    with configured_at(tenant.place.folder):
        answer = call(tenant, searching.SEARCH, {"query": DEEP, "explain": True, **given}, argv)
    assert answer.error == ""
    return answer.result


def logged(tenant: Tenant, query_id: str) -> LoggedQuery:
    engine = tenant.place.services.engine
    engine.store.log.flush()
    with engine.store.reading(tenant.scope) as work:
        return work.queries.get(query_id)


def boosts(found: Any, memory_id: str) -> dict[str, float]:
    [hit] = [hit for hit in found["hits"] if hit["memory_id"] == memory_id]
    return {boost["name"]: boost["factor"] for boost in hit["explanation"]["boosts"]}


@pytest.mark.parametrize("surface", SURFACES)
def test_the_kind_of_work_raises_memories_saved_for_it(place: Place, surface: str) -> None:
    tenant = place.tenant(mark_tea)
    plain, raised = (ask(SURFACES[surface], tenant, **given) for given in ({}, {"context_type": "brewing"}))
    assert "context_type" not in boosts(plain, tenant.ids["tea"])
    assert boosts(raised, tenant.ids["tea"])["context_type"] == pytest.approx(1.05)
    assert "context_type" not in boosts(raised, tenant.ids["oven"])
    assert logged(tenant, plain["query_id"]).context_type is None
    assert logged(tenant, raised["query_id"]).context_type == "brewing"


@pytest.mark.parametrize("surface", SURFACES)
def test_a_full_context_is_searched_with_less_work_and_the_log_says_so(place: Place, surface: str) -> None:
    tenant = place.tenant(mark_tea)
    found = {
        used: ask(SURFACES[surface], tenant, token_budget=1_000, tokens_used=used) for used in (0, 500, 750, 900, 2_000)
    }
    assert {used: result["mode"] for used, result in found.items()} == {
        0: "deep",
        500: "deep",
        750: "focused",
        900: "quick",
        2_000: "quick",
    }
    lines = {used: logged(tenant, result["query_id"]) for used, result in found.items()}
    assert {used: (line.pressure_level, line.token_usage_ratio) for used, line in lines.items()} == {
        0: ("none", 0.0),
        500: ("low", 0.5),
        750: ("high", 0.75),
        900: ("critical", 0.9),
        2_000: ("critical", 1.0),
    }
    assert [line.mode_overridden for line in lines.values()] == [False, False, True, True, True]
    if not surface.startswith("mcp"):
        told = {used: result["telemetry"]["token_usage_ratio"] for used, result in found.items()}
        assert told == {used: line.token_usage_ratio for used, line in lines.items()}


@pytest.mark.parametrize("surface", SURFACES)
def test_without_a_budget_no_share_of_it_is_known(place: Place, surface: str) -> None:
    tenant = place.tenant(mark_tea)
    line = logged(tenant, ask(SURFACES[surface], tenant)["query_id"])
    assert (line.origin, line.pressure_level, line.token_usage_ratio) == (Origin.USE, "none", None)


@pytest.mark.parametrize("surface", PACKING)
def test_a_context_is_packed_into_what_is_left(place: Place, surface: str) -> None:
    tenant = place.tenant(mark_tea)

    def pack(**given: Any) -> Any:
        with configured_at(place.folder):
            answer = PACKING[surface](tenant, searching.CONTEXT, {"query": DEEP, **given}, [])
        assert answer.error == ""
        return answer.result

    free, full = pack(token_budget=1_000), pack(token_budget=1_000, tokens_used=990, context_type="brewing")
    assert (free["mode"], free["pressure_level"], free["token_usage_ratio"]) == ("deep", "none", 0.0)
    assert (full["mode"], full["pressure_level"], full["token_usage_ratio"]) == ("quick", "critical", 0.99)
    assert len(full["hits"]) == 1 < len(free["hits"])
    assert full["over_budget"] == full["tokens"] - 10
    line = logged(tenant, full["query_id"])
    assert (line.context_type, line.pressure_level, line.token_usage_ratio) == ("brewing", "critical", 0.99)


def test_an_agent_gets_few_good_hits_unless_it_asks_for_more(place: Place) -> None:
    tenant = place.tenant()
    engine, settings = place.services.engine, place.settings.change(mcp_min_relevance=0.1)

    def search(surface: Surface, **given: Any) -> SearchResult:
        caller = Caller(
            opened=engine, settings=settings, grant=Grant(tenant.scope, Access.OPERATOR), surface=surface, via="a test"
        )
        return searching.search(caller, searching.SEARCH.make({"query": "why is the oven polled", **given}))

    for surface in (Surface.PYTHON, Surface.HTTP, Surface.COMMAND_LINE):
        whole = search(surface)
        assert (whole.min_relevance, whole.below_relevance) == (None, 0)
    few = search(Surface.MCP)
    assert few.min_relevance == 0.1
    assert 0 < len(few) == len(whole) - few.below_relevance < len(whole)
    assert search(Surface.MCP, min_relevance=0).ids == whole.ids
