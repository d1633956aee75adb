"""Every route, page and MCP tool x every role x two tenants: nobody acts beyond a role, and no canary leaks."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from tests.security.asgi import Asgi
from tests.security.canaries import TENANTS, Belongings, mark_of
from tests.security.examples import NoExampleError, fill_route, fill_tool
from tests.security.matrix import ROLES, Report, _Matrix, callers_of, measure, routes_of, serving

from assay.access import ACTS, Access, acts
from assay.access.acts import COMMAND_LINE_ONLY
from assay.access.policies import PUBLIC
from assay.mcp import server
from assay.mcp.tools import TOOLS
from assay.records import Scope
from assay.server.application import build
from assay.server.routing import act_of, with_act
from assay.server.services import Services, scope_of
from assay.testing import FixedClock


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The whole matrix, once for all tests; `-s` prints its numbers."""
    found = anyio.run(measure, tmp_path_factory.mktemp("matrix"))
    print(f"\n{found}")  # noqa: T201 - what `-s` is for
    return found


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def services(tmp_path: Path, clock: FixedClock) -> Iterator[Services]:
    with serving(tmp_path, clock) as services:
        yield services


def test_no_answer_holds_a_canary_of_another_tenant(report: Report) -> None:
    assert report.leaks == []


def test_paths_of_the_server_are_shown_to_an_operator_alone(report: Report) -> None:
    assert report.places == []


def test_nobody_acts_beyond_a_role(report: Report) -> None:
    assert report.beyond == []


def test_nobody_is_refused_what_the_role_allows(report: Report) -> None:
    assert report.refused == []


def test_no_combination_breaks_the_server(report: Report) -> None:
    assert report.failed == []


def test_nobody_changes_what_belongs_to_another_tenant(report: Report) -> None:
    assert report.changed == []


def test_every_canary_is_seen_by_its_own_tenant_and_so_could_leak(report: Report) -> None:
    assert report.unseen == []


def test_every_combination_was_tried(report: Report) -> None:
    tried = {(what, role, tenant) for what, role, tenant in report.combinations if "://" not in what}
    assert len(tried) == (report.routes + report.tools) * len(ROLES) * len(TENANTS)


def test_every_route_and_tool_names_an_act_of_the_table(services: Services) -> None:
    nameless = [f"{method} {route.path}" for route, method in routes_of(services) if act_of(route.endpoint) is None]
    assert nameless == []
    named = [act_of(route.endpoint) for route, _ in routes_of(services)]
    named += [*(tool.act for tool in TOOLS), *(act for _, act in server.PROMPTS.values())]
    # The very act of the table, not one that looks like it: so it has the same policy everywhere.
    assert [act for act in named if act is None or ACTS.get(act.name) is not act] == []


def test_every_act_is_offered_somewhere(services: Services) -> None:
    named = {act.name for route, _ in routes_of(services) if (act := act_of(route.endpoint)) is not None}
    named |= {tool.act.name for tool in TOOLS} | {act.name for act in COMMAND_LINE_ONLY}
    # A part of the page of settings, which everybody may open.
    named.add(acts.SETTINGS_READ_ALL.name)
    assert sorted(ACTS.keys() - named) == []


def test_every_act_on_the_whole_store_needs_an_operator() -> None:
    whole = [act for act in ACTS.values() if act.name.partition(".")[0] in ("checkpoint", "retention", "store")]
    assert len(whole) >= 6
    assert {act.policy.access for act in whole} == {Access.OPERATOR}


def test_the_table_says_in_a_sentence_what_each_act_does() -> None:
    assert [act.name for act in ACTS.values() if not (act.does[0].isupper() and act.does.endswith("."))] == []
    assert [act.name for act in ACTS.values() if act.policy is PUBLIC] == ["server.probe", "login.open"]


def empty_belongings(tenant: str) -> Belongings:
    given: dict[str, Any] = dict.fromkeys(inspect.signature(Belongings).parameters, "x")
    return Belongings(**{**given, "tenant": tenant})


async def try_new_route(services: Services, clock: FixedClock, endpoint: Any) -> Report:
    """What the matrix says of a route that somebody adds."""
    app: Any = build(services, open_to_this_machine=False)
    inner: FastAPI = app.app
    inner.add_api_route("/api/new", endpoint, methods=["GET"], response_model=None)
    (route,) = [route for route in inner.routes if isinstance(route, Route) and route.path == "/api/new"]
    app.table = type(app.table)(inner.routes)
    belongings = {tenant: empty_belongings(tenant) for tenant in TENANTS}
    callers = callers_of(services, clock)
    matrix = _Matrix(services, Asgi(app), callers, belongings)
    for caller in callers:
        await matrix.try_route(route, "GET", caller, foreign=False)
    return matrix.report


def test_a_route_that_shows_rows_of_every_tenant_is_found_out(services: Services, clock: FixedClock) -> None:
    @with_act(acts.MEMORY_LIST)
    async def leaky(request: Request) -> Response:
        return PlainTextResponse(f"{mark_of('alpha')}title for {scope_of(request).tenant}")

    report = anyio.run(try_new_route, services, clock, leaky)
    assert len(report.leaks) == len(Access)
    assert all("of beta" in leak for leak in report.leaks)
    assert report.beyond == []


def test_a_route_that_lets_too_many_in_is_found_out(services: Services, clock: FixedClock) -> None:
    @with_act(acts.SERVER_PROBE)
    async def open_door(request: Request) -> Response:
        return PlainTextResponse(f"{mark_of('alpha')}title")

    report = anyio.run(try_new_route, services, clock, open_door)
    # Whoever has no good token is nobody's tenant: a public address shows nobody's things.
    assert len([leak for leak in report.leaks if " none of " in leak]) == len(TENANTS)


def test_a_route_without_an_act_fails_the_matrix(services: Services, clock: FixedClock) -> None:
    async def forgotten(request: Request) -> Response:
        raise AssertionError("nobody may get here")

    with pytest.raises(AssertionError, match=r"GET /api/new names no act. Name one from src/assay/access/acts.py"):
        anyio.run(try_new_route, services, clock, forgotten)


def test_a_parameter_without_an_example_says_where_to_add_one(services: Services, clock: FixedClock) -> None:
    @with_act(acts.MEMORY_LIST)
    async def new(wanted: str = "") -> str:
        return wanted

    with pytest.raises(NoExampleError, match=r"'wanted'. Add it to PARAMETERS in tests/security/examples.py"):
        anyio.run(try_new_route, services, clock, new)
    with pytest.raises(NoExampleError, match=r"Add an example of its arguments to TOOLS in tests/security/examples.py"):
        fill_tool("memory_new", empty_belongings("alpha"))
    form = Route("/evaluation/new", new, methods=["POST"])
    with pytest.raises(NoExampleError, match=r"Add an example of it to FORMS in tests/security/examples.py"):
        fill_route(form, "POST", empty_belongings("alpha"), whole=False)


def test_callers_have_the_roles_they_are_named_after(services: Services, clock: FixedClock) -> None:
    callers = callers_of(services, clock)
    assert [(caller.role, caller.tenant) for caller in callers] == [(role, one) for one in TENANTS for role in ROLES]
    for caller in callers:
        if caller.grant is not None:
            assert (caller.grant.access, caller.grant.scope.tenant) == (caller.role, caller.tenant)
            assert caller.grant.scope != Scope(tenant=caller.tenant)
