"""The HTTP server: REST API and dashboard over the same use-cases as the command line. Thin: parse, call, render.

The framework is an optional extra, so `demo` and `serving` are loaded when they are first used.

- `application`: routes, pages, errors and the guard in front of them; start and end of the server.
- `services`: what every route and page uses: the engine, worker threads and metrics.
- `routing`: how a route is declared, with the policy it must have.
- `verb_routes`: routes made from the table of verbs.
- `otlp`: spans that a collector or an SDK sends (`/v1/traces`).
- `health`: probes (`/healthz`, `/readyz`) and the server's own numbers (`/metrics`).
- `pages`: the dashboard.
- `security`: sign-in, tokens and the guard.
- `errors`: one shape for every error, and its status.
- `limits`: size, depth and values of a request.
- `idempotency`: writes that may be sent again.
- `streaming`: event streams and live questions.
- `shared_questions`: live questions of servers on other machines, through the store.
- `alerting`: looks for alerts while the server runs, and sends new ones.
- `live_runs`: runs that the server works on.
- `serving`: the socket, and one or several processes on it.
- `demo`: a store with something on every page.
- `demo_changes`: two changes of the demo's search, tested on real searches; one wins, one loses.
- `demo_history`: twelve weeks of questions for it.
- `demo_replies`: questions of the demo whose models are recorded and replayed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.server import demo, serving

__all__ = ["demo", "serving"]


if not TYPE_CHECKING:  # a checker would take every name for one that exists

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'assay.server' has no attribute {name!r}")
        return importlib.import_module(f"assay.server.{name}")
