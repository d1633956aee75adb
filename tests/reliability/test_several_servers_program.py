"""The program with three servers must see what went wrong, and its client must find a server that is there."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from reliability.outcome import Spread, broken
from reliability.server_processes import NextServerClient
from reliability.several_servers import SeveralServersOutcome

NONE = Spread(0.0, 0.0, 0.0)
GOOD = SeveralServersOutcome(
    seconds=60.0,
    filled=2_000,
    saves=100,
    searches=1_000,
    errors=(),
    told_again=1,
    unfinished=12,
    stale=(),
    stale_ms=NONE,
    stale_p95_ms=0.0,
    found_ms=Spread(20.0, 40.0, 50.0),
    found_p95_ms=30.0,
    restarts=3,
    bad_exits=(),
    killed_at_work=1,
    taken_over=1,
    switches=1,
    without_vector=0,
    lost=(),
    doubled=(),
    disagreeing=(),
    missed_at_a_server=(),
    greedy_sent=900,
    greedy_allowed=210,
    greedy_limit=211.0,
    greedy_servers=3,
)


@pytest.mark.parametrize(
    "wrong",
    [
        {"errors": ("1 x 500 at a search",)},
        {"stale": ("1.0 ms after oven",)},
        {"stale_ms": Spread(0.0, 0.0, 5.0)},
        {"saves": 0},
        {"searches": 0},
        {"restarts": 2},
        {"bad_exits": ("server 1 ended with 1",)},
        {"killed_at_work": 0},
        {"taken_over": 0},
        {"switches": 2},
        {"without_vector": 3},
        {"lost": ("w1-1",)},
        {"doubled": ("w1-1 x 2",)},
        {"disagreeing": ("a chunk without a memory",)},
        {"missed_at_a_server": ("oven at server 2",)},
        {"greedy_allowed": 300},
        {"greedy_sent": 200},
        {"greedy_servers": 2},
    ],
)
def test_each_promise_can_be_broken(wrong: dict[str, object]) -> None:
    assert broken(GOOD) == []
    assert len(broken(replace(GOOD, **wrong))) == 1  # type: ignore[arg-type]


def test_the_client_goes_on_to_the_next_server_with_the_same_key() -> None:
    keys: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            keys.append(head.decode().split("Idempotency-Key: ")[1].split("\r\n")[0])
            length = int(head.decode().split("Content-Length: ")[1].split("\r\n")[0])
            await reader.readexactly(length)
            if len(keys) == 1:
                # The first server takes the request and dies.
                break
            kind = "Content-Type: application/json"
            writer.write(f"HTTP/1.1 200 OK\r\n{kind}\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{{}}".encode())
            break
        writer.close()

    async def send() -> list[tuple[int, int]]:
        servers = [await asyncio.start_server(answer, "127.0.0.1", 0) for _ in range(2)]
        ports = [1, *(server.sockets[0].getsockname()[1] for server in servers)]
        client = NextServerClient(ports, "token")
        answers = [await client.send("POST", "/api/memory", {"title": "x"}, key=f"k{n}") for n in range(2)]
        client.close()
        for server in servers:
            server.close()
        return [(found.tries, ports.index(found.port)) for found in answers]

    # Nobody listens at the first port; the second server dies; the third answers and asks to go elsewhere.
    assert asyncio.run(send()) == [(2, 2), (1, 1)]
    assert keys == ["k0", "k0", "k1"]
