"""Probes of stored columns: in a copy of a store that has lived, one column is changed, and its table is read.

A column holds a value that is not its default in some row (it is written), and changing its values changes what some
read shows (it is read). Values are changed to others of their kind, so that no read fails.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Column
from tests.server.serving import reaching
from tests.truth import lifetime
from tests.truth.exemptions import EXEMPT
from tests.truth.probing import ADA, Probe, Stage, Values, call, make_probes, tell

from assay.access.tokens import StoredTokens
from assay.memory.engine import Engine
from assay.online.shadow import DROPPED
from assay.records import SearchRequest
from assay.records.flags import Arm
from assay.server.services import Services
from assay.settings import Settings
from assay.storage import tables
from assay.storage.rows import Finite, Json, Moment, YesNo
from assay.wiring import ladder_of

Read = Callable[[Engine, Settings], Any]
EMPTY = (None, "", 0, 0.0, "[]", "{}", b"")


def ask(verb: str, **given: Any) -> Read:
    """Read by a verb."""
    return lambda engine, settings: call(engine, settings, verb, **given)


def ask_each(verb: str, field: str, listed: str, rows: str, key: str) -> Read:
    """Read by a verb each of what another verb lists."""

    def read(engine: Engine, settings: Settings) -> Any:
        found = call(engine, settings, listed)
        return [call(engine, settings, verb, **{field: row[key]}) for row in found.get(rows, [])[:60]]

    return read


def search(engine: Engine, settings: Settings) -> Any:
    """Search in a few ways, and read hits without what is new each time."""
    seen = []
    for query in ("polled oven", "room 7", "cold start", "session cookie"):
        request = SearchRequest(query=query, explain=True, k=5, without=("coactivation",))
        found = engine.searcher.search(ADA, request)
        seen.append([(str(hit), [str(pinned) for pinned in found.pinned]) for hit in found])
    return seen


def export(engine: Engine, settings: Settings) -> Any:
    """Export everything, and read the file."""
    path = Path(settings.db).with_suffix(".jsonl")
    told = call(engine, settings, "memory.export", path=str(path))
    return path.read_text(encoding="utf-8") if path.exists() else told


def come_in(engine: Engine, settings: Settings) -> Any:
    """Show a token and a cookie, and read what they open."""
    token, cookie = json.loads((Path(settings.db).parent / lifetime.TOKEN).read_text(encoding="utf-8"))
    opened = Services(engine, settings).sign_ins.find(cookie)
    return StoredTokens(engine.store, engine.clock).grant(token), opened


def index_status(engine: Engine, settings: Settings) -> Any:
    """Read how much the index holds, whose vectors, and what is wrong with the store."""
    status = engine.indexes.status(ADA)
    return status.passages, status.memories, status.vectors, status.model, engine.store.problems()


def check_health(engine: Engine, settings: Settings) -> Any:
    """Read the lines of the memory's health, without times and paths."""
    found = call(engine, settings, "memory.health")
    return [line for line in found.get("lines", found.get("checks", [])) if "ms" not in str(line)]


def vote_again(engine: Engine, settings: Settings) -> Any:
    """Vote as was voted before, and as somebody else, and read what counts and why not."""
    current = [
        memory["memory_id"]
        for memory in call(engine, settings, "memory.list", limit=200)["memories"]
        if memory["status"] == "current"
    ]
    # A vote's key is drawn anew each time.
    return [
        {**call(engine, settings, "memory.validate", voter, memory_id=memory_id, was_useful=useful), "event_key": ""}
        for voter in (ADA, replace(ADA, principal="eve"))
        for memory_id in current
        for useful in (False, True)
    ]


def collect_later(engine: Engine, settings: Settings) -> Any:
    """Let lists have their time, collect their votes, and read the test."""
    engine.clock.advance(days=30)  # type: ignore[attr-defined] # a fixed clock
    counted = call(engine, settings, "ladder.collect", feature_id="causal_boost")
    return counted, call(engine, settings, "ladder.show", feature_id="causal_boost")


def vote_for_query(engine: Engine, settings: Settings) -> Any:
    """Vote once more for a query that has voted, and read whether it counts."""
    voted = ladder_of(engine).trials.vote(ADA, "causal_boost", "why", 0.5, arm=Arm.BOTH)
    return voted.counted, voted.reason


def send_again(engine: Engine, settings: Settings) -> Any:
    """Send a write under the key of an earlier one, and read the answer and what was saved."""
    token, _ = json.loads((Path(settings.db).parent / lifetime.TOKEN).read_text(encoding="utf-8"))
    with reaching(Services(engine, settings), local=False) as client:
        answer = lifetime.send_keyed(client, token)
    return answer.status_code, answer.text, len(_list_ids(engine, settings))


def _list_ids(engine: Engine, settings: Settings) -> list[str]:
    return [memory["memory_id"] for memory in call(engine, settings, "memory.list", limit=200)["memories"]]


MEMORIES = (
    ask("memory.list", limit=200),
    ask_each("memory.show", "memory_id", "memory.list", "memories", "memory_id"),
    ask_each("memory.why", "memory_id", "memory.list", "memories", "memory_id"),
    ask("memory.folders"),
    search,
    export,
    index_status,
)
SESSIONS = (
    ask("search.list", limit=200),
    ask_each("search.show", "query_id", "search.list", "searches", "query_id"),
    ask("session.list"),
    ask("session.show", session_id="s1"),
)
FEATURES = ("docscore_aggregation", "trust_ranking", "causal_boost", "mmr")
LADDER = (ask("ladder.list"), *(ask("ladder.show", feature_id=name) for name in FEATURES))
LEARNING = (ask("learning.status"), ask("learning.terms"), ask("learning.changes"))
RESEARCH = (
    ask("research.list", limit=200),
    ask_each("research.show", "log_id", "research.list", "sessions", "log_id"),
    ask_each("research.evaluation", "log_id", "research.list", "sessions", "log_id"),
    ask("analysis.aggregate"),
)
TRACES = (
    ask("trace.list", limit=200),
    # Between the start of the traces and the start that a probe gives them.
    ask("trace.list", since=(lifetime.TRACED + timedelta(hours=1)).isoformat()),
    ask_each("trace.show", "trace_id", "trace.list", "traces", "trace_id"),
)
PROMPTS = (
    ask("prompt.list"),
    ask("prompt.versions", prompt_id="planner"),
    ask("prompt.show", prompt_id="planner"),
    ask("prompt.show_split", prompt_id="planner"),
)
READS: Mapping[str, tuple[Read, ...]] = {
    **dict.fromkeys(("memories", "chunks", "vectors", "edges", "memory_triggers", "memory_facts"), MEMORIES),
    **dict.fromkeys(("memory_saves", "indexed_documents", "changes"), (*MEMORIES, check_health)),
    "flags": (ask("flag.list"), ask("learning.status"), ask("variant.list")),
    "audit": (ask("audit.list", limit=200), ask("audit.check")),
    **dict.fromkeys(
        ("eval_queries", "eval_candidates", "eval_feedback", "tasks"),
        (
            *SESSIONS,
            *LEARNING,
            search,
            ask("search.attribution", since="2020-01-01T00:00:00Z", until="2030-01-01T00:00:00Z"),
            ask("task.outcomes"),
            index_status,
        ),
    ),
    "eval_judgments": (ask("judgment.list", limit=200),),
    "eval_results": (
        ask("run.list"),
        ask("run.list", run_type="regression"),
        ask_each("run.show", "run_id", "run.list", "runs", "run_id"),
        ask("run.show", run_id="run_full", run_type="regression"),
        *LEARNING,
    ),
    **dict.fromkeys(("eval_ab_tests", "ladder_steps"), LADDER),
    "ab_votes": (*LADDER, vote_for_query),
    "eval_shadow_runs": (*LADDER, ask("shadow.status")),
    "interleavings": (collect_later,),
    "request_keys": (send_again,),
    **dict.fromkeys(
        ("learned_terms", "learning_evidence", "learning_changes", "learning_cycles"),
        (*LEARNING, search),
    ),
    "memory_votes": (vote_again,),
    "learning_progress": (*LEARNING, ask("learning.run")),
    **dict.fromkeys(("research_sessions", "research_traces", "research_days"), RESEARCH),
    **dict.fromkeys(("prompts", "prompt_splits"), PROMPTS),
    **dict.fromkeys(("traces", "trace_spans"), TRACES),
    "access_tokens": (ask("token.list"), come_in),
    "login_sessions": (ask("sign_in.list"), come_in),
}
"""What a user can look at, for each table."""


def _count_more(kept: str) -> str:
    """Return the totals of a day with one more that was escalated; another number of sessions is noticed."""
    totals = json.loads(kept)
    return json.dumps({**totals, "escalated": totals["escalated"] + 1})


ALTERNATIVES: Mapping[str, str | Callable[[Any], Any]] = {
    "eval_ab_tests.state_json": lambda kept: json.dumps({**json.loads(kept), "repeats": 7}),
    "research_days.totals": _count_more,
    "interleavings.created_at": "2030-01-01T00:00:00.000000Z",
    "request_keys.created_at": "2020-01-01T00:00:00.000000Z",
    "edges.kind": "enabled",
    "memories.tier": "critical",
    "memories.format": "TEXT",
    "memory_saves.decision": "merge",
    "research_days.day": "2026-01-21",
    "eval_shadow_runs.problem": DROPPED,
    "eval_feedback.event_type": "validate_not_useful",
    "trace_spans.role": "other",
    # Before the end of the span.
    "trace_spans.started_at": "2026-01-01T00:00:00.000000Z",
}
"""Another value of a column for which not every value of its kind will do, or how to make it of the kept one."""


def look_at(stage: Stage, table: str, column: str) -> Any:
    """Read a table in a copy of the store in which a column was changed; an empty name: in which nothing was."""
    lived: Path = stage.share("life", lambda: lifetime.live(stage))
    folder = stage.new_folder()
    path = folder / lived.name
    shutil.copy(lived, path)
    shutil.copy(lived.parent / lifetime.TOKEN, folder)
    if column:
        _alter(path, table, tables.metadata.tables[table].c[column])
    settings = stage.settings(db=str(path), index_folder=folder / "indexes")
    with stage.engine(settings) as engine:
        # Errors name the store.
        return [
            json.dumps(tell(partial(read, engine, settings)), default=str).replace(str(folder), "")
            for read in READS[table]
        ]


def _alter(path: Path, table: str, column: Column[Any]) -> None:
    """Give a column another value in every row that has one."""
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        name = column.name
        rows = database.execute(f'SELECT rowid, "{name}" FROM {table}').fetchall()
        filled = [(rowid, value) for rowid, value in rows if value not in EMPTY]
        if not filled:
            raise AssertionError(f"{table}.{name} has no value in the life of a store")
        for rowid, value in filled:
            given = ALTERNATIVES.get(f"{table}.{name}") or partial(_change, column=column)
            other = given(value) if callable(given) else given
            database.execute(f'UPDATE OR IGNORE {table} SET "{name}" = ? WHERE rowid = ?', (other, rowid))
    database.close()


def _change(value: Any, column: Column[Any]) -> Any:
    """Return another value of the same kind."""
    kind = column.type
    if isinstance(kind, Moment):
        return (datetime.fromisoformat(value) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if isinstance(kind, YesNo):
        return 1 - value
    if isinstance(kind, Finite):
        return value * 0.5 + 0.011
    if isinstance(kind, Json):
        return json.dumps(_change_json(json.loads(value)))
    if isinstance(value, bytes):
        return value[::-1]
    # The largest whole number of a column has none above it.
    step = -1 if isinstance(value, int) and value > 1 << 60 else 1
    return value + step if isinstance(value, int) else f"{value}x"


def _change_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _change_json(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return value[1:]
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int | float) else value and f"{value}x"


def probe(table: str, column: str) -> Values:
    """Compare reads of the store as it is with reads of a copy in which a column was changed."""

    def look(stage: Stage, name: str) -> Any:
        if name:
            return look_at(stage, table, name)
        # Once for each value of the probe, and then for all columns of the table.
        key = f"{table} as it is"
        seen = stage.more.setdefault(key, [])
        if len(seen) < 2:
            seen.append(look_at(stage, table, ""))
        return seen[-1] if seen[0] == seen[-1] else seen.pop()

    return Values("", column, look)


PROBES: dict[str, Probe] = make_probes(
    "column",
    {
        f"{table.name}.{column.name}": probe(table.name, column.name)
        for table in tables.metadata.sorted_tables
        for column in table.columns
        if f"column:{table.name}.{column.name}" not in EXEMPT
    },
)
