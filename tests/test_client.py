"""The typed client against a real server: the same calls, the same values, the same errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.serving import OWN, served, services_at

import assay
from assay.client import Client
from assay.errors import BadValue, EndpointUnavailable, RecordNotFound, SettingError
from assay.records import SaveDecision
from assay.records.access import Access
from assay.server.services import Services
from assay.testing import note

BODY = "We indent Makefiles with tabs, because make refuses spaces there."


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    with services_at(tmp_path_factory.mktemp("client")) as found:
        yield found


@pytest.fixture(scope="module")
def address(services: Services) -> Iterator[str]:
    with served(services, local=False) as found:
        yield found


@pytest.fixture
def client(services: Services, address: str) -> Client:
    return assay.Client(address, services.tokens.create(OWN, "client", Access.ADMIN).text)


def test_save_search_read_validate_and_ask(client: Client) -> None:
    saved = client.save("Tabs in Makefiles", BODY, tags=["make"])
    assert saved.decision is SaveDecision.STORE
    found = client.search("makefile tabs", k=3)
    assert found.ids[0] == saved.memory_id
    assert BODY in found.hits[0].text
    assert found.hits[0].tags == ("make",)
    client.search("makefile tabs", session_id="s-client")
    [held] = client.search("makefile tabs", session_id="s-client").held_back
    assert (held.memory_id, held.title) == (saved.memory_id, "Tabs in Makefiles")
    assert client.memory(str(saved.memory_id))["body"] == BODY
    assert client.validate(str(saved.memory_id), True, query_id=found.query_id)["counted"] == 1
    answer = client.ask("Why do we indent Makefiles with tabs?")
    assert answer.status == "answered"
    assert client.log(answer.log_id)["session"]["log_id"] == answer.log_id
    assert client.rate(answer.log_id, True)["memories"][0]["memory_id"] == saved.memory_id
    assert answer.log_id in [one["log_id"] for one in client.evaluations(passed=True)]
    assert client.aggregates()["sessions"] >= 1
    assert client.health().parts


def test_long_lists_are_walked_to_their_end(client: Client, services: Services) -> None:
    with services.engine.store.writing(OWN) as work:
        for number in range(205):
            work.memories.add(note(f"m_{number:03}", title=f"Note {number}"))
    listed = [one["memory_id"] for one in client.memories()]
    assert {f"m_{number:03}" for number in range(205)} <= set(listed)
    assert len(listed) == len(set(listed))


def test_an_error_is_the_one_the_library_raises(client: Client) -> None:
    with pytest.raises(RecordNotFound, match="m_none"):
        client.memory("m_none")
    with pytest.raises(BadValue, match="k"):
        client.search("x", k=0)


def test_an_id_never_leads_elsewhere(client: Client) -> None:
    with pytest.raises(EndpointUnavailable) as refused:
        client.memory("../flags")
    assert refused.value.status == 404


def test_a_wrong_token_is_told_plainly(address: str) -> None:
    with pytest.raises(EndpointUnavailable, match="no token of this server") as refused:
        assay.Client(address, "assay_wrong").flags()
    assert refused.value.status == 401


def test_a_server_that_is_not_there_is_tried_three_times(tmp_path: Path) -> None:
    paused: list[float] = []
    client = assay.Client("http://127.0.0.1:9", pause=paused.append)
    with pytest.raises(EndpointUnavailable, match="3 tries"):
        client.flags()
    assert len(paused) == 2


def test_a_token_is_not_sent_over_an_open_line() -> None:
    with pytest.raises(SettingError, match="unencrypted"):
        assay.Client("http://assay.example", "assay_secret")
