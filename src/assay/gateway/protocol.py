"""HTTP as it is read from a connection, with limits that uvicorn's parsers do not have.

- What both parsers share.
- The parser in Python, `h11`, which limits heads by itself. The quick one is in `quick_protocol`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from assay.gateway.connections import Connection, Connections, Phase

# --- What both parsers share ---
#
# A head that is too long is refused and the connection closed. Each connection reports to `connections` what it waits
# for, so that deadlines and the limit of connections hold. Both parsers of uvicorn are covered: the quick one
# (`quick_protocol`), where it is installed, and the one in Python.

LONGEST_HEAD = 32_768
"""Bytes of a request line with its headers."""
CONNECTION = "assay.connection"
"""Where a request's scope holds its `Connection`."""
_TOO_SLOW = b"The request took too long to arrive."
_NO_PLACE = b"Every connection of this server is in use; try again in a few seconds."


def note_known(scope: Any) -> None:
    """Mark the connection of this request as used by an authenticated caller."""
    connection: Connection | None = scope.get(CONNECTION)
    if connection is not None:
        connection.known = True


class BoundedProtocol:
    """What both parsers share. Comes before one of uvicorn's protocols among the bases of a class."""

    all_connections: Connections
    if TYPE_CHECKING:
        transport: asyncio.Transport
        flow: Any
        cycle: Any
        scope: Any
        client: tuple[str, int] | None
        loop: asyncio.AbstractEventLoop

        def _phase(self) -> Phase: ...

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._connection: Connection | None = None
        self._last_cycle: Any = None

    def connection_made(self, transport: Any) -> None:
        """Admit the connection, or refuse it (503)."""
        super().connection_made(transport)  # type: ignore[misc] # uvicorn's
        connections = self.all_connections
        if not connections.sweeping:
            _begin_sweeping(self.loop, connections)
        address = self.client[0] if self.client else ""
        self._connection = connections.admit(address, self._end)
        if self._connection is None:
            self._write_and_close(503, _NO_PLACE)

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from the count."""
        if self._connection is not None:
            self._connection.leave()
        super().connection_lost(exc)  # type: ignore[misc] # uvicorn's

    def data_received(self, data: bytes) -> None:
        """Parse what arrived and update the phase of the connection."""
        connection = self._connection
        if connection is None or connection.phase is Phase.CLOSING:
            return
        super().data_received(data)  # type: ignore[misc] # uvicorn's
        self._follow()
        if connection.phase is Phase.BODY:
            connection.received += len(data)

    def on_response_complete(self) -> None:
        """Update the phase: the next request may begin."""
        super().on_response_complete()  # type: ignore[misc] # uvicorn's
        self._follow()

    def pause_writing(self) -> None:
        """Start the deadline of a client that does not read its answer."""
        if self._connection is not None:
            self._connection.set_stalled(stalled=True)
        super().pause_writing()  # type: ignore[misc] # uvicorn's

    def resume_writing(self) -> None:
        """Stop that deadline: the client reads again."""
        if self._connection is not None:
            self._connection.set_stalled(stalled=False)
        super().resume_writing()  # type: ignore[misc] # uvicorn's

    def _follow(self) -> None:
        """Put the connection into the phase that the parser is in."""
        connection = self._connection
        if connection is None or connection.phase is Phase.CLOSING:
            return
        phase = self._phase()
        if phase is not connection.phase or self.cycle is not self._last_cycle:
            self._last_cycle = self.cycle
            connection.enter(phase)

    def _end(self, phase: Phase, *, at_once: bool) -> bool:
        """Close the connection, after its deadline or to make room; return whether it is being closed."""
        stalled = self._connection is not None and self._connection.stalled_since is not None
        if stalled or self.transport.is_closing():
            # The client does not read, so the rest of the answer would never be sent.
            self.transport.abort()
            return True
        if phase is Phase.BODY and self.flow.read_paused:
            return False
        answered = self.cycle is not None and self.cycle.response_started
        if phase is Phase.IDLE or (phase is Phase.BODY and answered):
            self.transport.close()
        else:
            self._write_and_close(408, _TOO_SLOW)
        if at_once and self.transport.get_write_buffer_size():
            self.transport.abort()
        return True

    def _write_and_close(self, status: int, text: bytes) -> None:
        """Send a final response and close. It bypasses the parser, since no request is being answered."""
        reason = {408: b"Request Timeout", 503: b"Service Unavailable"}[status]
        head = b"HTTP/1.1 %d %b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n"
        closing = b"Connection: close\r\n" + (b"Retry-After: 1\r\n" if status == 503 else b"")
        self.transport.write(head % (status, reason, len(text)) + closing + b"\r\n" + text)
        self.transport.close()


def _begin_sweeping(loop: asyncio.AbstractEventLoop, connections: Connections) -> None:
    """Check the deadlines regularly for as long as there are connections."""

    def sweep() -> None:
        connections.end_overdue()
        connections.sweeping = len(connections) > 0
        if connections.sweeping:
            loop.call_later(connections.limits.sweep_s, sweep)

    connections.sweeping = True
    loop.call_later(connections.limits.sweep_s, sweep)


# --- The parser in Python, `h11`, which limits heads by itself ---


class H11Bounded(BoundedProtocol, H11Protocol):
    """A connection that is parsed by `h11`."""

    def data_received(self, data: bytes) -> None:
        """Parse what arrived, and put the connection into the scope of its request."""
        super().data_received(data)
        # The request is answered in the next round of the event loop at the earliest.
        if self.scope is not None:
            self.scope.setdefault(CONNECTION, self._connection)

    def _phase(self) -> Phase:
        if self.conn.their_state is h11.SEND_BODY:
            return Phase.BODY
        if self.cycle is not None and not self.cycle.response_complete:
            return Phase.ANSWER
        return Phase.HEAD if self.cycle is None or self.conn.trailing_data[0] else Phase.IDLE
