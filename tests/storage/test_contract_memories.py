"""Memories and their chunks: kept, changed, found, listed and counted alike on both back ends."""

from __future__ import annotations

import pytest
from tests.storage import samples

from assay.errors import BadValue, RecordExists, RecordNotFound
from assay.records import Chunk, Format, MemoryRecord, Scope, Tier
from assay.storage import Saved, Store
from assay.testing import note

ODD_ORDER = ["A", "A.b", "Z", "a", "a#1", "a-1", "a.1", "a:1", "aB", "a_1", "aa", "z", "z1", "z10", "z9"]
"""Already in byte order; a language would order them otherwise."""


def keep(store: Store, scope: Scope, *ids: str) -> None:
    with store.writing(scope) as work:
        work.memories.add_many(Saved(memory) for memory in samples.notes(*ids))


def ids(memories: list[MemoryRecord]) -> list[str]:
    return [memory.id for memory in memories]


def test_a_memory_with_every_field_filled_comes_back_equal(store: Store, scope: Scope) -> None:
    kept = samples.memory()
    with store.writing(scope) as work:
        work.memories.add(kept)
    with store.reading(scope) as work:
        assert work.memories.get(kept.id) == kept


def test_a_memory_with_only_what_is_required_comes_back_equal(store: Store, scope: Scope) -> None:
    kept = note("m_1", body="", metadata={}, tags=(), source_id=None, superseded_at=None, confidence=0.0)
    with store.writing(scope) as work:
        work.memories.add(kept)
    with store.reading(scope) as work:
        assert work.memories.get("m_1") == kept


def test_every_tier_and_format_is_kept(store: Store, scope: Scope) -> None:
    kept = [note(f"m_{tier}_{format}", tier=tier, format=format) for tier in Tier for format in Format]  # noqa: A001 - the record's own word
    with store.writing(scope) as work:
        work.memories.add_many(Saved(memory) for memory in kept)
    with store.reading(scope) as work:
        assert [work.memories.get(memory.id) for memory in kept] == kept


def test_chunks_come_back_in_document_order_with_every_field(store: Store, scope: Scope) -> None:
    pieces = [
        samples.chunk("m_1", 0),
        samples.chunk("m_1", 1, text="", heading_path="", token_count=0),
        samples.chunk("m_1", 2, text=samples.LONG, token_count=2**40),
    ]
    with store.writing(scope) as work:
        work.memories.add(note("m_1"), pieces)
    with store.reading(scope) as work:
        assert work.memories.chunks_of("m_1") == pieces
        assert work.memories.count_chunks() == 3


def test_chunks_are_ordered_by_number_not_by_text(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add(note("m_1"), samples.chunks("m_1", 12))
    with store.reading(scope) as work:
        assert [piece.position for piece in work.memories.chunks_of("m_1")] == list(range(12))


def test_headings_of_several_memories_come_in_document_order(store: Store, scope: Scope) -> None:
    paths = {"m_2": ["", "Guide", "Guide > Install"], "m_1": [f"Part {place}" for place in range(12)]}
    keep(store, scope, "m_bare")
    with store.writing(scope) as work:
        for memory_id, own in paths.items():
            pieces = [samples.chunk(memory_id, place, heading_path=path) for place, path in enumerate(own)]
            work.memories.add(note(memory_id), pieces)
    with store.reading(scope) as work:
        assert work.memories.headings_of(["m_2", "m_bare", "m_1", "m_unknown"]) == paths
        assert work.memories.headings_of(["m_2"]) == {"m_2": paths["m_2"]}
    with store.reading(Scope(tenant="another")) as work:
        assert work.memories.headings_of(["m_2"]) == {}


def test_a_memory_without_chunks_has_none(store: Store, scope: Scope) -> None:
    keep(store, scope, "m_1")
    with store.reading(scope) as work:
        assert work.memories.chunks_of("m_1") == []
        assert work.memories.chunks_of("m_unknown") == []
        assert work.memories.count_chunks() == 0


@pytest.mark.parametrize(
    "pieces",
    [
        [samples.chunk("m_1", 1)],
        [samples.chunk("m_1", 1), samples.chunk("m_1", 0)],
        [samples.chunk("m_1", 0), samples.chunk("m_1", 0)],
        [samples.chunk("m_2", 0)],
    ],
    ids=["gap", "disorder", "repeat", "another memory's"],
)
def test_chunks_that_are_not_numbered_from_zero_are_refused(store: Store, scope: Scope, pieces: list[Chunk]) -> None:
    with pytest.raises(BadValue, match="m_1") as refused, store.writing(scope) as work:
        work.memories.add(note("m_1"), pieces)
    assert refused.value.remedy
    with store.reading(scope) as work:
        assert work.memories.count() == 0


def test_adding_nothing_changes_nothing(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add_many([])
    with store.reading(scope) as work:
        assert work.memories.count() == 0
        assert work.changes.position().seq == 0


def test_an_id_that_is_taken_is_refused_by_name(store: Store, scope: Scope) -> None:
    keep(store, scope, "m_1")
    with pytest.raises(RecordExists, match="m_1") as refused, store.writing(scope) as work:
        work.memories.add(note("m_1", title="Another"))
    assert refused.value.remedy
    with store.reading(scope) as work:
        assert work.memories.get("m_1") == note("m_1")


def test_one_taken_id_refuses_the_whole_batch_and_is_named(store: Store, scope: Scope) -> None:
    keep(store, scope, "m_2")
    with pytest.raises(RecordExists, match="m_2"), store.writing(scope) as work:
        work.memories.add_many(Saved(memory) for memory in samples.notes("m_1", "m_2", "m_3"))
    with store.reading(scope) as work:
        assert ids(work.memories.page()) == ["m_2"]


def test_an_id_twice_in_one_batch_is_refused_by_name(store: Store, scope: Scope) -> None:
    with pytest.raises(RecordExists, match="m_2"), store.writing(scope) as work:
        work.memories.add_many(Saved(memory) for memory in samples.notes("m_1", "m_2", "m_2"))
    with store.reading(scope) as work:
        assert work.memories.count() == 0


@pytest.mark.parametrize("refused", [("m_3", "m_1"), ("m_1",)])
def test_a_refused_add_leaves_the_unit_of_work_usable(store: Store, scope: Scope, refused: tuple[str, ...]) -> None:
    keep(store, scope, "m_1")
    with store.writing(scope) as work:
        work.memories.add(note("m_2"))
        with pytest.raises(RecordExists):
            work.memories.add_many(Saved(memory) for memory in samples.notes(*refused))
        work.memories.add(note("m_4"))
    with store.reading(scope) as work:
        assert ids(work.memories.page()) == ["m_1", "m_2", "m_4"]
    assert store.problems() == []


def test_an_update_replaces_every_field_and_keeps_the_chunks(store: Store, scope: Scope) -> None:
    pieces = samples.chunks("m_full", 2)
    with store.writing(scope) as work:
        work.memories.add(note("m_full"), pieces)
    with store.writing(scope) as work:
        work.memories.update(samples.memory("m_full"))
    with store.reading(scope) as work:
        assert work.memories.get("m_full") == samples.memory("m_full")
        assert work.memories.chunks_of("m_full") == pieces


@pytest.mark.parametrize("number", [0, 1, 5])
def test_an_update_with_chunks_replaces_them_all(store: Store, scope: Scope, number: int) -> None:
    with store.writing(scope) as work:
        work.memories.add(note("m_1"), samples.chunks("m_1", 3))
        work.memories.add(note("m_2"), samples.chunks("m_2", 1))
    fresh = [samples.chunk("m_1", position) for position in range(number)]
    with store.writing(scope) as work:
        work.memories.update(note("m_1", title="New"), fresh)
    with store.reading(scope) as work:
        assert work.memories.chunks_of("m_1") == fresh
        assert work.memories.count_chunks() == number + 1


def test_an_update_with_misnumbered_chunks_changes_nothing(store: Store, scope: Scope) -> None:
    keep(store, scope, "m_1")
    with store.writing(scope) as work, pytest.raises(BadValue, match="m_1"):
        work.memories.update(note("m_1", title="New"), [samples.chunk("m_1", 1)])
    with store.reading(scope) as work:
        assert work.memories.get("m_1") == note("m_1")


def test_updating_what_is_not_there_is_refused_by_name(store: Store, scope: Scope) -> None:
    with pytest.raises(RecordNotFound, match="m_unknown") as refused, store.writing(scope) as work:
        work.memories.update(note("m_unknown"))
    assert refused.value.remedy


def test_removing_a_memory_takes_its_chunks_and_edges_and_nothing_else(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        for one in ("m_1", "m_2", "m_3"):
            work.memories.add(note(one), samples.chunks(one, 2))
        work.edges.put(samples.edge("m_1", "m_2"))
        work.edges.put(samples.edge("m_3", "m_1"))
        work.edges.put(samples.edge("m_2", "m_3"))
    with store.writing(scope) as work:
        work.memories.remove("m_1")
    with store.reading(scope) as work:
        assert ids(work.memories.page()) == ["m_2", "m_3"]
        assert work.memories.count_chunks() == 4
        assert work.edges.of("m_1") == []
        assert work.edges.count() == 1
    assert store.problems() == []


def test_removing_what_is_not_there_is_refused_by_name(store: Store, scope: Scope) -> None:
    with pytest.raises(RecordNotFound, match="m_unknown") as refused, store.writing(scope) as work:
        work.memories.remove("m_unknown")
    assert refused.value.remedy


def test_a_removed_id_can_be_used_again(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add(note("m_1"), samples.chunks("m_1", 2))
        work.memories.remove("m_1")
        work.memories.add(note("m_1", title="Again"))
    with store.reading(scope) as work:
        assert work.memories.get("m_1").title == "Again"
        assert work.memories.chunks_of("m_1") == []


def test_getting_what_is_not_there_is_refused_and_finding_it_gives_none(store: Store, scope: Scope) -> None:
    with store.reading(scope) as work:
        assert work.memories.find("m_unknown") is None
        with pytest.raises(RecordNotFound, match="m_unknown") as refused:
            work.memories.get("m_unknown")
    assert refused.value.remedy


def test_ids_are_told_apart_by_case(store: Store, scope: Scope) -> None:
    keep(store, scope, "m_a", "m_A")
    with store.reading(scope) as work:
        assert work.memories.get("m_a").id == "m_a"
        assert work.memories.get("m_A").id == "m_A"


def test_memories_are_listed_in_the_byte_order_of_their_ids(store: Store, scope: Scope) -> None:
    keep(store, scope, *reversed(ODD_ORDER))
    with store.reading(scope) as work:
        assert ids(work.memories.page()) == ODD_ORDER


def test_pages_follow_each_other_without_gap_or_repeat(store: Store, scope: Scope) -> None:
    keep(store, scope, *ODD_ORDER)
    seen: list[str] = []
    with store.reading(scope) as work:
        while page := ids(work.memories.page(after=seen[-1] if seen else "", limit=4)):
            assert len(page) <= 4
            seen += page
    assert seen == ODD_ORDER


def test_a_page_can_be_of_one_folder(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        for one, folder in [("m_1", "b"), ("m_2", "a"), ("m_3", "b"), ("m_4", "B"), ("m_5", "")]:
            work.memories.add(note(one, folder=folder))
    with store.reading(scope) as work:
        assert ids(work.memories.page(folder="b")) == ["m_1", "m_3"]
        assert ids(work.memories.page(folder="b", after="m_1")) == ["m_3"]
        assert ids(work.memories.page(folder="")) == ["m_5"]
        assert work.memories.page(folder="c") == []


def test_versions_of_a_source_are_given_oldest_first(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        for one, source, version in [("m_c", "s", 2), ("m_b", "s", 10), ("m_a", "s", 2), ("m_d", "S", 1)]:
            work.memories.add(note(one, source_id=source, version=version))
    with store.reading(scope) as work:
        assert ids(work.memories.by_source("s")) == ["m_a", "m_c", "m_b"]
        assert work.memories.by_source("unknown") == []


MENTIONS = {
    "m_1": "100% sure",
    "m_2": "100 sure",
    "m_3": "snake_case",
    "m_4": "snakeXcase",
    "m_5": "back\\slash /slash",
    "m_6": "\u00c4PFEL und \u00d6l",
    "m_7": "it's \U0001f680 'quoted'",
}
FOUND_BY = {
    "100%": ["m_1"],
    "0% S": ["m_1"],
    "e_c": ["m_3"],
    "SNAKE": ["m_3", "m_4"],
    "back\\s": ["m_5"],
    "/slash": ["m_5"],
    "\u00c4PFEL": ["m_6"],
    "\u00c4pfel": ["m_6"],
    "\u00e4pfel": [],
    "it's \U0001f680 '": ["m_7"],
    "%": ["m_1"],
    "_": ["m_3"],
    "nowhere": [],
    "": list(MENTIONS),
}


def test_known_sources_are_told_superseded_ones_too_and_none_of_another_tenant(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add(note("m_1", source_id="a"))
        work.memories.add(note("m_2", source_id="b", superseded_at=note().created_at))
        work.memories.add(note("m_3", source_id=None))
    with store.writing(Scope(tenant="other")) as work:
        work.memories.add(note("m_1", source_id="c"))
    with store.reading(scope) as work:
        assert work.memories.sources_among(["a", "b", "c", "d"]) == {"a", "b"}
        assert work.memories.sources_among([]) == set()


def test_words_are_found_letter_for_letter_but_for_ascii_case(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        for one, said in MENTIONS.items():
            work.memories.add(note(one, title="Note", body=said))
    with store.reading(scope) as work:
        assert {words: ids(work.memories.mentioning(words)) for words in FOUND_BY} == FOUND_BY


def test_words_are_found_in_titles_too_and_the_number_is_limited(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add(note("m_2", title="A rocket", body=""))
        work.memories.add(note("m_1", title="x", body="Rockets"))
        work.memories.add(note("m_3", title="rocket", body="rocket"))
    with store.reading(scope) as work:
        assert ids(work.memories.mentioning("rocket")) == ["m_1", "m_2", "m_3"]
        assert ids(work.memories.mentioning("rocket", limit=2)) == ["m_1", "m_2"]


@pytest.mark.parametrize("words", ["a\x00b", "\ud800", "x" * 60_000], ids=["NUL", "surrogate", "too long"])
def test_words_no_text_can_hold_are_refused(store: Store, scope: Scope, words: str) -> None:
    with store.reading(scope) as work, pytest.raises(BadValue, match="words"):
        work.memories.mentioning(words)


def test_counting_follows_adding_and_removing(store: Store, scope: Scope) -> None:
    keep(store, scope, "m_1", "m_2", "m_3")
    with store.writing(scope) as work:
        assert work.memories.count() == 3
        work.memories.remove("m_2")
        assert work.memories.count() == 2
    with store.reading(scope) as work:
        assert work.memories.count() == 2
