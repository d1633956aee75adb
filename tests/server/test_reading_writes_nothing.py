"""A read token writes nothing: every route and tool that it may use leaves every table and file as it was, but logs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import text
from starlette.routing import Route
from tests.mcp.serving import BOUND_S
from tests.server.pages.filled import FLAG, filled_services
from tests.server.serving import OWN, bearer, reaching
from tests.storage.homes import raw

from assay.access import Access, Grant
from assay.mcp.server import Host, build_server
from assay.mcp.tools import TOOLS
from assay.records import Scope
from assay.server.application import application
from assay.server.routing import act_of
from assay.server.services import Services
from assay.storage.tables import metadata
from mcp import Client

LOGS = frozenset({"eval_queries", "eval_candidates", "eval_shadow_runs"})
"""What a search writes down of itself: the query log and what runs beside it. Nobody else's rows change by that."""
SEARCHES = {
    "/api/memory/search": {"query": "garage", "session_id": "s1"},
    "/api/memory/context": {"query": "garage"},
    "/api/memory/match-triggers": {"text": "garage"},
}
ELSEWHERE = {"/login", "/logout"}
"""Tested in `test_sign_ins`: they begin and end sign-ins, which is what they are for."""


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with filled_services(tmp_path) as found:
        yield found


def rows_of(services: Services) -> dict[str, list[str]]:
    services.engine.store.log.flush()
    with raw(services.engine.store) as connection:
        found = {
            table.name: sorted(repr(row) for row in connection.execute(text(f'SELECT * FROM "{table.name}"')))
            for table in metadata.sorted_tables
            if table.name not in LOGS
        }
    # That a search was asked again is part of what a search writes down of itself; other feedback is not.
    return {**found, "eval_feedback": [row for row in found["eval_feedback"] if "re_search" not in row]}


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file but those of the store and its index."""
    found = [file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("notes.db")]
    return {str(file): file.read_bytes() for file in found if "notes.db" not in str(file.parent.relative_to(folder))}


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [name for name in {**before, **after} if before.get(name) != after.get(name)]


def known_ids(services: Services) -> dict[str, str]:
    services.engine.store.log.flush()
    with services.engine.store.reading(OWN) as work:
        [(_, searched), *_] = [one for one in work.lists.queries() if one[1].result_ids]
        log_id = next(work.research.each()).log_id
    memory_id, query_id = searched.result_ids[0], searched.query_id
    run_id = next(path.name for path in sorted((Path(services.settings.db).parent / "runs").iterdir()) if path.is_dir())
    return {
        "memory_id": memory_id, "log_id": log_id, "query_id": query_id, "run_id": run_id, "flag": FLAG,
        "feature_id": FLAG, "name": FLAG, "prompt_id": "planner", "dataset": "hotel", "session_id": "s1",
    }  # fmt: skip


def test_no_route_of_a_read_token_changes_a_row_or_a_file(services: Services, tmp_path: Path) -> None:
    headers = bearer(services, Access.READ)
    ids = known_ids(services)
    routes = [route for route in application(services).routes if isinstance(route, Route)]
    answered: dict[str, int] = {}
    with reaching(services, local=False, pages=True) as client:
        rows, files = rows_of(services), files_of(tmp_path)
        for route in routes:
            act = act_of(route.endpoint)
            if act is None or not act.policy.reads_only or route.path in ELSEWHERE:
                continue
            path = re.sub(r"\{(\w+)[^}]*\}", lambda found: ids.get(found[1], "x"), route.path)
            if "POST" in (route.methods or ()):
                reply = client.post(path, json=SEARCHES[route.path], headers=headers)
            else:
                reply = client.get(path, headers=headers)
            answered[route.path] = reply.status_code
            assert reply.status_code < 500, (path, reply.text)
        for path in (
            f"/api/memory/{ids['memory_id']}?session_id=s1",
            "/memory?q=garage",
            "/evaluation/debugger?q=garage",
        ):
            answered[path] = client.get(path, headers=headers).status_code
        touched = changed(rows, rows_of(services)) + changed(files, files_of(tmp_path))
    assert touched == []
    assert sum(status == 200 for status in answered.values()) >= 45, answered
    assert answered[f"/api/memory/{ids['memory_id']}?session_id=s1"] == 200


def test_a_write_token_still_counts_a_read(services: Services) -> None:
    memory_id = known_ids(services)["memory_id"]
    address = f"/api/memory/{memory_id}?session_id=s1"
    with reaching(services, local=False) as client:
        read = client.get(address, headers=bearer(services, Access.READ)).json()
        write = client.get(address, headers=bearer(services, Access.WRITE)).json()
        again = client.get(address, headers=bearer(services, Access.READ)).json()
    assert (read["counted"], write["counted"]) == (False, True)
    assert again["memory"]["access_count"] - read["memory"]["access_count"] == 1


ARGUMENTS: dict[str, dict[str, Any]] = {
    "memory_search": {"query": "garage", "session_id": "s1"},
    "memory_context": {"query": "garage", "session_id": "s1"},
    "memory_match_triggers": {"text": "garage", "session_id": "s1"},
    "memory_load": {"session_id": "s1"},
    "memory_list": {},
    "memory_causal_why": {},
    "memory_health": {},
    "eval_compare": {},
}


def test_no_tool_of_a_read_grant_changes_a_row_or_a_file(services: Services, tmp_path: Path) -> None:
    ids = known_ids(services)
    reading = {tool.name for tool in TOOLS if tool.policy.reads_only}
    assert reading == set(ARGUMENTS)
    rows, files = rows_of(services), files_of(tmp_path)
    grant = Grant(Scope(tenant=OWN.tenant, principal="token:test"), Access.READ)

    async def talk() -> list[str]:
        done = []
        with anyio.fail_after(BOUND_S):
            async with Client(build_server(Host(services.engine, services.settings), local=grant)) as client:
                for name, given in ARGUMENTS.items():
                    more = {"memory_id": ids["memory_id"]} if name in {"memory_load", "memory_causal_why"} else {}
                    answer = await client.call_tool(name, {**given, **more})
                    if not answer.is_error:
                        done.append(name)
        return done

    done = anyio.run(talk)
    assert changed(rows, rows_of(services)) + changed(files, files_of(tmp_path)) == []
    assert set(done) >= {"memory_search", "memory_load", "memory_list", "memory_context"}
