"""Write the gate's comment into a pull request: a new one the first time, the same one edited from then on.

    python post_comment.py assay-comment.md --pull-request 17

The file is what `assay gate --comment` wrote; its first line is a hidden marker. A comment is ours when its text begins
with the marker and the account of this token wrote it: a comment of somebody else that holds the marker is left alone.

Needs Python alone. The server and the repository are those of the workflow (`GITHUB_API_URL`, `GITHUB_REPOSITORY`); the
token is in `COMMENT_TOKEN`. What the server refuses is a warning of the workflow and ends with exit code 0,
because the verdict of the gate must not depend on a comment; wrong use ends with 3.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

MARKER = "<!-- assay gate -->"
"""The first line of what `assay gate --comment` writes."""
PAGE = 100
"""Comments asked for at once; the most that the server gives."""
MOST_PAGES = 100
LONGEST = 65_000
"""Characters of a comment, below what the server takes."""
MOST_BYTES = 20_000_000
TIMEOUT_S = 30.0
WRONG_USE = 3
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._/-]{0,80}")
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*/(?!\.{1,2}$)[A-Za-z0-9._-]+")
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class CommentRefused(Exception):
    """The server did not do what was asked; the message says what and why."""


class WrongUse(Exception):
    """The command line or the environment lacks something."""


class Place(NamedTuple):
    """Where the comment goes, and who writes it."""

    api: str
    repository: str
    pull_request: int
    token: str
    author: str


class Server:
    """The part of the REST API that is needed. Redirects are not followed: the token goes to one host only."""

    def __init__(self, place: Place) -> None:
        self._place = place
        parts = urlsplit(place.api)
        if parts.hostname is None or (parts.scheme != "https" and parts.hostname not in _LOOPBACK):
            raise WrongUse(f"GITHUB_API_URL is {place.api!r}; it must begin with https://")
        secure = parts.scheme == "https"
        connection = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self._connection = connection(parts.hostname, parts.port, timeout=TIMEOUT_S)
        self._root = f"{parts.path.rstrip('/')}/repos/{place.repository}/issues"

    def list_comments(self) -> Iterator[dict[str, Any]]:
        """Every comment of the pull request, oldest first, page by page."""
        for page in range(1, MOST_PAGES + 1):
            path = f"/{self._place.pull_request}/comments?per_page={PAGE}&page={page}"
            found = self._ask("GET", path, 200)
            if not isinstance(found, list):
                raise CommentRefused(f"GET {path} gave no list of comments")
            yield from (comment for comment in found if isinstance(comment, dict))
            if len(found) < PAGE:
                return

    def create(self, body: str) -> None:
        """Write a new comment."""
        self._ask("POST", f"/{self._place.pull_request}/comments", 201, {"body": body})

    def edit(self, comment_id: int, body: str) -> None:
        """Replace the text of a comment."""
        self._ask("PATCH", f"/comments/{comment_id}", 200, {"body": body})

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _ask(self, method: str, path: str, expected: int, content: Mapping[str, str] | None = None) -> Any:
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self._place.token}",
            "User-Agent": "assay-gate",
            "X-GitHub-Api-Version": "2022-11-28",
            **({} if content is None else {"Content-Type": "application/json"}),
        }
        data = None if content is None else json.dumps(content).encode()
        try:
            self._connection.request(method, f"{self._root}{path}", body=data, headers=headers)
            reply = self._connection.getresponse()
            text = reply.read(MOST_BYTES)
        except (OSError, http.client.HTTPException) as problem:
            raise CommentRefused(f"{method} {path} failed: {type(problem).__name__}: {problem}") from problem
        if reply.status != expected:
            raise CommentRefused(f"{method} {path} ended with {reply.status}: {_message(text)}{_remedy(reply.status)}")
        try:
            return json.loads(text)
        except ValueError as problem:
            raise CommentRefused(f"{method} {path} gave something that is not JSON") from problem


def _message(text: bytes) -> str:
    """What the server said, in one line."""
    try:
        found = json.loads(text)
    except ValueError:
        found = {}
    told = found.get("message") if isinstance(found, dict) else None
    return " ".join(str(told or "no reason was given").split())[:300]


def _remedy(status: int) -> str:
    if status in (401, 403, 404):
        return ". Give the job the permission `pull-requests: write`; requests from forks have a token that only reads"
    return ""


def add_key(body: str, key: str) -> str:
    """Return the comment with the key in its marker, cut where it is too long for the server."""
    first, _, rest = body.partition("\n")
    if first.strip() != MARKER:
        raise WrongUse(f"the file does not begin with {MARKER}; write it with `assay gate --comment FILE`")
    whole = f"{marker_of(key)}\n{rest}"
    return whole if len(whole) <= LONGEST else f"{whole[:LONGEST]}\n\n(The rest was cut: too long for a comment.)\n"


def marker_of(key: str) -> str:
    """Return the hidden line by which a comment is found again."""
    if key and not _KEY.fullmatch(key):
        raise WrongUse(f"the key {key!r} may hold letters, digits, spaces and . _ / - only")
    return MARKER if not key else MARKER.replace(" -->", f" {key} -->")


def find_own(comments: Iterator[dict[str, Any]], marker: str, author: str) -> int | None:
    """Return the id of the first comment that begins with the marker and that this author wrote."""
    for comment in comments:
        written_by = (comment.get("user") or {}).get("login")
        first_line = str(comment.get("body") or "").partition("\n")[0].strip()
        if first_line == marker and written_by == author:
            return int(comment["id"])
    return None


def post(body: str, place: Place, key: str = "") -> str:
    """Write or edit the comment; return what was done."""
    text, marker = add_key(body, key), marker_of(key)
    server = Server(place)
    try:
        own = find_own(server.list_comments(), marker, place.author)
        if own is None:
            server.create(text)
            return "the comment was written"
        server.edit(own, text)
        return f"the comment {own} was edited"
    finally:
        server.close()


def read_place(environment: Mapping[str, str], pull_request: str) -> Place:
    """Read where the comment goes from the environment of a workflow."""
    wanted = ("GITHUB_API_URL", "GITHUB_REPOSITORY", "COMMENT_TOKEN", "COMMENT_AUTHOR")
    missing = [name for name in wanted if not environment.get(name)]
    if missing:
        raise WrongUse(f"not set: {', '.join(missing)}")
    api, repository, token, author = (environment[name] for name in wanted)
    if not _REPOSITORY.fullmatch(repository):
        raise WrongUse(f"GITHUB_REPOSITORY is {repository!r}, not OWNER/NAME")
    if not re.fullmatch(r"[1-9][0-9]*", pull_request):
        raise WrongUse(f"the pull request is {pull_request!r}, not a number")
    return Place(api, repository, int(pull_request), token, author)


def _escape(problem: Exception) -> str:
    """A message as a workflow reads it: one line, with percent signs of its own."""
    return " ".join(str(problem).split()).replace("%", "%25")


def main(arguments: Sequence[str] | None = None, environment: Mapping[str, str] | None = None) -> int:
    """Read the file, write the comment, and say what happened."""
    parser = argparse.ArgumentParser(description="Write the gate's comment into a pull request, or edit it.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--pull-request", required=True, metavar="NUMBER")
    given = parser.parse_args(arguments)
    known = os.environ if environment is None else environment
    try:
        body = given.file.read_text(encoding="utf-8")
        done = post(body, read_place(known, given.pull_request), known.get("COMMENT_KEY", ""))
    except CommentRefused as problem:
        sys.stdout.write(f"::warning title=Assay comment::{_escape(problem)}\n")
        return 0
    except (OSError, WrongUse) as problem:
        sys.stdout.write(f"::error title=Assay comment::{_escape(problem)}\n")
        return WRONG_USE
    sys.stdout.write(f"Assay: {done}.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
