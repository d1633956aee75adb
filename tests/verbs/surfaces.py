"""Every surface of a verb, called the same way: Python, command line, HTTP, `Client` and MCP.

Each call works in a tenant of its own, filled with the same notes, so that all of them begin from the same state. What
a surface answers is compared after ids and times, which differ by nature, are replaced by what they stand for.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from starlette.testclient import TestClient
from tests.server.serving import HERE, served, settings_at
from tests.verbs.files import Files, make_files
from tests.verbs.notes import Notes, fill

import assay
from assay import wiring
from assay.access import Access, Grant
from assay.cli.main import main
from assay.errors import AssayError
from assay.mcp.server import Host, build_server
from assay.records import Scope
from assay.records.access import TOKEN_SHAPE
from assay.server.application import build
from assay.server.services import Services
from assay.settings import CONFIG_VARIABLE, Settings
from assay.verbs import Verb
from mcp import Client as McpClient

BOUND_S = 60.0
PRINCIPAL = "token:parity"
"""Who a caller is that shows a token named `parity`; at the command line and in Python it is `local`."""
PERCENTILES = {"p50", "p95", "p99", "mean"}
COPIED = {"memories", "size_bytes", "content"}
TIMING = ("_ms", "_minutes", "quality_proxy_score", "seconds")
"""Ends of names of fields that depend on how long a step took."""
_WAITING = re.compile(r"\b[\d,]+ waiting")
"""How many lines of the query log are not written yet, which depends on the moment."""
_SCHEMA = re.compile(r"\bassay_before_rs_[0-9a-z]{26}\b")
"""Where PostgreSQL keeps the state from before a restore."""
_HEAD = re.compile(r"^[0-9a-f]{64}$")
"""The hash with which the log of a tenant ends: every entry has random salt."""
ROW_NUMBER = "id"
"""Numbers of rows that tenants share differ from call to call."""
CALLERS = (PRINCIPAL, "local")
_BALLOT = re.compile(r"\bvalidate_\w+:[0-9a-f]{32}\b")
"""Names of votes, which are made from the ids of tenant and memory."""
_ID = re.compile(r"\b(?:[a-z]{1,4}_)?[0-9A-HJKMNP-TV-Z]{26}\b")
Given = dict[str, Any]
Prepare = Callable[[Any, Scope, Notes], Mapping[str, str]]
"""What must have happened in a tenant before; returns further ids by name."""
ALSO: Mapping[str, Given] = {"memory.forget": {"reversible": True}}
"""Arguments that only choose the verb, where a method of Python and the client does more than one."""
ONCE: Mapping[str, tuple[str, ...]] = {"Research": ("builtin", "evaluate")}
"""Fields of requests that a facade of Python takes when it is made."""
LISTED: Mapping[str, str] = {"memory.ingest": "paths", "trace.import": "paths"}
"""Fields of requests that a method of Python takes as its positional arguments."""


FUNCTIONS: Mapping[str, Callable[[Given], Any]] = {
    "run.start": lambda given: _evaluate(**given),
    "run.compare": lambda given: _compare(**given),
    "run.gate": lambda given: assay.gate(**{"baseline": None, **given}).result(),
}
"""Functions of Python that give more than the result of their verb: how each is called, and where the result is."""


def _evaluate(dataset: str, mode: str = "", **more: Any) -> Any:
    return assay.evaluate(dataset, f"assay:mode={mode}" if mode else "assay", **more).summary()


def _compare(control: str, treatment: str, **more: Any) -> Any:
    return assay.compare(control, treatment, **more).comparisons[0].result()


PRINTED: Mapping[str, Callable[[Any], Any]] = {
    "audit.list": lambda told: _without(told, "chains"),
    "audit.check": lambda told: {"chains": told["chains"]},
    "memory_store.import": lambda told: told["imported"],
    "run.start": lambda told: _without_commit(_without(told["runs"][0], "folder")),
    "run.compare": lambda told: told["comparisons"][0],
    "dataset.list": lambda told: {"datasets": [_without(one, "path", "imported_from") for one in told["datasets"]]},
}
"""What of a printed document is the result, where a command can do several at once or tells where files lie."""


def _without(told: Given, *names: str) -> Given:
    return {name: value for name, value in told.items() if name not in names}


def _without_commit(run: Given) -> Given:
    """Only the command line stands in a folder of code, and then only in a checkout."""
    return {**run, "manifest": {**run["manifest"], "commit": ""}}


class Answer(NamedTuple):
    """What a surface answered: a result, or the code of an error."""

    result: Any = None
    error: str = ""


@dataclass(frozen=True)
class Place:
    """A store that every surface reaches, and a server before it."""

    folder: Path
    settings: Settings
    services: Services
    files: Files
    http: TestClient
    address: str
    _tenants: list[str] = field(default_factory=list)
    _shared: dict[Prepare | None, Tenant] = field(default_factory=dict)

    def share_tenant(self, prepare: Prepare | None = None) -> Tenant:
        """Return the tenant that was prepared in this way before, for calls that change nothing."""
        if prepare not in self._shared:
            self._shared[prepare] = self.tenant(prepare)
        return self._shared[prepare]

    def tenant(self, prepare: Prepare | None = None) -> Tenant:
        """Return a new tenant with the notes that every tenant has."""
        name = f"t{len(self._tenants)}"
        self._tenants.append(name)
        scope = Scope(tenant=name, principal=PRINCIPAL)
        notes = fill(self.services.engine, scope, self.files)
        more = {} if prepare is None else dict(prepare(self.services.engine, scope, notes))
        self.services.engine.store.log.flush()
        # Made for every surface, needed or not: they stand in the list of tokens and in the audit log.
        tokens = {
            person: self.services.tokens.create(scope, "parity", Access.OPERATOR, person=person).text
            for person in (False, True)
        }
        return Tenant(self, scope, {**notes.ids, **more}, tokens)


@dataclass(frozen=True)
class Tenant:
    """One tenant of a place."""

    place: Place
    scope: Scope
    ids: Mapping[str, str]
    tokens: Mapping[bool, str]
    """By whether a person uses it."""

    def token(self, *, person: bool) -> str:
        """Return a token that may do everything here."""
        return self.tokens[person]

    def plain(self, value: Any) -> Any:
        """Return an answer with ids and times replaced by what they stand for."""
        names = {stored: f"<{name}>" for name, stored in self.ids.items()} | {self.scope.tenant: "<tenant>"}
        if isinstance(value, Mapping) and "datasets" in value:
            # The command line lists every file of its folder, also those that other examples left there.
            kept = [one for one in value["datasets"] if one["bundled"] or one["name"] == self.place.files.dataset.name]
            value = {**value, "datasets": kept}
        return _plain(value, names, {})


def _plain(value: Any, names: Mapping[str, str], seen: dict[str, str]) -> Any:
    if isinstance(value, Mapping):
        # How long a step took differs from call to call.
        times = PERCENTILES if value.keys() >= PERCENTILES else ()
        # A checkpoint counts and hashes the rows of every tenant, of which there are more with each call.
        times = COPIED if value.keys() >= COPIED else times
        return {
            name: "<timing>"
            if name.endswith(TIMING) or name in times or (name == ROW_NUMBER and isinstance(inner, int))
            else names.get(inner, inner)
            if name == "tenant"
            else _plain(_hide_cursor(name, inner), names, seen)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(inner, names, seen) for inner in value if not _is_about_times(inner)]
    if not isinstance(value, str):
        return round(value, 6) if isinstance(value, float) else value
    for name in CALLERS:
        value = value.removesuffix(name) + "<caller>" if value.endswith(name) else value
    with contextlib.suppress(ValueError):
        datetime.fromisoformat(value)
        return "<time>"
    value = TOKEN_SHAPE.sub("<token>", _HEAD.sub("<head>", value))
    value = _SCHEMA.sub("<schema>", value)
    value = _BALLOT.sub("<ballot>", _WAITING.sub("<some> waiting", value))
    return _ID.sub(lambda found: names.get(found[0]) or seen.setdefault(found[0], f"<{len(seen)}>"), value)


def _hide_cursor(name: str, value: Any) -> Any:
    """Replace a cursor: it holds the ids of the rows behind which it goes on."""
    return "<cursor>" if name == "next_cursor" and value is not None else value


def _is_about_times(value: Any) -> bool:
    """Tell whether a value is a caveat on times, such as that the first search of a run was a cold one."""
    return isinstance(value, Mapping) and value.get("kind") == "latency" and "sentence" in value


Call = Callable[[Tenant, "Verb[Any, Any]", Given, list[str]], Answer]


def by_python(tenant: Tenant, verb: Verb[Any, Any], given: Given, argv: list[str]) -> Answer:
    """Call the public Python method."""
    if verb.python.partition(".")[0] not in ("Memory", "Research"):
        function = FUNCTIONS.get(verb.name) or (lambda given: attrgetter(verb.python)(assay)(**given))
        try:
            return Answer(verb.to_json(function(given)))
        except AssayError as problem:
            return Answer(error=problem.code)
    facade, _, method = verb.python.partition(".")
    with assay.Memory(tenant.place.settings.db, embedder="none", tenant=tenant.scope.tenant) as memory:
        # What a request says for one call, some facades take once for all.
        once = {name: given.pop(name) for name in ONCE.get(facade, ()) if name in given}
        target = memory if facade == "Memory" else getattr(assay, facade)(memory, **once)
        listed = given.pop(LISTED[verb.name], ()) if verb.name in LISTED else ()
        try:
            return Answer(verb.to_json(getattr(target, method)(*listed, **given, **ALSO.get(verb.name, {}))))
        except AssayError as problem:
            return Answer(error=problem.code)


def by_command(tenant: Tenant, verb: Verb[Any, Any], given: Given, argv: list[str]) -> Answer:
    """Call the command line with --json."""
    out, err = io.StringIO(), io.StringIO()
    place = ["--json", "--tenant", tenant.scope.tenant, "--db", tenant.place.settings.db]
    config = ["--config", str(tenant.place.folder / "assay.toml")]
    with (
        _unchanged_environment(),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        contextlib.suppress(SystemExit),
    ):
        main([*argv, *place, *config])
    told = json.loads(out.getvalue() or err.getvalue())
    if isinstance(told, dict) and "error" in told:
        return Answer(error=told["error"]["code"])
    return Answer(PRINTED.get(verb.name, lambda whole: whole)(told))


@contextmanager
def configured_at(folder: Path) -> Iterator[None]:
    """Name the settings of a place in the environment: systems under test and functions of Python read them anew."""
    with _unchanged_environment():
        os.environ[CONFIG_VARIABLE] = str(folder / "assay.toml")
        yield


@contextmanager
def _unchanged_environment() -> Iterator[None]:
    """Take back what a command puts into the environment of its process."""
    before = dict(os.environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def by_http(tenant: Tenant, verb: Verb[Any, Any], given: Given, argv: list[str], *, person: bool) -> Answer:
    """Send the request as the API describes it."""
    assert verb.http is not None
    path = verb.http.path.format(**{name: given[name] for name in verb.http.path_fields})
    rest = {name: value for name, value in given.items() if name not in verb.http.path_fields}
    sent: Given = {"json": rest} if verb.http.has_body else {"params": rest}
    headers = {"Authorization": f"Bearer {tenant.token(person=person)}"}
    told = tenant.place.http.request(verb.http.method, path, headers=headers, **sent).json()
    return Answer(error=told["error"]["code"]) if "error" in told else Answer(told)


def by_client(tenant: Tenant, verb: Verb[Any, Any], given: Given, argv: list[str], *, person: bool) -> Answer:
    """Call the method of `Client` against a real server."""
    with assay.Client(tenant.place.address, tenant.token(person=person)) as client:
        try:
            return Answer(verb.to_json(getattr(client, verb.client)(**given, **ALSO.get(verb.name, {}))))
        except AssayError as problem:
            return Answer(error=problem.code)


def by_mcp(tenant: Tenant, verb: Verb[Any, Any], given: Given, argv: list[str]) -> Answer:
    """Call the tool through the protocol."""
    return anyio.run(_ask, tenant, verb, given)


async def _ask(tenant: Tenant, verb: Verb[Any, Any], given: Given) -> Answer:
    assert verb.tool is not None
    host = Host(tenant.place.services.engine, tenant.place.settings)
    with anyio.fail_after(BOUND_S):
        async with McpClient(build_server(host, local=Grant(tenant.scope, Access.OPERATOR))) as client:
            done = await client.call_tool(verb.tool.name, given)
    told = dict(done.structured_content or {})
    if done.is_error:
        return Answer(error=told["error"]["code"])
    told.pop("about", None)
    return Answer(told)


def surfaces_of(verb: Verb[Any, Any], *, person: bool) -> dict[str, Call]:
    """Return the surfaces of a verb on which the caller counts as a person, or as a program."""
    found: dict[str, Call] = {}
    if verb.http is not None:
        found["http"] = partial(by_http, person=person)
    if verb.client:
        found["client"] = partial(by_client, person=person)
    if person and verb.python:
        found["python"] = by_python
    if person and verb.command:
        found["command line"] = by_command
    if not person and verb.tool is not None:
        found["mcp"] = by_mcp
    return found


@contextmanager
def place_at(folder: Path, db: str) -> Iterator[Place]:
    """Open a store, and a server before it, that every surface reaches."""
    # All of them, also where PostgreSQL's would lie with the user's data, which is another place in each test.
    folders = ("runs", "datasets", "checkpoints", "archives")
    named = "".join(f'[{name}]\nfolder = "{folder}/{name}"\n' for name in folders)
    (folder / "assay.toml").write_text(f'[embedder]\nkind = "none"\n{named}')
    with configured_at(folder):
        # The one default that differs by surface (tests/verbs/test_circumstances.py); everything else must be equal.
        settings = settings_at(folder).change(db=db, embedder="none", mcp_min_relevance=0.0)
        files = make_files(folder)
    with wiring.serving(settings) as engine:
        services = Services(engine, settings)
        with (
            TestClient(build(services, open_to_this_machine=False), base_url=HERE) as http,
            served(services, local=False) as address,
        ):
            yield Place(folder, settings, services, files, http, address)
