"""Are the statistics what they claim? Simulated, printed, and judged line by line.

Run as `python -m bench.calibration [--experiments 10000] [--seed 1] [--json]`. Six ways of having no difference are
played to the betting e-process, to the SPRT printed in the memory evaluation framework 4.2 and to the Gaussian SPRT;
then come power, the coverage of bootstrap intervals, the uniformity of permutation p-values and the required n. The
simulator is vectorised over experiments; a sample of its paths is replayed through `assay.statistics` itself, and one
disagreement fails the run. Exit 1 when a promise is broken.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from assay.statistics import (
    EProcess,
    EProcessRule,
    GaussianSprtRule,
    bootstrap_mean,
    required_pairs,
    required_pairs_normal,
    sign_flip_test,
)
from assay.statistics.sequential import STAKES

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Array]

VOTES = 1_000
"""Queries of one experiment without a difference."""
BLOCK = 1_000
"""Experiments simulated at a time; their wealth fits in the cache."""
REPLAYED = 50
"""Paths of each scenario that the package itself must decide the same way at the same vote."""
NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One figure beside what was promised."""

    part: str
    what: str
    seen: str
    promise: str
    """Empty where the figure is shown for comparison only."""
    held: bool
    shares: dict[str, float] = field(default_factory=dict)
    """What the rules did without a difference, as shares of experiments."""


class Scenario(NamedTuple):
    """A way of having no difference: votes in [-1, 1] with mean 0."""

    name: str
    sigma: float
    draw: Draw


def _normal(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return np.clip(rng.normal(0.0, 0.15, shape), -1.0, 1.0)


def _heavy_tailed(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return np.clip(0.1 * rng.standard_t(3, shape), -1.0, 1.0)


def _mostly_ties(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    coin = rng.random(shape)
    return (coin < 0.05).astype(np.float64) - (coin > 0.95)


def _skewed(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return rng.beta(1.0, 4.0, shape) - 0.2


def _uniform(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return rng.uniform(-1.0, 1.0, shape)


def _bernoulli(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return (rng.random(shape) < 0.7).astype(np.float64) - (rng.random(shape) < 0.7)


NULLS = (
    Scenario("normal, sigma 0.15", 0.15, _normal),
    Scenario("heavy tails (t, 3 df)", 0.163, _heavy_tailed),
    Scenario("90 % ties, rare +-1", math.sqrt(0.1), _mostly_ties),
    Scenario("skewed (beta 1,4), mean 0", math.sqrt(4 / 150), _skewed),
    Scenario("uniform on [-1, 1]", math.sqrt(1 / 3), _uniform),
    Scenario("Bernoulli 0.7 against 0.7", math.sqrt(0.42), _bernoulli),
)


class Ends(NamedTuple):
    """For each experiment, the vote at which each process first crossed its bound; NEVER if it did not."""

    better: NDArray[np.int64]
    worse: NDArray[np.int64]
    futile: NDArray[np.int64]

    @property
    def won(self) -> NDArray[np.bool_]:
        """Better came first; at the same vote it comes before futile."""
        return (self.better < NEVER) & (self.better <= np.minimum(self.worse, self.futile))

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Worse came first."""
        return (self.worse < self.better) & (self.worse <= self.futile) & (self.worse < NEVER)

    @property
    def gave_up(self) -> NDArray[np.bool_]:
        """Futile came first."""
        return (self.futile < self.better) & (self.futile < self.worse)


def e_process(votes: Array, rule: EProcessRule) -> Ends:
    """Every experiment to its last vote, past its decision: what a reader who never stops would see."""
    experiments = len(votes)
    stakes, bounds = STAKES[:, None], (2.0 / rule.alpha, 2.0 / rule.alpha, 1.0 / rule.beta)
    wealth = [np.ones((len(STAKES), experiments)) for _ in bounds]
    ends = [np.full(experiments, NEVER) for _ in bounds]
    for vote, d in enumerate(votes.T, start=1):
        for k, bet in enumerate((d, -d, rule.effect - d)):
            wealth[k] *= 1.0 + stakes * bet
            crossed = wealth[k].mean(axis=0) >= bounds[k]
            ends[k][crossed] = np.minimum(ends[k][crossed], vote)
    return Ends(*ends)


class Walk(NamedTuple):
    """Where a random walk between two bounds ended."""

    up: NDArray[np.bool_]
    down: NDArray[np.bool_]


def walk(steps: Array, lower: float, upper: float) -> Walk:
    """Which bound each row of steps reached first."""
    path = np.cumsum(steps, axis=1)
    first_up, first_down = _first(path >= upper), _first(path <= lower)
    return Walk(first_up < first_down, first_down < first_up)


def published_sprt(votes: Array, effect: float = 0.05, alpha: float = 0.05, beta: float = 0.20) -> Walk:
    """The rule as printed: z = d / effect, then LLR += z * effect - effect^2 / 2. The effect cancels; no sigma."""
    steps = votes / effect * effect - 0.5 * effect * effect
    return walk(steps, math.log(beta / (1.0 - alpha)), math.log((1.0 - beta) / alpha))


def gaussian_sprt(votes: Array, rule: GaussianSprtRule) -> Walk:
    """Wald's test with the scenario's true sigma."""
    return walk(rule.delta / rule.sigma**2 * (votes - rule.delta / 2.0), rule.lower, rule.upper)


def _first(reached: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.where(reached.any(axis=1), reached.argmax(axis=1), NEVER)


def replay(votes: Array, ends: Ends, rule: EProcessRule) -> int:
    """How many experiments the package decides otherwise, or at another vote."""
    wrong = 0
    for row, path in enumerate(votes[:REPLAYED]):
        state = EProcess(rule=rule).update(path)
        words = {"better": ends.won[row], "worse": ends.lost[row], "futile": ends.gave_up[row]}
        expected = next((word for word, true in words.items() if true), None)
        last = min(len(path), int(min(end[row] for end in ends)))
        wrong += (state.decision, state.votes) != (expected, last)
    return wrong


def blocks(experiments: int) -> Iterator[int]:
    for done in range(0, experiments, BLOCK):
        yield min(BLOCK, experiments - done)


class Shares(NamedTuple):
    """What share of experiments each rule decided, and how."""

    decided: float
    ever: float
    futile: float
    published: float
    published_control: float
    gaussian: float


class Nulls(NamedTuple):
    """One scenario, and how many of its replayed paths the package decided otherwise."""

    shares: Shares
    disagreements: int


def play(scenario: Scenario, experiments: int, rng: np.random.Generator) -> Nulls:
    rule, gaussian_rule = EProcessRule(), GaussianSprtRule(sigma=scenario.sigma)
    counts = np.zeros(len(Shares._fields))
    disagreements = 0
    for place, size in enumerate(blocks(experiments)):
        votes = scenario.draw(rng, (size, VOTES))
        ends = e_process(votes, rule)
        published, gaussian = published_sprt(votes), gaussian_sprt(votes, gaussian_rule)
        ever = (ends.better < NEVER) | (ends.worse < NEVER)
        counted = (ends.won | ends.lost, ever, ends.gave_up, published.up, published.down, gaussian.up)
        counts += [np.count_nonzero(one) for one in counted]
        disagreements += replay(votes, ends, rule) if place == 0 else 0
    return Nulls(Shares(*(counts / experiments).tolist()), disagreements)


def null_lines(experiments: int, rng: np.random.Generator) -> Iterator[Line]:
    published, disagreements = [], 0
    for scenario in NULLS:
        shares, differing = play(scenario, experiments, rng)
        published.append(shares.published)
        disagreements += differing
        # Held against the harder figure: an experiment that ignores futility and looks for 1,000 votes.
        yield Line(
            part="no difference",
            what=scenario.name,
            seen=f"{shares.ever:.2%}",
            promise="<= 5 %",
            held=shares.ever <= 0.05,
            shares=shares._asdict(),
        )
    yield Line(
        part="no difference",
        what="published SPRT declares the treatment the winner (specification: 31-38 %)",
        seen=f"{min(published):.1%} to {max(published):.1%}",
        promise="> 25 % everywhere, so not usable",
        held=min(published) > 0.25,
    )
    yield Line(
        part="no difference",
        what="Gaussian SPRT told half the true sigma, normal votes",
        seen=f"{misled_share(experiments, rng):.1%} better",
        promise="",
        held=True,
    )
    yield Line(
        part="no difference",
        what=f"simulator against assay.statistics, {REPLAYED * len(NULLS)} paths",
        seen=f"{disagreements} differ",
        promise="0 differ",
        held=disagreements == 0,
    )


def misled_share(experiments: int, rng: np.random.Generator) -> float:
    """How often the Gaussian SPRT says better without a difference when sigma was guessed too small."""
    rule = GaussianSprtRule(sigma=NULLS[0].sigma / 2.0)
    won = (gaussian_sprt(NULLS[0].draw(rng, (size, VOTES)), rule).up.sum() for size in blocks(experiments))
    return float(sum(won)) / experiments


def power_lines(experiments: int, rng: np.random.Generator) -> Iterator[Line]:
    """Ten times the experiments: the promise of 90 % is close to the truth, and chance must not decide the line."""
    total = 10 * experiments
    won, given_up, patient, stops = 0, 0, 0, 0.0
    for size in blocks(total):
        votes = np.clip(rng.normal(0.05, 0.15, (size, 200)), -1.0, 1.0)
        ends = e_process(votes, EProcessRule())
        won += int(ends.won.sum())
        given_up += int(ends.gave_up.sum())
        patient += int((ends.better < NEVER).sum())
        stops += float(np.minimum(200, np.min(ends, axis=0)).sum())
    yield Line(
        part="power",
        what=f"better within 200 queries at +0.05, sigma 0.15 ({total:,} experiments)",
        seen=f"{won / total:.2%} (futility ignored {patient / total:.2%}; gave up {given_up / total:.2%})",
        promise=">= 90 %",
        held=won / total >= 0.90,
    )
    yield Line(part="power", what="mean queries until it stops", seen=f"{stops / total:.1f}", promise="", held=True)


def coverage_lines(samples: int, rng: np.random.Generator) -> Iterator[Line]:
    draws: tuple[tuple[str, float, Callable[[], Array]], ...] = (
        ("normal", 0.0, lambda: rng.normal(0.0, 0.15, 100)),
        ("exponential", 1.0, lambda: rng.exponential(1.0, 100)),
        (
            "Bernoulli differences (10 % down, 20 % up)",
            0.1,
            lambda: rng.choice([-1.0, 0.0, 1.0], 100, p=[0.1, 0.7, 0.2]),
        ),
    )
    for name, truth, draw in draws:
        hits = sum(bootstrap_mean(draw(), rng=rng, resamples=2_000).contains(truth) for _ in range(samples))
        yield _coverage_line(f"{name}, n = 100", hits / samples)
    hits = 0
    for _ in range(samples):
        labels = np.repeat(np.arange(60), rng.integers(1, 6, 60))
        values = rng.normal(0.0, 0.1, 60)[labels] + rng.normal(0.0, 0.1, len(labels))
        hits += bootstrap_mean(values, rng=rng, resamples=2_000, clusters=labels.tolist()).contains(0.0)
    yield _coverage_line("clustered normal, 60 clusters of 1 to 5", hits / samples)


def _coverage_line(what: str, share: float) -> Line:
    return Line(part="coverage", what=what, seen=f"{share:.1%}", promise="93-97 %", held=0.93 <= share <= 0.97)


def permutation_lines(tests: int, rng: np.random.Generator) -> Iterator[Line]:
    for name, n in (("drawn flips, n = 60", 60), ("all flips, n = 12", 12)):
        p = np.sort([sign_flip_test(rng.normal(0.0, 0.15, n), rng=rng, flips=2_000).p for _ in range(tests)])
        grid = np.arange(1, tests + 1) / tests
        distance = float(np.maximum(np.abs(grid - p), np.abs(grid - 1 / tests - p)).max())
        shares = {level: float(np.mean(p <= level)) for level in (0.01, 0.05, 0.10)}
        slack = {level: 4.0 * math.sqrt(level * (1.0 - level) / tests) for level in shares}
        close = all(abs(share - level) <= slack[level] for level, share in shares.items())
        yield Line(
            part="permutation",
            what=name,
            seen=f"KS {distance:.4f}; below .01/.05/.10: " + " / ".join(f"{share:.2%}" for share in shares.values()),
            promise=f"KS <= {1.95 / math.sqrt(tests):.4f}, shares within 4 errors",
            held=close and distance <= 1.95 / math.sqrt(tests),
        )


def required_lines() -> Iterator[Line]:
    exact, normal = required_pairs(0.05, 0.15), required_pairs_normal(0.05, 0.15)
    yield Line(
        part="required n",
        what="0.05 at sigma 0.15, alpha 0.05, power 0.8",
        seen=f"{exact} exact, {normal} normal",
        promise="73 exact, 71 normal",
        held=(exact, normal) == (73, 71),
    )


def measure(experiments: int, seed: int) -> list[Line]:
    """All parts; each has its own stream of chance, so that changing one leaves the others as they were."""
    nulls, power, coverage, permutation = np.random.default_rng(seed).spawn(4)
    return [
        *null_lines(experiments, nulls),
        *power_lines(experiments, power),
        *coverage_lines(max(100, experiments // 4), coverage),
        *permutation_lines(max(100, experiments // 2), permutation),
        *required_lines(),
    ]


def nulls_table(lines: list[Line]) -> Table:
    table = Table(title="False decisions without a difference", title_justify="left")
    table.add_column("scenario")
    headings = (
        "e-process",
        "futility ignored",
        "gave up",
        "published: treatment",
        "published: control",
        "Gaussian SPRT",
    )
    for heading in headings:
        table.add_column(heading, justify="right")
    table.add_column("<= 5 %")
    for line in lines:
        table.add_row(line.what, *(f"{share:.2%}" for share in line.shares.values()), _word(line))
    return table


def lines_table(lines: list[Line]) -> Table:
    table = Table(title="Everything else", title_justify="left")
    for heading in ("part", "what", "seen", "promised", ""):
        table.add_column(heading, overflow="fold")
    for line in lines:
        table.add_row(line.part, line.what, line.seen, line.promise, _word(line))
    return table


def _word(line: Line) -> str:
    return ("[green]pass[/]" if line.held else "[red]FAIL[/]") if line.promise else ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.calibration", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--experiments",
        type=int,
        default=10_000,
        help="experiments of each scenario; the promises are meant for 10,000, fewer are noisy",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print the lines as JSON")
    options = parser.parse_args()
    started = time.perf_counter()
    lines = measure(options.experiments, options.seed)
    seconds = time.perf_counter() - started
    held = all(line.held for line in lines)
    if options.json:
        told = {"held": held, "seconds": round(seconds, 1), "lines": [asdict(line) for line in lines]}
        print(json.dumps(told, indent=2))
    else:
        console = Console(width=max(120, Console().width))
        console.print(f"{options.experiments:,} experiments x {VOTES:,} votes, seed {options.seed}, {seconds:.0f} s")
        console.print(nulls_table([line for line in lines if line.shares]))
        console.print(lines_table([line for line in lines if not line.shares]))
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
