"""What comes before a body is bounded; what is within the bounds is read whole, however it is cut."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.server.serving import served, services_at

from assay.gateway.protocol import LONGEST_HEAD

BOUND_S = 20.0
SEARCH = b"POST /api/memory/search HTTP/1.1\r\nHost: %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    folder: Path = tmp_path_factory.mktemp("served")
    with services_at(folder) as services, served(services) as address:
        found = urlsplit(address)
        yield str(found.hostname), int(found.port or 0)


def told(place: tuple[str, int], parts: list[bytes], answers: int = 1) -> list[int]:
    """The status of each answer to bytes that are sent in these parts; a connection that is closed ends them."""
    with socket.create_connection(place, timeout=BOUND_S) as connection:
        for part in parts:
            connection.sendall(part)
        stream = connection.makefile("rb")
        seen = []
        for _ in range(answers):
            status = stream.readline().split()
            if not status:
                break
            seen.append(int(status[1]))
            length = 0
            while (line := stream.readline().strip()) != b"":
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            stream.read(length)
        return seen


def asked(place: tuple[str, int], query: str, *, padded: int = 0) -> bytes:
    body = json.dumps({"query": query}).encode() + b" " * padded
    return SEARCH % (f"{place[0]}:{place[1]}".encode(), len(body)) + body


def test_a_head_that_does_not_end_is_refused(place: tuple[str, int]) -> None:
    endless = b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * (LONGEST_HEAD + 1)
    assert told(place, [endless]) == [400]


def test_a_head_of_many_lines_is_refused_too(place: tuple[str, int]) -> None:
    lines = [b"GET / HTTP/1.1\r\n", *(b"X-%d: %b\r\n" % (number, b"a" * 1_000) for number in range(70))]
    assert told(place, [b"".join(lines[:40]), b"".join(lines[40:])]) == [400]


def test_bodies_longer_than_a_head_may_be_are_read_one_after_the_other(place: tuple[str, int]) -> None:
    long = asked(place, "why", padded=LONGEST_HEAD)
    assert len(long) > LONGEST_HEAD
    assert told(place, [long + long[:100], long[100:] + asked(place, "short")], answers=3) == [200, 200, 200]


def test_a_request_may_come_byte_by_byte(place: tuple[str, int]) -> None:
    assert told(place, [bytes([one]) for one in asked(place, "slow")]) == [200]
