"""Probes of settings: the same thing done with two values of one setting.

- Stores, indexes, saving and searching.
- Embedders, models and judges.
- Servers.
- Folders, runs, gates, learning, tracing, the network.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
from sqlalchemy import text
from starlette.testclient import TestClient
from tests.cli import test_judge as judging
from tests.embedding.test_remote import length_of_each
from tests.gateway.test_connections import Door
from tests.mcp.test_http import ACCEPT, HELLO, Several
from tests.models.service import serving as serving_vectors
from tests.server.serving import HERE, reaching, stopping_nothing_else, token_text
from tests.server.test_workers import in_a_thread_of_its_own
from tests.storage import samples
from tests.storage.homes import BOUND_S, Home, raw
from tests.storage.test_checkpoints import dumped, keep
from tests.truth.probing import ADA, Probe, Stage, Values, call, make_probes, set_environment, tell
from tests.verbs.examples import search_long_ago

from assay import wiring
from assay.access import Access, Grant
from assay.cli.main import main
from assay.embedding.bundled import FILES
from assay.evaluation.running.runner import Running
from assay.evaluation.running.runner import run as run_system
from assay.formats.golden import write_golden
from assay.gateway.connections import Phase
from assay.gateway.logs import set_up_logs
from assay.gateway.serving import limits_of
from assay.memory.engine import Engine
from assay.models.chat import ChatRequest, Message
from assay.records import Draft, Scope, SearchRequest
from assay.records.research_log import QuestionOutcome, ResearchSession
from assay.server.application import build
from assay.server.services import Services
from assay.server.serving import choose_cores, make_server
from assay.settings import Settings
from assay.settings.model import Origin
from assay.storage import open_store
from assay.storage.rows import mask_value
from assay.testing import FixedClock, HashedEmbedder, note
from assay.testing.fault_server import Handler, envelope, hang, replying, sending, serving
from assay.verbs import Caller, Surface
from assay.verbs.table import VERBS
from assay.wiring.alerts import send_new_alerts
from assay.wiring.network import gatekeeper_of
from assay.wiring.retention import schedule_retention

Do = Callable[[Stage, Settings], Any]


def do_with(field: str, first: Any, other: Any, do: Do, **fixed: Any) -> Values:
    """Do something with settings in which only one field differs."""
    return Values(first, other, lambda stage, value: do(stage, stage.settings(**fixed, **{field: value})))


def in_engine(work: Callable[[Engine, Settings], Any]) -> Do:
    """Work with an engine of the settings, whose vectors are made of words."""

    def do(stage: Stage, settings: Settings) -> Any:
        with stage.engine(settings) as engine:
            return work(engine, settings)

    return do


# --- Stores, indexes, saving and searching ---

COOKIE = "The session cookie of the web shop lives for {} hours after the last request."


def list_titles(engine: Engine, settings: Settings) -> Any:
    """Save a note for one tenant, and list those of the tenant of the settings."""
    engine.saver.save(Scope(tenant="blue", principal="ada"), Draft(title="Tea", body=COOKIE.format("two")))
    found = call(engine, settings, "memory.list", wiring.scope_of(settings))
    return [memory["title"] for memory in found["memories"]]


def show_author(engine: Engine, settings: Settings) -> Any:
    """Save a note and read who wrote it."""
    scope = wiring.scope_of(settings)
    engine.saver.save(scope, Draft(title="Tea", body=COOKIE.format("two")))
    return [line["actor"] for line in call(engine, settings, "audit.list", scope)["entries"]]


def open_file(stage: Stage, name: str) -> Any:
    """Open one of two stores, of which the first holds a note."""

    def make() -> Path:
        folder = stage.new_folder()
        with stage.engine(db=str(folder / "first.db")) as engine:
            engine.saver.save(ADA, Draft(title="Tea", body=COOKIE.format("two")))
        return folder

    settings = stage.settings(db=str(stage.share("two stores", make) / name))
    with stage.engine(settings) as engine:
        return call(engine, settings, "memory.list")["memories"]


def write_while_locked(stage: Stage, settings: Settings) -> Any:
    """Write while another store holds the lock, and read how long was waited."""
    with open_store(settings.db, clock=FixedClock()) as other, wiring.open_store(settings) as store:
        held, release = threading.Event(), threading.Event()

        def hold() -> None:
            with other.writing(ADA):
                held.set()
                release.wait(BOUND_S)

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait(BOUND_S)
        try:
            return tell(lambda: _write(store))["message"].partition(" for over ")[2]
        finally:
            release.set()
            thread.join(BOUND_S)


def _write(store: Any) -> None:
    with store.writing(ADA) as work:
        work.memories.add(note("m_1"))


def read_together(stage: Stage, settings: Settings) -> Any:
    """Read while another reading is open, and look whether there is a connection for both."""
    begun = threading.Event()
    with wiring.open_store(settings) as store:

        def read() -> None:
            with store.reading(ADA):
                begun.set()

        with store.reading(ADA):
            thread = threading.Thread(target=read)
            thread.start()
            at_once = begun.wait(BOUND_S if settings.readers > 1 else 0.1)
        thread.join(BOUND_S)
    return at_once


def wait_for_log(engine: Engine, settings: Settings) -> Any:
    """Search, wait a moment, and look whether the log is written by itself."""
    engine.searcher.search(ADA, SearchRequest(query="tea"))
    pause = threading.Event()
    for _ in range(100):
        if engine.store.log.status().waiting == 0:
            return "written"
        pause.wait(0.01)
    return "waiting"


def search_often(engine: Engine, settings: Settings) -> Any:
    """Search more often than may wait to be logged, and read what the memory says of its health."""
    for number in range(5):
        engine.searcher.search(ADA, SearchRequest(query=f"tea {number}"))
    return engine.store.log.status().dropped


def copy_store(engine: Engine, settings: Settings) -> Any:
    """Make a checkpoint, and look for it."""
    engine.store.checkpoints.create("mine")
    return _folders_of(settings, "*")


def _folders_of(settings: Settings, pattern: str) -> list[str]:
    """Return the folders, beside the store, that hold such files."""
    root = Path(settings.db).parent
    found = {str(path.parent.relative_to(root)) for path in root.rglob(pattern) if path.is_file()}
    return sorted({Path(place).parts[0] if place != "." else place for place in found})


def archive(engine: Engine, settings: Settings) -> Any:
    """Archive an old search, and look for the archive."""
    search_long_ago(engine, ADA, None)
    call(engine, settings, "retention.run")
    return _folders_of(settings, "*.gz")


def plan_retention(engine: Engine, settings: Settings) -> Any:
    """Count what would be archived or removed of old rows."""
    search_long_ago(engine, ADA, None)
    with engine.store.writing(ADA) as work:
        at = engine.clock.now() - timedelta(days=400)
        work.shadow_runs.add_many([samples.shadow_run("q_old", created_at=at)])
    return call(engine, settings, "retention.run", dry_run=True)


def archive_in_server(engine: Engine, settings: Settings) -> Any:
    """Let a server look for old rows, and look for the archive."""
    search_long_ago(engine, ADA, None)
    scheduled = schedule_retention(settings, engine.store, engine.clock)
    if scheduled is not None:
        scheduled.look()
    return _folders_of(settings, "*.gz")


def save_related(first: str, second: str, more: str = "") -> Do:
    """Save two notes on one subject, and read what the gate decided on each."""
    return save_in_turn(COOKIE.format(first), COOKIE.format(second) + more)


def save_in_turn(*bodies: str) -> Do:
    """Save notes under one title, and read what the gate decided on each."""

    def work(engine: Engine, settings: Settings) -> Any:
        saved = [engine.saver.save(ADA, Draft(title="Session cookie", body=body)) for body in bodies]
        return [(outcome.decision, outcome.would_reject) for outcome in saved]

    return in_engine(work)


KIOSK = "The kiosk at the harbour opens at nine, closes at five, and sells tickets for every ferry to the islands."


def flood(engine: Engine, settings: Settings) -> Any:
    """Let a program save notes close to what others wrote, or to its own; read which are quarantined."""
    engine.saver.save(ADA, Draft(title="Kiosk", body=KIOSK))
    program = Scope(tenant=ADA.tenant, principal="program")
    copies = [Draft(title="Kiosk", body=KIOSK.replace("nine", hour), automated=True) for hour in ("ten", "two", "six")]
    own = Scope(tenant="own", principal="program")
    alike = [
        Draft(title=f"Offer {place} at the harbour", body=f"{KIOSK} Buy {place}.", automated=True) for place in range(6)
    ]
    return (
        [engine.saver.save(program, draft).quarantined for draft in copies],
        [engine.saver.save(own, draft).quarantined for draft in alike],
    )


def fold(engine: Engine, settings: Settings) -> Any:
    """Fold the index of a few notes, and read its kind and where it lies."""
    for word in ("tea", "oven", "router"):
        engine.saver.save(ADA, Draft(title=word, body=f"The {word} stands in the hall of the house."))
    engine.indexes.compact(ADA)
    return engine.indexes.status(ADA).vector_kind, _folders_of(settings, "*")


def save_long(engine: Engine, settings: Settings) -> Any:
    """Save a long note, and count its passages."""
    body = "\n\n".join(f"Paragraph {number} speaks of room {number} and of nothing else." for number in range(60))
    saved = engine.saver.save(ADA, Draft(title="Long", body=body))
    with engine.store.reading(ADA) as work:
        return len(work.memories.chunks_of(str(saved.memory_id)))


def search_notes(**given: Any) -> Do:
    """Search a few notes, by every channel."""

    def work(engine: Engine, settings: Settings) -> Any:
        _fill(engine)
        request = {"query": "harbour crane", "explain": True, **given}
        found = call(engine, settings, "memory.search", ADA, **request)
        titles = {hit["memory_id"]: hit["title"] for hit in found["hits"]}
        return [(titles[hit["memory_id"]], round(hit["score"], 9)) for hit in found["hits"]], found["weights"]

    return in_engine(work)


def search_notes_over_mcp(stage: Stage, settings: Settings) -> Any:
    """Search the same notes as an agent, and count what it gets and what was left out."""
    with stage.engine(settings) as engine:
        _fill(engine)
        caller = Caller(
            opened=engine, settings=settings, grant=Grant(ADA, Access.OPERATOR), surface=Surface.MCP, via="truth"
        )
        verb = VERBS["memory.search"]
        found = verb.to_json(verb.call(caller, verb.make({"query": "harbour crane"})))
        return len(found["hits"]), found["below_relevance"], found["min_relevance"]


def _fill(engine: Engine) -> None:
    """Save notes that different channels find."""
    texts = {
        "Crane": "The harbour crane lifts forty tonnes.",
        "Harbour": "\n\n".join(f"The harbour crane rests on day {day}, and the crew cleans it." for day in range(30)),
        "Bird": "A crane is a bird too.",
        "Teapot": "The teapot is blue.",
    }
    ids = {
        title: str(
            engine.saver.save(
                ADA, Draft(title=title, body=body, triggers=("crane",) if title == "Bird" else ())
            ).memory_id
        )
        for title, body in texts.items()
    }
    call(engine, Settings(), "memory.link", source_id=ids["Teapot"], kind="caused", target_id=ids["Crane"])


STORES = {
    "db": Values("first.db", "second.db", open_file),
    "tenant": do_with("tenant", "blue", "green", in_engine(list_titles)),
    "principal": do_with("principal", "ada", "ben", in_engine(show_author)),
    "store.lock_timeout_s": do_with("lock_timeout_s", 0.01, 0.02, write_while_locked),
    "store.readers": do_with("readers", 5, 1, read_together),
    "log.flush_interval_s": do_with("flush_interval_s", 0.001, 60.0, in_engine(wait_for_log)),
    "log.capacity": do_with("log_capacity", 2, 20, in_engine(search_often)),
    "retention.query_days": do_with("retention_query_days", 90.0, 900.0, in_engine(plan_retention)),
    "retention.every_hours": do_with("retention_every_hours", 1, 0, in_engine(archive_in_server)),
    "retention.shadow_days": do_with("retention_shadow_days", 90.0, 900.0, in_engine(plan_retention)),
    "similarity.duplicate": do_with("similarity_duplicate", 0.92, 0.99, save_related("twelve", "twelve", " Always.")),
    "similarity.merge": do_with(
        "similarity_merge", 0.88, 0.98, save_related("twelve", "twelve", " Always."), similarity_duplicate=0.99
    ),
    "similarity.related": do_with(
        "similarity_related",
        0.75,
        0.98,
        save_in_turn(
            COOKIE.format("twelve"), "The session cookie is now kept for twenty hours, whatever the last request was."
        ),
        similarity_merge=0.98,
        similarity_duplicate=0.99,
    ),
    "save.copies_per_day": do_with("save_copies_per_day", 2, 20, in_engine(flood)),
    "save.alike_per_day": do_with("save_alike_per_day", 2, 50, in_engine(flood)),
    "index.exact_below": do_with("index_exact_below", 1, 100, in_engine(fold)),
    "chunking.max_tokens": do_with("chunking_max_tokens", 64, None, in_engine(save_long)),
    "chunking.overlap_tokens": do_with("chunking_overlap_tokens", 0, 30, in_engine(save_long), chunking_max_tokens=64),
    "search.k": do_with("search_k", 1, 2, search_notes()),
    "search.min_relevance": do_with("search_min_relevance", 0.0, 1.0, search_notes()),
    "search.fusion": do_with("search_fusion", "convex", "rrf", search_notes()),
    "search.full_text": do_with("search_full_text", "phrases", "always", search_notes()),
    "search.rrf_k": do_with("search_rrf_k", 10, 60, search_notes(), search_fusion="rrf"),
    "search.coefficient": do_with(
        "search_coefficient",
        0.1,
        0.9,
        search_notes(),
        chunking_max_tokens=64,
        flags={"docscore_aggregation": ("on", Origin("environment", "a probe"))},
    ),
    **{
        f"search.weights.{channel}": do_with(f"search_weights_{channel}", 0.1, 0.9, search_notes(query=query))
        for channel, query in {
            "vector": "harbour crane",
            "fts5": '"harbour crane"',
            "bm25": "harbour crane",
            "graph": "harbour crane",
            "trigger": "crane",
        }.items()
    },
}


def place_files(field: str, do: Do) -> Values:
    """Name a folder beside the store, or another, and look which of them is used."""

    def look(stage: Stage, name: str) -> Any:
        settings = stage.settings()
        return do(stage, settings.change(**{field: Path(settings.db).parent / name}))

    return Values("here", "there", look)


def import_and_run(stage: Stage, settings: Settings) -> Any:
    """Import a dataset and run over it; look where both lie."""
    with stage.engine(settings, hashed=False) as engine:
        dataset = settings.db + ".json"
        write_golden(Path(dataset), judging.dataset())
        root = Path(settings.db).parent
        _command(settings, root, "dataset", "import", dataset)
        call(engine, settings, "run.start", dataset="answers", max_cases=1, metrics=["recall@5"])
    return _folders_of(settings, "*")


FOLDERS = {
    "checkpoints.folder": place_files("checkpoint_folder", in_engine(copy_store)),
    "archives.folder": place_files("archive_folder", in_engine(archive)),
    "index.folder": place_files("index_folder", in_engine(fold)),
    "datasets.folder": place_files("datasets_folder", import_and_run),
    "runs.folder": place_files("runs_folder", import_and_run),
}


def use_schema(stage: Stage, schema: str) -> Any:
    """Open one of two schemas, of which the first holds a note."""

    def make() -> str:
        address = stage.postgres.address
        with stage.engine(db=address, postgres_schema="first") as engine:
            engine.saver.save(ADA, Draft(title="Tea", body=COOKIE.format("two")))
        return address

    settings = stage.settings(db=stage.share("schemas", make), postgres_schema=schema)
    with stage.engine(settings) as engine:
        return len(call(engine, settings, "memory.list")["memories"])


def choose_index(stage: Stage, kind: str) -> Any:
    """Save and search a note on PostgreSQL; read what answered, and which files were made."""
    settings = stage.settings(db=stage.postgres.address, postgres_schema="kinds", index_kind=kind)
    with stage.engine(settings) as engine:
        engine.saver.save(ADA, Draft(title="Tea", body=COOKIE.format("two")), gated=False)
        found = engine.searcher.search(ADA, SearchRequest(query="cookie"))
        engine.indexes.compact(ADA)
        made = any(path.is_file() for path in (settings.index_folder or Path()).rglob("*"))
        return engine.indexes.status(ADA).kind, bool(found.hits), made


def sleep_in_database(stage: Stage, seconds: float) -> Any:
    """Let the database work for a while, and read whether it was cancelled."""
    settings = stage.settings(db=stage.postgres.address, postgres_schema="sleeping", statement_timeout_s=seconds)

    def sleep() -> Any:
        with wiring.open_store(settings) as store, raw(store) as connection:
            return connection.execute(text("SELECT 1 FROM pg_sleep(0.2)")).scalar_one()

    return tell(sleep)


def restore_dump(stage: Stage, name: str) -> Any:
    """Restore a checkpoint that an earlier version made with pg_dump; of two folders, one holds the programs for it."""
    server = stage.postgres

    def make() -> tuple[Home, str]:
        home = Home(
            server.address,
            FixedClock(),
            postgres_schema="dumps",
            postgres_programs=server.programs,
            checkpoint_folder=stage.new_folder(),
        )
        with home.open() as store:
            keep(store, ADA, "m_1")
            return home, dumped(home, server, store).id

    home, checkpoint = stage.share("dump", make)
    programs = server.programs if name == "full" else stage.new_folder()
    with home.open(postgres_programs=programs) as store:
        return str(tell(lambda: store.checkpoints.restore(checkpoint, ADA) and "restored")).partition("'message'")[0]


# --- Embedders, models and judges ---


def save_with_kind(stage: Stage, settings: Settings) -> Any:
    """Save and search with the embedder of the settings, and read by which channels the note was found."""
    with stage.engine(settings, hashed=False) as engine:
        engine.saver.save(ADA, Draft(title="Tea", body=COOKIE.format("two")))
        found = engine.searcher.search(ADA, SearchRequest(query="cookie"))
        return [[str(channel) for channel in hit.channels] for hit in found]


def read_model(stage: Stage, settings: Settings) -> Any:
    """Save with the embedder of the settings, and read whose vectors are kept."""
    with stage.engine(settings, hashed=False) as engine:
        engine.saver.save(ADA, Draft(title="Tea", body=COOKIE.format("two")))
        with engine.store.reading(ADA) as work:
            return work.vectors.active()


def embed_remotely(field: str, first: Any, other: Any, **fixed: Any) -> Values:
    """Ask two services for vectors, and read what came back and what each of them heard.

    `{one}` and `{two}` in values stand for their addresses.
    """

    def look(stage: Stage, value: Any) -> Any:
        home = str(stage.new_folder())
        with (
            serving_vectors(length_of_each) as one,
            serving_vectors(length_of_each) as two,
            set_environment(XDG_DATA_HOME=home, FIRST_KEY="sk-first", SECOND_KEY="sk-second"),
        ):
            given = {"embedder": "remote", "embedder_url": one.url, "embedder_model": "m", **fixed, field: value}
            named = {name: _name(text, one.url, two.url) for name, text in given.items()}
            settings = stage.settings(**named)
            shape = tell(lambda: wiring.load_embedder(settings).embed(["tea", "oven"]).tolist())
            heard = [
                [(request.body["model"], request.headers.get("Authorization")) for request in service.heard]
                for service in (one, two)
            ]
            return str(shape).replace(one.url, "").replace(two.url, ""), heard

    return Values(first, other, look)


def _name(value: Any, one: str, two: str) -> Any:
    return value.format(one=one, two=two) if isinstance(value, str) else value


def load_local(stage: Stage, name: str) -> Any:
    """Load a model from a folder that has one, or from one that is empty."""
    folder = stage.new_folder()
    (folder / "empty").mkdir()
    full = folder / "full"
    full.mkdir()
    for file, inner in zip(FILES, ("model.onnx", "tokenizer.json"), strict=True):
        (full / inner).symlink_to(file.verify(extra="memory"))
    settings = stage.settings(embedder="local", embedder_folder=folder / name)
    return tell(lambda: wiring.load_embedder(settings, run_once=True).dimension).__class__


def count_threads(stage: Stage, settings: Settings) -> Any:
    """Load the model in a process of its own, and count the threads of that process.

    Other tests leave threads in this process that end at any time, so a count here would say nothing.
    """
    program = (
        "import os\n"
        "from assay import wiring\n"
        "from assay.settings import Settings\n"
        f"settings = Settings(embedder={settings.embedder!r}, embedder_threads={settings.embedder_threads})\n"
        "embedder = wiring.load_embedder(settings)\n"
        "print(len(os.listdir('/proc/self/task')))"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return int(finished.stdout)


ASKED = ChatRequest(messages=(Message(role="user", content="Well?"),))


def ask_model(field: str, first: Any, other: Any, *, times: int = 1, days_between: int = 0, **fixed: Any) -> Values:
    """Ask two services through the settings, and read the replies and what each of them heard."""

    def look(stage: Stage, value: Any) -> Any:
        home = str(stage.new_folder())
        act = replying("hello", prompt_tokens=400_000, completion_tokens=200_000)
        with (
            serving(act) as one,
            serving(act) as two,
            set_environment(XDG_DATA_HOME=home, FIRST_KEY="sk-first", SECOND_KEY="sk-second"),
        ):
            given = {"model_url": one.url, "model_name": "small:1b", **fixed, field: value}
            settings = stage.settings(**{name: _name(text, one.url, two.url) for name, text in given.items()})
            clock = FixedClock()
            with open_store(settings.db, clock=clock) as store:

                def ask() -> Any:
                    model = wiring.open_model(settings, store, ADA, cached=False, clock=clock)
                    clock.advance(days=days_between)
                    return model.complete(ASKED).text

                told = [tell(ask) for _ in range(times)]
            heard = [
                [
                    (request.body["model"], request.body.get("max_tokens"), request.headers.get("Authorization"))
                    for request in service.heard
                    if request.method == "POST"
                ]
                for service in (one, two)
            ]
            return str(told).replace(one.url, "").replace(two.url, ""), heard

    return Values(first, other, look)


def judge_once(stage: Stage, settings: Settings) -> Any:
    """Judge an answer with the model, and read what the service was asked for."""
    with serving(judging.scoring) as service, open_store(settings.db, clock=FixedClock()) as store:
        asking = settings.change(model_url=service.url)
        judge = wiring.open_judge(asking, store, ADA, rubric="groundedness")
        judge.judge_case(judging_case())
        return [
            (request.body["model"], request.body.get("max_tokens"))
            for request in service.heard
            if request.method == "POST"
        ]


def judging_case() -> Any:
    """Return a case to judge."""
    from tests.judging.made import case  # noqa: PLC0415 - a name that is used here alone

    return case("It says 4.")


def wait_for_model(stage: Stage, settings: Settings) -> Any:
    """Ask a service that never answers, and read how long was waited."""
    with serving(hang) as service, open_store(settings.db, clock=FixedClock()) as store:
        model = wiring.open_model(settings.change(model_url=service.url), store, ADA, cached=False)
        told = tell(lambda: model.complete(ASKED))["message"]
        return round(float(told.partition(" within ")[2].split()[0]), 2)


def ask_together(stage: Stage, settings: Settings) -> Any:
    """Ask a service twice while it keeps the first question waiting, and read what became of the second."""
    arrived = threading.Semaphore(0)

    def wait(handler: Handler) -> None:
        if handler.heard.method == "POST":
            arrived.release()
            hang(handler)
        sending(envelope("hello"))(handler)

    with serving(wait) as service, open_store(settings.db, clock=FixedClock()) as store:
        model = wiring.open_model(
            settings.change(model_url=service.url, model_deadline_s=BOUND_S), store, ADA, cached=False
        )
        first = threading.Thread(target=lambda: tell(lambda: model.complete(ASKED)), daemon=True)
        first.start()
        assert arrived.acquire(timeout=BOUND_S)
        second = ChatRequest(messages=ASKED.messages, deadline_s=0.3)
        told = tell(lambda: model.complete(second))["message"].replace(service.url, "")
        service.closing.set()
        first.join(BOUND_S)
        return "place" if "places" in told else "answer"


def _command(settings: Settings, folder: Path, *argv: str, **variables: str) -> tuple[int, str]:
    """Run a command in a folder with settings in the environment; return its exit code and what it printed."""
    out = io.StringIO()
    given = {
        "ASSAY_DB": settings.db,
        "ASSAY_EMBEDDER_KIND": "none",
        "ASSAY_DATASETS_FOLDER": str(settings.datasets_folder),
        "ASSAY_RUNS_FOLDER": str(settings.runs_folder),
        "HOME": str(folder),
        **variables,
    }
    code = 0
    with (
        set_environment(given),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
    ):
        try:
            main(list(argv))
        except SystemExit as end:
            code = int(end.code or 0)
    return code, out.getvalue()


def command_with(
    variable: str, first: str, other: str, do: Callable[[Callable[..., tuple[int, str]], Path], Any]
) -> Values:
    """Judge a run by the command line, with a variable of the environment that differs."""

    def look(stage: Stage, value: str) -> Any:
        settings = stage.settings()
        folder = Path(settings.db).parent
        write_golden(folder / "answers.json", judging.dataset())
        with serving(judging.scoring) as service:

            def run(*argv: str) -> tuple[int, str]:
                given = {"ASSAY_MODEL_URL": service.url, "ASSAY_MODEL_NAME": "strict:1b", variable: value}
                return _command(settings, folder, *argv, **given)

            run("dataset", "import", "answers.json")
            run_system(judging.dataset(), judging.Answering(), running=Running(runs=settings.runs_folder))
            return do(run, folder)

    return Values(first, other, look)


def calibrate(run: Callable[..., tuple[int, str]], folder: Path) -> Any:
    """Calibrate a judge, and read for how long it counts and whether it passed."""
    code, told = run("judge", "calibrate", "--labels", str(judging.labels(folder / "labels.jsonl")), "--json")
    found = json.loads(told)
    lasts = found["expires_at"][:10], found["made_at"][:10]
    return code, found["passed"], lasts


def judge_answers(run: Callable[..., tuple[int, str]], folder: Path) -> Any:
    """Judge a run, have a second judge check it, and read who both were."""
    _, told = run("judge", "run", "--about", "groundedness", "--json")
    _, checked = run("judge", "spot-check", "--share", "1", "--json")
    second = json.loads(checked)
    return json.loads(told)["judges"][0]["judge"], {
        name: second.get(name) for name in ("second", "error", "judge", "judges")
    }


BUDGET: dict[str, Any] = {"model_price_in": 1.0, "model_price_out": 1.0}
MODELS = {
    "embedder.kind": do_with("embedder", "none", "static", save_with_kind),
    "embedder.name": do_with("embedder_name", "static", "minilm", read_model, embedder="registered"),
    "embedder.folder": Values("full", "empty", load_local),
    "embedder.url": embed_remotely("embedder_url", "{one}", "{two}"),
    "embedder.model": embed_remotely("embedder_model", "m", "n"),
    "embedder.dimension": embed_remotely("embedder_dimension", 2, 3),
    "embedder.key_variable": embed_remotely("embedder_key_variable", "FIRST_KEY", "SECOND_KEY"),
    "embedder.threads": do_with("embedder_threads", 1, 3, count_threads, embedder="minilm"),
    "model.url": ask_model("model_url", "{one}", "{two}"),
    "model.name": ask_model("model_name", "small:1b", "large:1b"),
    "model.key_variable": ask_model("model_key_variable", "FIRST_KEY", "SECOND_KEY"),
    "model.deadline_s": do_with("model_deadline_s", 0.05, 0.1, wait_for_model, model_name="small:1b"),
    "model.concurrency": do_with("model_concurrency", 1, 4, ask_together, model_name="small:1b"),
    "model.max_tokens": do_with("model_max_tokens", 100, 200, judge_once, model_name="small:1b"),
    "model.price_in": ask_model("model_price_in", 1.0, 0.01, times=3, model_price_out=0.01, model_budget_usd=0.5),
    "model.price_out": ask_model("model_price_out", 4.0, 0.01, times=3, model_price_in=0.01, model_budget_usd=0.5),
    "model.budget_usd": ask_model("model_budget_usd", 0.5, 50.0, times=3, **BUDGET),
    "model.budget_tokens": ask_model("model_budget_tokens", 700_000, 7_000_000, times=3),
    "model.budget_period": ask_model(
        "model_budget_period", "day", "ever", times=3, days_between=1, model_budget_tokens=700_000
    ),
    "model.allow_floating": ask_model("model_allow_floating", "no", "yes", model_name="small:latest"),
    "judge.model": command_with("ASSAY_JUDGE_MODEL", "strict:1b", "kinder:1b", judge_answers),
    "judge.second_model": command_with("ASSAY_JUDGE_SECOND_MODEL", "other:1b", "kinder:1b", judge_answers),
    "judge.calibration_days": command_with("ASSAY_JUDGE_CALIBRATION_DAYS", "30", "3", calibrate),
    "judge.floor": command_with("ASSAY_JUDGE_FLOOR", "0.6", "1.1", calibrate),
}


# --- Servers ---


def request_api(*asked: tuple[str, str, dict[str, Any]], local: bool = True) -> Do:
    """Send requests to the server of the settings, and read their statuses."""

    def do(stage: Stage, settings: Settings) -> Any:
        with stage.engine(settings) as engine:
            services = Services(engine, settings)
            with reaching(services, local=local) as client:
                return [client.request(method, path, **more).status_code for method, path, more in asked]

    return do


SEARCH = ("POST", "/api/memory/search", {"json": {"query": "tea"}})
ANALYSE: tuple[str, str, dict[str, Any]] = ("POST", "/api/evaluation/analyze", {"json": {}})


def sign_in(minutes: float, *, look: bool = False) -> Do:
    """Sign in, wait, and look whether the browser is still let in; `look`: it asks for something half-way."""

    def do(stage: Stage, settings: Settings) -> Any:
        with stage.engine(settings) as engine:
            made = Services(engine, settings)
            begun = made.sign_ins.begin(token_text(made), "browser test")
            assert begun is not None
            seen = []
            for _ in range(4 if look else 1):
                engine.clock.advance(seconds=minutes * 60 / (4 if look else 1))  # type: ignore[attr-defined] # fixed
                seen.append(made.sign_ins.find(begun.text) is not None)
            return seen

    return do


def read_cookie(stage: Stage, settings: Settings) -> Any:
    """Sign in by the form, and read whether the cookie is for HTTPS alone."""
    with stage.engine(settings) as engine:
        services = Services(engine, settings)
        with reaching(services, local=False, pages=True) as client:
            answer = client.post("/login", data={"token": token_text(services)})
            return answer.status_code, "secure" in answer.headers.get("set-cookie", "").lower()


def come_by_proxy(stage: Stage, settings: Settings) -> Any:
    """Guess tokens through a proxy as one caller, and ask as another; read whether the other is held back too."""
    with stage.engine(settings) as engine:
        app = build(Services(engine, settings), open_to_this_machine=False, pages=False)
        with TestClient(app, base_url=HERE, client=("127.0.0.1", 1)) as client:
            for number in range(30):
                wrong = {"Authorization": f"Bearer {number}", "X-Forwarded-For": "198.51.100.1"}
                client.get("/api/flags", headers=wrong)
            other = {"Authorization": "Bearer wrong", "X-Forwarded-For": "198.51.100.2"}
            return client.get("/api/flags", headers=other).status_code


def crowd(stage: Stage, settings: Settings) -> Any:
    """Let connections come, wait and stall, and read which of them are ended, and when."""
    ended: dict[str, list[str]] = {}
    for phase in (Phase.HEAD, Phase.BODY, Phase.IDLE, Phase.CLOSING):
        door = Door(limits_of(settings))
        door.must_open("slow").enter(phase)
        for second in range(1, 60):
            door.clock.advance(seconds=1)
            if door.connections.end_overdue():
                ended[str(phase)] = [str(second)]
                break
    door = Door(limits_of(settings))
    for number in range(6):
        door.open(f"a{number}")
    for number in range(6):
        door.open(f"b{number}", f"192.0.2.{number}")
    return ended, door.ended


def open_mcp_sessions(stage: Stage, settings: Settings) -> Any:
    """Begin sessions as one principal, and read which of them are still there."""
    from tests.mcp.serving import serving_http  # noqa: PLC0415 - starts a server

    most = settings.mcp_sessions_per_principal
    with serving_http(stage.new_folder(), Several(), mcp_sessions_per_principal=most) as address:
        headers = {**ACCEPT, "Authorization": "Bearer one"}
        begun = [httpx2.post(address, json=HELLO, headers=headers) for _ in range(3)]
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        return [
            httpx2.post(
                address,
                json=ping,
                headers={
                    **headers,
                    "Mcp-Session-Id": answer.headers["mcp-session-id"],
                    "Mcp-Protocol-Version": "2025-11-25",
                },
            ).status_code
            for answer in begun
        ]


def come_from_page(stage: Stage, settings: Settings) -> Any:
    """Use MCP from a page of another origin."""
    from tests.mcp.serving import serving_http  # noqa: PLC0415 - starts a server

    origins = settings.mcp_allowed_origins
    with serving_http(stage.new_folder(), mcp_allowed_origins=origins) as address:
        headers = {**ACCEPT, "Origin": "http://localhost:6274"}
        return httpx2.post(address, json=HELLO, headers=headers).status_code


def work_at_once(stage: Stage, settings: Settings) -> Any:
    """Give the server three short requests that end together, and count those that are worked on at the same time."""
    with stage.engine(settings) as engine:
        services = Services(engine, settings)
        release, begun = threading.Event(), threading.Semaphore(0)

        def wait() -> None:
            begun.release()
            release.wait(BOUND_S)

        async def send() -> int:
            waiting = [asyncio.ensure_future(services.run(wait)) for _ in range(3)]
            await asyncio.sleep(0)
            for _ in range(settings.server_threads):
                assert await asyncio.to_thread(begun.acquire, timeout=BOUND_S)
            more = await asyncio.to_thread(begun.acquire, timeout=0.1)
            release.set()
            await asyncio.gather(*waiting)
            return settings.server_threads + more

        return asyncio.run(send())


def keep_to_core(stage: Stage, settings: Settings) -> Any:
    """Give two processes their cores, and read where a thread of the first may run."""
    here = sorted(os.sched_getaffinity(0))
    core = choose_cores(settings, 2, [here[0], here[0]])[0]
    return in_a_thread_of_its_own(core) if core is not None else "any core"


def stop_server(stage: Stage, settings: Settings) -> Any:
    """Stop a server by SIGTERM; read whether it stops at once, and how long its requests may take."""

    async def stop() -> Any:
        with stage.engine(settings) as engine:
            services = Services(engine, settings)
            server = make_server(build(services, open_to_this_machine=True, pages=False), services)
            server._loop = asyncio.get_running_loop()
            server.handle_exit(signal.SIGTERM, None)
            return server.should_exit, server.config.timeout_graceful_shutdown

    with stopping_nothing_else():
        return asyncio.run(stop())


def write_logs(stage: Stage, settings: Settings) -> Any:
    """Serve a request, log a warning, and return what was written, without times."""
    names = (None, "assay", "uvicorn", "assay.requests")
    before = [(logging.getLogger(name), logging.getLogger(name).level) for name in names]
    handlers, written = list(logging.getLogger().handlers), io.StringIO()
    try:
        with stage.engine(settings) as engine, reaching(Services(engine, settings)) as client:
            set_up_logs(settings, mask_value, written)
            client.get("/healthz")
            logging.getLogger("assay.server").warning("something happened")
    finally:
        logging.getLogger().handlers[:] = handlers
        for logger, level in before:
            logger.setLevel(level)
    found = written.getvalue()
    return ["json" if line.startswith("{") else "text" for line in found.splitlines()], "healthz" in found


SERVERS = {
    "server.threads": do_with("server_threads", 1, 2, work_at_once),
    "server.own_core": do_with("server_own_core", "yes", "no", keep_to_core),
    "server.requests_per_minute": do_with("server_requests_per_minute", 4, 4_000, request_api(*[SEARCH] * 6)),
    "server.trusted_proxies": do_with("server_trusted_proxies", ("192.0.2.0/24",), ("127.0.0.1",), come_by_proxy),
    "server.connections": do_with("server_connections", 3, 12, crowd),
    "server.connections_per_address": do_with("server_connections_per_address", 2, 4, crowd),
    "server.head_s": do_with("server_head_s", 5.0, 50.0, crowd),
    "server.body_s": do_with("server_body_s", 5.0, 50.0, crowd),
    "server.idle_s": do_with("server_idle_s", 5.0, 50.0, crowd),
    "server.stalled_s": do_with("server_stalled_s", 5.0, 50.0, crowd),
    "server.request_cpu_s": do_with("server_request_cpu_s", 1e-9, 30.0, request_api(SEARCH)),
    "server.long_request_cpu_s": do_with("server_long_request_cpu_s", 1e-9, 900.0, request_api(ANALYSE)),
    "server.drain_s": do_with("server_drain_s", 0, 1, stop_server),
    "server.stop_s": do_with("server_stop_s", 10, 60, stop_server),
    "server.log_level": do_with("server_log_level", "error", "warning", write_logs),
    "server.access_log": do_with("server_access_log", "no", "yes", write_logs),
    "server.log_format": do_with("server_log_format", "text", "json", write_logs),
    "server.session_hours": do_with("server_session_hours", 1.0, 12.0, sign_in(120, look=True)),
    "server.session_idle_minutes": do_with("server_session_idle_minutes", 10.0, 60.0, sign_in(30)),
    "server.behind_https": do_with("server_behind_https", "no", "yes", read_cookie),
    "mcp.allowed_origins": do_with("mcp_allowed_origins", (), ("http://localhost:6274",), come_from_page),
    "mcp.min_relevance": do_with("mcp_min_relevance", 0.0, 1.0, search_notes_over_mcp),
    "mcp.sessions_per_principal": do_with("mcp_sessions_per_principal", 1, 3, open_mcp_sessions),
}


# --- Runs, gates, learning, tracing, the network ---


def gate_run(stage: Stage, settings: Settings) -> Any:
    """Judge a run that is worse than its baseline, and read the verdicts."""
    place = stage.place
    asking = place.settings.change(gate_metric=settings.gate_metric) if settings.gate_metric else place.settings
    asking = asking.change(floors=settings.floors)
    tenant = stage.share("gated", place.tenant)
    runs = {name: run.run_id for name, run in place.files.runs.items()}
    found = call(place.services.engine, asking, "run.gate", tenant.scope, run=runs["poor"], baseline=runs["auto"])
    return tenant.plain(found)


def read_learning(engine: Engine, settings: Settings) -> Any:
    """Switch learning on, and read what is still missing after eight days."""
    engine.flags.turn(engine.store, ADA, "learn_from_selection", "on")
    engine.clock.advance(days=8)  # type: ignore[attr-defined] # a fixed clock
    return call(engine, settings, "learning.status")


def shadow_searches(stage: Stage, settings: Settings) -> Any:
    """Search with a flag in the shadow, and count the comparisons."""
    with wiring.serving(settings, clock=FixedClock(), embedder=HashedEmbedder()) as engine:
        engine.saver.save(ADA, Draft(title="Tea", body=COOKIE.format("two")))
        engine.flags.turn(engine.store, ADA, "mmr", None, shadow=True)
        for number in range(40):
            engine.searcher.search(ADA, SearchRequest(query=f"cookie {number}"))
    with stage.engine(settings) as engine, engine.store.reading(ADA) as work:
        return len(work.shadow_runs.of("mmr")) > 20


def trace_search(stage: Stage, settings: Settings) -> Any:
    """Search in a process with tracing, and read what the console got."""
    out = io.StringIO()
    with contextlib.redirect_stderr(out):
        _search_traced(stage, settings)
    return "search" in out.getvalue(), "very rare" in out.getvalue()


def _search_traced(stage: Stage, settings: Settings) -> None:
    with stage.engine(settings) as engine:
        spans = wiring.trace(settings, engine)
        engine.searcher.search(ADA, SearchRequest(query="a very rare question"))
        if spans is not None:
            # As when the process ends.
            spans._tracer.span_processor.shutdown()  # type: ignore[attr-defined] # of the SDK


class Collector(BaseHTTPRequestHandler):
    """Counts what is sent to it."""

    server: Any

    def do_POST(self) -> None:
        """Take spans."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.paths.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        """Print nothing."""


def send_spans(stage: Stage, path: str) -> Any:
    """Search with a collector, and read at which path it was sent spans."""
    collector = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    collector.paths = []  # type: ignore[attr-defined] # of Collector
    thread = threading.Thread(target=collector.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        address = f"http://127.0.0.1:{collector.server_port}{path}"
        _search_traced(stage, stage.settings(otel_exporter="otlp", otel_endpoint=address))
        return sorted(set(collector.paths))  # type: ignore[attr-defined] # the same
    finally:
        collector.shutdown()
        collector.server_close()
        thread.join()


def send_alerts(stage: Stage, settings: Settings) -> list[str]:
    """Refuse the questions of a week after four weeks of answers, and send the alerts."""
    with stage.engine(settings) as engine:
        now = engine.clock.now()
        with engine.store.writing(ADA) as work:
            for place in range(90):
                bad = place >= 50
                # The week began some days ago at most, so that what is new came just now.
                moment = now - timedelta(seconds=90 - place) - timedelta(days=0 if bad else 20)
                outcome = QuestionOutcome.REFUSED if bad else QuestionOutcome.ANSWERED
                asked = f"question {place}"
                work.research.put(
                    ResearchSession(log_id=f"r_{place}", created_at=moment, question=asked, outcome=outcome), {}
                )
        return [alert.id for alert in send_new_alerts(settings, engine.store, ADA, engine.clock)]


def post_alerts(stage: Stage, path: str) -> Any:
    """Send alerts to a webhook, and read at which path they arrived."""
    hook = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    hook.paths = []  # type: ignore[attr-defined] # of Collector
    thread = threading.Thread(target=hook.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        assert send_alerts(stage, stage.settings(alerts_webhook=f"http://127.0.0.1:{hook.server_port}{path}"))
        return sorted(set(hook.paths))  # type: ignore[attr-defined] # the same
    finally:
        hook.shutdown()
        hook.server_close()
        thread.join()


def write_alerts(stage: Stage, name: str) -> Any:
    """Send alerts to a file, and read which file is there."""
    folder = stage.new_folder()
    assert send_alerts(stage, stage.settings(alerts_file=folder / name))
    return sorted(path.name for path in folder.iterdir())


def reach_address(stage: Stage, settings: Settings) -> Any:
    """Ask whether an address may be contacted."""
    return tell(lambda: gatekeeper_of(settings).check("https://search.example.com/v1"))


def ask_with_table(stage: Stage, settings: Settings) -> Any:
    """Answer a question, and read whether the answer was judged."""
    with stage.engine(settings) as engine:
        engine.saver.save(ADA, Draft(title="Cookie", body="The session cookie lives for twelve hours."))
        found = wiring.open_research(settings, engine, ADA).ask(ADA, "How long does the session cookie live?")
        return found.session.scores


OTHERS = {
    "gate.metric": do_with("gate_metric", "recall@5", "ndcg@10", gate_run),
    "floors": do_with("floors", {"ndcg@10": 0.01}, {"ndcg@10": 0.99}, gate_run),
    "learning.shadow_days": do_with("learning_shadow_days", 7, 30, in_engine(read_learning)),
    "shadow.percent": do_with("shadow_percent", 1, 100, shadow_searches),
    "otel.exporter": do_with("otel_exporter", "none", "console", trace_search),
    "otel.endpoint": Values("/first", "/second", send_spans),
    "otel.texts": do_with("otel_texts", "no", "yes", trace_search, otel_exporter="console"),
    "alerts.webhook": Values("/first", "/second", post_alerts),
    "alerts.file": Values("one.jsonl", "two.jsonl", write_alerts),
    "network.offline": do_with("network_offline", False, True, reach_address),
    "network.allow": do_with(
        "network_allow", "https://other.example.com", "https://search.example.com", reach_address, network_offline=True
    ),
    "research": do_with("research", {"evaluate": "off"}, {"evaluate": "builtin"}, ask_with_table),
    "postgres.programs": Values("full", "empty", restore_dump),
    "postgres.schema": Values("first", "second", use_schema),
    "index.kind": Values("local", "database", choose_index),
    "postgres.statement_timeout_s": Values(0.05, 300.0, sleep_in_database),
}
PROBES: dict[str, Probe] = make_probes("setting", {**STORES, **FOLDERS, **MODELS, **SERVERS, **OTHERS})
