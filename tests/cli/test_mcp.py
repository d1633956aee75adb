"""`assay mcp` before it serves: what it refuses, with which exit code and which remedy."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.telling import Run

from assay.mcp import http
from assay.settings import load_settings

BOUND_S = 60.0


def test_beyond_loopback_it_needs_a_token(run: Run) -> None:
    told = run("mcp", "--http", "--host", "0.0.0.0", "--port", "0")
    assert told.code == 3
    assert "no token" in told.err
    assert "ASSAY_MCP_TOKEN" in told.err


def test_a_short_token_is_refused_and_never_printed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_MCP_TOKEN", "s3cr3t")
    told = run("mcp", "--http", "--port", "0")
    assert told.code == 3
    assert "6 characters" in told.err
    assert "s3cr3t" not in told.err + told.out


def test_a_port_that_is_taken_is_named(run: Run) -> None:
    with http.listen("127.0.0.1", 0) as at:
        port = str(at.getsockname()[1])
        told = run("mcp", "--http", "--port", port)
    assert told.code == 3
    assert port in told.err
    assert "--port" in told.err


def test_reading_only_makes_no_store(run: Run, tmp_path: Path) -> None:
    told = run("mcp", "--read-only", "--db", str(tmp_path / "none.db"))
    assert told.code == 3
    assert "there is no store" in told.err
    assert not (tmp_path / "none.db").exists()


def test_a_server_has_no_json_to_print(run: Run) -> None:
    told = run("mcp", "--json")
    assert told.code == 3
    assert told.json["error"]["code"] == "input_error"


def test_the_token_is_no_setting(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_MCP_TOKEN", "a-token-of-some-length")
    assert load_settings().settings.tenant == "default"
    assert "a-token-of-some-length" not in run("config").out


@pytest.mark.slow
def test_told_to_end_it_ends_well(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "assay", "mcp", "--http", "--port", "0", "--db", str(tmp_path / "notes.db")]
    environment = {**os.environ, "ASSAY_EMBEDDER_KIND": "none"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert b"Serving MCP at http://127.0.0.1:" in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=BOUND_S)
    assert process.returncode == 0
    assert said == b""
