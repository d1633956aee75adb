"""MCP servers as systems: over stdio and HTTP, filled and asked; whatever they do wrong is an outcome with a reason."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.systems import plain_mcp
from tests.systems.sample import CASES, dataset

from assay.errors import AssayError, EndpointMisbehaved, EndpointUnavailable, UnknownSystem
from assay.network import ANYWHERE
from assay.records.datasets import Case
from assay.records.evaluations import CaseResult, CaseStatus
from assay.systems.boundary import Asker, Terms
from assay.systems.mcp_connection import McpConnection, McpMapping, SearchCall, ServerStart, read_mapping
from assay.systems.mcp_server import McpServer, open_server

BOUND_S = 60
"""How long a server that is not meant to be late may take."""
SERVER = Path(plain_mcp.__file__)
FILL = {"tool": "remember", "list": "notes", "batch": 2, "document": {"key": "{id}", "body": "{title}: {text}"}}
RESULTS = {"list": "hits", "id": "note.key", "score": "score", "text": "note.body"}
SEARCH = {"tool": "find", "arguments": {"query": "{query}", "limit": "{k}"}}


def mapped(folder: Path, how: str = "good", **tables: Any) -> Path:
    """A mapping file for the plain server; a table given as None is left out."""
    given: dict[str, Any] = {
        "timeout_s": BOUND_S,
        "server": {"command": sys.executable, "args": [str(SERVER), how]},
        "search": SEARCH,
        "results": RESULTS,
        "fill": FILL,
        **tables,
    }
    path = folder / f"{how}.toml"
    path.write_text("\n".join(f"{name} = {_toml(of)}" for name, of in given.items() if of is not None))
    return path


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_toml(of)}" for name, of in value.items()) + " }"
    return json.dumps(value)


def asked(system: McpServer, case: Case = CASES[0], timeout_s: float = 2 * BOUND_S) -> CaseResult:
    asker = Asker(system, Terms(k=3, timeout_s=timeout_s))
    with closing(asker):
        return asker.ask(case)


def misbehaving(folder: Path, how: str, **tables: Any) -> McpServer:
    """Connected and not tried: what a server does in the middle of a run."""
    mapping = read_mapping(mapped(folder, how, **tables))
    connection = McpConnection(mapping, gate=ANYWHERE)
    notes = [{"key": one.id, "body": one.text} for one in dataset().documents]
    connection.call("remember", {"notes": notes})
    return McpServer(connection, mapping, how)


def test_a_server_over_stdio_is_filled_and_asked(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    with closing(
        open_server(mapped(tmp_path), dataset(), lambda done, of: told.append((done, of)), gate=ANYWHERE)
    ) as system:
        given = asked(system)
        assert given.retrieved is not None
        assert given.retrieved.ids[0] == "pool"
        assert given.retrieved.scores is not None
        assert given.retrieved.passages[0].text.startswith("Pool: The swimming")
        assert told == [(2, 5), (4, 5), (5, 5)]
        assert system.holds(["pool", "stranger"]) == frozenset({"pool"})
        assert system.subject()["server"] == "plain 1.2"


def test_candidates_are_read_by_their_path_and_one_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    paths = {**RESULTS, "candidates": "lists", "candidate_score": "score"}
    with closing(open_server(mapped(tmp_path, results=paths), dataset(), gate=ANYWHERE)) as system:
        seen = system.retrieve(CASES[0].query, 2, CASES[0]).seen
        assert seen is not None
        assert seen.channels == {"words": tuple(system.retrieve(CASES[0].query, 2, CASES[0]).ids)}
    with pytest.raises(UnknownSystem, match=r"\[results\] stages: the reply has nothing at 'way'.* 'hits', 'lists'"):
        open_server(mapped(tmp_path, results={**RESULTS, "stages": "way"}), dataset(), gate=ANYWHERE)


def test_a_server_that_is_not_filled_cannot_tell_what_it_holds(tmp_path: Path) -> None:
    with closing(open_server(mapped(tmp_path, fill=None), dataset(), gate=ANYWHERE)) as system:
        assert system.holds(["pool"]) is None
        assert asked(system).status is CaseStatus.EMPTY


def test_one_call_a_word_ranks_by_how_rare_the_words_are(tmp_path: Path) -> None:
    path = mapped(tmp_path, search={**SEARCH, "each_word": True})
    with closing(open_server(path, dataset(), gate=ANYWHERE)) as system:
        given = asked(system, CASES[2]).retrieved
        assert given is not None
        assert given.ids[0] == "parking"
        assert given.scores is not None
        assert list(given.scores) == sorted(given.scores, reverse=True)


@pytest.mark.parametrize(
    ("how", "status", "reason"),
    [
        ("text", CaseStatus.ERROR, "find answered with text, not JSON: 'Found"),
        ("flood", CaseStatus.ERROR, "more than 1,000,000 bytes"),
        ("endless", CaseStatus.ERROR, "more than 1,000,000 bytes"),
        ("dies", CaseStatus.ERROR, "the server ended. Its standard error ends: 'disk is gone'"),
        ("fails", CaseStatus.ERROR, "find failed: the index is locked"),
        ("hangs", CaseStatus.TIMEOUT, "did not answer find in time"),
    ],
)
def test_what_a_server_does_wrong_is_an_outcome(tmp_path: Path, how: str, status: CaseStatus, reason: str) -> None:
    with closing(misbehaving(tmp_path, how, largest_reply=1_000_000)) as system:
        if how == "hangs":
            # It is filled in time: only what is meant to hang has little of it.
            system._connection._mapping = replace(system._connection._mapping, timeout_s=0.5)
        found = asked(system)
    assert found.status is status
    assert found.error is not None
    assert reason in found.error


def test_a_server_that_died_stays_dead_and_says_so_every_time(tmp_path: Path) -> None:
    with closing(misbehaving(tmp_path, "dies")) as system:
        first, second = asked(system), asked(system, CASES[1])
    assert "the server ended" in first.error
    assert "the server ended" in second.error
    assert (first.unreachable, second.unreachable) == (True, True)


def test_a_server_that_refuses_a_call_is_still_there(tmp_path: Path) -> None:
    with closing(misbehaving(tmp_path, "fails")) as system:
        assert not asked(system).unreachable


def test_words_between_messages_do_not_matter(tmp_path: Path) -> None:
    with closing(open_server(mapped(tmp_path, "chatty"), dataset(), gate=ANYWHERE)) as system:
        assert asked(system).status is CaseStatus.OK


def test_text_is_read_by_a_pattern(tmp_path: Path) -> None:
    results = {"pattern": r"(?m)^- (?P<id>\w+): (?P<text>.*)$"}
    with closing(open_server(mapped(tmp_path, "text", results=results), dataset(), gate=ANYWHERE)) as system:
        given = asked(system).retrieved
        assert given is not None
        assert given.ids[0] == "pool"
        assert given.passages[0].text.startswith("Pool: The swimming")


@pytest.mark.parametrize(
    ("tables", "message", "remedy"),
    [
        ({"search": {"tool": "serch"}}, "no tool 'serch'", "find, remember"),
        ({"search": {"tool": "find", "arguments": {"q": "{query}"}}}, "takes no argument 'q'", "limit, query"),
        ({"fill": {**FILL, "list": "", "document": {"owner": "me"}}}, "needs the argument 'notes'", "notes, owner"),
        (
            {"results": {"list": "data.hits", "id": "id"}},
            "nothing at 'data.hits'; at its top it has the keys 'hits'",
            "",
        ),
        ({"results": {"list": "hits", "id": "note.id"}}, "result 1 has nothing at 'note.id'; at 'note' it has the", ""),
        ({"results": {"list": "hits.0.note", "id": "key"}}, "no list at 'hits.0.note'", "Mend"),
        ({"results": {"list": "hits"}}, "result 1 has the keys 'note', 'score' and no 'id'", ""),
    ],
)
def test_a_mapping_that_does_not_fit_is_told_before_the_run(
    tmp_path: Path, tables: dict[str, Any], message: str, remedy: str
) -> None:
    with pytest.raises(UnknownSystem) as refused:
        open_server(mapped(tmp_path, **tables), dataset(), gate=ANYWHERE)
    assert message in refused.value.message
    assert remedy in refused.value.remedy


def test_a_server_that_answers_with_text_is_told_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(UnknownSystem, match="answered with text, not JSON"):
        open_server(mapped(tmp_path, "text"), dataset(), gate=ANYWHERE)


@pytest.mark.parametrize(
    ("start", "error", "message"),
    [
        ({"command": "no-such-program-anywhere"}, EndpointUnavailable, "did not start: FileNotFoundError"),
        ({"command": sys.executable, "args": ["-c", "raise SystemExit('no key')"]}, EndpointUnavailable, "no key"),
        ({"url": "http://127.0.0.1:9/mcp"}, EndpointUnavailable, "did not start"),
        ({"command": "x", "env": {"KEY": "${SURELY_NOT_SET}"}}, UnknownSystem, "KEY needs the environment variable"),
    ],
)
def test_a_server_that_cannot_be_reached_is_told_at_once(
    tmp_path: Path, start: dict[str, Any], error: type[AssayError], message: str
) -> None:
    with pytest.raises(error, match=message):
        open_server(mapped(tmp_path, server=start, start_timeout_s=BOUND_S), dataset(), gate=ANYWHERE)


def test_a_server_that_never_says_a_word_is_left_in_time(tmp_path: Path) -> None:
    with pytest.raises(UnknownSystem, match="did not start in time"):
        open_server(mapped(tmp_path, "mute", start_timeout_s=0.5), dataset(), gate=ANYWHERE)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"server": {}}, "either a command or a url"),
        ({"server": {"command": "x", "url": "http://localhost"}}, "either a command or a url"),
        ({"server": {"url": "ftp://x"}}, "is not an HTTP URL"),
        ({"server": {"command": "x", "args": "y"}}, "args is not a list"),
        ({"server": {"command": "x", "env": {"A": 1}}}, "more than texts"),
        ({"server": {"comand": "x"}}, "has the key 'comand'"),
        ({"search": {}}, r"\[search\] has no tool"),
        ({"results": {"pattern": "("}}, "not a regular expression"),
        ({"results": {"pattern": "x"}}, "a group 'id'"),
        ({"fill": {"tool": "remember"}}, "no table document"),
        ({"fill": {**FILL, "batch": 0}}, "batch is not a whole number"),
        ({"timeout_s": -1}, "a limit is not above 0"),
        ({"fill": "remember"}, "fill is not a table"),
    ],
)
def test_a_file_that_says_it_wrong_is_refused(tmp_path: Path, tables: dict[str, Any], message: str) -> None:
    with pytest.raises(UnknownSystem, match=message):
        read_mapping(mapped(tmp_path, **tables))


def test_the_scratch_folder_is_fresh_and_gone_afterwards(tmp_path: Path) -> None:
    code = "import os, pathlib; pathlib.Path(os.environ['OUT']).write_text(os.environ['KEEP'])"
    out = tmp_path / "out"
    start = ServerStart(command=sys.executable, args=("-c", code), env={"KEEP": "{scratch}/memory", "OUT": str(out)})
    with pytest.raises(EndpointUnavailable, match="the server ended"):
        McpConnection(McpMapping(server=start, search=SearchCall(tool="find"), results={}), gate=ANYWHERE)
    kept = Path(out.read_text())
    assert kept.name == "memory"
    assert not kept.parent.exists()


class Web(BaseHTTPRequestHandler):
    """The plain server behind HTTP; `/flood` answers a search with more than anybody may send."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in body:
            self._reply(202, b"")
            return
        result = plain_mcp.answered("good", body["method"], body.get("params") or {})
        told = {"error": {"code": -32601, "message": "no"}} if result is None else {"result": result}
        sent = json.dumps({"jsonrpc": "2.0", "id": body["id"], **told}).encode()
        is_search = body.get("params", {}).get("name") == "find"
        self._reply(200, sent + b" " * 200_000 if self.path == "/flood" and is_search else sent)

    def do_GET(self) -> None:
        self._reply(405, b"")

    do_DELETE = do_GET  # noqa: N815 - the library's name

    def _reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Silence."""


@contextmanager
def served() -> Iterator[str]:
    plain_mcp.NOTES.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Web) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{web.server_port}"
        finally:
            web.shutdown()


def test_a_server_over_http_is_filled_and_asked(tmp_path: Path) -> None:
    with (
        served() as url,
        closing(open_server(mapped(tmp_path, server={"url": f"{url}/mcp"}), dataset(), gate=ANYWHERE)) as system,
    ):
        given = asked(system).retrieved
        assert given is not None
        assert given.ids[0] == "pool"


def test_a_flood_over_http_is_cut_off(tmp_path: Path) -> None:
    path = mapped(tmp_path, server={"url": "http://placeholder"}, largest_reply=100_000)
    with served() as url:
        path.write_text(path.read_text().replace("http://placeholder", f"{url}/flood"))
        connection = McpConnection(read_mapping(path), gate=ANYWHERE)
        with closing(connection), pytest.raises(EndpointMisbehaved, match="more than 100,000 bytes"):
            connection.call("find", {"query": "pool"})
