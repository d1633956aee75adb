"""Sequential tests: look after every vote, stop when it is enough, and still be wrong at most alpha of the time.

The default is a betting e-process (Waudby-Smith and Ramdas 2024) on paired differences d in [-1, 1]. K is the mean over
stakes lambda of the running product of 1 + lambda d: the wealth of gamblers who bet on the treatment. If the treatment
is not better, no gambler can expect to win, and the chance that K ever reaches 2/alpha is at most alpha/2 (Ville), for
any distribution of d and any rule of stopping. The mirror process bets on the control. A third one bets on `effect - d`
and at 1/beta gives up: the gain is smaller than the effect that matters. Why not the published rule:
`design/sequential-tests.md`.

One vote is one distinct query with both sides present; who calls drops the rest. A state is a frozen value, its JSON
restores it bit for bit, and votes given one at a time or all at once end in the same state. A decision is final: votes
after it change nothing. Better is looked at before futile, because a small gain can be both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import BadValue
from assay.statistics.inputs import Floats, finite, open_share, positive, whole, within

Decision = Literal["better", "worse", "futile"]
"""How a sequential test ends; None while it runs. Futile is not a finding: the gain, if any, is too small to matter."""
STAKES: Floats = np.arange(1, 20, dtype=np.float64) * 0.05
"""The lambdas: 0.05, 0.10, ..., 0.95."""
STAKES.setflags(write=False)
_BLOCK = 4096
_START = (0.0,) * len(STAKES)


@dataclass(frozen=True, kw_only=True, slots=True)
class EProcessRule:
    """When an e-process stops."""

    alpha: float = 0.05
    """The chance of declaring better or worse when neither holds."""
    beta: float = 0.20
    """The chance of giving up although the gain is the effect or more."""
    effect: float = 0.05
    """The smallest gain that matters."""

    def __post_init__(self) -> None:
        open_share(self.alpha, "alpha")
        open_share(self.beta, "beta")
        if positive(self.effect, "effect") > 1.0:
            raise BadValue(f"effect is {self.effect:g}", remedy="Give a difference of at most 1.")

    @property
    def log_bound(self) -> float:
        """What log K must reach for better and, mirrored, for worse."""
        return math.log(2.0 / self.alpha)

    @property
    def log_futility_bound(self) -> float:
        """What the logarithm of the futility process must reach."""
        return math.log(1.0 / self.beta)


@dataclass(frozen=True, kw_only=True, slots=True)
class EProcess:
    """A running or finished betting test; `EProcess(rule=...)` starts one."""

    rule: EProcessRule = EProcessRule()
    votes: int = 0
    """Votes that were used; those after the decision are not."""
    better_logs: tuple[float, ...] = _START
    """For each stake, the sum of log(1 + lambda d)."""
    worse_logs: tuple[float, ...] = _START
    futile_logs: tuple[float, ...] = _START
    decision: Decision | None = None

    def update(self, differences: ArrayLike, *, may_decide: bool = True) -> Self:
        """The state after further votes, treatment minus control, in the order they came.

        Give one vote for each distinct query; `first_votes` leaves out the repeats. With `may_decide=False` the
        evidence grows and no decision is made, for as long as something else forbids one, such as an uneven split.
        """
        votes = within(np.atleast_1d(differences), "votes", -1.0, 1.0, least=0)
        state = self
        for start in range(0, len(votes), _BLOCK):
            if state.decision is not None:
                break
            state = state._after(votes[start : start + _BLOCK], may_decide)
        return state

    def _after(self, votes: Floats, may_decide: bool) -> Self:
        better, worse = stake_paths(self.better_logs, votes), stake_paths(self.worse_logs, -votes)
        futile = stake_paths(self.futile_logs, self.rule.effect - votes)
        bound, futility_bound = self.rule.log_bound, self.rule.log_futility_bound
        end = _End(len(votes), None)
        if may_decide:
            end = _first_end(
                log_mean_exp(better) >= bound, log_mean_exp(worse) >= bound, log_mean_exp(futile) >= futility_bound
            )
        return replace(
            self,
            votes=self.votes + end.used,
            better_logs=tuple(better[end.used - 1].tolist()),
            worse_logs=tuple(worse[end.used - 1].tolist()),
            futile_logs=tuple(futile[end.used - 1].tolist()),
            decision=end.decision,
        )

    @property
    def log_e_better(self) -> float:
        """The logarithm of the evidence that the treatment is better; 0 is none."""
        return float(log_mean_exp(np.array([self.better_logs]))[0])

    @property
    def log_e_worse(self) -> float:
        """The logarithm of the evidence that the treatment is worse."""
        return float(log_mean_exp(np.array([self.worse_logs]))[0])

    @property
    def log_e_futile(self) -> float:
        """The logarithm of the evidence that the gain is smaller than the effect."""
        return float(log_mean_exp(np.array([self.futile_logs]))[0])

    def as_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` turns back into an equal state."""
        logs = {name: list(getattr(self, name)) for name in _LOG_FIELDS}
        return {"kind": "e_process", "rule": asdict(self.rule), "votes": self.votes, "decision": self.decision, **logs}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The state that was stored."""
        _expect(stored, "e_process", "rule", "votes", "decision", *_LOG_FIELDS)
        return cls(
            rule=EProcessRule(**_rule_fields(stored["rule"], EProcessRule)),
            votes=whole(stored["votes"], "votes", least=0),
            decision=_decision(stored["decision"]),
            **{name: _logs(stored[name], name) for name in _LOG_FIELDS},
        )


_LOG_FIELDS = ("better_logs", "worse_logs", "futile_logs")


@dataclass(frozen=True, kw_only=True, slots=True)
class GaussianSprtRule:
    """Wald's test of "no gain" against "a gain of exactly delta" for differences that are normal with a known sigma.

    Assumes independent normal differences, sigma known beforehand and not too small (half the true one multiplies the
    false decisions), and a gain that is 0 or delta; in between it may run long. It never returns worse. The bounds are
    Wald's: better at ln((1 - beta) / alpha), futile at ln(beta / (1 - alpha)); errors are close to alpha and beta, and
    at most alpha / (1 - beta) and beta / (1 - alpha).
    """

    sigma: float
    delta: float = 0.05
    alpha: float = 0.05
    beta: float = 0.20

    def __post_init__(self) -> None:
        positive(self.sigma, "sigma")
        positive(self.delta, "delta")
        open_share(self.alpha, "alpha")
        open_share(self.beta, "beta")
        if self.alpha + self.beta >= 1.0:
            raise BadValue(f"alpha + beta is {self.alpha + self.beta:g}", remedy="Give risks that add up to below 1.")

    @property
    def upper(self) -> float:
        """The log likelihood ratio at which the treatment is better."""
        return math.log((1.0 - self.beta) / self.alpha)

    @property
    def lower(self) -> float:
        """The log likelihood ratio at which the test gives up."""
        return math.log(self.beta / (1.0 - self.alpha))


@dataclass(frozen=True, kw_only=True, slots=True)
class GaussianSprt:
    """A running or finished Gaussian SPRT; `GaussianSprt(rule=...)` starts one."""

    rule: GaussianSprtRule
    votes: int = 0
    log_likelihood_ratio: float = 0.0
    decision: Decision | None = None

    def update(self, differences: ArrayLike) -> Self:
        """The state after further votes; each adds (delta / sigma^2) (d - delta / 2)."""
        votes = within(np.atleast_1d(differences), "votes", -1.0, 1.0, least=0)
        if self.decision is not None or not len(votes):
            return self
        steps = self.rule.delta / self.rule.sigma**2 * (votes - self.rule.delta / 2.0)
        path = np.cumsum(np.concatenate([[self.log_likelihood_ratio], steps]))[1:]
        end = _first_end(path >= self.rule.upper, np.zeros(len(path), dtype=bool), path <= self.rule.lower)
        ratio = float(path[end.used - 1])
        return replace(self, votes=self.votes + end.used, log_likelihood_ratio=ratio, decision=end.decision)

    def as_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` turns back into an equal state."""
        return {"kind": "gaussian_sprt", **asdict(self)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The state that was stored."""
        _expect(stored, "gaussian_sprt", "rule", "votes", "decision", "log_likelihood_ratio")
        return cls(
            rule=GaussianSprtRule(**_rule_fields(stored["rule"], GaussianSprtRule)),
            votes=whole(stored["votes"], "votes", least=0),
            log_likelihood_ratio=finite(stored["log_likelihood_ratio"], "log_likelihood_ratio"),
            decision=_decision(stored["decision"]),
        )


def alpha_of_attempt(alpha: float, attempt: int) -> float:
    """Return the share of alpha that an attempt at the same change may spend.

    The first attempt has all of it, the k-th alpha / (k (k + 1)). Those of all attempts add up to 1.5 alpha, and better
    has half of that: however often a test is begun anew, a change without effect is called better with a chance of at
    most 0.75 alpha, also for dependent attempts (a union bound).
    """
    open_share(alpha, "alpha")
    k = whole(attempt, "attempt", least=1)
    return alpha if k == 1 else alpha / (k * (k + 1))


class FirstVotes(NamedTuple):
    """The votes that count, and how many were left out."""

    differences: tuple[float, ...]
    repeats: int


def first_votes(keys: Sequence[str], differences: Sequence[float]) -> FirstVotes:
    """Keep the first vote of each key, in the order they came: a repeated query does not vote again."""
    if len(keys) != len(differences):
        raise BadValue(f"{len(keys)} keys for {len(differences)} votes", remedy="Give one key for each vote.")
    first: dict[str, float] = {}
    for key, difference in zip(keys, differences, strict=True):
        first.setdefault(key, difference)
    return FirstVotes(tuple(first.values()), len(keys) - len(first))


def log_mean_exp(logs: NDArray[np.float64]) -> Floats:
    """The logarithm of the mean over stakes, row by row, without overflow."""
    top = logs.max(axis=1)
    mean: Floats = top + np.log(np.exp(logs - top[:, None]).mean(axis=1))
    return mean


def stake_paths(before: tuple[float, ...], bets: Floats) -> NDArray[np.float64]:
    """Sums of logarithms by vote and stake; added one by one, so that batches and single votes agree bit for bit."""
    gains = np.log1p(bets[:, None] * STAKES)
    paths: NDArray[np.float64] = np.add.accumulate(np.vstack([before, gains]), axis=0)[1:]
    return paths


class _End(NamedTuple):
    used: int
    decision: Decision | None


def _first_end(better: NDArray[np.bool_], worse: NDArray[np.bool_], futile: NDArray[np.bool_]) -> _End:
    ends = np.flatnonzero(better | worse | futile)
    if not ends.size:
        return _End(len(better), None)
    place = int(ends[0])
    if better[place]:
        return _End(place + 1, "better")
    return _End(place + 1, "worse" if worse[place] else "futile")


def _expect(stored: Mapping[str, Any], kind: str, *names: str) -> None:
    missing = [name for name in names if name not in stored]
    if stored.get("kind") != kind or missing:
        raise BadValue(
            f"a stored test of kind {stored.get('kind')!r} lacking {missing} is not a {kind}",
            remedy="Give the object that as_json wrote.",
        )


def _rule_fields(stored: Any, rule: type[EProcessRule | GaussianSprtRule]) -> dict[str, Any]:
    known = {field.name for field in fields(rule)}
    if not isinstance(stored, Mapping) or set(stored) != known:
        raise BadValue(f"rule is {stored!r}", remedy=f"Give an object with {', '.join(sorted(known))}.")
    return dict(stored)


def _decision(stored: Any) -> Decision | None:
    for known in get_args(Decision):
        if stored == known:
            found: Decision = known
            return found
    if stored is not None:
        raise BadValue(f"decision is {stored!r}", remedy=f"Give null or one of: {', '.join(get_args(Decision))}.")
    return None


def _logs(stored: Any, name: str) -> tuple[float, ...]:
    if not isinstance(stored, (list, tuple)) or len(stored) != len(STAKES):
        raise BadValue(f"{name} is not a list of {len(STAKES)} numbers", remedy="Give the object that as_json wrote.")
    return tuple(finite(value, name) for value in stored)
