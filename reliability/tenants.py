"""Five tenants in one store: does any of them ever see, count or feel the rows of another?

Each has memories with the same sources, folders and subjects as all others, joined by edges, and answered questions,
prompts and searches of its own. Everything it writes carries a mark that nobody asks for. Then tenants taken at random
search with random options, also for each other's words, over HTTP and through MCP's tool, while all go on saving; and
they ask for each other's ids, cursors and links by name. A mark or an id of another tenant in any answer is a leak; so
is an error that tells a thing of another from a thing that is not there, a count that includes it, or a score that
moved when the others moved in. Beside it every route is tried without a token, with dead ones, and with one that
reaches too little.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from starlette.routing import Route
from starlette.testclient import TestClient

from assay.access import Access, Grant
from assay.access.policies import PUBLIC
from assay.mcp.tools import BY_NAME, Calling
from assay.records import Channel, Draft, EdgeKind, Mode, SaveOutcome, Scope, Tier
from assay.records.research_log import ResearchSession
from assay.server.application import application
from assay.server.security.guard import describe_route
from assay.server.services import Services
from assay.testing import FixedClock
from reliability.outcome import Check, at_least, none_of

NAMES = ("alderfen", "brackmoor", "cindervale", "duskwater", "emberholt")
"""One tenant each; the word stands in what they write, and all of them ask for all of it."""
SUBJECTS = ("oven", "router", "invoice", "harbour", "boiler", "ledger", "garden", "antenna", "kettle", "mortgage")
ACTS = ("polls", "drops", "settles", "moves", "replaces", "warms", "archives", "signs", "rejects", "repeats")
FOLDERS = ("policies", "notes/daily", "decisions")
SAME = 100
"""Searches of the first tenant that are asked before and after the others move in."""
EACH_PROBE = 5
"""One look by name to so many searches."""
MOST_PUBLIC = 3
ENDLESS = 1_000_000_000
NOBODY = "0" * 26
LISTS = ("/memory", "/evaluation", "/evaluation/queries", "/api/memory/health", "/api/audit", "/api/tokens")
"""What each tenant looks at in the end."""
_IDS = re.compile(r"\b[a-z]{1,3}_\w+")


@dataclass(frozen=True, kw_only=True, slots=True)
class TenantsOutcome:
    """What tenants saw of each other."""

    memories: int
    """Of each tenant at the beginning."""
    searches: int
    probes: int
    """Looks by name at something of another tenant."""
    hits: int
    """Own memories that searches found."""
    refused: int
    """Calls without a token that is good enough."""
    public: tuple[str, ...]
    opened: tuple[str, ...]
    """Of those calls, the ones that were let in."""
    foreign: tuple[str, ...]
    told_apart: tuple[str, ...]
    miscounted: tuple[str, ...]
    moved: tuple[str, ...]
    failed: tuple[str, ...]
    """Answers that were neither right nor a refusal."""
    seconds: float

    @property
    def did(self) -> str:
        """What was done, in one line."""
        return (
            f"{len(NAMES)} tenants of {self.memories} memories each: {self.searches:,} searches found "
            f"{self.hits:,} own memories, {self.probes:,} looks by name, {self.refused} calls without a good token; "
            f"{self.seconds:.0f} s"
        )

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise of the scenario."""
        return (
            at_least("own memories found", self.hits, self.searches),
            none_of("foreign rows in an answer", self.foreign),
            none_of("errors that tell a foreign thing from none", self.told_apart),
            none_of("counts that include others", self.miscounted),
            none_of("scores that others moved", self.moved),
            none_of("answers that failed", self.failed),
            none_of("calls let in without a good token", self.opened),
            at_least("calls without a good token", self.refused, 100),
            Check(
                promise=f"addresses for everybody <= {MOST_PUBLIC}",
                seen=f"{len(self.public)}: {', '.join(self.public)}",
                held=len(self.public) <= MOST_PUBLIC,
            ),
        )


@dataclass
class _Tenant:
    """Who asks, and what is its own."""

    name: str
    headers: dict[str, str]
    ids: list[str] = field(default_factory=list)
    """Of memories, searches and answered questions, to be asked for by others."""
    memories: list[str] = field(default_factory=list)
    asked: int = 0
    """Answered questions."""

    @property
    def scope(self) -> Scope:
        return Scope(tenant=self.name, principal=f"agent of {self.name}")

    @property
    def mark(self) -> str:
        """Stands in everything it writes, and in nothing that anybody asks for."""
        return f"{self.name[::-1]}mark"


class _Answer(NamedTuple):
    status: int
    text: str


@dataclass
class _Seen:
    hits: int = 0
    probes: int = 0
    foreign: list[str] = field(default_factory=list)
    told_apart: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def run(*, folder: Path, searches: int, memories: int = 200, seed: int = 1) -> TenantsOutcome:
    """Fill a store for five tenants, and let them search it so many times."""
    # The suite's own way of serving: every request passes the guard.
    from tests.server.serving import bearer, reaching, services_at  # noqa: PLC0415 - a development dependency

    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    chance, clock = random.Random(seed), FixedClock()
    with services_at(folder, clock=clock, server_requests_per_minute=ENDLESS) as services:
        tenants = [_Tenant(name, bearer(services, scope=Scope(tenant=name, principal=name))) for name in NAMES]
        with reaching(services, local=False, pages=True) as client:
            town = _Town(client, services, tenants, chance)
            town.settle(tenants[0], memories)
            before = town.fixed_searches()
            for tenant in tenants[1:]:
                town.settle(tenant, memories)
            after = town.fixed_searches()
            for number in range(searches):
                town.search()
                if number % EACH_PROBE == 0:
                    town.probe()
            miscounted = tuple(line for tenant in tenants for line in town.miscounted(tenant))
        refused, opened = _swept(services, clock)
    return TenantsOutcome(
        memories=memories,
        searches=searches,
        probes=town.seen.probes,
        hits=town.seen.hits,
        refused=refused,
        public=tuple(sorted({path for _, path, public in _routes(services) if public})),
        opened=tuple(opened),
        foreign=tuple(town.seen.foreign),
        told_apart=tuple(town.seen.told_apart),
        miscounted=miscounted,
        moved=tuple(query for query in before if before[query] != after[query]),
        failed=tuple(town.seen.failed),
        seconds=time.monotonic() - began,
    )


class _Town:
    """Everybody who lives in the store."""

    def __init__(self, client: TestClient, services: Services, tenants: list[_Tenant], chance: random.Random) -> None:
        self.seen = _Seen()
        self._client = client
        self._services = services
        self._tenants = tenants
        self._chance = chance
        self._owners: dict[str, str] = {}
        self._saved = 0

    def settle(self, tenant: _Tenant, memories: int) -> None:
        """Move in: memories, edges between them, answered questions and a prompt."""
        # The same numbers for everybody: only words and marks differ.
        chance = random.Random("the same in every house")
        drafts = [_draft(tenant, chance, f"note-{number}") for number in range(memories)]
        engine = self._services.engine
        kept = [result for _, result in engine.saver.save_many(tenant.scope, drafts)]
        tenant.memories = [one.memory_id for one in kept if isinstance(one, SaveOutcome) and one.memory_id]
        self._owns(tenant, *tenant.memories)
        for source, target in zip(tenant.memories, tenant.memories[1:], strict=False):
            engine.link(tenant.scope, source, EdgeKind.SUPPORTS, target, strength=0.8, evidence=tenant.mark)
        with engine.store.writing(tenant.scope) as work:
            tenant.asked = 3 + NAMES.index(tenant.name)
            for number in range(tenant.asked):
                log_id = f"r_{tenant.name}_{number}"
                self._owns(tenant, log_id)
                work.research.put(_answered(tenant, log_id, self._services), {"said": tenant.mark})
            work.prompts.add("planner", f'system = "{tenant.mark}"\ntask = "Plan."', note=tenant.mark)

    def fixed_searches(self) -> dict[str, Any]:
        """What the first tenant finds, with scores."""
        chance, tenant = random.Random("fixed"), self._tenants[0]
        found = {}
        for _ in range(SAME):
            query = f"{chance.choice(SUBJECTS)} {chance.choice(ACTS)} {chance.choice(NAMES)}"
            answer = self._ask(tenant, "POST", "/api/memory/search", {"query": query, "k": 20})
            found[query] = [(one["memory_id"], one["score"]) for one in json.loads(answer.text)["hits"]]
        return found

    def search(self) -> None:
        """One of them asks something."""
        tenant, chance = self._chance.choice(self._tenants), self._chance
        words = [chance.choice(SUBJECTS), chance.choice(ACTS), chance.choice((*NAMES, *ACTS))]
        query = " ".join(chance.sample(words, chance.randint(1, len(words))))
        if chance.random() < 0.1:
            self._by_tool(tenant, query)
        elif chance.random() < 0.1:
            self._looked(tenant, "POST", "/api/memory/context", {"query": query, "token_budget": 2_000})
        else:
            self._looked(tenant, "POST", "/api/memory/search", {"query": query, **_options(chance)})
        if chance.random() < 0.02:
            self._save(tenant)

    def probe(self) -> None:
        """One of them asks for something of another by its id, and for something that was never there."""
        chance = self._chance
        tenant, other = chance.sample(self._tenants, 2)
        theirs = chance.choice(other.ids)
        kind, _, rest = theirs.partition("_")
        nothing = f"{kind}_{NOBODY[: len(rest)]}"
        own = chance.choice(tenant.memories)
        for method, path, body in _by_name(theirs, own, chance):
            told = [
                self._looked(tenant, method, path.replace(theirs, one), _replaced(body, theirs, one), one)
                for one in (theirs, nothing)
            ]
            if told[0] != told[1]:
                self.seen.told_apart.append(f"{method} {path}: {told[0]} and {told[1]}"[:300])
        self.seen.probes += 1

    def miscounted(self, tenant: _Tenant) -> Iterator[str]:
        """Numbers that are not the tenant's own."""
        with self._services.engine.store.reading(tenant.scope) as work:
            there = work.memories.count()
        pages = list(self._pages(tenant))
        folders = json.loads(self._ask(tenant, "GET", "/api/memory/folders").text)["folders"]
        counted = sum(folders.values())
        metrics = json.loads(self._ask(tenant, "GET", "/api/evaluation/metrics").text)
        versions = json.loads(self._ask(tenant, "GET", "/api/prompts/planner").text)["versions"]
        known = (
            ("memories", len(pages), there),
            ("in folders", counted, there),
            ("questions", metrics["sessions"], tenant.asked),
            ("prompt versions", len(versions), 2),
        )
        for path in LISTS:
            self._looked(tenant, "GET", path)
        yield from (f"{tenant.name}: {seen} {what}, not {right}" for what, seen, right in known if seen != right)

    def _pages(self, tenant: _Tenant) -> Iterator[str]:
        cursor = ""
        while True:
            page = json.loads(self._ask(tenant, "GET", f"/api/memory?limit=100{cursor}").text)
            yield from (one["memory_id"] for one in page["memories"])
            if page["next_cursor"] is None:
                return
            cursor = f"&cursor={page['next_cursor']}"

    def _save(self, tenant: _Tenant) -> None:
        self._saved += 1
        draft = _draft(tenant, self._chance, f"later-{self._saved}")
        body = {"title": draft.title, "body": draft.body, "folder": draft.folder, "source_id": draft.source_id}
        found = json.loads(self._looked(tenant, "POST", "/api/memory", body).text)
        if found.get("memory_id"):
            tenant.memories.append(found["memory_id"])
            self._owns(tenant, found["memory_id"])

    def _by_tool(self, tenant: _Tenant, query: str) -> None:
        services, tool = self._services, BY_NAME["memory_search"]
        grant = Grant(tenant.scope, Access.WRITE)
        calling = Calling(services.engine, services.settings, grant, read_only=False, progress=lambda *_: None)
        found = tool.call(calling, tool.read({"query": query, "k": 20}))
        self.seen.hits += len(found.hits)
        self._look(tenant, f"memory_search {query!r}", json.dumps(tool.structure(found)))

    def _looked(
        self, tenant: _Tenant, method: str, path: str, body: dict[str, Any] | None = None, named: str = ""
    ) -> _Answer:
        """An answer, looked through; what was asked for by name may be said again."""
        found = self._ask(tenant, method, path, body)
        if found.status >= 500 or found.status in (401, 403, 429) or (found.status >= 400 and not named):
            self.seen.failed.append(f"{method} {path}: {found.status} {found.text[:200]}")
        if path == "/api/memory/search" and found.status == 200:
            told = json.loads(found.text)
            self.seen.hits += len(told["hits"])
            self._owns(tenant, told["query_id"])
        text = found.text.replace(named, "") if named else found.text
        self._look(tenant, f"{method} {path}", text)
        return _Answer(found.status, re.sub(r'"request_id":\s*"\w+"', "", text))

    def _look(self, tenant: _Tenant, where: str, text: str) -> None:
        named = {self._owners[one] for one in _IDS.findall(text) if one in self._owners}
        marked = {other.name for other in self._tenants if other.mark in text}
        for name in sorted((named | marked) - {tenant.name}):
            self.seen.foreign.append(f"{tenant.name} saw {name} at {where}")

    def _owns(self, tenant: _Tenant, *ids: str) -> None:
        tenant.ids += ids
        self._owners.update(dict.fromkeys(ids, tenant.name))

    def _ask(self, tenant: _Tenant, method: str, path: str, body: dict[str, Any] | None = None) -> _Answer:
        found = self._client.request(method, path, json=body, headers=tenant.headers)
        return _Answer(found.status_code, found.text)


def _draft(tenant: _Tenant, chance: random.Random, source: str) -> Draft:
    subject, act = chance.choice(SUBJECTS), chance.choice(ACTS)
    number = chance.randrange(10**6)
    return Draft(
        title=f"{subject} {number} {tenant.mark}",
        body=f"At {tenant.name} the {subject} {act} number {number}, as {tenant.mark} has it.",
        folder=f"{chance.choice(FOLDERS)}/{tenant.mark}" if chance.random() < 0.5 else chance.choice(FOLDERS),
        source_id=source,
        triggers=(f"{subject} {act}",) if chance.random() < 0.3 else (),
        tier=Tier.CONSTITUTIONAL if source == "note-0" else Tier.IMPORTANT,
    )


def _answered(tenant: _Tenant, log_id: str, services: Services) -> ResearchSession:
    at = services.clock.now() - timedelta(hours=1)
    return ResearchSession(
        log_id=log_id, created_at=at, question=f"What of {tenant.mark}?", overall_score=0.5, passed=True
    )


def _options(chance: random.Random) -> dict[str, Any]:
    """Some of what a search may ask for."""
    every: dict[str, Any] = {
        "k": chance.randint(1, 50),
        "mode": chance.choice(list(Mode)).value,
        "channels": [one.value for one in chance.sample(list(Channel), chance.randint(1, len(Channel)))],
        "folder": chance.choice(FOLDERS),
        "include_superseded": True,
        "explain": True,
        "token_budget": chance.randint(0, 4_000),
        # A session of the same name in every tenant.
        "session_id": f"s{chance.randint(1, 3)}",
        "tiers": ["important", "constitutional"],
    }
    return {name: value for name, value in every.items() if chance.random() < 0.4}


def _by_name(theirs: str, own: str, chance: random.Random) -> list[tuple[str, str, dict[str, Any] | None]]:
    """Ways of asking for a thing by its id."""
    link = {"source_id": own, "kind": "supports", "target_id": theirs}
    graded = {"judgments": [{"query_id": theirs, "memory_id": own, "relevance": 1}]}
    every: list[tuple[str, str, dict[str, Any] | None]] = [
        ("GET", f"/api/memory/{theirs}", None),
        ("GET", f"/api/memory/{theirs}/why", None),
        ("GET", f"/memory/{theirs}", None),
        ("POST", f"/api/memory/{theirs}/validate", {"was_useful": True}),
        ("POST", "/api/memory/links", link),
        ("POST", "/api/memory/links", {**link, "source_id": theirs, "target_id": own}),
        ("POST", "/api/judgments", graded),
        ("POST", "/api/judgments", {"judgments": [{"query_id": "q", "memory_id": theirs, "relevance": 1}]}),
        ("POST", "/api/memory/events", {"events": [{"session_id": "s1", "memory_id": theirs}]}),
        ("DELETE", f"/api/memory/{theirs}", None),
        ("GET", f"/api/searches/{theirs}", None),
        ("GET", f"/api/memory-sessions/{theirs}", None),
        ("GET", f"/api/evaluation/sessions/{theirs}", None),
        ("GET", f"/api/logs/sessions/{theirs}", None),
        ("POST", f"/api/research/sessions/{theirs}/retry-search", {}),
        ("GET", f"/evaluation/queries/{theirs}", None),
        ("GET", f"/answers/{theirs}", None),
        ("DELETE", f"/api/tokens/{theirs}", None),
    ]
    return chance.sample(every, 4)


def _replaced(body: dict[str, Any] | None, old: str, new: str) -> dict[str, Any] | None:
    made: dict[str, Any] | None = json.loads(json.dumps(body).replace(old, new))
    return made


def _routes(services: Services) -> Iterator[tuple[str, str, bool]]:
    """Every route: method, an address that fits, whether it is for everybody."""
    for one in application(services).routes:
        told = describe_route(one)
        methods = sorted((one.methods or {"GET"}) - {"HEAD"}) if isinstance(one, Route) else ["GET"]
        yield from ((method, re.sub(r"\{[^}]*\}", "x", told.path) or "/", told.policy is PUBLIC) for method in methods)


def _swept(services: Services, clock: FixedClock) -> tuple[int, list[str]]:
    """Every route with no token, a dead one, and one that reaches too little: how many calls, and which were let in."""
    from tests.server.serving import bearer, reaching  # noqa: PLC0415 - a development dependency

    expired = bearer(services, days=1)
    clock.advance(days=2)
    revoked = bearer(services)
    own = Scope(tenant="default", principal="local")
    services.tokens.revoke(own, services.tokens.all(own)[-1].token_id)
    dead: list[dict[str, str]] = [{}, expired, revoked, {"Authorization": "Bearer assay_" + "x" * 43}]
    tried, opened = 0, []
    for headers in dead:
        with reaching(services, local=False, pages=True) as client:
            for method, path, public in _routes(services):
                status = 401 if public else client.request(method, path, headers=headers).status_code
                tried += not public
                if status not in (401, 429):
                    opened.append(f"{method} {path}: {status}")
    reader = bearer(services, Access.READ)
    with reaching(services, local=False, pages=True) as client:
        for one in application(services).routes:
            told = describe_route(one)
            if told.policy is None or told.policy.access is Access.READ or not isinstance(one, Route):
                continue
            for method in sorted(one.methods or ()):
                tried += 1
                path = re.sub(r"\{[^}]*\}", "x", told.path)
                status = client.request(method, path, headers=reader).status_code
                if status != 403:
                    opened.append(f"{method} {path} for a reader: {status}")
    return tried, opened
