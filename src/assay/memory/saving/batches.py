"""How many drafts go into one transaction: as much text as takes about two seconds to save.

A transaction of a fixed number of documents takes minutes where documents are long or the embedder is slow, and whoever
stops it then loses all of them. So the text of a batch is bounded by how quickly the batches before it were saved, and
their number by what one transaction should hold. A document that is longer than that alone is a batch of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from assay.records import Draft

FIRST = 16_384
"""Characters of the first batch, of which nobody knows yet how long it takes."""
FEWEST, MOST = 4_096, 4_194_304
"""Characters of any later batch."""
GROWTH = 4
"""How many times larger the next batch may be: one quick batch of short notes says little about long documents."""


@dataclass(slots=True)
class Pace:
    """How much text the next batch takes."""

    seconds: float
    """How long a batch should take."""
    characters: int = FIRST

    def learn(self, characters: int, seconds: float) -> None:
        """Take into account how long a batch of so many characters took."""
        wanted = characters / seconds * self.seconds if seconds > 0.0 else float(MOST)
        self.characters = int(min(max(wanted, FEWEST), self.characters * GROWTH, MOST))


def cut_batches(drafts: Iterable[Draft], most: int, pace: Pace) -> Iterator[list[Draft]]:
    """Cut drafts into batches of at most so many drafts and, but for single long ones, as much text as the pace says.

    The pace is looked at anew for each batch; drafts are asked for as they are needed.
    """
    batch: list[Draft] = []
    size = 0
    for draft in drafts:
        length = len(draft.body)
        if batch and (len(batch) >= most or size + length > pace.characters):
            yield batch
            batch, size = [], 0
        batch.append(draft)
        size += length
    if batch:
        yield batch
