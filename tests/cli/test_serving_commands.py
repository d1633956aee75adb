"""`assay serve` and `assay token`: what they refuse, print once, and how a server begins and ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from tests.cli.telling import Run
from tests.mcp.serving import connected, told

import assay
from assay.server import serving

BOUND_S = 90.0


def test_a_token_is_shown_once_listed_without_its_text_and_revoked(run: Run) -> None:
    made = run("token", "create", "--scope", "write", "--name", "ci", "--days", "30")
    assert made.code == 0
    text = re.findall(r"assay_[\w-]{43}", made.out)
    assert len(text) == 1
    [listed] = json.loads(run("token", "list", "--json").out)["tokens"]
    assert (listed["name"], listed["access"], listed["revoked_at"]) == ("ci", "write", None)
    shown = run("token", "list")
    assert "good until" in shown.out
    assert text[0] not in shown.out
    assert run("token", "revoke", listed["token_id"]).code == 0
    assert "revoked" in run("token", "list").out


def test_an_empty_list_says_what_to_do(run: Run) -> None:
    assert "assay token create" in run("token", "list").out


@pytest.mark.parametrize(
    "given",
    [
        ("token", "revoke", "t_none"),
        ("token", "create", "--days", "0"),
        ("token", "create", "--name", ""),
        ("token", "create", "--scope", "everything"),
        ("serve", "--host", "0.0.0.0", "--port", "0"),
        ("serve", "--host", "no such host", "--port", "0"),
        ("serve", "--mcp", "--workers", "2", "--port", "0"),
    ],
)
def test_wrong_use_ends_with_3_and_a_remedy(run: Run, given: tuple[str, ...]) -> None:
    told = run(*given)
    assert told.code == 3, told.err
    assert "try" in told.err


def test_a_port_that_is_taken_is_named(run: Run) -> None:
    with serving.listen("127.0.0.1", 0) as at:
        port = str(at.getsockname()[1])
        told = run("serve", "--port", port)
    assert told.code == 3
    assert port in told.err


async def _find_over_mcp(address: str, memory_id: str | None) -> None:
    async with connected(address) as client:
        found = await told(client, "memory_search", query="makefiles")
    assert [hit["memory_id"] for hit in found["hits"]] == [memory_id]


@pytest.mark.parametrize(
    ("workers", "more"), [("1", []), ("1", ["--mcp"]), pytest.param("2", [], marks=pytest.mark.slow)]
)
def test_a_server_answers_until_it_is_told_to_stop(tmp_path: Path, workers: str, more: list[str]) -> None:
    own = {"ASSAY_DB": str(tmp_path / "notes.db"), "ASSAY_EMBEDDER_KIND": "none", "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "assay", "serve", "--port", "0", "--workers", workers, *more]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **own}, cwd=tmp_path
    ) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        address = re.findall(r"http://\S+", line)[0]
        client = assay.Client(address, deadline_s=BOUND_S)
        assert client.get("/readyz")["status"] == "ok"
        saved = client.save("Tabs", "We indent Makefiles with tabs, because make refuses spaces there.")
        assert client.search("makefiles").ids == (saved.memory_id,)
        if more:
            assert "MCP at /mcp" in line
            anyio.run(_find_over_mcp, f"{address}/mcp", saved.memory_id)
        server.send_signal(signal.SIGTERM)
        _, problems = server.communicate(timeout=BOUND_S)
    assert server.returncode == 0
    assert "Traceback" not in problems
