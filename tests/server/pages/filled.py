"""A store with something on every page, small enough for a test: memories, answered questions, two runs, a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

from tests.server.serving import OWN, services_at

from assay.evaluation.datasets import load_dataset
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running, run
from assay.memory.engine import Engine
from assay.records import Draft, EdgeKind, Tier
from assay.records.datasets import Case
from assay.records.evaluations import Retrieved
from assay.records.flags import Arm, VoteKind
from assay.records.research_log import ResearchSession
from assay.records.traces import SpanRole, TraceDocument, TraceSpan
from assay.server.services import Services
from assay.systems.protocol import System
from assay.wiring import ladder_of
from assay.wiring.research import open_research

NOTES = {
    "Refunds on holidays": "On public holidays the 48-hour rule is replaced by a 72-hour rule. "
    "Guests who cancel later pay the first night.",
    "No-shows": "Guests who do not arrive forfeit the whole price of the first night. The desk calls them at 22:00.",
    "Parking": "The garage takes vehicles up to 1.9 metres. A place costs 18 euros a night, charging included.",
    "Dogs": "Dogs are welcome in the courtyard rooms for 15 euros a night. They stay off the beds.",
}
STRANGE = {
    "<script>window.ran=1</script>": "</textarea><img src=x onerror=window.ran=1> " * 20,
    "שלום עולם, right to left": "טקסט מימין לשמאל " * 50,
    "🦜 emoji and \u202e override": "👩‍👩‍👧‍👦 🏳️‍🌈 " * 50,
    "One megabyte": "words without an end " * 50_000,
}
QUESTION = "What does a place in the garage cost a night?"
FLAG = "docscore_aggregation"


class Gold(System):
    """Gives what the dataset calls relevant, but for the first `forgets` of it."""

    def __init__(self, name: str, forgets: int) -> None:
        self.name = name
        self._forgets = forgets

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        """Best first."""
        assert query
        known = sorted(case.labels, key=lambda one: -case.labels[one])
        return Retrieved(ids=tuple(known[self._forgets :][:k]))


@contextmanager
def filled_services(folder: Path) -> Iterator[Services]:
    """Services over a store that holds all of it."""
    with services_at(folder) as services:
        remember(services.engine)
        ask(services)
        run_twice(folder / "runs")
        begin_test(services)
        trace(services)
        yield services


def remember(engine: Engine) -> None:
    """Keep the notes, joined in a row."""
    drafts = [Draft(title=title, body=body, folder="policies") for title, body in NOTES.items()]
    drafts += [Draft(title=title, body=body, folder="strange") for title, body in STRANGE.items()]
    drafts.append(Draft(title="Guests first", body="A guest in need comes before any rule.", tier=Tier.CONSTITUTIONAL))
    ids = [str(engine.saver.save(OWN, draft, gated=False).memory_id) for draft in drafts]
    for one, other in pairwise(ids):
        engine.link(OWN, one, EdgeKind.SUPPORTS, other, strength=0.8, evidence="told in the same breath")


def ask(services: Services) -> None:
    """One question that can be answered, one that cannot."""
    pipeline = open_research(services.settings, services.engine, OWN)
    for question in (QUESTION, "Who won the chess championship of 1972?"):
        pipeline.ask(OWN, question)


def run_twice(runs: Path) -> None:
    """Two systems over the hotel dataset."""
    dataset = load_dataset("hotel")
    for name, forgets in (("good", 0), ("worse", 2)):
        run(dataset, Gold(name, forgets), RunOptions(name=name), Running(runs=runs))


def trace(services: Services) -> None:
    """A trace of another system whose every text is strange."""
    texts = [text[:20_000] for text in STRANGE.values()]
    documents = tuple(TraceDocument(id=f"d{place}", text=text) for place, text in enumerate(texts))
    root = TraceSpan(
        trace_id="strange",
        span_id="root",
        role=SpanRole.CHAIN,
        name=texts[0][:100],
        started_at=services.clock.now(),
        input=" ".join(texts),
        output=" ".join(texts),
        session_id=texts[0][:100],
        problem=texts[0],
    )
    search = replace(root, span_id="search", parent_id="root", role=SpanRole.RETRIEVER, documents=documents)
    with services.engine.store.writing(OWN) as work:
        work.traces.add_many([root, search])


def begin_test(services: Services) -> None:
    """A sequential test with a few votes."""
    trials = ladder_of(services.engine).trials
    trials.begin(OWN, FLAG, kind=VoteKind.PAIRED)
    for place in range(12):
        trials.vote(OWN, FLAG, f"question {place}", 0.4, arm=Arm.BOTH)


def many_sessions(services: Services, name: str, questions: list[str]) -> None:
    """Answered questions without a trace of how, one for each text, an hour apart."""
    now = services.clock.now()
    with services.engine.store.writing(OWN) as work:
        for place, question in enumerate(questions):
            session = ResearchSession(
                log_id=f"r_{name}_{place:06}",
                created_at=now - timedelta(hours=place),
                question=question,
                overall_score=(place % 10) / 10,
                passed=place % 10 >= 7,
                failure_type="" if place % 10 >= 7 else "weak_retrieval",
            )
            work.research.put(session, {})
