"""How many connections there may be, and how long each may keep the server waiting.

A connection either waits for its client (to send a head, a body or the next request), or its client waits for an
answer. A connection that waits for its client has a deadline. When the limit of connections is reached, such a
connection is closed to make room for a new one: first those without an authenticated caller, the oldest first. So a
client that only opens connections cannot keep others out, not even others at the same address. A new connection is
refused only when all others are being answered.
"""

from __future__ import annotations

import heapq
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from operator import attrgetter
from typing import Protocol

from assay.clock import Clock
from assay.gateway.headers import Proxies, key_of

SLOWEST_BODY = 16_384
"""Bytes of a body that extend its deadline by one second."""
GIVE_WAY = 0.05
"""The share of connections closed at a time to make room, so that the search for them is rare."""
FILES_FOR_OTHERS = 192
"""Open files that the store, indexes, models and logs need; connections get the rest."""
MOST_FILES = 65_536
"""The highest limit of open files this process sets: some libraries loop over all possible descriptors."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectionLimits:
    """Limits of connections: counts, and deadlines in seconds."""

    connections: int = 1_000
    """Connections open at the same time in one process."""
    per_address: int = 500
    """Connections from one address (an IPv6 /64 network counts as one); trusted proxies have no such limit."""
    head_s: float = 10.0
    """For the head of a request, and for the first byte on a new connection."""
    body_s: float = 20.0
    """For a body, plus one second for each 16 KiB received."""
    idle_s: float = 30.0
    """Between an answer and the next request."""
    stalled_s: float = 30.0
    """For a client that has stopped reading its answer."""

    @property
    def sweep_s(self) -> float:
        """Seconds between two checks of the deadlines."""
        return min(1.0, min(self.head_s, self.body_s, self.idle_s, self.stalled_s) / 4)


class Phase(Enum):
    """What a connection waits for."""

    HEAD = "head"
    """The client, to send a request's head."""
    BODY = "body"
    """The client, to send a request's body."""
    IDLE = "idle"
    """The client, to send another request."""
    ANSWER = "answer"
    """The server, to send an answer."""
    CLOSING = "closing"
    """Nothing: it is being closed."""


class End(Protocol):
    """Ends a connection."""

    def __call__(self, phase: Phase, *, at_once: bool) -> bool:
        """End it in a phase, and return whether it ended; `at_once`: without waiting until all was sent."""
        ...


class Connection:
    """One connection, as far as limits go."""

    __slots__ = ("_connections", "address", "end", "known", "phase", "received", "since", "stalled_since")

    def __init__(self, connections: Connections, address: str, end: End) -> None:
        self._connections = connections
        self.address = address
        self.end = end
        self.phase = Phase.HEAD
        self.since = connections.now()
        self.received = 0
        """Bytes of the body so far."""
        self.known = False
        """Whether an authenticated caller has used it."""
        self.stalled_since: float | None = None
        """When the client stopped reading its answer; None: it reads."""

    def enter(self, phase: Phase) -> None:
        """Begin another phase."""
        self.phase = phase
        self.since = self._connections.now()
        self.received = 0

    def set_stalled(self, *, stalled: bool) -> None:
        """Note whether the client has stopped reading."""
        self.stalled_since = self._connections.now() if stalled else None

    def leave(self) -> None:
        """Remove a connection that has ended."""
        self._connections.remove(self)

    @property
    def waits_for_client(self) -> bool:
        """Whether it may be closed to make room for another."""
        return self.phase in _WAITING

    def is_overdue(self, limits: ConnectionLimits, now: float) -> bool:
        """Whether its client has exceeded the deadline of the current phase."""
        if self.stalled_since is not None and now - self.stalled_since > limits.stalled_s:
            return True
        waited = now - self.since
        if self.phase is Phase.HEAD:
            return waited > limits.head_s
        if self.phase is Phase.BODY:
            return waited > limits.body_s + self.received / SLOWEST_BODY
        if self.phase is Phase.IDLE:
            return waited > limits.idle_s
        return self.phase is Phase.CLOSING and waited > limits.stalled_s


_WAITING = frozenset({Phase.HEAD, Phase.BODY, Phase.IDLE})


class Connections:
    """All connections of one serving process. Used from one event loop."""

    def __init__(self, limits: ConnectionLimits, clock: Clock, proxies: Proxies | None = None) -> None:
        self.limits = limits
        self.now = clock.monotonic
        self._proxies = Proxies() if proxies is None else proxies
        self._by_address: defaultdict[str, set[Connection]] = defaultdict(set)
        self._count = 0
        self.sweeping = False
        """Whether `end_overdue` is called regularly."""

    def __len__(self) -> int:
        return self._count

    def admit(self, address: str, end: End) -> Connection | None:
        """Add a connection from an address; return None when the limit is reached and all others are being answered."""
        key = key_of(address)
        limits = self.limits
        crowded = len(self._by_address[key]) >= limits.per_address and not self._proxies.trusts(address)
        if crowded and not self._make_room(self._by_address[key], limits.per_address):
            return None
        if self._count >= limits.connections and not self._make_room(self._all(), limits.connections):
            return None
        connection = Connection(self, key, end)
        self._by_address[key].add(connection)
        self._count += 1
        return connection

    def remove(self, connection: Connection) -> None:
        """Forget a connection that has ended."""
        at_address = self._by_address.get(connection.address)
        if at_address is None or connection not in at_address:
            return
        at_address.remove(connection)
        self._count -= 1
        if not at_address:
            del self._by_address[connection.address]

    def end_overdue(self) -> int:
        """Close every connection past its deadline; return how many were closed."""
        now = self.now()
        overdue = [connection for connection in self._all() if connection.is_overdue(self.limits, now)]
        return sum(_end(connection, at_once=False) for connection in overdue)

    def _all(self) -> Iterable[Connection]:
        return [connection for at_address in self._by_address.values() for connection in at_address]

    def _make_room(self, among: Iterable[Connection], limit: int) -> bool:
        """Close a few connections that wait for their client; return whether there were any."""
        waiting = [connection for connection in among if connection.waits_for_client]
        strangers = [connection for connection in waiting if not connection.known]
        few = max(int(limit * GIVE_WAY), 1)
        oldest = heapq.nsmallest(few, strangers or waiting, key=attrgetter("since"))
        ended = [connection for connection in oldest if _end(connection, at_once=True)]
        for connection in ended:
            # Its socket is closed in the next round of the event loop: its place is free now.
            self.remove(connection)
        return bool(ended)


def _end(connection: Connection, *, at_once: bool) -> bool:
    if not connection.end(connection.phase, at_once=at_once):
        # The server itself stopped reading from it, so its deadline starts anew.
        connection.enter(connection.phase)
        return False
    connection.enter(Phase.CLOSING)
    return True


def within_files(limits: ConnectionLimits, files: int) -> ConnectionLimits:
    """Return the limits with no more connections than this process may have open files."""
    most = max(files - FILES_FOR_OTHERS, files // 4, 1)
    if limits.connections <= most:
        return limits
    return replace(limits, connections=most, per_address=min(limits.per_address, max(most // 2, 1)))


def raise_file_limit() -> int:
    """Raise this process's limit of open files as far as allowed; return the new limit."""
    if sys.platform == "win32":
        return MOST_FILES
    import resource  # noqa: PLC0415 - not on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return MOST_FILES if soft == resource.RLIM_INFINITY else soft
