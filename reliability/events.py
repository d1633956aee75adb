"""Feedback events from impatient clients, through outages.

Clients send every event three times with the same key, in batches, in an order of their own, over a local socket. The
process that records them is killed and started again at random, so replies get lost and batches are sent once more.
In the end each event must be there once: none lost, none counted twice.
"""

from __future__ import annotations

import json
import random
import socket
import socketserver
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from assay.records import EventType, FeedbackEvent
from assay.storage import Store
from reliability import ledger, load
from reliability.crew import Crew, wait_until
from reliability.outcome import Check, at_least, none_of

CLIENTS = 4
DELIVERIES = 3
BATCH = 25
QUERIES = 20
REPLY_S = 10.0
LONGEST_S = 1800.0
BETWEEN_OUTAGES_S = (0.1, 0.6)
LONGEST_OUTAGE_S = 0.1
OPENING_S = 120.0


@dataclass(frozen=True, kw_only=True, slots=True)
class EventsOutcome:
    """What was seen at the end."""

    backend: str
    events: int
    retried: int
    """Deliveries that were tried again, because a reply got lost or nobody was there."""
    outages: int
    recorded: int
    lost: int
    counted_twice: int
    told_new: int
    """How many events the replies that arrived called new."""
    clients_failed: int
    seconds: float

    @property
    def did(self) -> str:
        """What was done, in one line."""
        rate = DELIVERIES * self.events / self.seconds
        return (
            f"{self.events} events from {CLIENTS} clients, each sent {DELIVERIES} times, {self.retried} tried again "
            f"after {self.outages} outages, on {self.backend}; {rate:.0f} deliveries/s, {self.seconds:.0f} s"
        )

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise of the scenario."""
        return (
            none_of("events lost", self.lost),
            none_of("events counted twice", self.counted_twice),
            none_of("events called new more than once", max(0, self.told_new - self.events)),
            none_of("clients that gave up", self.clients_failed),
            at_least("outages", self.outages, 1),
        )


class _Order(NamedTuple):
    """What one client has to deliver."""

    client: int
    events: int
    seed: int


def run(*, folder: Path, events: int, address: str | Path | None = None, seed: int = 1) -> EventsOutcome:
    """Deliver that many events, to a new SQLite store or to the one at an address."""
    began = time.monotonic()
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    address = address or folder / "store.db"
    with load.opened(address) as store, _short_path() as door:
        with store.writing(load.SCOPE) as work:
            work.queries.add_many([load.query_of(_query_id(number)) for number in range(QUERIES)])
        share = events // CLIENTS
        orders = [_Order(client, share, rng.getrandbits(32)) for client in range(CLIENTS)]
        delivered = _deliver(address, door, folder, orders, rng)
        return _judged(store, folder, orders, delivered, time.monotonic() - began)


class _Delivered(NamedTuple):
    outages: int
    exit_codes: list[int]


def _deliver(address: str | Path, door: Path, folder: Path, orders: list[_Order], rng: random.Random) -> _Delivered:
    """Let the clients deliver while the recorder comes and goes."""
    outages = 0
    deadline = time.monotonic() + LONGEST_S
    ledgers = [_ledger_of(folder, order.client) for order in orders]
    with Crew() as clients, Crew() as recorders:
        senders = [clients.start(send_all, door, path, order) for path, order in zip(ledgers, orders, strict=True)]
        recorder = recorders.start(record_all, address, door, deadline)

        def over() -> bool:
            return not any(sender.is_alive() for sender in senders)

        while not over() and time.monotonic() < deadline:
            # Every other recorder comes to work first: where opening a store takes longer than there is between two
            # outages, all would be killed at it, and nothing ever be recorded.
            if outages % 2 == 0:
                wait_until(lambda: door.exists() or over(), OPENING_S, "the recorder to open its door")
            if outages == 0:
                # The first outage comes as soon as something was recorded: a quick machine might deliver all before.
                wait_until(lambda: any(path.stat().st_size for path in ledgers if path.exists()), OPENING_S, "a reply")
                if over():
                    break
            else:
                with suppress(TimeoutError):
                    wait_until(over, rng.uniform(*BETWEEN_OUTAGES_S), "all")
                    break
            recorders.kill(recorder)
            door.unlink(missing_ok=True)
            outages += 1
            time.sleep(rng.uniform(0, LONGEST_OUTAGE_S))
            recorder = recorders.start(record_all, address, door, deadline)
        codes = clients.wait(REPLY_S)
    return _Delivered(outages, codes)


def record_all(address: str | Path, door: Path, deadline: float) -> None:
    """What the recorder does: answer each line with what became of it."""
    with load.opened(address) as store:
        door.unlink(missing_ok=True)
        with _Recorder(str(door), store) as server:
            server.timeout = 1.0
            while time.monotonic() < deadline:
                server.handle_request()


class _Recorder(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, door: str, store: Store) -> None:
        super().__init__(door, _Conversation)
        self.store = store


class _Conversation(socketserver.StreamRequestHandler):
    server: _Recorder

    def handle(self) -> None:
        with suppress(ConnectionError):
            for line in self.rfile:
                recorded = self.server.store.record_feedback(load.SCOPE, [_event(key) for key in json.loads(line)])
                self.wfile.write(f"{recorded.new} {recorded.repeated}\n".encode())


def send_all(door: Path, lines: Path, order: _Order) -> None:
    """What a client does: each batch three times, until each time is acknowledged."""
    rng = random.Random(order.seed)
    keys = [f"e_{order.client}_{number}" for number in range(order.events)]
    batches = [keys[at : at + BATCH] for at in range(0, len(keys), BATCH)] * DELIVERIES
    rng.shuffle(batches)
    with ledger.Ledger(lines) as told, closing(_Line(door)) as line:
        for batch in batches:
            new, attempts = line.ask(batch)
            told.note("sent", len(batch), new, attempts)


class _Line:
    """A connection that is made again whenever it breaks."""

    def __init__(self, door: Path) -> None:
        self._door = door
        self._socket: socket.socket | None = None

    def ask(self, keys: list[str]) -> tuple[int, int]:
        """Send a batch until it is answered: how many were new, and after how many attempts."""
        for attempt in range(1, 10_000):
            try:
                return self._ask_once(keys), attempt
            except (OSError, EOFError):
                self.close()
                time.sleep(0.005)
        raise TimeoutError("the recorder never came back")

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _ask_once(self, keys: list[str]) -> int:
        if self._socket is None:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.settimeout(REPLY_S)
            self._socket.connect(str(self._door))
        self._socket.sendall(json.dumps(keys).encode() + b"\n")
        reply = b""
        while not reply.endswith(b"\n"):
            received = self._socket.recv(64)
            if not received:
                raise EOFError
            reply += received
        return int(reply.split()[0])


def _event(key: str) -> FeedbackEvent:
    query_id = _query_id(int(key.rsplit("_", 1)[1]) % QUERIES)
    return FeedbackEvent(
        event_key=key,
        event_type=EventType.REFERENCE,
        session_id="reliability",
        created_at=load.CLOCK.now(),
        query_id=query_id,
    )


def _query_id(number: int) -> str:
    return f"q_{number}"


def _ledger_of(folder: Path, client: int) -> Path:
    return folder / f"client-{client}"


@contextmanager
def _short_path() -> Iterator[Path]:
    """A place for the socket: its name may be 107 bytes at most, and folders of tests are longer."""
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        yield Path(folder) / "door"


def _judged(store: Store, folder: Path, orders: list[_Order], delivered: _Delivered, seconds: float) -> EventsOutcome:
    sent = [line for one in orders for line in ledger.read(_ledger_of(folder, one.client))]
    with store.reading(load.SCOPE) as work:
        found = Counter(
            event.event_key for number in range(QUERIES) for event in work.feedback.of_query(_query_id(number))
        )
        recorded = work.feedback.count()
    wanted = {f"e_{one.client}_{number}" for one in orders for number in range(one.events)}
    return EventsOutcome(
        backend=store.backend_name,
        events=len(wanted),
        retried=sum(int(line[1]) * (int(line[3]) - 1) for line in sent),
        outages=delivered.outages,
        recorded=recorded,
        lost=len(wanted - found.keys()),
        counted_twice=recorded - len(found) + sum(count - 1 for count in found.values()),
        told_new=sum(int(line[2]) for line in sent),
        clients_failed=sum(code != 0 for code in delivered.exit_codes),
        seconds=seconds,
    )
