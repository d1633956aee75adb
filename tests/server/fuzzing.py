"""Requests made from the API's own description, right ones and wrong ones, sent to a real server."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import hypothesis
import requests
import schemathesis
from hypothesis import HealthCheck, Phase
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.server.serving import BOUND_S

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
SLOW = ("make_run",)
"""Operations that measure for minutes when they are asked rightly."""


@dataclass(frozen=True, kw_only=True)
class Fuzzing:
    """Where requests go, and how many."""

    address: str
    headers: dict[str, str]
    cases: int
    """For each operation, half of them wrong."""
    seed: int

    def run(self) -> Counter[int]:
        """Send them all; how many got which status. Raises at the first answer that is not as described."""
        schema = schemathesis.openapi.from_dict(description(self.address, self.headers))
        seen: Counter[int] = Counter()
        with requests.Session() as session:
            session.headers.update(self.headers)
            for found in schema.get_all_operations():
                assert isinstance(found, Ok)
                operation = found.ok()
                if operation.definition.raw.get("operationId") not in SLOW:
                    for mode in GenerationMode:
                        self._send(operation, mode, session, seen)
        return seen

    def _send(self, operation: Any, mode: GenerationMode, session: requests.Session, seen: Counter[int]) -> None:
        @hypothesis.seed(self.seed)
        @hypothesis.settings(
            max_examples=max(self.cases // 2, 1),
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
        def one(case: Any) -> None:
            response = case.call(base_url=self.address, session=session, timeout=BOUND_S)
            seen[response.status_code] += 1
            case.validate_response(response, checks=CHECKS)

        # An operation that takes nothing can be asked in no wrong way.
        with suppress(Unsatisfiable):
            one()


def description(address: str, headers: dict[str, str]) -> dict[str, Any]:
    """The API's description, as the server gives it."""
    found: dict[str, Any] = requests.get(f"{address}/api/openapi.json", headers=headers, timeout=BOUND_S).json()
    return found
