"""What `assay tune fusion` costs and whether its estimate is honest, on the logged lists of `agent-memory`.

    python -m bench.tune [--embedder static|minilm|none] [--seeds 20] [--json]

Speed: configurations a second, fusing and measuring all cases. Planted: what is in force is made bad on purpose (one
channel weighs almost nothing), and tuning has to win back what that lost, on cases it did not choose by. Noise: the
grades of every case are dealt to memories drawn at random from its lists, so that no weights are better than others;
the nested gain must then lie within its interval of 0 about as often as the interval promises, while the gain on the
cases it was chosen by shows how much choosing alone pretends.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace

import numpy as np

from assay.evaluation.datasets import load_dataset
from assay.evaluation.tuning import (
    FusionChoice,
    LoggedCase,
    Replay,
    Space,
    Trials,
    cross_validate,
    gather,
    space_of,
    tune,
)
from assay.metrics.spec import MetricSpec
from assay.records import Channel
from assay.wiring import open_tunable

METRIC = MetricSpec.parse("ndcg@10")
LEVEL = 2
GOAL_PER_S = 1_000
SPEED_TRIED, ROUNDS = 1_000, 5
TRIED = 1_000
PLANTED = {Channel.VECTOR: 0.01, Channel.BM25: 0.01}
"""The weight that each is given, the others as they are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Planted:
    """One channel made almost silent."""

    channel: str
    lost: float
    """What that costs, replayed over all cases."""
    gain: float
    low: float
    high: float
    proven: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Noise:
    """Many draws of grades that say nothing."""

    seeds: int
    covered: int
    """How often 0 lay within the interval."""
    above: int
    """How often all of the interval lay above 0: a false discovery."""
    mean_gain: float
    mean_pretended: float
    """On the cases that the best was chosen by."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """Everything measured."""

    cases: int
    passages: int
    configurations_per_s: float
    configurations_per_processor_s: float
    planted: tuple[Planted, ...]
    noise: Noise

    @property
    def missed(self) -> list[str]:
        """The goals that are not met."""
        least = int(0.85 * self.noise.seeds)
        goals = {
            f"{GOAL_PER_S:,} configurations a second": self.configurations_per_s >= GOAL_PER_S,
            "every planted weight is found": all(one.proven for one in self.planted),
            "noise stays within its interval of 0": self.noise.covered >= least,
        }
        return [name for name, met in goals.items() if not met]


def logged(embedder: str) -> list[LoggedCase]:
    """Every case of the dataset, searched once."""
    dataset = load_dataset("agent-memory")
    with closing(open_tunable(f"assay:embedder.kind={embedder}", dataset).system) as system:
        return gather(system, dataset.cases, k=METRIC.cutoff or 10)


def speed(replay: Replay, rng: np.random.Generator) -> tuple[float, float]:
    """Configurations a second by the clock and of the processor, each in its best round.

    What is done once for a set of lists is done before.
    """
    choices = space_of(FusionChoice(), Space(count=SPEED_TRIED, rrf_ks=(60,)), rng)
    replay.measure(choices[:10])
    rounds = []
    for _ in range(ROUNDS):
        begun = time.perf_counter(), time.process_time()
        replay.measure(choices)
        rounds.append((time.perf_counter() - begun[0], time.process_time() - begun[1]))
    clock, processor = (min(times) for times in zip(*rounds, strict=True))
    return len(choices) / clock, len(choices) / processor


def planted(replay: Replay, channel: Channel, weight: float, rng: np.random.Generator) -> Planted:
    """Make a channel almost silent, and tune."""
    bad = replace(FusionChoice(), weights={**FusionChoice().weights, channel: weight})
    good, worse = replay.measure([FusionChoice(), bad]).mean(axis=1).tolist()
    ranges = {channel: (weight / 2, 2.0)}
    found = tune(replay, space_of(bad, Space(count=TRIED, ranges=ranges), rng), rng).nested
    return Planted(
        channel=channel.value,
        lost=good - worse,
        gain=found.gain,
        low=found.interval.low or 0.0,
        high=found.interval.high or 0.0,
        proven=found.proven,
    )


def noise(cases: Sequence[LoggedCase], seeds: int) -> Noise:
    """Deal grades at random, so many times."""
    gains, pretended, covered, above = [], [], 0, 0
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        replay = Replay([_dealt(one, rng) for one in cases], METRIC, level=LEVEL)
        values = replay.measure(space_of(FusionChoice(), Space(count=TRIED), rng))
        found = cross_validate(Trials(values=values), rng, repeats=3)
        low, high = found.interval.low or 0.0, found.interval.high or 0.0
        covered += low <= 0.0 <= high
        above += low > 0.0
        gains.append(found.gain)
        pretended.append(float(values.mean(axis=1).max() - values[0].mean()))
    return Noise(
        seeds=seeds,
        covered=covered,
        above=above,
        mean_gain=float(np.mean(gains)),
        mean_pretended=float(np.mean(pretended)),
    )


def _dealt(one: LoggedCase, rng: np.random.Generator) -> LoggedCase:
    units = sorted(set(one.unit_of.values()))
    grades = [grade for grade in one.grades.values() if grade > 0] or [3]
    drawn = rng.permutation(len(units))[: len(grades)].tolist()
    return replace(
        one, grades={units[place]: grade for place, grade in zip(drawn, grades, strict=False)} or {"none": 3}
    )


def measure(embedder: str, seeds: int) -> Figures:
    """Everything."""
    cases, rng = logged(embedder), np.random.default_rng(0)
    replay = Replay(cases, METRIC, level=LEVEL)
    by_clock, by_processor = speed(replay, rng)
    return Figures(
        cases=len(replay.case_ids),
        passages=sum(len(one.unit_of) for one in cases),
        configurations_per_s=by_clock,
        configurations_per_processor_s=by_processor,
        planted=tuple(planted(replay, channel, weight, rng) for channel, weight in PLANTED.items()),
        noise=noise(cases, seeds),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.tune", description=__doc__)
    parser.add_argument("--embedder", default="static", choices=("static", "minilm", "none"))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    asked = parser.parse_args(arguments)
    found = measure(asked.embedder, asked.seeds)
    if asked.json:
        print(json.dumps({**asdict(found), "missed": found.missed}, indent=2))
        return int(bool(found.missed))
    speeds = (
        f"{found.configurations_per_s:,.0f} a second, {found.configurations_per_processor_s:,.0f} a processor second"
    )
    print(f"{found.cases:,} cases, {found.passages:,} passages: configurations {speeds}")
    for one in found.planted:
        limits = f"{one.gain:+.4f} [{one.low:+.4f}, {one.high:+.4f}]"
        print(f"{one.channel} made almost silent loses {one.lost:.4f}; tuning wins back {limits} on unseen cases")
    told = found.noise
    print(
        f"noise, {told.seeds} draws: 0 within the interval in {told.covered}, falsely above in {told.above}; "
        f"mean gain {told.mean_gain:+.4f}, pretended by choosing alone {told.mean_pretended:+.4f}"
    )
    for goal in found.missed:
        print(f"missed: {goal}")
    return int(bool(found.missed))


if __name__ == "__main__":
    sys.exit(main())
