"""Services over HTTP and MCP servers as contenders, described by a TOML file: `http:FILE`, `mcp:FILE`.

    url = "http://127.0.0.1:8000"       # http: the address that paths are added to
    timeout_s = 30

    [server]                            # mcp: how it is started or reached, as for `assay run`
    command = "my-memory-server"

    [fill]                              # one call an item: path (http) or tool (mcp)
    path = "/memories"
    body = { user = "{user}", id = "{id}", text = "{text}", date = "{date}" }

    [ask]
    path = "/search"
    body = { user = "{user}", query = "{question}", limit = "{k}" }

    [results]                           # dotted paths into the reply of [ask]
    list = "hits"
    id = "id"
    text = "text"

    [update]                            # optional: as [fill]
    [delete]                            # optional: {user} and {id}

    [declares]                          # what the system does not use, and its embedder
    ignores = ["filters", "timestamps"]
    embedder = "unknown"

In an MCP file `tool` and `arguments` take the places of `path` and `body`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.errors import BadValue, InputError, UnknownSystem
from assay.hashing import content_hash
from assay.referee.contenders.contract import UNKNOWN_EMBEDDER, Contender, ContenderHit, Declaration
from assay.referee.sets.values import MemoryItem
from assay.systems.replies import at_path, fill_template, read_toml, refuse_unknown

ACTIONS = ("fill", "ask", "update", "delete")
_TOP = ("url", "headers", "timeout_s", "server", "results", "declares", *ACTIONS)
_GUIDE = "See `assay help bench memory`, and the guide to benchmarking your memory system for an example."
Send = Callable[[str, Mapping[str, Any]], Any]
"""Sends a filled body to a path or tool, and returns the reply."""


class DescribedContender(Contender):
    """Calls a service as its file says."""

    def __init__(self, described: Mapping[str, Any], name: str, send: Send, close: Callable[[], None]) -> None:
        self.name = name
        self._described = described
        self._send = send
        self._close = close
        self._target = "tool" if "server" in described else "path"
        self._body = "arguments" if "server" in described else "body"

    @property
    def declaration(self) -> Declaration:
        """Return what the file declares."""
        declares = self._described.get("declares", {})
        return Declaration(
            ignores=tuple(declares.get("ignores", ())),
            embedder=declares.get("embedder", UNKNOWN_EMBEDDER) or None,
            configuration={"description": content_hash(dict(self._described))},
        )

    def fill(self, user: str, items: Sequence[MemoryItem]) -> None:
        """Make one call for each item."""
        for item in items:
            self._call("fill", user, _facts(item))

    def ask(self, user: str, question: str, k: int) -> Sequence[ContenderHit]:
        """Make one call, and read its results."""
        reply = self._call("ask", user, {"question": question, "k": k})
        paths = self._described.get("results", {})
        results = at_path(reply, paths.get("list", ""), what=f"the reply of {self.name}")
        if not isinstance(results, list):
            raise BadValue(f"the reply of {self.name} has no list of results", remedy="Mend [results] list.")
        return [
            ContenderHit(
                id=str(at_path(result, paths.get("id", "id"), what="a result")),
                text=str(at_path(result, paths.get("text", "text"), default="")),
            )
            for result in results
        ]

    def update(self, user: str, item: MemoryItem) -> None:
        """Make the call of [update]."""
        self._call("update", user, _facts(item))

    def delete(self, user: str, item_id: str) -> None:
        """Make the call of [delete]."""
        self._call("delete", user, {"id": item_id})

    def close(self) -> None:
        """End the connection."""
        self._close()

    def _call(self, action: str, user: str, known: Mapping[str, Any]) -> Any:
        if action not in self._described:
            raise InputError(f"{self.name} does not describe [{action}]", remedy=f"Add a table [{action}].")
        table = self._described[action]
        filled = fill_template(table.get(self._body, {}), {"user": user, **known})
        return self._send(table[self._target], filled)


def _facts(item: MemoryItem) -> dict[str, Any]:
    return {
        "id": item.id,
        "text": item.text,
        "session": item.session,
        "speaker": item.speaker,
        "date": item.date.isoformat() if item.date else "",
    }


def read_description(path: Path, *, kind: str) -> dict[str, Any]:
    """Read and check a description; unknown keys are refused with the nearest names."""
    found = read_toml(path, f"the system's description: {kind}:FILE")
    refuse_unknown(path, found, _TOP)
    target = "tool" if kind == "mcp" else "path"
    wrong = (
        (
            kind == "http" and not str(found.get("url", "")).startswith(("http://", "https://")),
            "url is not an HTTP URL",
        ),
        (kind == "mcp" and not isinstance(found.get("server"), dict), "there is no table [server]"),
        *(
            (
                not isinstance(found.get(action, {}), dict) or target not in found.get(action, {target: ""}),
                f"[{action}] has no {target}",
            )
            for action in ACTIONS
        ),
        (any(action not in found for action in ("fill", "ask")), "[fill] or [ask] is missing"),
    )
    for is_so, what in wrong:
        if is_so:
            raise UnknownSystem(f"{path}: {what}", remedy=_GUIDE)
    return found
