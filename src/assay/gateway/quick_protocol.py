"""A connection that is parsed by `httptools`, which is quick and has no limits of its own."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from assay.gateway.connections import Phase
from assay.gateway.protocol import CONNECTION, LONGEST_HEAD, BoundedProtocol


class HttpToolsBounded(BoundedProtocol, HttpToolsProtocol):
    """A connection that is parsed by `httptools`, with a limit on the length of heads."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._head = 0
        self._in_head = True
        self._completed = False

    def data_received(self, data: bytes) -> None:
        """Parse what arrived; refuse a head that is too long."""
        self._completed = False
        # Counted before the parser runs, so that the phase that follows from it is known afterwards.
        self._head += len(data)
        super().data_received(data)
        # What came with the end of the last request is not counted: it is one reading of the socket at most.
        if not self._in_head or self._completed:
            self._head = 0
        elif self._head > LONGEST_HEAD and not self.transport.is_closing():
            self.send_400_response("The head of the request is too long.")

    def on_message_begin(self) -> None:
        """Put the connection into the scope of the new request."""
        super().on_message_begin()
        self.scope[CONNECTION] = self._connection

    def on_headers_complete(self) -> None:
        """Note that the head is complete."""
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that the request is complete and the next one may begin."""
        self._in_head = self._completed = True
        self._head = 0
        super().on_message_complete()

    def _phase(self) -> Phase:
        if self.pipeline:
            return Phase.ANSWER
        if not self._in_head:
            return Phase.BODY
        if self.cycle is not None and not self.cycle.response_complete:
            return Phase.ANSWER
        return Phase.HEAD if self.cycle is None or self._head else Phase.IDLE
