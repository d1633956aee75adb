"""Ten attempts to walk around the ten safeguards of learned triggers, and one by a single principal: each is refused.

Each attempt is made where somebody could make it: the command line, HTTP, MCP, a file to import, a checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.cli.telling import Run, runner
from tests.memory.engines import engine_at
from tests.memory.learning.desk import FLAG, Desk
from tests.memory.learning.test_triggers import held_in_tables
from tests.server.serving import FOREIGN, OWN, bearer, reaching, services_at
from tests.storage.homes import Home

from assay import wiring
from assay.evaluation.datasets import load_dataset
from assay.memory.engine import Engine
from assay.memory.learning import Learning, Policy, Which
from assay.records import Channel, Draft, Scope, SearchRequest
from assay.records.access import Access
from assay.records.learning import LearnedTerm, TermState
from assay.settings import load_settings
from assay.systems.assay_engine import take_in
from assay.testing import FixedClock

ADA = Scope(tenant="acme", principal="ada")


# 1
@pytest.mark.parametrize(
    "question",
    [
        "THE What?! ...which--HOW",
        "\uff54\uff48\uff45 \U0001d430\U0001d421\U0001d41a\U0001d42d",  # full width and mathematical letters
        "th\u00e9 th\u0301e th\u00ade",  # accents and a soft hyphen
        "th\u0435 wh\u0430t",  # letters of another script that look the same
        "the1 what2 3which",
        "don't isn't whats thats",
        "questions asking finds wanted",
    ],
)
def test_a_stop_word_in_disguise_is_a_stop_word(sqlite_desk: Desk, question: str) -> None:
    desk = sqlite_desk
    desk.clock.advance(days=10)
    desk.on()
    desk.learn(f"{question} quagga")
    assert desk.terms() == ["quagga"]
    assert desk.audit("learning.denylist")


# 2
def test_neither_more_sessions_nor_a_clock_that_jumps_raise_the_rate(desk: Desk) -> None:
    desk.clock.advance(days=10)
    desk.on()
    sessions = tuple(f"many_{number}" for number in range(30))
    desk.learn("quagga habitat savanna steppe okapi", sessions=sessions)
    assert len(desk.terms()) == 3
    # A clock that is set back does not begin another window.
    desk.clock.advance(days=-2)
    desk.learn("steppe okapi", sessions=tuple(f"early_{number}" for number in range(30)))
    assert len(desk.terms()) == 3
    # Another process that knows nothing of the first has no room of its own.
    desk.clock.advance(days=2, hours=1)
    again = Desk(desk.store, desk.clock)
    again.chosen("steppe okapi", session="elsewhere")
    again.learning.catch_up(again.scope)
    assert len(desk.terms()) == 3


# 3
def test_neither_a_restart_nor_a_checkpoint_nor_more_of_the_same_renews_a_term(desk: Desk) -> None:
    desk.open_the_gate()
    ends = {term.term: term.learned_at + timedelta(days=30) for term in desk.learned()}
    kept = desk.store.checkpoints.create("with terms")
    desk.clock.advance(days=20)
    desk.learn("quagga habitat", sessions=tuple(f"again_{number}" for number in range(12)))
    again = Desk(desk.store, desk.clock)
    again.learning.catch_up(again.scope)
    assert {term.term: term.learned_at + timedelta(days=30) for term in desk.learned()} == ends
    desk.clock.advance(days=10)
    again.learning.catch_up(again.scope)
    assert desk.terms("applied", "shadow") == []
    desk.store.checkpoints.restore(kept.name, scope=desk.scope)
    # It is in the column again, and no search believes it.
    assert desk.memory().learned_triggers == ("habitat", "quagga")
    assert boosts_of(desk) == []
    desk.learning.catch_up(desk.scope)
    assert (desk.memory().learned_triggers, desk.terms("expired")) == ((), ["habitat", "quagga"])


def boosts_of(desk: Desk) -> list[str]:
    """The names of the boosts that learned triggers give to results."""
    hits = desk.shelf.search("m_1 quagga", explain=True)
    found = [boost for hit in hits if hit.explanation for boost in hit.explanation.boosts]
    return [boost.reason for boost in found if boost.name == "learned_triggers"]


# 4
def test_an_applied_term_reaches_no_full_text_index_by_any_way(home: Home, tmp_path: Path) -> None:
    with engine_at(home) as engine:
        memory_id = save(engine, "Zebras", "Striped horses of the plains.", source_id="zebra.md")
        engine.flags.turn(engine.store, ADA, FLAG, True)
        apply_term(engine, memory_id, "quagga")
        ways: dict[str, Callable[[], object]] = {
            "as it is": lambda: None,
            "a new text": lambda: save(engine, "Zebras", "Striped horses of dry plains.", source_id="zebra.md"),
            "other vectors": lambda: engine.reembed(ADA),
            "an export read back": lambda: there_and_back(engine, tmp_path),
            "indexes made anew": lambda: engine.indexes.compact(ADA),
            "a checkpoint": lambda: go_back(engine),
        }
        for way, take in ways.items():
            take()
            found = engine.searcher.search(
                ADA, SearchRequest(query="quagga", channels=(Channel.FTS5, Channel.BM25, Channel.TRIGGER))
            )
            assert found.ids == (), way
            assert engine.searcher.match_triggers(ADA, "a quagga").ids == (), way
            written = {place for place in held_in_tables(engine.store, "quagga") if not place.startswith("learn")}
            assert written <= {"memories.learned_triggers", "audit.detail", "eval_queries.query"}, way


def save(engine: Engine, title: str, body: str, **given: Any) -> str:
    """Save a memory without the gate; its id."""
    saved = engine.saver.save(ADA, Draft(title=title, body=body, **given), gated=False)
    assert saved.memory_id is not None
    return saved.memory_id


def apply_term(engine: Engine, memory_id: str, term: str) -> None:
    """Leave a term in a memory as learning would."""
    now = engine.clock.now()
    with engine.store.writing(ADA) as work:
        memory = work.memories.get(memory_id)
        work.memories.update(replace(memory, learned_triggers=(term,)))
        learned = LearnedTerm(memory_id=memory_id, term=term, state=TermState.APPLIED, learned_at=now, applied_at=now)
        work.learned_terms.put(learned)


def go_back(engine: Engine) -> None:
    """Make a checkpoint and restore it."""
    kept = engine.store.checkpoints.create("now")
    engine.store.checkpoints.restore(kept.name, scope=ADA)


def there_and_back(engine: Engine, folder: Path) -> None:
    """Export all memories and import them again."""
    file = folder / "all.jsonl"
    file.unlink(missing_ok=True)
    engine.export_memories(ADA, file)
    engine.import_memories(ADA, file)
    engine.import_memories(Scope(tenant="elsewhere", principal="ada"), file)


# 5
def test_a_query_that_is_forged_or_somebody_elses_teaches_nothing(tmp_path: Path) -> None:
    clock = FixedClock()
    with services_at(tmp_path, clock=clock) as services, reaching(services, local=False) as client:
        engine = services.engine
        ids = [
            engine.saver.save(OWN, Draft(title=f"Lamp {number}", body=f"The lamp of pier {number}."), gated=False)
            for number in range(6)
        ]
        engine.flags.turn(engine.store, OWN, FLAG, True)
        clock.advance(days=10)
        own, foreign = bearer(services), bearer(services, scope=FOREIGN)
        elsewhere = client.post("/api/memory/search", json={"query": "lamp quagga"}, headers=foreign).json()["query_id"]
        target = ids[-1].memory_id
        for number in range(8):
            session = f"s_{number}"
            found = client.post(
                "/api/memory/search", json={"query": "lamp quagga", "session_id": f"{session}_other"}, headers=own
            ).json()
            for query_id in ("eq_01M7FW2BP4DGDTMJ11481Q41AB", elsewhere, found["query_id"]):
                vote = {"was_useful": True, "session_id": session, "query_id": query_id}
                client.post(f"/api/memory/{target}/validate", json=vote, headers=own)
        engine.learning.catch_up(OWN)
        assert engine.learning.terms(OWN) == []
        with engine.store.reading(OWN) as work:
            said = [entry.detail["said"] for entry in work.audit.entries() if entry.action == "learning.top_three"]
        assert said
        assert set(said) == {"the query and rank that returned it are not known"}


# 6
def test_what_was_taken_back_stays_away(home: Home, tmp_path: Path) -> None:
    desk = Desk(home.open(), home.clock)  # type: ignore[arg-type] # the clock of the tests
    desk.put("m_1", "m_d")
    desk.open_the_gate()
    with engine_at(home) as engine:
        engine.export_memories(ADA, tmp_path / "before.jsonl")
    sent = [desk.asked("quagga habitat", session=f"sent_{number}") for number in range(5)]
    for number in range(5):
        desk.read("m_1", f"sent_{number}", event_key=f"key_{number}")
    desk.learning.catch_up(desk.scope)
    desk.learning.roll_back(desk.scope, Which(memory_id="m_1"))
    assert desk.memory().learned_triggers == ()
    # The same events again, a program that begins anew, and an export from before.
    for number in range(len(sent)):
        desk.read("m_1", f"sent_{number}", event_key=f"key_{number}")
    again = Desk(desk.store, desk.clock)
    again.learning.catch_up(again.scope)
    with engine_at(home) as engine:
        engine.import_memories(ADA, tmp_path / "before.jsonl")
        engine.learning.catch_up(ADA)
    assert desk.memory().learned_triggers == ()
    assert desk.terms("applied", "shadow") == []


# 7
def test_no_term_comes_in_without_its_provenance_in_the_audit_log(home: Home, tmp_path: Path) -> None:
    with engine_at(home) as engine:
        memory_id = save(engine, "Zebras", "Striped horses of the plains.")
        engine.flags.turn(engine.store, ADA, FLAG, True)
        apply_term(engine, memory_id, "quagga")
        engine.export_memories(ADA, tmp_path / "forged.jsonl")
        elsewhere = Scope(tenant="elsewhere", principal="eve")
        engine.flags.turn(engine.store, elsewhere, FLAG, True)
        engine.import_memories(elsewhere, tmp_path / "forged.jsonl")
        assert [(term.term, term.state) for term in engine.learning.terms(elsewhere)] == [
            ("quagga", TermState.WITHDRAWN)
        ]
        with engine.store.reading(elsewhere) as work:
            assert work.memories.get(memory_id).learned_triggers == ()
            said = [entry.detail["said"] for entry in work.audit.entries() if entry.action == "learning.audit"]
        assert said == ["imported without its evidence: it has to be learned anew"]


# 8
def test_the_shadow_week_cannot_be_shortened(run: Run, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("init").code == 0
    for days in ("0", "6", "-1"):
        monkeypatch.setenv("ASSAY_LEARNING_SHADOW_DAYS", days)
        refused = run("learn", "status")
        assert refused.code == 3
        assert days in refused.err
    # Switched on once, off, and on again when a week is over: what is learned now still waits for its own week.
    desk.measured(200)
    desk.on()
    desk.flags.turn(desk.store, desk.scope, FLAG, False)
    desk.clock.advance(days=28)
    desk.on()
    desk.learn("quagga")
    desk.try_out("quagga here")
    desk.learning.approve(desk.scope)
    assert desk.terms("applied") == []
    desk.clock.advance(days=7, seconds=-2)
    desk.learning.catch_up(desk.scope)
    assert desk.terms("applied") == []
    # A clock that is set back opens nothing either.
    desk.clock.advance(days=-20)
    desk.learning.catch_up(desk.scope)
    assert desk.terms("applied") == []
    desk.clock.advance(days=20, seconds=1)
    desk.learning.approve(desk.scope)
    assert desk.terms("applied") == ["quagga"]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs commands in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    return runner(capsys)


# 9
def test_an_import_or_a_date_does_not_make_a_memory_old(home: Home, tmp_path: Path) -> None:
    with engine_at(home) as engine:
        first = save(engine, "Zebras", "Striped horses of the plains.")
        engine.export_memories(ADA, tmp_path / "young.jsonl")
        lines = [json.loads(line) for line in (tmp_path / "young.jsonl").read_text().splitlines()]
        for line in lines:
            if line["record"] == "memory":
                line.update(created_at="2020-01-01T00:00:00+00:00", valid_from="2020-01-01T00:00:00+00:00")
        (tmp_path / "old.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        elsewhere = Scope(tenant="elsewhere", principal="ada")
        engine.import_memories(elsewhere, tmp_path / "old.jsonl")
        desk = Desk(engine.store, home.clock)  # type: ignore[arg-type] # the clock of the tests
        desk.scope = elsewhere
        desk.by = lambda principal: Scope(tenant="elsewhere", principal=principal)  # type: ignore[method-assign]
        assert desk.memory(first).created_at.year == 2020
        desk.flags.turn(engine.store, elsewhere, FLAG, True)
        desk.clock.advance(hours=71)
        desk.learn("quagga", first)
        assert desk.terms() == []
        assert desk.audit("learning.age")
        desk.clock.advance(hours=1)
        desk.learn("quagga", first, sessions=tuple(f"late_{number}" for number in range(6)))
        assert desk.terms() == ["quagga"]


# 10
@pytest.mark.slow
def test_two_runs_of_a_foreign_function_complete_no_cycle(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "constant.py").write_text("def give(query, k):\n    return ['accessibility-statement']\n")
    monkeypatch.syspath_prepend(tmp_path)
    settings = load_settings().settings
    scope, hotel = wiring.scope_of(settings), load_dataset("hotel")
    with wiring.open_engine(settings) as engine:
        # This memory even holds the documents of the dataset.
        take_in(engine, scope, hotel)
    for _ in range(2):
        assert run("run", "hotel", "--system", "python:constant:give").code == 0
    told = run("learn", "status", "--json").json
    assert (told["questions"], told["cycles"]) == (0, 0)
    assert [entry["counted"] for entry in told["runs"]] == [False, False]
    assert {entry["reason"] for entry in told["runs"]} == {
        "it ran python:constant:give, which is not the search of this memory. Run it with --system assay."
    }
    assert "not counted: it ran python:constant:give" in run("learn", "status").out
    with later(settings, days=40) as learning:
        assert learning.standing(scope).cycles == 0
    # The same questions asked of Assay itself count, as long as nothing else is changed.
    assert run("run", "hotel", "--system", "assay:channels=fts5").code == 0
    assert run("run", "hotel").code == 0
    newest, changed, *_ = run("learn", "status", "--json").json["runs"]
    assert (newest["counted"], newest["dataset"], newest["system"]) == (True, "hotel", "assay")
    assert newest["questions"] >= 100
    assert (changed["counted"], changed["questions"]) == (False, 0)
    assert "channels=fts5" in changed["reason"]
    with later(settings, days=15) as learning:
        assert learning.standing(scope).cycles == 1


@contextmanager
def later(settings: Any, *, days: int) -> Iterator[Learning]:
    """How learning stands some days later."""
    with wiring.open_engine(settings) as engine:
        clock = FixedClock(engine.clock.now() + timedelta(days=days))
        yield Learning(
            store=engine.store,
            flags=engine.flags,
            sessions=engine.searcher.sessions,
            clock=clock,
            policy=Policy(),
            background=False,
        )


@pytest.mark.slow
def test_documents_with_the_right_ids_and_other_words_complete_no_cycle(run: Run) -> None:
    settings = load_settings().settings
    scope, hotel = wiring.scope_of(settings), load_dataset("hotel")
    with wiring.open_engine(settings) as engine:
        forged = tuple(replace(document, text=f"Nothing, {number}.") for number, document in enumerate(hotel.documents))
        take_in(engine, scope, replace(hotel, documents=forged, edges=()))
    assert run("run", "hotel").code == 0
    [told] = run("learn", "status", "--json").json["runs"]
    assert told["counted"] is False
    assert told["reason"].startswith("this memory holds 0% of the documents of hotel, and 50% are needed.")


def test_the_date_in_the_files_of_a_run_does_not_make_a_cycle_longer(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.measured(200)
    with desk.store.writing(desk.scope) as work:
        [stored] = work.results.latest()
        backdated = replace(stored, run_id="r_backdated", created_at=stored.created_at - timedelta(days=60))
        work.results.add(backdated)
    assert desk.learning.standing(desk.scope).cycles == 0
    desk.clock.advance(days=14)
    assert desk.learning.standing(desk.scope).cycles == 1


# Beside the ten: evidence of several sessions that is one principal's.
def test_one_principal_under_many_sessions_teaches_nothing_where_others_work(tmp_path: Path) -> None:
    clock = FixedClock()
    with services_at(tmp_path, clock=clock) as services, reaching(services, local=False) as client:
        engine = services.engine
        for number in range(6):
            draft = Draft(title=f"Lamp {number}", body=f"The lamp of pier {number}.")
            engine.saver.save(OWN, draft, gated=False)
        engine.flags.turn(engine.store, OWN, FLAG, True)
        clock.advance(days=10)

        def choose_last(principal: str, session: str) -> str:
            """Search and read the last result, as a principal with a token of its own; the memory's id."""
            made = services.tokens.create(OWN, principal, Access.ADMIN)
            token = {"Authorization": f"Bearer {made.text}"}
            asked = {"query": "lamp of pier quagga", "session_id": session}
            last: str = client.post("/api/memory/search", json=asked, headers=token).json()["hits"][-1]["memory_id"]
            events = {"events": [{"session_id": session, "memory_id": last}]}
            assert client.post("/api/memory/events", json=events, headers=token).json()["new"] >= 1
            return last

        [memory_id] = {choose_last("mallory", f"s_{number}") for number in range(12)}
        engine.learning.catch_up(OWN)
        with engine.store.reading(OWN) as work:
            evidence = work.learned_terms.evidence(memory_id=memory_id)
        assert {proof.principal for proof in evidence} == {"token:mallory"}
        assert len({proof.session_id for proof in evidence}) == 12
        assert engine.learning.terms(OWN) == []
        choose_last("bob", "s_bob")
        engine.learning.catch_up(OWN)
        assert [term.term for term in engine.learning.terms(OWN)] == ["quagga"]
