"""Settings of the search that each collection had no part in choosing: `python -m bench.nested_choice --data DIR`.

`python -m bench.nested_choice --data DIR [--old DIR] [--cache DIR] [--questions 150] [--documents 2000]`

`bench.quality_compared` measures the defaults on collections that had a part in choosing them. Here the numbers with
which the default search differs from plain convex fusion (the share of BM25, how much a named title raises a result,
the weight of added words) are chosen anew for each collection, on all the others, and measured on it. The result is
compared with the old default and with plain convex fusion, paired by question, as there. Collections, samples, stores
and vectors are those of `bench.quality_compared`; `--cache` may name the same folder.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assay.embedding.registry import EmbedderRequest, find_embedder
from assay.memory.searching.options import BASE_WEIGHTS, SearchOptions, weights_over
from assay.records import Channel
from bench.collections import ALL
from bench.fusions import Values
from bench.memory_collections import BELIEFS, CONVERSATIONS, FACTS, LOCOMO, load_any
from bench.quality_compared import CONVEX, EXPANSION_OFF, NEW, OLD, WAYS, Measured, Way, cut, format_difference, run
from bench.remembered import RememberedEmbedder

BM25_SHARES = (0.2, 0.3, 0.4)
NAMED_STRENGTHS = (0.0, 0.15, 0.3, 0.45)
ADDED_WEIGHTS = (0.0, 0.12, 0.3)
"""Of the best word that expansion adds; 0 is no expansion."""


class Choice(NamedTuple):
    """The numbers of one candidate."""

    bm25_share: float
    named_strength: float
    added_weight: float

    def __str__(self) -> str:
        return f"BM25 {self.bm25_share:g}, named {self.named_strength:g}, added words {self.added_weight:g}"

    def as_way(self) -> Way:
        """The search with these numbers."""
        weights = dict(BASE_WEIGHTS) | {Channel.BM25: self.bm25_share, Channel.VECTOR: 1.0 - self.bm25_share}
        options = {"weights": weights_over(weights), "named_strength": self.named_strength}
        if not self.added_weight:
            return Way(options=options, flags=(EXPANSION_OFF,))
        return Way(options=options | {"expansion_weight": self.added_weight})


CHOICES = [Choice(*numbers) for numbers in product(BM25_SHARES, NAMED_STRENGTHS, ADDED_WEIGHTS)]
IN_USE = Choice(BASE_WEIGHTS[Channel.BM25], SearchOptions().named_strength, SearchOptions().expansion_weight)


def choose_for(collection: str, measured: Mapping[str, Mapping[Choice, Values]]) -> Choice:
    """Return the candidate with the best mean over all other collections, each counting alike."""
    others = [values for name, values in measured.items() if name != collection]
    return max(CHOICES, key=lambda choice: float(np.mean([values[choice].mean() for values in others])))


def write_tables(measured: Mapping[str, Mapping[str, Measured]]) -> list[str]:
    """Markdown: what was chosen for each collection, how it did there, and what is best over all of them."""
    by_choice = {name: {one: ways[str(one)].ndcg for one in CHOICES} for name, ways in measured.items()}
    chosen = {name: choose_for(name, by_choice) for name in measured}
    lines = [f"|  | {' | '.join((*measured, 'mean'))} |", "| --- " * (len(measured) + 2) + "|"]
    values = {name: by_choice[name][choice] for name, choice in chosen.items()}
    means = [float(found.mean()) for found in values.values()]
    lines.append(_row("chosen on the others", [*(f"{mean:.4f}" for mean in means), f"{np.mean(means):.4f}"]))
    for base in (OLD, CONVEX, NEW):
        pairs = [(values[name], ways[base].ndcg) for name, ways in measured.items()]
        lines.append(_row(f"minus {base}", [format_difference([pair]) for pair in pairs] + [format_difference(pairs)]))
    times = Counter(map(str, chosen.values()))
    lines += ["", "Chosen: " + "; ".join(f"{choice} ({count}x)" for choice, count in times.most_common()) + "."]
    overall = {choice: float(np.mean([found[choice].mean() for found in by_choice.values()])) for choice in CHOICES}
    best = sorted(CHOICES, key=lambda choice: -overall[choice])[:5]
    lines.append("Over all data: " + "; ".join(f"{choice} {overall[choice]:.4f}" for choice in best) + ".")
    return [*lines, f"In use: {IN_USE} {overall[IN_USE]:.4f}."]


def _row(name: str, cells: Sequence[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.nested_choice", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the collections")
    parser.add_argument("--cache", type=Path, help="keep stores and vectors here for the next run")
    parser.add_argument("--collections", default=",".join((*ALL, CONVERSATIONS, LOCOMO, FACTS, BELIEFS)))
    parser.add_argument("--questions", type=int, default=150, help="at most this many questions of a collection")
    parser.add_argument("--documents", type=int, default=2_000, help="about this many documents at most")
    parser.add_argument("--old", type=Path, help="a checkout of version 0.1, which then is the old default")
    asked = parser.parse_args(arguments)
    ways = {OLD: WAYS[OLD], NEW: WAYS[NEW]} | {str(choice): choice.as_way() for choice in CHOICES}
    measured = {}
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as temporary:
        folder = asked.cache or Path(temporary)
        embedder = RememberedEmbedder(find_embedder("minilm").load(EmbedderRequest()), folder)
        for name in asked.collections.split(","):
            collection = cut(load_any(asked.data, name), asked.questions, asked.documents)
            measured[name] = run(collection, folder, embedder, ways, asked.old)
            print(f"{name}: {len(collection.questions):,} questions", file=sys.stderr, flush=True)
    print("\n".join(write_tables(measured)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
