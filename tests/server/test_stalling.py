"""Requests that once stopped the server are answered or refused within a second of processor time.

Written from the outside, so that it can be run against any version: each input took between 2 s and a minute before.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from tests.server.serving import bearer, reaching, services_at

MOST_S = 1.0
"""Processor time; the whole process is counted, so a busy machine does not matter."""
KEYS = ",".join(f'"k{number}":1' for number in range(15_000))
TWICE = f'{{{KEYS},"a":1,"a":1}}'.encode()
"""JSON whose last key is there twice: a search that begins at the first key looks through all of them for each."""
COOKIE = 'a="' + "\\\\" * 20_000 + '"'
"""The parser of the standard library looks for the next escape in all that is left, once for each escape."""
STRANGERS: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/login", {"content": TWICE, "headers": {"Content-Type": "application/json"}}),
    ("GET", "/healthz", {"headers": {"Cookie": COOKIE}}),
]


@pytest.mark.parametrize(("method", "path", "sent"), STRANGERS, ids=["repeated key", "quoted cookie"])
def test_a_stranger_cannot_stall_the_server(tmp_path: Path, method: str, path: str, sent: dict[str, Any]) -> None:
    with services_at(tmp_path) as services, reaching(services, local=False) as client:
        client.get("/healthz")
        begun = time.process_time()
        answer = client.request(method, path, **sent)
        assert time.process_time() - begun < MOST_S
        assert answer.status_code < 500


@pytest.mark.parametrize("unit", ["1-", "a.", "*a ", "eyJ"])
def test_a_note_cannot_stall_the_server(tmp_path: Path, unit: str) -> None:
    body = (unit * 60_000)[:60_000]
    with services_at(tmp_path) as services, reaching(services, local=False) as client:
        headers = bearer(services)
        client.post("/api/memory", json={"title": "Warm", "body": "We keep the keys in a drawer."}, headers=headers)
        begun = time.process_time()
        answer = client.post("/api/memory", json={"title": "Long", "body": body}, headers=headers)
        assert time.process_time() - begun < MOST_S
        assert answer.status_code < 500


def test_a_repeated_key_of_somebody_known_cannot_stall_the_server(tmp_path: Path) -> None:
    with services_at(tmp_path) as services, reaching(services, local=False) as client:
        headers = {**bearer(services), "Content-Type": "application/json"}
        client.get("/healthz")
        begun = time.process_time()
        answer = client.post("/api/memory/search", content=TWICE, headers=headers)
        assert time.process_time() - begun < MOST_S
        assert answer.status_code == 422
