"""Tuning in one answer: what was tried, what the best of it is worth, and whether to change anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.evaluation.tuning.choices import FusionChoice
from assay.evaluation.tuning.replaying import Replay
from assay.evaluation.tuning.shapley import ChannelValue, channel_values
from assay.evaluation.tuning.validating import IN_FORCE, Nested, Trials, choose, nested


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Tuned:
    """What tuning came to."""

    metric: str
    cases: int
    tried: int
    incumbent: FusionChoice
    before: float
    """The replayed metric with what is in force."""
    chosen: FusionChoice
    """What is in force, where nothing better was seen."""
    after: float
    """The same with what was chosen, on the cases it was chosen by: too good by what choosing gains."""
    nested: Nested
    channels: tuple[ChannelValue, ...]

    @property
    def keep(self) -> bool:
        """Whether nothing should be changed."""
        return self.chosen == self.incumbent or not self.nested.proven

    @property
    def sentence(self) -> str:
        """The answer in words."""
        limits = f"[{self.nested.interval.low:+.4f}, {self.nested.interval.high:+.4f}]"
        gain = f"{self.nested.gain:+.4f} {limits} in {self.metric} on cases it had not seen"
        if self.chosen == self.incumbent:
            return f"Keep what you have: none of {self.tried:,} configurations is better."
        if not self.nested.proven:
            return f"Keep what you have: choosing among {self.tried:,} configurations gained {gain}."
        return f"Choosing among {self.tried:,} configurations gained {gain}."

    def as_json(self) -> dict[str, object]:
        """Everything, for machines."""
        return {
            "metric": self.metric,
            "cases": self.cases,
            "tried": self.tried,
            "in_force": {"choice": str(self.incumbent), "replayed": self.before},
            "chosen": {
                "choice": str(self.chosen),
                "replayed": self.after,
                "settings": self.chosen.settings(self.incumbent),
            },
            "nested": {
                "gain": self.nested.gain,
                "interval": [self.nested.interval.low, self.nested.interval.high],
                "method": self.nested.interval.method,
                "folds": self.nested.folds,
                "repeats": self.nested.repeats,
            },
            "shapley": [{**one._asdict(), "channel": one.channel.value} for one in self.channels],
            "keep": self.keep,
            "sentence": self.sentence,
        }


def tune(
    replay: Replay,
    choices: Sequence[FusionChoice],
    rng: np.random.Generator,
    *,
    finding: Replay | None = None,
    may_lose: int = 0,
) -> Tuned:
    """Choose among some ways to fuse, the first of which is in force.

    `finding` replays the metric by which a gate tells whether a case is found at all: what loses more cases than it may
    is not chosen, since no gate would let it in.
    """
    values = replay.measure(choices)
    lost = None if finding is None else _lost(finding.measure(choices), finding.case_ids, replay.case_ids)
    trials = Trials(values=values, lost=lost, may_lose=may_lose)
    validated = nested(trials, rng)
    row = choose(trials, np.arange(values.shape[1]), rng)
    means = values.mean(axis=1)
    return Tuned(
        metric=str(replay.metric),
        cases=len(replay.case_ids),
        tried=len(choices) - 1,
        incumbent=choices[IN_FORCE],
        before=float(means[IN_FORCE]),
        chosen=choices[row],
        after=float(means[row]),
        nested=validated,
        channels=tuple(channel_values(replay, choices[IN_FORCE])),
    )


def _lost(found: NDArray[np.float64], of: Sequence[str], wanted: Sequence[str]) -> NDArray[np.bool_]:
    """Which cases each choice would lose, in the order of the wanted ones; what cannot be found cannot be lost."""
    gone = (found[IN_FORCE] > 0.0) & (found == 0.0)
    place = {case: at for at, case in enumerate(of)}
    lost = np.zeros((len(found), len(wanted)), dtype=bool)
    both = [(at, place[case]) for at, case in enumerate(wanted) if case in place]
    if both:
        to, by = map(list, zip(*both, strict=True))
        lost[:, to] = gone[:, by]
    return lost
