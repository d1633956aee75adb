"""A plain search service on the loopback, described by a file."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.systems.sample import CASES, dataset, right

from assay.errors import AssayError, EndpointUnavailable, UnknownSystem
from assay.network import ANYWHERE
from assay.records.answers import GivenAnswer
from assay.systems.boundary import Asker, Terms
from assay.systems.http_service import HttpService, ServiceDescription, load_service, open_service, read_description

KEY = "very-secret"


class Search(ThreadingHTTPServer):
    """Finds documents; `/broken` fails, `/odd` answers with something else."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.heard: list[tuple[str, dict[str, str], Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Search

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._reply(body, body.get("query", ""), body.get("options", {}).get("limit", 10))

    def do_GET(self) -> None:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        self._reply(asked, asked["q"], int(asked["n"]))

    def _reply(self, body: Any, query: str, k: int) -> None:
        self.server.heard.append((self.path, dict(self.headers), body))
        found = right(query, k)
        hits = [{"doc": {"id": one}, "rank": {"score": 1.0 / place}} for place, one in enumerate(found, start=1)]
        way = [{"name": "rerank", "dropped": ["spa"]}]
        reply: Any = {"data": {"hits": hits, "said": "At seven.", "price": 0.02}, "dense": {"dense": hits}, "way": way}
        usual = {"results": [{"id": one} for one in found]}
        reply = usual if self.path.startswith("/usual") else reply
        reply = [1, 2] if self.path.startswith("/odd") else found if self.path.startswith("/plain") else reply
        told = json.dumps(reply).encode()
        flaky = self.path.startswith("/flaky") and len(self.server.heard) % 3 != 0
        self.send_response(400 if self.path.startswith("/broken") else 503 if flaky else 200)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def service() -> Iterator[Search]:
    server = Search()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def described(tmp_path: Path, url: str, more: str = "") -> Path:
    path = tmp_path / "rag.toml"
    path.write_text(
        f"""url = "{url}"
timeout_s = 20
attempts = 1
[request]
query = "{{query}}"
"options.limit" = "{{k}}"
[response]
results = "data.hits"
id = "doc.id"
score = "rank.score"
answer = "data.said"
cost = "data.price"
{more}""",
        encoding="utf-8",
    )
    return path


def test_a_service_is_asked_and_read_by_dotted_paths(service: Search, tmp_path: Path) -> None:
    system = load_service(described(tmp_path, f"{service.url}/search"), gate=ANYWHERE)
    found = system.retrieve(CASES[0].query, 2, CASES[0])
    assert (found.ids, found.scores) == (tuple(right(CASES[0].query, 2)), (1.0, 0.5))
    assert (found.answer, found.cost) == (GivenAnswer(text="At seven."), 0.02)
    ((path, _, body),) = service.heard
    assert (path, body) == ("/search", {"query": CASES[0].query, "options": {"limit": 2}})
    assert system.name == "rag"


def test_headers_take_secrets_from_the_environment_and_never_show_them(service: Search, tmp_path: Path) -> None:
    text = '[headers]\n"X-Api-Key" = "${SEARCH_KEY}"\n'
    description = read_description(described(tmp_path, service.url, text))
    system = HttpService(description, "rag", gate=ANYWHERE, environment={"SEARCH_KEY": KEY})
    system.retrieve("pool", 1, CASES[0])
    assert service.heard[0][1]["X-Api-Key"] == KEY
    assert KEY not in json.dumps(dict(system.subject()))
    with pytest.raises(UnknownSystem, match="SEARCH_KEY"):
        HttpService(description, "rag", gate=ANYWHERE, environment={})


def test_a_secret_is_not_sent_over_an_open_road() -> None:
    open_road = ServiceDescription(url="http://search.example.com", headers={"Key": "${SEARCH_KEY}"})
    with pytest.raises(UnknownSystem, match="unencrypted"):
        HttpService(open_road, "rag", gate=ANYWHERE, environment={"SEARCH_KEY": KEY})


def test_a_get_service_is_asked_in_its_query_string(service: Search) -> None:
    asked = ServiceDescription(
        url=f"{service.url}/plain",
        method="GET",
        request={"q": "{query}", "n": "{k}", "lang": "en"},
        response={"results": "", "id": ""},
    )
    assert HttpService(asked, "rag", gate=ANYWHERE).retrieve("dogs & pets", 3, CASES[0]).ids == tuple(
        right("dogs & pets", 3)
    )
    assert service.heard[0][2] == {"q": "dogs & pets", "n": "3", "lang": "en"}


@pytest.mark.parametrize(
    ("place", "said"),
    [("/broken", "answered 400"), ("/odd", "the reply has nothing at 'data.hits'")],
)
def test_a_service_that_fails_fails_its_case_with_a_reason(
    service: Search, tmp_path: Path, place: str, said: str
) -> None:
    system = load_service(described(tmp_path, f"{service.url}{place}"), gate=ANYWHERE)
    found = Asker(system, Terms(timeout_s=None)).ask(CASES[0])
    assert found.status == "error"
    assert said in found.error


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("urll = 'http://x'", "Did you mean 'url'"),
        ("url = 'ftp://x'", "is not an HTTP URL"),
        ("url = 'http://x'\nmethod = 'PUT'", "neither GET nor POST"),
        ("url = 'http://x'\ntimeout_s = 0", "not above 0"),
        ("url = 'http://x'\nrequest = 3", "a table has another type"),
        ("url = 'http://x'\n[headers]\na = 3", "a header is not text"),
        ("url = 'http://x'\n[response]\nid = 3", "a path of [response] is not text"),
        ("url = 'http://x'\n[response]\nscores = 'x'", "Did you mean 'score'"),
        ("url = ", "Write it as TOML"),
    ],
)
def test_a_description_that_says_nothing_sensible_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "bad.toml").write_text(text, encoding="utf-8")
    with pytest.raises(AssayError) as problem:
        read_description(tmp_path / "bad.toml")
    assert said in str(problem.value)
    with pytest.raises(UnknownSystem, match="no file"):
        read_description(tmp_path / "nowhere.toml")


@pytest.mark.parametrize(
    ("right_line", "wrong_line", "named", "there"),
    [
        ('id = "doc.id"', 'id = "document.id"', "'document.id'", "the keys 'doc', 'rank'"),
        ('id = "doc.id"', 'id = "doc.ident"', "'doc.ident'", "at 'doc' it has the keys 'id'"),
        ('score = "rank.score"', 'score = "score"', "[response] score", "the keys 'doc', 'rank'"),
        ('results = "data.hits"', 'results = "hits"', "'hits'", "the keys 'data'"),
        ('results = "data.hits"', 'results = "data"', "no list at 'data'", "the keys 'hits', 'said', 'price'"),
    ],
)
def test_a_path_that_leads_nowhere_is_told_before_the_run_with_the_keys_that_are_there(  # noqa: PLR0917 - a table
    service: Search, tmp_path: Path, right_line: str, wrong_line: str, named: str, there: str
) -> None:
    path = described(tmp_path, f"{service.url}/search")
    path.write_text(path.read_text(encoding="utf-8").replace(right_line, wrong_line), encoding="utf-8")
    with pytest.raises(UnknownSystem) as problem:
        open_service(path, dataset(), gate=ANYWHERE)
    assert "rag.toml does not fit" in problem.value.message
    assert named in problem.value.message
    assert there in problem.value.message
    assert len(service.heard) == 1


def test_a_path_that_fits_costs_one_request_before_the_run(service: Search, tmp_path: Path) -> None:
    open_service(described(tmp_path, f"{service.url}/search"), dataset(), gate=ANYWHERE)
    assert len(service.heard) == 1


def test_without_paths_of_its_own_a_service_may_give_no_scores(service: Search) -> None:
    usual = ServiceDescription(url=f"{service.url}/usual")
    assert HttpService(usual, "rag", gate=ANYWHERE).try_mapping(CASES[0].query, 2)


def test_a_service_that_is_down_is_told_at_once(tmp_path: Path) -> None:
    closed = Search()
    url = closed.url
    closed.server_close()
    with pytest.raises(EndpointUnavailable, match=r"127\.0\.0\.1") as problem:
        open_service(described(tmp_path, url), dataset(), gate=ANYWHERE)
    assert problem.value.unreachable
    assert problem.value.tries == 1


def test_a_service_that_refuses_every_question_is_told_before_the_run(service: Search, tmp_path: Path) -> None:
    with pytest.raises(UnknownSystem, match="answered 400"):
        open_service(described(tmp_path, f"{service.url}/broken"), dataset(), gate=ANYWHERE)


def test_a_case_carries_how_often_the_service_was_asked(service: Search, tmp_path: Path) -> None:
    description = read_description(described(tmp_path, f"{service.url}/flaky"))
    patient = HttpService(replace(description, attempts=3), "rag", gate=ANYWHERE, pause=lambda _: None)
    found = Asker(patient, Terms(timeout_s=None)).ask(CASES[0])
    assert (found.status, found.tries) == ("ok", 3)
    impatient = HttpService(replace(description, attempts=2), "rag", gate=ANYWHERE, pause=lambda _: None)
    failed = Asker(impatient, Terms(timeout_s=None)).ask(CASES[0])
    assert (failed.status, failed.tries, failed.unreachable) == ("error", 2, False)


def test_candidates_and_stages_are_read_by_their_paths(service: Search, tmp_path: Path) -> None:
    paths = 'candidates = "dense"\nstages = "way"\n'
    with_steps = open_service(described(tmp_path, service.url, paths), dataset(), gate=ANYWHERE)
    seen = with_steps.retrieve(CASES[0].query, 3, CASES[0]).seen
    assert seen is not None
    assert seen.channels == {"dense": with_steps.retrieve(CASES[0].query, 3, CASES[0]).ids}
    assert [(stage.name, stage.dropped) for stage in seen.stages or ()] == [("rerank", ("spa",))]


def test_a_path_to_candidates_that_leads_nowhere_is_told_with_the_keys_that_are_there(
    service: Search, tmp_path: Path
) -> None:
    path = described(tmp_path, service.url, 'candidates = "debug.lists"\n')
    with pytest.raises(UnknownSystem, match=r"candidates: the reply has nothing at 'debug.lists'.* 'data', 'dense'"):
        open_service(path, dataset(), gate=ANYWHERE)
