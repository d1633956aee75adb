"""A write under a key is done once, however often it is sent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.server.serving import OWN, bearer, reaching, services_at

from assay.records.access import Access, RequestKey
from assay.server.idempotency import KEPT, STALE
from assay.server.services import Services
from assay.testing import FixedClock

SAVE = {"title": "Tabs", "body": "We indent Makefiles with tabs, because make refuses spaces there."}


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def services(tmp_path: Path, clock: FixedClock) -> Iterator[Services]:
    with services_at(tmp_path, clock=clock) as found:
        yield found


@pytest.fixture
def client(services: Services) -> Iterator[TestClient]:
    with reaching(services) as found:
        yield found


def keyed(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key}


def saves(services: Services) -> int:
    with services.engine.store.reading(OWN) as work:
        return work.memories.count()


def test_the_same_write_sent_three_times_is_done_once(client: TestClient, services: Services) -> None:
    answers = [client.post("/api/memory", json=SAVE, headers=keyed("k1")) for _ in range(3)]
    assert len({answer.text for answer in answers}) == 1
    assert [answer.headers.get("Idempotency-Replayed") for answer in answers] == [None, "true", "true"]
    assert saves(services) == 1


def test_a_refusal_is_given_again_too(client: TestClient) -> None:
    wrong = {"title": "", "body": "x"}
    first, again = (client.post("/api/memory", json=wrong, headers=keyed("k2")) for _ in range(2))
    assert first.status_code == again.status_code == 422
    assert first.json() == again.json()


def test_a_key_for_something_else_is_refused(client: TestClient, services: Services) -> None:
    client.post("/api/memory", json=SAVE, headers=keyed("k3"))
    answer = client.post("/api/memory", json={**SAVE, "title": "Other"}, headers=keyed("k3"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "key_reused")
    assert saves(services) == 1


@pytest.mark.parametrize("names", [("one", "two"), ("unnamed", "unnamed")])
def test_each_caller_has_keys_of_its_own(services: Services, names: tuple[str, str]) -> None:
    with reaching(services, local=False) as client:
        for token in [services.tokens.create(OWN, name, Access.WRITE).text for name in names]:
            given = {**keyed("k4"), "Authorization": f"Bearer {token}"}
            answer = client.post("/api/tasks/preflight", json=task(token[-8:]), headers=given)
            assert answer.status_code == 200, answer.text
            assert "Idempotency-Replayed" not in answer.headers


def task(name: str) -> dict[str, object]:
    clean = "".join(letter for letter in name if letter.isalnum())
    return {"task_id": f"t{clean}", "knowledge": 0.1, "uncertainty": 0.1, "context": 0.1}


def test_a_write_that_is_still_under_way_is_not_begun_again(
    client: TestClient, services: Services, clock: FixedClock
) -> None:
    def leave(fingerprint: str) -> None:
        row = RequestKey(key="k5", principal="local", fingerprint=fingerprint, created_at=clock.now())
        with services.engine.store.writing(OWN) as work:
            work.request_keys.begin(row)

    client.post("/api/memory", json=SAVE, headers=keyed("k5"))
    with services.engine.store.writing(OWN) as work:
        done = work.request_keys.find("local", "k5")
        assert done is not None
        work.request_keys.forget("local", "k5")
    leave(done.fingerprint)
    answer = client.post("/api/memory", json=SAVE, headers=keyed("k5"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "still_under_way")
    clock.advance(seconds=STALE.total_seconds() + 1)
    assert client.post("/api/memory", json=SAVE, headers=keyed("k5")).status_code == 200


def test_a_key_is_forgotten_after_a_day(client: TestClient, services: Services, clock: FixedClock) -> None:
    client.post("/api/memory", json=SAVE, headers=keyed("k6"))
    clock.advance(seconds=KEPT.total_seconds() + 1)
    client.post("/api/memory", json=SAVE, headers=keyed("other"))
    with services.engine.store.reading(OWN) as work:
        assert work.request_keys.find("local", "k6") is None


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 129, "../x"])
def test_a_key_is_an_id(client: TestClient, key: str) -> None:
    assert client.post("/api/memory", json=SAVE, headers=keyed(key)).status_code == 422


def test_reading_needs_no_key_and_ignores_one(client: TestClient, services: Services) -> None:
    for _ in range(2):
        answer = client.post("/api/memory/search", json={"query": "tabs"}, headers=keyed("k7"))
        assert "Idempotency-Replayed" not in answer.headers
    assert bearer(services)
