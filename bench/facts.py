"""What a memory says when later facts contradict earlier ones: `python -m bench.facts --data DIR [--cache DIR]`.

FactConsolidation: a numbered list of facts of which later ones replace earlier ones, and 100 questions for each list.
Every fact is saved as a note of its own, in order, with the settings and the gate of a new user and the bundled model;
then the questions are searched as `auto` chooses, those of several hops in `deep` mode too.

- One hop: an answer counts when its words stand in the text of a hit. Told are the top hit, the first five, and how
  often the top hit states a value that a later fact replaced. The same questions over the facts with plain BM25 and
  plain vectors, which know nothing of time, stand beside it.
- Several hops: the file names no evidence, so it is derived: the shortest chains of current facts, of two to four
  facts, that lead from a name in the question to the answer. A question counts when every fact of such a chain is among
  the first five hits.

`--cache DIR` keeps the filled stores; a change of the rules that decide saves makes them anew. `--parts sh_6k,mh_6k`
limits the run. Exit code 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import assay
from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder
from assay.records import Mode, SaveDecision, SaveOutcome
from assay.text.terms import stems
from bench.fact_consolidation import AskedFact, Chains, Part, Question, find_asked_fact, read_parts, states
from bench.remembered import RememberedEmbedder

SHOWN = 5
FEWEST_RIGHT = {"sh": 95, "mh": 40}
"""Goals of 100 questions, at the sizes below: newest value in the top hit; every fact of a chain in the first five."""
GOAL_SIZES = frozenset({"6k", "32k"})
PUBLISHED = {
    "sh": "single hop: HippoRAG-v2 54, BM25 48, mem0 18, Zep 7",
    "mh": "multi-hop: best 51.5, most at most 7",
}
"""Quoted from publications, of 100; made with other models that answer in words, and not run here."""
Search = Callable[[str], Sequence[str]]
"""From a question to the texts of the results, best first."""


# --- Saving ---


@dataclass(frozen=True, kw_only=True, slots=True)
class Saving:
    """What the saves of one list of facts did."""

    facts: int
    decisions: Mapping[str, int]
    """By decision; a note that was stored and joined to others by `contradicts` counts as `contradicts`."""
    outdated: int
    """Facts that ended in notes that stay."""
    seconds: float


def fill(db: Path, facts: Sequence[str], embedder: Embedder | None) -> Saving:
    """Save the facts one by one into a new store."""
    begun = time.perf_counter()
    with assay.Memory(db, embedder=embedder) as memory:
        outcomes = [memory.save(title=fact.rstrip("."), body=fact) for fact in facts]
    return Saving(
        facts=len(facts),
        decisions=Counter(_decision(outcome) for outcome in outcomes),
        outdated=sum(len(outcome.outdated) for outcome in outcomes),
        seconds=time.perf_counter() - begun,
    )


def _decision(outcome: SaveOutcome) -> str:
    joined = outcome.decision is SaveDecision.STORE and outcome.contradicts
    return "contradicts" if joined else outcome.decision.value


def open_filled(folder: Path, facts: Sequence[str], embedder: Embedder | None) -> tuple[Path, Saving]:
    """Return a store with the facts in it, from an earlier run where one with the same rules is there."""
    key = hashlib.sha256("\n".join([*facts, hash_rules()]).encode()).hexdigest()[:16]
    db, told = folder / f"{key}.db", folder / f"{key}.json"
    if told.exists():
        return db, Saving(**json.loads(told.read_text(encoding="utf-8")))
    for left in folder.glob(f"{key}*"):  # of a run that was stopped
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    saving = fill(db, facts, embedder)
    row = {name: getattr(saving, name) for name in Saving.__slots__}
    told.write_text(json.dumps(row), encoding="utf-8")
    return db, saving


def hash_rules() -> str:
    """Hash the source that decides saves: a store that other rules filled is not measured."""
    root = Path(assay.__file__).parent
    files = [path for name in ("text", "memory/saving", "storage", "records") for path in (root / name).rglob("*.py")]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(files))).hexdigest()


# --- Plain ranking beside it ---


class PlainRanking:
    """BM25 and vectors over the facts as they are listed, each alone."""

    K1, B = 1.2, 0.75

    def __init__(self, facts: Sequence[str], embedder: Embedder) -> None:
        self._facts, self._embedder = facts, embedder
        self._terms = [Counter(stems(fact)) for fact in facts]
        self._lengths = np.array([sum(counted.values()) for counted in self._terms], np.float64)
        self._frequency = Counter(term for counted in self._terms for term in counted)

    @cached_property
    def _vectors(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        return self._embedder.embed(list(self._facts))

    def bm25(self, query: str, *, newest_first: bool = False) -> list[str]:
        """Rank by the words of the question; two values of one thing often have the same score, so ties matter."""
        scores = np.zeros(len(self._facts))
        norm = self.K1 * (1 - self.B + self.B * self._lengths / self._lengths.mean())
        for term in set(stems(query)) & self._frequency.keys():
            weight = math.log(1 + (len(self._facts) - self._frequency[term] + 0.5) / (self._frequency[term] + 0.5))
            found = np.array([counted[term] for counted in self._terms], np.float64)
            scores += weight * found * (self.K1 + 1) / (found + norm)
        return self._best(scores, newest_first=newest_first)

    def vector(self, query: str) -> list[str]:
        """Rank by similarity."""
        return self._best(self._vectors @ self._embedder.embed([query])[0])

    def _best(self, scores: np.ndarray[Any, Any], *, newest_first: bool = False) -> list[str]:
        numbers = np.arange(len(scores))
        # Scores that differ in the last digits only are equal.
        order = np.lexsort((-numbers if newest_first else numbers, -scores.round(9)))
        return [self._facts[number] for number in order[:SHOWN]]


# --- Measuring ---


class SingleHop(NamedTuple):
    """What one way to search found for questions of one hop."""

    name: str
    asked: int
    first: int
    """Newest value in the top hit."""
    first_five: int
    outdated_first: int
    replaced: int
    """Questions whose value replaced an earlier one."""
    milliseconds: float


class MultiHop(NamedTuple):
    """What was found for questions of several hops."""

    name: str
    asked: int
    complete: int
    """Every fact of a chain among the first five."""
    answers: int
    """The answer in the first five."""
    lengths: Mapping[int, int]
    """Questions by the facts of their chains; 0: no chain could be derived."""
    complete_by_length: Mapping[int, int]
    milliseconds: float


def measure_single_hop(name: str, part: Part, search: Search, asked_facts: Sequence[AskedFact | None]) -> SingleHop:
    """Search every question once."""
    begun = time.perf_counter()
    found = [list(search(question.text))[:SHOWN] for question in part.questions]
    elapsed = time.perf_counter() - begun
    pairs = list(zip(part.questions, found, strict=True))
    return SingleHop(
        name=name,
        asked=len(pairs),
        first=sum(_states(question, texts[:1]) for question, texts in pairs),
        first_five=sum(_states(question, texts) for question, texts in pairs),
        outdated_first=sum(
            fact is not None and any(old in text for text in texts[:1] for old in fact.outdated)
            for fact, texts in zip(asked_facts, found, strict=True)
        ),
        replaced=sum(fact is not None and bool(fact.outdated) for fact in asked_facts),
        milliseconds=1000 * elapsed / len(pairs),
    )


def measure_multi_hop(name: str, part: Part, search: Search, chains: Sequence[Sequence[Sequence[str]]]) -> MultiHop:
    """Search every question once; `chains` are those of each question."""
    begun = time.perf_counter()
    found = [list(search(question.text))[:SHOWN] for question in part.questions]
    elapsed = time.perf_counter() - begun
    complete = [
        len(ways[0])
        for ways, texts in zip(chains, found, strict=True)
        if any(all(any(fact in text for text in texts) for fact in chain) for chain in ways)
    ]
    return MultiHop(
        name=name,
        asked=len(part.questions),
        complete=len(complete),
        answers=sum(_states(question, texts) for question, texts in zip(part.questions, found, strict=True)),
        lengths=Counter(len(ways[0]) if ways else 0 for ways in chains),
        complete_by_length=Counter(complete),
        milliseconds=1000 * elapsed / len(part.questions),
    )


def _states(question: Question, texts: Sequence[str]) -> bool:
    return any(states(text, question.answers) for text in texts)


class PartFigures(NamedTuple):
    """Everything measured on one part."""

    part: Part
    saving: Saving
    rows: Sequence[SingleHop | MultiHop]
    """Assay first."""

    def missed(self) -> str | None:
        """The goal that is missed; None: it is met, or there is none for this size."""
        kind, _, size = self.part.name.partition("_")
        best = self.rows[0]
        right = best.complete if isinstance(best, MultiHop) else best.first
        needed = FEWEST_RIGHT[kind] * best.asked / 100
        if size not in GOAL_SIZES or right >= needed:
            return None
        return f"{self.part.name}: {right} of {best.asked}, at least {needed:g} is the goal"


def measure_part(part: Part, db: Path, saving: Saving, embedder: Embedder) -> PartFigures:
    """Search the questions of a part in its filled store, and with the plain rankings."""
    plain = PlainRanking(part.facts, embedder)
    modes = (Mode.AUTO, Mode.DEEP) if part.is_multi_hop else (Mode.AUTO,)
    with assay.Memory(db, embedder=embedder) as memory:

        def search(mode: Mode, query: str) -> list[str]:
            return [hit.text for hit in memory.search(query, k=SHOWN, mode=mode).hits]

        ways: dict[str, Search] = {f"Assay, {mode}": partial(search, mode) for mode in modes} | {
            "BM25 alone, ties as listed": plain.bm25,
            "BM25 alone, newest of ties first": partial(plain.bm25, newest_first=True),
            "vectors alone": plain.vector,
        }
        search(modes[0], part.questions[0].text)  # what is loaded at first is not timed
        rows: list[SingleHop | MultiHop]
        if part.is_multi_hop:
            known = Chains(part.facts)
            chains = [known.find(question) for question in part.questions]
            rows = [measure_multi_hop(name, part, way, chains) for name, way in ways.items()]
        else:
            facts = [find_asked_fact(question, part.facts) for question in part.questions]
            rows = [measure_single_hop(name, part, way, facts) for name, way in ways.items()]
    return PartFigures(part, saving, rows)


# --- Printing ---


def show(console: Console, figures: PartFigures) -> None:
    """Print one part."""
    part, saving = figures.part, figures.saving
    decided = ", ".join(f"{name} {count:,}" for name, count in sorted(saving.decisions.items()))
    console.print(
        f"{part.name}: {saving.facts:,} facts saved in {saving.seconds:,.0f} s "
        f"({1000 * saving.seconds / saving.facts:.0f} ms each): {decided}; "
        f"facts ended in notes that stay: {saving.outdated:,}"
    )
    multi = part.is_multi_hop
    table = Table(title=f"{part.name}, {len(part.questions)} questions")
    for column in (
        ("", "every fact of a chain in 5", "answer in 5", "ms")
        if multi
        else ("", "newest value first", "newest value in 5", "outdated value first", "ms")
    ):
        table.add_column(column, justify="left" if not column else "right")
    for row in figures.rows:
        if isinstance(row, MultiHop):
            table.add_row(row.name, f"{row.complete}", f"{row.answers}", f"{row.milliseconds:.1f}")
        else:
            told = f"{row.outdated_first} of {row.replaced}"
            table.add_row(row.name, f"{row.first}", f"{row.first_five}", told, f"{row.milliseconds:.1f}")
    console.print(table)
    if isinstance(first := figures.rows[0], MultiHop):
        by_length = ", ".join(
            f"{first.complete_by_length.get(length, 0)} of {count} with {length} facts"
            for length, count in sorted(first.lengths.items())
            if length
        )
        console.print(f"  found by length of the chain: {by_length}; no chain: {first.lengths.get(0, 0)} questions")
    console.print(f"  quoted, not run here: {PUBLISHED[part.name[:2]]}")


def run(data: Path, cache: Path, embedder: Embedder, *, only: Sequence[str] = ()) -> list[PartFigures]:
    """Fill a store for each list of facts and measure every part; `only` are names of parts."""
    cache.mkdir(parents=True, exist_ok=True)
    parts = read_parts(data)
    unknown = set(only) - {part.name for part in parts}
    if unknown:
        sys.exit(f"no part {', '.join(sorted(unknown))} in {data}; there are {', '.join(part.name for part in parts)}")
    return [
        measure_part(part, *open_filled(cache, part.facts, embedder), embedder)
        for part in parts
        if not only or part.name in only
    ]


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print, and tell whether the goals are met."""
    parser = argparse.ArgumentParser(prog="bench.facts", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the file, or a folder that holds it")
    parser.add_argument("--cache", type=Path, help="keep filled stores and vectors here")
    parser.add_argument("--parts", default="", help="such as sh_6k,mh_6k; all of the file by default")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args(given)
    with tempfile.TemporaryDirectory() as scratch:
        cache = options.cache or Path(scratch)
        embedder = RememberedEmbedder(load_bundled(), cache / "vectors")
        only = [name for name in options.parts.split(",") if name]
        measured = run(options.data, cache, embedder, only=only)
    if options.json:
        sys.stdout.write(json.dumps([_plain(figures) for figures in measured], indent=2) + "\n")
    else:
        console = Console(width=120)
        for figures in measured:
            show(console, figures)
    missed = [goal for figures in measured if (goal := figures.missed()) is not None]
    for goal in missed:
        print(f"missed: {goal}", file=sys.stderr)
    return int(bool(missed))


def _plain(figures: PartFigures) -> dict[str, Any]:
    return {
        "part": figures.part.name,
        "saving": {name: getattr(figures.saving, name) for name in Saving.__slots__},
        "searches": [row._asdict() for row in figures.rows],
    }


if __name__ == "__main__":
    sys.exit(main())
