"""The client of OpenAI-compatible services, against a real server that does everything wrong a server can."""

from __future__ import annotations

import socket

import pytest
from tests.models.service import answer, break_off, drip, endpoint, flood, hang, say_nothing, serving
from tests.storage.waiting import until

from assay.errors import EndpointMisbehaved, EndpointUnavailable, SettingError
from assay.models.endpoint import AWAY_AFTER, EndpointOptions, key_from
from assay.testing import FixedClock

KEY = "sk-very-secret"
BUSY = answer(429, Retry_After="7")


def test_a_question_is_posted_as_json_and_the_answer_comes_back() -> None:
    with serving(answer(body={"said": "yes"})) as service:
        assert endpoint(service.url, key=KEY).post("/ask", {"q": "é"}) == {"said": "yes"}
        (heard,) = service.heard
    assert (heard.path, heard.body) == ("/v1/ask", {"q": "é"})
    assert heard.headers["Authorization"] == f"Bearer {KEY}"


def test_without_a_key_no_authorisation_is_sent() -> None:
    with serving(answer(body={})) as service:
        endpoint(service.url).post("/ask", {})
        assert "Authorization" not in service.heard[0].headers


@pytest.mark.parametrize("bad", [answer(500), answer(503, b"later"), break_off, answer(body=b'{"data": [')])
def test_a_passing_fault_is_tried_again(bad: object) -> None:
    pauses: list[float] = []
    with serving(bad, bad, answer(body=[1])) as service:  # type: ignore[arg-type]
        assert endpoint(service.url, pauses=pauses).post("/ask", {}) == [1]
    assert len(pauses) == 2
    assert 0.25 <= pauses[0] <= 0.5 <= pauses[1] <= 1.0


def test_pauses_are_shortened_by_the_chance_that_was_given() -> None:
    def pauses_of(seed: int) -> list[float]:
        pauses: list[float] = []
        with serving(answer(500), answer(500), answer(body={})) as service:
            endpoint(service.url, pauses=pauses, seed=seed).post("/ask", {})
        return pauses

    assert pauses_of(1) == pauses_of(1) != pauses_of(2)


def test_what_the_service_asks_to_wait_is_waited() -> None:
    pauses: list[float] = []
    with serving(BUSY, answer(body={})) as service:
        endpoint(service.url, pauses=pauses).post("/ask", {})
    assert pauses == [7.0]


def test_a_service_that_asks_for_too_long_a_pause_is_not_waited_for() -> None:
    pauses: list[float] = []
    with serving(answer(429, b"slow down", Retry_After="3600")) as service:
        with pytest.raises(EndpointUnavailable, match=r"429: slow down \(1 try\)"):
            endpoint(service.url, pauses=pauses).post("/ask", {})
        assert len(service.heard) == 1
    assert pauses == []


def test_a_date_to_retry_after_counts_as_nothing_said() -> None:
    pauses: list[float] = []
    with serving(answer(503, Retry_After="Wed, 21 Oct 2026 07:28:00 GMT"), answer(body={})) as service:
        endpoint(service.url, pauses=pauses).post("/ask", {})
    assert 0.25 <= pauses[0] <= 0.5


def test_the_third_failure_is_the_last() -> None:
    with serving(answer(500, b"out of memory")) as service:
        with pytest.raises(EndpointUnavailable, match=r"answered 500: out of memory \(3 tries\)"):
            endpoint(service.url).post("/ask", {})
        assert len(service.heard) == 3


def test_a_service_that_is_away_costs_pauses_for_a_few_calls_only() -> None:
    pauses: list[float] = []
    with serving(answer(body={})) as service:
        gone = endpoint(service.url, pauses=pauses)
    tries = []
    for _ in range(AWAY_AFTER + 50):
        with pytest.raises(EndpointUnavailable) as problem:
            gone.post("/ask", {})
        assert problem.value.unreachable
        tries.append(problem.value.tries)
    assert tries == [3] * AWAY_AFTER + [1] * 50
    assert len(pauses) == 2 * AWAY_AFTER


def test_a_service_that_is_back_is_borne_with_as_before() -> None:
    later = (answer(body={}), answer(500), answer(500), answer(body=[1]))
    with serving(*[say_nothing] * 3 * AWAY_AFTER, *later) as service:
        asked = endpoint(service.url, pauses=[])
        for _ in range(AWAY_AFTER):
            with pytest.raises(EndpointUnavailable):
                asked.post("/ask", {})
        assert asked.post("/ask", {}) == {}
        assert asked.post("/ask", {}) == [1]


def test_a_service_that_answers_with_failures_is_not_away() -> None:
    with serving(answer(500)) as service:
        asked = endpoint(service.url, pauses=[])
        for _ in range(AWAY_AFTER + 1):
            with pytest.raises(EndpointUnavailable, match="3 tries") as problem:
                asked.post("/ask", {})
        assert not problem.value.unreachable


def test_a_pause_that_would_end_after_the_deadline_is_not_begun(clock: FixedClock) -> None:
    pauses: list[float] = []
    with serving(BUSY) as service:
        with pytest.raises(EndpointUnavailable, match="429"):
            endpoint(service.url, pauses=pauses, clock=clock, deadline_s=6.0).post("/ask", {})
        assert len(service.heard) == 1
    assert pauses == []


@pytest.mark.parametrize("act", [hang, drip])
def test_a_service_that_never_ends_is_left_at_the_deadline(act: object) -> None:
    with serving(act) as service:  # type: ignore[arg-type]
        with pytest.raises(EndpointUnavailable, match="did not answer within 1 s"):
            endpoint(service.url, deadline_s=1.0).post("/ask", {})
        until(lambda: len(service.heard) >= 1)
        assert len(service.heard) == 1


def test_a_port_where_nobody_listens_is_an_error_with_a_remedy() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(EndpointUnavailable, match="refused") as caught:
            endpoint(url).post("/ask", {})
    assert "Check the address" in caught.value.remedy


def test_reading_stops_at_the_bound() -> None:
    with serving(flood) as service:
        with pytest.raises(EndpointMisbehaved, match="more than 2,000,000 bytes"):
            endpoint(service.url, max_bytes=2_000_000).post("/ask", {})
        assert len(service.heard) == 1


def test_a_redirect_is_not_followed() -> None:
    with serving(answer(body={})) as elsewhere, serving(answer(307, Location=f"{elsewhere.url}/x")) as service:
        with pytest.raises(EndpointMisbehaved, match="307, a redirect"):
            endpoint(service.url, key=KEY).post("/ask", {})
        assert len(service.heard) == 1
        assert elsewhere.heard == []


def test_an_answer_that_is_never_json_is_misbehaviour() -> None:
    never = pytest.raises(EndpointMisbehaved, match=r"6 bytes that are not JSON.*3 tries")
    with serving(answer(body=b"<html>")) as service, never:
        endpoint(service.url).post("/ask", {})


def test_nesting_without_end_is_misbehaviour() -> None:
    with serving(answer(body=b"[" * 200_000)) as service, pytest.raises(EndpointMisbehaved, match="not JSON"):
        endpoint(service.url, attempts=1).post("/ask", {})


def test_a_refusal_is_not_tried_again_and_never_shows_the_key() -> None:
    with serving(answer(401, f"wrong key {KEY}".encode())) as service:
        with pytest.raises(EndpointUnavailable, match=r"401: wrong key \*\*\*") as caught:
            endpoint(service.url, key=KEY).post("/ask", {})
        assert len(service.heard) == 1
    assert KEY not in str(caught.value)
    assert KEY not in repr(EndpointOptions(url=service.url, key=KEY))


@pytest.mark.parametrize(
    "url", ["", "ftp://host/x", "https://", "http://me:word@host/v1", "https://host:0/", "http://["]
)
def test_an_address_that_is_none_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(SettingError, match="not an http or https address") as caught:
        endpoint(url)
    assert "word" not in str(caught.value)


def test_a_key_is_not_sent_unencrypted_beyond_this_machine() -> None:
    with pytest.raises(SettingError, match=r"api\.example\.com unencrypted"):
        endpoint("http://api.example.com/v1", key=KEY)
    assert endpoint("https://api.example.com/v1", key=KEY).place == "api.example.com"
    assert endpoint("http://api.example.com:8000/v1").place == "api.example.com:8000"


def test_a_key_comes_from_the_variable_that_is_named() -> None:
    assert key_from({"MY_KEY": f" {KEY}\n"}, "MY_KEY") == KEY
    assert key_from({}, "") == ""
    with pytest.raises(SettingError, match="MY_KEY holds no key"):
        key_from({"MY_KEY": "  "}, "MY_KEY")
    with pytest.raises(SettingError, match="no header can hold") as caught:
        key_from({"MY_KEY": "sk-a\nb"}, "MY_KEY")
    assert "sk-a" not in str(caught.value)
