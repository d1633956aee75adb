"""The sample-ratio check of a split test: both sides must get the traffic a fair coin gives them.

A split that is not fair says that something between coin and vote is broken (an arm that fails, is not logged or
is not asked), and then no outcome of the test means anything. So the ratio is looked at before the evidence: while one
side has fewer than `FEWEST_PER_ARM` votes, or the split is less likely than `DOUBTFUL`, a test decides nothing; a split
less likely than `ALARM` pauses it.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.statistics.interleaving import sign_test_of

FEWEST_PER_ARM = 10
"""Votes that each side of a split needs before the test may decide."""
DOUBTFUL = 0.01
"""While the split is less likely than this by chance, the test decides nothing."""
ALARM = 0.001
"""A split less likely than this by chance pauses the test."""
ALARM_FROM = 20
"""Votes of both sides before the alarm can sound."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleRatio:
    """How the votes of a split test are divided between the sides."""

    control: int
    treatment: int
    p: float
    """The chance that a fair coin divides so many votes at least as unevenly."""

    @property
    def sentence(self) -> str:
        """The counts and their p, to be read."""
        return f"{self.control} votes of the control to {self.treatment} of the treatment (p = {self.p:.2g})"

    @property
    def withheld(self) -> str:
        """Why the test may not decide yet; empty when it may."""
        if self.p < DOUBTFUL:
            return f"No decision: {self.sentence} is not a fair split."
        if min(self.control, self.treatment) < FEWEST_PER_ARM:
            return f"No decision before each side has {FEWEST_PER_ARM} votes: {self.sentence}."
        return ""

    @property
    def may_decide(self) -> bool:
        """Whether the evidence of the test may be listened to."""
        return not self.withheld

    @property
    def alarming(self) -> bool:
        """Whether the split is so unlikely that the test has to pause."""
        return self.control + self.treatment >= ALARM_FROM and self.p < ALARM


def sample_ratio(*, control: int, treatment: int) -> SampleRatio:
    """Return the ratio of a split test from the number of votes of each side."""
    return SampleRatio(control=control, treatment=treatment, p=sign_test_of(wins=treatment, losses=control).p)
