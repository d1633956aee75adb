"""Contenders that a TOML file describes: a service over HTTP and an MCP server, both on this machine."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from assay.errors import InputError, UnknownSystem
from assay.referee.contenders.contract import OpenContender
from assay.referee.sets.values import MemoryItem
from assay.wiring.referee import open_contender

SERVER = Path(__file__).parents[1] / "systems" / "plain_mcp.py"
NOTES = (
    MemoryItem(id="n1", text="the red kite hangs in the hall"),
    MemoryItem(id="n2", text="our boat needs a coat of paint"),
)


class _Notes(BaseHTTPRequestHandler):
    held: ClassVar[dict[str, dict[str, str]]] = {}

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        notes = self.held.setdefault(body["user"], {})
        reply: dict[str, object] = {}
        if self.path == "/add":
            notes[body["id"]] = body["text"]
        elif self.path == "/remove":
            del notes[body["id"]]
        else:
            asked = set(body["query"].split())
            ranked = sorted(notes, key=lambda note: -len(asked & set(notes[note].split())))
            reply = {"found": [{"key": note, "words": notes[note]} for note in ranked[: body["limit"]]]}
        content = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Path]:
    _Notes.held = {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Notes)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    path = tmp_path / "service.toml"
    path.write_text(
        f"""
        url = "http://127.0.0.1:{server.server_port}"
        [fill]
        path = "/add"
        body = {{ user = "{{user}}", id = "{{id}}", text = "{{text}}" }}
        [ask]
        path = "/find"
        body = {{ user = "{{user}}", query = "{{question}}", limit = "{{k}}" }}
        [delete]
        path = "/remove"
        body = {{ user = "{{user}}", id = "{{id}}" }}
        [results]
        list = "found"
        id = "key"
        text = "words"
        [declares]
        ignores = ["timestamps"]
        """
    )
    yield path
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_service_is_filled_asked_and_emptied(service: Path, tmp_path: Path) -> None:
    contender = open_contender(f"http:{service}", OpenContender(folder=tmp_path))
    contender.fill("ada", NOTES)
    assert [hit.id for hit in contender.ask("ada", "the boat needs paint", 1)] == ["n2"]
    assert contender.ask("bo", "boat", 5) == []
    contender.delete("ada", "n2")
    assert [hit.text for hit in contender.ask("ada", "boat", 5)] == [NOTES[0].text]
    assert contender.declaration.ignores == ("timestamps",)
    assert contender.declaration.embedder == "unknown"
    with pytest.raises(InputError, match=r"does not describe \[update\]"):
        contender.update("ada", NOTES[0])
    contender.close()


def test_an_mcp_server_is_filled_and_asked(tmp_path: Path) -> None:
    path = tmp_path / "server.toml"
    path.write_text(
        f"""
        [server]
        command = "{sys.executable}"
        args = ["{SERVER}", "good"]
        [fill]
        tool = "remember"
        arguments = {{ notes = [{{ key = "{{id}}", body = "{{text}}" }}] }}
        [ask]
        tool = "find"
        arguments = {{ query = "{{question}}", limit = "{{k}}" }}
        [results]
        list = "hits"
        id = "note.key"
        text = "note.body"
        """
    )
    contender = open_contender(f"mcp:{path}", OpenContender(folder=tmp_path))
    contender.fill("ada", NOTES)
    assert [hit.id for hit in contender.ask("ada", "the boat needs paint", 1)] == ["n2"]
    contender.close()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('url = "ftp://x"\n[fill]\npath="/a"\n[ask]\npath="/b"\n', "not an HTTP URL"),
        ('url = "http://127.0.0.1:1"\n[fill]\npath="/a"\n', r"\[fill\] or \[ask\] is missing"),
        ('url = "http://127.0.0.1:1"\n[fill]\nbody={}\n[ask]\npath="/b"\n', "has no path"),
        ('url = "http://127.0.0.1:1"\nfil = 1\n', "has the key 'fil'"),
    ],
)
def test_a_description_that_does_not_fit_is_refused(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "service.toml"
    path.write_text(text)
    with pytest.raises(UnknownSystem, match=what):
        open_contender(f"http:{path}", OpenContender(folder=tmp_path))
