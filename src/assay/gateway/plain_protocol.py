"""A connection read by `h11`, the parser in Python, which bounds heads by itself."""

from __future__ import annotations

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from assay.gateway.connections import Phase
from assay.gateway.protocol import CONNECTION, BoundedProtocol


class H11Bounded(BoundedProtocol, H11Protocol):
    """One connection."""

    def data_received(self, data: bytes) -> None:
        """Read on."""
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
