"""Requests with which each verb is compared on its surfaces: ordinary ones, and ones that must be refused.

`<tea>` in a value stands for the id of the note of that name.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.analysis.made import asked, scored
from tests.analysis.made import session as made_session
from tests.evaluation.labelling.proposed import propose
from tests.traces import made as traced

from assay.access import Access, Tokens
from assay.analysis.prompts import PromptBook
from assay.evaluation.stored_grades import keep_grades
from assay.flags import Flags
from assay.memory import retention
from assay.online.graduation import Gains
from assay.online.ladder import OfflineEvidence
from assay.records import Judgment, JudgmentSource, LoggedQuery, Scope, SearchRequest, TaskOutcome, TaskReport
from assay.records.flags import Arm, Sides, VoteKind
from assay.records.learning import LearnedTerm, TermState
from assay.records.traces import SpanRole
from assay.settings import Settings
from assay.storage.repositories.learning import Cycle
from assay.store_audit.auditor import audit_items, read_store
from assay.store_audit.planning import make_plan, write_plan
from assay.testing import FixedClock, note
from assay.wiring import ladder_of
from assay.wiring.research import open_research
from assay.wiring.stores import sign_ins_of

Prepare = Callable[[Any, Scope, Any], Mapping[str, str]]


@dataclass(frozen=True, kw_only=True)
class Example:
    """One request."""

    given: Mapping[str, Any]
    argv: tuple[str, ...] | None
    """The same request as a command line; None: the command line cannot say it."""
    prepare: Prepare | None = None
    """What must have happened before; returns further ids by name."""
    programs: bool = True
    """Whether a program may ask for the same and is answered the same."""


@dataclass(frozen=True)
class Examples:
    """The requests of one verb."""

    of: str
    requests: tuple[Example, ...] = field(default_factory=tuple)


def forget_tea(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Forget the note on tea."""
    engine.saver.forget(scope, notes.ids["tea"], automated=True)
    return {}


def keep_rows(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Keep rows of the runs."""
    notes.files.keep_rows(engine, scope)
    return {}


def search_oven(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Search, so that there is something to grade."""
    return {"query": engine.searcher.search(scope, SearchRequest(query="polled oven")).query_id}


def grade_oven(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Search, and have two people grade what was found."""
    found = search_oven(engine, scope, notes)
    grades = [
        Judgment(
            query_id=found["query"],
            memory_id=notes.ids[name],
            relevance=2,
            source=JudgmentSource.MANUAL,
            annotator=annotator,
            created_at=engine.clock.now(),
        )
        for name in ("oven", "router")
        for annotator in ("ada", "ben")
    ]
    keep_grades(engine.store, scope, grades)
    return found


def grade_oven_by_model(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Search, and have a person and a model grade what was found."""
    found = grade_oven(engine, scope, notes)
    grade = Judgment(
        query_id=found["query"],
        memory_id=notes.ids["oven"],
        relevance=1,
        source=JudgmentSource.LLM_JUDGE,
        annotator="a model",
        created_at=engine.clock.now(),
    )
    keep_grades(engine.store, scope, [grade])
    return found


def use_oven(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Search in a session, read the note on the oven, and call it useful."""
    search_in_session(engine, scope, notes)
    engine.load(scope, notes.ids["oven"], session_id="s1")
    engine.validate(scope, notes.ids["router"], True, session_id="s1")
    return {}


def begin_shadow(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Let a flag run in the shadow."""
    engine.flags.turn(engine.store, scope, "docscore_aggregation", "off", shadow=True)
    return {}


def give_triggers(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Give the note on the oven a trigger phrase."""
    saved = engine.saver.update(scope, notes.ids["oven"], {"triggers": ("cold start",)}, automated=True, tool="test")
    return {"hot": str(saved.memory_id)}


def mark_tea(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Say what kind of work the note on tea is for."""
    saved = engine.saver.update(scope, notes.ids["tea"], {"context_type": "brewing"}, automated=True, tool="test")
    return {"tea": str(saved.memory_id)}


def search_in_session(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Let a session search for the oven."""
    engine.searcher.search(scope, SearchRequest(query="polled oven", session_id="s1"))
    engine.store.log.flush()
    return {}


def search_again_in_session(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Let a session search for the oven twice without using anything."""
    search_in_session(engine, scope, notes)
    engine.searcher.search(scope, SearchRequest(query="oven polled", session_id="s1"))
    engine.store.log.flush()
    engine.repeated.settle()
    return {}


SAVE_BODY = "The kettle is descaled with citric acid on the first Monday of a month."
MEMORY = (
    Examples(
        "memory.save",
        (
            Example(given={"title": "Kettle", "body": SAVE_BODY}, argv=("save", "-t", "Kettle", "--text", SAVE_BODY)),
            Example(
                given={
                    "title": "Kettle",
                    "body": SAVE_BODY,
                    "tags": ["a", "b"],
                    "folder": "house/kitchen",
                    "tier": "critical",
                },
                argv=(
                    "save",
                    "-t",
                    "Kettle",
                    "--text",
                    SAVE_BODY,
                    "--tag",
                    "a",
                    "--tag",
                    "b",
                    "--folder",
                    "house/kitchen",
                    "--tier",
                    "critical",
                ),
            ),
            Example(
                given={"title": "Key", "body": "Deploy with AKIA" + "IOSFODNN7EXAMPLE please, on Mondays only."},
                argv=("save", "-t", "Key", "--text", "Deploy with AKIA" + "IOSFODNN7EXAMPLE please, on Mondays only."),
            ),
            Example(given={"title": "x" * 1_001, "body": "b"}, argv=("save", "-t", "x" * 1_001, "--text", "b")),
            Example(given={"title": "Empty", "body": ""}, argv=("save", "-t", "Empty", "--text", "")),
        ),
    ),
    Examples(
        "memory.update",
        (
            Example(given={"memory_id": "<tea>", "title": "Green tea"}, argv=("update", "<tea>", "-t", "Green tea")),
            Example(
                given={"memory_id": "<tea>", "tags": ["drinks"], "folder": "kitchen"},
                argv=("update", "<tea>", "--tag", "drinks", "--folder", "kitchen"),
            ),
            Example(given={"memory_id": "m_none", "title": "x"}, argv=("update", "m_none", "-t", "x")),
        ),
    ),
    Examples(
        "memory.tier",
        (
            Example(given={"memory_id": "<tea>", "tier": "deprecated"}, argv=("tier", "<tea>", "deprecated")),
            Example(
                given={"memory_id": "<tea>", "tier": "critical", "reason": "it burnt once"},
                argv=("tier", "<tea>", "critical", "--reason", "it burnt once"),
            ),
            Example(given={"memory_id": "<tea>", "tier": "normal"}, argv=("tier", "<tea>", "normal")),
            Example(
                given={"memory_id": "<tea>", "tier": "important"},
                argv=("tier", "<tea>", "important"),
                prepare=forget_tea,
            ),
            Example(given={"memory_id": "m_none", "tier": "normal"}, argv=("tier", "m_none", "normal")),
        ),
    ),
    Examples(
        "memory.forget",
        (
            Example(given={"memory_id": "<tea>"}, argv=None),
            Example(given={"memory_id": "<tea>"}, argv=None, prepare=forget_tea),
            Example(given={"memory_id": "m_none"}, argv=("forget", "--reversible", "m_none")),
        ),
    ),
    Examples(
        "memory.restore",
        (
            Example(given={"memory_id": "<tea>"}, argv=("restore", "<tea>"), prepare=forget_tea),
            Example(given={"memory_id": "<oven>"}, argv=("restore", "<oven>")),
            Example(given={"memory_id": "m_none"}, argv=("restore", "m_none")),
        ),
    ),
    Examples(
        "memory.link",
        (
            Example(
                given={
                    "source_id": "<tea>",
                    "kind": "enabled",
                    "target_id": "<oven>",
                    "strength": 0.25,
                    "evidence": "hot",
                },
                argv=("link", "<tea>", "enabled", "<oven>", "--strength", "0.25", "--evidence", "hot"),
            ),
            Example(
                given={"source_id": "<tea>", "kind": "caused", "target_id": "<tea>"},
                argv=("link", "<tea>", "caused", "<tea>"),
            ),
            Example(
                given={"source_id": "m_none", "kind": "caused", "target_id": "<tea>"},
                argv=("link", "m_none", "caused", "<tea>"),
            ),
        ),
    ),
    Examples(
        "memory.why",
        (
            Example(given={"memory_id": "<oven>"}, argv=("why", "<oven>")),
            Example(given={"memory_id": "<tea>"}, argv=("why", "<tea>")),
            Example(given={"memory_id": "m_none"}, argv=("why", "m_none")),
        ),
    ),
)
DATASETS = (
    Examples("dataset.list", (Example(given={}, argv=("dataset", "list")),)),
    Examples(
        "dataset.show",
        (
            Example(given={"name": "tiny"}, argv=("dataset", "show", "tiny")),
            Example(given={"name": "hotel"}, argv=("dataset", "show", "hotel")),
            Example(given={"name": "tiny@1.0.0"}, argv=("dataset", "show", "tiny@1.0.0")),
            Example(given={"name": "no-such"}, argv=("dataset", "show", "no-such")),
        ),
    ),
    Examples(
        "dataset.proposals",
        (
            Example(given={"name": "<asked>"}, argv=("dataset", "review", "<asked>"), prepare=propose),
            Example(given={"name": "tiny"}, argv=("dataset", "review", "tiny")),
            Example(given={"name": "no-such"}, argv=("dataset", "review", "no-such")),
        ),
    ),
    Examples(
        "dataset.review",
        (
            Example(
                given={"name": "<asked>", "case_id": "g1", "decision": "keep", "wording": "How long?"},
                argv=("dataset", "review", "<asked>", "g1", "--decide", "keep", "--wording", "How long?"),
                prepare=propose,
            ),
            Example(
                given={"name": "<asked>", "case_id": "g2", "decision": "drop"},
                argv=("dataset", "review", "<asked>", "g2", "--decide", "drop"),
                prepare=propose,
            ),
            Example(
                given={"name": "<asked>", "case_id": "g1", "decision": "undo"},
                argv=("dataset", "review", "<asked>", "g1", "--decide", "undo"),
                prepare=propose,
            ),
            Example(
                given={"name": "tiny", "case_id": "none", "decision": "keep"},
                argv=("dataset", "review", "tiny", "none", "--decide", "keep"),
            ),
        ),
    ),
)
GRADED = {"query_id": "<query>", "memory_id": "<oven>", "relevance": 3}
JUDGMENTS = (
    Examples(
        "judgment.add",
        (
            # A program's grades over MCP are a model's, whatever it says: see tests/online/test_each_surface.py.
            Example(
                given={"judgments": [GRADED], "annotator": "ben"},
                argv=("judgments", "add", "<query>", "<oven>", "3", "--annotator", "ben"),
                prepare=search_oven,
                programs=False,
            ),
            Example(
                given={"judgments": [{**GRADED, "confidence": 0.5}], "annotator": "ada", "by_model": True},
                argv=(
                    *("judgments", "add", "<query>", "<oven>", "3"),
                    *("--confidence", "0.5"),
                    *("--annotator", "ada"),
                    "--by-model",
                ),
                prepare=search_oven,
                programs=False,
            ),
            Example(
                given={"judgments": [GRADED, {**GRADED, "memory_id": "<tea>", "relevance": 0}], "annotator": "ada"},
                argv=None,
                prepare=search_oven,
                programs=False,
            ),
            Example(
                given={"judgments": [GRADED | {"relevance": 4}]},
                argv=None,
                prepare=search_oven,
            ),
            Example(
                given={"judgments": [GRADED | {"memory_id": "m_none"}]},
                argv=("judgments", "add", "<query>", "m_none", "3"),
                prepare=search_oven,
            ),
            Example(given={"judgments": []}, argv=None),
        ),
    ),
    Examples(
        "judgment.list",
        (
            Example(given={}, argv=("judgments", "list")),
            Example(
                given={"limit": 1, "source": "manual"},
                argv=("judgments", "list", "--limit", "1", "--source", "manual"),
                prepare=grade_oven,
            ),
            Example(
                given={"query_id": "<query>"}, argv=("judgments", "list", "--query", "<query>"), prepare=grade_oven
            ),
            Example(given={"cursor": "nowhere"}, argv=("judgments", "list", "--cursor", "nowhere")),
            Example(given={"limit": 0}, argv=None),
        ),
    ),
    Examples(
        "judgment.collect",
        (
            Example(given={}, argv=("judgments", "collect")),
            Example(given={}, argv=("judgments", "collect"), prepare=use_oven),
        ),
    ),
    Examples(
        "judgment.grade",
        (
            Example(given={}, argv=("judgments", "grade")),
            # No model is set up: what a model says is tested with a scripted one.
            Example(given={"most": 3}, argv=("judgments", "grade", "--most", "3"), prepare=grade_oven),
            Example(given={"most": 0}, argv=None),
        ),
    ),
    Examples(
        "judgment.status",
        (
            Example(given={}, argv=("judgments", "status")),
            Example(given={}, argv=("judgments", "status"), prepare=grade_oven_by_model),
        ),
    ),
)


def define_variant(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Define a variant, and search in a session."""
    engine.flags.define(engine.store, scope, "by-words", "assay:channels=fts5")
    return search_in_session(engine, scope, notes)


BY_WORDS: dict[str, Any] = {"name": "by-words"}
VARIANTS = (
    Examples(
        "variant.list",
        (
            Example(given={}, argv=("variant", "list")),
            Example(given={}, argv=("variant", "list"), prepare=define_variant),
        ),
    ),
    Examples(
        "variant.define",
        (
            Example(
                given={**BY_WORDS, "spec": "assay:channels=fts5,flags.mmr=off"},
                argv=("variant", "add", "by-words", "assay:channels=fts5,flags.mmr=off"),
            ),
            Example(
                given={**BY_WORDS, "spec": "assay:search.fusion=rrf"},
                argv=("variant", "add", "by-words", "assay:search.fusion=rrf"),
                prepare=define_variant,
            ),
            Example(
                given={"name": "mmr", "spec": "assay:search.fusion=rrf"},
                argv=("variant", "add", "mmr", "assay:search.fusion=rrf"),
            ),
            Example(
                given={**BY_WORDS, "spec": "assay:embedder.kind=static"},
                argv=("variant", "add", "by-words", "assay:embedder.kind=static"),
            ),
            Example(given={**BY_WORDS, "spec": "assay"}, argv=("variant", "add", "by-words", "assay")),
            Example(given={**BY_WORDS, "spec": "assay:a.toml"}, argv=("variant", "add", "by-words", "assay:a.toml")),
        ),
    ),
    Examples(
        "variant.remove",
        (
            Example(given=BY_WORDS, argv=("variant", "remove", "by-words"), prepare=define_variant),
            Example(given=BY_WORDS, argv=("variant", "remove", "by-words")),
        ),
    ),
    Examples(
        "shadow.status",
        (
            Example(given={}, argv=("shadow", "status")),
            Example(given={}, argv=("shadow", "status"), prepare=begin_shadow),
        ),
    ),
    Examples(
        "shadow.replay",
        (
            Example(
                given={"feature_id": "by-words", "last": 5},
                argv=("shadow", "replay", "by-words", "--last", "5"),
                prepare=define_variant,
            ),
            Example(given={"feature_id": "mmr"}, argv=("shadow", "replay", "mmr")),
            Example(given={"feature_id": "none"}, argv=("shadow", "replay", "none")),
        ),
    ),
)
RUNS = (
    Examples(
        "run.start",
        (
            Example(given={"dataset": "tiny"}, argv=("run", "tiny")),
            Example(
                given={
                    "dataset": "tiny",
                    "mode": "quick",
                    "metrics": ["ndcg@5", "recall@5"],
                    "k": 7,
                    "max_cases": 2,
                    "name": "quick two",
                },
                argv=(
                    *("run", "tiny"),
                    *("--system", "assay:mode=quick"),
                    *("--metrics", "ndcg@5,recall@5"),
                    *("-k", "7"),
                    *("--max-cases", "2"),
                    *("--name", "quick two"),
                ),
            ),
            Example(given={"dataset": "no-such"}, argv=("run", "no-such")),
            Example(given={"dataset": "tiny", "metrics": ["ndgc@5"]}, argv=("run", "tiny", "--metrics", "ndgc@5")),
            Example(given={"dataset": "tiny", "k": 2}, argv=("run", "tiny", "-k", "2")),
            Example(given={"dataset": "tiny", "k": 0}, argv=("run", "tiny", "-k", "0")),
            Example(given={"dataset": "tiny", "max_cases": 0}, argv=("run", "tiny", "--max-cases", "0")),
        ),
    ),
    Examples(
        "run.list",
        (
            Example(given={}, argv=None, prepare=keep_rows),
            Example(given={"limit": 2}, argv=None, prepare=keep_rows),
            Example(given={"run_type": "full"}, argv=None, prepare=keep_rows),
            Example(given={"run_type": "regression"}, argv=None, prepare=keep_rows),
            Example(given={"run_type": "shadow"}, argv=None),
            Example(given={"cursor": "nowhere"}, argv=None),
            Example(given={"limit": 201}, argv=None),
        ),
    ),
    Examples(
        "run.show",
        (
            Example(given={"run_id": "<auto>"}, argv=None, prepare=keep_rows),
            Example(given={"run_id": "<auto>", "run_type": "regression"}, argv=None, prepare=keep_rows),
            Example(given={"run_id": "<auto>"}, argv=None),
            Example(given={"run_id": "run_none"}, argv=None),
        ),
    ),
    Examples(
        "run.why",
        (
            Example(given={"run_id": "<poor>", "query": "c0"}, argv=None),
            Example(given={"run_id": "poor one", "k": 1}, argv=None),
            Example(given={"run_id": "<poor>", "query": "zzz"}, argv=None),
            Example(given={"run_id": "run_none"}, argv=None),
            Example(given={"run_id": "<poor>", "k": 0}, argv=None),
        ),
    ),
    Examples(
        "run.compare",
        (
            Example(
                given={"control": "<auto>", "treatment": "<poor>"},
                argv=("compare", "<auto>", "<poor>"),
            ),
            Example(
                given={"control": "auto", "treatment": "poor one", "seed": 7},
                argv=("compare", "auto", "poor one", "--seed", "7"),
            ),
            Example(
                given={"control": "<auto>", "treatment": "<deep>"},
                argv=("compare", "<auto>", "<deep>"),
            ),
            Example(
                given={"control": "run_none", "treatment": "<poor>"},
                argv=("compare", "run_none", "<poor>"),
            ),
        ),
    ),
    Examples(
        "run.bless",
        (
            Example(given={"run_id": "<auto>", "note": "the first", "despite": "the set is tiny"}, argv=None),
            Example(given={"run_id": "run_none", "note": "the first"}, argv=None),
            Example(given={"run_id": "<auto>", "note": ""}, argv=None),
        ),
    ),
)


def keep_sessions(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Keep answered questions, of which those for the newest scored low."""
    with engine.store.writing(scope) as work:
        for session in scored(96, seed=1, lowered=lambda number: number % 4 == 0):
            score = session.scores["intent_alignment"]
            work.research.put(
                replace(session, overall_score=score, passed=score >= 0.7, prompt_versions=("planner@0",)), {}
            )
    return {}


ANALYSIS = (
    Examples(
        "analysis.aggregate",
        (
            Example(given={}, argv=None, prepare=keep_sessions),
            Example(
                given={"since": "2026-03-03", "most_score": 0.9, "passed": True, "prompt_version": "planner@0"},
                argv=None,
                prepare=keep_sessions,
            ),
            Example(given={}, argv=None),
            Example(given={"least_score": 2}, argv=None),
        ),
    ),
    Examples(
        "analysis.patterns",
        (
            Example(given={}, argv=None, prepare=keep_sessions),
            Example(given={"until": "2026-03-05", "least_iterations": 1}, argv=None, prepare=keep_sessions),
            Example(given={}, argv=None),
            Example(given={"status": "lost"}, argv=None),
        ),
    ),
    Examples(
        "analysis.run",
        (
            Example(given={}, argv=("analyze",), prepare=keep_sessions),
            Example(
                given={
                    "since": "2026-03-02",
                    "until": "2026-03-09",
                    "escalated": False,
                    "most_iterations": 3,
                    "prompt_version": "planner@0",
                    "fdr": 0.1,
                    "least_support": 5,
                    "least_drop": 0.1,
                },
                argv=(
                    "analyze",
                    *("--since", "2026-03-02"),
                    *("--until", "2026-03-09"),
                    "--not-escalated",
                    *("--most-iterations", "3"),
                    *("--prompt", "planner@0"),
                    *("--fdr", "0.1"),
                    *("--support", "5"),
                    *("--drop", "0.1"),
                ),
                prepare=keep_sessions,
            ),
            Example(given={"model": True}, argv=("analyze", "--model"), prepare=keep_sessions),
            Example(given={"fdr": 1.0}, argv=("analyze", "--fdr", "1")),
            Example(given={"least_score": 2.0}, argv=("analyze", "--least-score", "2")),
            Example(
                given={"since": "2026-03-04", "until": "2026-03-03"},
                argv=("analyze", "--since", "2026-03-04", "--until", "2026-03-03"),
            ),
            Example(given={}, argv=("analyze",)),
        ),
    ),
)
PLANNER = 'system = "You plan."\ntask = "Plan."\n'


def write_prompt(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Keep a second version of the planner's prompt without using it."""
    PromptBook(engine.store).write(scope, "planner", PLANNER, note="shorter", active=False)
    return {}


def use_two_prompts(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Ask the same questions under two versions of the planner's prompt, of which the second is in use."""
    PromptBook(engine.store).write(scope, "planner", PLANNER)
    with engine.store.writing(scope) as work:
        for number in range(24):
            side = number % 2
            work.research.put(
                made_session(
                    number,
                    asked(number // 2),
                    overall_score=0.5 + 0.3 * side + number / 200,
                    prompt_versions=(f"planner@{side}",),
                ),
                {},
            )
    return {}


def split_prompt(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Ask half of the questions with a second version of the planner's prompt."""
    write_prompt(engine, scope, notes)
    PromptBook(engine.store).split(scope, "planner", 1)
    return {}


PROMPTS = (
    Examples("prompt.list", (Example(given={}, argv=("prompts", "list"), prepare=write_prompt),)),
    Examples(
        "prompt.versions",
        (
            Example(
                given={"prompt_id": "planner"}, argv=("prompts", "show", "planner", "--versions"), prepare=write_prompt
            ),
            Example(given={"prompt_id": "none"}, argv=("prompts", "show", "none", "--versions")),
        ),
    ),
    Examples(
        "prompt.show",
        (
            Example(given={"prompt_id": "planner"}, argv=("prompts", "show", "planner")),
            Example(
                given={"prompt_id": "planner", "version": 1},
                argv=("prompts", "show", "planner", "--version", "1"),
                prepare=write_prompt,
            ),
            Example(
                given={"prompt_id": "planner", "version": 7}, argv=("prompts", "show", "planner", "--version", "7")
            ),
            Example(
                given={"prompt_id": "planner", "version": -1}, argv=("prompts", "show", "planner", "--version", "-1")
            ),
        ),
    ),
    Examples(
        "prompt.write",
        (
            Example(
                given={"prompt_id": "planner", "sentence": "Mind the year."},
                argv=("prompts", "set", "planner", "--add", "Mind the year."),
            ),
            Example(
                given={"prompt_id": "planner", "sentence": "Mind the year.", "note": "years", "active": False},
                argv=("prompts", "set", "planner", "--add", "Mind the year.", "--note", "years", "--draft"),
            ),
            Example(given={"prompt_id": "planner", "text": PLANNER, "note": "shorter"}, argv=None),
            Example(given={"prompt_id": "planner", "text": "no toml"}, argv=None),
            Example(given={"prompt_id": "planner", "text": PLANNER, "sentence": "Both."}, argv=None),
            Example(
                given={"prompt_id": "planner", "sentence": "x", "note": "x" * 1_001},
                argv=("prompts", "set", "planner", "--add", "x", "--note", "x" * 1_001),
            ),
            Example(given={"prompt_id": "none", "sentence": "x"}, argv=("prompts", "set", "none", "--add", "x")),
        ),
    ),
    Examples(
        "prompt.use",
        (
            Example(
                given={"prompt_id": "planner", "version": 1},
                argv=("prompts", "use", "planner", "1"),
                prepare=write_prompt,
            ),
            Example(given={"prompt_id": "planner", "version": 3}, argv=("prompts", "use", "planner", "3")),
        ),
    ),
    Examples(
        "prompt.roll_back",
        (
            Example(given={"prompt_id": "planner"}, argv=("prompts", "rollback", "planner"), prepare=use_two_prompts),
            Example(given={"prompt_id": "planner"}, argv=("prompts", "rollback", "planner")),
        ),
    ),
    Examples(
        "prompt.split",
        (
            Example(
                given={"prompt_id": "planner", "version": 1},
                argv=("prompts", "split", "planner", "1"),
                prepare=write_prompt,
            ),
            Example(given={"prompt_id": "planner", "version": 0}, argv=("prompts", "split", "planner", "0")),
            Example(given={"prompt_id": "planner", "version": 3}, argv=("prompts", "split", "planner", "3")),
        ),
    ),
    Examples(
        "prompt.show_split",
        (
            Example(given={"prompt_id": "planner"}, argv=("prompts", "split", "planner"), prepare=split_prompt),
            Example(given={"prompt_id": "planner"}, argv=("prompts", "split", "planner")),
        ),
    ),
    Examples(
        "prompt.end_split",
        (
            Example(
                given={"prompt_id": "planner"}, argv=("prompts", "split", "planner", "--end"), prepare=split_prompt
            ),
            Example(given={"prompt_id": "planner"}, argv=("prompts", "split", "planner", "--end")),
        ),
    ),
    Examples(
        "prompt.diff",
        (
            Example(
                given={"prompt_id": "planner", "first": 1},
                argv=("prompts", "diff", "planner", "1"),
                prepare=write_prompt,
            ),
            Example(
                given={"prompt_id": "planner", "first": 0, "second": 1},
                argv=("prompts", "diff", "planner", "0", "1"),
                prepare=write_prompt,
            ),
            Example(given={"prompt_id": "planner", "first": 3}, argv=("prompts", "diff", "planner", "3")),
        ),
    ),
    Examples(
        "prompt.compare",
        (
            Example(
                given={"prompt_id": "planner", "first": 0},
                argv=("prompts", "compare", "planner", "0"),
                prepare=use_two_prompts,
            ),
            Example(
                given={"prompt_id": "planner", "first": 1, "second": 0},
                argv=("prompts", "compare", "planner", "1", "0"),
                prepare=use_two_prompts,
            ),
            Example(given={"prompt_id": "planner", "first": 0}, argv=("prompts", "compare", "planner", "0")),
            Example(
                given={"prompt_id": "planner", "first": 0, "second": 1},
                argv=("prompts", "compare", "planner", "0", "1"),
                prepare=write_prompt,
            ),
        ),
    ),
)
GATING = (
    Examples(
        "run.gate",
        (
            Example(given={"run": "<auto>"}, argv=("gate", "<auto>", "--no-baseline")),
            Example(
                given={
                    "run": "poor one",
                    "baseline": "<auto>",
                    "strict": True,
                    "metric": "ndcg@10",
                    "allow_lost": 1,
                    "seed": 7,
                },
                argv=(
                    *("gate", "poor one"),
                    *("--baseline", "<auto>"),
                    "--strict",
                    *("--metric", "ndcg@10"),
                    *("--allow-lost", "1"),
                    *("--seed", "7"),
                ),
            ),
            Example(given={"run": "<auto>", "baseline": "<deep>"}, argv=("gate", "<auto>", "--baseline", "<deep>")),
            Example(
                given={"run": "<auto>", "metric": "recall@77"},
                argv=("gate", "<auto>", "--no-baseline", "--metric", "recall@77"),
            ),
            Example(given={"run": "run_none"}, argv=("gate", "run_none", "--no-baseline")),
        ),
    ),
)
FEATURE = "docscore_aggregation"
OFFLINE = OfflineEvidence(
    dataset="house",
    control_run="run_a",
    treatment_run="run_b",
    gains=Gains(queries=200, mean=0.05, low=0.02),
    constitutional=Sides(control=1.0, treatment=1.0, n=50),
    latency_p95_ms=Sides(control=10.0, treatment=10.0, n=50),
    own_share=1.0,
)


def begin_test(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Write down an offline gain, begin a paired test, and cast a few votes."""
    ladder = ladder_of(engine)
    ladder.offline(scope, FEATURE, OFFLINE)
    ladder.trials.begin(scope, FEATURE, kind=VoteKind.PAIRED)
    for place, difference in enumerate((0.3, -0.1, 0.2)):
        ladder.trials.vote(scope, FEATURE, f"query {place}", difference, arm=Arm.BOTH)
    return {}


def begin_split(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Begin a split test whose sides got votes."""
    engine.flags.turn(engine.store, scope, FEATURE, "50%")
    trials = ladder_of(engine).trials
    trials.begin(scope, FEATURE, kind=VoteKind.SPLIT)
    for place in range(12):
        arm, outcome = (Arm.TREATMENT, 0.6) if place % 2 else (Arm.CONTROL, -0.4)
        trials.vote(scope, FEATURE, f"query {place}", outcome, arm=arm)
    return {}


def pause_test(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Begin a test and pause it."""
    begin_test(engine, scope, notes)
    ladder_of(engine).trials.pause(scope, FEATURE, "for lunch")
    return {}


def win_test(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Let a change earn its place."""
    begin_test(engine, scope, notes)
    trials = ladder_of(engine).trials
    with engine.store.writing(scope) as work:
        for place in range(3, 90):
            trials.vote_in(work, FEATURE, f"query {place}", 0.3, arm=Arm.BOTH)
    return {}


def graduate_change(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Give a change to everybody."""
    win_test(engine, scope, notes)
    ladder_of(engine).graduate(scope, FEATURE)
    return {}


OF_FEATURE: dict[str, Any] = {"feature_id": FEATURE}
LADDER = (
    Examples(
        "ladder.list",
        (
            Example(given={}, argv=("ladder", "list"), prepare=begin_test),
            Example(given={}, argv=("ladder", "list")),
        ),
    ),
    Examples(
        "ladder.show",
        (
            Example(given=OF_FEATURE, argv=("ladder", "show", FEATURE), prepare=begin_test),
            Example(given=OF_FEATURE, argv=("ladder", "show", FEATURE), prepare=begin_split),
            Example(given=OF_FEATURE, argv=("ladder", "show", FEATURE)),
            Example(given={"feature_id": "none"}, argv=("ladder", "show", "none")),
        ),
    ),
    Examples(
        "ladder.begin",
        (
            Example(given=OF_FEATURE, argv=("ladder", "begin", FEATURE)),
            Example(
                given={**OF_FEATURE, "kind": "interleaved"}, argv=("ladder", "begin", FEATURE, "--kind", "interleaved")
            ),
            Example(given={**OF_FEATURE, "kind": "split"}, argv=("ladder", "begin", FEATURE, "--kind", "split")),
            Example(given={**OF_FEATURE, "kind": "sideways"}, argv=("ladder", "begin", FEATURE, "--kind", "sideways")),
            Example(given=OF_FEATURE, argv=("ladder", "begin", FEATURE), prepare=begin_test),
        ),
    ),
    Examples(
        "ladder.pause",
        (
            Example(given=OF_FEATURE, argv=("ladder", "pause", FEATURE), prepare=begin_test),
            Example(
                given={**OF_FEATURE, "why": "for lunch"},
                argv=("ladder", "pause", FEATURE, "--why", "for lunch"),
                prepare=begin_test,
            ),
            Example(given={**OF_FEATURE, "why": ""}, argv=("ladder", "pause", FEATURE, "--why", "")),
            Example(given=OF_FEATURE, argv=("ladder", "pause", FEATURE)),
        ),
    ),
    Examples(
        "ladder.resume",
        (
            Example(given=OF_FEATURE, argv=("ladder", "resume", FEATURE), prepare=pause_test),
            Example(given=OF_FEATURE, argv=("ladder", "resume", FEATURE), prepare=begin_test),
        ),
    ),
    Examples(
        "ladder.collect",
        (
            Example(given=OF_FEATURE, argv=("ladder", "collect", FEATURE), prepare=begin_test),
            Example(given=OF_FEATURE, argv=("ladder", "collect", FEATURE), prepare=win_test),
            Example(given=OF_FEATURE, argv=("ladder", "collect", FEATURE)),
        ),
    ),
    Examples(
        "ladder.graduate",
        (
            Example(given=OF_FEATURE, argv=("ladder", "graduate", FEATURE), prepare=win_test),
            Example(given=OF_FEATURE, argv=("ladder", "graduate", FEATURE)),
        ),
    ),
    Examples(
        "ladder.roll_back",
        (
            Example(given=OF_FEATURE, argv=("ladder", "rollback", FEATURE), prepare=graduate_change),
            Example(
                given={**OF_FEATURE, "why": "too slow"},
                argv=("ladder", "rollback", FEATURE, "--why", "too slow"),
                prepare=graduate_change,
            ),
            Example(given=OF_FEATURE, argv=("ladder", "rollback", FEATURE)),
        ),
    ),
    Examples(
        "ladder.watch",
        (
            Example(given={}, argv=("ladder", "watch"), prepare=graduate_change),
            Example(given={}, argv=("ladder", "watch")),
        ),
    ),
)


def learn_from_votes(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Switch learning on, and let two memories be validated."""
    engine.flags.turn(engine.store, scope, "learn_from_selection", "on")
    for name, useful in (("oven", True), ("tea", False)):
        engine.validate(scope, notes.ids[name], useful)
    # The engine learns in the background: have it done before anybody asks.
    engine.learning.catch_up(scope)
    return {}


def wait_for_approval(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Let everything but the approval be there: 40 days in the shadow, two cycles, and a term that was of use."""
    now = engine.clock.now()
    begun = now - timedelta(days=40)
    Flags(clock=FixedClock(begun)).turn(engine.store, scope, "learn_from_selection", "on")
    with engine.store.writing(scope) as work:
        for number in (1, 2):
            work.learned_terms.add_cycle(Cycle(number, begun, now - timedelta(days=1), 100))
        before = now - timedelta(days=8)
        term = LearnedTerm(memory_id=notes.ids["oven"], term="polled", state=TermState.SHADOW, learned_at=before)
        work.learned_terms.put(term)
    for number in range(10):
        # In sessions of their own: a session is not given the same memory twice.
        engine.searcher.search(scope, SearchRequest(query="polled oven", session_id=f"w{number}"))
    search_in_session(engine, scope, notes)
    engine.load(scope, notes.ids["oven"], session_id="s1")
    engine.learning.catch_up(scope)
    return {}


LEARNING = (
    Examples(
        "learning.status",
        (
            Example(given={}, argv=("learn", "status"), prepare=learn_from_votes),
            Example(given={}, argv=("learn", "status")),
        ),
    ),
    Examples("learning.run", (Example(given={}, argv=("learn", "run"), prepare=learn_from_votes),)),
    Examples(
        "learning.terms",
        (
            Example(given={}, argv=("learn", "terms"), prepare=learn_from_votes),
            Example(given={"memory_id": "<oven>"}, argv=("learn", "terms", "--memory", "<oven>")),
            Example(given={"memory_id": "no id"}, argv=("learn", "terms", "--memory", "no id")),
        ),
    ),
    Examples(
        "learning.changes",
        (
            Example(given={}, argv=("learn", "changes"), prepare=learn_from_votes),
            Example(
                given={"memory_id": "<oven>", "since": "2020-01-31", "limit": 1},
                argv=("learn", "changes", "--memory", "<oven>", "--since", "2020-01-31", "--limit", "1"),
                prepare=learn_from_votes,
            ),
            Example(given={"limit": 1}, argv=("learn", "changes", "--limit", "1"), prepare=learn_from_votes),
            Example(given={"limit": 0}, argv=("learn", "changes", "--limit", "0")),
            Example(given={"cursor": "made-up"}, argv=("learn", "changes", "--cursor", "made-up")),
        ),
    ),
    Examples(
        "learning.approve",
        (
            Example(given={}, argv=("learn", "approve"), prepare=wait_for_approval),
            Example(given={}, argv=("learn", "approve"), prepare=learn_from_votes),
            Example(given={}, argv=("learn", "approve")),
        ),
    ),
    Examples(
        "learning.roll_back",
        (
            Example(
                given={"memory_id": "<oven>"},
                argv=("learn", "rollback", "--memory", "<oven>"),
                prepare=learn_from_votes,
            ),
            Example(
                given={"memory_id": "<tea>", "since": "2020-01-31", "writer": "token:parity"},
                argv=("learn", "rollback", "--memory", "<tea>", "--since", "2020-01-31", "--writer", "token:parity"),
                prepare=learn_from_votes,
            ),
            Example(given={"since": "soon"}, argv=("learn", "rollback", "--since", "soon")),
            Example(given={"memory_id": "m_none"}, argv=("learn", "rollback", "--memory", "m_none")),
            Example(given={}, argv=("learn", "rollback")),
        ),
    ),
)
HEALTH = (Examples("memory.health", (Example(given={}, argv=("health",)),)),)
READING = (
    Examples(
        "memory.show",
        (
            Example(given={"memory_id": "<oven>"}, argv=("show", "<oven>")),
            Example(given={"memory_id": "<tea>", "session_id": "s1", "offset": 6, "limit": 3}, argv=None),
            Example(given={"memory_id": "<tea>"}, argv=("show", "<tea>"), prepare=forget_tea, programs=False),
            Example(given={"memory_id": "<tea>", "session_id": "s1"}, argv=None, prepare=forget_tea),
            Example(given={"memory_id": "m_none"}, argv=("show", "m_none")),
        ),
    ),
    Examples(
        "memory.list",
        (
            Example(given={}, argv=("list",)),
            Example(
                given={"tags": ["house"], "tier": "normal", "status": "current", "since": "2020-01-31", "limit": 2},
                argv=(
                    "list",
                    *("--tag", "house"),
                    *("--tier", "normal"),
                    *("--status", "current"),
                    *("--since", "2020-01-31"),
                    *("--limit", "2"),
                ),
            ),
            Example(given={"limit": 201}, argv=("list", "--limit", "201")),
            Example(given={"since": "soon"}, argv=("list", "--since", "soon")),
            Example(given={"cursor": "made-up"}, argv=("list", "--cursor", "made-up")),
        ),
    ),
    Examples("memory.folders", (Example(given={}, argv=None),)),
    Examples(
        "memory.erase",
        (
            Example(given={"memory_id": "<tea>"}, argv=None),
            Example(given={"memory_id": "<oven>", "versions": True}, argv=None),
            Example(given={"memory_id": "m_none"}, argv=None),
        ),
    ),
)
SEARCHING = (
    Examples(
        "memory.search",
        (
            Example(given={"query": "polled oven"}, argv=("search", "polled oven")),
            Example(
                given={
                    "query": "two minutes of green tea",
                    "k": 1,
                    "mode": "deep",
                    "tags": ["house"],
                    "since": "2020-01-31",
                    "channels": ["bm25", "fts5"],
                    "token_budget": 100,
                    "session_id": "s1",
                    "explain": True,
                },
                argv=(
                    "search",
                    "two minutes of green tea",
                    *("-k", "1"),
                    *("--mode", "deep"),
                    *("--tag", "house"),
                    *("--since", "2020-01-31"),
                    *("--channel", "bm25"),
                    *("--channel", "fts5"),
                    *("--budget", "100"),
                    *("--session", "s1"),
                    "--explain",
                ),
            ),
            Example(
                given={"query": "nothing of the kind", "folder": "attic"},
                argv=("search", "nothing of the kind", "--folder", "attic"),
            ),
            Example(
                given={
                    "query": "why is the oven polled, and how does that differ from tea",
                    "context_type": "brewing",
                    "token_budget": 1_000,
                    "tokens_used": 800,
                    "explain": True,
                },
                argv=(
                    "search",
                    "why is the oven polled, and how does that differ from tea",
                    *("--context-type", "brewing"),
                    *("--budget", "1000"),
                    *("--tokens-used", "800"),
                    "--explain",
                ),
                prepare=mark_tea,
            ),
            Example(
                given={"query": "how often", "previous_query": "how is the oven polled"},
                argv=("search", "how often", "--previous-query", "how is the oven polled"),
            ),
            Example(given={"query": "oven", "previous_query": ""}, argv=("search", "oven", "--previous-query", "")),
            Example(given={"query": "oven", "min_relevance": 0.5}, argv=("search", "oven", "--min-relevance", "0.5")),
            Example(given={"query": "oven", "min_relevance": 2}, argv=("search", "oven", "--min-relevance", "2")),
            Example(given={"query": "oven", "tokens_used": 5}, argv=("search", "oven", "--tokens-used", "5")),
            Example(given={"query": "oven", "k": 0}, argv=("search", "oven", "-k", "0")),
            Example(given={"query": "oven", "k": 101}, argv=("search", "oven", "-k", "101")),
            Example(given={"query": "oven", "since": "soon"}, argv=("search", "oven", "--since", "soon")),
            Example(
                given={"query": "oven", "since": "2026-02-01", "until": "2026-01-01"},
                argv=("search", "oven", "--since", "2026-02-01", "--until", "2026-01-01"),
            ),
        ),
    ),
    Examples(
        "memory.context",
        (
            Example(given={"query": "polled oven"}, argv=None),
            Example(given={"query": "green tea", "token_budget": 50, "k": 2, "session_id": "s1"}, argv=None),
            Example(
                given={"query": "green tea", "token_budget": 500, "tokens_used": 460, "context_type": "brewing"},
                argv=None,
                prepare=mark_tea,
            ),
            Example(given={"query": "green tea", "token_budget": 49}, argv=None),
        ),
    ),
    Examples(
        "memory.match_triggers",
        (
            Example(given={"text": "the oven must be cold start ready"}, argv=None, prepare=give_triggers),
            Example(given={"text": "nothing", "k": 2, "session_id": "s1"}, argv=None),
            Example(given={"text": ""}, argv=None),
        ),
    ),
)
USAGE = (
    Examples(
        "memory.validate",
        (
            Example(given={"memory_id": "<tea>", "was_useful": True}, argv=("validate", "<tea>", "--useful")),
            Example(
                given={
                    "memory_id": "<oven>",
                    "was_useful": False,
                    "session_id": "s1",
                    "event_key": "v-1",
                    "note": "it was wrong",
                },
                argv=(
                    "validate",
                    "<oven>",
                    "--not-useful",
                    *("--session", "s1"),
                    *("--key", "v-1"),
                    *("--note", "it was wrong"),
                ),
            ),
            Example(given={"memory_id": "m_none", "was_useful": True}, argv=("validate", "m_none")),
            Example(
                given={"memory_id": "<tea>", "was_useful": True, "note": "x" * 1_001},
                argv=("validate", "<tea>", "--note", "x" * 1_001),
            ),
        ),
    ),
    Examples(
        "memory.record",
        (
            Example(
                given={"events": [{"session_id": "s1", "wrote": "The oven is polled.", "event_key": "w-1"}]},
                argv=("observe", "--session", "s1", "--wrote", "The oven is polled.", "--key", "w-1"),
                prepare=search_in_session,
            ),
            Example(
                given={"events": [{"session_id": "s1", "memory_id": "m_none"}]},
                argv=("observe", "--session", "s1", "--memory", "m_none"),
            ),
            Example(given={"events": [{"session_id": "s1"}]}, argv=("observe", "--session", "s1")),
            Example(given={"events": []}, argv=None),
        ),
    ),
)
QUESTION = "How long is green tea steeped?"
UNKNOWN = "Who painted the ceiling of the Sistine Chapel?"


def ask_question(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Ask about the tea, and about something that no note knows."""
    pipeline = open_research(Settings(), engine, scope)
    asked = {"answered": QUESTION, "unanswered": UNKNOWN}
    return {name: pipeline.ask(scope, question, tags=("house",)).log_id for name, question in asked.items()}


RESEARCH = (
    Examples(
        "research.ask",
        (
            Example(given={"question": QUESTION}, argv=("ask", QUESTION)),
            Example(
                given={
                    "question": QUESTION,
                    "session_id": "s1",
                    "tags": ["tea", "house"],
                    "evaluate": False,
                    "builtin": True,
                },
                argv=(
                    "ask",
                    QUESTION,
                    "--session",
                    "s1",
                    "--tag",
                    "tea",
                    "--tag",
                    "house",
                    "--no-evaluation",
                    "--builtin",
                ),
            ),
            Example(given={"question": UNKNOWN}, argv=("ask", UNKNOWN)),
            Example(given={"question": ""}, argv=("ask", "")),
            Example(given={"question": "x" * 20_001}, argv=("ask", "x" * 20_001)),
        ),
    ),
    Examples(
        "research.retry",
        (
            Example(given={"log_id": "<answered>"}, argv=("ask", "--retry", "<answered>"), prepare=ask_question),
            Example(
                given={"log_id": "<answered>", "evaluate": False},
                argv=("ask", "--retry", "<answered>", "--no-evaluation"),
                prepare=ask_question,
            ),
            Example(given={"log_id": "r_none"}, argv=("ask", "--retry", "r_none")),
        ),
    ),
    Examples(
        "research.rate",
        (
            Example(
                given={"log_id": "<answered>", "was_useful": True}, argv=("rate", "<answered>"), prepare=ask_question
            ),
            Example(
                given={"log_id": "<answered>", "was_useful": False},
                argv=("rate", "<answered>", "--not-useful"),
                prepare=ask_question,
            ),
            Example(
                given={"log_id": "<unanswered>", "was_useful": True},
                argv=("rate", "<unanswered>"),
                prepare=ask_question,
            ),
            Example(given={"log_id": "r_none", "was_useful": True}, argv=("rate", "r_none")),
        ),
    ),
    Examples(
        "research.show",
        (
            Example(given={"log_id": "<answered>"}, argv=None, prepare=ask_question),
            Example(given={"log_id": "<unanswered>"}, argv=None, prepare=ask_question),
            Example(given={"log_id": "r_none"}, argv=None),
        ),
    ),
    Examples(
        "research.evaluation",
        (
            Example(given={"log_id": "<answered>"}, argv=None, prepare=ask_question),
            Example(given={"log_id": "r_none"}, argv=None),
        ),
    ),
    Examples(
        "research.list",
        (
            Example(given={}, argv=None, prepare=ask_question),
            Example(given={"limit": 1, "status": "answered", "least_score": 0.1}, argv=None, prepare=ask_question),
            Example(given={"limit": 0}, argv=None),
            Example(given={"cursor": "nowhere"}, argv=None),
        ),
    ),
)


def use_flag(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Switch a flag on, so that it has been in use."""
    engine.flags.turn(engine.store, scope, "mmr", "25%", shadow=True)
    return {}


FLAGS = (
    Examples("flag.list", (Example(given={}, argv=("flag", "list")),)),
    Examples(
        "flag.show",
        (
            Example(given={"name": "mmr"}, argv=("flag", "show", "mmr")),
            Example(given={"name": "mmr"}, argv=("flag", "show", "mmr"), prepare=use_flag),
            Example(given={"name": "mmmr"}, argv=("flag", "show", "mmmr")),
        ),
    ),
    Examples(
        "flag.set",
        (
            Example(given={"name": "mmr", "percent": 1}, argv=("flag", "set", "mmr", "1%")),
            Example(
                given={"name": "mmr", "percent": 0, "shadow": True},
                argv=("flag", "set", "mmr", "off", "--shadow"),
                prepare=use_flag,
            ),
            Example(given={"name": "reconsolidation", "percent": 100}, argv=("flag", "on", "reconsolidation")),
            Example(given={"name": "mmmr", "percent": 100}, argv=("flag", "on", "mmmr")),
            Example(given={"name": "mmr", "percent": 101}, argv=None),
        ),
    ),
    Examples(
        "flag.review",
        (
            Example(given={"name": "mmr"}, argv=("flag", "review", "mmr"), prepare=use_flag),
            Example(given={"name": "mmr"}, argv=("flag", "review", "mmr")),
        ),
    ),
)
KNOWN: dict[str, Any] = {"knowledge": 0.25, "uncertainty": 0.75, "context": 0.5}
KNOWN_ARGV = ("--knowledge", "0.25", "--uncertainty", "0.75", "--context", "0.5")


def hold_sessions(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Let two sessions search; the first one begins a task, reads a note and judges another."""
    found = {
        session: engine.searcher.search(scope, SearchRequest(query="polled oven", session_id=session)).query_id
        for session in ("s1", "s2")
    }
    engine.store.log.flush()
    engine.preflight(scope, TaskReport(task_id="fix-oven", session_id="s1", goal="warm", **KNOWN))
    engine.load(scope, notes.ids["router"], session_id="s1")
    engine.load(scope, notes.ids["oven"], session_id="s1")
    engine.validate(scope, notes.ids["oven"], True, session_id="s1", query_id=found["s1"])
    return {"query": found["s1"]}


def end_task(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Begin a task and end it."""
    engine.preflight(scope, TaskReport(task_id="fix-oven", **KNOWN))
    engine.postflight(scope, TaskReport(task_id="fix-oven", **KNOWN))
    return {}


def end_searched_task(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """End a task in which a search led to a note, and one that failed without a search."""
    engine.preflight(scope, TaskReport(task_id="fix-oven", session_id="s1", **KNOWN))
    # Written down by hand: a real search has a quality proxy that depends on how long it took.
    query = LoggedQuery(
        query_id="eq_oven",
        query="polled oven",
        tool_name="memory_search",
        created_at=engine.clock.now(),
        session_id="s1",
        result_ids=(notes.ids["tea"], notes.ids["oven"]),
        quality_proxy_score=0.5,
    )
    engine.store.log.append(scope, query)
    engine.store.log.flush()
    engine.validate(scope, notes.ids["oven"], True, session_id="s1", query_id="eq_oven")
    engine.postflight(scope, TaskReport(task_id="fix-oven", outcome=TaskOutcome.DONE, **KNOWN))
    engine.preflight(scope, TaskReport(task_id="fix-tap", session_id="s2", **KNOWN))
    engine.postflight(scope, TaskReport(task_id="fix-tap", outcome=TaskOutcome.FAILED, **KNOWN))
    return {}


SESSIONS = (
    Examples(
        "session.list",
        (
            Example(given={}, argv=("session", "list")),
            Example(given={"limit": 1}, argv=("session", "list", "--limit", "1"), prepare=hold_sessions),
            Example(given={}, argv=("session", "list"), prepare=search_again_in_session),
            Example(given={"limit": 201}, argv=("session", "list", "--limit", "201")),
            Example(given={"cursor": "made-up"}, argv=("session", "list", "--cursor", "made-up")),
        ),
    ),
    Examples(
        "session.show",
        (
            Example(given={"session_id": "s1"}, argv=("session", "show", "s1"), prepare=hold_sessions),
            Example(given={"session_id": "s2"}, argv=("session", "show", "s2"), prepare=hold_sessions),
            Example(given={"session_id": "s1"}, argv=("session", "show", "s1"), prepare=search_again_in_session),
            Example(given={"session_id": "none"}, argv=("session", "show", "none")),
        ),
    ),
    Examples(
        "search.list",
        (
            Example(given={}, argv=None, prepare=hold_sessions),
            Example(given={"origin": "use", "limit": 1}, argv=None, prepare=hold_sessions),
            Example(given={"origin": "nowhere"}, argv=None),
            Example(given={"cursor": "made-up"}, argv=None),
        ),
    ),
    Examples(
        "search.attribution",
        (
            Example(given={}, argv=("attribution",), prepare=hold_sessions),
            Example(
                given={"since": "2020-01-01", "until": "2100-01-01T00:00"},
                argv=("attribution", "--since", "2020-01-01", "--until", "2100-01-01T00:00"),
                prepare=hold_sessions,
            ),
            Example(given={"until": "0001-01-02"}, argv=("attribution", "--until", "0001-01-02")),
            Example(
                given={"since": "2030-01-02", "until": "2030-01-01"},
                argv=("attribution", "--since", "2030-01-02", "--until", "2030-01-01"),
            ),
            Example(given={"since": "yesterday"}, argv=("attribution", "--since", "yesterday")),
        ),
    ),
    Examples(
        "search.show",
        (
            Example(given={"query_id": "<query>"}, argv=None, prepare=hold_sessions),
            Example(given={"query_id": "q_none"}, argv=None),
        ),
    ),
    Examples(
        "task.preflight",
        (
            Example(given={"task_id": "fix-oven", **KNOWN}, argv=("task", "preflight", "fix-oven", *KNOWN_ARGV)),
            Example(
                given={"task_id": "fix-oven", **KNOWN, "goal": "warm", "folder": "kitchen", "session_id": "s1"},
                argv=(
                    *("task", "preflight", "fix-oven"),
                    *KNOWN_ARGV,
                    *("--goal", "warm"),
                    *("--folder", "kitchen"),
                    *("--session", "s1"),
                ),
            ),
            Example(
                given={"task_id": "fix-oven", **KNOWN},
                argv=("task", "preflight", "fix-oven", *KNOWN_ARGV),
                prepare=end_task,
            ),
            Example(
                given={"task_id": "fix-oven", **KNOWN, "knowledge": 2.0},
                argv=("task", "preflight", "fix-oven", *KNOWN_ARGV, "--knowledge", "2"),
            ),
        ),
    ),
    Examples(
        "task.postflight",
        (
            Example(
                given={"task_id": "fix-oven", **KNOWN},
                argv=("task", "postflight", "fix-oven", *KNOWN_ARGV),
                prepare=hold_sessions,
            ),
            Example(
                given={
                    "task_id": "fix-oven",
                    **KNOWN,
                    "knowledge": 1.0,
                    "result": "warm",
                    "outcome": "done",
                    "useful": ["<router>"],
                    "not_useful": ["<tea>"],
                    "session_id": "s1",
                },
                argv=(
                    *("task", "postflight", "fix-oven"),
                    *KNOWN_ARGV,
                    *("--knowledge", "1"),
                    *("--result", "warm"),
                    *("--outcome", "done"),
                    *("--useful", "<router>"),
                    *("--not-useful", "<tea>"),
                    *("--session", "s1"),
                ),
                prepare=hold_sessions,
            ),
            Example(
                given={"task_id": "fix-oven", **KNOWN, "useful": ["m_none"]},
                argv=("task", "postflight", "fix-oven", *KNOWN_ARGV, "--useful", "m_none"),
                prepare=hold_sessions,
            ),
            Example(
                given={"task_id": "fix-oven", **KNOWN, "outcome": "half done"},
                argv=None,
                prepare=hold_sessions,
            ),
            Example(
                given={"task_id": "unknown", **KNOWN},
                argv=("task", "postflight", "unknown", *KNOWN_ARGV),
            ),
        ),
    ),
    Examples(
        "task.outcomes",
        (
            Example(given={}, argv=("task", "outcomes"), prepare=end_searched_task),
            Example(given={}, argv=("task", "outcomes")),
        ),
    ),
)


def make_spare(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Make a token, and let a browser sign in with it."""
    made = Tokens(engine.store, engine.clock).create(scope, "spare", Access.WRITE, days=7)
    begun = sign_ins_of(Settings(), engine.store, engine.clock).begin(made.text, "browser 10.0.0.7")
    assert begun is not None
    return {"spare": made.kept.token_id, "sign_in": begun.kept.session_id}


ACCESS = (
    Examples(
        "tenant.list",
        (
            Example(given={}, argv=("tenant", "list"), prepare=make_spare),
            Example(given={"limit": 0}, argv=("tenant", "list", "--limit", "0")),
            Example(given={"cursor": "made-up"}, argv=("tenant", "list", "--cursor", "made-up")),
        ),
    ),
    Examples(
        "token.list",
        (
            Example(given={"all_tenants": True}, argv=("token", "list", "--all-tenants"), prepare=make_spare),
            Example(given={}, argv=("token", "list")),
            Example(given={}, argv=("token", "list"), prepare=make_spare),
        ),
    ),
    Examples(
        "token.create",
        (
            Example(given={"name": "ci"}, argv=("token", "create", "--name", "ci")),
            Example(
                given={"name": "ada", "access": "write", "days": 30, "person": True},
                argv=("token", "create", "--name", "ada", "--scope", "write", "--days", "30", "--person"),
            ),
            Example(given={"name": "ci", "days": 0}, argv=("token", "create", "--name", "ci", "--days", "0")),
            Example(given={"name": ""}, argv=("token", "create", "--name", "")),
        ),
    ),
    Examples(
        "token.revoke",
        (
            Example(given={"token_id": "<spare>"}, argv=("token", "revoke", "<spare>"), prepare=make_spare),
            Example(given={"token_id": "t_none"}, argv=("token", "revoke", "t_none")),
        ),
    ),
    Examples(
        "sign_in.list",
        (
            Example(given={}, argv=("token", "sessions"), prepare=make_spare),
            Example(given={}, argv=("token", "sessions")),
        ),
    ),
    Examples(
        "sign_in.end",
        (
            Example(given={"session_id": "<sign_in>"}, argv=("token", "end", "<sign_in>"), prepare=make_spare),
            Example(given={"session_id": "ls_none"}, argv=("token", "end", "ls_none")),
        ),
    ),
)
AUDITING = (
    Examples(
        "audit.list",
        (
            Example(given={}, argv=("audit-log",), prepare=make_spare),
            Example(
                given={"action": "token.", "target": "<spare>", "since": "2020-01-31", "limit": 1},
                argv=(
                    "audit-log",
                    "--action",
                    "token.",
                    "--target",
                    "<spare>",
                    "--since",
                    "2020-01-31",
                    "--limit",
                    "1",
                ),
                prepare=make_spare,
            ),
            Example(given={"limit": 1}, argv=("audit-log", "--limit", "1")),
            Example(given={"limit": 201}, argv=("audit-log", "--limit", "201")),
            Example(given={"since": "soon"}, argv=("audit-log", "--since", "soon")),
            Example(given={"cursor": "made-up"}, argv=("audit-log", "--cursor", "made-up")),
        ),
    ),
    Examples("audit.check", (Example(given={}, argv=("audit-log",), prepare=make_spare),)),
)
SECRET = "AKIA" + "IOSFODNN7EXAMPLE"


def keep_copies(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Have two checkpoints and no others."""
    for checkpoint in engine.store.checkpoints.list():
        engine.store.checkpoints.delete(checkpoint.id)
    return {name: engine.store.checkpoints.create(name).id for name in ("first", "second")}


def search_long_ago(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Log a search that is old enough to be archived."""
    asked = LoggedQuery(
        query_id="q_old",
        query="polled oven",
        tool_name="test",
        created_at=engine.clock.now() - timedelta(days=400),
    )
    with engine.store.writing(scope) as work:
        work.queries.add_many([asked])
    return {}


def archive_search(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Log an old search and archive it."""
    search_long_ago(engine, scope, notes)
    folder = notes.files.dataset_path.parent / f"archives-{scope.tenant}"
    [archive] = retention.run(engine.store, scope, folder, retention.RetentionPolicy(), engine.clock).archives
    return {"archive": archive}


def store_secret(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Store a secret in clear, as a version did that did not know its shape."""
    with engine.store.writing(scope) as work:
        work.memories.add(note("m_leak", title="Key", body=f"Deploy with {SECRET} please."))
    return {}


MAINTENANCE = (
    Examples(
        "checkpoint.create",
        (
            Example(given={"name": "before the move"}, argv=("checkpoint", "create", "before the move")),
            Example(given={}, argv=("checkpoint", "create"), programs=False),
            Example(given={"name": ""}, argv=("checkpoint", "create", "")),
            Example(given={"name": "x" * 201}, argv=("checkpoint", "create", "x" * 201)),
        ),
    ),
    Examples(
        "checkpoint.list",
        (
            Example(given={}, argv=("checkpoint", "list"), prepare=keep_copies),
            Example(given={"limit": 1}, argv=("checkpoint", "list", "--limit", "1"), prepare=keep_copies),
            Example(given={"limit": 0}, argv=("checkpoint", "list", "--limit", "0")),
            Example(given={"cursor": "made-up"}, argv=("checkpoint", "list", "--cursor", "made-up")),
        ),
    ),
    Examples(
        "checkpoint.restore",
        (
            Example(given={"checkpoint": "<second>"}, argv=("checkpoint", "restore", "<second>"), prepare=keep_copies),
            Example(given={"checkpoint": "first"}, argv=("checkpoint", "restore", "first"), prepare=keep_copies),
            Example(given={"checkpoint": "none"}, argv=("checkpoint", "restore", "none")),
        ),
    ),
    Examples(
        "checkpoint.delete",
        (
            Example(given={"checkpoint": "<first>"}, argv=("checkpoint", "delete", "<first>"), prepare=keep_copies),
            Example(given={"checkpoint": "second"}, argv=("checkpoint", "delete", "second"), prepare=keep_copies),
            Example(given={"checkpoint": "none"}, argv=("checkpoint", "delete", "none")),
        ),
    ),
    Examples(
        "retention.run",
        (
            Example(given={"dry_run": True}, argv=("retention", "run", "--dry-run"), prepare=search_long_ago),
            Example(given={}, argv=("retention", "run"), prepare=search_long_ago),
        ),
    ),
    Examples(
        "retention.restore",
        (
            Example(given={"path": "<archive>"}, argv=("retention", "restore", "<archive>"), prepare=archive_search),
            Example(given={"path": "nowhere.gz"}, argv=("retention", "restore", "nowhere.gz")),
        ),
    ),
    Examples(
        "store.rescan",
        (
            Example(given={}, argv=("rescan",), prepare=store_secret),
            Example(given={"apply": True}, argv=("rescan", "--apply", "--yes"), prepare=store_secret),
        ),
    ),
)
FILES = (
    Examples(
        "file.measure",
        (
            Example(
                given={"qrels": "<qrels>", "runs": ["<good>"]},
                argv=("measure", "--qrels", "<qrels>", "--run", "<good>"),
            ),
            Example(
                given={
                    "qrels": "<qrels>",
                    "runs": ["<good>", "<worse>"],
                    "metrics": ["ndcg@2,mrr", "recall@1"],
                    "relevance_level": 2,
                    "depth": 2,
                    "absent": "skip",
                    "per_query": True,
                    "seed": 7,
                },
                argv=(
                    *("measure", "--qrels", "<qrels>", "--run", "<good>", "--run", "<worse>"),
                    *("-m", "ndcg@2,mrr", "-m", "recall@1", "-l", "2", "--depth", "2", "--absent", "skip"),
                    *("--per-query", "--seed", "7"),
                ),
            ),
            Example(
                given={"qrels": "<qrels>", "runs": ["<good>"], "metrics": ["ndgc@10"]},
                argv=("measure", "--qrels", "<qrels>", "--run", "<good>", "-m", "ndgc@10"),
            ),
            Example(
                given={"qrels": "<qrels>", "runs": ["<good>"], "relevance_level": 0},
                argv=("measure", "--qrels", "<qrels>", "--run", "<good>", "-l", "0"),
            ),
            Example(
                given={"qrels": "<qrels>", "runs": ["<good>"], "seed": -1},
                argv=("measure", "--qrels", "<qrels>", "--run", "<good>", "--seed", "-1"),
            ),
            Example(
                given={"qrels": "<qrels>", "runs": ["<other>"]},
                argv=("measure", "--qrels", "<qrels>", "--run", "<other>"),
            ),
            Example(
                given={"qrels": "nowhere.trec", "runs": ["<good>"]},
                argv=("measure", "--qrels", "nowhere.trec", "--run", "<good>"),
            ),
        ),
    ),
    Examples(
        "file.report",
        (
            Example(given={"run": "<auto>", "output": "<reports>"}, argv=("report", "<auto>", "--output", "<reports>")),
            Example(
                given={
                    "run": "poor one",
                    "baseline": "<auto>",
                    "html": True,
                    "output": "<reports>",
                    "name": "mine",
                    "k": 2,
                    "dataset": "tiny",
                },
                argv=(
                    *("report", "poor one", "--baseline", "<auto>", "--html", "--output", "<reports>"),
                    *("--name", "mine", "-k", "2", "--dataset", "tiny"),
                ),
            ),
            Example(
                given={"run": "<auto>", "no_baseline": True, "output": "<reports>"},
                argv=("report", "<auto>", "--no-baseline", "--output", "<reports>"),
            ),
            Example(given={"run": "<auto>", "baseline": "none.json"}, argv=("report", "<auto>", "-b", "none.json")),
            Example(given={"run": "<auto>", "dataset": "no-such"}, argv=("report", "<auto>", "--dataset", "no-such")),
            Example(given={"run": "run_none"}, argv=("report", "run_none")),
        ),
    ),
    Examples(
        "file.why",
        (
            Example(given={"run": "<poor>", "query": "c0"}, argv=("report", "<poor>", "--why", "c0")),
            Example(
                given={"run": "poor one", "query": "lost", "k": 1, "dataset": "tiny"},
                argv=("report", "poor one", "--why", "lost", "-k", "1", "--dataset", "tiny"),
            ),
            Example(
                given={"run": "<poor>", "query": "c0", "probe": True, "calls": 3},
                argv=("report", "<poor>", "--why", "c0", "--probe", "--calls", "3"),
            ),
            Example(
                given={"run": "<poor>", "query": "c0", "probe": True, "calls": 0},
                argv=("report", "<poor>", "--why", "c0", "--probe", "--calls", "0"),
            ),
            Example(given={"run": "<poor>", "query": "zzz"}, argv=("report", "<poor>", "--why", "zzz")),
            Example(given={"run": "run_none", "query": "c0"}, argv=("report", "run_none", "--why", "c0")),
        ),
    ),
    Examples(
        "label.agreement",
        (
            Example(
                given={"dataset": "tiny", "labels": "<agreed.jsonl>"},
                argv=("label", "tiny", "--agreement", "--labels", "<agreed.jsonl>"),
            ),
            Example(
                given={"dataset": "tiny", "labels": "<alone.jsonl>"},
                argv=("label", "tiny", "--agreement", "--labels", "<alone.jsonl>"),
            ),
            Example(given={"dataset": "tiny"}, argv=("label", "tiny", "--agreement")),
        ),
    ),
    Examples(
        "label.apply",
        (
            Example(
                given={"dataset": "tiny", "to": "<labelled>", "labels": "<agreed.jsonl>"},
                argv=("label", "tiny", "--apply", "<labelled>", "--labels", "<agreed.jsonl>"),
            ),
            Example(
                given={"dataset": "no-such", "to": "<labelled>", "labels": "<agreed.jsonl>"},
                argv=("label", "no-such", "--apply", "<labelled>", "--labels", "<agreed.jsonl>"),
            ),
            Example(given={"dataset": "tiny", "to": "<labelled>"}, argv=("label", "tiny", "--apply", "<labelled>")),
        ),
    ),
)


def keep_traces(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Store two traces: one whose answer is supported, and a newer, slow one that invents its answer."""
    at = traced.BEGAN
    invented = "The pool closes at three in the afternoon on Fridays in winter."
    spans = [
        traced.trace_span(
            trace_id,
            span_id,
            parent_id=None if span_id == "root" else "root",
            role=role,
            name=span_id,
            session_id=f"s-{day}",
            input=traced.QUESTION,
            output="" if role is SpanRole.RETRIEVER else answer,
            started_at=at + timedelta(days=day),
            ended_at=at + timedelta(days=day, seconds=1 + 20 * day),
            documents=(traced.found("pool", traced.POOL),) if role is SpanRole.RETRIEVER else (),
        )
        for day, (trace_id, answer) in enumerate((("trace-good", traced.ANSWER), ("trace-bad", invented)))
        for span_id, role in (("root", SpanRole.CHAIN), ("search", SpanRole.RETRIEVER))
    ]
    with engine.store.writing(scope) as work:
        work.traces.add_many(spans)
    return {}


TRACES = (
    Examples(
        "trace.import",
        (
            Example(given={"paths": ["<spans>"]}, argv=("traces", "import", "<spans>")),
            Example(
                given={"paths": ["<spans>", "<more_spans>"], "format": "langsmith"},
                argv=("traces", "import", "<spans>", "<more_spans>", "--format", "langsmith"),
            ),
            Example(given={"paths": ["<notes>"]}, argv=("traces", "import", "<notes>")),
            Example(given={"paths": ["nowhere"]}, argv=("traces", "import", "nowhere")),
        ),
    ),
    Examples(
        "trace.list",
        (
            Example(given={}, argv=("traces", "list"), prepare=keep_traces),
            Example(given={"limit": 1}, argv=("traces", "list", "--limit", "1"), prepare=keep_traces),
            Example(given={"session_id": "s-1"}, argv=("traces", "list", "--session", "s-1"), prepare=keep_traces),
            Example(
                given={"since": "2026-03-02", "until": "2026-03-03"},
                argv=("traces", "list", "--since", "2026-03-02", "--until", "2026-03-03"),
                prepare=keep_traces,
            ),
            Example(given={}, argv=("traces", "list")),
            Example(given={"cursor": "nowhere"}, argv=("traces", "list", "--cursor", "nowhere")),
        ),
    ),
    Examples(
        "trace.show",
        (
            Example(given={"trace_id": "trace-good"}, argv=("traces", "show", "trace-good"), prepare=keep_traces),
            Example(
                given={"trace_id": "trace-bad", "slow_ms": 30_000.0},
                argv=("traces", "show", "trace-bad", "--slow-ms", "30000"),
                prepare=keep_traces,
            ),
            Example(given={"trace_id": "trace-none"}, argv=("traces", "show", "trace-none")),
        ),
    ),
    Examples(
        "trace.report",
        (
            Example(given={}, argv=("traces", "report"), prepare=keep_traces),
            Example(
                given={"most": 1, "slow_ms": 5.0},
                argv=("traces", "report", "--most", "1", "--slow-ms", "5"),
                prepare=keep_traces,
            ),
            Example(given={}, argv=("traces", "report")),
            Example(given={"most": 0}, argv=("traces", "report", "--most", "0")),
        ),
    ),
    Examples(
        "trace.keep",
        (
            Example(
                given={"dataset": "prod", "failing": ["ungrounded", "slow"]},
                argv=("dataset", "from-traces", "prod", "--failing", "ungrounded", "--failing", "slow"),
                prepare=keep_traces,
            ),
            Example(
                given={"dataset": "prod", "trace_ids": ["trace-good"]},
                argv=("dataset", "from-traces", "prod", "--trace", "trace-good"),
                prepare=keep_traces,
            ),
            Example(
                given={"dataset": "prod", "trace_ids": ["trace-none"]},
                argv=("dataset", "from-traces", "prod", "--trace", "trace-none"),
            ),
            Example(given={"dataset": "prod"}, argv=("dataset", "from-traces", "prod")),
            Example(given={"dataset": "hotel"}, argv=("dataset", "from-traces", "hotel"), prepare=keep_traces),
            Example(given={"dataset": "../prod"}, argv=("dataset", "from-traces", "../prod")),
        ),
    ),
    Examples(
        "trace.scores",
        (
            Example(given={"path": "<scores>"}, argv=("traces", "scores", "<scores>"), prepare=keep_traces),
            Example(
                given={"path": "<scores>", "trace_ids": ["trace-bad"]},
                argv=("traces", "scores", "<scores>", "--trace", "trace-bad"),
                prepare=keep_traces,
            ),
            Example(given={"send": True}, argv=("traces", "scores", "--send"), prepare=keep_traces),
            Example(given={}, argv=("traces", "scores"), prepare=keep_traces),
            Example(given={"path": "<scores>"}, argv=("traces", "scores", "<scores>")),
        ),
    ),
)
METRICS = (
    Examples("metric.list", (Example(given={}, argv=("metrics",)),)),
    Examples(
        "metric.show",
        (
            Example(given={"name": "ndcg"}, argv=("metrics", "ndcg")),
            Example(given={"name": "ndcg(gain=exp)@10"}, argv=("metrics", "ndcg(gain=exp)@10")),
            Example(given={"name": "ndgc@10"}, argv=("metrics", "ndgc@10")),
        ),
    ),
)
DOCUMENTS = (
    Examples(
        "memory.ingest",
        (
            Example(given={"paths": ["<notes>"], "root": "<root>"}, argv=("ingest", "<notes>", "--root", "<root>")),
            Example(
                given={
                    "paths": ["<notes>"],
                    "root": "<root>",
                    "globs": ["k*"],
                    "follow_links": True,
                    "gate": True,
                    "prune": True,
                },
                argv=(
                    *("ingest", "<notes>", "--root", "<root>", "--glob", "k*", "--follow-links", "--gate", "--prune"),
                ),
            ),
            Example(given={"paths": ["no-such-folder"]}, argv=("ingest", "no-such-folder")),
        ),
    ),
    Examples(
        "memory.import",
        (
            Example(given={"path": "<others>"}, argv=("import", "<others>")),
            Example(
                given={
                    "path": "<others>",
                    "format": "jsonl",
                    "folder": "moved",
                    "source": "elsewhere",
                    "gate": True,
                    "dry_run": True,
                },
                argv=(
                    *("import", "<others>", "--format", "jsonl", "--folder", "moved", "--source", "elsewhere"),
                    *("--gate", "--dry-run"),
                ),
            ),
            Example(given={"path": "nowhere.jsonl"}, argv=("import", "nowhere.jsonl")),
        ),
    ),
    Examples(
        "memory.export",
        (
            Example(given={"path": "<exported>"}, argv=("export", "<exported>")),
            Example(
                given={"path": "<notes>", "format": "markdown"}, argv=("export", "<notes>", "--format", "markdown")
            ),
        ),
    ),
)


def write_foreign_store(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Write two stores of another tool anew, a plan for each, and no copy."""
    folder = Path(notes.files.paths["root"]) / "foreign"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    texts = (
        "The relay stores its queue on disk.",
        "ok thanks",
        "The demo of the relay is scheduled for 12 March 2025.",
    )
    names = {"foreign": texts, "foreign_other": texts[:2]}
    at = datetime(2026, 11, 1, tzinfo=UTC)
    found = {name: str(folder / name) for name in ("copy.jsonl", "other_copy.jsonl", "new_plan.json", "report.md")}
    for name, told in names.items():
        path = folder / f"{name}.jsonl"
        lines = (json.dumps({"id": str(number), "text": text}) for number, text in enumerate(told))
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        store = read_store(path)
        write_plan(make_plan(audit_items(store, path, as_of=at), store.items), folder / f"{name}.json")
        found |= {name: str(path), f"{name}_plan": str(folder / f"{name}.json")}
    return found


STORE_AUDITS = (
    Examples(
        "memory_store.audit",
        (
            Example(given={"path": "<foreign>"}, argv=("audit", "<foreign>"), prepare=write_foreign_store),
            Example(
                given={
                    "path": "<foreign>",
                    "kind": "jsonl",
                    "as_of": "2026-11-01",
                    "plan": "<new_plan.json>",
                    "report": "<report.md>",
                },
                argv=(
                    *("audit", "<foreign>", "--kind", "jsonl", "--as-of", "2026-11-01", "--plan", "<new_plan.json>"),
                    *("--report", "<report.md>"),
                ),
                prepare=write_foreign_store,
            ),
            Example(given={"path": "nowhere.jsonl"}, argv=("audit", "nowhere.jsonl")),
        ),
    ),
    Examples(
        "memory_store.repair",
        (
            Example(
                given={"plan": "<foreign_plan>", "to": "<copy.jsonl>"},
                argv=("repair", "<foreign_plan>", "--to", "<copy.jsonl>"),
                prepare=write_foreign_store,
            ),
            Example(
                given={"plan": "<foreign_plan>", "to": "<copy.jsonl>", "store": "<foreign_other>"},
                argv=("repair", "<foreign_plan>", "--to", "<copy.jsonl>", "--store", "<foreign_other>"),
                prepare=write_foreign_store,
            ),
        ),
    ),
    Examples(
        "memory_store.import",
        (
            Example(given={"path": "<foreign>"}, argv=("audit", "<foreign>", "--import"), prepare=write_foreign_store),
            Example(
                given={"path": "<foreign>", "kind": "jsonl", "as_of": "2020-01-31", "dry_run": True},
                argv=(*("audit", "<foreign>", "--kind", "jsonl", "--as-of", "2020-01-31", "--import", "--dry-run"),),
                prepare=write_foreign_store,
            ),
            Example(given={"path": "nowhere.jsonl"}, argv=("audit", "nowhere.jsonl", "--import")),
        ),
    ),
)
EXAMPLES: Mapping[str, Examples] = {
    examples.of: examples
    for examples in (
        *ANALYSIS,
        *ACCESS,
        *AUDITING,
        *DATASETS,
        *DOCUMENTS,
        *FILES,
        *FLAGS,
        *GATING,
        *HEALTH,
        *JUDGMENTS,
        *MAINTENANCE,
        *LADDER,
        *LEARNING,
        *MEMORY,
        *METRICS,
        *PROMPTS,
        *READING,
        *RESEARCH,
        *RUNS,
        *SEARCHING,
        *SESSIONS,
        *STORE_AUDITS,
        *TRACES,
        *USAGE,
        *VARIANTS,
    )
}
