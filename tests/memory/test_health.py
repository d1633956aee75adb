"""Every channel has a canary, and a channel that finds nothing for it is silent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.memory.searching.shelf import Shelf

from assay.index import Indexes, IndexOptions
from assay.memory.health import Health
from assay.records import EdgeKind, Origin, Scope
from assay.records.memory_list import Condition, HealthReport
from assay.storage import Store
from assay.testing import NOTES, FixedClock, HashedEmbedder


@pytest.fixture
def shelf(store: Store, scope: Scope, clock: FixedClock) -> Shelf:
    return Shelf(store, scope, clock)


def checked(shelf: Shelf, **given: Any) -> HealthReport:
    parts: dict[str, Any] = {
        "store": shelf.store,
        "searcher": shelf.searcher,
        "indexes": shelf.indexes,
        "flags": shelf.flags(),
        "embedder": shelf.embedder,
        "clock": shelf.clock,
        "rng": np.random.default_rng(1),
    }
    return Health(**{**parts, **given}).check(shelf.scope)


def states(report: HealthReport) -> dict[str, str]:
    return {line.name: str(line.state) for line in report.parts}


def test_a_memory_in_order_is_ok_in_every_line(shelf: Shelf) -> None:
    shelf.put(*NOTES)
    shelf.join("m_pkce", EdgeKind.CAUSED, "m_cookies")
    report = checked(shelf)
    channels = {"vector": "ok", "fts5": "ok", "bm25": "ok", "graph": "ok", "trigger": "ok"}
    assert {name: state for name, state in states(report).items() if name in channels} == channels
    assert report.ok
    assert states(report)["vector recall"] == "ok"
    shelf.store.log.flush()
    with shelf.store.reading(shelf.scope) as work:
        assert work.queries.count() == work.queries.count(origin=Origin.CANARY) == 5


def test_an_empty_memory_is_empty_and_not_broken(shelf: Shelf) -> None:
    report = checked(shelf)
    assert report.ok
    assert {states(report)[name] for name in ("vector", "fts5", "bm25", "graph", "trigger")} == {"empty"}


def test_what_a_canary_cannot_find_is_empty_only_for_its_channel(shelf: Shelf) -> None:
    shelf.put(replace(NOTES[1], triggers=()))
    found = states(checked(shelf))
    assert (found["trigger"], found["graph"], found["bm25"]) == ("empty", "empty", "ok")


def test_a_channel_that_finds_nothing_for_its_canary_is_silent(shelf: Shelf) -> None:
    class Deaf(Indexes):
        def view(self, work: Any, **given: Any) -> Any:
            view = super().view(work, **given)

            class Nothing:
                def __getattr__(self, name: str) -> Any:
                    return getattr(view, name)

                def lexical(self, *_: Any, **__: Any) -> list[Any]:
                    return []

            return Nothing()

    shelf.put(*NOTES)
    indexes = Deaf(shelf.store, None, clock=shelf.clock, options=IndexOptions(background=False))
    report = checked(shelf, searcher=shelf.searching(indexes=indexes))
    assert states(report)["bm25"] == "silent"
    assert states(report)["fts5"] == "ok"
    assert not report.ok


def test_without_an_embedder_or_with_another_the_vector_line_says_why(shelf: Shelf) -> None:
    shelf.put(*NOTES)
    report = checked(shelf, embedder=None, searcher=shelf.searching(embedder=None))
    assert (states(report)["vector"], states(report)["embedding"]) == ("degraded", "degraded")
    other = HashedEmbedder(model="another")
    report = checked(shelf, embedder=other, searcher=shelf.searching(embedder=other))
    lines = {line.name: line for line in report.parts}
    assert lines["embedding"].state is Condition.DEGRADED
    assert "0 of 3 passages have a vector of another" in lines["embedding"].reason
    assert lines["vector"].state is Condition.DEGRADED


def test_the_gate_tells_its_day_and_what_it_would_have_rejected(shelf: Shelf, clock: FixedClock) -> None:
    flags = shelf.flags()

    def gate() -> str:
        return next(line.reason for line in checked(shelf, flags=flags).parts if line.name == "save gate")

    assert gate() == "on, not used yet"
    flags.activate(shelf.store, shelf.scope, "save_quality_gate")
    clock.advance(days=2)
    assert gate().startswith("warns only, day 3 of 14; 0 of 0 saves")
    clock.advance(days=20)
    assert "until its rejections are reviewed" in gate()
    flags.review(shelf.store, shelf.scope, "save_quality_gate")
    assert gate().startswith("enforced; ")
    assert "off" in next(
        line.reason for line in checked(shelf, flags=shelf.flags(save_quality_gate=0)).parts if line.name == "save gate"
    )


def test_what_failed_in_this_process_is_told(shelf: Shelf) -> None:
    shelf.searcher.failures.count("bm25", TypeError())
    line = next(line for line in checked(shelf).parts if line.name == "failures")
    assert (line.state, line.reason) == (Condition.DEGRADED, "bm25 TypeError 1")
