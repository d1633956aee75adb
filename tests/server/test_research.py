"""Questions over HTTP: answered, streamed, asked again, listed, analysed; prompts written and used."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server.serving import OWN, reaching, served, services_at

from assay.server.services import Services
from assay.testing import NOTES

QUESTION = "Why do we poll the oven?"
NOTE = {"title": "Poll the oven", "body": "We poll the oven every 5 s because pushes are lost behind NAT."}


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    with services_at(tmp_path_factory.mktemp("research")) as found:
        yield found


@pytest.fixture(scope="module")
def client(services: Services) -> Iterator[TestClient]:
    with reaching(services) as found:
        assert found.post("/api/memory", json=NOTE).status_code == 200
        assert NOTES
        yield found


def asked(client: TestClient, **more: Any) -> dict[str, Any]:
    answer = client.post("/api/research/query", json={"question": QUESTION, **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_an_answer_cites_and_carries_its_evaluation(client: TestClient) -> None:
    answer = asked(client)
    assert answer["session"]["status"] == "answered"
    assert answer["synthesis"]["citations"][0]["title"] == NOTE["title"]
    assert 0.0 <= answer["session"]["overall_score"] <= 1.0
    assert answer["kept"] is True


def test_without_evaluation_there_is_an_answer_and_no_score(client: TestClient) -> None:
    answer = asked(client, evaluate=False)
    assert answer["session"]["status"] == "answered"
    assert answer["session"]["overall_score"] is None


def test_a_stream_tells_every_stage_and_the_answer_last(client: TestClient) -> None:
    events: list[tuple[str, dict[str, Any]]] = []
    with client.stream("POST", "/api/research/query", json={"question": QUESTION, "stream": True}) as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        name = ""
        for line in answer.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                events.append((name, json.loads(line.removeprefix("data: "))))
    stages = [one["stage"] for name, one in events if name == "stage"]
    assert list(dict.fromkeys(stages)) == ["plan", "search", "answer"]
    assert events[-1][0] == "answer"
    assert events[-1][1]["session"]["log_id"] == events[0][1]["log_id"]


def test_an_error_in_a_stream_is_its_last_event(client: TestClient) -> None:
    path = "/api/research/sessions/r_none/retry-search"
    answer = client.post(path, json={"stream": True})
    assert answer.status_code == 200
    assert answer.text.startswith("event: error")
    assert "record_not_found" in answer.text
    assert client.post(path, json={}).status_code == 404


def test_a_stream_that_is_cut_leaves_its_record_all_the_same(tmp_path: Path) -> None:
    import requests  # noqa: PLC0415 - only here a real connection is needed

    question = "Why is the oven polled every 5 s, cut off in the middle?"
    body = json.dumps({"question": question, "stream": True})
    headers = {"Content-Type": "application/json"}
    # Its own services: a server that has ended its streams begins no others.
    with services_at(tmp_path) as services:
        with (
            served(services) as address,
            requests.post(
                f"{address}/api/research/query", data=body, headers=headers, stream=True, timeout=30
            ) as answer,
        ):
            assert next(answer.iter_lines()) == b"event: stage"
        # The server has ended, and with it everything that was under way.
        with services.engine.store.reading(OWN) as work:
            assert question in [one.question for one in work.research.page().sessions]


def test_a_question_is_asked_again_from_a_wider_search(client: TestClient) -> None:
    first = asked(client)
    again = client.post(f"/api/research/sessions/{first['session']['log_id']}/retry-search", json={}).json()
    assert again["session"]["retry_of"] == first["session"]["log_id"]
    assert again["session"]["log_id"] != first["session"]["log_id"]


def test_an_answer_is_rated_once_by_each_and_for_what_it_cites(client: TestClient) -> None:
    answer = asked(client)
    place = f"/api/research/sessions/{answer['session']['log_id']}/rating"
    rated = client.post(place, json={"was_useful": True}).json()
    assert [one["memory_id"] for one in rated["memories"]] == [answer["synthesis"]["citations"][0]["memory_id"]]
    assert (rated["was_useful"], rated["memories"][0]["repeated"]) == (True, False)
    assert client.post(place, json={"was_useful": True}).json()["memories"][0]["repeated"] is True
    assert client.post("/api/research/sessions/r_none/rating", json={"was_useful": True}).status_code == 404
    nothing = asked(client, question="Who painted the ceiling of the Sistine Chapel?")
    refused = client.post(f"/api/research/sessions/{nothing['session']['log_id']}/rating", json={"was_useful": False})
    assert (refused.status_code, nothing["synthesis"]["citations"]) == (422, [])
    assert nothing["session"]["log_id"] in refused.json()["error"]["message"]


def test_what_happened_can_be_read_later(client: TestClient) -> None:
    answer = asked(client)
    log = client.get(f"/api/logs/sessions/{answer['session']['log_id']}").json()
    assert log["session"]["question"] == QUESTION
    assert log["trace"]["user_query"] == QUESTION
    told = client.get(f"/api/evaluation/sessions/{answer['session']['log_id']}").json()
    assert told["session"] == log["session"] == answer["session"]
    assert len(told["plan_evaluation"]["attempts"]) == answer["session"]["iterations"]
    assert client.get("/api/evaluation/sessions/r_none").status_code == 404


def test_sessions_are_listed_by_filter_and_page(client: TestClient) -> None:
    ids = {asked(client)["session"]["log_id"] for _ in range(3)}
    found, cursor = [], None
    while True:
        given = {"limit": 2, "passed": True} | ({} if cursor is None else {"cursor": cursor})
        page = client.get("/api/evaluation/sessions", params=given).json()
        found += [one["log_id"] for one in page["sessions"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert ids <= set(found)
    assert len(found) == len(set(found))
    assert (
        client.get("/api/evaluation/sessions", params={"least_score": 1.0, "most_score": 1.0}).json()["sessions"] == []
    )


@pytest.mark.parametrize(
    "query", ["least_score=2", "least_score=nan", "since=x", "passed=maybe", "limit=0", "limit=9999"]
)
def test_a_filter_that_means_nothing_is_refused(client: TestClient, query: str) -> None:
    assert client.get(f"/api/evaluation/sessions?{query}").status_code == 422


def test_a_time_range_the_wrong_way_round_is_refused(client: TestClient) -> None:
    for path in ("/api/evaluation/sessions", "/api/evaluation/metrics", "/api/evaluation/patterns"):
        answer = client.get(f"{path}?since=2026-02-01&until=2026-01-01")
        assert answer.status_code == 422, path
        assert "until" in answer.json()["error"]["message"]


def test_aggregates_patterns_and_the_analysis_agree(client: TestClient) -> None:
    asked(client)
    aggregates = client.get("/api/evaluation/metrics").json()
    whole = client.post("/api/evaluation/analyze", json={}).json()
    assert aggregates["sessions"] == whole["aggregates"]["sessions"] > 0
    assert client.get("/api/evaluation/patterns").json() == whole["patterns"]


def test_an_analysis_of_nothing_says_so(tmp_path: Path) -> None:
    with services_at(tmp_path) as empty, reaching(empty) as client:
        answer = client.post("/api/evaluation/analyze", json={})
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "nothing_measured")
        assert client.get("/api/evaluation/metrics").json()["sessions"] == 0


def test_a_prompt_is_written_used_and_taken_back(client: TestClient) -> None:
    before = client.get("/api/prompts/planner").json()["versions"]
    text = before[-1]["text"].replace("You plan", "You carefully plan")
    written = client.put("/api/prompts/planner", json={"text": text, "note": "carefully"}).json()
    assert (written["version"], written["active"]) == (len(before), True)
    assert "carefully" in client.get(f"/api/prompts/planner/diff?first=0&second={written['version']}").json()["diff"]
    assert client.post("/api/prompts/planner/use", json={"version": 0}).json()["active"] is True
    in_use = {one["prompt_id"]: one["version"] for one in client.get("/api/prompts").json()["prompts"]}
    assert in_use["planner"] == 0
    assert client.put("/api/prompts/planner", json={"text": "no toml"}).status_code == 422
