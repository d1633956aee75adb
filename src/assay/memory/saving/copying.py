"""Copies of what others wrote, and floods of notes that are all alike: a program that saves them crowds others out.

Whoever takes another's note over word for word and adds a sentence may have something to say, but not in a second note
beside the first; nor may a note that holds no longer come back under another name. A note that speaks against another's
is an update and is stored as ever; of those, and of notes close to any, one principal may save so many in a day. All of
it is kept for a person to look at, never lost. Whoever works alone copies nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from assay.embedding.protocol import SimilarityProfile
from assay.memory.saving.neighbours import Neighbour
from assay.memory.saving.options import SaveOptions
from assay.memory.saving.reconsolidation import Verdict
from assay.memory.saving.trust import Doubt
from assay.records import Draft, MemoryRecord
from assay.storage import Work
from assay.text.terms import words

WITHIN = timedelta(days=1)
TAKEN_OVER = 0.8
"""Share of the pairs of words of a note that stand in another, from which the other is a copy."""
REPLACING = (Verdict.SUPERSEDE, Verdict.MERGE)
"""What keeps a note up to date adds none."""
SHORTEST = 12
"""Words below which two notes may be alike by chance."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Watch:
    """Looks at one draft of a program, inside the transaction that would keep it."""

    work: Work
    profile: SimilarityProfile
    options: SaveOptions
    now: datetime

    def doubt(
        self, draft: Draft, near: Sequence[Neighbour], replaced: Sequence[int], *, enforced: bool
    ) -> Doubt | None:
        """What is doubtful about a draft beside the memories near it; `replaced` are those that hold no longer."""
        # A gate that is enforced turns away what merely repeats.
        holding = [one.memory for one in near if one.pair.agrees and (one.pair.adds or not enforced)]
        gone = self.work.memories.by_numbers(replaced).values() if replaced else ()
        found = copied(draft, (*holding, *(one for one in gone if one.superseded_at)), self.work.scope.principal)
        return found or self._beside_others(near) or self._alike(near)

    def _beside_others(self, near: Iterable[Neighbour]) -> Doubt | None:
        principal = self.work.scope.principal
        if not any(one.memory.written_by != principal and one.verdict is not Verdict.STORE for one in near):
            return None
        most = self.options.copies
        said = f"at least {most} notes close to what others wrote, within a day"
        return Doubt("copies", said, kept=True) if self._reaches(most, self.profile.related, of_others=True) else None

    def _alike(self, near: Iterable[Neighbour]) -> Doubt | None:
        replacing = any(one.verdict in REPLACING and not one.protected for one in near)
        if replacing or not any(one.pair.similarity >= self.profile.merge for one in near):
            return None
        most = self.options.alike
        said = f"at least {most} notes that are all alike, within a day"
        return Doubt("copies", said, kept=True) if self._reaches(most, self.profile.merge) else None

    def _reaches(self, most: int, similarity: float, *, of_others: bool = False) -> bool:
        """Whether the writer has saved so many notes this similar to another within a day."""
        count = self.work.saves.count_alike(
            self.work.scope.principal,
            similarity=similarity,
            since=self.now - WITHIN,
            enough=most,
            of_others=of_others,
        )
        return count >= most


def copied(draft: Draft, others: Iterable[MemoryRecord], principal: str) -> Doubt | None:
    """What is said of a draft that takes over a note of another writer."""
    for one in others:
        if one.written_by != principal and taken_over(one.body, draft.body) >= TAKEN_OVER:
            again = "" if one.superseded_at is None else ", which holds no longer"
            said = f"the note {one.id} of another writer{again}, word for word"
            return Doubt("copy", f"{said}; save what is new as a note of its own", kept=True)
    return None


def taken_over(text: str, other: str) -> float:
    """The share of a text's pairs of words that stand in another text; 0 for a short one."""
    said = words(text)
    if len(said) < SHORTEST:
        return 0.0
    pairs = set(pairwise(said))
    return len(pairs & set(pairwise(words(other)))) / len(pairs)
