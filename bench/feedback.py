"""What learning from use costs: `python -m bench.feedback [--memories 2000] [--rounds 300] [--json]`.

Two figures. A search is asked with learned triggers off and on, in turn, over memories of which every second has
learned something: the difference of the two is what learning adds. An observation is recorded without and with learning
from it; learning itself runs later, in the background, and is told apart. Times are of the processor in the calling
thread, so that other work on the machine does not count; of the hook the time by the clock is told too, most of which
is the disk. Exit code 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assay.clock import SystemClock
from assay.memory.engine import Engine
from assay.memory.learning import Learning, Vote
from assay.memory.learning.learning import FLAG
from assay.records import Draft, Mode, Scope, SearchRequest
from assay.records.learning import ChangeKind, LearnedTerm, Observation, TermState
from assay.settings import Settings
from assay.testing import HashedEmbedder
from assay.wiring import open_engine

SCOPE = Scope(tenant="bench", principal="bench")
SEARCH_GOAL_MS, EVENT_GOAL_MS, HOOK_GOAL_MS = 15.0, 1.0, 5.0
WORDS = [f"word{number}" for number in range(400)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """Milliseconds; `added` is the 95th percentile with minus the 95th percentile without."""

    memories: int
    search_off_p95: float
    search_on_p95: float
    search_added: float
    not_learning_p95: float
    observed_p95: float
    vote_p95: float
    event_added: float
    """An observation whose event is learned from, over one whose event is not."""
    catch_up_per_event: float
    """By the clock."""
    not_learning_clock_p95: float
    observed_clock_p95: float

    def missed(self) -> list[str]:
        """The goals that are not met."""
        goals = {
            f"learning adds <= {SEARCH_GOAL_MS:g} ms to a search": self.search_added <= SEARCH_GOAL_MS,
            f"recording an event adds < {EVENT_GOAL_MS:g} ms": self.event_added < EVENT_GOAL_MS,
            f"the observation hook takes < {HOOK_GOAL_MS:g} ms": self.observed_p95 < HOOK_GOAL_MS,
        }
        return [goal for goal, met in goals.items() if not met]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.feedback", description=__doc__)
    parser.add_argument("--memories", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        found = measure(Path(folder), asked.memories, asked.rounds)
    if asked.json:
        print(json.dumps(asdict(found), indent=2))
    else:
        load = f"load {os.getloadavg()[0]:.1f}"
        print("\n".join(f"{name:>20}  {value:.3f}" for name, value in asdict(found).items()), load, sep="\n")
    missed = found.missed()
    print("\n".join(f"MISSED: {line}" for line in missed) or "Every goal is met.", file=sys.stderr)
    return int(bool(missed))


def measure(folder: Path, memories: int, rounds: int) -> Figures:
    """Every figure, in one store."""
    settings = Settings(db=str(folder / "assay.db"))
    with open_engine(settings, embedder=HashedEmbedder()) as engine:
        _fill(engine, memories)
        ids = _learned(engine)
        learning = Learning(
            store=engine.store,
            flags=engine.flags,
            sessions=engine.searcher.sessions,
            clock=SystemClock(),
            background=False,
        )
        off, on = _searches(engine, rounds)
        without, observed, votes = _events(engine, learning, ids, rounds)
        began = time.perf_counter()
        done = learning.catch_up(SCOPE)
        each = (time.perf_counter() - began) * 1_000 / max(done.events, 1)
    return Figures(
        memories=memories,
        search_off_p95=_p95(off),
        search_on_p95=_p95(on),
        search_added=_p95(on) - _p95(off),
        not_learning_p95=_p95(without),
        observed_p95=_p95(observed),
        vote_p95=_p95(votes),
        event_added=_p95(observed) - _p95(without),
        catch_up_per_event=each,
        not_learning_clock_p95=_clock_p95(without),
        observed_clock_p95=_clock_p95(observed),
    )


def _fill(engine: Engine, memories: int) -> None:
    rng = np.random.default_rng(1)
    drafts = (
        Draft(title=f"Note {number}", body=" ".join(rng.choice(WORDS, size=60)), source_id=f"d-{number}")
        for number in range(memories)
    )
    for _ in engine.saver.save_many(SCOPE, drafts):
        pass
    engine.indexes.compact(SCOPE)
    engine.flags.turn(engine.store, SCOPE, FLAG, True)


def _learned(engine: Engine) -> list[str]:
    """Every second memory has learned three words."""
    now, rng = SystemClock().now(), np.random.default_rng(2)
    with engine.store.writing(SCOPE) as work:
        ids = [one.id for one in work.memories.page(limit=100_000)]
        for memory_id in ids[::2]:
            terms = [str(one) for one in rng.choice(WORDS, size=3, replace=False)]
            work.learning.change(memory_id, ChangeKind.APPLY, {"learned_triggers": terms}, {"term": terms[0]})
            for term in terms:
                made = LearnedTerm(memory_id=memory_id, term=term, state=TermState.APPLIED, learned_at=now)
                work.learned_terms.put(replace(made, applied_at=now))
    return ids


def _searches(engine: Engine, rounds: int) -> tuple[list[Took], list[Took]]:
    """The same questions, without and with learned triggers, in turn."""
    rng = np.random.default_rng(3)
    off: list[Took] = []
    on: list[Took] = []
    for number in range(rounds + 20):
        query = " ".join(rng.choice(WORDS, size=4))
        for times, without in ((off, (FLAG,)), (on, ())):
            request = SearchRequest(query=query, mode=Mode.FOCUSED, without=without)
            took = _timed(partial(engine.searcher.search, SCOPE, request))
            if number >= 20:
                times.append(took)
    return off, on


def _events(
    engine: Engine, learning: Learning, ids: Sequence[str], rounds: int
) -> tuple[list[Took], list[Took], list[Took]]:
    """An observation without and with learning from it, and a vote."""
    without: list[Took] = []
    observed: list[Took] = []
    votes: list[Took] = []
    for number in range(2 * rounds):
        session = f"s-{number}"
        request = SearchRequest(query=f"{WORDS[number % 400]} {WORDS[(number * 7) % 400]}", session_id=session)
        found = engine.searcher.search(SCOPE, request)
        engine.store.log.flush()
        seen = Observation(session_id=session, memory_id=found.ids[0] if found.ids else ids[0])
        hook, times = (learning.observe, without) if number % 2 else (engine.learning.observe, observed)
        times.append(_timed(partial(hook, SCOPE, seen)))
        vote = Vote(memory_id=found.ids[-1] if found.ids else ids[0], useful=True, session_id=session)
        votes.append(_timed(partial(learning.validate, SCOPE, vote)))
    return without, observed, votes


class Took(NamedTuple):
    """Milliseconds of the processor, and by the clock."""

    processor: float
    clock: float


def _timed(act: Callable[[], object]) -> Took:
    processor, clock = time.thread_time(), time.perf_counter()
    act()
    return Took((time.thread_time() - processor) * 1_000, (time.perf_counter() - clock) * 1_000)


def _p95(times: Sequence[Took]) -> float:
    return float(np.percentile([one.processor for one in times], 95))


def _clock_p95(times: Sequence[Took]) -> float:
    return float(np.percentile([one.clock for one in times], 95))


if __name__ == "__main__":
    sys.exit(main())
