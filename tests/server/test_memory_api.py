"""The memory over HTTP: saved, found, read, judged, linked, forgotten; sessions, tasks, flags and tests beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server.serving import OWN, bearer, reaching, services_at

from assay.records.access import Access
from assay.server.services import Services

FLAG = "docscore_aggregation"
OVEN = {"title": "Poll the oven", "body": "We poll the oven every 5 s because pushes are lost behind NAT."}
ROUTER = {"title": "Routers", "body": "Bakeries have routers that drop silent connections after a minute."}


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    with services_at(tmp_path_factory.mktemp("memory")) as found:
        yield found


@pytest.fixture(scope="module")
def client(services: Services) -> Iterator[TestClient]:
    with reaching(services) as found:
        yield found


def sent(client: TestClient, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.fixture(scope="module")
def oven(client: TestClient) -> str:
    return str(sent(client, "/api/memory", OVEN)["memory_id"])


@pytest.fixture(scope="module")
def router(client: TestClient) -> str:
    return str(sent(client, "/api/memory", ROUTER)["memory_id"])


def test_what_is_saved_is_found_and_read_whole(client: TestClient, oven: str) -> None:
    found = sent(client, "/api/memory/search", {"query": "why poll the oven", "explain": True})
    assert found["hits"][0]["memory_id"] == oven
    assert found["hits"][0]["explanation"]["score"] == found["hits"][0]["score"]
    assert found["stages"]
    assert client.get(f"/api/memory/{oven}").json()["memory"]["body"] == OVEN["body"]


def test_a_session_is_told_what_it_was_given_earlier(client: TestClient, oven: str) -> None:
    asked = {"query": "why poll the oven", "session_id": "s-held", "k": 1}
    first = sent(client, "/api/memory/search", asked)
    again = sent(client, "/api/memory/search", asked)
    assert again["hits"] == []
    [held] = again["held_back"]
    assert (held["memory_id"], held["title"], held["given_by"]) == (oven, OVEN["title"], first["query_id"])
    assert again["tokens_saved"] == held["tokens"] > 0
    packed = sent(client, "/api/memory/context", {"query": asked["query"], "session_id": "s-held"})
    assert [one["memory_id"] for one in packed["held_back"]] == [oven]


def test_a_verdict_on_a_memory_counts_once(client: TestClient, oven: str) -> None:
    query = sent(client, "/api/memory/search", {"query": "oven pushes"})["query_id"]
    given = {"was_useful": True, "query_id": query, "event_key": "verdict-1"}
    first, again = (sent(client, f"/api/memory/{oven}/validate", given) for _ in range(2))
    assert (first["counted"], first["repeated"]) == (1, False)
    assert again["repeated"] is True
    assert again["confidence"] == first["confidence"]


def test_fifteen_verdicts_of_one_caller_outside_a_session_count_once(client: TestClient) -> None:
    kettle = {"title": "Kettle descaling", "body": "Descale the kettle with vinegar on the first Monday of a quarter."}
    memory_id = sent(client, "/api/memory", kettle)["memory_id"]
    told = [sent(client, f"/api/memory/{memory_id}/validate", {"was_useful": True}) for _ in range(15)]
    assert [one["counted"] for one in told] == [1] + [0] * 14
    assert told[-1]["tier"] == "normal"
    assert told[-1]["reason"].startswith("you have said so before, outside any question")


def test_events_sent_three_times_count_once(client: TestClient, oven: str) -> None:
    sent(client, "/api/memory/search", {"query": "oven polling", "session_id": "s-events"})
    body = {"events": [{"session_id": "s-events", "memory_id": oven, "event_key": "read-1"}]}
    seen = [sent(client, "/api/memory/events", body) for _ in range(3)]
    assert [(one["new"], one["repeated"]) for one in seen] == [(1, 0), (0, 1), (0, 1)]


def test_one_wrong_event_keeps_all_of_them_out(client: TestClient, services: Services, oven: str) -> None:
    with services.engine.store.reading(OWN) as work:
        before = work.feedback.count()
    good = {"session_id": "s-events", "memory_id": oven, "event_key": "read-2"}
    answer = client.post("/api/memory/events", json={"events": [good, {"session_id": "s-events"}]})
    assert answer.status_code == 422
    with services.engine.store.reading(OWN) as work:
        assert work.feedback.count() == before


def test_memories_are_joined_and_explained(client: TestClient, oven: str, router: str) -> None:
    sent(client, "/api/memory/links", {"source_id": router, "kind": "caused", "target_id": oven})
    chain = client.get(f"/api/memory/{oven}/why").json()["chain"]
    assert [one["memory_id"] for one in chain["behind"]] == [router]
    [joined] = client.get(f"/api/memory/{oven}").json()["edges"]
    assert (joined["edge"]["kind"], joined["edge"]["source_id"], joined["other_id"]) == ("caused", router, router)


def test_a_context_stays_within_its_budget(client: TestClient, oven: str) -> None:
    packed = sent(client, "/api/memory/context", {"query": "oven", "token_budget": 60})
    assert packed["tokens"] <= packed["token_budget"] == 60
    assert oven in [one["memory_id"] for one in packed["hits"]]


def test_a_session_tells_what_happened(client: TestClient, oven: str) -> None:
    sent(client, "/api/memory/search", {"query": "oven polling", "session_id": "s-told"})
    client.get(f"/api/memory/{oven}?session_id=s-told")
    told = client.get("/api/memory-sessions/s-told").json()
    assert [one["query"] for one in told["queries"]] == ["oven polling"]
    assert [one["memory_id"] for one in told["memories"] if one["read"]] == [oven]
    assert "s-told" in [one["session_id"] for one in client.get("/api/memory-sessions").json()["sessions"]]


def test_a_task_before_and_after(client: TestClient, oven: str) -> None:
    numbers = {"task_id": "task-1", "knowledge": 0.2, "uncertainty": 0.8, "context": 0.1}
    sent(client, "/api/tasks/preflight", numbers)
    done = sent(client, "/api/tasks/postflight", {**numbers, "knowledge": 0.7, "useful": [oven]})
    assert done["change"]["knowledge_delta"] == pytest.approx(0.5)
    assert done["validated"] == 1


def test_the_log_of_searches_can_be_looked_through(client: TestClient) -> None:
    query = sent(client, "/api/memory/search", {"query": "a search to find again"})["query_id"]
    newest = client.get("/api/searches?limit=1").json()["searches"][0]
    assert (newest["query_id"], newest["query"]) == (query, "a search to find again")
    assert client.get(f"/api/searches/{query}").json()["candidates"] is not None


def test_grades_are_kept_and_a_newer_one_counts(client: TestClient, oven: str) -> None:
    query = sent(client, "/api/memory/search", {"query": "graded"})["query_id"]
    for grade in (1, 3):
        body = {"judgments": [{"query_id": query, "memory_id": oven, "relevance": grade}], "annotator": "ada"}
        sent(client, "/api/judgments", body)
    found = client.get(f"/api/judgments?query_id={query}").json()["judgments"]
    assert [(one["annotator"], one["relevance"]) for one in found] == [("ada", 3)]


def test_flags_are_switched_and_their_tests_begun(client: TestClient) -> None:
    assert client.put(f"/api/flags/{FLAG}", json={"percent": 50}).json()["percent"] == 50
    assert client.get(f"/api/flags/{FLAG}").json()["origin"] == "stored"
    assert client.put(f"/api/flags/{FLAG}", json={"percent": 1}).json()["percent"] == 1
    assert client.post(f"/api/flags/{FLAG}/review").json()["reviewed_at"]
    assert client.post(f"/api/tests/{FLAG}/begin", json={"kind": "paired"}).status_code == 422
    assert client.put(f"/api/flags/{FLAG}", json={"percent": 0}).json()["percent"] == 0
    assert sent(client, f"/api/tests/{FLAG}/begin", {"kind": "paired"})["status"] == "running"
    page = client.get(f"/api/tests/{FLAG}").json()
    assert page["test"]["votes"] == 0
    assert page["may_graduate"] is False
    assert sent(client, f"/api/tests/{FLAG}/collect", {})["votes"] == 0
    assert client.post(f"/api/tests/{FLAG}/graduate").status_code == 422
    assert sent(client, f"/api/tests/{FLAG}/pause", {"why": "enough"})["status"] == "paused"
    assert [one["feature_id"] for one in client.get("/api/tests").json()["changes"]] == [FLAG]
    assert client.get("/api/flags/nope").status_code == 404


def test_a_constitutional_memory_is_for_admins(services: Services) -> None:
    with reaching(services, local=False) as client:
        answer = client.post(
            "/api/memory", json={**OVEN, "tier": "constitutional"}, headers=bearer(services, Access.WRITE)
        )
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "access_too_low")


def test_a_memory_is_forgotten_to_the_last_byte(client: TestClient) -> None:
    body = {"title": "Gone", "body": "The gardener keeps marzipan xylophones in the shed."}
    gone = sent(client, "/api/memory", body)["memory_id"]
    told = client.delete(f"/api/memory/{gone}").json()
    assert (told["memory_ids"], told["left"]) == ([gone], 0)
    assert client.get(f"/api/memory/{gone}").status_code == 404


def test_datasets_are_listed_and_counted_and_a_path_is_none(client: TestClient) -> None:
    names = [one["name"] for one in client.get("/api/datasets").json()["datasets"]]
    assert {"hotel", "vault"} <= set(names)
    assert client.get("/api/datasets/hotel").json()["cases"] > 50
    assert client.get("/api/datasets/.hidden").status_code == 422
    assert client.get("/api/datasets/nope").status_code == 404
    assert client.post("/api/runs", json={"dataset": "../etc"}).status_code == 422


def test_health_readiness_and_numbers(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ok", "store": "sqlite"}
    assert {one["name"] for one in client.get("/api/memory/health").json()["parts"]} >= {"vector", "bm25"}
    numbers = client.get("/metrics").text
    assert 'assay_requests_total{method="GET",route="/healthz",status="200"}' in numbers
    assert "assay_request_seconds_bucket" in numbers


def test_a_revoked_token_is_refused_at_once(services: Services) -> None:
    headers = bearer(services)
    own = services.tokens.all(OWN)[-1].token_id
    with reaching(services, local=False) as client:
        assert client.delete(f"/api/tokens/{own}", headers=headers).json()["revoked_at"] is not None
        assert client.get("/api/flags", headers=headers).status_code == 401


def test_an_update_keeps_what_was_left_out_and_null_is_left_out(client: TestClient) -> None:
    given = {"title": "Yeast", "body": "The yeast is fed at 6:00.", "source_id": "yeast", "folder": "kitchen"}
    sent(client, "/api/memory", {**given, "tags": ["daily"], "tier": "critical"})
    update = {"title": "Yeast", "body": "The yeast is fed at 7:00.", "source_id": "yeast", "tags": None}
    saved = sent(client, "/api/memory", update)
    assert {one["field"]: one["value"] for one in saved["inherited"]} == {
        "tier": "critical",
        "folder": "kitchen",
        "tags": "daily",
    }
    emptied = sent(client, "/api/memory", {**update, "body": "The yeast is fed at 8:00.", "tags": []})
    memory = client.get(f"/api/memory/{emptied['memory_id']}").json()["memory"]
    assert (memory["tags"], memory["folder"], memory["tier"]) == ([], "kitchen", "critical")
