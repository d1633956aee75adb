"""Any MCP server as a system: its search tool is called for every question, and its reply read by a mapping file.

    open_server(path, dataset)      start or reach it, see that tool and arguments fit, fill it, try the mapping

What does not fit is reported before the first query: a tool the server does not have, arguments it does not
take, a path where its reply has something else. `mcp_mapping` describes the file, `mcp_connection` talks.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.errors import BadValue, EndpointMisbehaved, UnknownSystem
from assay.hashing import HASH_PREFIX, content_hash
from assay.network import Gatekeeper
from assay.records.datasets import Case, Dataset, Document
from assay.records.evaluations import Retrieved
from assay.systems.mcp_connection import WITHIN, FillCall, McpConnection, McpMapping, SearchCall, no_json, read_mapping
from assay.systems.protocol import System
from assay.systems.replies import at_path, fill_template, map_steps, read_reply, refuse_missing_steps, shape_of

OnDocument = Callable[[int, int], None]
TRIED = 5
"""Questions the mapping is tried with until one finds something."""
SHORTEST_WORD = 3
_WORD = re.compile(r"\w+")


def _files(*words: str) -> dict[str, str]:
    """Hashes of the files that a command names, such as the server's own program."""
    return {
        word: HASH_PREFIX + hashlib.sha256(Path(word).read_bytes()).hexdigest()
        for word in words
        if Path(word).is_file() and not os.access(word, os.X_OK)
    }


class McpServer(System):
    """Sends queries to an open server."""

    def __init__(
        self, connection: McpConnection, mapping: McpMapping, name: str, held: frozenset[str] | None = None
    ) -> None:
        self.name = name
        self._connection = connection
        self._mapping = mapping
        self._held = held

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:  # noqa: ARG002 - servers know no cases
        """What the server's tool replies, read by the file's paths."""
        if self._mapping.search.each_word:
            return read_reply({"results": list(self._by_word(query, k))})
        reply = self._call(query, k)
        results = _results(self._mapping.search.tool, reply, self._mapping.results)[:k]
        return read_reply({"results": results, **map_steps(reply, self._mapping.results, "[results] candidates")})

    def results(self, query: str, k: int) -> list[Any]:
        """The results of one call, each as `replies` reads it."""
        return _results(self._mapping.search.tool, self._call(query, k), self._mapping.results)

    def try_mapping(self, query: str) -> bool:
        """Ask once and read the reply by every path of the file; whether it had a result to read."""
        search = self._mapping.search
        if search.each_word:
            return bool(list(self._by_word(query, 1)))
        reply = self._call(query, 1)
        results = _results(search.tool, reply, self._mapping.results)
        if results:
            refuse_missing_steps(reply, self._mapping.results, "results")
        read_reply({"results": results[:1], **map_steps(reply, self._mapping.results, "[results] candidates")})
        return bool(results)

    def _call(self, query: str, k: int) -> Any:
        search = self._mapping.search
        return self._connection.call(search.tool, fill_template(search.arguments, {"query": query, "k": k}))

    def _by_word(self, query: str, k: int) -> Iterator[Any]:
        """One call for each term. A result counts more the fewer others its terms find."""
        weights: dict[Any, float] = {}
        found: dict[Any, Any] = {}
        for word in dict.fromkeys(
            candidate for candidate in _WORD.findall(query.casefold()) if len(candidate) >= SHORTEST_WORD
        ):
            results = self.results(word, k)
            for result in results:
                ident = result["id"] if isinstance(result, Mapping) else result
                found.setdefault(ident, result)
                weights[ident] = weights.get(ident, 0.0) + 1.0 / len(results)
        for ident in sorted(weights, key=lambda item: -weights[item])[:k]:
            one = found[ident]
            yield {**(one if isinstance(one, Mapping) else {"id": one}), "score": weights[ident]}

    def subject(self) -> Mapping[str, Any]:
        """The server as it calls itself and the mapping; variables of the environment stand there by name."""
        mapping, start = self._mapping, self._mapping.server
        return {
            "system": self.name,
            "kind": "mcp",
            "server": self._connection.server,
            "reached": start.url or " ".join([start.command, *start.args]),
            "files": _files(start.command, *start.args),
            "tool": mapping.search.tool,
            "filled": mapping.fill is not None,
            "mapping": content_hash([_search_facts(mapping.search), dict(mapping.results), _fill_facts(mapping.fill)]),
        }

    def holds(self, document_ids: Collection[str]) -> frozenset[str] | None:
        """Which of these it was given; None where it was not filled here."""
        return (
            None if self._held is None else frozenset(document for document in document_ids if document in self._held)
        )

    def close(self) -> None:
        """End the connection, and the server if it was started here."""
        self._connection.close()


def open_server(path: Path, dataset: Dataset, on_document: OnDocument | None = None, *, gate: Gatekeeper) -> McpServer:
    """Open the server that a file describes, fill it with the dataset's documents if it has `[fill]`, and try it."""
    mapping = read_mapping(path)
    try:
        connection = McpConnection(mapping, gate=gate)
    except TimeoutError as problem:
        raise UnknownSystem(str(problem), remedy="Raise start_timeout_s, or start it by hand and look.") from problem
    try:
        _fit(path, connection, mapping.search.tool, mapping.search.arguments)
        held = None if mapping.fill is None else _fill_server(path, connection, mapping.fill, dataset, on_document)
        server = McpServer(connection, mapping, path.name.removesuffix(".toml"), held)
        _try(path, server, dataset)
    except BaseException:
        connection.close()
        raise
    return server


def _fit(path: Path, connection: McpConnection, tool: str, arguments: Mapping[str, Any]) -> None:
    """Refuse a tool that is not there, and arguments that its schema does not have or misses."""
    if tool not in connection.tools:
        there = ", ".join(sorted(connection.tools)) or "none"
        raise UnknownSystem(f"{path}: the server has no tool {tool!r}", remedy=f"Its tools are: {there}.")
    schema = connection.tools[tool].input_schema
    known, needed = schema.get("properties") or {}, schema.get("required") or []
    taken = ", ".join(sorted(known)) or "none"
    strange = [argument for argument in arguments if known and argument not in known]
    missing = [name for name in needed if name not in arguments]
    if strange or missing:
        what = f"takes no argument {strange[0]!r}" if strange else f"needs the argument {missing[0]!r}"
        raise UnknownSystem(f"{path}: the tool {tool!r} {what}", remedy=f"Its arguments are: {taken}.")


def _fill_server(
    path: Path, connection: McpConnection, fill: FillCall, dataset: Dataset, on_document: OnDocument | None
) -> frozenset[str]:
    _fit(path, connection, fill.tool, {**fill.arguments, **({fill.list: []} if fill.list else fill.document)})
    size = fill.batch if fill.list else 1
    for start in range(0, len(dataset.documents), size):
        some = dataset.documents[start : start + size]
        made = [fill_template(fill.document, _document_values(document)) for document in some]
        given = {**fill.arguments, **({fill.list: made} if fill.list else made[0])}
        try:
            connection.call(fill.tool, given)
        except EndpointMisbehaved as problem:
            raise UnknownSystem(
                f"{path}: document {some[0].id!r} could not be put in: {problem.message}", remedy="Mend [fill]."
            ) from problem
        if on_document is not None:
            on_document(start + len(some), len(dataset.documents))
    return frozenset(document.id for document in dataset.documents)


def _document_values(document: Document) -> dict[str, Any]:
    return {
        "id": document.id,
        "title": document.title,
        "text": document.text,
        "entity_type": document.entity_type,
        "rel_path": document.rel_path,
        "folder": document.folder,
        "tags": list(document.tags),
        "date": "" if document.dated is None else document.dated.isoformat(),
    }


def _try(path: Path, server: McpServer, dataset: Dataset) -> None:
    """Ask the first few questions until one finds something that the mapping can be tried on."""
    for case in dataset.cases[:TRIED]:
        try:
            if server.try_mapping(case.query):
                return
        except (BadValue, EndpointMisbehaved) as problem:
            raise UnknownSystem(f"{path} does not fit: {problem.message}", remedy=problem.remedy) from problem
        except TimeoutError as problem:
            raise UnknownSystem(f"{path}: {problem}", remedy="Raise timeout_s, or ask it by hand.") from problem


def _results(tool: str, reply: Any, paths: Mapping[str, str]) -> list[Any]:
    if paths.get("pattern"):
        return [dict(found.groupdict()) for found in re.finditer(paths["pattern"], _as_text(reply))]
    if isinstance(reply, str):
        raise no_json(tool, reply)
    found = at_path(reply, paths.get("list", ""), what=f"the reply of {tool}")
    if not isinstance(found, list):
        where = repr(paths["list"]) if paths.get("list") else "its top"
        raise BadValue(f"the reply of {tool} has no list at {where}: {shape_of(found)}", remedy="Mend [results] list.")
    return [_result(result, paths, place) for place, result in enumerate(found, start=1)]


def _result(result: Any, paths: Mapping[str, str], place: int) -> Any:
    if not paths.get("id"):
        return result
    read = {name: at_path(result, paths[name], default=None) for name in WITHIN if paths.get(name)}
    read["id"] = at_path(result, paths["id"], what=f"result {place}")
    return {name: _text_of(value) if name in ("text", "title") else value for name, value in read.items()}


def _text_of(value: Any) -> Any:
    """Several texts are one with a line for each."""
    return "\n".join(map(str, value)) if isinstance(value, list) else value


def _as_text(reply: Any) -> str:
    return reply if isinstance(reply, str) else str(at_path(reply, "result", default=reply))


def _search_facts(search: SearchCall) -> list[Any]:
    return [search.tool, dict(search.arguments), search.each_word]


def _fill_facts(fill: FillCall | None) -> list[Any] | None:
    return None if fill is None else [fill.tool, dict(fill.document), fill.list, dict(fill.arguments)]
