"""Probes of feature flags: the same data and the same call with the flag off and on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.analysis.made import scored
from tests.memory.searching.shelf import Shelf
from tests.truth.probing import ADA, Probe, Stage, Values, make_probes, see_hits
from tests.wiring.test_research_learning import NEWEST, asked, fill_with_ratings

from assay.flags import Flags, Override
from assay.memory.engine import Engine
from assay.records import Draft, EdgeKind, Filters, LoggedQuery, Scope, SearchRequest, Tier
from assay.records.learning import LearnedTerm, TermState
from assay.settings.model import Origin
from assay.storage import open_store
from assay.testing import FixedClock, note

# --- Flags of searching: a shelf of memories, and a search ---

Fill = Callable[[Shelf], None]


def search_shelf(name: str, fill: Fill, query: str, **request: Any) -> Values:
    """Put memories on a shelf and search with the flag off and on; `earlier` are searches that come first."""
    earlier: tuple[tuple[str, dict[str, Any]], ...] = request.pop("earlier", ())

    def look(stage: Stage, on: bool) -> Any:
        shelf = _new_shelf(stage)
        fill(shelf)
        states = {name: Override(100 if on else 0, "environment", "a probe")}
        shelf.searcher = shelf.searching(flags=Flags(states, clock=shelf.clock))
        for before, given in earlier:
            shelf.search(before, **given)
        found = shelf.search(query, **{"explain": True, **request})
        return see_hits(found), found.weights

    return Values(False, True, look)


def _new_shelf(stage: Stage) -> Shelf:
    path = str(stage.new_folder() / "notes.db")
    return Shelf(stage.hold(open_store(path, clock=FixedClock())), Scope(tenant="acme", principal="ada"), FixedClock())


def fill_with_passages(shelf: Shelf) -> None:
    """One memory has two passages that match."""
    shelf.put(note("m_one", body="alpha beta"), note("m_two", body="alpha\n\nnothing\n\nalpha beta"))


def fill_with_joined(shelf: Shelf) -> None:
    """The third memory is joined to the first."""
    shelf.put(note("m_1", body="kestrel"), note("m_2", body="harbour one"), note("m_3", body="harbour two"))
    shelf.join("m_1", EdgeKind.SUPPORTS, "m_3")


def fill_with_cause(shelf: Shelf) -> None:
    """Many memories of which the first caused the last."""
    shelf.put(*(note(f"m_{place}", body="alpha " * (8 - place)) for place in range(8)))
    shelf.join("m_0", EdgeKind.CAUSED, "m_7")


def fill_with_far_neighbour(shelf: Shelf) -> None:
    """What caused the memory that is found shares no word with it."""
    shelf.put(note("m_1", body="kestrel"), note("m_2", title="Zinc", body="zinc bucket"))
    shelf.join("m_1", EdgeKind.CAUSED, "m_2")


def fill_with_pairs(shelf: Shelf) -> None:
    """Words that pairs of memories share."""
    shelf.put(note("m_1", body="kestrel tower"), note("m_2", body="tower wall"), note("m_3", body="wall paper"))


def fill_with_repetition(shelf: Shelf) -> None:
    """The first two memories say the same."""
    shelf.put(
        note("m_1", title="x", body="alpha beta gamma"),
        note("m_2", title="x", body="alpha beta gamma"),
        note("m_3", title="x", body="delta epsilon zeta"),
        note("m_old", title="x", body="delta epsilon zeta", superseded_at=shelf.clock.now()),
    )


def fill_with_related_words(shelf: Shelf) -> None:
    """A memory shares words with what is found first, and none with the query."""
    shelf.put(
        note("m_1", title="x", body="kestrel falcon talon" + " feather" * 30),
        note("m_2", title="x", body="kestrel falcon talon" + " beak" * 30),
        note("m_3", title="x", body="falcon talon glove"),
        note("m_4", title="x", body="teapot kettle saucer"),
    )


def fill_with_deprecated(shelf: Shelf) -> None:
    """One memory, which is found first, is deprecated."""
    shelf.put(note("m_1", body="alpha alpha", tier=Tier.DEPRECATED), note("m_2", body="alpha"))


def fill_with_doubted(shelf: Shelf) -> None:
    """One memory was found useless."""
    shelf.put(note("m_1", body="alpha", confidence=0.0), note("m_2", body="alpha"))


def fill_with_learned(shelf: Shelf) -> None:
    """One memory learned a term that applies."""
    shelf.put(note("m_1", body="alpha", learned_triggers=("Alpha waves",)), note("m_2", body="alpha"))
    at = shelf.clock.now()
    with shelf.store.writing(shelf.scope) as work:
        work.learned_terms.put(LearnedTerm(memory_id="m_1", term="Alpha waves", state=TermState.APPLIED, learned_at=at))
        work.queries.add_many([LoggedQuery(query_id="eq_1", query="waves", tool_name="t", created_at=at)])


def fill_with_named(shelf: Shelf) -> None:
    """The best result names another by its title."""
    shelf.put(
        note("m_1", title="Ferry", body="alpha beta gamma, run by the Harbour Office"),
        note("m_2", title="Harbour Office", body="alpha beside the quay"),
        note("m_3", title="Market", body="alpha beside the wall"),
    )


WORDS: dict[str, Any] = {"channels": ("bm25",)}
SEARCHING = {
    "docscore_aggregation": search_shelf("docscore_aggregation", fill_with_passages, "alpha beta", **WORDS),
    "adaptive_fusion": search_shelf("adaptive_fusion", fill_with_pairs, "tower wall", intent="find_decision"),
    "session_boost": search_shelf(
        "session_boost",
        fill_with_joined,
        "harbour",
        earlier=(("kestrel", {"session_id": "s", "k": 1, **WORDS}),),
        session_id="s",
        **WORDS,
    ),
    "causal_boost": search_shelf("causal_boost", fill_with_cause, "alpha"),
    "named_boost": search_shelf("named_boost", fill_with_named, "alpha beta gamma", **WORDS),
    "coactivation": search_shelf(
        "coactivation",
        fill_with_pairs,
        "wall",
        earlier=(("tower", {"session_id": "earlier", **WORDS}), ("kestrel", {"session_id": "s", **WORDS})),
        session_id="s",
        **WORDS,
    ),
    "mmr": search_shelf("mmr", fill_with_repetition, "alpha beta gamma delta epsilon zeta", mode="deep", **WORDS),
    "query_expansion": search_shelf("query_expansion", fill_with_related_words, "kestrel", mode="deep", **WORDS),
    "negative_feedback": search_shelf("negative_feedback", fill_with_doubted, "alpha", **WORDS),
    "tier_boost": search_shelf("tier_boost", fill_with_deprecated, "alpha", **WORDS),
    "graph_scoring": search_shelf("graph_scoring", fill_with_far_neighbour, "kestrel"),
    "learn_from_selection": search_shelf("learn_from_selection", fill_with_learned, "alpha waves"),
}


# --- Flags of saving and of answers: an engine whose settings have the flag ---

Do = Callable[[Engine, Any], Any]


def use_engine(name: str, do: Do) -> Values:
    """Do something with an engine whose settings switch the flag off and on."""

    def look(stage: Stage, on: bool) -> Any:
        said = {name: ("on" if on else "off", Origin("environment", "a probe"))}
        settings = stage.settings(flags=said)
        with stage.engine(settings) as engine:
            return do(engine, settings)

    return Values(False, True, look)


def save_copy(engine: Engine, settings: Any) -> Any:
    """Save the same note twice, and read what the gate has to say of the second."""
    draft = Draft(title="Session cookie", body="The session cookie of the web shop lives for twelve hours.")
    engine.saver.save(ADA, draft)
    outcome = engine.saver.save(ADA, draft)
    return outcome.decision, outcome.would_reject


def save_twice(engine: Engine, settings: Any) -> Any:
    """Save a note, and a newer one on the same subject."""
    body = "The session cookie of the web shop lives for {} hours after the last request."
    engine.saver.save(ADA, Draft(title="Session cookie", body=body.format("twelve")))
    return engine.saver.save(ADA, Draft(title="Session cookie", body=body.format("twenty"))).decision


def contradict_person(engine: Engine, settings: Any) -> Any:
    """Let a program contradict a person, and search for what both wrote about."""
    title, body = "Logging of card numbers", "Card numbers of guests must {} be written to the logs of the shop."
    engine.saver.save(ADA, Draft(title=title, body=body.format("never")))
    stranger = Scope(tenant=ADA.tenant, principal="token:stranger")
    engine.saver.save(stranger, Draft(title=title, body=body.format("always"), automated=True))
    query = "must card numbers of guests always be written to logs of the shop"
    return [hit.text for hit in engine.searcher.search(ADA, SearchRequest(query=query, filters=Filters()))]


def ask_with_ratings(engine: Engine, settings: Any) -> Any:
    """Ask after many answers were rated, and read the thresholds that were used."""
    engine.saver.save(ADA, Draft(title="Cookie", body="The session cookie lives for twelve hours."))
    fill_with_ratings(engine, bar=0.57)
    found = asked(settings, engine, "How long does the session cookie live?", ADA).trace["settings"]
    return found["panel"]["thresholds"]


def ask_after_failures(engine: Engine, settings: Any) -> Any:
    """Ask for the newest after such questions failed, and read who planned."""
    with engine.store.writing(ADA) as work:
        for session in scored(240, seed=1, lowered=lambda number: number % 8 == 0):
            work.research.put(session, {})
    return asked(settings, engine, NEWEST, ADA).plan.planner


def ask_alike(engine: Engine, settings: Any) -> Any:
    """Ask the same in other words, and read whether the evaluation was taken over."""
    engine.saver.save(ADA, Draft(title="Cookie", body="The session cookie lives for twelve hours."))
    asked(settings, engine, "How long does the session cookie live?", ADA)
    return asked(settings, engine, "For how long does the session cookie live?", ADA).retrieval.cached


OTHERS = {
    "save_quality_gate": save_copy,
    "reconsolidation": save_twice,
    "trust_ranking": contradict_person,
    "threshold_tuning": ask_with_ratings,
    "pattern_planning": ask_after_failures,
    "similar_evaluations": ask_alike,
}
PROBES: dict[str, Probe] = make_probes(
    "flag", {**SEARCHING, **{name: use_engine(name, do) for name, do in OTHERS.items()}}
)
