"""`assay serve --demo`: a store with something on every page, filled by really running what comes with Assay.

Nothing is invented: the bundled datasets are taken in and run, their questions are asked, a flag goes up its ladder on
what those searches came to. It is done once for a folder; the next start finds it there.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import numpy as np

from assay import wiring
from assay.errors import InputError
from assay.evaluation.datasets import for_scoring, load_dataset
from assay.evaluation.gating import judge
from assay.evaluation.gating.verdict import Status
from assay.evaluation.readings import reading_of
from assay.evaluation.results import RunResult
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running, run, share_held
from assay.memory.engine import Engine
from assay.online.interleaving import collect_shadow
from assay.online.ladder import offline_evidence
from assay.online.shadow import Shadow, ShadowOptions
from assay.records import DEFAULT_TENANT, Judgment, JudgmentSource, LoggedQuery, Origin, Scope, SearchRequest
from assay.records.datasets import Dataset
from assay.records.flags import VoteKind
from assay.settings import Settings
from assay.systems.assay_engine import take_in
from assay.systems.registry import Configuration
from assay.wiring.research import open_research

FOLDER = Path("build/serve-demo")
"""Where the demo keeps its store and runs when nobody says otherwise."""
ASKED = "hotel"
"""The dataset whose questions are asked."""
REMEMBERED = "agent-memory"
"""The dataset whose documents the memory holds besides those of `ASKED`: an agent's, with edges and tiers."""
FLAG = "docscore_aggregation"
"""The change that goes up the ladder."""
RUNS = {"default": "assay", "fts-only": "assay:channels=fts5", FLAG: f"assay:flags.{FLAG}=on"}
"""What is run: Assay as it is, one that is worse on purpose, and the change."""
QUESTIONS = 24
"""Questions that are researched, spread over the whole dataset."""
OUTSIDE = ("Who won the chess world championship in 1972?", "How do I renew a passport for my cat?")
"""Questions that the memory cannot answer: so they end, too."""
FILLED = "filled.json"
_OWN = frozenset({FILLED, "runs", "labels"})

Tell = Callable[[str], None]


def demo_settings(settings: Settings, folder: Path = FOLDER) -> Settings:
    """The settings with a store and runs of the demo's own; the user's are never touched."""
    folder = folder.absolute()
    if folder.exists() and not _is_ours(folder):
        raise InputError(f"{folder} holds something that no demo made", remedy="Name an empty or new folder.")
    folder.mkdir(parents=True, exist_ok=True)
    return settings.change(
        db=str(folder / "assay.db"), tenant=DEFAULT_TENANT, runs_folder=folder / "runs", index_folder=None
    )


def _is_ours(folder: Path) -> bool:
    return folder.is_dir() and all(path.name in _OWN or path.name.startswith("assay.db") for path in folder.iterdir())


def is_filled(settings: Settings) -> bool:
    """Whether the folder was filled to the end."""
    return (Path(settings.db).parent / FILLED).is_file()


def clear(settings: Settings) -> None:
    """Remove what a demo that was stopped in the middle left; the store must not be open."""
    folder = Path(settings.db).parent
    if not is_filled(settings):
        shutil.rmtree(folder)
        folder.mkdir(parents=True)


def fill(engine: Engine, settings: Settings, tell: Tell) -> None:
    """Take in, run, ask and test, if that was not done before."""
    if is_filled(settings):
        return
    scope = wiring.scope_of(settings)
    asked = load_dataset(ASKED)
    _take_in(engine, scope, asked, tell)
    _share(settings, asked)
    _take_in(engine, scope, load_dataset(REMEMBERED), tell)
    dataset = for_scoring(asked).dataset
    runs = _run_all(dataset, settings, tell)
    _ask(engine, settings, scope, dataset, tell)
    _climb(engine, scope, dataset, runs, tell)
    done = {"dataset": ASKED, "runs": {name: run.run_id for name, run in runs.items()}}
    (Path(settings.db).parent / FILLED).write_text(json.dumps(done, indent=1) + "\n", encoding="utf-8")


def _take_in(engine: Engine, scope: Scope, dataset: Dataset, tell: Tell) -> None:
    tell(f"Taking in {len(dataset.documents)} documents of {dataset.name} ...")
    take_in(engine, scope, dataset)


def _share(settings: Settings, dataset: Dataset) -> None:
    """Give the runs a copy of what was taken in, unless they have it: making vectors is most of the work."""
    corpus = Path(wiring.corpus_settings(Configuration(), dataset).db)
    if corpus.exists():
        return
    corpus.parent.mkdir(parents=True, exist_ok=True)
    beside = corpus.with_name(f".{corpus.name}.{os.getpid()}")
    with closing(sqlite3.connect(settings.db)) as source, closing(sqlite3.connect(beside)) as copy:
        source.backup(copy)
    beside.replace(corpus)


def _ask(engine: Engine, settings: Settings, scope: Scope, dataset: Dataset, tell: Tell) -> None:
    step = max(1, len(dataset.cases) // QUESTIONS)
    # The newest stand first on the pages, and the dataset begins with what a guest would ask.
    questions = [*OUTSIDE, *reversed([case.query for case in dataset.cases[::step][:QUESTIONS]])]
    tell(f"Asking {len(questions)} questions ...")
    pipeline = open_research(settings, engine, scope)
    for question in questions:
        pipeline.ask(scope, question, tags=("demo",))


def _run_all(dataset: Dataset, settings: Settings, tell: Tell) -> dict[str, RunResult]:
    made = {}
    for name, spec in RUNS.items():
        tell(f"Running {name} over {len(dataset.cases)} queries of {dataset.name} ...")
        with closing(wiring.open_system(spec, dataset)) as system:
            made[name] = run(dataset, system, RunOptions(name=name, spec=spec), Running(runs=settings.runs_folder))
    return made


def _climb(engine: Engine, scope: Scope, dataset: Dataset, runs: Mapping[str, RunResult], tell: Tell) -> None:
    """The change: offline evidence, shadow runs of every question, and the votes that they come to."""
    tell(f"Testing {FLAG} beside what is in force ...")
    ladder = wiring.ladder_of(engine)
    passed = judge(reading_of(runs[FLAG]), None).status is not Status.FAIL
    rng = np.random.default_rng(0)
    with engine.store.reading(scope) as work:
        own = share_held(work, [document.id for document in dataset.documents])
    evidence = offline_evidence(runs["default"], runs[FLAG], gate_passed=passed, rng=rng, own_share=own)
    ladder.offline(scope, FLAG, evidence)
    engine.flags.turn(engine.store, scope, FLAG, "off", shadow=True)
    _judge(engine, scope, dataset)
    ladder.trials.begin(scope, FLAG, kind=VoteKind.PAIRED)
    treatment = wiring.treatment_of(engine, FLAG, on=True)
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
    """The dataset's questions and grades as the store's own evaluation corpus, so that shadow runs can be judged."""
    with engine.store.reading(scope) as work:
        memory_of = {memory.source_id: memory.id for memory in work.memories.page(limit=10_000)}
    now = engine.clock.now()
    asked = [
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
        work.queries.add_many(asked)
        work.judgments.put_many(grades)
