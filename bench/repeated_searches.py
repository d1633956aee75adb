"""How well repeated searches are told from new ones: `python -m bench.repeated_searches [--json]`.

`data/repeated_searches.jsonl` holds pairs of queries as they follow each other in a session: the same need in other
words, or another need on a near subject. Printed is the share of both that counts as repeated at several thresholds,
with the bundled embedder and by words, and the share of all pairs of different questions in the bundled datasets.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder
from assay.evaluation.datasets import load_dataset
from assay.memory.learning.repeated_searches import SAME_MEANING, SAME_WORDS, compare_words

PAIRS = Path(__file__).parent / "data" / "repeated_searches.jsonl"
DATASETS = ("hotel", "vault", "agent-memory")
MEANINGS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75)
WORDS = (0.4, 0.5, 0.6, 0.7)


class Pair(NamedTuple):
    """Two queries of a session, and whether the second is for the same need."""

    first: str
    again: str
    same_need: bool


class Row(NamedTuple):
    """What one rule calls repeated."""

    rule: str
    same: float
    """The share of pairs for the same need."""
    other: float
    """The share of pairs for another need."""


def read_pairs() -> list[Pair]:
    """Read the labelled pairs."""
    return [Pair(**json.loads(line)) for line in PAIRS.read_text(encoding="utf-8").splitlines()]


def measure(pairs: Sequence[Pair], embedder: Embedder) -> list[Row]:
    """Return what every rule calls repeated; the last row is the rule in use."""
    same = np.array([pair.same_need for pair in pairs])
    first, again = (embedder.embed([getattr(pair, name) for pair in pairs]) for name in ("first", "again"))
    cosines = np.sum(first * again, axis=1)
    shares = np.array([compare_words(pair.first, pair.again).value for pair in pairs])
    rows = [_row(f"cosine >= {least}", cosines >= least, same) for least in MEANINGS]
    rows += [_row(f"words >= {least}", shares >= least, same) for least in WORDS]
    both = (cosines >= SAME_MEANING) | (shares >= SAME_WORDS)
    return [*rows, _row(f"cosine >= {SAME_MEANING} or words >= {SAME_WORDS}", both, same)]


def measure_unrelated(name: str, embedder: Embedder) -> Row:
    """Return the share of all pairs of a dataset's questions that would count as repeated."""
    queries = [case.query for case in load_dataset(name).cases]
    vectors = embedder.embed(queries)
    near = vectors @ vectors.T >= SAME_MEANING
    pairs = list(combinations(range(len(queries)), 2))
    alike = [near[one, two] or compare_words(queries[one], queries[two]).is_same_need for one, two in pairs]
    return Row(f"{name}, {len(pairs):,} pairs", float("nan"), float(np.mean(alike)))


def _row(rule: str, repeated: NDArray[np.bool_], same: NDArray[np.bool_]) -> Row:
    return Row(rule, float(np.mean(repeated[same])), float(np.mean(repeated[~same])))


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    embedder = load_bundled()
    rows = measure(read_pairs(), embedder)
    unrelated = [measure_unrelated(name, embedder) for name in DATASETS]
    if given.json:
        told = [{"rule": row.rule, "same": row.same, "other": row.other} for row in rows]
        told += [{"rule": row.rule, "other": row.other} for row in unrelated]
        print(json.dumps(told, indent=2))
        return 0
    print(f"{'rule':<34}  same need  another need")
    for row in rows:
        print(f"{row.rule:<34}  {row.same:>9.2f}  {row.other:>12.2f}")
    for row in unrelated:
        print(f"{row.rule:<34}  {'-':>9}  {row.other:>12.5f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
