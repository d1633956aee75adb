"""`assay serve --demo`: a store with something on every page, filled by running the bundled datasets.

The data is real: the datasets are ingested and run, their questions are researched, and two changes go up the ladder
on the results of real searches (`demo_changes`). Replies of models are recorded and replayed (`demo_replies`), and the
pages say so. What is made up is when all of this happened: the clock of the store is set back, so that there are twelve
weeks to look at (`demo_history`). A folder is filled once; the next start reuses it.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple

from assay import wiring
from assay.access import Grant
from assay.clock import Clock, SystemClock
from assay.errors import InputError
from assay.evaluation.datasets import for_scoring, load_dataset
from assay.evaluation.results import RunResult
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running, run
from assay.memory.engine import Engine
from assay.records import DEFAULT_TENANT, Draft, Scope
from assay.records.access import Access
from assay.records.datasets import Dataset
from assay.records.research_log import TracedAnswer
from assay.records.traces import SpanRole, TraceDocument, TraceSpan
from assay.server import demo_changes, demo_history, demo_replies
from assay.server.demo_history import PastClock
from assay.settings import Settings
from assay.systems.assay_engine import take_in
from assay.systems.registry import Configuration
from assay.verbs import Caller
from assay.verbs import runs as run_verbs
from assay.verbs.verb import Surface

FOLDER = Path("build/serve-demo")
"""The default folder of the demo's store and runs."""
QUESTION_DATASET = "hotel"
"""The dataset whose questions are researched; its documents are ingested too."""
MEMORY_DATASET = "agent-memory"
"""A second dataset to ingest: memories of an agent, with edges and tiers."""
SAMPLE = 0.4
"""The share of the memories' questions that the offline runs of a change ask."""


class PlannedRun(NamedTuple):
    """A run of the demo's history."""

    name: str
    dataset: str
    spec: str
    weeks_ago: int
    sample: float | None = None


RUNS = (
    PlannedRun("default", QUESTION_DATASET, "assay", demo_history.WEEKS - 1),
    PlannedRun(demo_changes.CONTROL, MEMORY_DATASET, demo_changes.SPECS[demo_changes.CONTROL], 8, SAMPLE),
    PlannedRun(demo_changes.WINNER, MEMORY_DATASET, demo_changes.SPECS[demo_changes.WINNER], 7, SAMPLE),
    PlannedRun(demo_changes.LOSER, MEMORY_DATASET, demo_changes.SPECS[demo_changes.LOSER], 4, SAMPLE),
    PlannedRun("fts-only", QUESTION_DATASET, "assay:channels=fts5", 4),
)
"""What is run: Assay as it is set up, both changes with what they are compared with, and a search by words alone."""
FILLED = "filled.json"
_OWN = frozenset({FILLED, "runs", "labels", "baselines", "datasets"})

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


def fill(settings: Settings, report: Report, *, clock: Clock | None = None) -> None:
    """Ingest, run, research and test, unless that was done before; the store must not be open."""
    if is_filled(settings):
        return
    past = PastClock(clock or SystemClock())
    today = past.now()
    past.set(today - timedelta(weeks=demo_history.WEEKS, days=1))
    embedder = wiring.open_remembering_embedder(settings)
    with wiring.open_engine(settings, clock=past, embedder=embedder) as engine:
        filling = _Filling(engine, settings, wiring.scope_of(settings), past, today, report)
        questions = load_dataset(QUESTION_DATASET)
        scored = {QUESTION_DATASET: filling.take_in(questions)}
        # Computing vectors takes most of the time, so runs get a copy of the store while it holds nothing else.
        _share(settings, questions)
        memories = load_dataset(MEMORY_DATASET)
        scored[MEMORY_DATASET] = filling.take_in(memories)
        _fill_corpus(memories, partial(wiring.open_engine, embedder=embedder))
        runs = filling.run_all(scored)
        filling.bless(runs["default"])
        filling.change_search(scored[MEMORY_DATASET], runs)
        filling.tell_story()
        filling.ask(scored[QUESTION_DATASET])
    done = {"dataset": QUESTION_DATASET, "runs": {name: run.run_id for name, run in runs.items()}}
    (Path(settings.db).parent / FILLED).write_text(json.dumps(done, indent=1) + "\n", encoding="utf-8")


def _share(settings: Settings, dataset: Dataset) -> None:
    """Copy the store for the runs of the one dataset that it holds, unless they have a store."""
    corpus = Path(wiring.corpus_settings(Configuration(), dataset).db)
    if corpus.exists():
        return
    corpus.parent.mkdir(parents=True, exist_ok=True)
    beside = corpus.with_name(f".{corpus.name}.{os.getpid()}")
    with closing(sqlite3.connect(settings.db)) as source, closing(sqlite3.connect(beside)) as copy:
        source.backup(copy)
    beside.replace(corpus)


def _fill_corpus(dataset: Dataset, open_store: Callable[[Settings], Engine]) -> None:
    """Ingest a dataset into the store of its runs, with the vectors that were computed before."""
    corpus = wiring.corpus_settings(Configuration(), dataset)
    if not Path(corpus.db).exists():
        with open_store(corpus) as engine:
            take_in(engine, wiring.scope_of(corpus), dataset)


class _Filling(NamedTuple):
    """The demo while it is made."""

    engine: Engine
    settings: Settings
    scope: Scope
    clock: PastClock
    today: datetime
    report: Report

    def take_in(self, dataset: Dataset) -> Dataset:
        """Ingest the documents of a dataset; return what can be scored of it."""
        self.report(f"Taking in {len(dataset.documents)} documents of {dataset.name} ...")
        take_in(self.engine, self.scope, dataset)
        return for_scoring(dataset).dataset

    def run_all(self, datasets: Mapping[str, Dataset]) -> dict[str, RunResult]:
        """Make every run of the history, each in its week."""
        made = {}
        for planned in RUNS:
            dataset = datasets[planned.dataset]
            self.report(f"Running {planned.name} over {dataset.name} ...")
            self.clock.set(self.today - timedelta(weeks=planned.weeks_ago))
            options = RunOptions(name=planned.name, spec=planned.spec, sample=planned.sample, tags=(demo_history.TAG,))
            running = Running(runs=self.settings.runs_folder, clock=self.clock)
            with closing(wiring.open_system(planned.spec, dataset)) as system:
                made[planned.name] = run(dataset, system, options, running)
        return made

    def bless(self, chosen: RunResult) -> None:
        """Make a run the baseline of its dataset."""
        self.clock.set(self.today - timedelta(weeks=demo_history.WEEKS - 2))
        grant = Grant(scope=self.scope, access=Access.OPERATOR, person=True)
        caller = Caller(
            opened=self.engine,
            settings=self.settings,
            grant=grant,
            surface=Surface.COMMAND_LINE,
            via="assay serve --demo",
        )
        request = run_verbs.BLESS.make({"run_id": chosen.run_id, "note": "The search as it comes with Assay."})
        run_verbs.BLESS.call(caller, request)

    def change_search(self, dataset: Dataset, runs: Mapping[str, RunResult]) -> None:
        """Take two changes of the search up the ladder."""
        stage = demo_changes.Stage(
            engine=self.engine, scope=self.scope, clock=self.clock, dataset=dataset, today=self.today, runs=runs
        )
        self.clock.set(self.today - timedelta(weeks=demo_history.WEEKS))
        demo_changes.serve_control(self.engine, self.scope)
        self.report(f"Testing {demo_changes.WINNER} in the shadow ...")
        demo_changes.try_winner(stage)
        self.report(f"Testing {demo_changes.LOSER} with simulated users ...")
        demo_changes.try_loser(stage)

    def tell_story(self) -> None:
        """Save notes that change what is known; the gate of saving decides what becomes of each."""
        for place, (title, body) in enumerate(STORY):
            self.clock.set(self.today - timedelta(weeks=2 * (len(STORY) - place)))
            self.engine.saver.save(self.scope, Draft(title=title, body=body, folder="night-desk"))

    def ask(self, dataset: Dataset) -> None:
        """Ask the questions of every week, then those with recorded replies of models."""
        self.report(f"Asking the questions of {demo_history.WEEKS} weeks ...")
        self.clock.set(self.today)
        answerable = [case.query for case in dataset.cases if case.answerable]
        answers = demo_history.ask_and_place(self.engine, self.settings, self.scope, answerable, self.clock)
        self.report("Replaying recorded replies of models ...")
        answers += demo_replies.replay_all(self.engine, self.settings, self.scope)
        with self.engine.store.writing(self.scope) as work:
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
