"""A stand-in on the loopback for the part of GitHub's REST API that comments need; it checks every request."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

REPOSITORY = "owner/shop"
TOKEN = "made-up-token"
AUTHOR = "github-actions[bot]"
PULL_REQUEST = 17
_ROOT = f"/api/v3/repos/{REPOSITORY}/issues"


class CommentsApi(ThreadingHTTPServer):
    """Keeps the comments of one pull request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.comments: list[dict[str, Any]] = []
        self.asked: list[tuple[str, str]] = []
        """Method and path of every request, in order."""
        self.wrong: list[str] = []
        """What was wrong with requests; a test demands that there is nothing."""
        self.refuse: dict[str, tuple[int, Any]] = {}
        """By method: the status and the content to answer with instead."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/api/v3"

    def add(self, body: str, login: str = AUTHOR) -> int:
        """Write a comment as somebody; return its id."""
        number = 1000 + len(self.comments)
        self.comments.append({"id": number, "body": body, "user": {"login": login}})
        return number

    def environment(self) -> dict[str, str]:
        """What the script reads of a workflow."""
        return {
            "GITHUB_API_URL": self.url,
            "GITHUB_REPOSITORY": REPOSITORY,
            "COMMENT_TOKEN": TOKEN,
            "COMMENT_AUTHOR": AUTHOR,
        }


class _Handler(BaseHTTPRequestHandler):
    server: CommentsApi
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
        self._check(parts.path == f"{_ROOT}/{PULL_REQUEST}/comments", f"GET {parts.path}")
        self._check(size <= 100, f"per_page {size}")
        self._reply(200, self.server.comments[(page - 1) * size : page * size])

    def do_POST(self) -> None:
        self._check(self.path == f"{_ROOT}/{PULL_REQUEST}/comments", f"POST {self.path}")
        body = self._body()
        if "POST" not in self.server.refuse:
            self.server.add(body)
        self._reply(201, {})

    def do_PATCH(self) -> None:
        start, _, number = self.path.rpartition("/")
        self._check(start == f"{_ROOT}/comments", f"PATCH {self.path}")
        found = next((comment for comment in self.server.comments if str(comment["id"]) == number), None)
        self._check(found is not None, f"there is no comment {number}")
        body = self._body()
        if found is not None and "PATCH" not in self.server.refuse:
            found["body"] = body
        self._reply(200, {})

    def _body(self) -> str:
        self._check(self.headers.get("Content-Type") == "application/json", "no Content-Type")
        content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._check(list(content) == ["body"] and isinstance(content["body"], str), f"content {sorted(content)}")
        self._check(len(content["body"]) <= 65_536, "the comment is too long")
        return str(content["body"])

    def _reply(self, status: int, content: Any) -> None:
        self.server.asked.append((self.command, self.path))
        self._check(self.headers.get("Authorization") == f"Bearer {TOKEN}", "another token")
        self._check(self.headers.get("Accept") == "application/vnd.github+json", "another Accept")
        self._check(self.headers.get("X-GitHub-Api-Version") == "2022-11-28", "another version")
        status, content = self.server.refuse.get(self.command, (status, content))
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _check(self, right: bool, what: str) -> None:
        if not right:
            self.server.wrong.append(what)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the base class
        """Say nothing."""


@contextmanager
def serving_comments() -> Iterator[CommentsApi]:
    """Serve until the block ends; every request must have been right."""
    api = CommentsApi()
    thread = threading.Thread(target=api.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield api
    finally:
        api.shutdown()
        thread.join()
        api.server_close()
    assert api.wrong == []
