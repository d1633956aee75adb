"""A search service over HTTP as a system: `http:FILE.toml` says where it is and how its JSON is read.

    url = "https://search.example.com/v1/search"
    method = "POST"                 # or GET: then [request] is the query string
    timeout_s = 10
    attempts = 3                    # tries for one case, within the timeout

    [headers]
    Authorization = "Bearer ${SEARCH_KEY}"

    [request]                       # dotted path in the body = value; {query} and {k} are filled in
    query = "{query}"
    "options.limit" = "{k}"

    [response]                      # dotted paths; a number steps into a list
    results = "hits"                # the list of results; empty: the reply is the list
    id = "document.id"              # within a result; empty: the result is the id
    score = "score"

Also in [response]: `text`, `rel_path`, `heading_path`, `chunk_id` within a result, `answer`, `cost` within the reply.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import numpy as np

from assay.clock import Clock, SystemClock
from assay.errors import BadValue, UnknownSystem
from assay.hashing import content_hash
from assay.models.endpoint import Endpoint, EndpointOptions
from assay.records.datasets import Case
from assay.records.evaluations import Retrieved
from assay.systems.protocol import System
from assay.systems.replies import read_reply

_TOP = ("url", "method", "timeout_s", "attempts", "headers", "request", "response")
_WITHIN = ("id", "score", "text", "rel_path", "heading_path", "chunk_id")
_RESPONSE = ("results", *_WITHIN, "answer", "cost")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceDescription:
    """What the file says, with the environment's values left out."""

    url: str
    method: str = "POST"
    timeout_s: float = 30.0
    attempts: int = 3
    headers: Mapping[str, str] = field(default_factory=dict)
    request: Mapping[str, Any] = field(default_factory=lambda: {"query": "{query}", "k": "{k}"})
    response: Mapping[str, str] = field(default_factory=lambda: {"results": "results", "id": "id", "score": "score"})


class HttpService(System):
    """Asks a service."""

    def __init__(
        self,
        described: ServiceDescription,
        name: str,
        *,
        environment: Mapping[str, str] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.name = name
        self._described = described
        self._endpoint = Endpoint(
            EndpointOptions(
                url=described.url,
                headers=_filled_headers(described, os.environ if environment is None else environment),
                attempts=described.attempts,
                deadline_s=described.timeout_s,
            ),
            clock=clock or SystemClock(),
            rng=np.random.default_rng(),
        )

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:  # noqa: ARG002 - services know no cases
        """What the service replies, read by the file's paths."""
        asked = {path: _filled(value, query, k) for path, value in self._described.request.items()}
        if self._described.method == "GET":
            return self._read(self._endpoint.get(f"?{urlencode(asked)}" if asked else ""))
        return self._read(self._endpoint.post("", _nested(asked)))

    def subject(self) -> Mapping[str, Any]:
        """The description; a header's value stands there as the file has it, with the variable's name."""
        described = self._described
        told = {"method": described.method, "request": dict(described.request), "response": dict(described.response)}
        return {"system": self.name, "kind": "http", "url": described.url, "mapping": content_hash(told)}

    def _read(self, reply: Any) -> Retrieved:
        paths = self._described.response
        results = _at(reply, paths.get("results", ""))
        if not isinstance(results, list):
            raise BadValue(
                f"the reply has no list at {paths.get('results') or 'its top'!r}", remedy="Mend [response] results."
            )
        whole = {name: _at(reply, paths[name], default=None) for name in ("answer", "cost") if name in paths}
        return read_reply({"results": [self._result(one) for one in results], **whole})

    def _result(self, one: Any) -> Any:
        paths = self._described.response
        if not paths.get("id"):
            return one
        return {name: _at(one, paths[name], default=None) for name in _WITHIN if paths.get(name)}


def load_service(path: Path) -> HttpService:
    """The service that a file describes."""
    return HttpService(read_description(path), path.name.removesuffix(".toml"))


def read_description(path: Path) -> ServiceDescription:
    """What a file says, checked: unknown keys are refused with the nearest names."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as problem:
        raise UnknownSystem(
            f"there is no file {path}", remedy="Give the service's description: http:FILE."
        ) from problem
    except (OSError, ValueError) as problem:
        raise UnknownSystem(f"cannot read {path}: {problem}", remedy="Write it as TOML in UTF-8.") from problem
    _known(path, found, _TOP)
    _known(path, found.get("response", {}), _RESPONSE)
    _check(path, found)
    return ServiceDescription(**found)


def _known(path: Path, found: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for key in found:
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise UnknownSystem(f"{path} has the key {key!r}", remedy=f"{hint}Known: {', '.join(names)}.")


def _check(path: Path, found: Mapping[str, Any]) -> None:
    url, method = found.get("url"), found.get("method", "POST")
    numbers = [found.get(name, 1) for name in ("timeout_s", "attempts")]
    wrong = (
        (not isinstance(url, str) or not url.startswith(("http://", "https://")), f"url {url!r} is no http address"),
        (method not in ("GET", "POST"), f"method {method!r} is neither GET nor POST"),
        (not all(isinstance(one, (int, float)) and one > 0 for one in numbers), "timeout_s or attempts is not above 0"),
        (
            not all(isinstance(found.get(t, {}), dict) for t in ("headers", "request", "response")),
            "a table is no table",
        ),
        (not _all_text(found.get("headers")), "a header is not text"),
        (not _all_text(found.get("response")), "a path of [response] is not text"),
    )
    for is_so, what in wrong:
        if is_so:
            raise UnknownSystem(f"{path}: {what}", remedy="See docs/guides/evaluate-a-retriever.md for an example.")


def _all_text(table: Any) -> bool:
    return not isinstance(table, dict) or all(isinstance(one, str) for one in table.values())


def _filled_headers(described: ServiceDescription, environment: Mapping[str, str]) -> dict[str, str]:
    """Headers with `${NAME}` replaced by the environment's value; a secret never leaves the machine unencrypted."""
    address = urlsplit(described.url)
    open_road = address.scheme == "http" and address.hostname not in ("localhost", "127.0.0.1", "::1")
    filled = {}
    for name, value in described.headers.items():
        missing = [one for one in _VARIABLE.findall(value) if not environment.get(one)]
        if missing:
            raise UnknownSystem(f"the header {name} needs the environment variable {missing[0]}", remedy="Set it.")
        if open_road and _VARIABLE.search(value):
            raise UnknownSystem(f"the header {name} would go to {address.hostname} unencrypted", remedy="Use https.")
        filled[name] = _VARIABLE.sub(lambda found: environment[found[1]], value)
    return filled


def _filled(value: Any, query: str, k: int) -> Any:
    if value == "{k}":
        return k
    return value.replace("{k}", str(k)).replace("{query}", query) if isinstance(value, str) else value


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for path, value in flat.items():
        *outer, last = path.split(".")
        into = body
        for name in outer:
            into = into.setdefault(name, {})
        into[last] = value
    return body


_REFUSE = object()


def _at(value: Any, path: str, *, default: Any = _REFUSE) -> Any:
    """What stands at a dotted path."""
    for name in path.split(".") if path else ():
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        elif default is not _REFUSE:
            return default
        else:
            raise BadValue(f"the reply has nothing at {path!r}", remedy="Mend the path in [response].")
    return value
