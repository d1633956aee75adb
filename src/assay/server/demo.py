"""`assay serve --demo`: a store with something on every page, filled by running the bundled datasets.

The data is real: the datasets are ingested and run, their questions are researched, and a flag climbs the ladder on the
results of those searches. The history of twelve weeks consists of these answers, placed in earlier weeks
(`demo_history`). A folder is filled once; the next start reuses it.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np

from assay import wiring
from assay.errors import InputError
from assay.evaluation.datasets import for_scoring, load_dataset
from assay.evaluation.gating import judge
from assay.evaluation.gating.verdict import Status
from assay.evaluation.readings import reading_of
from assay.evaluation.results import RunResult
from assay.evaluation.running.own_memory import share_held
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running, run
from assay.flags import find_flag
from assay.memory.engine import Engine
from assay.online.interleaving import collect_shadow
from assay.online.ladder import offline_evidence
from assay.online.shadow import Shadow, ShadowOptions
from assay.online.sides import treatment_of
from assay.records import DEFAULT_TENANT, Draft, Judgment, JudgmentSource, LoggedQuery, Origin, Scope, SearchRequest
from assay.records.datasets import Dataset
from assay.records.flags import VoteKind
from assay.records.research_log import TracedAnswer
from assay.records.traces import SpanRole, TraceDocument, TraceSpan
from assay.server import demo_history
from assay.settings import Settings
from assay.systems.assay_engine import take_in
from assay.systems.registry import Configuration

FOLDER = Path("build/serve-demo")
"""The default folder of the demo's store and runs."""
QUESTION_DATASET = "hotel"
"""The dataset whose questions are researched; its documents are ingested too."""
MEMORY_DATASET = "agent-memory"
"""A second dataset to ingest: memories of an agent, with edges and tiers."""
FLAG = "docscore_aggregation"
"""The change that goes up the ladder."""
RUNS = {"default": "assay", "fts-only": "assay:channels=fts5", FLAG: f"assay:flags.{FLAG}=on"}
"""What is run: the default, a configuration that is worse on purpose, and the change."""
FILLED = "filled.json"
_OWN = frozenset({FILLED, "runs", "labels"})

Report = Callable[[str], None]
"""Prints one line about the progress."""


def demo_settings(settings: Settings, folder: Path = FOLDER) -> Settings:
    """Return settings with a store and runs folder of the demo's own; the user's stay as they are."""
    folder = folder.absolute()
    if folder.exists() and not _is_ours(folder):
        raise InputError(f"{folder} holds files that the demo did not create", remedy="Name an empty or new folder.")
    folder.mkdir(parents=True, exist_ok=True)
    return settings.change(
        db=str(folder / "assay.db"), tenant=DEFAULT_TENANT, runs_folder=folder / "runs", index_folder=None
    )


def _is_ours(folder: Path) -> bool:
    return folder.is_dir() and all(path.name in _OWN or path.name.startswith("assay.db") for path in folder.iterdir())


def is_filled(settings: Settings) -> bool:
    """Whether the folder was filled completely."""
    return (Path(settings.db).parent / FILLED).is_file()


def clear(settings: Settings) -> None:
    """Remove a demo that was filled only in part; the store must not be open."""
    folder = Path(settings.db).parent
    if not is_filled(settings):
        shutil.rmtree(folder)
        folder.mkdir(parents=True)


def fill(engine: Engine, settings: Settings, report: Report) -> None:
    """Ingest, run, research and test, unless that was done before."""
    if is_filled(settings):
        return
    scope = wiring.scope_of(settings)
    loaded = load_dataset(QUESTION_DATASET)
    _take_in(engine, scope, loaded, report)
    _share(settings, loaded)
    _take_in(engine, scope, load_dataset(MEMORY_DATASET), report)
    dataset = for_scoring(loaded).dataset
    runs = _run_all(dataset, settings, report)
    _tell_story(engine, scope)
    _ask(engine, settings, scope, dataset, report)
    _climb(engine, scope, dataset, runs, report)
    done = {"dataset": QUESTION_DATASET, "runs": {name: run.run_id for name, run in runs.items()}}
    (Path(settings.db).parent / FILLED).write_text(json.dumps(done, indent=1) + "\n", encoding="utf-8")


def _take_in(engine: Engine, scope: Scope, dataset: Dataset, report: Report) -> None:
    report(f"Taking in {len(dataset.documents)} documents of {dataset.name} ...")
    take_in(engine, scope, dataset)


def _share(settings: Settings, dataset: Dataset) -> None:
    """Copy the ingested store for the runs, unless they have one: computing vectors takes most of the time."""
    corpus = Path(wiring.corpus_settings(Configuration(), dataset).db)
    if corpus.exists():
        return
    corpus.parent.mkdir(parents=True, exist_ok=True)
    beside = corpus.with_name(f".{corpus.name}.{os.getpid()}")
    with closing(sqlite3.connect(settings.db)) as source, closing(sqlite3.connect(beside)) as copy:
        source.backup(copy)
    beside.replace(corpus)


def _ask(engine: Engine, settings: Settings, scope: Scope, dataset: Dataset, report: Report) -> None:
    answerable = [case.query for case in dataset.cases if case.answerable]
    report(f"Asking the questions of {demo_history.WEEKS} weeks ...")
    answers = demo_history.ask_and_place(engine, settings, scope, answerable)
    with engine.store.writing(scope) as work:
        work.traces.add_many([span for answer in answers for span in _spans_of(answer)])


STORY = (
    ("Night desk", "The night desk is staffed from 22:00 to 06:00 by one person."),
    ("Night desk", "The night desk is staffed from 22:00 to 06:00 by two people since the spring."),
    ("Late arrivals", "Guests who arrive after midnight ring the bell at the side door and wait for the night desk."),
    (
        "Late arrivals",
        "Guests who arrive after midnight ring the bell at the side door and wait for the night desk, five minutes.",
    ),
)
"""Notes saved one after the other: later ones replace or extend earlier ones, so that memories have a history."""


def _tell_story(engine: Engine, scope: Scope) -> None:
    """Save notes that change what is known; the gate of saving decides what becomes of each."""
    for title, body in STORY:
        engine.saver.save(scope, Draft(title=title, body=body, folder="night-desk"))


def _spans_of(answer: TracedAnswer) -> list[TraceSpan]:
    """An answered question as another system would have traced it."""
    session = answer.session
    found = [
        TraceDocument(id=passage.memory_id or f"passage-{passage.number}", text=passage.text, score=passage.score)
        for passage in answer.passages
    ]
    root = TraceSpan(
        trace_id=session.log_id,
        span_id="answer",
        role=SpanRole.CHAIN,
        name="assay ask",
        started_at=session.created_at,
        ended_at=session.created_at + timedelta(milliseconds=session.latency_ms),
        input=session.question,
        output=answer.text,
    )
    search = replace(
        root,
        span_id="search",
        parent_id="answer",
        role=SpanRole.MEMORY_SEARCH,
        name="search_memory",
        ended_at=None,
        output="",
        documents=tuple(found),
    )
    return [root, search]


def _run_all(dataset: Dataset, settings: Settings, report: Report) -> dict[str, RunResult]:
    made = {}
    for name, spec in RUNS.items():
        report(f"Running {name} over {len(dataset.cases)} queries of {dataset.name} ...")
        with closing(wiring.open_system(spec, dataset)) as system:
            made[name] = run(dataset, system, RunOptions(name=name, spec=spec), Running(runs=settings.runs_folder))
    return made


def _climb(engine: Engine, scope: Scope, dataset: Dataset, runs: Mapping[str, RunResult], report: Report) -> None:
    """Test the change: offline evidence, shadow runs of every question, and the votes they produce."""
    report(f"Testing {FLAG} beside what is in force ...")
    ladder = wiring.ladder_of(engine)
    passed = judge(reading_of(runs[FLAG]), None).status is not Status.FAIL
    rng = np.random.default_rng(0)
    with engine.store.reading(scope) as work:
        own = share_held(work, dataset.documents)
    evidence = offline_evidence(runs["default"], runs[FLAG], gate_passed=passed, rng=rng, own_share=own)
    ladder.offline(scope, FLAG, evidence)
    engine.flags.turn(engine.store, scope, FLAG, "off", shadow=True)
    _judge(engine, scope, dataset)
    ladder.trials.begin(scope, FLAG, kind=VoteKind.PAIRED)
    treatment = treatment_of(engine, find_flag(FLAG), on=True)
    options = ShadowOptions(percent=100, capacity=len(dataset.cases) + 1, duty=1.0)
    shadow = Shadow(store=engine.store, features=lambda _: {FLAG: treatment}, clock=engine.clock, options=options)
    try:
        for case in dataset.cases:
            request = SearchRequest(query=case.query, tool_name="demo")
            shadow(scope, request, engine.searcher.search(scope, request))
        shadow.drain()
    finally:
        shadow.close()
    collect_shadow(engine.store, scope, ladder.trials, FLAG)
    ladder.decide(scope, FLAG)


def _judge(engine: Engine, scope: Scope, dataset: Dataset) -> None:
    """Store the dataset's questions and grades as the evaluation corpus, so that shadow runs can be judged."""
    with engine.store.reading(scope) as work:
        memory_of = {memory.source_id: memory.id for memory in work.memories.page(limit=10_000)}
    now = engine.clock.now()
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
    with engine.store.writing(scope) as work:
        work.queries.add_many(queries)
        work.judgments.put_many(grades)
