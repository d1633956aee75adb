"""Sessions, folders and scores in a run of Assay: what it is asked with, and what it tells of how its list was made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from tests.systems.sample import dataset, grades

from assay import wiring
from assay.evaluation.running.files import case_line, read_case
from assay.evaluation.running.runner import run
from assay.records import Edge, EdgeKind
from assay.records.answers import FolderMode, GoldAnchors, GoldSupport
from assay.records.datasets import Case, Document, SessionContext
from assay.records.evaluations import Seen
from assay.records.evidence import ChannelCandidates
from assay.records.searching import Stage
from assay.systems.assay_engine import drop_compared
from assay.systems.boundary import Asker, Terms
from assay.systems.protocol import System

SPEC = "assay:embedder.kind=none"
AT = datetime(2026, 1, 5, tzinfo=UTC)
KEPT = "Files are kept on the second disk of the cellar server, and nobody has looked at them for years."
IN_SESSION = Case(
    id="s",
    query="swimming pool",
    grades=grades(sauna=3),
    session=SessionContext(session_id="s1", working_memory=("pool",), turn=2),
)


def joined(source: str, kind: EdgeKind, target: str) -> Edge:
    return Edge(source_id=source, kind=kind, target_id=target, created_at=AT)


def ask(system: System, case: Case) -> tuple[tuple[str, ...], Seen]:
    found = Asker(system, Terms(timeout_s=None)).ask(case)
    assert found.retrieved is not None, found.error
    assert found.retrieved.seen is not None, found.retrieved.notes
    return found.retrieved.ids, found.retrieved.seen


@pytest.fixture
def system() -> Iterator[System]:
    whole = replace(dataset(cases=(IN_SESSION,)), edges=(joined("pool", EdgeKind.SUPPORTS, "breakfast"),))
    opened = wiring.open_system(SPEC, whole)
    yield opened
    opened.close()


def test_what_a_session_holds_is_not_given_again_and_the_tokens_are_counted(system: System) -> None:
    ids, seen = ask(system, IN_SESSION)
    assert "pool" not in ids
    assert seen.tokens_saved is not None
    assert seen.tokens_saved > 0
    ids, seen = ask(system, replace(IN_SESSION, session=None))
    assert ids[0] == "pool"
    assert seen.tokens_saved is None


def test_the_same_search_is_made_without_the_boost_of_the_session(system: System) -> None:
    near = replace(IN_SESSION, query="dogs garden room")
    ids, seen = ask(system, near)
    assert seen.unboosted is not None
    assert set(ids) == set(seen.unboosted)
    assert ids.index("breakfast") <= seen.unboosted.index("breakfast")
    assert ask(system, replace(IN_SESSION, session=None))[1].unboosted is None


def test_one_case_leaves_nothing_behind_for_the_next(system: System) -> None:
    fresh = replace(IN_SESSION, session=SessionContext(session_id="s1"))
    before = ask(system, fresh)
    ask(system, IN_SESSION)
    assert ask(system, fresh)[0] == before[0]


def test_each_channel_tells_its_scores_beside_its_list(system: System) -> None:
    _, seen = ask(system, IN_SESSION)
    assert seen.channels is not None
    assert seen.channel_scores is not None
    assert {name: len(ids) for name, ids in seen.channels.items()} == {
        name: len(scores) for name, scores in seen.channel_scores.items()
    }
    scores = seen.channel_scores["bm25"]
    assert list(scores) == sorted(scores, reverse=True)


def test_only_a_query_that_was_expanded_tells_what_that_found(system: System) -> None:
    assert ask(system, IN_SESSION)[1].only_expanded is None
    assert ask(system, replace(IN_SESSION, query="compare the pool with the sauna"))[1].only_expanded == ()


def test_what_the_dataset_says_was_superseded_is_not_served_and_still_counts_as_held() -> None:
    old = Document(id="pool-old", title="Pool", text="The swimming pool opens at eight.")
    whole = replace(
        dataset(), documents=(*dataset().documents, old), edges=(joined("pool", EdgeKind.SUPERSEDES, "pool-old"),)
    )
    for _ in range(2):  # the second time from the store that is there
        opened = wiring.open_system(SPEC, whole)
        result = run(whole, opened)
        assert opened.holds(["pool-old"]) == frozenset({"pool-old"})
        opened.close()
        assert result.value("stale_served_rate@5") == 0.0


def test_a_choice_of_folders_that_was_undone_is_still_a_miss() -> None:
    words = {"work": "meeting minutes", "home": "garden spade"}
    notes = tuple(
        Document(id=f"{folder}{number}", text=f"{word} {number}", rel_path=f"{folder}/{number}.md", folder=folder)
        for folder, word in words.items()
        for number in range(2)
    )
    gold = GoldAnchors(supports=(GoldSupport(rel_path="home/1.md"),))
    case = Case(id="q", query="meeting minutes", anchors=gold, folder_mode=FolderMode.ON_WITH_FALLBACK)
    whole = replace(dataset(cases=(case,)), documents=notes)
    opened = wiring.open_system(SPEC, whole)
    result = run(whole, opened)
    opened.close()
    found = result.results_of("q")[0].retrieved
    assert found is not None
    assert found.seen is not None
    assert (found.seen.excluded, found.seen.shut_out) == ((), ("home1",))
    assert result.value("scope_miss_rate") == 1.0


def test_passages_of_anchored_cases_come_in_the_order_of_their_own_scores() -> None:
    """One note is about nothing but cats; the other has a good place about them, and a place about trains before it."""
    mixed = "# Diary\n\n## Trains\n\nThe train to the coast.\n\n## Cats\n\nCats, cats and more cats sleep.\n"
    plain = "# Pets\n\n## Dogs\n\nA dog and one of the cats sleep.\n\n## Fish\n\nFish sleep beside cats.\n"
    notes = (
        Document(id="mixed", text=mixed, rel_path="mixed.md"),
        Document(id="plain", text=plain, rel_path="plain.md"),
    )
    gold = GoldAnchors(supports=(GoldSupport(rel_path="mixed.md", heading_path="Diary > Cats"),))
    case = Case(id="q", query="cats sleep", anchors=gold)
    whole = replace(dataset(cases=(case,)), documents=notes)
    opened = wiring.open_system(SPEC, whole)
    ranked = opened.retrieve("cats sleep", 5, case).passages
    grouped = opened.retrieve("cats sleep", 5, replace(case, anchors=None)).passages
    opened.close()
    assert sorted(one.chunk_id for one in ranked) == sorted(one.chunk_id for one in grouped)
    assert "Cats" in ranked[0].heading_path


def test_a_fact_that_changed_in_a_note_that_stays_is_reported_as_marked() -> None:
    notes = (
        Document(id="old", title="Uploads", text=f"The upload limit is 100 MB. {KEPT}", dated=AT),
        Document(
            id="new", title="Uploads since May", text="The upload limit is 500 MB.", dated=AT + timedelta(days=90)
        ),
    )
    asked = Case(
        id="limit",
        query="What is the upload limit?",
        grades=grades(new=3),
        current_value="500 MB",
        outdated_values=("100 MB",),
    )
    others = tuple(replace(document, dated=AT) for document in dataset().documents)
    whole = replace(dataset(cases=(asked,)), documents=(*others, *notes))
    opened = wiring.open_system(SPEC, whole)
    result = run(whole, opened)
    opened.close()
    given = result.cases[0].retrieved
    assert given is not None
    assert {"old", "new"} <= set(given.ids)
    assert given.outdated == {"old": ("The upload limit is 100 MB.",)}
    assert result.value("current_fact@1") == 1.0
    assert result.value("stale_served@5") == 0.0
    assert read_case(json.loads(case_line(result.cases[0]))).retrieved == given


def test_what_a_channel_only_compared_is_not_told_as_found_by_it() -> None:
    compared = {"vector": 1, "bm25": 2}
    stages = [Stage(name="filter", duration_ms=0.1, inputs=3, outputs=3, detail={"compared": compared})]
    vector = ChannelCandidates(channel="vector", ids=("m_1#0", "m_2#0", "m_3#0"), scores=(0.9, 0.8, 0.3))
    words, exact = replace(vector, channel="bm25"), replace(vector, channel="fts5")
    assert drop_compared(vector, stages).ids == ("m_1#0", "m_2#0")
    assert drop_compared(vector, stages).scores == (0.9, 0.8)
    assert drop_compared(vector, []) == vector
    assert drop_compared(words, stages).ids == ("m_1#0",)
    assert drop_compared(exact, stages) == exact
