"""A sequential test of two systems over the same cases: look after every case and stop when it is decided.

A vote is the difference d of one case, treatment minus control, in [-1, 1]. If the two sides are the same system, they
are interchangeable in every case: given how large the difference is, its sign is a fair coin. A gambler who sees |d|
and stakes tanh(theta |d|) on the treatment then multiplies the wealth by 1 + tanh(theta |d|) sign(d), which is
exp(theta d) / cosh(theta d), and cannot expect to win. K is the mean wealth over a few theta; the chance that it ever
reaches 2/alpha is at most alpha/2 (Ville). The mirror process bets on the control. Because the stake follows the size
of the difference, many small gains count as much as a few large ones: the bets of `sequential`, which must survive a
loss of 1 in every case, need several times as many cases.

Nothing is decided before `LEAST_VOTES`: bets that follow the size of gains say nothing of rare large losses that have
not come yet, and so many cases show one that comes in a tenth of them with a chance of 96 %.

The test also ends when both a gain and a loss of the effect that matters are refuted, each at 1/beta, by the bets of
`sequential` on bounded differences. Why this process: `design/early-stopping.md`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import BadValue
from assay.statistics.inputs import Floats, within
from assay.statistics.sequential import STAKES, EProcessRule, log_mean_exp, stake_paths

PairedDecision = Literal["better", "worse", "equivalent"]
"""How the test ends; None while it runs. Equivalent: the difference, if there is one, is smaller than the effect."""
TILTS: Floats = np.array([1.0, 2.0, 4.0, 8.0])
"""The thetas: how hard a gambler bets on a difference of a given size."""
TILTS.setflags(write=False)
LEAST_VOTES = 30
"""Votes before which nothing is decided."""
_TILTED, _STAKED = (0.0,) * len(TILTS), (0.0,) * len(STAKES)
_LOG_2 = float(np.log(2.0))


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedEProcess:
    """A running or finished test; `PairedEProcess(rule=...)` starts one."""

    rule: EProcessRule = field(default_factory=EProcessRule)
    least_votes: int = LEAST_VOTES
    """Votes before which nothing is decided."""
    votes: int = 0
    """Votes that were used; those after the decision are not."""
    better_logs: tuple[float, ...] = _TILTED
    """For each tilt, the logarithm of the wealth."""
    worse_logs: tuple[float, ...] = _TILTED
    no_gain_logs: tuple[float, ...] = _STAKED
    """For each stake, the evidence that the gain is smaller than the effect."""
    no_loss_logs: tuple[float, ...] = _STAKED
    no_gain: bool = False
    """Whether a gain of the effect was refuted at some vote."""
    no_loss: bool = False
    decision: PairedDecision | None = None

    def update(self, lowest: ArrayLike, highest: ArrayLike | None = None) -> Self:
        """The state after further votes, in their order.

        A difference that is not known is given by the lowest and the highest it can be. Each bet then takes the end
        that is worse for it, so that nothing is decided by a value that nobody saw.
        """
        low = within(np.atleast_1d(lowest), "lowest", -1.0, 1.0, least=0)
        high = low if highest is None else within(np.atleast_1d(highest), "highest", -1.0, 1.0, least=0)
        if len(low) != len(high) or bool(np.any(low > high)):
            raise BadValue(
                f"{len(low)} lowest and {len(high)} highest differences do not fit",
                remedy="Give as many of both, none of the lowest above its highest.",
            )
        return self if self.decision is not None or not len(low) else self._after(low, high)

    def _after(self, low: Floats, high: Floats) -> Self:
        effect = self.rule.effect
        paths = {
            "better_logs": _tilt_paths(self.better_logs, low),
            "worse_logs": _tilt_paths(self.worse_logs, -high),
            "no_gain_logs": stake_paths(self.no_gain_logs, effect - high),
            "no_loss_logs": stake_paths(self.no_loss_logs, effect + low),
        }
        evidence = {name: log_mean_exp(path) for name, path in paths.items()}
        bound, small = self.rule.log_bound, self.rule.log_futility_bound
        better, worse = evidence["better_logs"] >= bound, evidence["worse_logs"] >= bound
        # Once refuted, an effect stays refuted: the two need not be refuted by the same vote.
        no_gain = _ever(evidence["no_gain_logs"] >= small, self.no_gain)
        no_loss = _ever(evidence["no_loss_logs"] >= small, self.no_loss)
        counted = self.votes + np.arange(1, len(low) + 1)
        ends = np.flatnonzero((better | worse | (no_gain & no_loss)) & (counted >= self.least_votes))
        used = int(ends[0]) + 1 if ends.size else len(low)
        decision: PairedDecision | None = None
        if ends.size:
            decision = "better" if better[used - 1] else "worse" if worse[used - 1] else "equivalent"
        logs = {name: tuple(path[used - 1].tolist()) for name, path in paths.items()}
        return replace(
            self,
            votes=self.votes + used,
            better_logs=logs["better_logs"],
            worse_logs=logs["worse_logs"],
            no_gain_logs=logs["no_gain_logs"],
            no_loss_logs=logs["no_loss_logs"],
            no_gain=bool(no_gain[used - 1]),
            no_loss=bool(no_loss[used - 1]),
            decision=decision,
        )

    @property
    def log_e_better(self) -> float:
        """The logarithm of the evidence that the treatment is better; 0 is none."""
        return _evidence(self.better_logs)

    @property
    def log_e_worse(self) -> float:
        """The logarithm of the evidence that the treatment is worse."""
        return _evidence(self.worse_logs)


def _ever(reached: NDArray[np.bool_], before: bool) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.logical_or.accumulate(reached) | before
    return found


def _evidence(logs: tuple[float, ...]) -> float:
    return float(log_mean_exp(np.array([logs]))[0])


def _tilt_paths(before: tuple[float, ...], votes: Floats) -> NDArray[np.float64]:
    """The logarithms of wealth after each vote: theta d - log cosh(theta d), added one by one."""
    tilted = votes[:, None] * TILTS
    gains = tilted - (np.logaddexp(tilted, -tilted) - _LOG_2)
    paths: NDArray[np.float64] = np.add.accumulate(np.vstack([before, gains]), axis=0)[1:]
    return paths
