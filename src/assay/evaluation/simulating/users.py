"""Simulated users: they look at results from the top, less and less far, read what seems good, and vote now and then.

How far they look is the bias that makes feedback dangerous: what stands higher is read more, whatever it is worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True, kw_only=True, slots=True)
class Habits:
    """How users read and vote."""

    patience: float = 1.0
    """The result at rank r is looked at with probability 1 / r ** patience."""
    reads_good: float = 0.9
    """Of what is looked at, how often a relevant result is read."""
    reads_bad: float = 0.15
    """How often one that is not relevant is read all the same."""
    votes: float = 0.05
    """Of what was read, how often a user says whether it was useful. Few people ever do."""
    mistaken: float = 0.1
    """How often that is the opposite of the truth."""


class Deed(NamedTuple):
    """What a user did with a result."""

    memory_id: str
    useful: bool | None
    """What the user said of it; None when nothing was said."""


def deeds(
    shown: Sequence[str], grades: Mapping[str, int], level: int, habits: Habits, rng: np.random.Generator
) -> list[Deed]:
    """What one user does with one list, from the top."""
    done: list[Deed] = []
    for rank, memory_id in enumerate(shown, start=1):
        # Every result draws the same number of lots, so that a change above does not change the luck below.
        looks, reads, votes, errs = rng.random(4)
        good = grades.get(memory_id, 0) >= level
        if looks < rank**-habits.patience and reads < (habits.reads_good if good else habits.reads_bad):
            said = good is not bool(errs < habits.mistaken)
            done.append(Deed(memory_id, said if votes < habits.votes else None))
    return done
