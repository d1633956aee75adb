"""Whether several principals work in one tenant: then one of them alone must not move a memory.

Who wrote memories is remembered in the process and read on from there, since the whole list would be read for every
vote otherwise.
"""

from __future__ import annotations

import threading
from collections.abc import Collection

from assay.storage import Work


class Principals:
    """The principals of each tenant, as far as this process has read."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, frozenset[str]]] = {}
        self._lock = threading.Lock()

    def several(self, work: Work, more: Collection[str] = ()) -> bool:
        """Whether more than one is known, those named here included."""
        tenant = work.scope.tenant
        with self._lock:
            last, writers = self._known.get(tenant, (0, frozenset()))
        if len(writers) < 2:
            found = work.learning.writers_after(last)
            last, writers = max(last, found.last), writers | found.writers
            with self._lock:
                self._known[tenant] = (last, writers)
        return len({*writers, *more} - {""}) > 1
