"""The matrix of authority: every route, page and MCP tool with every role of two tenants that have canaries everywhere.

For each combination the table of acts says whether it must be refused. No answer may hold a canary of the other
tenant, except what an operator is told by an act on the whole store. Run it by itself to see the numbers:

    python -m tests.security.matrix

It works in three rounds. In the first, callers name only their own things: whatever of the other tenant is in an
answer is a leak. In the second they name things of the other tenant: what they sent may come back in an error, and
nothing else. Then nothing that only strangers tried to change may have changed. In the third come the acts on the
whole store, which would undo what the other rounds look for.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from mcp.shared.exceptions import MCPError
from starlette.routing import BaseRoute, Route
from tests.security.asgi import Answer, Asgi
from tests.security.canaries import KINDS, TENANTS, Belongings, mark_of, plant_all
from tests.security.examples import fill_route, fill_tool
from tests.server.serving import services_at

from assay.access import Access, Act, Grant, acts
from assay.access.policies import PUBLIC
from assay.mcp import http
from assay.mcp.server import HEALTH, MEMORY, Host, build_server
from assay.mcp.tools import TOOLS
from assay.records import Scope
from assay.server.application import application, build
from assay.server.routing import act_of
from assay.server.services import Services
from assay.testing import FixedClock
from mcp import Client

NOBODY = ("none", "bad", "expired", "revoked")
"""Callers whom nothing opens but the public addresses."""
ROLES = (*NOBODY, *(access.value for access in Access))
ENDLESS = 1_000_000_000
REFUSED = (401, 403, 429)
_WORD = re.compile(r"[A-Za-z0-9_@.:-]+")


@dataclass(kw_only=True)
class Report:
    """What the matrix saw."""

    routes: int = 0
    tools: int = 0
    resources: int = 0
    calls: int = 0
    combinations: set[tuple[str, str, str]] = field(default_factory=set)
    """What was called, by which role, of which tenant."""
    leaks: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    """Answers that show a path of the server to somebody who is not an operator."""
    beyond: list[str] = field(default_factory=list)
    """Calls that a role must not make and that were not refused."""
    refused: list[str] = field(default_factory=list)
    """Calls that a role may make and that were refused."""
    failed: list[str] = field(default_factory=list)
    """Answers of 500 and more."""
    changed: list[str] = field(default_factory=list)
    """Things that a stranger changed."""
    seen: dict[str, set[str]] = field(default_factory=lambda: {tenant: set() for tenant in TENANTS})
    """Kinds of canaries that each tenant saw of its own."""
    seconds: float = 0.0

    @property
    def unseen(self) -> list[str]:
        """Canaries that even their own tenant never saw: they would find no leak."""
        return [f"{tenant} {kind}" for tenant in TENANTS for kind in KINDS if kind not in self.seen[tenant]]

    def __str__(self) -> str:
        lines = (
            f"routes and pages   {self.routes}",
            f"MCP tools          {self.tools} (and {self.resources} resources)",
            f"roles              {len(ROLES)}: {', '.join(ROLES)}",
            f"tenants            {len(TENANTS)}",
            f"kinds of canaries  {len(KINDS)}",
            f"combinations       {len(self.combinations):,} in {self.calls:,} calls, {self.seconds:.0f} s",
            f"leaks              {len(self.leaks)}",
            f"paths of the server {len(self.places)}",
            f"acts beyond a role {len(self.beyond)}",
            f"wrongly refused    {len(self.refused)}",
            f"failed answers     {len(self.failed)}",
            f"changed by others  {len(self.changed)}",
        )
        return "\n".join(lines)


class Caller(NamedTuple):
    """One role of one tenant."""

    role: str
    tenant: str
    headers: Mapping[str, str]
    grant: Grant | None
    """None: nobody whom the server knows."""

    def may(self, act: Act) -> bool:
        """Whether the table of acts lets this caller do it."""
        return act.policy is PUBLIC or (self.grant is not None and self.grant.allows(act.policy))


class _Matrix:
    def __init__(self, services: Services, app: Asgi, callers: list[Caller], belongings: dict[str, Belongings]) -> None:
        self.report = Report()
        self._services = services
        self._app = app
        self._callers = callers
        self._has = belongings
        self._folder = Path(services.engine.store.place).parent
        self._sent_words: dict[str, set[str]] = {tenant: set() for tenant in TENANTS}
        """What each tenant has named of the other: it may be told again what it said itself."""

    def _other(self, caller: Caller) -> Belongings:
        (other,) = [tenant for tenant in TENANTS if tenant != caller.tenant]
        return self._has[other].as_named_by_a_stranger()

    def _fill_of(self, caller: Caller, *, foreign: bool) -> Belongings:
        return self._other(caller) if foreign else self._has[caller.tenant]

    async def try_route(self, route: Route, method: str, caller: Caller, *, foreign: bool) -> None:
        act = act_of(route.endpoint)
        assert act is not None, f"{method} {route.path} names no act. Name one from src/assay/access/acts.py."
        sent = fill_route(route, method, self._fill_of(caller, foreign=foreign), whole=foreign)
        if foreign:
            self._remember(caller, sent)
        where = f"{method} {route.path}"
        if caller.grant is None:
            # Whoever shows too many dead tokens has to wait.
            self._services.engine.clock.advance(seconds=60)  # type: ignore[attr-defined] # a FixedClock
        answer = await self._app.send(
            method, sent.path, caller.headers, query=sent.query, json=sent.json, form=sent.form
        )
        self._count(where, caller)
        self._judge_status(where, act, caller, answer)
        self._look_for_canaries(where, act, caller, answer.whole)

    def _judge_status(self, where: str, act: Act, caller: Caller, answer: Answer) -> None:
        told = f"{where} as {caller.role} of {caller.tenant}: {answer.status} {answer.text[:200]}"
        if answer.status >= 500:
            self.report.failed.append(told)
        elif not caller.may(act):
            if answer.status not in REFUSED:
                self.report.beyond.append(told)
        elif _is_turned_away(answer) and act is not acts.LOGIN_OPEN:
            # The login itself answers 401 to a token that opens nothing.
            self.report.refused.append(told)

    async def try_tool(self, client: Client, name: str, act: Act, caller: Caller, *, foreign: bool) -> None:
        arguments = fill_tool(name, self._fill_of(caller, foreign=foreign))
        if foreign:
            self._remember(caller, arguments)
        self._count(name, caller)
        try:
            answer = await client.call_tool(name, arguments)
        except MCPError as problem:
            if caller.may(act):
                self.report.refused.append(f"{name} as {caller.role} of {caller.tenant}: {problem}")
            self._look_for_canaries(name, act, caller, str(problem))
            return
        if not caller.may(act):
            self.report.beyond.append(f"{name} as {caller.role} of {caller.tenant}: {answer.content}"[:300])
        text = answer.model_dump_json()
        if answer.is_error and "Assay itself failed" in text:
            self.report.failed.append(f"{name} as {caller.role} of {caller.tenant}: {text}"[:300])
        self._look_for_canaries(name, act, caller, text)

    async def read_resources(self, client: Client, caller: Caller, *, foreign: bool) -> None:
        has = self._fill_of(caller, foreign=foreign)
        if foreign:
            self._remember(caller, [has.memory_id])
        listed = (await client.list_resources()).model_dump_json()
        self._look_for_canaries("resources/list", acts.MEMORY_LIST, caller, listed)
        for uri in (HEALTH, f"{MEMORY}{has.memory_id}"):
            self._count(uri.partition("://")[0] + "://", caller)
            try:
                text = (await client.read_resource(uri)).model_dump_json()
            except MCPError as problem:
                text = str(problem)
            self._look_for_canaries(uri, acts.MEMORY_READ, caller, text)

    def _count(self, what: str, caller: Caller) -> None:
        self.report.calls += 1
        self.report.combinations.add((what, caller.role, caller.tenant))

    def _remember(self, caller: Caller, sent: Any) -> None:
        words = self._sent_words[caller.tenant]
        words.update(word for word in _WORD.findall(str(sent)) if any(mark_of(one) in word for one in TENANTS))
        words.update(word.partition("-")[0] for word in list(words))

    def _look_for_canaries(self, where: str, act: Act, caller: Caller, text: str) -> None:
        if str(self._folder) in text and (caller.grant is None or caller.grant.access is not Access.OPERATOR):
            self.report.places.append(f"{where} shows {caller.role}: {_around(text, str(self._folder))}")
        words = {word for tenant in TENANTS for word in re.findall(rf"{mark_of(tenant)}\w+", text.casefold())}
        own = {word for word in words if caller.grant is not None and word.startswith(mark_of(caller.tenant))}
        for kind in KINDS:
            if f"{mark_of(caller.tenant)}{kind.replace('_', '')}" in own:
                self.report.seen[caller.tenant].add(kind)
        if caller.grant is not None and caller.may(act) and act.policy.access is Access.OPERATOR:
            return
        foreign = words - own - self._sent_words[caller.tenant]
        if foreign:
            self.report.leaks.append(f"{where} shows {caller.role} of {caller.tenant}: {sorted(foreign)}")

    def state_of_untouched(self) -> dict[str, Any]:
        """Everything that only strangers try to change, as it is."""
        state: dict[str, Any] = {}
        for tenant, has in self._has.items():
            scope = Scope(tenant=tenant, principal="matrix")
            with self._services.engine.store.reading(scope) as work:
                state[f"{tenant} memory"] = work.memories.get(has.untouched_memory_id)
                state[f"{tenant} token"] = work.access_tokens.get(has.untouched_token_id)
                ended = {session.session_id: session.ended_at for session in work.login_sessions.all()}
                state[f"{tenant} sign-in"] = ended[has.untouched_sign_in_id]
                state[f"{tenant} memories"] = work.memories.count()
        return state

    def note_changes(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        self.report.changed += [
            f"{what}: {before[what]} became {after[what]}"
            for what in before
            if before[what] != after[what] and not what.endswith("memories")
        ]

    async def run(self, routes: list[tuple[Route, str]], clients: list[tuple[Caller, Client]]) -> None:
        """All three rounds; `clients` speak MCP for each caller whom the server knows."""
        before = self.state_of_untouched()
        for foreign in (False, True):
            for caller in self._callers:
                if not foreign or caller.grant is not None:
                    await self._try_routes(routes, caller, foreign=foreign)
            for caller, client in clients:
                await self.read_resources(client, caller, foreign=foreign)
                await self._try_tools(client, caller, foreign=foreign)
        self.note_changes(before, self.state_of_untouched())
        for caller, client in clients:
            await self._look_at_tools(client, caller)
            for tool in TOOLS:
                if tool.act.policy.access is Access.OPERATOR:
                    await self.try_tool(client, tool.name, tool.act, caller, foreign=False)

    async def _try_routes(self, routes: list[tuple[Route, str]], caller: Caller, *, foreign: bool) -> None:
        for route, method in routes:
            own, theirs = (
                fill_route(route, method, self._fill_of(caller, foreign=one), whole=False) for one in (False, True)
            )
            if self._tells_something(act_of(route.endpoint), caller, foreign=foreign, same=own == theirs):
                await self.try_route(route, method, caller, foreign=foreign)

    async def _try_tools(self, client: Client, caller: Caller, *, foreign: bool) -> None:
        for tool in TOOLS:
            own, theirs = (fill_tool(tool.name, self._fill_of(caller, foreign=one)) for one in (False, True))
            on_all = tool.act.policy.access is Access.OPERATOR
            if not on_all and self._tells_something(tool.act, caller, foreign=foreign, same=own == theirs):
                await self.try_tool(client, tool.name, tool.act, caller, foreign=foreign)

    @staticmethod
    def _tells_something(act: Act | None, caller: Caller, *, foreign: bool, same: bool) -> bool:
        """Whether a call tells anything that another did not.

        What takes long is done for each tenant once, by the lowest role that may, and by the others with things of
        the other tenant. What names nothing of anybody is called once by each caller, and so is what is refused.
        """
        if act is None or not caller.may(act):
            return not foreign
        first = not act.policy.takes_long or caller.role == act.policy.access.value
        return not (first and same) if foreign else first

    async def _look_at_tools(self, client: Client, caller: Caller) -> None:
        shown = {tool.name for tool in (await client.list_tools()).tools}
        wanted = {tool.name for tool in TOOLS if caller.may(tool.act)}
        self.report.beyond += [f"{name} is listed for {caller.role}" for name in sorted(shown - wanted)]
        self.report.refused += [f"{name} is not listed for {caller.role}" for name in sorted(wanted - shown)]

    async def try_dead_tokens_over_mcp(self, guarded: Asgi) -> None:
        for caller in self._callers:
            if caller.grant is not None:
                continue
            for tool in TOOLS:
                self._services.engine.clock.advance(seconds=60)  # type: ignore[attr-defined] # a FixedClock
                params = {"name": tool.name, "arguments": fill_tool(tool.name, self._has[caller.tenant])}
                message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
                answer = await guarded.send("POST", http.PATH, caller.headers, json=message)
                self._count(tool.name, caller)
                self._judge_status(tool.name, tool.act, caller, answer)
                self._look_for_canaries(tool.name, tool.act, caller, answer.whole)


def _around(text: str, found: str) -> str:
    """What stands around something in a text."""
    place = text.index(found)
    return text[max(0, place - 80) : place + len(found) + 80]


def _is_turned_away(answer: Answer) -> bool:
    """Whether the guard refused a caller; an act may have further rules, such as whose memory may be changed."""
    return answer.status in (401, 429) or (answer.status == 403 and "access_too_low" in answer.text)


def routes_of(services: Services) -> list[tuple[Route, str]]:
    """Every route and page of the application with each of its methods."""
    found: list[tuple[Route, str]] = []
    for route in application(services).routes:
        found += [(_known(route), method) for method in sorted((_known(route).methods or {"GET"}) - {"HEAD"})]
    # Reads come last, so that they show what the writes before them led to.
    return sorted(found, key=lambda pair: pair[1] == "GET")


def _known(route: BaseRoute) -> Route:
    assert isinstance(route, Route), f"{route} is not a route; teach tests/security/matrix.py to call it."
    return route


@contextmanager
def serving(folder: Path, clock: FixedClock) -> Iterator[Services]:
    """A server without a model, in which nobody is asked to wait."""
    more: dict[str, Any] = {
        # One tenant is that of whoever runs the server: what belongs to nobody else is its own.
        "tenant": TENANTS[0],
        "embedder": "none",
        "server_requests_per_minute": ENDLESS,
        "datasets_folder": folder / "datasets",
    }
    with services_at(folder, clock=clock, **more) as services:
        yield services


def callers_of(services: Services, clock: FixedClock) -> list[Caller]:
    """Every role of every tenant, with a token of its own."""
    expired: dict[str, str] = {}
    for tenant in TENANTS:
        expired[tenant] = services.tokens.create(Scope(tenant=tenant), "matrix-expired", Access.ADMIN, days=1).text
    clock.advance(days=2)
    found: list[Caller] = []
    for tenant in TENANTS:
        scope = Scope(tenant=tenant)
        revoked = services.tokens.create(scope, "matrix-revoked", Access.ADMIN)
        services.tokens.revoke(scope, revoked.kept.token_id)
        dead = {"bad": "assay_" + "x" * 43, "expired": expired[tenant], "revoked": revoked.text}
        found.append(Caller("none", tenant, {}, None))
        found += [Caller(role, tenant, _bearer(token), None) for role, token in dead.items()]
        for access in Access:
            token = services.tokens.create(scope, f"matrix-{access}", access).text
            grant = services.stored_tokens.grant(token)
            assert grant is not None
            found.append(Caller(access.value, tenant, _bearer(token), grant))
    return found


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def measure(folder: Path) -> Report:
    """Run the whole matrix over a new store in a folder."""
    began = time.monotonic()
    clock = FixedClock()
    with serving(folder, clock) as services:
        app = Asgi(build(services, open_to_this_machine=False))
        callers = callers_of(services, clock)
        matrix = _Matrix(services, app, callers, await plant_all(services, app))
        host = Host(services.engine, services.settings)
        routes = routes_of(services)
        guarded = Asgi(
            http.build_guard(
                build_server(host), services.stored_tokens, services.settings, names=("127.0.0.1",), clock=clock
            )
        )
        await matrix.try_dead_tokens_over_mcp(guarded)
        async with AsyncExitStack() as open_clients:
            # One for all rounds: a client checks the schema of each tool's results when it first sees one.
            clients = [
                (caller, await open_clients.enter_async_context(Client(build_server(host, local=caller.grant))))
                for caller in callers
                if caller.grant is not None
            ]
            await matrix.run(routes, clients)
        await services.finish(10.0)
    report = matrix.report
    report.routes, report.tools, report.resources = len(routes), len(TOOLS), 2
    report.seconds = time.monotonic() - began
    return report


def main() -> int:
    """Print the numbers, and whatever is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        report = anyio.run(measure, Path(folder))
    sys.stdout.write(f"{report}\n")
    wrong = {
        "leak": report.leaks,
        "place": report.places,
        "beyond": report.beyond,
        "refused": report.refused,
        "failed": report.failed,
        "changed": report.changed,
        "unseen": report.unseen,
    }
    for kind, lines in wrong.items():
        sys.stdout.writelines(f"{kind}: {line}\n" for line in lines)
    return int(any(wrong.values()))


if __name__ == "__main__":
    sys.exit(main())
