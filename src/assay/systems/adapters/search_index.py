"""One index of OpenSearch or Elasticsearch: its mapping, and searches through the gatekept HTTP client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import numpy as np

from assay.clock import SystemClock
from assay.errors import EndpointUnavailable, UnknownSystem
from assay.models.endpoint import Endpoint, EndpointOptions
from assay.models.http_pool import HttpPool
from assay.network import Gatekeeper
from assay.systems.adapters.vector_store import StoreHit, StoreTarget, read_field
from assay.systems.replies import at_path, headers_for

DEADLINE_S = 30.0


class EngineIndex:
    """One index, its mapping, and how hits are read."""

    def __init__(self, target: StoreTarget, gate: Gatekeeper) -> None:
        self.target = target
        self._pool = HttpPool()
        secret = target.options.get("auth")
        headers = headers_for(target.place, {"Authorization": f"${{{secret}}}"} if secret else {})
        options = EndpointOptions(url=target.place, headers=headers, deadline_s=DEADLINE_S)
        clock, rng = SystemClock(), np.random.default_rng()
        self._endpoint = Endpoint(options, gate=gate, clock=clock, rng=rng, pool=self._pool)
        self.fields = self._read_fields()

    def _read_fields(self) -> Mapping[str, Any]:
        try:
            found = self._endpoint.get(f"/{quote(self.target.name)}/_mapping")
        except EndpointUnavailable as problem:
            if problem.status != 404:
                raise
            raise UnknownSystem(
                f"{self.target.text}: there is no index {self.target.name!r}", remedy="Name an index that exists."
            ) from problem
        # An alias answers with the index behind it.
        return dict(at_path(next(iter(found.values()), {}), "mappings.properties", default={}))

    def ask(self, body: Mapping[str, Any]) -> list[StoreHit]:
        """Send a search and read its hits."""
        reply = self._endpoint.post(f"/{quote(self.target.name)}/_search", body)
        return [self._read_hit(hit) for hit in at_path(reply, "hits.hits")]

    def _read_hit(self, hit: Mapping[str, Any]) -> StoreHit:
        options, own, source = self.target.options, str(at_path(hit, "_id")), hit.get("_source") or {}
        found = read_field(source, options["id"], f"document {own}") if "id" in options else own
        text = str(at_path(source, options["text"], default="")) if "text" in options else ""
        return StoreHit(found, float(at_path(hit, "_score", default=None) or 0.0), text)

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()
