"""How often a test decides between two sides that are the same: `python -m bench.false_decisions [--tests 400]`.

Both sides of a test search the documents of `hotel` with the real engine. For every question a coin says which of two
real configurations (all channels, or full text alone) is the control and which the treatment, so that the lists differ
and neither side is better. Interleaved: each question is one merged list, shown and logged by the product. Paired: each
question is one shadow run, judged by the dataset's grades. Split: each question is served by the side of its session.
Readers go down a list, stop with a chance after each result, and use a relevant one more often than another. Votes are
collected and decided by the product's own code, from its store. Each test has a change of its own, at the full alpha.

Exit code 1 when more than 5 % of the tests of a kind say better or worse.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from assay.evaluation.datasets import load_dataset
from assay.evaluation.datasets.bundled import find_bundled
from assay.memory.engine import Engine
from assay.online.interleaving import InterleavedSearch, collect
from assay.online.judged import deltas
from assay.online.shadow import shadow_run
from assay.online.vote_sources import TIME_TO_USE
from assay.records import EventType, FeedbackEvent, Judgment, JudgmentSource, Scope, SearchRequest, SearchResult
from assay.records.flags import VoteKind
from assay.settings import Settings
from assay.statistics.intervals import wilson
from assay.systems.assay_engine import take_in
from assay.testing import FixedClock
from assay.wiring import ladder_of, open_engine
from bench.ladder import used

SCOPE = Scope(tenant="bench", principal="bench")
ONE, OTHER = "assay:search.coefficient=0.3", "assay:channels=fts5"
"""Two configurations that find different things; the first one is what is served by default."""
SHOWN = 5
SEED = 20
MOST_FALSE = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question of the dataset, with the memories that answer it."""

    text: str
    grades: Mapping[str, int]

    @property
    def relevant(self) -> frozenset[str]:
        """The memories from grade 2 on."""
        return frozenset(memory_id for memory_id, grade in self.grades.items() if grade >= 2)


@dataclass(frozen=True, kw_only=True, slots=True)
class Bench:
    """A memory with the dataset's documents, and its questions."""

    engine: Engine
    clock: FixedClock
    questions: Sequence[Question]
    rng: np.random.Generator

    def search(self, spec: str, request: SearchRequest, before: str | None = None) -> SearchResult:
        """Search by one of the configurations."""
        return self.engine.variant((spec,)).search(SCOPE, request, before=before)

    def use(self, question: Question, shown: SearchResult, session: str) -> None:
        """Read what a reader uses of a list."""
        events = [
            FeedbackEvent(
                event_key=f"{shown.query_id}:{memory_id}",
                event_type=EventType.READ_AFTER_SEARCH,
                session_id=session,
                created_at=self.clock.now(),
                query_id=shown.query_id,
                memory_id=memory_id,
                rank_in_results=shown.ids.index(memory_id) + 1,
            )
            for memory_id in dict.fromkeys(used(shown.ids, question.relevant, self.rng))
        ]
        self.engine.store.log.flush()
        with self.engine.store.writing(SCOPE) as work:
            work.feedback.record(events)


def run_interleaved(bench: Bench, name: str, question: Question, sides: tuple[str, str]) -> None:
    """Show one merged list, and use it."""
    request = SearchRequest(query=question.text, k=SHOWN)
    control = bench.engine.variant((sides[0],)).search
    merged = InterleavedSearch(
        store=bench.engine.store,
        control=control,
        treatment=lambda _, asked, before: bench.search(sides[1], asked, before),
        failures=bench.engine.searcher.failures,
        feature_id=name,
        clock=bench.clock,
    )
    bench.use(question, merged.search(SCOPE, request), "s")


def run_paired(bench: Bench, name: str, question: Question, sides: tuple[str, str]) -> None:
    """Compare both lists unseen."""
    request = SearchRequest(query=question.text, k=SHOWN)
    control, treatment = (bench.search(side, request) for side in sides)
    bench.engine.store.log.flush()
    run = shadow_run(name, control, treatment, grades=None, at=bench.clock.now())
    with bench.engine.store.writing(SCOPE) as work:
        work.shadow_runs.add_many([run])


def run_split(bench: Bench, name: str, question: Question, sides: tuple[str, str]) -> None:
    """Serve one side, by a session of its own, and use it: the session decides which arm the vote counts for."""
    session = f"{name} {bench.rng.integers(1 << 30)}"
    request = SearchRequest(query=question.text, k=SHOWN, session_id=session)
    bench.use(question, bench.search(sides[0], request), session)


RUNS: Mapping[VoteKind, Callable[[Bench, str, Question, tuple[str, str]], None]] = {
    VoteKind.INTERLEAVED: run_interleaved,
    VoteKind.PAIRED: run_paired,
    VoteKind.SPLIT: run_split,
}


def run_test(bench: Bench, kind: VoteKind, number: int) -> tuple[str | None, int]:
    """Run one test over all questions, in an order of its own; how it ended, and after how many votes."""
    name = f"same-{kind.value}-{number}"
    engine = bench.engine
    engine.flags.define(engine.store, SCOPE, name, ONE)
    if kind is VoteKind.SPLIT:
        engine.flags.turn(engine.store, SCOPE, name, "50%")
    trials = ladder_of(engine).trials
    trials.begin(SCOPE, name, kind=kind)
    for at in bench.rng.permutation(len(bench.questions)):
        sides = (ONE, OTHER) if bench.rng.random() < 0.5 else (OTHER, ONE)
        RUNS[kind](bench, name, bench.questions[int(at)], sides)
    bench.clock.advance(seconds=TIME_TO_USE.total_seconds() + 1)
    collect(engine.store, SCOPE, trials, name, bench.clock)
    with engine.store.reading(SCOPE) as work:
        test = work.ab_tests.latest(name)
    # Another test's searches must not vote in this one.
    bench.clock.advance(seconds=1)
    engine.flags.remove(engine.store, SCOPE, name)
    return test.decision, test.sample_count


def open_questions(engine: Engine, clock: FixedClock) -> list[Question]:
    """Take in the dataset, and keep its grades as a person's."""
    dataset = load_dataset(str(find_bundled("hotel")))
    take_in(engine, SCOPE, dataset)
    with engine.store.reading(SCOPE) as work:
        memory_of = work.memories.ids_by_source()
    found = []
    for case in dataset.cases:
        grades = {memory_of[document]: grade for document, grade in case.labels.items() if document in memory_of}
        if not any(grade >= 2 for grade in grades.values()):
            continue
        found.append(Question(text=case.query, grades=grades))
        # What no one graded is not relevant: the dataset is judged completely for these configurations.
        lists = [
            engine.variant((side,)).search(SCOPE, SearchRequest(query=case.query, k=SHOWN)) for side in (ONE, OTHER)
        ]
        pooled = {**dict.fromkeys([memory_id for shown in lists for memory_id in shown.ids], 0), **grades}
        engine.store.log.flush()
        with engine.store.writing(SCOPE) as work:
            work.judgments.put_many(
                [
                    Judgment(
                        query_id=lists[0].query_id,
                        memory_id=memory_id,
                        relevance=grade,
                        source=JudgmentSource.MANUAL,
                        annotator="hotel",
                        created_at=clock.now(),
                    )
                    for memory_id, grade in pooled.items()
                ]
            )
    return found


def count_differing(bench: Bench) -> tuple[int, float]:
    """Return how many questions the configurations answer differently, and the spread of the judged differences."""
    differing, gains = 0, []
    for question in bench.questions:
        request = SearchRequest(query=question.text, k=SHOWN)
        one, other = (bench.search(side, request) for side in (ONE, OTHER))
        differing += one.ids != other.ids
        pooled = {**dict.fromkeys((*one.ids, *other.ids), 0), **question.grades}
        gains.append(deltas(one.ids, other.ids, pooled).mrr or 0.0)
    return differing, float(np.std(gains))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.false_decisions", description=__doc__)
    parser.add_argument("--tests", type=int, default=400, help="tests of each kind")
    parser.add_argument("--questions", type=int, default=60, help="questions of each test")
    parser.add_argument("--kind", choices=[kind.value for kind in RUNS], help="tests of this kind only")
    options = parser.parse_args(arguments)
    wrong = False
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        clock = FixedClock()
        settings = Settings(db=str(Path(folder) / "assay.db"), embedder="static", tenant=SCOPE.tenant)
        with open_engine(settings, clock=clock, run_once=True) as engine:
            questions = open_questions(engine, clock)[: options.questions]
            bench = Bench(engine=engine, clock=clock, questions=questions, rng=np.random.default_rng(SEED))
            differing, spread = count_differing(bench)
            print(f"{len(questions)} questions; {differing} lists differ, judged differences spread by {spread:.2f}")
            for kind in [kind for kind in RUNS if options.kind in (None, kind.value)]:
                began = time.monotonic()
                ends = [run_test(replace(bench), kind, number) for number in range(options.tests)]
                false = sum(decision in {"better", "worse"} for decision, _ in ends)
                limits = wilson(false, len(ends))
                votes = float(np.mean([count for _, count in ends]))
                wrong |= false > MOST_FALSE * len(ends)
                print(
                    f"{kind.value:12} {false} of {len(ends)} tests say better or worse"
                    f" ({false / len(ends):.1%} [{limits.low:.1%}, {limits.high:.1%}]);"
                    f" {votes:.0f} votes a test, {time.monotonic() - began:.0f} s",
                    flush=True,
                )
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
