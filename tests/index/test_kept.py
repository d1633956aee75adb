"""What searches share, kept while the log says nothing of it; and rows made of columns, never older than the log."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.index.conftest import Opening
from tests.index.writing import save, saved

from assay.index import Rows
from assay.index.state import Kept
from assay.index.view import FEW_PHRASES
from assay.records import LogPosition, Scope, Tier
from assay.storage import Store
from assay.testing.clock import START

HERE, THERE = LogPosition("e", 1), LogPosition("e", 2)
LONG = "m_" + "x" * 40


def test_words_are_there_until_their_passage_is_touched() -> None:
    kept = Kept(HERE)
    kept.add_words({1: "a", 2: "b", 3: "c"}, HERE)
    assert kept.words_among(range(9)) == {1: "a", 2: "b", 3: "c"}
    kept.advance(THERE, touched=[1, 2, 9])
    assert kept.words_among(range(9)) == {3: "c"}


def test_what_was_read_at_another_moment_is_not_taken_in() -> None:
    kept = Kept(HERE)
    kept.advance(THERE, touched=[])
    kept.add_words({1: "a"}, HERE)
    kept.add_firsts({"m_1": 1}, HERE)
    assert (kept.words_among([1]), kept.firsts_among(["m_1"])) == ({}, {})


def test_when_there_are_too_many_words_all_are_let_go() -> None:
    kept = Kept(HERE, most_letters=4)
    kept.add_words({1: "aa", 2: "bb"}, HERE)
    kept.advance(THERE, touched=[2])
    kept.add_words({1: "aa", 3: "cc"}, THERE)
    assert sorted(kept.words_among(range(9))) == [1, 3]
    kept.add_words({4: "d"}, THERE)
    assert kept.words_among(range(9)) == {}
    kept.add_words({3: "cccc"}, THERE)
    assert kept.words_among([3]) == {3: "cccc"}


def test_first_passages_are_there_until_they_are_touched_or_too_many() -> None:
    kept = Kept(HERE, most_firsts=2)
    kept.add_firsts({"m_1": 1, "m_2": 2}, HERE)
    assert kept.firsts_among(["m_1", "m_2", "m_3"]) == {"m_1": 1, "m_2": 2}
    kept.advance(THERE, touched=[1, 7])
    assert kept.firsts_among(["m_1", "m_2"]) == {"m_2": 2}
    kept.add_firsts({"m_1": 4, "m_3": 3}, THERE)
    assert kept.firsts_among(["m_1", "m_2", "m_3"]) == {"m_1": 4, "m_3": 3}


def test_a_view_gives_words_as_they_are_now_whoever_changed_them(
    store: Store, scope: Scope, open_indexes: Opening
) -> None:
    save(store, scope, saved("m_1", ["a", "b"]), saved("m_2", ["c"]))
    indexes = open_indexes()
    with store.reading(scope) as older:
        before = indexes.view(older).words([1, 2, 3, 99])
        again = indexes.view(older).words([3, 2, 1])
        assert before == older.passages.words([1, 2, 3])
        assert {number: id(found) for number, found in again.items()} == {
            number: id(found) for number, found in before.items()
        }
        with store.writing(scope) as work:
            [owner] = {one.memory_id for one in older.passages.candidates([1])}
            work.memories.update(replace(work.memories.get(owner), title="Renamed"))
        with store.reading(scope) as newer:
            view = indexes.view(newer)
            assert view.words([1])[1].startswith(" renamed \n")
            assert view.words([1, 2, 3]) == newer.passages.words([1, 2, 3])
        assert indexes.view(older).words([1, 2, 3]) == before


@pytest.mark.parametrize("folded", ["nothing", "the first", "all"])
def test_rows_of_columns_are_the_rows_of_the_database(
    store: Store, scope: Scope, open_indexes: Opening, *, folded: str
) -> None:
    about: dict[str, Any] = {
        "tier": Tier.CRITICAL, "folder": "ops/a", "context_type": "code", "entity_type": "RULE", "confidence": 0.1,
        "learned_triggers": ("x",), "updated_at": START + timedelta(microseconds=1),
    }  # fmt: skip
    save(store, scope, saved("m_1", ["a", "b c"], **about), saved("m_2", ["c"]), saved("m_3", ["d", "e"]))
    indexes = open_indexes()
    with store.reading(scope) as work:
        indexes.view(work)
    if folded != "nothing":
        indexes.compact(scope)
    save(store, scope, saved("m_4", ["f"], confidence=1.0), saved("m_5", ["g"], superseded_at=START))
    with store.writing(scope) as work:
        work.memories.update(replace(work.memories.get("m_1"), confidence=0.7, context_type="mail"))
        work.memories.update(replace(work.memories.get("m_2"), superseded_at=START + timedelta(days=1)))
        work.memories.remove("m_3")
    if folded == "all":
        indexes.compact(scope)
    with store.reading(scope) as work:
        expected = {row.number: row for row in work.passages.candidates(range(99))}
        view = indexes.view(work)
        rows = view.rows([*range(1, 99)])
        assert dict(rows) == expected
        assert sorted(rows.memory_ids.items()) == sorted((number, row.memory_id) for number, row in expected.items())
        assert rows.memory_numbers == {number: row.memory.number for number, row in expected.items()}
        assert rows.passage_names().name(list(rows)) == tuple(expected[number].passage_id for number in rows)
        assert set(rows.keep_current()) == {n for n, row in expected.items() if row.memory.superseded_at is None}
        assert rows.find_learners(rows) == {row.memory_id for row in expected.values() if row.memory.has_learned}
        assert dict(Rows(expected.values())) == dict(rows)
        firsts = {row.memory_id: number for number, row in expected.items() if row.position == 0}
        assert view.first_passages([*firsts, "m_3", "m_9"]) == firsts
        assert view.first_passages([*firsts]) == firsts


def test_an_id_that_does_not_fit_into_the_table_is_read(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, saved(LONG, ["a"]), saved("m_2", ["b"]))
    with store.reading(scope) as work:
        rows = open_indexes().view(work).rows([1, 2])
        assert dict(rows) == {row.number: row for row in work.passages.candidates([1, 2])}
    assert rows.memory_ids[1] == LONG


def test_rows_can_be_joined_and_left_out(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, saved("m_1", ["a", "b"], learned_triggers=("x",)), saved("m_2", ["c"], superseded_at=START))
    indexes = open_indexes()
    with store.reading(scope) as work:
        view = indexes.view(work)
        joined = view.rows([1]).join(Rows(work.passages.candidates([2]))).join(view.rows([3]))
        assert dict(joined) == dict(view.rows([1, 2, 3]))
    current = joined.keep_current()
    assert (sorted(current), current.find_learners([1, 2])) == ([1, 2], {"m_1"})
    assert dict(current.keep(lambda row: row.position == 1)) == {2: joined[2]}
    names = joined.passage_names()
    assert (names.name([2, 1, 2]), names.name([3])) == (("m_1#1", "m_1#0", "m_1#1"), ("m_2#0",))
    assert joined.keep(lambda row: True) is joined
    with pytest.raises(KeyError):
        current[3]


def test_a_snapshot_older_than_the_index_reads_its_own_rows(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, saved("m_1", ["a", "b"]), saved("m_2", ["c"]))
    indexes = open_indexes()
    with store.reading(scope) as older:
        # On PostgreSQL a snapshot begins with the first thing that is read.
        assert len(older.passages.candidates([1])) == 1
        with store.writing(scope) as work:
            work.memories.update(replace(work.memories.get("m_1"), confidence=0.125))
        with store.reading(scope) as newer:
            assert indexes.view(newer).rows([1])[1].memory.confidence == 0.125
        view = indexes.view(older)
        assert view.rows([1])[1].memory.confidence != 0.125
        assert view.first_passages(["m_1"]) == {"m_1": 1}


def test_rows_know_the_highest_confidence(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, saved("m_1", ["a"], confidence=0.25), saved("m_2", ["b"], confidence=0.75))
    indexes = open_indexes()
    with store.reading(scope) as work:
        low, high = indexes.view(work).rows([1]), indexes.view(work).rows([2])
        assert (Rows().highest_confidence, low.highest_confidence, high.highest_confidence) == (0.0, 0.25, 0.75)
        assert Rows(work.passages.candidates([1, 2])).highest_confidence == 0.75
    assert low.join(high).highest_confidence == 0.75
    assert low.join(high).keep(lambda row: True).highest_confidence == 0.75


def test_a_view_gives_authors_as_they_are_in_its_snapshot(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, saved("m_1", ["a"]), saved("m_2", ["b"]))
    indexes = open_indexes()
    with store.reading(scope) as older:
        before = indexes.view(older).authors_of(["m_1", "m_2", "m_none"])
        assert before == older.memories.authors_of(["m_1", "m_2"])
        assert indexes.view(older).authors_of(["m_2", "m_1"]) == before, "kept"
        with store.writing(scope) as work:
            work.memories.update(replace(work.memories.get("m_1"), superseded_at=START + timedelta(days=1)))
        with store.reading(scope) as newer:
            assert not indexes.view(newer).authors_of(["m_1"])["m_1"].is_current
        assert indexes.view(older).authors_of(["m_1", "m_2"]) == before, "a snapshot sees no later change"


def test_rows_of_others_can_be_added(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, saved("m_1", ["a", "b"]), saved("m_2", ["c"]))
    with store.reading(scope) as work:
        view = open_indexes().view(work)
        whole, rows = view.rows([1, 2, 3]), view.rows([1])
        kept = rows.keep(lambda _: False)
        rows.extend(view.rows([2, 3]))
        rows.make_rows([3, 1])
        assert dict(rows) == dict(whole)
        assert (rows.memory_ids, rows.positions) == (whole.memory_ids, whole.positions)
        assert not kept, "what was left out stays out"
        assert not rows.has_deprecated


def test_rows_know_whether_one_may_be_deprecated(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, saved("m_1", ["a"]), saved("m_2", ["b"]))
    with store.writing(scope) as work:
        work.memories.update(replace(work.memories.get("m_2"), tier=Tier.DEPRECATED))
    with store.reading(scope) as work:
        view = open_indexes().view(work)
        assert [view.rows([number]).has_deprecated for number in (1, 2)] == [False, True]
        assert [Rows(work.passages.candidates([number])).has_deprecated for number in (1, 2)] == [False, True]
        first = view.rows([1])
        assert first.join(view.rows([2])).has_deprecated
        first.extend(view.rows([2]))
        assert first.has_deprecated


def test_a_view_knows_a_few_trigger_phrases(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, saved("m_1", ["a"]))
    indexes = open_indexes()
    asked = ["push", "red button"]
    with store.reading(scope) as older:
        assert not indexes.view(older).may_match_triggers(asked)
        save(store, scope, saved("m_2", ["b"], triggers=("red button",)))
        with store.reading(scope) as newer:
            assert indexes.view(newer).may_match_triggers(asked)
            assert not indexes.view(newer).may_match_triggers(["red", "button"])
        with store.reading(Scope(tenant="other")) as others:
            assert not indexes.view(others).may_match_triggers(asked)
        assert not indexes.view(older).may_match_triggers(asked), "a snapshot sees no later change"


def test_of_many_trigger_phrases_any_may_match(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, saved("m_1", ["a"], triggers=[f"button {number}" for number in range(FEW_PHRASES)]))
    indexes = open_indexes()
    with store.reading(scope) as work:
        assert not indexes.view(work).may_match_triggers(["red button"])
    save(store, Scope(tenant="other"), saved("m_1", ["b"], triggers=["lamp"]))
    save(store, scope, saved("m_2", ["c"]))
    with store.reading(scope) as work:
        assert indexes.view(work).may_match_triggers(["red button"])
