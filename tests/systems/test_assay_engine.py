"""Assay as a system: a cache store of its own, documents instead of memories, and how each list came about."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.systems.sample import CASES, TEXTS, dataset

from assay import wiring
from assay.errors import NotCovered, NothingMeasured, SettingError
from assay.evaluation.running.runner import run
from assay.records import Edge, EdgeKind, Origin, Scope, Tier
from assay.records.answers import FolderMode, GoldAnchors, GoldSupport
from assay.records.datasets import Case, Document, Turn
from assay.settings import default_cache, load_settings
from assay.systems.boundary import Asker, Terms
from assay.systems.protocol import System
from assay.testing import FixedClock

SPEC = "assay:embedder.kind=none"


@pytest.fixture
def system() -> Iterator[System]:
    opened = wiring.open_system(SPEC, dataset())
    yield opened
    opened.close()


def corpora() -> list[Path]:
    return sorted((default_cache(os.environ) / "corpora").glob("*/assay.db"))


def test_a_case_is_a_search_that_gives_documents_and_passages(system: System) -> None:
    found = system.retrieve("swimming pool", 3, CASES[0])
    assert set(found.ids[:2]) == {"pool", "sauna"}
    assert found.scores is not None
    assert found.scores[0] >= found.scores[1] > 0
    assert {one.rel_path for one in found.passages} <= set(TEXTS)
    assert {one.chunk_id for one in found.passages} >= {"pool:chunk:0"}
    assert found.stages.keys() >= {"embedding", "candidate", "fusion", "final-rank"}


def test_with_previous_query_on_a_case_is_asked_with_the_users_turn_before_it() -> None:
    said = (("user", "is there a swimming pool"), ("agent", "Yes, on the roof."), ("user", " "))
    turns = tuple(Turn(speaker=speaker, text=text) for speaker, text in said)
    case = Case(id="when", query="until when", grades=CASES[0].grades, history=turns)
    opening = replace(case, history=())
    with closing(wiring.open_system(f"{SPEC},previous_query=on", dataset())) as follows:
        assert "pool" in follows.retrieve(case.query, 3, case).ids
        assert "pool" not in follows.retrieve(case.query, 3, opening).ids
        # With every turn of the user as the query there is nothing left to lean on.
        assert "pool" in follows.retrieve("is there a swimming pool\nuntil when", 3, case).ids
    with closing(wiring.open_system(SPEC, dataset())) as alone:
        assert "pool" not in alone.retrieve(case.query, 3, case).ids


def test_the_log_tells_how_the_list_came_about(system: System) -> None:
    result = Asker(system, Terms(timeout_s=None)).ask(CASES[0])
    assert result.retrieved is not None
    seen = result.retrieved.seen
    assert seen is not None
    assert set(seen.indexed or ()) == {"pool", "sauna", "pets"}
    assert seen.channels is not None
    assert "pool" in seen.channels["bm25"]
    assert seen.fused is not None
    assert set(result.retrieved.ids) <= set(seen.fused)
    assert seen.excluded == ()


def test_the_corpus_lies_in_a_store_of_its_own_and_is_taken_in_once() -> None:
    taken: list[int] = []
    for _ in range(2):
        wiring.open_system(SPEC, dataset(), on_document=lambda done, of: taken.append(of)).close()
    assert taken == [5] * 5
    assert len(corpora()) == 1
    other = replace(dataset(), documents=(*dataset().documents, Document(id="bar", text="The bar opens late.")))
    wiring.open_system(SPEC, other).close()
    assert len(corpora()) == 2


def test_what_only_searches_differently_shares_the_store() -> None:
    wiring.open_system(SPEC, dataset()).close()
    narrow = wiring.open_system(f"{SPEC},channels=trigger,flags.mmr=off", dataset())
    found = narrow.retrieve("swimming pool", 3, CASES[0])
    subject = narrow.subject()
    narrow.close()
    assert len(corpora()) == 1
    assert found.ids == ()
    assert subject["flags"]["mmr"] is False
    assert subject["configuration"]["channels"] == ["trigger"]
    assert subject["embedder_kind"] == "none"


def test_searches_of_a_run_do_not_count_as_use(system: System) -> None:
    run(dataset(), system)
    # Closing writes what still waits in the log.
    system.close()
    settings = load_settings().settings.change(db=str(corpora()[0]))
    with wiring.open_store(settings) as store, store.reading(Scope()) as work:
        assert work.queries.count(origin=Origin.EVALUATION) == len(CASES)
        assert work.queries.count(origin=Origin.USE) == 0


def test_the_coverage_guard_names_what_the_index_lacks() -> None:
    blank = replace(dataset(), documents=tuple(one for one in dataset().documents if one.id != "pool"))
    opened = wiring.open_system(SPEC, blank)
    with pytest.raises(NotCovered, match=r"lacks 1 of the 5 documents .*: pool \(for q1\)"):
        run(blank, opened)
    opened.close()


def test_a_dataset_without_documents_is_not_for_assay() -> None:
    with pytest.raises(NothingMeasured, match="has no documents"):
        wiring.open_system("assay", replace(dataset(), documents=()))


def test_a_setting_that_does_not_exist_is_told() -> None:
    with pytest.raises(SettingError, match="serch"):
        wiring.open_system("assay:serch.fusion=rrf", dataset())


def test_constitutional_documents_are_pinned_and_edges_are_kept(clock: FixedClock) -> None:
    ruled = Document(id="rule", text="Never give out room numbers.", title="Rule", tier=Tier.CONSTITUTIONAL)
    edge = Edge(source_id="sauna", target_id="pool", kind=EdgeKind.SUPPORTS, created_at=clock.now())
    whole = replace(dataset(), documents=(*dataset().documents, ruled), edges=(edge,))
    opened = wiring.open_system(SPEC, whole)
    found = Asker(opened, Terms(timeout_s=None)).ask(CASES[1])
    opened.close()
    assert found.retrieved is not None
    assert found.retrieved.pinned == ("rule",)
    settings = load_settings().settings.change(db=str(corpora()[0]))
    with wiring.open_store(settings) as store, store.reading(Scope()) as work:
        assert work.edges.count() == 1


def test_a_document_without_a_word_is_simply_not_there() -> None:
    whole = replace(dataset(), documents=(*dataset().documents, Document(id="void", text="  ")))
    opened = wiring.open_system(SPEC, whole)
    assert opened.holds(["void", "pool"]) == frozenset({"pool"})
    opened.close()


def test_documents_in_folders_that_were_left_out_are_told() -> None:
    notes = tuple(
        Document(
            id=f"{folder}{number}",
            text=f"{word} {word} notes number {number}",
            rel_path=f"{folder}/{number}.md",
            folder=folder,
        )
        for folder, word in (("work", "meeting"), ("home", "garden"))
        for number in range(6)
    )
    gold = GoldAnchors(supports=(GoldSupport(rel_path="home/1.md"),))
    case = Case(id="q", query="meeting notes", anchors=gold, folder_mode=FolderMode.ON)
    opened = wiring.open_system(SPEC, replace(dataset(), documents=notes, cases=(case,)))
    found = Asker(opened, Terms(timeout_s=None)).ask(case)
    opened.close()
    assert found.retrieved is not None
    assert found.retrieved.seen is not None
    assert found.retrieved.seen.indexed == ("home1",)
    assert found.retrieved.seen.excluded == ("home1",)


def test_anchors_are_found_by_file_and_heading() -> None:
    note = Document(
        id="pool-note",
        title="Pool",
        text="# Pool\n\n## Times\n\nThe pool opens at seven.\n\n## Rules\n\nNo diving.\n",
        rel_path="house/pool.md",
        folder="house",
    )
    gold = GoldAnchors(supports=(GoldSupport(rel_path="house/pool.md", heading_path="Pool > Times"),))
    elsewhere = GoldAnchors(supports=(GoldSupport(rel_path="house/pool.md", heading_path="Pool > Prices"),))
    cases = (
        Case(id="a1", query="when does the pool open", anchors=gold),
        Case(id="a2", query="when does the pool open", anchors=elsewhere),
    )
    anchored = replace(dataset(cases=cases), documents=(*dataset().documents, note))
    opened = wiring.open_system(SPEC, anchored)
    result = run(anchored, opened)
    opened.close()
    assert [result.per_case("recall_any@5")[case].value for case in ("a1", "a2")] == [1.0, 0.0]
