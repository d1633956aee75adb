"""Rows and words that searches share: kept while the log says nothing of them, and never older than it allows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.index.conftest import Opening
from tests.index.writing import save, saved

from assay.index.state import KeptRows
from assay.records import LogPosition, Scope
from assay.storage import Candidate, Store
from assay.storage.repositories.passages import CandidateMemory

HERE, THERE = LogPosition("e", 1), LogPosition("e", 2)


def row(number: int, memory: int) -> Candidate:
    of_it = CandidateMemory(f"m_{memory}", memory, "normal", "", "", "", 0.5, "[]", "[]", 0.0, 0.0, None)
    return Candidate(number, of_it.id, 0, 1, of_it, f"{of_it.id}#0")


def test_what_was_read_is_there_and_nothing_else() -> None:
    kept = KeptRows(HERE)
    kept.add([row(1, 1), row(2, 1)], HERE)
    assert kept.among([1, 2, 3]) == {1: row(1, 1), 2: row(2, 1)}


def test_a_row_of_another_moment_is_not_taken_in() -> None:
    kept = KeptRows(HERE)
    kept.advance(THERE, touched=[])
    kept.add([row(1, 1)], HERE)
    assert kept.among([1]) == {}


def test_what_was_touched_is_dropped() -> None:
    kept = KeptRows(HERE)
    kept.add([row(1, 1), row(2, 2), row(3, 2), row(4, 4)], HERE)
    kept.advance(THERE, touched=[1, 2, 3, 9])
    assert kept.among(range(9)) == {4: row(4, 4)}
    kept.add([row(3, 2)], THERE)
    kept.advance(HERE, touched=[3])
    assert kept.among([3]) == {}


def test_when_there_are_too_many_the_older_half_is_let_go() -> None:
    kept = KeptRows(HERE, most=4)
    kept.add([row(number, number) for number in range(1, 6)], HERE)
    assert sorted(kept.among(range(9))) == [4, 5]
    kept.advance(THERE, touched=[1, 4])
    assert sorted(kept.among(range(9))) == [5]


def test_words_are_kept_beside_rows_and_leave_with_them() -> None:
    kept = KeptRows(HERE)
    kept.add([row(1, 1), row(2, 2), row(3, 3)], HERE)
    kept.add_words({1: "a", 2: "b", 3: "c", 4: "without a row"}, HERE)
    assert kept.words_among(range(9)) == {1: "a", 2: "b", 3: "c"}
    kept.advance(THERE, touched=[1, 2])
    assert kept.words_among(range(9)) == {3: "c"}
    kept.add([row(1, 1)], THERE)
    kept.add_words({1: "a"}, HERE)
    assert kept.words_among([1]) == {}


def test_when_there_are_too_many_words_all_are_let_go() -> None:
    kept = KeptRows(HERE, most_letters=4)
    kept.add([row(number, number) for number in range(1, 5)], HERE)
    kept.add_words({1: "aa", 2: "bb"}, HERE)
    kept.advance(THERE, touched=[2])
    kept.add_words({1: "aa", 3: "cc"}, THERE)
    assert sorted(kept.words_among(range(9))) == [1, 3]
    kept.add_words({4: "d"}, THERE)
    assert kept.words_among(range(9)) == {}
    assert sorted(kept.among(range(9))) == [1, 3, 4]
    kept.add_words({3: "cccc"}, THERE)
    assert kept.words_among([3]) == {3: "cccc"}


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


@pytest.mark.parametrize("folded", [False, True])
def test_a_view_gives_rows_as_they_are_now_whoever_changed_them(
    store: Store, scope: Scope, open_indexes: Opening, *, folded: bool
) -> None:
    save(store, scope, saved("m_1", ["a", "b"]), saved("m_2", ["c"]))
    indexes = open_indexes()
    if folded:
        indexes.compact(scope)
    with store.reading(scope) as work:
        before = indexes.view(work).candidates([1, 2, 99])
        again = indexes.view(work).candidates([2, 1])
        assert sorted(one.number for one in before) == [1, 2]
        assert {id(one) for one in again} == {id(one) for one in before}
    with store.writing(scope) as work:
        there = work.memories.get(before[0].memory_id)
        work.memories.update(replace(there, confidence=0.125))
    with store.reading(scope) as work:
        after = indexes.view(work).candidates([before[0].number])
    assert [one.memory.confidence for one in after] == [0.125]


def test_a_snapshot_older_than_the_index_reads_its_own_rows(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, saved("m_1", ["a", "b"]), saved("m_2", ["c"]))
    indexes = open_indexes()
    with store.reading(scope) as older:
        [number] = [one.number for one in older.passages.candidates([1])]
        memory = older.passages.candidates([number])[0].memory_id
        with store.writing(scope) as work:
            work.memories.update(replace(work.memories.get(memory), confidence=0.125))
        with store.reading(scope) as newer:
            assert indexes.view(newer).candidates([number])[0].memory.confidence == 0.125
        assert indexes.view(older).candidates([number])[0].memory.confidence != 0.125


def test_first_rows_and_memories_are_known_by_memory_and_leave_with_their_rows() -> None:
    kept = KeptRows(HERE)
    further = row(2, 1)._replace(position=1)
    kept.add([further, row(3, 2)], HERE)
    assert kept.first_among(["m_1", "m_2"]) == {"m_2": row(3, 2)}
    assert dict(kept.memories) == {1: further.memory, 2: row(3, 2).memory}
    kept.add([row(1, 1)], HERE)
    assert kept.first_among(["m_1", "m_2"]) == {"m_1": row(1, 1), "m_2": row(3, 2)}
    kept.advance(THERE, touched=[1, 2])
    assert kept.first_among(["m_1", "m_2"]) == {"m_2": row(3, 2)}
    assert dict(kept.memories) == {2: row(3, 2).memory}
