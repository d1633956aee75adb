"""How soon `assay run --until-sure` decides, and how often wrongly: `python -m bench.until_sure [--comparisons 1000]`.

Real systems are run over the bundled `hotel`, once each, and measured by nDCG@10. From the values of two systems
comparisons are made, each with its own random order of the cases, and decided by the product's own code:

- same: a coin for each case says which of the two values is the baseline's, so neither side is better (A/A).
- +0.05, coin: the same with a coin that favours one side, so that its mean is 0.05 higher.
- +0.05, mixed: in a share of the cases the value is that of the better system, else both sides have the same value, so
  that the mean is 0.05 higher.
- rare losses: made up, and what the test does not guard against. Five cases lose nearly everything, all others gain a
  little, and the mean over all cases is 0.

Pairs of systems differ in how far apart their values of one case are (the spread: the standard deviation of the
difference). The close pair is one setting of Assay changed, the far pairs are different systems. The same comparisons
are decided by two tests that were not chosen: that of online experiments (`online`), and bets against the finite set of
cases (`finite`). `full test` is the power of a t test over all cases.

Exit code 1 when more than 5 % of the comparisons without a difference are called better or worse for any pair, or when
less than half of the cases are saved in the median at +0.05 for the close pair.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
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
CLOSE = ("words", "words, quick")
"""The pair that is one change of configuration, as people compare them every day."""
Values = NDArray[np.float64]


class Ended(NamedTuple):
    """How one comparison ended."""

    decision: str | None
    votes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """What many comparisons came to."""

    systems: str
    scenario: str
    test: str
    spread: float
    """The standard deviation of the differences."""
    better: float
    worse: float
    equivalent: float
    saved: float
    """The share of the cases that the median comparison did not ask."""


def count_words(dataset: Dataset) -> Callable[[str, int], list[str]]:
    """A system of five lines: documents that hold most words of the query."""
    texts = {document.id: f"{document.title} {document.text}".lower() for document in dataset.documents}

    def retrieve(query: str, k: int) -> list[str]:
        words = [word for word in query.lower().split() if len(word) > 3]
        return sorted(texts, key=lambda name: -sum(word in texts[name] for word in words))[:k]

    return retrieve


def measure_systems() -> dict[str, Values]:
    """Run every system once; the value of each case that has one, in the order of the cases."""
    dataset = load_dataset(str(find_bundled("hotel")))
    systems: dict[str, Any] = {**SYSTEMS, "word counter": count_words(dataset)}
    found = {}
    for name, system in systems.items():
        cases = assay.evaluate(dataset, system, metrics=METRIC).per_case(METRIC)
        found[name] = np.array([outcome.value for outcome in cases.values() if outcome.value is not None])
    return found


def make_comparisons(differences: Values, count: int, rng: np.random.Generator) -> Iterator[tuple[str, Values]]:
    """Each scenario with its comparisons, a row each, in random orders."""
    cases = len(differences)
    rows = np.stack([rng.permutation(differences) for _ in range(count)])
    chances = rng.random((count, cases))
    sizes = np.abs(rows)
    yield "same", np.where(chances < 0.5, sizes, -sizes)
    mean_size, mean = float(sizes.mean()), float(np.mean(differences))
    if mean_size > GAIN:
        yield "+0.05, coin", np.where(chances < 0.5 + GAIN / (2 * mean_size), sizes, -sizes)
    if mean > GAIN:
        yield "+0.05, mixed", np.where(chances < GAIN / mean, rows, 0.0)


def make_rare_losses(cases: int, count: int, rng: np.random.Generator) -> Values:
    """Comparisons in which five cases lose nearly everything and all others gain a little, so that the mean is 0."""
    gain = 0.045
    losses = np.full(RARE, -gain * (cases - RARE) / RARE)
    return np.stack([rng.permutation(np.concatenate([losses, np.full(cases - RARE, gain)])) for _ in range(count)])


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


def collect(systems: str, scenario: str, rows: Values) -> Iterator[Figures]:
    """What the comparisons of a scenario come to, by test."""
    spread = float(rows.std())
    for test, decide in TESTS.items():
        ended = [decide(row) for row in rows]
        shares = {
            name: sum(one.decision == name for one in ended) / len(ended) for name in ("better", "worse", "equivalent")
        }
        used = float(np.median([one.votes for one in ended]))
        yield Figures(
            systems=systems, scenario=scenario, test=test, spread=spread, saved=1 - used / rows.shape[1], **shares
        )


def find_failures(figures: Sequence[Figures]) -> Iterator[str]:
    """What was promised and does not hold."""
    for found in figures:
        false = found.better + found.worse
        if found.test == "paired" and found.scenario == "same" and false > MOST_FALSE:
            yield f"{found.systems}: {false:.1%} false decisions"
        close = found.systems == " - ".join(CLOSE)
        if found.test == "paired" and close and found.scenario != "same" and found.saved < LEAST_SAVED:
            yield f"{found.systems}, {found.scenario}: {found.saved:.0%} of the cases saved"


def main() -> int:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--comparisons", type=int, default=1_000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    values, rng = measure_systems(), np.random.default_rng(SEED)
    cases = len(next(iter(values.values())))
    figures: list[Figures] = []
    for one, other in itertools.combinations(values, 2):
        differences = values[one] - values[other]
        differences = differences if differences.mean() >= 0 else -differences
        for scenario, rows in make_comparisons(differences, given.comparisons, rng):
            figures += collect(f"{one} - {other}", scenario, rows)
    figures += collect("made up", "rare losses", make_rare_losses(cases, given.comparisons, rng))
    if given.json:
        sys.stdout.write(json.dumps([asdict(found) for found in figures], indent=1) + "\n")
    else:
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
        sys.stdout.write(
            "\n".join([f"{given.comparisons:,} comparisons of {cases} cases", *grid([head, *lines])]) + "\n"
        )
    failures = list(find_failures(figures))
    sys.stderr.writelines(f"FAILED {line}\n" for line in failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
