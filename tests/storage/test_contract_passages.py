"""Passages as search and indexes read them: numbers, light rows, pages and filters."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.storage import samples

from assay.errors import RecordExists
from assay.records import Scope, Tier
from assay.storage import FolderCount, IndexPassage, MemoryColumns, ShownPassage, Store
from assay.testing import note
from assay.testing.clock import START

OTHER = Scope(tenant="other")


def numbers(store: Store, scope: Scope) -> list[int]:
    with store.reading(scope) as work:
        return [passage.number for passage in work.passages.page()]


def test_a_number_is_never_used_again(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add(note("m_1"), samples.chunks("m_1", 2))
    with store.writing(scope) as work:
        work.memories.remove("m_1")
    with store.writing(scope) as work:
        work.memories.add(note("m_1"), samples.chunks("m_1", 2))
        assert work.memories.numbers_of(["m_1", "m_gone"]) == {"m_1": 2}
    assert numbers(store, scope) == [3, 4]


def test_tenants_share_one_row_of_numbers(store: Store, scope: Scope) -> None:
    for whose in (scope, OTHER, scope):
        with store.writing(whose) as work:
            count = work.memories.count()
            work.memories.add(note(f"m_{count}"), samples.chunks(f"m_{count}", 1))
    assert (numbers(store, scope), numbers(store, OTHER)) == ([1, 3], [2])


def test_numbers_grow_in_the_order_of_a_batch(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add_many([samples.embedded("m_b", "one", "two"), samples.embedded("m_a", "three")])
        page = work.passages.page()
    assert [(one.number, one.memory_number, one.text) for one in page] == [
        (1, 1, "one"),
        (2, 1, "two"),
        (3, 2, "three"),
    ]


def test_a_refused_batch_draws_no_numbers_that_the_next_one_would_share(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add(note("m_1"), samples.chunks("m_1", 1))
        with pytest.raises(RecordExists):
            work.memories.add_many([samples.embedded("m_2"), samples.embedded("m_1")])
        work.memories.add(note("m_2"), samples.chunks("m_2", 1))
    found = numbers(store, scope)
    assert len(found) == len(set(found)) == 2
    assert store.problems() == []


def test_candidates_carry_what_ranking_wants_to_know(store: Store, scope: Scope) -> None:
    given = {
        "tier": Tier.CRITICAL, "folder": "ops", "tags": ("a", "b"), "context_type": "code",
        "entity_type": "RULE", "confidence": 0.25,
        "learned_triggers": ("learned",), "superseded_at": samples.AT,
    }  # fmt: skip
    with store.writing(scope) as work:
        own = samples.chunk("m_1", heading_path="A > B", text="T", token_count=7)
        work.memories.add(note("m_1", rel_path="ops/a.md", **given), [own])
        work.memories.add(note("m_2"), samples.chunks("m_2", 2))
        first, last = sorted(work.passages.candidates([3, 1, 99]))
        assert work.passages.first_candidates(["m_1", "m_gone"]) == [first]
        assert work.passages.first_numbers(["m_1", "m_2", "m_gone"]) == {"m_1": 1, "m_2": 2}
        [told] = work.passages.read_shown([1, 99]).values()
    passage = {"number": 1, "memory_id": "m_1", "position": 0, "token_count": 7, "passage_id": "m_1#0"}
    assert {name: getattr(first, name) for name in passage} == passage
    wanted = {name: said for name, said in given.items() if name not in ("tags", "learned_triggers")} | {
        "id": "m_1", "number": 1, "has_learned": True,
        "updated_at": START.timestamp(), "valid_from": START.timestamp(), "superseded_at": samples.AT.timestamp(),
    }  # fmt: skip
    assert {name: getattr(first.memory, name) for name in wanted} == wanted
    assert told.tags == ["a", "b"]
    told_of = told._replace(written_by="", written_with="", stored_metadata="{}", stored_tags="")
    assert told_of == ShownPassage(1, "T", "A > B", "Note m_1", "ops/a.md", START, samples.AT, "", "", "{}", "")
    assert (last.number, last.memory.id, last.position, last.memory.superseded_at) == (3, "m_2", 1, None)
    assert not last.memory.has_learned


def test_pages_of_passages_follow_their_numbers(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        first = note("m_1", triggers=("Roll back",), surroundings="Near")
        work.memories.add(first, [samples.chunk("m_1", text="T", heading_path="H")])
        work.memories.add(note("m_2"), samples.chunks("m_2", 2))
        assert work.passages.page(limit=1) == [IndexPassage(1, 1, "Note m_1", ["Roll back"], "H", "T", "Near", 0, 12)]
        assert [one.number for one in work.passages.page(after=1, limit=10)] == [2, 3]
        assert [one.number for one in work.passages.by_numbers([3, 99, 2])] == [2, 3]
        assert work.passages.by_numbers([]) == []
        assert work.passages.texts([3, 99]) == {3: "m_2 passage 1"}
        assert work.passages.first_of([1, 2, 99]) == {1: 1, 2: 2}


def test_columns_of_memories_are_what_filters_look_at(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        about = {"context_type": "code", "entity_type": "RULE", "confidence": 0.25, "learned_triggers": ("x",)}
        work.memories.add(note("m_1", folder="a", tier=Tier.TEMPORARY, superseded_at=samples.AT, **about))
        work.memories.add(note("m_2"))
        [first] = work.passages.memory_columns(limit=1)
        facts = (1, "a", "temporary", START, START, samples.AT, "m_1", START, 0.25, "code", "RULE", '["x"]')
        assert first == MemoryColumns(*facts)
        assert [one.number for one in work.passages.memory_columns(after=1)] == [2]
        [second] = work.passages.memory_columns_of([2, 99])
        assert second[:7] == (2, "", "normal", START, START, None, "m_2")
        assert second.stored_learned_triggers == "[]"


def test_folders_are_counted_without_superseded_memories(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        for position, folder in enumerate(("b", "a", "a/c", "a")):
            work.memories.add(note(f"m_{position}", folder=folder))
        work.memories.add(note("m_old", folder="gone", superseded_at=samples.AT))
        assert work.passages.folders() == [FolderCount("a", 2), FolderCount("a/c", 1), FolderCount("b", 1)]


def test_memories_are_found_by_type_and_by_every_tag(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add(note("m_1", tags=("auth", "web"), entity_type="RULE", context_type="code"))
        work.memories.add(note("m_2", tags=("auth",), entity_type="RULE"))
        work.memories.add(note("m_3", tags=("author",)))
        where = work.passages.numbers_where
        assert where(tags=["auth"]) == [1, 2]
        assert where(tags=["auth", "web"]) == [1]
        assert where(entity_type="RULE") == [1, 2]
        assert where(entity_type="RULE", context_type="code", tags=["web"]) == [1]
        assert where(tags=["unheard"]) == []


awkward = st.text(alphabet='",[]\\a\u00e9\U0001f680 ', min_size=1, max_size=4).filter(str.strip)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tags=st.lists(awkward, max_size=4), asked=awkward)
def test_a_tag_is_found_exactly_when_it_is_one_of_them(store: Store, tags: list[str], asked: str) -> None:
    with store.writing(Scope(tenant="tags")) as work:
        work.memories.add(note("m_1", tags=tuple(tags)))
        assert bool(work.passages.numbers_where(tags=[asked])) == (asked in tags)
        work.memories.remove("m_1")


def test_nothing_of_another_tenant_is_read_by_number(store: Store, scope: Scope) -> None:
    with store.writing(OTHER) as work:
        work.memories.add_many([samples.embedded("m_1", tags=("auth",), folder="theirs", triggers=("secret",))])
    with store.reading(scope) as work:
        read = work.passages
        by_number = [read.candidates([1]), read.by_numbers([1]), read.memory_columns_of([1]), read.texts([1])]
        by_number += [read.read_shown([1])]
        by_number += [read.first_of([1]), read.first_candidates(["m_1"]), work.memories.by_numbers([1])]
        paged = [read.page(), read.memory_columns(), read.folders(), read.numbers_where(tags=["auth"])]
        assert not any([*by_number, *paged])
        assert work.triggers.matching(["secret"]) == []
        assert work.indexed.documents("model-1") == []


def test_many_numbers_are_asked_for_at_once(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add(note("m_1"), samples.chunks("m_1", 3))
        assert len(work.passages.candidates(range(70_000))) == 3


def test_constitutional_memories_are_read_oldest_first(store: Store, scope: Scope) -> None:
    law = Tier.CONSTITUTIONAL
    kept = [note("m_b", tier=law), note("m_a", tier=law), note("m_c", tier=law, superseded_at=samples.AT), note("m_d")]
    with store.writing(scope) as work:
        for memory in kept:
            work.memories.add(memory)
        assert work.memories.constitutional() == kept[:2]
        assert work.memories.constitutional(include_superseded=True) == kept[:3]
        assert work.memories.by_numbers([2, 99]) == {2: kept[1]}


def test_the_current_version_of_a_source_is_the_newest_that_still_holds(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        assert work.memories.current_of_source("s") is None
        work.memories.add(note("m_1", source_id="s", version=1, superseded_at=samples.AT))
        assert work.memories.current_of_source("s") is None
        work.memories.add(note("m_2", source_id="s", version=2))
        assert work.memories.current_of_source("s") == note("m_2", source_id="s", version=2)
