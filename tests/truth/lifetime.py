"""The life of a store: everything that writes rows happens in it once, in one tenant.

A few rows that only a failure or a model would leave are put in through the repositories: one shadow run, and one
answered question in which everything went wrong.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.analysis.made import session
from tests.storage import samples
from tests.truth.probing import ADA, Stage, call
from tests.verbs import examples as life
from tests.verbs.notes import fill

import assay
from assay.access import Access, Tokens
from assay.evaluation.harvesting import BuildOptions, build
from assay.evaluation.running.runner import keep_row
from assay.flags import find_flag
from assay.memory.engine import Engine
from assay.online.interleaving import collect
from assay.online.judged import RankedOutcome, SideOutcomes
from assay.online.shadow import replay
from assay.online.sides import treatment_of
from assay.records import Draft, SearchRequest
from assay.records.evidence import RunType
from assay.records.flags import Arm
from assay.records.learning import Observation
from assay.records.traces import SpanRole, TraceDocument, TraceSpan
from assay.server.services import Services
from assay.settings import Settings
from assay.wiring import ladder_of

TOKEN = "token.txt"
"""The file beside the store that keeps the secrets of a token and of a sign-in."""


def live(stage: Stage) -> Path:
    """Return the path of a store that has lived."""
    settings = stage.settings()
    with stage.engine(settings) as engine:
        _remember(stage, engine, settings)
        _use(stage, engine, settings)
        _promote(engine, settings)
        _answer(engine, settings)
        _guard(stage, engine, settings)
        engine.store.log.flush()
    return Path(settings.db)


def _remember(stage: Stage, engine: Engine, settings: Settings) -> None:
    """Save, update, merge, contradict, forget and link notes; take in files."""
    files = stage.place.files
    notes = fill(engine, ADA, files)
    files.keep_rows(engine, ADA)
    run = assay.evaluate(files.dataset, lambda query, k: ["d1", "d2"], metrics="mrr@5,ndcg@20")
    assert not keep_row(run, files.dataset, lambda: engine.store.writing(ADA))
    stage.more["life notes"] = notes
    given = {"tags": ["warm"], "triggers": ["cold start"], "folder": "house", "metadata": {"room": "hall"}}
    call(
        engine,
        settings,
        "memory.save",
        title="Stove",
        body="The stove is lit at noon.",
        context_type="decision",
        tier="constitutional",
        rel_path="stove.md",
        source_id="file:stove",
        surroundings="We spoke of winters by the sea.",
        **given,
    )
    body = "The session cookie of the web shop lives for {} hours after the last request."
    for hours in ("twelve", "twelve", "twenty"):
        engine.saver.save(ADA, Draft(title="Session cookie", body=body.format(hours)))
    long = "\n\n".join(f"Paragraph {number} speaks of room {number} and of nothing else." for number in range(90))
    engine.saver.save(ADA, Draft(title="Rooms", body=f"# Rooms\n\n## All\n\n{long}"))
    engine.clock.advance(days=15)  # type: ignore[attr-defined] # a fixed clock
    engine.flags.review(engine.store, ADA, "save_quality_gate")
    engine.saver.save(ADA, Draft(title="Session cookie", body=body.format("twenty")))
    call(engine, settings, "memory.update", memory_id=notes.ids["tea"], title="Green tea")
    _outdate(engine)
    call(
        engine,
        settings,
        "memory.link",
        source_id=notes.ids["router"],
        kind="supports",
        target_id=notes.ids["oven"],
        evidence="it drops pushes",
        strength=0.25,
    )
    engine.flags.turn(engine.store, ADA, "mmr", "25%", shadow=True)
    engine.flags.review(engine.store, ADA, "mmr")
    call(engine, settings, "variant.define", name="by-words", spec="assay:channels=fts5")
    call(engine, settings, "flag.set", name="by-words", percent=0, graduates_itself=True)
    full = samples.full_result("run_full")
    with engine.store.writing(ADA) as work:
        for kind in (RunType.FULL, RunType.REGRESSION):
            work.results.add(replace(full, run_type=kind, is_significant=True))
        tea = work.memories.get(notes.ids["router"])
        work.memories.update(replace(tea, learned_triggers=("cellar light",)))


def _outdate(engine: Engine) -> None:
    """State facts that change: one stays outdated, one is said to hold after all."""
    for thing in ("boiler", "pump"):
        long = f"The pressure limit of the {thing} is 100 bar. The owner of the {thing} is not Ada."
        old = engine.saver.save(ADA, Draft(title=f"The {thing}", body=long))
        engine.saver.save(
            ADA, Draft(title=f"Works on the {thing}", body=f"The pressure limit of the {thing} is 50 bar.")
        )
    engine.saver.restore(ADA, str(old.memory_id))


def _use(stage: Stage, engine: Engine, settings: Settings) -> None:
    """Search in sessions, read, write, vote, work on tasks, learn."""
    found = engine.searcher.search(ADA, SearchRequest(query="polled oven", session_id="s1", tool_name="search"))
    engine.searcher.search(ADA, SearchRequest(query="polled oven", session_id="s1", tool_name="search"))
    engine.searcher.search(
        ADA,
        SearchRequest(
            query="cellar router",
            session_id="s1",
            token_budget=1_000,
            tokens_used=400,
            context_type="decision",
            previous_query="where does the cable go",
        ),
    )
    engine.store.log.flush()
    oven = found.ids[0]
    call(
        engine,
        settings,
        "task.preflight",
        task_id="fix",
        knowledge=0.2,
        uncertainty=0.7,
        context=0.4,
        goal="warm",
        folder="house",
        session_id="s1",
    )
    engine.learning.observe(ADA, Observation(session_id="s1", memory_id=oven))
    call(
        engine,
        settings,
        "memory.validate",
        memory_id=oven,
        was_useful=True,
        session_id="s1",
        query_id=found.query_id,
        note="it helped",
    )
    call(
        engine,
        settings,
        "task.postflight",
        task_id="fix",
        knowledge=0.8,
        uncertainty=0.1,
        context=0.9,
        result="done",
        outcome="done",
        session_id="s1",
    )
    call(
        engine,
        settings,
        "judgment.add",
        judgments=[{"query_id": found.query_id, "memory_id": oven, "relevance": 2, "confidence": 0.5}],
        annotator="ada",
    )
    engine.load(ADA, oven, session_id="s1")
    life.wait_for_approval(engine, ADA, stage.more["life notes"])
    call(engine, settings, "learning.approve")
    for name in ("tea", "router"):
        engine.validate(ADA, stage.more["life notes"].ids[name], False)
    for name in ("router", "oven"):
        call(engine, settings, "learning.roll_back", memory_id=stage.more["life notes"].ids[name])


def _promote(engine: Engine, settings: Settings) -> None:
    """Compare in the shadow, interleave, test, graduate."""
    life.win_test(engine, ADA, None)
    ladder = ladder_of(engine)
    ladder.graduate(ADA, life.FEATURE)
    replay(
        engine.store,
        ADA,
        "trust_ranking",
        treatment_of(engine, find_flag("trust_ranking"), on=True),
        treatment_of(engine, find_flag("trust_ranking"), on=False),
        last=10,
        clock=engine.clock,
    )
    call(engine, settings, "ladder.begin", feature_id="causal_boost", kind="interleaved")
    shown = engine.search(ADA, SearchRequest(query="polled oven", session_id="s3"))
    engine.store.log.flush()
    # One of each side's, so that both sides of the list have credit.
    for memory_id in shown.ids[:2]:
        engine.learning.observe(ADA, Observation(session_id="s3", memory_id=memory_id))
    collect(engine.store, ADA, ladder.trials, "causal_boost", engine.clock)
    build(engine, ADA, BuildOptions(name="mine"))
    outcomes = SideOutcomes(RankedOutcome(0.5, 0.4), RankedOutcome(1.0, 0.9))
    with engine.store.writing(ADA) as work:
        ladder.trials.vote_in(
            work, "causal_boost", "why", 0.5, arm=Arm.BOTH, query_id=shown.query_id, outcomes=outcomes
        )
        full = replace(samples.full_shadow_run("q_full"), feature_id="mmr")
        work.shadow_runs.add_many([replace(full, problem=None), replace(full, problem="raised ValueError: no")])


def _answer(engine: Engine, settings: Settings) -> None:
    """Ask questions, keep prompts, and let sessions of all kinds stand in the log."""
    asked = call(engine, settings, "research.ask", question=life.QUESTION, tags=["tea"], session_id="s1")
    call(engine, settings, "research.retry", log_id=asked["session"]["log_id"])
    call(engine, settings, "prompt.write", prompt_id="planner", sentence="Mind the year.", note="years")
    call(engine, settings, "prompt.write", prompt_id="planner", sentence="Mind the day.", active=False)
    call(engine, settings, "prompt.split", prompt_id="planner", version=1)
    call(engine, settings, "prompt.end_split", prompt_id="planner")
    call(engine, settings, "prompt.split", prompt_id="planner", version=2)
    with engine.store.writing(ADA) as work:
        work.research.put(samples_session(), {"answer": "none"})
    _trace(engine)


TRACED = datetime(2026, 2, 1, 9, 0, tzinfo=UTC)
"""When the traces of a life began."""


def _trace(engine: Engine) -> None:
    """Take in a trace in which every field has a value."""
    found = (TraceDocument(id="pool", text="The pool closes at eight.", score=0.5, stale_after=TRACED),)
    root = TraceSpan(
        trace_id="life",
        span_id="root",
        role=SpanRole.CHAIN,
        name="answer",
        started_at=TRACED,
        ended_at=TRACED + timedelta(seconds=2),
        session_id="s1",
        input="When does the pool close?",
        output="The pool closes at eight.",
    )
    rerank = replace(
        root, span_id="rerank", parent_id="root", role=SpanRole.RERANKER, documents=found, candidates=found * 2
    )
    model = replace(
        root,
        span_id="chat",
        parent_id="root",
        role=SpanRole.MODEL,
        problem="late",
        model="small-1",
        input_tokens=100,
        output_tokens=20,
        cost_usd=0.25,
    )
    with engine.store.writing(ADA) as work:
        work.traces.add_many([root, rerank, model])


def samples_session() -> Any:
    """Return a session in which everything that can happen has happened."""
    made = session(
        7,
        "What is the rule?",
        {"coherence": 0.4, "own": 0.5},
        exhausted=True,
        escalated=True,
        severe=True,
        regenerated=True,
        skipped=True,
        skip_reason="the judge hung",
        judge_failed=True,
        tokens=12,
        failure_type="misaligned",
        failed_dimensions=("coherence",),
        prompt_versions=("planner@1",),
        iterations=3,
        passed=False,
        overall_score=0.3,
        latency_ms=12.5,
        evaluation_ms=2.5,
    )
    return replace(made, log_id="r_full")


def _guard(stage: Stage, engine: Engine, settings: Settings) -> None:
    """Make tokens, sign in, send a write under a key, keep a checkpoint and an archive."""
    services = Services(engine, settings)
    made = Tokens(engine.store, engine.clock).create(ADA, "ci", Access.OPERATOR, days=30, person=True)
    gone = Tokens(engine.store, engine.clock).create(ADA, "gone", Access.READ)
    call(engine, settings, "token.revoke", token_id=gone.kept.token_id)
    begun = services.sign_ins.begin(made.text, "browser 10.0.0.7")
    ended = services.sign_ins.begin(made.text, "browser 10.0.0.8")
    assert begun is not None
    assert ended is not None
    call(engine, settings, "sign_in.end", session_id=ended.kept.session_id)
    (Path(settings.db).parent / TOKEN).write_text(json.dumps([made.text, begun.text]), encoding="utf-8")
    engine.store.checkpoints.create("mine")
    life.search_long_ago(engine, ADA, None)
    call(engine, settings, "retention.run")
    for title in ("Stove", "Rooms"):
        listed = call(engine, settings, "memory.list", limit=200)["memories"]
        voted = next(memory["memory_id"] for memory in listed if memory["title"] == title)
        engine.validate(ADA, voted, title == "Stove")
    from tests.server.serving import reaching  # noqa: PLC0415 - starts an application

    with reaching(services, local=False) as client:
        send_keyed(client, made.text)


def send_keyed(client: Any, token: str) -> Any:
    """Save a note under a key, which makes the same answer come to a second request."""
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": "key-1"}
    return client.post("/api/memory", json={"title": "Keyed", "body": "Saved under a key."}, headers=headers)
