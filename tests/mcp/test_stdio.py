"""Over standard input and output: the official client starts the program; rude ones get an answer too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.mcp.journey import journey
from tests.mcp.serving import BOUND_S, LESSON, settings_at

from assay import wiring
from assay.mcp.stdio import LONGEST, LOOKED_AT
from mcp import Client, StdioServerParameters

COMMAND = [sys.executable, "-m", "assay", "mcp"]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


Answers = dict[int | None, Any]
"""By id; under None a list of those that have none."""


def environment(folder: Path) -> dict[str, str]:
    """Where the program finds its store; without vectors it starts at once."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "ASSAY_DB": str(folder / "notes.db"),
        "ASSAY_EMBEDDER_KIND": "none",
        "ASSAY_TENANT": "acme",
    }


def call(number: int, name: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def said(folder: Path, *lines: bytes | dict[str, Any]) -> tuple[Answers, subprocess.CompletedProcess[bytes]]:
    """What the program answers to these lines, and how it ended."""
    written = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in lines]
    done = subprocess.run(
        COMMAND,
        input=b"\n".join([*written, b""]),
        capture_output=True,
        timeout=BOUND_S,
        check=False,
        env=environment(folder),
        cwd=folder,
    )
    found: Answers = {None: []}
    for one in map(json.loads, done.stdout.splitlines()):
        if one.get("id") is None:
            found[None].append(one)
        else:
            found[one["id"]] = one
    return found, done


def test_a_client_saves_searches_validates_looks_after_and_copies(tmp_path: Path) -> None:
    async def main() -> None:
        server = StdioServerParameters(
            command=COMMAND[0], args=COMMAND[1:], env=environment(tmp_path), cwd=str(tmp_path)
        )
        async with Client(server, read_timeout_seconds=BOUND_S) as client:
            await journey(client)

    anyio.run(main)


LINES: tuple[bytes | dict[str, Any], ...] = (
    HELLO,
    READY,
    b"{not json",
    b"\xff\xfe",
    b"[" * 100_000,
    b"",
    b'{"id": 7, "jsonrpc": "1.0"}',
    call(2, "memory_search", query={"a": 1}),
    {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": 5}},
    {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "memory_health", "arguments": [1]}},
    {"jsonrpc": "2.0", "id": 5, "method": "no/such"},
    call(8, "memory_save", title="x", body="y" * LONGEST),
    call(9, "memory_save", title="x", body="y" * LOOKED_AT),
    call(10, "memory_save", title="x", body="y" * 1_000_001),
    call(11, "memory_save", **LESSON),
    call(12, "memory_health"),
)
"""A rude client: what is no message, wrong types, far too much; then two honest calls, and the input ends."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What the program said to all of it, by id."""
    found, done = said(tmp_path_factory.mktemp("rude"), *LINES)
    assert done.returncode == 0
    assert done.stderr == b""
    return found


def test_calls_that_are_under_way_when_the_input_ends_are_still_answered(answers: Answers) -> None:
    assert answers[1]["result"]["serverInfo"]["name"] == "assay"
    assert answers[11]["result"]["structuredContent"]["decision"] == "store"
    assert not answers[12]["result"].get("isError")


@pytest.mark.slow
def test_malformed_notifications_do_not_mute_the_server(tmp_path: Path) -> None:
    messages: list[bytes | dict[str, Any]] = []
    wrong: list[object] = [[1], {}, None, True, 1.5]
    for number, call_id in enumerate(wrong, start=2):
        params = {"requestId": call_id}
        messages.append({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        messages.append(call(number, "memory_health"))
    answers, done = said(tmp_path, HELLO, READY, *messages)
    assert done.returncode == 0
    # One call after each of them is answered.
    assert [number for number in range(2, 7) if answers[number]["result"].get("isError")] == []


def test_what_is_no_message_is_answered(answers: Answers) -> None:
    assert {one["error"]["code"] for one in answers[None]} == {-32700, -32600}
    assert answers[7]["error"]["code"] == -32600


def test_a_message_that_is_too_long_is_refused_with_the_limit_by_its_id(answers: Answers) -> None:
    assert "4,194,304 bytes" in answers[8]["error"]["message"]
    assert 9 not in answers
    assert any("4,194,304 bytes" in one["error"]["message"] for one in answers[None])


def test_a_text_over_its_own_limit_is_an_error_of_the_tool(answers: Answers) -> None:
    assert answers[10]["result"]["isError"]
    assert "1,000,000" in answers[10]["result"]["structuredContent"]["error"]["remedy"]


def test_wrong_types_are_errors_that_end_nothing(answers: Answers) -> None:
    assert "query" in answers[2]["result"]["structuredContent"]["error"]["message"]
    assert answers[3]["error"]["code"] == answers[4]["error"]["code"] == -32602
    assert answers[5]["error"]["code"] == -32601


@pytest.mark.slow
def test_a_client_that_dies_in_mid_call_ends_the_server_and_what_was_saved_is_whole(tmp_path: Path) -> None:
    with subprocess.Popen(
        COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
        cwd=tmp_path,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(HELLO).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        process.stdout.close()
        for number in range(20):
            body = f"The meeting number {number} is on day {number}."
            line = json.dumps(call(number + 2, "memory_save", title=f"Meeting {number}", body=body))
            process.stdin.write(line.encode() + b"\n")
        process.stdin.close()
        assert process.wait(BOUND_S) == 0
    with wiring.open_store(settings_at(tmp_path), create=False) as store:
        assert store.damage() == []
        assert store.problems() == []


def test_what_prints_while_serving_does_not_reach_the_client(tmp_path: Path) -> None:
    program = (
        "import sys, anyio; from assay.mcp import stdio; from mcp.server import Server\n"
        "async def tools(context, params):\n"
        "    print('stray'); import subprocess; subprocess.run(['echo', 'child'])\n"
        "    from mcp_types import ListToolsResult; return ListToolsResult(tools=[])\n"
        "anyio.run(stdio.serve, Server('x', on_list_tools=tools)); print('after')\n"
    )
    lines = [HELLO, READY, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}]
    done = subprocess.run(
        [sys.executable, "-c", program],
        input="\n".join([*map(json.dumps, lines), ""]).encode(),
        capture_output=True,
        timeout=BOUND_S,
        check=True,
    )
    *wire, last = done.stdout.decode().splitlines()
    assert [json.loads(one)["id"] for one in wire] == [1, 2]
    assert last == "after"
    assert {"stray", "child"} <= set(done.stderr.decode().split())
