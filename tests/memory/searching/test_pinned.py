"""Constitutional memories come with every result."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.memory.searching.shelf import Shelf

from assay.records import Filters, Tier
from assay.testing import note


def pinned(shelf: Shelf, **given: object) -> list[str]:
    return [one.memory_id for one in shelf.search("anything", **given).pinned]


def test_they_come_with_every_result_with_their_whole_body_and_tokens(shelf: Shelf) -> None:
    law = note("m_law", title="Law", body="Never log secrets.\n\nNot even masked.", tier=Tier.CONSTITUTIONAL)
    shelf.put(law, note("m_1", body="anything"))
    (found,) = shelf.search("anything", k=1).pinned
    assert (found.memory_id, found.title, found.body, found.tokens) == ("m_law", "Law", law.body, 6)


def test_a_new_law_and_the_end_of_one_are_seen_by_the_next_search(shelf: Shelf) -> None:
    shelf.put(note("m_1", body="anything"))
    assert pinned(shelf) == []
    law = note("m_law", tier=Tier.CONSTITUTIONAL)
    shelf.put(law)
    assert pinned(shelf) == pinned(shelf) == ["m_law"]
    shelf.clock.advance(days=1)
    shelf.replace(replace(law, superseded_at=shelf.clock.now()))
    assert pinned(shelf) == []
    shelf.replace(replace(law, tier=Tier.NORMAL))
    assert pinned(shelf) == []


def test_only_the_moment_asked_about_changes_them(shelf: Shelf) -> None:
    now = shelf.clock.now()
    shelf.put(
        note("m_first", tier=Tier.CONSTITUTIONAL, superseded_at=now + timedelta(days=2)),
        note("m_second", tier=Tier.CONSTITUTIONAL, valid_from=now + timedelta(days=2)),
    )
    assert pinned(shelf, filters=Filters(as_of=now + timedelta(days=1))) == ["m_first"]
    assert pinned(shelf, filters=Filters(as_of=now + timedelta(days=3))) == ["m_second"]
    assert pinned(shelf, filters=Filters(folder="nowhere", tags=("none",), tiers=(Tier.NORMAL,))) == ["m_second"]


def test_a_session_gets_them_every_time(sqlite_shelf: Shelf) -> None:
    sqlite_shelf.put(note("m_law", body="anything", tier=Tier.CONSTITUTIONAL))
    assert [pinned(sqlite_shelf, session_id="s") for _ in range(3)] == [["m_law"]] * 3
