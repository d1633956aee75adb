"""Team-draft interleaving: two rankings in one list, and which of them the reader's choices speak for.

In each round a coin says which ranking picks first; each then adds its best item that is not yet in the list
(Radlinski, Kurup and Joachims 2008). An item belongs to the ranking that picked it, and what the reader used (read,
cited, validated) is credit for its team. Wins over many queries go into a sign test here, or one by one into
`sequential` as votes of -1, 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from assay.statistics.checks import whole
from assay.statistics.special import beta_cdf

Team = Literal["control", "treatment"]


class Drafted(NamedTuple):
    """One place of the merged list."""

    item: str
    team: Team


class Credit(NamedTuple):
    """What each ranking earned on one query."""

    control: int
    treatment: int

    @property
    def vote(self) -> int:
        """1 when the treatment won, -1 when it lost, 0 for a tie: a vote of the e-process."""
        return (self.treatment > self.control) - (self.treatment < self.control)


@dataclass(frozen=True, kw_only=True, slots=True)
class SignTest:
    """Whether wins outnumber losses by more than a fair coin explains."""

    p: float
    """Two-sided, exact; ties are left out."""
    floor: float
    """The smallest p that so many decided queries can give."""
    wins: int
    losses: int
    ties: int


def team_draft(
    control: Sequence[str], treatment: Sequence[str], *, length: int, rng: np.random.Generator
) -> tuple[Drafted, ...]:
    """Merge two rankings into one list of at most so many items."""
    whole(length, "length", least=0)
    queues: dict[Team, list[str]] = {"control": list(control), "treatment": list(treatment)}
    merged: dict[str, Team] = {}
    while len(merged) < length and any(item not in merged for queue in queues.values() for item in queue):
        for team in _round(rng):
            pick = next((item for item in queues[team] if item not in merged), None)
            if pick is not None and len(merged) < length:
                merged[pick] = team
    return tuple(Drafted(item, team) for item, team in merged.items())


def _round(rng: np.random.Generator) -> tuple[Team, Team]:
    return ("control", "treatment") if rng.random() < 0.5 else ("treatment", "control")


def credit(merged: Sequence[Drafted], used: Collection[str]) -> Credit:
    """Count the used items of each team; what was never shown earns nothing."""
    chosen = set(used)
    teams = [drafted.team for drafted in merged if drafted.item in chosen]
    return Credit(control=teams.count("control"), treatment=teams.count("treatment"))


def sign_test(credits_earned: Sequence[Credit]) -> SignTest:
    """Test over queries that neither ranking wins more often."""
    votes = [one.vote for one in credits_earned]
    return sign_test_of(wins=votes.count(1), losses=votes.count(-1), ties=votes.count(0))


def sign_test_of(*, wins: int, losses: int, ties: int = 0) -> SignTest:
    """The exact two-sided sign test of counts."""
    n = whole(wins, "wins", least=0) + whole(losses, "losses", least=0)
    most = max(wins, losses)
    # The upper binomial tail P(X >= k) is the incomplete beta function at one half.
    tail = beta_cdf(0.5, most, n - most + 1) if most else 1.0
    return SignTest(
        p=min(1.0, 2.0 * tail),
        floor=min(1.0, math.ldexp(2.0, -n)),
        wins=wins,
        losses=losses,
        ties=whole(ties, "ties", least=0),
    )
