"""Three servers over one PostgreSQL: load, a kill in the middle of background work, and a rolling restart.

The servers are three `assay serve` processes with ports and index folders of their own, started at the same moment over
an empty database. The store is filled with vectors of another model, so that one of them begins to re-embed: that one
is killed with SIGKILL as soon as it holds the lease. Meanwhile 8 writers save and look for each note through another
server, and 64 readers search. Then each server in turn is stopped with SIGTERM and started again. When the load is
over, one caller sends more than its limit to all three. Clients go to the next server where a connection is refused or
ends without an answer.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from assay import wiring
from assay.access import Access, Tokens
from assay.memory.engine import Engine
from assay.memory.reembedding import lease_of, model_state
from assay.records import Draft, Scope
from assay.records.coordination import Lease
from assay.settings import Settings, load_settings
from assay.storage import Store, Work
from assay.testing import HashedEmbedder
from reliability.api_load import ACTS, FILLERS, SUBJECTS
from reliability.outcome import Check, Spread, at_least, below, none_of, spread
from reliability.server_processes import NextServerClient, Servers

SERVERS, WRITERS, READERS = 3, 8, 64
PER_MINUTE = 600
"""Requests that one caller may send in a minute, over all servers."""
GREEDY = 12
"""Connections of the caller that sends more than that."""
GREEDY_S = 6.0
DRAIN_S, STOP_S = 1, 60
"""Seconds in which a stopped server is unready, and then finishes requests, which wait long on a busy machine."""
REEMBED_S = 120.0
"""Seconds in which another server must have finished what the killed one began."""
WAIT_S = 300.0
MOST_LOOKS = 20
"""Searches for one note before it counts as not to be found."""
STALE_MS = 1.0
"""Milliseconds after which a save through one server is found through the others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SeveralServersOutcome:
    """What clients, servers and database saw."""

    seconds: float
    filled: int
    saves: int
    searches: int
    errors: tuple[str, ...]
    """Answers other than 200 that clients saw, and requests that nobody answered."""
    told_again: int
    """Saves that a killed server had begun, and that were sent again under another key."""
    unfinished: int
    """Connections that were refused or ended without an answer, so that the next server was asked."""
    stale: tuple[str, ...]
    """Searches through another server, begun after a save was acknowledged, that did not find it."""
    stale_ms: Spread
    """From the acknowledgement to the beginning of the first search that found it; 0 when the first one did."""
    stale_p95_ms: float
    found_ms: Spread
    """From the acknowledgement to the answer with the note."""
    found_p95_ms: float
    restarts: int
    bad_exits: tuple[str, ...]
    killed_at_work: int
    """Servers that were killed while they held a lease."""
    taken_over: int
    """Leases of killed servers that another one took and finished."""
    switches: int
    """How often the store's vectors were switched to the new model."""
    without_vector: int
    lost: tuple[str, ...]
    """Acknowledged saves that are not there."""
    doubled: tuple[str, ...]
    disagreeing: tuple[str, ...]
    missed_at_a_server: tuple[str, ...]
    greedy_sent: int
    greedy_allowed: int
    greedy_limit: float
    """What one server alone would have let through in that time."""
    greedy_servers: int
    """Servers that answered some of its requests."""

    @property
    def did(self) -> str:
        """What was done, in one line."""
        rate = (self.saves + self.searches) / self.seconds if self.seconds else 0.0
        return (
            f"{SERVERS} servers, {WRITERS} writers and {READERS} readers for {self.seconds:.0f} s over "
            f"{self.filled:,} memories: {self.saves:,} saves and {self.searches:,} searches, {rate:.0f}/s; "
            f"a save is found through another server p50 {self.found_ms.p50_ms:.0f} ms, p95 "
            f"{self.found_p95_ms:.0f} ms, longest {self.found_ms.longest_ms:.0f} ms after it was acknowledged; "
            f"stale p50 {self.stale_ms.p50_ms:.0f} ms, p95 {self.stale_p95_ms:.0f} ms, longest "
            f"{self.stale_ms.longest_ms:.0f} ms; "
            f"{self.restarts} restarts, {self.unfinished} connections tried elsewhere, {self.told_again} saves told "
            f"again; the greedy caller got {self.greedy_allowed} of {self.greedy_sent} requests, "
            f"{self.greedy_limit:.0f} at most"
        )

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise of the scenario."""
        return (
            none_of("errors seen by clients", self.errors),
            none_of("searches that miss an acknowledged save", self.stale),
            below("longest staleness", self.stale_ms.longest_ms, STALE_MS, "ms", patience=1.0),
            at_least("saves", self.saves, WRITERS),
            at_least("searches", self.searches, READERS),
            at_least("servers restarted under load", self.restarts, SERVERS),
            none_of("servers that did not end by themselves", self.bad_exits),
            at_least("servers killed in the middle of background work", self.killed_at_work, 1),
            at_least("works of a killed server that another finished", self.taken_over, 1),
            Check(promise="1 switch of the model", seen=str(self.switches), held=self.switches == 1),
            none_of("chunks without a vector", self.without_vector),
            none_of("acknowledged saves lost", self.lost),
            none_of("saves stored twice", self.doubled),
            none_of("tables that disagree", self.disagreeing),
            none_of("saves that a server does not find in the end", self.missed_at_a_server),
            Check(
                promise="requests of one caller over all servers <= its limit",
                seen=f"{self.greedy_allowed} of {self.greedy_sent}, {self.greedy_limit:.0f} allowed",
                held=self.greedy_allowed <= self.greedy_limit < self.greedy_sent,
            ),
            at_least("servers that answered the greedy caller", self.greedy_servers, SERVERS),
        )


class _Found(NamedTuple):
    """How long an acknowledged save took to be found through another server, in seconds."""

    stale_s: float
    found_s: float


class _Saved(NamedTuple):
    """An acknowledged note."""

    title: str
    memory_id: str


@dataclass
class _Seen:
    saved: dict[str, _Saved] = field(default_factory=dict)
    """By source id, each note whose save was acknowledged."""
    replaced: set[str] = field(default_factory=set)
    """Memories that later notes superseded."""
    decided_otherwise: int = 0
    """Saves that were merged with another note, or replaced one."""
    found: list[_Found] = field(default_factory=list)
    searches: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    stale: list[str] = field(default_factory=list)
    told_again: int = 0
    unfinished: int = 0


def run(*, folder: Path, address: str, seconds: int, memories: int, seed: int = 1) -> SeveralServersOutcome:
    """Do all of it over the empty database at an address; the load lasts so many seconds at least."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = {
        "ASSAY_DB": address,
        "ASSAY_EMBEDDER_KIND": "static",
        "ASSAY_SERVER_REQUESTS_PER_MINUTE": str(PER_MINUTE),
        "ASSAY_SERVER_DRAIN_S": str(DRAIN_S),
        "ASSAY_SERVER_STOP_S": str(STOP_S),
        # Every note is like the others, and all of them are saved by programs.
        "ASSAY_SAVE_ALIKE_PER_DAY": "1000000",
        "ASSAY_SAVE_COPIES_PER_DAY": "1000000",
    }
    options = {"db": address, "embedder.kind": "static", "index.folder": str(folder / "index-own")}
    settings = load_settings(options=options).settings
    with Servers(folder, SERVERS, environment) as servers, _open(settings) as engine:
        scope = wiring.scope_of(settings)
        _fill(engine, scope, memories, seed)
        scene = _Scene(servers, engine.store, scope, seconds)
        tokens = [Tokens(engine.store, engine.clock).create(scope, f"c{n}", Access.WRITE).text for n in range(73)]
        director = threading.Thread(target=scene.direct, name="several-servers", daemon=True)
        director.start()
        seen, took = asyncio.run(_load(scene, tokens, seed))
        director.join(WAIT_S)
        if scene.problem is not None:
            raise scene.problem
        greedy = asyncio.run(_be_greedy(servers.ports, tokens[-1]))
        missed = asyncio.run(_look_everywhere(servers, tokens[0], seen))
        return _judge(scene, seen, greedy, took, memories, missed)


def _open(settings: Settings) -> Engine:
    """A memory whose vectors are of another model than the servers'."""
    return wiring.open_engine(settings, embedder=HashedEmbedder(), run_once=True)


def _fill(engine: Engine, scope: Scope, memories: int, seed: int) -> None:
    chance = random.Random(seed)
    drafts = []
    for number in range(memories):
        title, body = _make_note(chance)
        # By a program, as the writers are: a program's note that seems to contradict a person's ranks below it.
        drafts.append(Draft(title=title, body=body, source_id=f"fill-{number}", automated=True))
    for _ in engine.saver.save_many(scope, drafts):
        pass


def _make_note(chance: random.Random) -> tuple[str, str]:
    """A title like no other, and a text; without digits, which may look like a secret and be masked."""
    subject, act = chance.choice(SUBJECTS), chance.choice(ACTS)
    name = "".join(chance.choice("bdfgklmnprstvz") + chance.choice("aeiou") for _ in range(7))
    rest = " ".join(chance.choices(FILLERS, k=24))
    return f"{subject} {name}", f"The {subject} {act} {name} because of {rest}."


@dataclass
class _Scene:
    """The servers, and what is done to them while clients are at work."""

    servers: Servers
    store: Store
    scope: Scope
    seconds: int
    over: threading.Event = field(default_factory=threading.Event)
    killed: Lease | None = None
    taken_over: int = 0
    restarts: int = 0
    bad_exits: list[str] = field(default_factory=list)
    problem: BaseException | None = None

    def direct(self) -> None:
        """Kill the server that re-embeds, restart each in turn, and let the load end."""
        ends = time.monotonic() + self.seconds
        try:
            self._kill_at_work()
            for server in self.servers.all:
                code = server.stop()
                if code not in {0, -15}:
                    self.bad_exits.append(f"server {server.number} ended with {code}")
                server.start()
                server.wait_until_ready()
                self.restarts += 1
            self._wait_for_heir()
            time.sleep(max(ends - time.monotonic(), 0.0))
        except BaseException as problem:  # noqa: BLE001 - raised by whoever waits for this thread
            self.problem = problem
        finally:
            self.over.set()

    def _lease(self) -> Lease | None:
        with self.store.reading(self.scope) as work:
            return work.leases.find(lease_of(self.scope))

    def _kill_at_work(self) -> None:
        deadline = time.monotonic() + REEMBED_S
        while (lease := self._lease()) is None:
            if time.monotonic() > deadline:
                raise RuntimeError("no server began to re-embed")
            time.sleep(0.01)
        holder = int(lease.holder.split("/")[1])
        victim = next(server for server in self.servers.all if server.pid == holder)
        victim.kill()
        with self.store.reading(self.scope) as work:
            at_work = work.vectors.active() == HashedEmbedder().model
        self.killed = lease if at_work else None
        victim.start()
        victim.wait_until_ready()

    def _wait_for_heir(self) -> None:
        """Wait until another process has finished the work of the one that was killed."""
        deadline = time.monotonic() + REEMBED_S
        while time.monotonic() < deadline:
            with self.store.reading(self.scope) as work:
                switched = work.vectors.active() != HashedEmbedder().model
            lease = self._lease()
            if switched and lease is not None and self.killed is not None and lease.holder != self.killed.holder:
                self.taken_over = 1
                return
            time.sleep(0.1)


# --- The clients ---


class _Greedy(NamedTuple):
    """What became of the requests of the caller that sends too many."""

    sent: int
    allowed: int
    seconds: float
    answered_by: frozenset[int]


async def _load(scene: _Scene, tokens: list[str], seed: int) -> tuple[_Seen, float]:
    """Let writers and readers work until the scene is over; return what they saw, and for how many seconds."""
    seen, ports = _Seen(), scene.servers.ports
    clients = [
        *(_write(scene, seen, NextServerClient(ports, tokens[n], first=n), n, seed) for n in range(WRITERS)),
        *(
            _read(scene, seen, NextServerClient(ports, tokens[WRITERS + n], first=n), f"{seed}-{n}")
            for n in range(READERS)
        ),
    ]
    began = time.monotonic()
    await asyncio.gather(*clients)
    return seen, time.monotonic() - began


async def _write(scene: _Scene, seen: _Seen, client: NextServerClient, number: int, seed: int) -> None:
    chance = random.Random(f"writer-{seed}-{number}")
    place, count = number, 0
    try:
        while not scene.over.is_set():
            title, body = _make_note(chance)
            source = f"w{number}-{count}"
            count += 1
            note = {"title": title, "body": body, "source_id": source}
            client.turn_to(place)
            if not await _save(seen, client, note, f"{source}-{seed}"):
                continue
            acknowledged = time.monotonic()
            place += 1
            client.turn_to(place)
            await _find(seen, client, title, acknowledged)
    finally:
        client.close()


async def _save(seen: _Seen, client: NextServerClient, note: dict[str, str], key: str) -> bool:
    """Save a note; return whether it was acknowledged."""
    answer = await _send(seen, client, "/api/memory", note, key=key)
    if answer is not None and answer[0] == 409:
        # The server that began it was killed. A note of the same source and words is stored once, however often sent.
        seen.told_again += 1
        answer = await _send(seen, client, "/api/memory", note, key=f"{key}-again")
    if answer is None:
        return False
    status, body = answer
    if status != 200:
        seen.errors[f"{status} at a save: {str(body)[:120]}"] += 1
        return False
    # A note that is near another may be merged with it, or take its place: then its title is not what is found.
    seen.replaced.update(body["superseded"])
    if body["decision"] != "store" and not body["unchanged"]:
        seen.decided_otherwise += 1
        return False
    seen.saved[note["source_id"]] = _Saved(note["title"], body["memory_id"])
    return True


async def _find(seen: _Seen, client: NextServerClient, title: str, acknowledged: float) -> None:
    """Search until a note is found; count each search that misses it."""
    for attempt in range(MOST_LOOKS):
        began = time.monotonic()
        answer = await _send(seen, client, "/api/memory/search", {"query": title, "k": 10})
        if answer is None:
            return
        status, body = answer
        seen.searches += 1
        if status != 200:
            seen.errors[f"{status} at a search: {str(body)[:120]}"] += 1
            return
        if any(hit["title"] == title for hit in body["hits"]):
            stale_s = began - acknowledged if attempt else 0.0
            seen.found.append(_Found(stale_s, time.monotonic() - acknowledged))
            return
        seen.stale.append(f"{1000 * (began - acknowledged):.1f} ms after {title}")


async def _read(scene: _Scene, seen: _Seen, client: NextServerClient, seed: str) -> None:
    chance = random.Random(f"reader-{seed}")
    try:
        while not scene.over.is_set():
            words = (*chance.choices(SUBJECTS, k=1), *chance.choices(ACTS, k=1), *chance.choices(FILLERS, k=2))
            answer = await _send(seen, client, "/api/memory/search", {"query": " ".join(words), "k": 10})
            if answer is None:
                continue
            seen.searches += 1
            if answer[0] != 200:
                seen.errors[f"{answer[0]} at a search: {str(answer[1])[:120]}"] += 1
    finally:
        client.close()


async def _send(
    seen: _Seen, client: NextServerClient, path: str, body: Any, *, key: str = ""
) -> tuple[int, Any] | None:
    """Return the answer of some server; None: no server answered, which is an error."""
    try:
        answer = await client.send("POST", path, body, key=key)
    except ConnectionError as problem:
        seen.errors[str(problem)] += 1
        return None
    seen.unfinished += answer.tries
    return answer.status, answer.body


async def _be_greedy(ports: list[int], token: str) -> _Greedy:
    """Send as much as possible to all servers for a few seconds, as one caller."""
    answers = list[tuple[int, int]]()
    began = time.monotonic()
    ends = began + GREEDY_S

    async def send(number: int) -> None:
        client = NextServerClient(ports, token, first=number)
        while time.monotonic() < ends:
            answer = await client.send("GET", "/api/flags")
            answers.append((answer.status, answer.port))
        client.close()

    await asyncio.gather(*(send(number) for number in range(GREEDY)))
    answered = frozenset(port for _, port in answers)
    allowed = sum(status == 200 for status, _ in answers)
    return _Greedy(len(answers), allowed, time.monotonic() - began, answered)


async def _look_everywhere(servers: Servers, token: str, seen: _Seen) -> list[str]:
    """Look through every server for some of the notes that were saved."""
    missed = []
    current = [note.title for note in seen.saved.values() if note.memory_id not in seen.replaced]
    titles = current[:: max(len(current) // 10, 1)]
    for number, server in enumerate(servers.all):
        client = NextServerClient(servers.ports, token, first=number)
        for title in titles:
            answer = await client.send("POST", "/api/memory/search", {"query": title, "k": 10})
            if answer.port != server.port or not any(hit["title"] == title for hit in answer.body.get("hits", ())):
                missed.append(f"{title} at server {number}: {answer.status}")
        client.close()
    return missed


# --- The judgment ---


def _judge(  # noqa: PLR0917 - everything that was seen
    scene: _Scene, seen: _Seen, greedy: _Greedy, seconds: float, memories: int, missed: list[str]
) -> SeveralServersOutcome:
    with scene.store.reading(scene.scope) as work:
        active = work.vectors.active() or ""
        state = model_state(work, active)
        sources = _count_sources(work)
        switches = sum(entry.action == "vectors.switch" for entry in work.audit.entries(target=active, limit=1_000))
    burst, per_second = PER_MINUTE / 4, PER_MINUTE / 60
    return SeveralServersOutcome(
        seconds=seconds,
        filled=memories,
        saves=len(seen.saved),
        searches=seen.searches,
        errors=tuple(f"{count} x {what}" for what, count in seen.errors.most_common()),
        told_again=seen.told_again,
        unfinished=seen.unfinished,
        stale=tuple(seen.stale),
        stale_ms=spread([found.stale_s for found in seen.found]),
        stale_p95_ms=_p95_ms([found.stale_s for found in seen.found]),
        found_ms=spread([found.found_s for found in seen.found]),
        found_p95_ms=_p95_ms([found.found_s for found in seen.found]),
        restarts=scene.restarts,
        bad_exits=tuple(scene.bad_exits),
        killed_at_work=int(scene.killed is not None),
        taken_over=scene.taken_over,
        switches=switches,
        without_vector=state.chunks - state.done,
        lost=tuple(source for source in seen.saved if not sources[source]),
        doubled=tuple(f"{source} x {count}" for source, count in sources.items() if source and count > 1),
        disagreeing=tuple(scene.store.problems()),
        missed_at_a_server=tuple(missed),
        greedy_sent=greedy.sent,
        greedy_allowed=greedy.allowed,
        greedy_limit=burst + per_second * greedy.seconds + 1,
        greedy_servers=len(greedy.answered_by),
    )


def _count_sources(work: Work) -> Counter[str | None]:
    """Count the stored notes of each source, earlier versions too."""
    sources, after = Counter[str | None](), ""
    while page := work.memories.page(after=after):
        sources.update(memory.source_id for memory in page)
        after = page[-1].id
    return sources


def _p95_ms(seconds: list[float]) -> float:
    ordered = sorted(seconds) or [0.0]
    return round(ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))] * 1000, 2)
