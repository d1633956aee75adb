"""Tiers in ranking: critical and important memories are raised a little, deprecated ones are served last."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.memory.learning.desk import Desk
from tests.memory.searching.shelf import Shelf, ids

from assay.memory.searching.boosts import boost_tier, rank_bounds
from assay.memory.searching.options import SearchOptions
from assay.records import EdgeKind, Filters, MemoryRecord, Mode, Tier
from assay.storage import Store
from assay.testing import FixedClock, note

QUERY = "harbour pilots board ships at dawn"


def pilots(id: str, tier: Tier = Tier.NORMAL, body: str = "Harbour pilots board ships at dawn.") -> MemoryRecord:  # noqa: A002
    return note(id, title="Pilots", body=body, tier=tier)


@pytest.mark.parametrize(
    ("tier", "factor"),
    [
        (Tier.CRITICAL, 1.005),
        (Tier.IMPORTANT, 1.0025),
        (Tier.NORMAL, 1.0),
        (Tier.TEMPORARY, 1.0),
        (Tier.DEPRECATED, 1.0),
    ],
)
def test_the_factor_of_each_tier(tier: Tier, factor: float) -> None:
    boost = boost_tier(tier, SearchOptions())
    assert (1.0 if boost is None else boost.factor) == pytest.approx(factor)


def test_of_equal_memories_the_higher_tier_comes_first_and_the_explanation_says_so(shelf: Shelf) -> None:
    shelf.put(pilots("m_1"), pilots("m_2", Tier.IMPORTANT), pilots("m_3", Tier.CRITICAL))
    found = shelf.search(QUERY, explain=True)
    assert ids(found) == ["m_3", "m_2", "m_1"]
    told = [{boost.name: boost.reason for boost in hit.explanation.boosts} for hit in found if hit.explanation]
    assert [boosts.get("tier") for boosts in told] == ["its tier is critical", "its tier is important", None]
    for hit in found:
        assert hit.explanation is not None
        assert hit.explanation.recompute() == pytest.approx(hit.score)


def test_without_the_flag_no_tier_counts(sqlite_shelf: Shelf) -> None:
    sqlite_shelf.put(pilots("m_1", Tier.DEPRECATED), pilots("m_2", Tier.CRITICAL), pilots("m_3"))
    assert ids(sqlite_shelf.search(QUERY)) == ["m_2", "m_3", "m_1"]
    assert ids(sqlite_shelf.search(QUERY, without=("tier_boost",))) == ["m_1", "m_2", "m_3"]
    sqlite_shelf.searcher = sqlite_shelf.searching(flags=sqlite_shelf.flags(tier_boost=0))
    assert ids(sqlite_shelf.search(QUERY)) == ["m_1", "m_2", "m_3"]


def test_a_tier_never_lifts_a_result_over_one_that_is_clearly_more_relevant(sqlite_shelf: Shelf) -> None:
    sqlite_shelf.put(pilots("m_exact"), pilots("m_vague", Tier.CRITICAL, "Ships of the harbour need repair."))
    plain = sqlite_shelf.search(QUERY, without=("tier_boost",))
    bounds = rank_bounds([hit.score for hit in plain], 1.005)
    boosted = ids(sqlite_shelf.search(QUERY))
    assert boosted == ["m_exact", "m_vague"]
    for hit, bound in zip(plain, bounds, strict=True):
        assert bound.best <= boosted.index(hit.memory_id) + 1 <= bound.worst


@pytest.mark.parametrize("mode", [Mode.QUICK, Mode.FOCUSED, Mode.DEEP])
def test_a_deprecated_memory_is_served_last_whatever_it_scores(shelf: Shelf, mode: Mode) -> None:
    shelf.put(pilots("m_old", Tier.DEPRECATED))
    shelf.put(*(pilots(f"m_{number}", body=f"Pilots of the harbour, note {number}.") for number in range(6)))
    found = shelf.search(QUERY, mode=mode, k=7, explain=True)
    assert ids(found)[-1] == "m_old"
    last = found.hits[-1]
    assert last.tier is Tier.DEPRECATED
    assert last.score > found.hits[0].score
    assert last.explanation is not None
    assert last.explanation.served_last_from == 1
    assert last.explanation.recompute() == pytest.approx(last.score)
    assert {hit.explanation.served_last_from for hit in found.hits[:-1] if hit.explanation} == {None}


def test_a_deprecated_memory_takes_no_place_from_a_current_one(sqlite_shelf: Shelf) -> None:
    sqlite_shelf.put(*(pilots(f"m_old{number}", Tier.DEPRECATED) for number in range(5)))
    sqlite_shelf.put(*(pilots(f"m_{number}", body=f"A pilot, note {number}.") for number in range(3)))
    assert {*ids(sqlite_shelf.search(QUERY, k=3))} == {"m_0", "m_1", "m_2"}
    asked = Filters(tiers=(Tier.DEPRECATED,))
    assert len(sqlite_shelf.search(QUERY, k=10, filters=asked)) == 5


def test_a_deprecated_memory_does_not_make_current_ones_irrelevant(sqlite_shelf: Shelf) -> None:
    sqlite_shelf.put(
        pilots("m_old", Tier.DEPRECATED), pilots("m_new", body="Pilots rest, harbour boats wait for weather.")
    )
    strict = sqlite_shelf.search(QUERY, relevant_only=True)
    assert ids(strict) == ["m_new", "m_old"]
    assert ids(sqlite_shelf.search(QUERY, relevant_only=True, without=("tier_boost",))) == ["m_old"]


def test_a_person_s_deprecated_note_does_not_hold_a_program_s_note_down(sqlite_shelf: Shelf) -> None:
    person = replace(pilots("m_person", Tier.DEPRECATED), written_by="ada", written_with="save")
    program = replace(pilots("m_program", body="Pilots never board."), written_by="bot", written_with="memory_save")
    sqlite_shelf.put(person, program, pilots("m_other", body="Pilots eat."))
    sqlite_shelf.join("m_program", EdgeKind.CONTRADICTS, "m_person")
    found = sqlite_shelf.search("pilots never board", explain=True)
    assert ids(found) == ["m_program", "m_other", "m_person"]
    assert [other.memory_id for other in found.hits[0].contradicts] == ["m_person"]


def test_promotion_by_validations_changes_a_result(store: Store, clock: FixedClock) -> None:
    desk = Desk(store, clock)
    desk.shelf.put(pilots("m_1"), pilots("m_2"))
    assert ids(desk.shelf.search(QUERY)) == ["m_1", "m_2"]
    # Votes on questions of other words: without the tier they would not raise it for this one.
    for number in range(5):
        desk.vote_on(f"zebra{number} quagga{number}", "m_2")
    assert desk.memory("m_2").tier is Tier.IMPORTANT
    assert ids(desk.shelf.search(QUERY)) == ["m_2", "m_1"]
    assert ids(desk.shelf.search(QUERY, without=("tier_boost",))) == ["m_1", "m_2"]
