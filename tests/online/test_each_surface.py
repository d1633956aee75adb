"""A better configuration wins each kind of test and a worse one does not, by searches over HTTP and MCP.

Every subject has a note that answers and a note that only has the subject as its trigger phrase. Where triggers weigh
most, the second one comes first. Users read the note that answers wherever they find it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.testclient import TestClient
from tests.server.serving import OWN, bearer, reaching, services_at

from assay.access.policies import Grant
from assay.mcp.server import Host, build_server
from assay.online.vote_sources import TIME_TO_USE
from assay.records import Draft, JudgmentSource
from assay.records.access import Access
from assay.server.services import Services
from assay.testing import FixedClock
from mcp import Client as McpClient

SUBJECTS = 60
BOUND_S = 300.0
WORDS = {"search_weights_vector": 0.7, "search_weights_bm25": 0.3, "search_weights_trigger": 0.001}
TRIGGERS = {"search_weights_vector": 0.001, "search_weights_bm25": 0.05, "search_weights_trigger": 1.0}
NAME = "other-weights"
Searched = tuple[str, str, Sequence[str]]
"""A subject, the id of its search, and what it returned."""
Search = Callable[[Services, TestClient, Sequence[int]], list[Searched]]


def spec_of(weights: Mapping[str, float]) -> str:
    """Write weights as the spec of a variant."""
    return "assay:" + ",".join(f"{name.replace('_', '.')}={weight:g}" for name, weight in weights.items())


def subject(number: int) -> str:
    """Return the words of a subject, which no other subject has."""
    return f"gadget{number} lever{number}"


def answer_of(services: Services) -> dict[str, str]:
    """Return the note that answers, by subject."""
    with services.engine.store.reading(OWN) as work:
        ids = work.memories.ids_by_source()
    return {subject(number): ids[f"answer-{number}"] for number in range(SUBJECTS)}


@contextmanager
def filled(folder: Path, weights: Mapping[str, Any]) -> Iterator[tuple[Services, TestClient]]:
    """A server over a fresh store whose own configuration has these weights."""
    with services_at(folder, clock=FixedClock(), **weights) as services:
        for number in range(SUBJECTS):
            words = subject(number)
            drafts = (
                Draft(
                    title=f"{words} manual", body=f"The {words} is turned to the left.", source_id=f"answer-{number}"
                ),
                Draft(
                    title=f"Stock list {number}",
                    body=f"Shelf {number} holds spare parts.",
                    triggers=(words,),
                    source_id=f"list-{number}",
                ),
            )
            for draft in drafts:
                services.engine.saver.save(OWN, draft, gated=False)
        with reaching(services) as client:
            client.headers.update(bearer(services, person=True))
            yield services, client


def search_by_http(services: Services, client: TestClient, numbers: Sequence[int]) -> list[Searched]:
    """Search and read as a program does over HTTP."""
    answers = answer_of(services)
    found: list[Searched] = []
    for number in numbers:
        words, session = subject(number), f"session {number}"
        told = client.post(
            "/api/memory/search", json={"query": f"{words} turned?", "k": 3, "session_id": session}
        ).json()
        ids = [hit["memory_id"] for hit in told["hits"]]
        if answers[words] in ids:
            event = {"session_id": session, "memory_id": answers[words]}
            assert client.post("/api/memory/events", json={"events": [event]}).status_code == 200
        found.append((words, told["query_id"], ids))
    return found


def search_by_mcp(services: Services, client: TestClient, numbers: Sequence[int]) -> list[Searched]:
    """Search and read as an agent does over MCP."""
    return anyio.run(_search_by_mcp, services, numbers)


async def _search_by_mcp(services: Services, numbers: Sequence[int]) -> list[Searched]:
    answers = answer_of(services)
    found: list[Searched] = []
    host = Host(services.engine, services.settings)
    with anyio.fail_after(BOUND_S):
        async with McpClient(build_server(host, local=Grant(OWN, Access.OPERATOR))) as agent:
            for number in numbers:
                words, session = subject(number), f"session {number}"
                given = {"query": f"{words} turned?", "k": 3, "session_id": session}
                told = dict((await agent.call_tool("memory_search", given)).structured_content or {})
                ids = [hit["memory_id"] for hit in told["hits"]]
                if answers[words] in ids:
                    read = {"memory_id": answers[words], "session_id": session}
                    assert not (await agent.call_tool("memory_load", read)).is_error
                found.append((words, told["query_id"], ids))
    return found


SURFACES: Mapping[str, Search] = {"http": search_by_http, "mcp": search_by_mcp}


def grades_of(ids: Mapping[str, str], words: str, query_id: str, shown: Sequence[str]) -> list[dict[str, Any]]:
    """Grade everything that either side finds for a subject."""
    number = words.partition(" ")[0].removeprefix("gadget")
    answer = ids[f"answer-{number}"]
    return [
        {"query_id": query_id, "memory_id": memory, "relevance": 3 if memory == answer else 0}
        for memory in sorted({*shown, ids[f"list-{number}"], answer})
    ]


def grade_all(services: Services, client: TestClient, searched: Sequence[Searched]) -> None:
    """Grade both notes of every subject that was searched for, as a person."""
    with services.engine.store.reading(OWN) as work:
        ids = work.memories.ids_by_source()
    for words, query_id, shown in searched:
        grades = grades_of(ids, words, query_id, shown)
        kept = client.post("/api/judgments", json={"judgments": grades}).json()
        assert kept["source"] == "manual"


def read_test(client: TestClient) -> dict[str, Any]:
    """Collect votes, and return the test."""
    assert client.post(f"/api/tests/{NAME}/collect", json={}).status_code == 200
    found: dict[str, Any] = client.get(f"/api/tests/{NAME}").json()["test"]
    return found


def begin(client: TestClient, kind: str, spec: str) -> dict[str, Any]:
    """Define the variant, switch it as the kind needs, and begin a test."""
    assert client.put(f"/api/variants/{NAME}", json={"spec": spec}).status_code == 200
    if kind == "split":
        assert client.put(f"/api/flags/{NAME}", json={"percent": 50}).status_code == 200
    told: dict[str, Any] = client.post(f"/api/tests/{NAME}/begin", json={"kind": kind}).json()
    return told


def advance(services: Services) -> None:
    """Let every list have its time."""
    clock = services.engine.clock
    assert isinstance(clock, FixedClock)
    clock.advance(seconds=TIME_TO_USE.total_seconds() + 1)


QUICK = {("paired", "http"), ("interleaved", "mcp"), ("split", "http")}
"""Combinations that every change must pass; the soak has all."""
KINDS_AND_SURFACES = [
    pytest.param(kind, surface, marks=() if (kind, surface) in QUICK else pytest.mark.slow)
    for kind in ("paired", "interleaved", "split")
    for surface in SURFACES
]


@pytest.mark.parametrize(("kind", "surface"), KINDS_AND_SURFACES)
def test_a_better_configuration_wins_each_kind_of_test(tmp_path: Path, kind: str, surface: str) -> None:
    with filled(tmp_path, TRIGGERS) as (services, client):
        begun = begin(client, kind, spec_of(WORDS))
        assert begun["no_votes_because"], "a test that was just begun has no votes, and must say why"
        searched = SURFACES[surface](services, client, range(SUBJECTS))
        advance(services)
        if kind == "paired":
            assert read_test(client)["no_votes_because"].startswith("The shadow of other-weights is off")
            assert client.post(f"/api/shadow/{NAME}/replay", json={}).status_code == 200
            assert read_test(client)["no_votes_because"].startswith("No question is graded")
            grade_all(services, client, searched)
        test = read_test(client)
        assert test["decision"] == "better"
        assert test["no_votes_because"] == ""
        assert test["outcomes"]["mrr"]["treatment"] > test["outcomes"]["mrr"]["control"]
        assert test["outcomes"]["ndcg@10"]["treatment"] > test["outcomes"]["ndcg@10"]["control"]


@pytest.mark.parametrize(("kind", "surface"), KINDS_AND_SURFACES)
def test_a_worse_configuration_wins_no_kind_of_test(tmp_path: Path, kind: str, surface: str) -> None:
    with filled(tmp_path, WORDS) as (services, client):
        begin(client, kind, spec_of(TRIGGERS))
        searched = SURFACES[surface](services, client, range(SUBJECTS))
        advance(services)
        if kind == "paired":
            client.post(f"/api/shadow/{NAME}/replay", json={})
            grade_all(services, client, searched)
        test = read_test(client)
        assert test["votes"] > 0
        assert test["decision"] in {"worse", "futile"}


def test_a_merged_list_is_what_is_served_while_a_test_runs_and_not_after(tmp_path: Path) -> None:
    with filled(tmp_path, TRIGGERS) as (services, client):
        ((words, _, before),) = search_by_http(services, client, [0])
        assert before[0] != answer_of(services)[words]
        begin(client, "interleaved", spec_of(WORDS))
        search_by_http(services, client, range(1, 20))
        services.engine.store.log.flush()
        with services.engine.store.reading(OWN) as work:
            shown = work.interleavings.waiting(NAME, 1, until=services.engine.clock.now())
        assert len(shown) == 19
        client.post(f"/api/tests/{NAME}/pause", json={})
        search_by_http(services, client, [20])
        with services.engine.store.reading(OWN) as work:
            assert len(work.interleavings.waiting(NAME, 1, until=services.engine.clock.now())) == 19


def test_a_variant_that_is_on_is_served(tmp_path: Path) -> None:
    with filled(tmp_path, TRIGGERS) as (services, client):

        def answers_first(number: int) -> bool:
            ((words, _, ids),) = search_by_http(services, client, [number])
            return ids[0] == answer_of(services)[words]

        client.put(f"/api/variants/{NAME}", json={"spec": spec_of(WORDS)})
        assert not answers_first(0)
        client.put(f"/api/flags/{NAME}", json={"percent": 100})
        assert answers_first(1)
        client.delete(f"/api/variants/{NAME}")
        assert not answers_first(2)


@pytest.mark.slow
def test_an_agents_grades_count_once_it_agrees_with_people(tmp_path: Path) -> None:
    with filled(tmp_path, TRIGGERS) as (services, client):
        begin(client, "paired", spec_of(WORDS))
        searched = search_by_http(services, client, range(SUBJECTS))
        client.post(f"/api/shadow/{NAME}/replay", json={})
        anyio.run(_grade_by_mcp, services, searched)
        assert read_test(client)["votes"] == 0
        (model,) = client.get("/api/judgments/status").json()["models"]
        assert model["admitted"] is False
        grade_all(services, client, searched[-20:])
        (model,) = client.get("/api/judgments/status").json()["models"]
        assert model["admitted"] is True
        assert model["low"] <= model["agreement"] <= model["high"]
        assert read_test(client)["decision"] == "better"
        with services.engine.store.reading(OWN) as work:
            voted = {vote.query_id for vote in work.votes.of(NAME, 1)}
        assert voted & {query_id for _, query_id, _ in searched[:-20]}, "only searches that the person graded voted"


async def _grade_by_mcp(services: Services, searched: Sequence[Searched]) -> None:
    with services.engine.store.reading(OWN) as work:
        ids = work.memories.ids_by_source()
    host = Host(services.engine, services.settings)
    with anyio.fail_after(BOUND_S):
        async with McpClient(build_server(host, local=Grant(OWN, Access.OPERATOR))) as agent:
            for words, query_id, shown in searched:
                grades = grades_of(ids, words, query_id, shown)
                told = await agent.call_tool("memory_grade", {"judgments": grades})
                assert dict(told.structured_content or {})["source"] == JudgmentSource.LLM_JUDGE
