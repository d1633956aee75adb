"""How the matrix fills the parameters of each route, page and tool. A new one with parameters gets its example here.

`PARAMETERS` fills parameters of paths and queries by their name. Where a name means different things, or a page reads
a query that the framework does not know of, `ROUTES` says more for one route. `BODIES` are JSON bodies of the API,
`FORMS` forms of pages, `TOOLS` arguments of MCP tools. Each example is a function of what a tenant has: the matrix
calls it with the caller's own belongings, and with those of the other tenant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Route
from tests.security.canaries import FLAG, PROMPT, Belongings, span_request

Example = Callable[[Belongings], dict[str, Any]]
HERE = "tests/security/examples.py"
SHARES = {"knowledge": 0.6, "uncertainty": 0.4, "context": 0.6}
FREE = frozenset({
    "cursor", "limit", "since", "until", "least_score", "most_score", "passed", "failure_type", "failed_dimension",
    "escalated", "skipped", "judge_failed", "severe", "least_iterations", "most_iterations", "status", "kind",
    "outcome", "origin", "source", "tier", "seed", "versions", "prompt_version", "text", "offset", "before", "after",
    "action", "all_tenants", "version", "strict", "metric", "allow_lost", "run_type", "most", "slow_ms", "k",
})  # fmt: skip
"""Optional parameters of queries that name nothing of anybody: they only choose among one's own things."""

PARAMETERS: Mapping[str, Callable[[Belongings], str]] = {
    "memory_id": lambda has: has.memory_id,
    "log_id": lambda has: has.log_id,
    "prompt_id": lambda _: PROMPT,
    "query": lambda _: "c1",
    "session_id": lambda has: has.session_id,
    "query_id": lambda has: has.query_id,
    "run_id": lambda has: has.run_id,
    "trace_id": lambda has: has.trace_id,
    "dataset": lambda has: has.dataset,
    "token_id": lambda has: has.spare_token_id,
    "ticket": lambda has: has.ticket,
    "feature_id": lambda _: FLAG,
    "flag": lambda _: FLAG,
    "folder": lambda has: has.canary("folder"),
    "tags": lambda has: has.canary("tag"),
    "control": lambda has: has.run_id,
    "treatment": lambda has: has.run_id,
    "run": lambda has: has.run_id,
    "baseline": lambda has: has.run_id,
    "actor": lambda has: has.canary("token"),
    "target": lambda has: has.spare_token_id,
    "first": lambda _: "0",
    "second": lambda _: "1",
}
ROUTES: Mapping[str, Example] = {
    "GET /api/datasets/{name}": lambda has: {"name": has.dataset},
    "GET /api/datasets/{name}/proposals": lambda has: {"name": has.dataset},
    "POST /api/datasets/{name}/proposals": lambda has: {"name": has.dataset},
    "GET /api/metrics/{name}": lambda _: {"name": "ndcg"},
    "GET /api/flags/{name}": lambda _: {"name": FLAG},
    "PUT /api/flags/{name}": lambda _: {"name": FLAG},
    "POST /api/flags/{name}/review": lambda _: {"name": FLAG},
    "GET /assets/{name}": lambda _: {"name": "assay.css"},
    "DELETE /api/memory/{memory_id}": lambda has: {"memory_id": has.spare_memory_id},
    "PUT /api/variants/{name}": lambda _: {"name": "matrix-words"},
    "DELETE /api/variants/{name}": lambda _: {"name": "matrix-words"},
    "POST /api/memory/{memory_id}/update": lambda has: {"memory_id": has.spare_memory_id},
    "POST /api/memory/{memory_id}/tier": lambda has: {"memory_id": has.spare_memory_id},
    "POST /api/memory/{memory_id}/forget": lambda has: {"memory_id": has.spare_memory_id},
    "POST /api/memory/{memory_id}/restore": lambda has: {"memory_id": has.spare_memory_id},
    "GET /evaluation/runs/{run_id}/queries/{query_id:path}": lambda has: {"run_id": has.run_id, "query_id": "c1"},
    "GET /evaluation/runs/compare": lambda has: {"control": has.run_id, "treatment": has.run_id},
    "GET /evaluation/debugger": lambda has: {"q": f"ledger {has.canary('body')}"},
    "POST /evaluation/runs/{run_id}/queries/{query_id:path}": lambda has: {"run_id": has.run_id, "query_id": "c1"},
    "GET /evaluation/queries/search": lambda has: {"q": f"ledger {has.canary('body')}"},
    "DELETE /api/sign-ins/{session_id}": lambda has: {"session_id": has.spare_sign_in_id},
    "POST /evaluation/sign-ins/{session_id}/end": lambda has: {"session_id": has.spare_sign_in_id},
    "GET /memory": lambda has: {"folder": has.canary("folder")},
    "GET /find": lambda has: {"q": has.canary("title")},
    "GET /memory/{memory_id}/forget": lambda has: {"memory_id": has.spare_memory_id, "erase": "yes"},
    **{
        f"POST /memory/{{memory_id}}/{act}": lambda has: {"memory_id": has.spare_memory_id}
        for act in ("edit", "tier", "restore", "forget", "erase")
    },
}
BODIES: Mapping[str, Example] = {
    "POST /api/research/query": lambda has: {"question": "When is the ledger settled?", "session_id": has.session_id},
    "POST /api/research/sessions/{log_id}/retry-search": lambda _: {},
    "POST /api/research/sessions/{log_id}/rating": lambda _: {"was_useful": True},
    "POST /api/evaluation/analyze": lambda _: {"least_support": 2},
    "PUT /api/prompts/{prompt_id}": lambda _: {"text": 'system = "You plan."\ntask = "Plan."', "active": False},
    "POST /api/prompts/{prompt_id}/use": lambda _: {"version": 1},
    "POST /api/prompts/{prompt_id}/rollback": lambda _: {},
    "POST /api/prompts/{prompt_id}/split": lambda _: {"version": 0},
    "POST /api/memory/search": lambda has: {
        "query": f"ledger {has.canary('body')}", "session_id": has.session_id, "explain": True
    },
    "POST /api/memory/match-triggers": lambda has: {
        "text": f"ledger {has.canary('body')}", "session_id": has.session_id
    },
    "POST /api/memory/context": lambda has: {"query": f"ledger {has.canary('body')}", "session_id": has.session_id},
    "POST /api/memory/{memory_id}/validate": lambda has: {"was_useful": True, "query_id": has.query_id},
    "POST /api/memory/events": lambda has: {"events": [{"session_id": has.session_id, "memory_id": has.memory_id}]},
    "POST /api/memory": lambda has: {
        "title": "A new ledger", "body": "We decided to keep a new ledger because the old one is full.",
        "folder": has.canary("folder"),
    },
    "POST /api/memory/links": lambda has: {
        "source_id": has.memory_id, "kind": "supports", "target_id": has.other_memory_id
    },
    "POST /api/memory/{memory_id}/update": lambda _: {"title": "A changed ledger"},
    "POST /api/memory/{memory_id}/tier": lambda _: {"tier": "important", "reason": "by the matrix"},
    "POST /api/memory/{memory_id}/forget": lambda _: {"reason": "by the matrix"},
    "POST /api/memory/{memory_id}/restore": lambda _: {},
    "POST /api/tasks/preflight": lambda has: {"task_id": f"{has.task_id}-more", "goal": "more", **SHARES},
    "POST /api/tasks/postflight": lambda has: {"task_id": has.task_id, **SHARES},
    "POST /api/runs": lambda has: {"dataset": has.dataset, "metrics": ["ndcg@10"]},
    "POST /api/runs/gate": lambda has: {"run": has.run_id},
    "POST /api/runs/{run_id}/bless": lambda _: {"note": "by the matrix", "despite": "by the matrix"},
    "POST /api/judgments": lambda has: {
        "judgments": [{"query_id": has.query_id, "memory_id": has.memory_id, "relevance": 1}]
    },
    "POST /api/datasets/{name}/proposals": lambda _: {"case_id": "c2", "decision": "keep"},
    "POST /api/judgments/collect": lambda _: {},
    "POST /api/judgments/grade": lambda _: {"most": 1},
    "PUT /api/variants/{name}": lambda _: {"spec": "assay:channels=fts5"},
    "POST /api/shadow/{feature_id}/replay": lambda _: {"last": 1},
    "PUT /api/flags/{name}": lambda _: {"percent": 0},
    "POST /api/flags/{name}/review": lambda _: {},
    "POST /api/learning/run": lambda _: {},
    "POST /api/learning/approve": lambda _: {},
    "POST /api/learning/rollback": lambda has: {"memory_id": has.memory_id},
    "POST /api/tests/watch": lambda _: {},
    "POST /api/tests/{feature_id}/begin": lambda _: {"kind": "paired"},
    "POST /api/tests/{feature_id}/resume": lambda _: {},
    "POST /api/tests/{feature_id}/collect": lambda _: {},
    "POST /api/tests/{feature_id}/graduate": lambda _: {},
    "POST /api/tests/{feature_id}/pause": lambda _: {"why": "by the matrix"},
    "POST /api/tests/{feature_id}/rollback": lambda _: {"why": "by the matrix"},
    "POST /v1/traces": lambda _: span_request("c" * 32, "the matrix"),
    "POST /api/traces/cases": lambda has: {"dataset": "matrix-cases", "trace_ids": [has.trace_id]},
    "POST /api/tokens": lambda _: {"name": "matrix", "access": "read", "days": 1},
}  # fmt: skip
FORMS: Mapping[str, Example] = {
    "POST /login": lambda _: {"token": "assay_" + "y" * 43},
    "POST /logout": lambda _: {},
    "POST /ask": lambda _: {"question": "When is the ledger settled?"},
    "POST /answers/{log_id}/retry": lambda _: {},
    "POST /answers/{log_id}/rating": lambda _: {"was_useful": "yes"},
    "POST /memory/{memory_id}/validate": lambda _: {"was_useful": "yes"},
    "POST /memory/{memory_id}/edit": lambda _: {"title": "A ledger changed by hand", "body": "The ledger is settled."},
    "POST /memory/{memory_id}/tier": lambda _: {"tier": "important"},
    "POST /memory/{memory_id}/restore": lambda _: {},
    "POST /memory/{memory_id}/forget": lambda _: {"reason": "by the matrix"},
    "POST /memory/{memory_id}/erase": lambda _: {},
    "POST /memory/inbox/approve": lambda _: {},
    "POST /memory/add": lambda _: {
        "title": "A ledger by hand",
        "body": "The ledger is kept by hand because ink lasts.",
    },
    "POST /memory/sample": lambda _: {},
    "POST /memory/inbox/{memory_id}/withdraw": lambda _: {},
    "POST /evaluation/patterns/apply": lambda _: {"prompt_id": PROMPT, "sentence": "Say less."},
    "POST /evaluation/prompts/{prompt_id}": lambda _: {"text": 'system = "You plan."\ntask = "Plan."'},
    "POST /evaluation/prompts/{prompt_id}/use": lambda _: {"version": "1"},
    "POST /evaluation/prompts/{prompt_id}/split": lambda _: {"end": "yes"},
    "POST /evaluation/experiments/{flag}/turn": lambda _: {"value": "0", "why": "to see"},
    "POST /evaluation/experiments/{flag}/begin": lambda _: {"kind": "paired", "why": "to see"},
    "POST /evaluation/experiments/{flag}/pause": lambda _: {"why": "to see"},
    "POST /evaluation/experiments/{flag}/resume": lambda _: {"why": "to see"},
    "POST /evaluation/experiments/{flag}/graduate": lambda _: {"why": "to see"},
    "POST /evaluation/experiments/{flag}/rollback": lambda _: {"why": "to see"},
    "POST /evaluation/runs/start": lambda has: {"dataset": has.dataset, "cases": "1"},
    "POST /evaluation/runs/{run_id}/stop": lambda _: {},
    "POST /evaluation/runs/{run_id}/resume": lambda _: {},
    "POST /evaluation/runs/{run_id}/bless": lambda _: {"note": "by the matrix", "despite": "by the matrix"},
    "POST /evaluation/sign-ins/{session_id}/end": lambda _: {},
    "POST /evaluation/tokens": lambda _: {"name": "matrix", "access": "read", "days": "1"},
    "POST /evaluation/tokens/{token_id}/revoke": lambda _: {},
    "POST /traces/{trace_id}": lambda _: {"key": "g", "dataset": "matrix-cases"},
    "POST /evaluation/debugger/searches/{query_id}/grade": lambda has: {"key": "2", "item": has.memory_id},
    "POST /evaluation/debugger/searches/{query_id}/case": lambda _: {},
    "POST /evaluation/runs/{run_id}/queries/{query_id:path}": lambda _: {"key": "2", "document": "d1"},
    "POST /evaluation/label/{dataset}/apply": lambda _: {"name": "matrix-labelled", "version": "1.0.0"},
    "POST /evaluation/label/{dataset}": lambda _: {"key": "2", "case": "c1", "document": "d1"},
    "POST /evaluation/review/{dataset}": lambda _: {"key": "d", "case": "c2"},
}
TOOLS: Mapping[str, Example] = {
    "memory_search": lambda has: {"query": f"ledger {has.canary('body')}", "session_id": has.session_id},
    "memory_context": lambda has: {"query": f"ledger {has.canary('body')}", "session_id": has.session_id},
    "memory_match_triggers": lambda has: {"text": has.canary("trigger")},
    "memory_load": lambda has: {"memory_id": has.memory_id},
    "memory_save": lambda has: {
        "title": "A ledger of agents", "body": "We decided to keep a ledger of agents because clerks forget.",
        "folder": has.canary("folder"),
    },
    "memory_causal_link": lambda has: {
        "source_id": has.memory_id, "kind": "supports", "target_id": has.other_memory_id
    },
    "memory_causal_why": lambda has: {"memory_id": has.memory_id},
    "memory_list": lambda has: {"folder": has.canary("folder")},
    "memory_update": lambda has: {"memory_id": has.spare_memory_id, "title": "A ledger changed by an agent"},
    "memory_tier": lambda has: {"memory_id": has.spare_memory_id, "tier": "deprecated"},
    "memory_forget": lambda has: {"memory_id": has.spare_memory_id},
    "memory_restore": lambda has: {"memory_id": has.spare_memory_id},
    "memory_grade": lambda has: {
        "judgments": [{"query_id": has.query_id, "memory_id": has.memory_id, "relevance": 2}]
    },
    "memory_validate": lambda has: {"memory_id": has.memory_id, "was_useful": True, "query_id": has.query_id},
    "memory_observe": lambda has: {"session_id": has.session_id, "memory_id": has.memory_id},
    "task_preflight": lambda has: {"task_id": f"{has.task_id}-agent", "goal": "more", **SHARES},
    "task_postflight": lambda has: {"task_id": has.task_id, **SHARES},
    "memory_health": lambda _: {},
    "checkpoint_create": lambda _: {"name": "matrix"},
    "checkpoint_list": lambda _: {},
    "checkpoint_restore": lambda has: {"checkpoint": has.checkpoint_id},
    "checkpoint_delete": lambda _: {"checkpoint": "matrix"},
    "eval_run": lambda has: {"dataset": has.dataset, "metrics": ["ndcg@10"]},
    "eval_compare": lambda has: {"control": has.run_id, "treatment": has.run_id},
}  # fmt: skip


class Sent(NamedTuple):
    """What is sent to a route."""

    path: str
    query: dict[str, str]
    json: dict[str, Any] | None
    form: dict[str, Any] | None


class NoExampleError(Exception):
    """The matrix does not know how to fill a parameter."""


def fill_route(route: Route, method: str, has: Belongings, *, whole: bool) -> Sent:
    """A request that fits a route. `whole`: with optional parameters that name something, too."""
    key = f"{method} {route.path}"
    given = {name: str(value) for name, value in ROUTES[key](has).items()} if key in ROUTES else {}
    path = route.path
    for name in sorted(route.param_convertors):
        value = given.pop(name, None) or _parameter(key, name, has)
        path = path.replace(f"{{{name}:path}}", value).replace(f"{{{name}}}", value)
    for name, required in _query_parameters(route):
        if required or (whole and name not in FREE):
            given.setdefault(name, _parameter(key, name, has))
        elif name not in FREE:
            _parameter(key, name, has)
    return Sent(path, given, *_body(route, key, method, has))


def _body(route: Route, key: str, method: str, has: Belongings) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    if (isinstance(route, APIRoute) and route.body_field is not None) or key in BODIES:
        if key not in BODIES:
            raise NoExampleError(f"{key} takes a body. Add an example of it to BODIES in {HERE}.")
        return BODIES[key](has), None
    if method in ("POST", "PUT", "PATCH") and not route.path.startswith("/api/"):
        if key not in FORMS:
            raise NoExampleError(f"{key} takes a form. Add an example of it to FORMS in {HERE}.")
        return None, FORMS[key](has)
    return None, None


def fill_tool(name: str, has: Belongings) -> dict[str, Any]:
    """Arguments that fit a tool."""
    if name not in TOOLS:
        raise NoExampleError(f"the MCP tool {name} is new. Add an example of its arguments to TOOLS in {HERE}.")
    return TOOLS[name](has)


def _parameter(key: str, name: str, has: Belongings) -> str:
    if name not in PARAMETERS:
        raise NoExampleError(
            f"{key} has the parameter {name!r}. Add it to PARAMETERS in {HERE}, or to ROUTES if it means something of "
            "its own there; if it names nothing of anybody, add it to FREE."
        )
    return PARAMETERS[name](has)


def _query_parameters(route: BaseRoute) -> list[tuple[str, bool]]:
    """The query parameters that the framework knows of, and whether each is required."""
    if not isinstance(route, APIRoute):
        return []
    found: list[tuple[str, bool]] = []
    waiting: list[Dependant] = [route.dependant]
    while waiting:
        dependant = waiting.pop()
        found += [(field.alias, field.field_info.is_required()) for field in dependant.query_params]
        waiting += dependant.dependencies
    return found
