"""HTTP as it is read from a connection: by the quick parser, which bounds nothing, with a bound on heads.

Bodies have bounds of their own (`limits`). A head that does not end is refused and the connection closed.
"""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from assay.server.limits import LONGEST_HEAD


class BoundedHttp(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._head = 0
        self._in_head = True
        self._completed = False

    def data_received(self, data: bytes) -> None:
        """Read on, unless the head has grown too long."""
        self._completed = False
        super().data_received(data)
        # What came with the end of the last request is not counted: it is one reading of the socket at most.
        self._head = self._head + len(data) if self._in_head and not self._completed else 0
        if self._head > LONGEST_HEAD and not self.transport.is_closing():
            self.send_400_response("The head of the request is too long.")

    def on_headers_complete(self) -> None:
        """It has ended."""
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The next one may begin."""
        self._in_head = self._completed = True
        super().on_message_complete()
