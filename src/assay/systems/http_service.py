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

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from assay.clock import Clock, SystemClock
from assay.errors import BadValue, UnknownSystem
from assay.hashing import content_hash
from assay.models.endpoint import Endpoint, EndpointOptions
from assay.records.datasets import Case
from assay.records.evaluations import Retrieved
from assay.systems.descriptions import at_path, filled, headers_for, read_toml, refuse_unknown
from assay.systems.protocol import System
from assay.systems.replies import read_reply

_TOP = ("url", "method", "timeout_s", "attempts", "headers", "request", "response")
_WITHIN = ("id", "score", "text", "rel_path", "heading_path", "chunk_id")
_RESPONSE = ("results", *_WITHIN, "answer", "cost")


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
                headers=headers_for(described.url, described.headers, environment),
                attempts=described.attempts,
                deadline_s=described.timeout_s,
            ),
            clock=clock or SystemClock(),
            rng=np.random.default_rng(),
        )

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:  # noqa: ARG002 - services know no cases
        """What the service replies, read by the file's paths."""
        asked = filled(self._described.request, {"query": query, "k": k})
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
        results = at_path(reply, paths.get("results", ""))
        if not isinstance(results, list):
            raise BadValue(
                f"the reply has no list at {paths.get('results') or 'its top'!r}", remedy="Mend [response] results."
            )
        whole = {name: at_path(reply, paths[name], default=None) for name in ("answer", "cost") if name in paths}
        return read_reply({"results": [self._result(one) for one in results], **whole})

    def _result(self, one: Any) -> Any:
        paths = self._described.response
        if not paths.get("id"):
            return one
        return {name: at_path(one, paths[name], default=None) for name in _WITHIN if paths.get(name)}


def load_service(path: Path) -> HttpService:
    """The service that a file describes."""
    return HttpService(read_description(path), path.name.removesuffix(".toml"))


def read_description(path: Path) -> ServiceDescription:
    """What a file says, checked: unknown keys are refused with the nearest names."""
    found = read_toml(path, "the service's description: http:FILE")
    refuse_unknown(path, found, _TOP)
    refuse_unknown(path, found.get("response", {}), _RESPONSE)
    _check(path, found)
    return ServiceDescription(**found)


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


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for path, value in flat.items():
        *outer, last = path.split(".")
        into = body
        for name in outer:
            into = into.setdefault(name, {})
        into[last] = value
    return body
