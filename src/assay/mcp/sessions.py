"""Sessions of `assay mcp --http` by principal, with a limit for each.

A principal at its limit that opens another session loses its oldest idle one; if all of its sessions are in use, the
new one is refused. When the server has no session left, the principal with most of them loses one to a principal with
fewer. The SDK ends sessions after half an hour without a request; those are dropped here when their place is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from assay.clock import Clock
from assay.gateway.refusal import RequestRefused

SESSIONS = 200
"""Sessions that may be open at once."""


@dataclass(kw_only=True, slots=True, eq=False)
class Session:
    """One session, or one that is being opened."""

    owner: str
    used_at: float
    """When one of its requests last began or ended."""
    session_id: str | None = None
    """None while it is being opened."""
    requests: int = 0
    """Requests being answered, including streams."""

    @property
    def is_idle(self) -> bool:
        """Whether ending it interrupts nothing."""
        return self.session_id is not None and self.requests == 0


EndSession = Callable[[Session], Awaitable[None]]


class McpSessions:
    """All sessions of one server. Used from one event loop."""

    def __init__(self, clock: Clock, share: int, total: int = SESSIONS) -> None:
        self._clock = clock
        self._share = min(share, total)
        self._total = total
        self._sessions: list[Session] = []

    def count(self, owner: str) -> int:
        """Return how many sessions a principal has."""
        return sum(session.owner == owner for session in self._sessions)

    async def open(self, owner: str, end: EndSession) -> Session:
        """Add a session. `end` ends the one it displaces, if any; refuse (503) when none can be displaced."""
        displaced = self._find_displaced(owner)
        session = Session(owner=owner, used_at=self._clock.monotonic(), requests=1)
        # Both before the first `await`, so that two callers never displace the same session.
        self._sessions.append(session)
        if displaced is not None:
            self._sessions.remove(displaced)
            try:
                await end(displaced)
            except BaseException:
                self.forget(session)
                raise
        return session

    def find(self, session_id: str, owner: str) -> Session | None:
        """Return the session with this id if it belongs to this principal."""
        found = (session for session in self._sessions if session.session_id == session_id and session.owner == owner)
        return next(found, None)

    def begin(self, session: Session) -> None:
        """Note that a request of a session is being answered."""
        session.requests += 1
        session.used_at = self._clock.monotonic()

    def finish(self, session: Session) -> None:
        """Note that a request of a session was answered."""
        session.requests -= 1
        session.used_at = self._clock.monotonic()

    def forget(self, session: Session) -> None:
        """Drop a session that has ended or was not opened."""
        if session in self._sessions:
            self._sessions.remove(session)

    def _find_displaced(self, owner: str) -> Session | None:
        """Return the session that must end for a new one of this principal; None: there is room."""
        if self.count(owner) >= self._share:
            return self._oldest_idle(owner)
        if len(self._sessions) < self._total:
            return None
        largest, most = Counter(session.owner for session in self._sessions).most_common(1)[0]
        if most <= self.count(owner) + 1:
            if self.count(owner):
                return self._oldest_idle(owner)
            raise _too_many(f"all {self._total} sessions of the server are open")
        open_ones = [session for session in self._sessions if session.owner == largest and session.session_id]
        if not open_ones:
            raise _too_many(f"all {self._total} sessions of the server are being opened")
        return min(open_ones, key=lambda session: (not session.is_idle, session.used_at))

    def _oldest_idle(self, owner: str) -> Session:
        idle = [session for session in self._sessions if session.owner == owner and session.is_idle]
        if not idle:
            raise _too_many(f"{self.count(owner)} sessions of one principal are open, and all of them are in use")
        return min(idle, key=lambda session: session.used_at)


def _too_many(message: str) -> RequestRefused:
    return RequestRefused(
        503,
        "too_many_sessions",
        message,
        remedy="End sessions that are no longer needed (DELETE with their Mcp-Session-Id), or try again later.",
        headers={"Retry-After": "10"},
    )
