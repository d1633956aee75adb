"""Whether patterns are found that are there, and none that are not: `python -m bench.patterns [--repeats N] [--json]`.

The questions are those of the bundled datasets. Nothing: scores of three shapes are shuffled over the questions, so
that whatever is reported is chance; beside it stands what a normal approximation of the same test would report, and
what every test at 0.05 would without any adjustment. Something: the score of one dimension is lowered for the
questions that share a trait, and the pattern has to be told with exactly these questions and a suggestion. Exit code 1
when a requirement is missed: nothing reported in 95 of 100 repetitions, and a drop of 0.30 always found.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from assay.analysis.patterns import find_patterns
from assay.analysis.questions import distinct_questions
from assay.analysis.traits import Carriers, carriers
from assay.evaluation.datasets import load_dataset
from assay.records.analysis import PatternOptions, Patterns
from assay.records.research import Dimension
from assay.records.research_log import ResearchSession
from assay.statistics.independent_samples import LowerMean
from assay.statistics.paired_tests import benjamini_hochberg
from assay.statistics.special import normal_cdf
from assay.text.questions import kind_of

DATASETS = ("agent-memory", "vault", "hotel")
AT = datetime(2026, 1, 1, tzinfo=UTC)
SEED = 11
SILENT = 0.95
DROPS = (0.10, 0.20, 0.30)
PLANTED_IN = Dimension.INTENT_ALIGNMENT
Scores = NDArray[np.float64]
"""One row a question, one column a dimension."""


def _smooth(rng: np.random.Generator, shape: tuple[int, int]) -> Scores:
    mood = rng.normal(0.0, 0.1, (shape[0], 1))
    return np.clip(rng.beta(8.0, 2.0, shape) + mood, 0.0, 1.0)


def _levels(rng: np.random.Generator, shape: tuple[int, int]) -> Scores:
    return rng.choice([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], shape, p=[0.02, 0.03, 0.05, 0.15, 0.35, 0.40])


def _rare(rng: np.random.Generator, shape: tuple[int, int]) -> Scores:
    return np.where(rng.random(shape) < 0.04, 0.0, 1.0)


SHAPES: Mapping[str, Callable[[np.random.Generator, tuple[int, int]], Scores]] = {
    "smooth, dimensions correlated": _smooth,
    "six levels, most at the top": _levels,
    "1, and 0 in 4 %": _rare,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Silence:
    """What was reported where there was nothing."""

    shape: str
    repeats: int
    silent: int
    """Repetitions in which no pattern was reported."""
    silent_normal: int
    """The same with the normal approximation of the permutation test in place of the bound."""
    silent_unadjusted: int
    """The same with the bound, each test for itself at 0.05."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """What was found of what was planted."""

    drop: float
    planted: int
    found: int
    """Told, with exactly the questions it was planted in, and a suggestion."""
    others: int
    """Further patterns that were told; what overlaps the planted one may rightly be among them."""


def questions() -> list[str]:
    """The questions of the bundled datasets, each once."""
    return list(dict.fromkeys(case.query for name in DATASETS for case in load_dataset(name).cases))


def sessions_of(texts: Sequence[str], scores: Scores) -> list[ResearchSession]:
    """A session for each question."""
    return [
        ResearchSession(
            log_id=f"r_{place}",
            created_at=AT,
            question=text,
            kind=kind_of(text),
            scores={name.value: float(score) for name, score in zip(Dimension, row, strict=True)},
        )
        for place, (text, row) in enumerate(zip(texts, scores, strict=True))
    ]


def silence(shape: str, texts: Sequence[str], *, repeats: int, rng: np.random.Generator) -> Silence:
    """Shuffle and look, again and again."""
    options = PatternOptions()
    scores = SHAPES[shape](rng, (len(texts), len(Dimension)))
    groups = carriers(distinct_questions(sessions_of(texts, scores)), least=options.least_support)
    counted = np.zeros(3, dtype=np.int64)
    for _ in range(repeats):
        shuffled = rng.permutation(scores, axis=0)
        found = find_patterns(sessions_of(texts, shuffled), options)
        counted += [not found.found, not _by_normal(shuffled, groups, options), not _each_alone(shuffled, groups)]
    return Silence(
        shape=shape,
        repeats=repeats,
        silent=int(counted[0]),
        silent_normal=int(counted[1]),
        silent_unadjusted=int(counted[2]),
    )


def _by_normal(scores: Scores, groups: Sequence[Carriers], options: PatternOptions) -> bool:
    """Whether the z test of a draw without replacement would report anything, adjusted in the same way."""
    p, drops = [], []
    total = len(scores)
    for column in scores.T:
        for group in groups:
            n, mean = len(group.places), column[group.places].mean()
            below = column.mean() - mean
            spread = column.std(ddof=1) * np.sqrt((1 - n / total) / n)
            p.append(normal_cdf(-below / spread))
            drops.append(below * total / (total - n))
    return bool(((benjamini_hochberg(p) <= options.fdr) & (np.array(drops) >= options.least_drop)).any())


def _each_alone(scores: Scores, groups: Sequence[Carriers]) -> bool:
    sizes = [len(group.places) for group in groups]
    return any(
        bool((LowerMean(column).bound(sizes, [column[group.places].mean() for group in groups]) <= 0.05).any())
        for column in scores.T
    )


def planted(drop: float, texts: Sequence[str], *, rng: np.random.Generator) -> Found:
    """Lower one dimension for each trait in turn that has 10 to 60 questions, and look for it."""
    place = list(Dimension).index(PLANTED_IN)
    scores = _smooth(rng, (len(texts), len(Dimension)))
    groups = carriers(distinct_questions(sessions_of(texts, scores)), least=10)
    small = [group for group in groups if len(group.places) <= 60]
    told = others = 0
    for group in small:
        lowered = rng.permutation(scores, axis=0)
        lowered[group.places, place] = np.clip(lowered[group.places, place] - drop, 0.0, 1.0)
        found = find_patterns(sessions_of(texts, lowered))
        is_told = _is_told(found, group, texts)
        told += is_told
        others += len(found.found) - is_told
    return Found(drop=drop, planted=len(small), found=told, others=others)


def _is_told(found: Patterns, group: Carriers, texts: Sequence[str]) -> bool:
    wanted = {texts[int(place)] for place in group.places}
    return any(
        pattern.dimension == PLANTED_IN
        and {one.text for one in pattern.affected} == wanted
        and bool(pattern.suggestion.sentence)
        for pattern in found.found
    )


def main() -> int:
    """Measure, print, and say by the exit code whether every requirement is met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    texts, rng = questions(), np.random.default_rng(SEED)
    nothing = [silence(shape, texts, repeats=given.repeats, rng=rng) for shape in SHAPES]
    something = [planted(drop, texts, rng=rng) for drop in DROPS]
    met = all(one.silent >= SILENT * one.repeats for one in nothing) and something[-1].found == something[-1].planted
    if given.json:
        told = {"questions": len(texts), "nothing": [asdict(one) for one in nothing]}
        print(json.dumps({**told, "something": [asdict(one) for one in something], "met": met}, indent=2))
        return 0 if met else 1
    print(f"{len(texts)} questions, {len(Dimension)} dimensions")
    for one in nothing:
        alone = f"normal approximation {one.silent_normal}, unadjusted {one.silent_unadjusted}"
        print(f"shuffled, {one.shape}: no pattern in {one.silent} of {one.repeats} ({alone})")
    for two in something:
        share = f"{two.found} of {two.planted} found with their questions, {two.others} others told"
        print(f"planted, drop {two.drop:.2f}: {share}")
    print("met" if met else "MISSED")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
