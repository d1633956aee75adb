"""A stand-in for OpenSearch and Elasticsearch that knows their searches and refuses every other request."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from tests.systems.adapter_contract import DIMENSION

INDEX = "notes"
MAPPINGS: Mapping[str, Any] = {
    "elasticsearch": {"type": "dense_vector", "dims": DIMENSION, "index": True, "similarity": "cosine"},
    "opensearch": {
        "type": "knn_vector",
        "dimension": DIMENSION,
        "method": {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"},
    },
}
SCRIPT = "cosineSimilarity(params.vector, 'embedding') + 1.0"


class BadRequest(Exception):
    """What the real engine would answer with 400."""


class Engine(ThreadingHTTPServer):
    """Holds one index; `embedding` is its vector field, unless it has none."""

    daemon_threads = True

    def __init__(
        self,
        kind: str,
        texts: Mapping[str, str],
        rows: Any,
        *,
        field: Mapping[str, Any] | None = None,
        index: str = INDEX,
    ) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.kind = kind
        self.texts = dict(texts)
        self.vectors = dict(zip(texts, np.asarray(rows, dtype=np.float64), strict=True))
        self.index = index
        self.field = MAPPINGS[kind] if field is None else field
        self.heard: list[tuple[str, dict[str, str], Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def mapping(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"body": {"type": "text"}, "doc": {"type": "keyword"}}
        if self.field:
            fields["embedding"] = dict(self.field)
        return {f"{self.index}-000001": {"mappings": {"properties": fields}}}

    def search(self, body: Mapping[str, Any]) -> list[tuple[str, float]]:
        """Check a search as the engine does, and answer it."""
        demand(isinstance(body.get("size"), int) and body["size"] >= 1, "size")
        size: int = body["size"]
        if "knn" in body:
            demand(self.kind == "elasticsearch" and set(body) == {"size", "knn", "_source"}, "a body with knn")
            knn = body["knn"]
            demand(set(knn) == {"field", "query_vector", "k", "num_candidates"}, "knn")
            demand(knn["k"] <= knn["num_candidates"] <= 10_000, "num_candidates")
            demand(knn["field"] == "embedding" and self.field.get("index") is not False, "the field of knn")
            return self._nearest(knn["query_vector"], knn["k"])
        (name, query), *more = body["query"].items()
        demand(not more, "one query")
        if name == "knn":
            demand(self.kind == "opensearch" and set(query) == {"embedding"}, "knn")
            demand(set(query["embedding"]) == {"vector", "k"}, "knn of a field")
            return self._nearest(query["embedding"]["vector"], query["embedding"]["k"])
        if name == "script_score":
            demand(query["query"] == {"exists": {"field": "embedding"}}, "script_score")
            return self._nearest(self._scripted(query["script"]), size)
        demand(name == "multi_match" and set(query) == {"query", "fields"}, "multi_match")
        demand(query["fields"] == ["body"], "the fields")
        words = set(query["query"].lower().split())
        shared = {key: len(words & set(text.lower().split())) for key, text in self.texts.items()}
        return sorted(((key, float(count)) for key, count in shared.items() if count), key=lambda hit: -hit[1])[:size]

    def _scripted(self, script: Mapping[str, Any]) -> Any:
        if self.kind == "elasticsearch":
            demand(script["source"] == SCRIPT and set(script) == {"source", "params"}, "the script")
            return script["params"]["vector"]
        demand((script["source"], script["lang"]) == ("knn_score", "knn"), "the script")
        demand(script["params"]["space_type"] == "cosinesimil", "space_type")
        demand(script["params"]["field"] == "embedding", "the field of the script")
        return script["params"]["query_value"]

    def _nearest(self, vector: Any, k: int) -> list[tuple[str, float]]:
        demand(len(vector) == DIMENSION, f"the query vector has {len(vector)} dimensions")
        near = {key: 1.0 + float(row @ np.asarray(vector)) for key, row in self.vectors.items()}
        return sorted(near.items(), key=lambda hit: -hit[1])[:k]


def demand(fits: object, what: str) -> None:
    if not fits:
        raise BadRequest(what)


class Handler(BaseHTTPRequestHandler):
    server: Engine

    def do_GET(self) -> None:
        self.server.heard.append((self.path, dict(self.headers), None))
        if self.path == f"/{self.server.index}/_mapping":
            self._reply(200, self.server.mapping())
        else:
            self._reply(404, {"error": {"type": "index_not_found_exception", "reason": "no such index"}, "status": 404})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.heard.append((self.path, dict(self.headers), body))
        try:
            demand(self.path == f"/{self.server.index}/_search", f"the path {self.path}")
            demand(self.headers["Content-Type"] == "application/json", "Content-Type")
            found = self.server.search(body)
        except (BadRequest, KeyError, TypeError) as problem:
            self._reply(400, {"error": {"type": "parsing_exception", "reason": str(problem)}, "status": 400})
            return
        hits = [
            {
                "_index": self.server.index,
                "_id": key,
                "_score": score,
                "_source": {"body": self.server.texts[key], "doc": f"d-{key}"},
            }
            for key, score in found
        ]
        self._reply(200, {"took": 1, "timed_out": False, "hits": {"total": {"value": len(hits)}, "hits": hits}})

    def _reply(self, status: int, content: Any) -> None:
        told = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def running(engine: Engine) -> Iterator[Engine]:
    thread = threading.Thread(target=engine.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield engine
    finally:
        engine.shutdown()
        engine.server_close()
        thread.join()
