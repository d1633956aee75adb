"""A search service over HTTP as a system: `http:FILE.toml` describes its address and how its JSON is read.

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

Also in [response]: `text`, `rel_path`, `heading_path`, `chunk_id` within a result, `answer`, `cost` within the reply;
and what the service says of how it made the list, for `assay report --why`:

    candidates = "debug.channels"   # an object of lists by channel, or a list of objects with `name` and `results`
    candidate_id = "doc"            # within a candidate; without it the path `id`, and so for candidate_score
    stages = "debug.stages"         # see `reported_steps`

`open_service` sends one query before the run begins, so that a wrong path or address costs one request.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from assay.clock import Clock, SystemClock
from assay.errors import BadValue, EndpointMisbehaved, EndpointUnavailable, UnknownSystem
from assay.hashing import content_hash
from assay.models.endpoint import Answered, Endpoint, EndpointOptions
from assay.models.http_pool import HttpPool
from assay.network import Gatekeeper
from assay.records.datasets import Case, Dataset
from assay.records.evaluations import Retrieved
from assay.systems.boundary import is_unreachable
from assay.systems.protocol import System
from assay.systems.replies import (
    STEP_PATHS,
    at_path,
    fill_template,
    headers_for,
    map_steps,
    read_reply,
    read_toml,
    refuse_missing_steps,
    refuse_unknown,
    shape_of,
)

_TOP = ("url", "method", "timeout_s", "attempts", "headers", "request", "response")
_WITHIN = ("id", "score", "text", "rel_path", "heading_path", "chunk_id")
TRIED = 5
"""Questions the mapping is tried with until one finds something."""
TRIED_K = 10
"""Results requested in the trial."""
DEFAULT_RESPONSE: Mapping[str, str] = {"results": "results", "id": "id", "score": "score"}
"""Where a file has no [response]; the score may then be missing."""
_NOWHERE = object()
_RESPONSE = ("results", *_WITHIN, "answer", "cost", *STEP_PATHS)


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceDescription:
    """The content of the file, without values of environment variables."""

    url: str
    method: str = "POST"
    timeout_s: float = 30.0
    attempts: int = 3
    headers: Mapping[str, str] = field(default_factory=dict)
    request: Mapping[str, Any] = field(default_factory=lambda: {"query": "{query}", "k": "{k}"})
    response: Mapping[str, str] = field(default_factory=lambda: dict(DEFAULT_RESPONSE))


class HttpService(System):
    """Sends queries to a service."""

    def __init__(
        self,
        described: ServiceDescription,
        name: str,
        *,
        gate: Gatekeeper,
        environment: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = name
        self._described = described
        self._pool = HttpPool()
        self._endpoint = Endpoint(
            EndpointOptions(
                url=described.url,
                headers=headers_for(described.url, described.headers, environment),
                attempts=described.attempts,
                deadline_s=described.timeout_s,
            ),
            gate=gate,
            clock=clock or SystemClock(),
            rng=np.random.default_rng(),
            pause=pause,
            pool=self._pool,
        )

    def close(self) -> None:
        """Close the connections to the service."""
        self._pool.close()

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:  # noqa: ARG002 - services know no cases
        """What the service replies, read by the file's paths."""
        reply = self._ask(query, k)
        return replace(self._read(reply.value), tries=reply.tries)

    def try_mapping(self, query: str, k: int) -> bool:
        """Ask once and read the reply by every path of the file; whether it had a result to read.

        Stricter than `retrieve`: a path of the file that leads nowhere in all results is refused, since later it would
        only look like results without scores or texts.
        """
        reply = self._ask(query, k).value
        results = self._results(reply)
        self._read(reply)
        written = {} if self._described.response == DEFAULT_RESPONSE else self._described.response
        for name, path in written.items():
            leads = name not in _WITHIN or any(
                at_path(result, path, default=_NOWHERE) is not _NOWHERE for result in results
            )
            if results and not leads:
                # Raises: the message names the keys that are there.
                at_path(results[0], path, what=f"[response] {name}: result 1")
        if results:
            refuse_missing_steps(reply, written, "response")
        return bool(results)

    def _ask(self, query: str, k: int) -> Answered:
        asked = fill_template(self._described.request, {"query": query, "k": k})
        if self._described.method == "GET":
            return self._endpoint.send(f"?{urlencode(asked)}" if asked else "", None)
        return self._endpoint.send("", _nest(asked))

    def subject(self) -> Mapping[str, Any]:
        """The description; a header's value is shown as in the file, with the variable's name."""
        described = self._described
        told = {"method": described.method, "request": dict(described.request), "response": dict(described.response)}
        return {"system": self.name, "kind": "http", "url": described.url, "mapping": content_hash(told)}

    def _read(self, reply: Any) -> Retrieved:
        paths = self._described.response
        results = self._results(reply)
        whole = {name: at_path(reply, paths[name], default=None) for name in ("answer", "cost") if name in paths}
        read = [self._result(result, place) for place, result in enumerate(results, start=1)]
        return read_reply({"results": read, **whole, **map_steps(reply, paths, "[response] candidates")})

    def _results(self, reply: Any) -> list[Any]:
        path = self._described.response.get("results", "")
        results = at_path(reply, path)
        if not isinstance(results, list):
            where = repr(path) if path else "its top"
            raise BadValue(f"the reply has no list at {where}: {shape_of(results)}", remedy="Mend [response] results.")
        return results

    def _result(self, value: Any, place: int) -> Any:
        paths = self._described.response
        if not paths.get("id"):
            return value
        read = {name: at_path(value, paths[name], default=None) for name in _WITHIN if paths.get(name)}
        # An id that is missing is refused with the keys that are there; everything else may be.
        read["id"] = at_path(value, paths["id"], what=f"result {place}")
        if read["id"] is None:
            raise BadValue(
                f"result {place} has null at {paths['id']!r}; it has {shape_of(value)}",
                remedy="Mend [response] id, or give every result an id.",
            )
        return read


def open_service(path: Path, dataset: Dataset, *, gate: Gatekeeper) -> HttpService:
    """The service that a file describes, tried with a question of the dataset before a run begins."""
    service = load_service(path, gate=gate)
    _try(path, service, dataset)
    return service


def load_service(path: Path, *, gate: Gatekeeper) -> HttpService:
    """The service that a file describes."""
    return HttpService(read_description(path), path.name.removesuffix(".toml"), gate=gate)


def _try(path: Path, service: HttpService, dataset: Dataset) -> None:
    """Ask the first few questions until the mapping could be tried on a result.

    A reply that the file does not fit and a service that cannot be reached end this at once. A service that fails on
    one question may answer the next.
    """
    failure: EndpointUnavailable | EndpointMisbehaved | None = None
    for case in dataset.cases[:TRIED]:
        try:
            if service.try_mapping(case.query, TRIED_K):
                return
            failure = None
        except BadValue as problem:
            raise UnknownSystem(f"{path} does not fit: {problem.message}", remedy=problem.remedy) from problem
        except (EndpointUnavailable, EndpointMisbehaved) as problem:
            if is_unreachable(problem):
                raise
            failure = problem
    if failure is not None:
        raise UnknownSystem(f"{path}: {failure.message}", remedy=failure.remedy) from failure


def read_description(path: Path) -> ServiceDescription:
    """Read and check a file: unknown keys are refused with the nearest names."""
    found = read_toml(path, "the service's description: http:FILE")
    refuse_unknown(path, found, _TOP)
    refuse_unknown(path, found.get("response", {}), _RESPONSE)
    _check(path, found)
    return ServiceDescription(**found)


_EXAMPLE = 'Write, for example: url = "http://127.0.0.1:8000/search"; [response] results = "hits", id = "id".'


def _check(path: Path, found: Mapping[str, Any]) -> None:
    url, method = found.get("url"), found.get("method", "POST")
    numbers = [found.get(name, 1) for name in ("timeout_s", "attempts")]
    wrong = (
        (
            not isinstance(url, str) or not url.startswith(("http://", "https://")),
            f"url {url!r} is not an HTTP URL",
        ),
        (method not in ("GET", "POST"), f"method {method!r} is neither GET nor POST"),
        (
            not all(isinstance(number, (int, float)) and number > 0 for number in numbers),
            "timeout_s or attempts is not above 0",
        ),
        (
            not all(isinstance(found.get(t, {}), dict) for t in ("headers", "request", "response")),
            "a table has another type",
        ),
        (not _all_text(found.get("headers")), "a header is not text"),
        (not _all_text(found.get("response")), "a path of [response] is not text"),
    )
    for is_so, what in wrong:
        if is_so:
            raise UnknownSystem(f"{path}: {what}", remedy=_EXAMPLE)


def _all_text(table: Any) -> bool:
    return not isinstance(table, dict) or all(isinstance(value, str) for value in table.values())


def _nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for path, value in flat.items():
        *outer, last = path.split(".")
        into = body
        for name in outer:
            into = into.setdefault(name, {})
        into[last] = value
    return body
