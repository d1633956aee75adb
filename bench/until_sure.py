"""How soon `assay run --until-sure` decides, and how often wrongly: `python -m bench.until_sure [--comparisons 1000]`.

The command compares a change of one's own system with its baseline. So Assay's default search and every one-setting
change of it (`bench.setting_changes`) are run over the bundled `hotel`, once each, and measured by nDCG@10. Each change
that moves the value of any case is a pair. `--comparisons` comparisons without a difference and as many at +0.05 are
made in all, each of a pair drawn at random, all pairs alike, with its own random order of the cases, and decided by the
product's own code.

Without a difference (A/A), a coin for each case says which of the two values is the baseline's. A gain of 0.05 is made
in one of these ways, drawn at random from those that the pair allows:

- coin: the same with a coin that favours one side. Needs differences of more than 0.05 in the mean of their sizes.
- mixed: in a share of the cases the value is that of the better side, else both have the same value. Needs two sides
  that differ by more than 0.05 in the mean.
- shifted: the change's own values, all raised by the same number. What would be above 1 is cut off, so that a case
  which has 1 already gains nothing and the others gain more than 0.05. The smoothest gain there is, and the soonest
  decided.
- repaired: the change's own values, but in a share of the cases, drawn at random, the value becomes 1. The coarsest
  gain there is, and the latest decided: a case gains all that there is to gain, or nothing.

"Equivalent" is not a false decision: it says that a gain and a loss of 0.05 are both refuted, which is so without a
difference. At +0.05 it is wrong, with a chance of at most 20 % for each pair.

Then pairs of whole systems, which differ far more from case to case (the spread: the standard deviation of the
difference), with `--comparisons` for each pair and scenario. They are what the test cannot do. The same comparisons are
decided by two tests that were not chosen: that of online experiments (`online`), and bets against the finite set of
cases (`finite`). `full test` is the power of a t test over all cases. The scenario `rare losses` is made up, and what
the test does not guard against: five cases lose nearly everything, all others gain a little, and the mean is 0.

Exit code 1 when more than 5 % of the comparisons without a difference are called better or worse, of all changes
together or of any pair of systems, or when less than half of the cases are saved in the median at +0.05, of all changes
together.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import assay
from assay.evaluation.datasets import load_dataset
from assay.evaluation.datasets.bundled import find_bundled
from assay.formats.grid import grid
from assay.records.datasets import Dataset
from assay.statistics import EProcess, EProcessRule, PairedEProcess, paired_t_power
from assay.statistics.sequential import STAKES, log_mean_exp
from bench.setting_changes import SettingChange, find_changes

METRIC = "ndcg@10"
GAIN = 0.05
SEED = 17
RARE = 5
MOST_FALSE, LEAST_SAVED = 0.05, 0.5
SYSTEMS = {
    "words": "assay:embedder.kind=none",
    "words, quick": "assay:embedder.kind=none,mode=quick",
    "full text alone": "assay:embedder.kind=none,channels=fts5",
}
SAME = "same"
ALL_CHANGES = "all changes"
Values = NDArray[np.float64]


# --- The systems and their values ---


class Pair(NamedTuple):
    """The values of two systems, case by case."""

    name: str
    control: Values
    treatment: Values

    @property
    def differences(self) -> Values:
        """Treatment minus control."""
        difference: Values = self.treatment - self.control
        return difference


def count_words(dataset: Dataset) -> Callable[[str, int], list[str]]:
    """A system of five lines: documents that hold most words of the query."""
    texts = {document.id: f"{document.title} {document.text}".lower() for document in dataset.documents}

    def retrieve(query: str, k: int) -> list[str]:
        words = [word for word in query.lower().split() if len(word) > 3]
        return sorted(texts, key=lambda name: -sum(word in texts[name] for word in words))[:k]

    return retrieve


def measure_system(dataset: Dataset, system: Any) -> Values:
    """Run a system once; the value of each case that has one, in the order of the cases."""
    cases = assay.evaluate(dataset, system, metrics=METRIC).per_case(METRIC)
    return np.array([outcome.value for outcome in cases.values() if outcome.value is not None])


def measure_changes(dataset: Dataset, changes: Sequence[SettingChange], kept: Path | None) -> dict[str, Values]:
    """Run every system that the changes name, but for those whose values are in the file `kept`; the others join it."""
    values = {} if kept is None or not kept.is_file() else json.loads(kept.read_text(encoding="utf-8"))
    for spec in dict.fromkeys(spec for change in changes for spec in change):
        if spec not in values:
            values[spec] = measure_system(dataset, spec).tolist()
            if kept is not None:
                kept.write_text(json.dumps(values, indent=0), encoding="utf-8")
    return {spec: np.array(found) for spec, found in values.items()}


def pair_changes(changes: Sequence[SettingChange], values: Mapping[str, Values]) -> list[Pair]:
    """The changes that move the value of any case."""
    pairs = [Pair(_name_change(change), values[change.baseline], values[change.changed]) for change in changes]
    return [pair for pair in pairs if np.any(pair.differences != 0.0)]


def _name_change(change: SettingChange) -> str:
    beside = change.baseline.removeprefix("assay").removeprefix(":")
    setting = change.changed.removeprefix("assay:").removeprefix(f"{beside},")
    return f"{setting} (beside {beside})" if beside else setting


# --- Comparisons ---


def swap_sides(pair: Pair, rng: np.random.Generator, chance: float = 0.5) -> Values:
    """Let a coin for each case say which side the larger value is of; `chance` is that of the treatment."""
    sizes = np.abs(pair.differences)
    return np.where(rng.random(len(sizes)) < chance, sizes, -sizes)


def favour_a_side(pair: Pair, rng: np.random.Generator) -> Values | None:
    """The same with a coin that favours the treatment."""
    mean_size = float(np.abs(pair.differences).mean())
    return swap_sides(pair, rng, 0.5 + GAIN / (2 * mean_size)) if mean_size > GAIN else None


def mix_values(pair: Pair, rng: np.random.Generator) -> Values | None:
    """Give the treatment the better side's value in a share of the cases, and the same value as the control else."""
    differences = pair.differences if pair.differences.mean() >= 0 else -pair.differences
    mean = float(differences.mean())
    return np.where(rng.random(len(differences)) < GAIN / mean, differences, 0.0) if mean > GAIN else None


def shift_values(pair: Pair, _: np.random.Generator) -> Values | None:
    """Raise all values of the treatment by the same number, and cut them off at 0 and 1."""
    low, high = -1.0, 1.0
    if 1.0 - float(pair.control.mean()) <= GAIN:
        return None
    for _step in range(60):
        middle = (low + high) / 2
        gained = np.clip(pair.treatment + middle, 0.0, 1.0) - pair.control
        low, high = (middle, high) if gained.mean() < GAIN else (low, middle)
    shifted: Values = np.clip(pair.treatment + high, 0.0, 1.0) - pair.control
    return shifted


def repair_cases(pair: Pair, rng: np.random.Generator) -> Values | None:
    """Let the treatment have the value 1 in a share of the cases, and its own value in the others."""
    room, own = 1.0 - pair.control, pair.differences
    gained, mean = float(room.mean()), float(own.mean())
    if not mean < GAIN < gained:
        return None
    return np.where(rng.random(len(own)) < (GAIN - mean) / (gained - mean), room, own)


WAYS: dict[str, Callable[[Pair, np.random.Generator], Values | None]] = {
    "coin": favour_a_side,
    "mixed": mix_values,
    "shifted": shift_values,
    "repaired": repair_cases,
}
"""How a gain of 0.05 is made; None where the pair does not allow it."""


class Comparison(NamedTuple):
    """One comparison: the differences in the order in which the cases are asked."""

    pair: str
    way: str
    row: Values


def draw_comparison(pairs: Sequence[Pair], rng: np.random.Generator, *, gain: bool) -> Comparison:
    """Draw a pair, for a gain a way that it allows, and an order of the cases."""
    pair = pairs[int(rng.integers(len(pairs)))]
    if not gain:
        return Comparison(pair.name, SAME, rng.permutation(swap_sides(pair, rng)))
    rows = {way: row for way, make in WAYS.items() if (row := make(pair, rng)) is not None}
    way = list(rows)[int(rng.integers(len(rows)))]
    return Comparison(pair.name, way, rng.permutation(rows[way]))


def make_scenarios(pair: Pair, count: int, rng: np.random.Generator) -> Iterator[tuple[str, Values]]:
    """Each scenario of a pair of systems with its comparisons, a row each, in random orders."""
    yield SAME, np.stack([rng.permutation(swap_sides(pair, rng)) for _ in range(count)])
    for way in ("coin", "mixed"):
        rows = [row for _ in range(count) if (row := WAYS[way](pair, rng)) is not None]
        if rows:
            yield f"+{GAIN}, {way}", np.stack([rng.permutation(row) for row in rows])


def make_rare_losses(cases: int, count: int, rng: np.random.Generator) -> Values:
    """Comparisons in which five cases lose nearly everything and all others gain a little, so that the mean is 0."""
    gain = 0.045
    losses = np.full(RARE, -gain * (cases - RARE) / RARE)
    return np.stack([rng.permutation(np.concatenate([losses, np.full(cases - RARE, gain)])) for _ in range(count)])


# --- The tests ---


class Ended(NamedTuple):
    """How one comparison ended."""

    decision: str | None
    votes: int


def decide_paired(row: Values) -> Ended:
    """Decide one comparison as `--until-sure` does."""
    ended = PairedEProcess().update(row)
    return Ended(ended.decision, ended.votes)


def decide_online(row: Values) -> Ended:
    """Decide it by the test of online experiments."""
    ended = EProcess().update(row)
    return Ended("equivalent" if ended.decision == "futile" else ended.decision, ended.votes)


def decide_finite(row: Values) -> Ended:
    """Decide whether the mean over exactly these cases is above or below 0, by bets against the finite set of them."""
    ends = {name: _finite_end(sign * row) for name, sign in (("better", 1.0), ("worse", -1.0))}
    decision = min(ends, key=lambda name: ends[name])
    return Ended(decision, ends[decision]) if ends[decision] <= len(row) else Ended(None, len(row))


def _finite_end(row: Values) -> int:
    """The number of votes after which the bets on a mean above 0 win; one more than there are cases: never.

    If the mean were 0, the mean of the cases not yet seen would follow from those seen (sampling without replacement).
    """
    seen = np.concatenate([[0.0], np.cumsum(row)[:-1]])
    expected = -seen / np.arange(len(row), 0, -1)
    stakes = STAKES / np.maximum(expected + 1.0, 1e-9)[:, None]
    wealth = np.log(np.maximum(1.0 + stakes * (row - expected)[:, None], 1e-300))
    reached = log_mean_exp(np.cumsum(wealth, axis=0)) >= EProcessRule().log_bound
    ends = np.flatnonzero(reached | (expected <= -1.0))
    return int(ends[0]) + 1 if ends.size else len(row) + 1


TESTS = {"paired": decide_paired, "online": decide_online, "finite": decide_finite}


# --- Figures ---


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """What many comparisons came to."""

    systems: str
    scenario: str
    test: str
    comparisons: int
    spread: float
    """The standard deviation of the differences; of several pairs, the median of theirs."""
    better: float
    worse: float
    equivalent: float
    saved_low: float
    saved: float
    """The share of the cases that the median comparison did not ask; before and after it the quartiles."""
    saved_high: float


def collect(systems: str, scenario: str, rows: Sequence[Values] | Values, test: str = "paired") -> Figures:
    """What the comparisons come to, by one test."""
    ended = [TESTS[test](row) for row in rows]
    saved = [1.0 - comparison.votes / len(row) for comparison, row in zip(ended, rows, strict=True)]
    low, median, high = (float(share) for share in np.quantile(saved, [0.25, 0.5, 0.75]))
    decided = [comparison.decision for comparison in ended]
    shares = {name: decided.count(name) / len(decided) for name in ("better", "worse", "equivalent")}
    return Figures(
        systems=systems,
        scenario=scenario,
        test=test,
        comparisons=len(ended),
        spread=float(np.median([row.std() for row in rows])),
        saved_low=low,
        saved=median,
        saved_high=high,
        **shares,
    )


def collect_changes(pairs: Sequence[Pair], count: int, rng: np.random.Generator) -> list[Figures]:
    """The figures of all changes together, by way of making the gain, and of each change."""
    same = [draw_comparison(pairs, rng, gain=False) for _ in range(count)]
    gained = [draw_comparison(pairs, rng, gain=True) for _ in range(count)]
    groups = {(ALL_CHANGES, SAME): same, (ALL_CHANGES, f"+{GAIN}"): gained}
    groups |= {(ALL_CHANGES, f"+{GAIN}, {way}"): [drawn for drawn in gained if drawn.way == way] for way in WAYS}
    groups |= {(pair.name, f"+{GAIN}"): [drawn for drawn in gained if drawn.pair == pair.name] for pair in pairs}
    return [
        collect(systems, scenario, [comparison.row for comparison in drawn])
        for (systems, scenario), drawn in groups.items()
        if drawn
    ]


def collect_systems(values: Mapping[str, Values], count: int, rng: np.random.Generator) -> list[Figures]:
    """The figures of each two systems, by every test."""
    figures: list[Figures] = []
    for one, other in itertools.combinations(values, 2):
        pair = Pair(f"{one} - {other}", values[other], values[one])
        for scenario, rows in make_scenarios(pair, count, rng):
            figures += [collect(pair.name, scenario, rows, test) for test in TESTS]
    rare = make_rare_losses(len(next(iter(values.values()))), count, rng)
    return figures + [collect("made up", "rare losses", rare, test) for test in TESTS]


def find_failures(figures: Sequence[Figures]) -> Iterator[str]:
    """What was promised and does not hold."""
    for found in figures:
        false = found.better + found.worse
        if found.test == "paired" and found.scenario == SAME and false > MOST_FALSE:
            yield f"{found.systems}: {false:.1%} false decisions"
        together = (found.systems, found.scenario) == (ALL_CHANGES, f"+{GAIN}")
        if together and found.saved < LEAST_SAVED:
            yield f"{found.systems}, {found.scenario}: {found.saved:.0%} of the cases saved"


def share_of_quick_changes(figures: Sequence[Figures]) -> tuple[int, int]:
    """Of how many changes the median comparison saves at least half of the cases, and of how many there are any."""
    own = [found.saved for found in figures if found.systems != ALL_CHANGES]
    return sum(saved >= LEAST_SAVED for saved in own), len(own)


# --- Tables ---


def write_changes(figures: Sequence[Figures], tried: int, cases: int) -> Iterator[str]:
    """The table of the changes."""
    half, pairs = share_of_quick_changes(figures)
    yield f"{tried} one-setting changes of the default search, {cases} cases"
    head = (
        "change",
        "scenario",
        "comparisons",
        "spread",
        "better",
        "worse",
        "equivalent",
        "quarter",
        "saved",
        "quarter",
    )
    yield from grid([head, *(_write_row(found) for found in figures)])
    yield f"{half} of {pairs} changes: at least half of the cases saved in the median"


def _write_row(found: Figures) -> tuple[str, ...]:
    decisions = (f"{share:.1%}" for share in (found.better, found.worse, found.equivalent))
    saved = (f"{share:.0%}" for share in (found.saved_low, found.saved, found.saved_high))
    return (found.systems, found.scenario, f"{found.comparisons:,}", f"{found.spread:.3f}", *decisions, *saved)


def write_systems(figures: Sequence[Figures], cases: int) -> Iterator[str]:
    """The table of the pairs of systems."""
    head = ("systems", "scenario", "spread", "full test", "test", "better", "worse", "equivalent", "saved")
    lines = [
        (
            found.systems,
            found.scenario,
            f"{found.spread:.3f}",
            "-" if not found.scenario.startswith("+") else f"{paired_t_power(cases, GAIN, found.spread):.0%}",
            found.test,
            *(f"{share:.1%}" for share in (found.better, found.worse, found.equivalent)),
            f"{found.saved:.0%}",
        )
        for found in figures
    ]
    yield from grid([head, *lines])


def main() -> int:
    """Print the tables, or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--comparisons", type=int, default=1_000)
    parser.add_argument("--values", type=Path, help="keep the values of the changes here, and read those there are")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    dataset, rng = load_dataset(str(find_bundled("hotel"))), np.random.default_rng(SEED)
    changes = find_changes()
    pairs = pair_changes(changes, measure_changes(dataset, changes, given.values))
    systems: dict[str, Any] = {**SYSTEMS, "word counter": count_words(dataset)}
    values = {name: measure_system(dataset, system) for name, system in systems.items()}
    cases = len(values["words"])
    of_changes = collect_changes(pairs, given.comparisons, rng)
    of_systems = collect_systems(values, given.comparisons, rng)
    figures = [*of_changes, *of_systems]
    if given.json:
        sys.stdout.write(json.dumps([asdict(found) for found in figures], indent=1) + "\n")
    else:
        lines = [*write_changes(of_changes, len(changes), cases), "", *write_systems(of_systems, cases)]
        sys.stdout.write("\n".join(lines) + "\n")
    failures = list(find_failures(figures))
    sys.stderr.writelines(f"FAILED {line}\n" for line in failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
