"""Notes that a rule puts among the results though no channel ranked them high enough.

Of a question in several steps the facts that answer each step, and persons' notes that a program's result contradicts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.memory.searching.fusion import AggregatedMemory, FusedPassage
from assay.memory.searching.results import Ranked, Ranking
from assay.storage import Candidate, Work


class RaisedNotes:
    """Notes that are not among the results that count, looked up or read when a rule asks for them."""

    def __init__(
        self,
        work: Work,
        ranking: Ranking,
        memories: Sequence[AggregatedMemory],
        passes: Callable[[Candidate], bool],
    ) -> None:
        self._work = work
        self._ranking = ranking
        self._memories = memories
        self._passes = passes
        self._known = {place.row.memory_id for place in ranking.order}
        self.found: dict[str, Ranked] = {}
        self.rows: list[Candidate] = []

    def may(self, memory_id: str) -> bool:
        """Whether a note may be shown; one that no channel found is read, and shown by its first passage."""
        if memory_id in self._known or memory_id in self.found:
            return True
        rows = self._ranking.rows
        for memory in self._memories:
            if rows.memory_ids[memory.best_number] == memory_id:
                self.found[memory_id] = Ranked(memory, rows[memory.best_number])
                return True
        for row in self._work.passages.first_candidates([memory_id]):
            if self._passes(row):
                unfound = FusedPassage(row.number, 0.0, ())
                self.found[memory_id] = Ranked(AggregatedMemory.of(row.memory.number, 0.0, (unfound,)), row)
                self.rows.append(row)
                return True
        return False
