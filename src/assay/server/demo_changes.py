"""Two changes of the demo that go up the ladder: one wins and graduates, one loses and is rejected.

Nothing of the result is written here. Each change is a configuration of search that really differs from what is served,
every search is really made, and the sequential tests count the votes that come of it:

- Until week `WINNER_WEEK` the demo serves `words-first`, in which exact words decide nearly alone. `balanced-weights`,
  the weights that come with Assay, is measured offline and then run in the shadow of every search. The dataset's grades
  judge both lists, and each judged pair of lists is a vote.
- In week `LOSER_WEEK` somebody tries `words-only`, which needs no embedding model. Its lists are merged into those that
  simulated users read. They click by the habits of `assay simulate` (`assay.evaluation.simulation.Habits`): they look
  from the top, and mostly open what the dataset grades as relevant. Each merged list is a vote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from assay import wiring
from assay.evaluation.results import RunResult
from assay.evaluation.running.own_memory import share_held
from assay.evaluation.simulation import Habits, deeds
from assay.memory.engine import Engine
from assay.memory.searching.options import BASE_WEIGHTS
from assay.online.interleaving import collect_interleaved, collect_shadow
from assay.online.ladder import Ladder, offline_evidence
from assay.online.shadow import Shadow, ShadowOptions
from assay.online.sides import treatment_of
from assay.online.trials import decision_of
from assay.records import Channel, Judgment, JudgmentSource, LoggedQuery, Origin, Scope, SearchRequest
from assay.records.datasets import Case, Dataset
from assay.records.flags import VoteKind
from assay.records.learning import Observation
from assay.server.demo_history import PastClock

CONTROL = "words-first"
"""What is served at first: exact words decide nearly alone."""
WINNER = "balanced-weights"
LOSER = "words-only"
_WEIGHED = (Channel.VECTOR, Channel.BM25, Channel.FTS5)
SPECS: Mapping[str, str] = {
    CONTROL: "assay:search.full_text=always,search.weights.vector=0.01,search.weights.bm25=0.01,search.weights.fts5=9",
    WINNER: "assay:" + ",".join(f"search.weights.{name}={BASE_WEIGHTS[name]:g}" for name in _WEIGHED),
    LOSER: "assay:channels=fts5",
}
"""What each variant searches as."""
WINNER_WEEK, LOSER_WEEK = 6, 3
"""How many weeks ago each test began."""
A_DAY = 12
"""Searches of one day of a test."""
SEED = 11
"""Of the order of the questions and of what users look at and open."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Where the changes are tried."""

    engine: Engine
    scope: Scope
    clock: PastClock
    dataset: Dataset
    today: datetime
    runs: Mapping[str, RunResult]
    """Offline runs over a sample of the dataset, by name of the variant."""

    def weeks_ago(self, weeks: int) -> datetime:
        """Return a working hour of that week."""
        return self.today - timedelta(weeks=weeks)


def serve_control(engine: Engine, scope: Scope) -> None:
    """Serve what the first test starts from."""
    engine.flags.define(engine.store, scope, CONTROL, SPECS[CONTROL])
    engine.flags.turn(engine.store, scope, CONTROL, "on", why="As the search before this one was set up.")


def try_winner(stage: Stage) -> None:
    """Measure the weights that come with Assay and test them in the shadow; serve them if every condition holds."""
    engine, scope, ladder = stage.engine, stage.scope, wiring.ladder_of(stage.engine)
    began = stage.weeks_ago(WINNER_WEEK)
    stage.clock.set(began)
    _store_grades(stage)
    _define(stage, ladder, WINNER, against=CONTROL)
    engine.flags.turn(engine.store, scope, WINNER, "off", shadow=True, why="See what it would change.")
    ladder.trials.begin(scope, WINNER, kind=VoteKind.PAIRED, why="Offline it finds more.")
    for day, batch in enumerate(_days(stage.dataset), start=1):
        stage.clock.set(began + timedelta(days=day))
        _run_in_shadow(stage, WINNER, batch)
        collect_shadow(engine.store, scope, ladder.trials, WINNER)
        if _has_decided(stage, WINNER):
            break
    ladder.decide(scope, WINNER)
    if ladder.page(scope, WINNER, rng=np.random.default_rng(SEED)).may_graduate:
        ladder.graduate(scope, WINNER, why="All four conditions hold.")
        engine.flags.turn(engine.store, scope, CONTROL, "off", why=f"{WINNER} took its place.")
    engine.flags.turn(engine.store, scope, WINNER, None, shadow=False, why="The test has ended.")


def try_loser(stage: Stage) -> None:
    """Measure a search without a model, and show its results to users, until its test decides."""
    engine, scope, ladder = stage.engine, stage.scope, wiring.ladder_of(stage.engine)
    began, rng = stage.weeks_ago(LOSER_WEEK), np.random.default_rng(SEED)
    stage.clock.set(began)
    _define(stage, ladder, LOSER, against=WINNER)
    ladder.trials.begin(scope, LOSER, kind=VoteKind.INTERLEAVED, why="It would save the memory of the model.")
    for day, batch in enumerate(_days(stage.dataset), start=1):
        stage.clock.set(began + timedelta(days=day))
        _let_users_search(stage, batch, rng)
        # A list has half an hour to be used before its vote is cast.
        stage.clock.set(began + timedelta(days=day, hours=8))
        collect_interleaved(engine.store, scope, ladder.trials, LOSER, engine.clock)
        if _has_decided(stage, LOSER):
            break
    ladder.decide(scope, LOSER)


def _define(stage: Stage, ladder: Ladder, name: str, *, against: str) -> None:
    """Define a variant and write down what it came to offline."""
    engine, scope = stage.engine, stage.scope
    engine.flags.define(engine.store, scope, name, SPECS[name])
    with engine.store.reading(scope) as work:
        own = share_held(work, stage.dataset.documents)
    control, treatment = stage.runs[against], stage.runs[name]
    evidence = offline_evidence(control, treatment, gate_passed=True, rng=np.random.default_rng(SEED), own_share=own)
    ladder.offline(scope, name, evidence)


def _run_in_shadow(stage: Stage, name: str, cases: Sequence[Case]) -> None:
    """Search as it is served, with a variant unseen beside every search."""
    engine, scope = stage.engine, stage.scope
    change = engine.flag_states(scope)[name].flag
    treatment = treatment_of(engine, change, on=True, specs=_served_specs(stage))
    options = ShadowOptions(percent=100, capacity=len(cases) + 1, duty=1.0)
    shadow = Shadow(store=engine.store, features=lambda _: {name: treatment}, clock=engine.clock, options=options)
    try:
        for case in cases:
            request = SearchRequest(query=case.query, tool_name="demo", session_id=f"{name}-{case.id}")
            shadow(scope, request, engine.search(scope, request))
        shadow.drain()
    finally:
        shadow.close()


def _let_users_search(stage: Stage, cases: Sequence[Case], rng: np.random.Generator) -> None:
    """Let simulated users search and open results, each in a session of their own."""
    engine, scope = stage.engine, stage.scope
    memory_of = _memory_ids(engine, scope)
    for case in cases:
        session = f"user-{case.id}"
        found = engine.search(scope, SearchRequest(query=case.query, tool_name="demo", session_id=session))
        grades = {memory_of[name]: grade for name, grade in case.labels.items() if name in memory_of}
        for deed in deeds(found.ids, grades, stage.dataset.relevance_level, Habits(), rng):
            engine.observe(scope, Observation(session_id=session, memory_id=deed.memory_id))


def _has_decided(stage: Stage, name: str) -> bool:
    with stage.engine.store.reading(stage.scope) as work:
        return decision_of(work.ab_tests.latest(name)) is not None


def _served_specs(stage: Stage) -> tuple[str, ...]:
    return tuple(state.flag.spec for state in stage.engine.flag_states(stage.scope).variants if state.on)


def _days(dataset: Dataset) -> list[list[Case]]:
    """Deal the answerable questions to days, in an order of their own."""
    answerable = [case for case in dataset.cases if case.answerable]
    order = np.random.default_rng(SEED).permutation(len(answerable))
    return [[answerable[place] for place in order[start : start + A_DAY]] for start in range(0, len(order), A_DAY)]


def _memory_ids(engine: Engine, scope: Scope) -> dict[str, str]:
    """Return the memory of each document."""
    with engine.store.reading(scope) as work:
        return {memory.source_id or memory.id: memory.id for memory in work.memories.page(limit=10_000)}


def _store_grades(stage: Stage) -> None:
    """Store the dataset's questions and grades as the evaluation corpus, so that shadow runs can be judged."""
    dataset, now = stage.dataset, stage.engine.clock.now()
    memory_of = _memory_ids(stage.engine, stage.scope)
    queries = [
        LoggedQuery(
            query_id=f"{dataset.name}-{case.id}",
            query=case.query,
            tool_name="demo",
            created_at=now,
            origin=Origin.EVALUATION,
            is_eval_corpus=True,
        )
        for case in dataset.cases
    ]
    grades = [
        Judgment(
            query_id=f"{dataset.name}-{case.id}",
            memory_id=memory_of[document],
            relevance=grade,
            source=JudgmentSource.MANUAL,
            created_at=now,
            annotator=dataset.name,
        )
        for case in dataset.cases
        for document, grade in case.labels.items()
        if document in memory_of
    ]
    with stage.engine.store.writing(stage.scope) as work:
        work.queries.add_many(queries)
        work.judgments.put_many(grades)
