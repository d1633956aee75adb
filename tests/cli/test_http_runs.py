"""`assay run` over a service that fails now and then, goes away or was described wrongly, and what the gate says."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.cli.telling import Run, runner
from tests.evaluation.made import golden

from assay.formats.golden import write_golden

CASES = 20


class Shaky(ThreadingHTTPServer):
    """Answers one request of `every`; after `leaves_after` requests it closes every connection without a word."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.heard = 0
        self.every = 1
        self.leaves_after = 10_000


class Handler(BaseHTTPRequestHandler):
    server: Shaky

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.heard += 1
        if self.server.heard > self.server.leaves_after:
            self.close_connection = True
            return
        case = body["query"].split()[-1]
        reply: Any = {"hits": [{"document": {"id": f"d{case}-{place}"}, "score": 5 - place} for place in range(5)]}
        told = json.dumps(reply).encode()
        self.send_response(200 if self.server.heard % self.server.every == 0 else 503)
        # Nobody has to wait for the next try.
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def service() -> Iterator[Shaky]:
    server = Shaky()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, service: Shaky) -> Run:
    monkeypatch.chdir(tmp_path)
    write_golden(tmp_path / "golden.json", golden(CASES))
    describe(tmp_path, service)
    return runner(capsys)


def describe(folder: Path, service: Shaky, *, ident: str = "document.id", attempts: int = 3) -> None:
    (folder / "service.toml").write_text(
        f'url = "http://127.0.0.1:{service.server_port}/search"\nattempts = {attempts}\n'
        f'[response]\nresults = "hits"\nid = "{ident}"\nscore = "score"\n',
        encoding="utf-8",
    )


def test_a_service_that_fails_two_times_of_three_says_so_everywhere(run: Run, service: Shaky) -> None:
    service.every = 3
    told = run("run", "golden.json", "--system", "http:service.toml", "--name", "shaky")
    said = "60 requests for 20 cases: 40 requests failed (66.7%)"
    assert told.code == 0, told.err
    assert said in told.out + told.err
    (result,) = run("run", "golden.json", "--system", "http:service.toml", "--json").json["runs"]
    (caveat,) = [one for one in result["caveats"] if one["kind"] == "retries"]
    assert caveat["figures"] == {"requests": 60, "failed_requests": 40, "cases": 20}
    run("baseline", "bless", "shaky")
    gate = run("gate", "shaky", "--junit", "gate.xml", "--comment", "comment.md")
    assert said in gate.out + gate.err
    assert said in json.dumps(run("gate", "shaky", "--json").json)
    assert said in Path("comment.md").read_text(encoding="utf-8").replace("\\", "")
    assert said in Path("gate.xml").read_text(encoding="utf-8")


def test_a_service_that_answers_at_once_has_no_such_line(run: Run) -> None:
    told = run("run", "golden.json", "--system", "http:service.toml")
    assert "requests for" not in told.out + told.err


def test_a_wrong_path_is_told_after_one_request(run: Run, service: Shaky, tmp_path: Path) -> None:
    describe(tmp_path, service, ident="doc.id")
    told = run("run", "golden.json", "--system", "http:service.toml")
    assert told.code == 3
    assert "result 1 has nothing at 'doc.id'; at its top it has the keys 'document', 'score'" in told.err
    assert service.heard == 1
    assert not Path(".assay/runs").exists()


def test_a_service_that_goes_away_ends_the_run_and_a_resume_goes_on(run: Run, service: Shaky, tmp_path: Path) -> None:
    describe(tmp_path, service, attempts=1)
    service.leaves_after = 8
    told = run("run", "golden.json", "--system", "http:service.toml")
    assert told.code == 4
    assert "could not be reached in 5 cases one after the other" in told.err
    assert "--resume" in told.err
    assert service.heard == 8 + 5
    service.leaves_after = 10_000
    resumed = run("run", "golden.json", "--resume", "latest", "--json")
    assert resumed.code == 0, resumed.err
    assert resumed.json["runs"][0]["counts"]["ok"] == CASES


def test_a_service_that_is_not_there_is_told_before_a_run_begins(run: Run, service: Shaky, tmp_path: Path) -> None:
    describe(tmp_path, service, attempts=1)
    service.leaves_after = 0
    told = run("run", "golden.json", "--system", "http:service.toml")
    assert told.code == 4
    assert service.heard == 1
    assert not Path(".assay/runs").exists()
