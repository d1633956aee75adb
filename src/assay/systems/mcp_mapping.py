"""The file that says how an MCP server is started, asked and read: `mcp:FILE.toml`.

    timeout_s = 30                      # for one call
    start_timeout_s = 60
    largest_reply = 8388608             # bytes in one message of the server

    [server]                            # a command that speaks over stdio ...
    command = "npx"
    args = ["-y", "@modelcontextprotocol/server-memory"]
    env = { MEMORY_FILE_PATH = "{scratch}/memory.jsonl", API_KEY = "${API_KEY}" }
    # url = "http://127.0.0.1:8000/mcp" # ... or one that is there already, with headers = { ... }

    [search]
    tool = "search_nodes"
    arguments = { query = "{query}" }   # {query} and {k} are filled in
    each_word = false                   # true: one call for every word, for servers that look for the text as it stands

    [results]                           # dotted paths
    list = "entities"                   # the list in the reply; empty: the reply is the list
    id = "name"                         # within a result; empty: the result is the id
    text = "observations"

    [fill]                              # optional: put the dataset's documents in before the first question
    tool = "create_entities"
    list = "entities"                   # the argument that takes a batch; without it one call a document
    batch = 50
    document = { name = "{id}", entityType = "{entity_type}", observations = ["{title}", "{text}"] }

Also in [results]: `score`, `title`, `rel_path`, `heading_path`; or instead of paths a `pattern` for servers that answer
with text: a regular expression with a group `id` and, if there are such, `score` and `text`. A document has `{id}`,
`{title}`, `{text}`, `{entity_type}`, `{rel_path}`, `{folder}`, `{tags}`, `{date}`. `{scratch}` is a fresh folder that
is gone when the run ends: a server that keeps its memory there never touches yours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.errors import UnknownSystem
from assay.systems.descriptions import read_toml, refuse_unknown

WITHIN = ("id", "score", "text", "title", "rel_path", "heading_path")
"""What a path of [results] may lead to in one result."""
_TABLES = ("server", "search", "results", "fill")
_LIMITS = ("timeout_s", "start_timeout_s", "largest_reply")
_GUIDE = "See docs/guides/evaluate-an-mcp-server.md for an example."


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerStart:
    """How the server is reached: a command, or an address."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchCall:
    """How a question is put."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=lambda: {"query": "{query}"})
    each_word: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class FillCall:
    """How documents are put in."""

    tool: str
    document: Mapping[str, Any]
    list: str = ""
    batch: int = 50
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class McpMapping:
    """Everything the file says, with the environment's values left out."""

    server: ServerStart
    search: SearchCall
    results: Mapping[str, str]
    fill: FillCall | None = None
    timeout_s: float = 30.0
    start_timeout_s: float = 60.0
    largest_reply: int = 8 << 20


def read_mapping(path: Path) -> McpMapping:
    """What a file says, checked: unknown keys are refused with the nearest names."""
    found = read_toml(path, "the server's mapping: mcp:FILE.toml")
    refuse_unknown(path, found, (*_TABLES, *_LIMITS))
    tables = {name: _table(path, found, name) for name in _TABLES}
    for name, known in (
        ("server", ("command", "args", "env", "url", "headers")),
        ("search", ("tool", "arguments", "each_word")),
        ("results", ("list", "pattern", *WITHIN)),
        ("fill", ("tool", "document", "list", "batch", "arguments")),
    ):
        refuse_unknown(path, tables[name], known)
    _check(path, found, tables)
    server = tables["server"]
    return McpMapping(
        server=ServerStart(**{**server, "args": tuple(server.get("args", ()))}),
        search=SearchCall(**tables["search"]),
        results=tables["results"],
        fill=FillCall(**tables["fill"]) if tables["fill"] else None,
        **{name: found[name] for name in _LIMITS if name in found},
    )


def _table(path: Path, found: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = found.get(name, {})
    if not isinstance(table, dict):
        raise UnknownSystem(f"{path}: {name} is no table", remedy=f"Write it below a line [{name}].")
    return table


def _check(path: Path, found: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]) -> None:
    server, search, results, fill = (tables[name] for name in ("server", "search", "results", "fill"))
    limits = [found.get(name, 1) for name in _LIMITS]
    url = server.get("url", "")
    wrong = (
        (bool(server.get("command")) == bool(url), "[server] needs either a command or a url"),
        (not _texts(server.get("args", [])), "args is no list of texts"),
        (not _texts(list(_values(server, "env") + _values(server, "headers"))), "env or headers hold more than texts"),
        (url != "" and not str(url).startswith(("http://", "https://")), f"url {url!r} is no http address"),
        (not _named(search.get("tool")), "[search] has no tool"),
        (not isinstance(search.get("arguments", {}), dict), "the arguments of [search] are no table"),
        (not isinstance(search.get("each_word", False), bool), "each_word is neither true nor false"),
        (not _texts(list(results.values())), "a path of [results] is not text"),
        (bool(fill) and not _named(fill.get("tool")), "[fill] has no tool"),
        (bool(fill) and not isinstance(fill.get("document"), dict), "[fill] has no table document"),
        (not _above_zero(fill.get("batch", 1), int), "batch is no whole number above 0"),
        (not all(_above_zero(one, int, float) for one in limits), "a limit is not above 0"),
        (not _is_pattern(results.get("pattern", "(?P<id>)")), "pattern is no regular expression with a group 'id'"),
    )
    for is_so, what in wrong:
        if is_so:
            raise UnknownSystem(f"{path}: {what}", remedy=_GUIDE)


def _values(table: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    inner = table.get(name, {})
    return tuple(inner.values()) if isinstance(inner, dict) else (inner, None)


def _texts(found: Any) -> bool:
    return isinstance(found, list) and all(isinstance(one, str) for one in found)


def _named(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _above_zero(value: Any, *kinds: type) -> bool:
    return type(value) in kinds and value > 0


def _is_pattern(text: Any) -> bool:
    try:
        return "id" in re.compile(text).groupindex
    except (re.error, TypeError):
        return False
