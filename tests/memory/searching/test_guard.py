"""The one boundary at which a part of a search may fail."""

from __future__ import annotations

import pytest

from assay.errors import SearchTimeout
from assay.memory.searching.trace import Failures, Guard
from assay.records import Scope
from assay.storage import Store


def test_what_a_part_gives_is_passed_on(store: Store, scope: Scope) -> None:
    guard = Guard(Failures())
    with store.reading(scope) as work:
        assert guard.run("bm25", work, lambda: [1]) == [1]
    assert guard.notes == []


def test_whatever_a_part_raises_becomes_a_sentence_and_a_count(store: Store, scope: Scope) -> None:
    failures = Failures()
    guard = Guard(failures)

    def slow() -> None:
        raise SearchTimeout("it took too long", remedy="Ask for rarer words.")

    def wrong() -> None:
        raise ZeroDivisionError("by nothing")

    with store.reading(scope) as work:
        for part in (slow, slow, wrong):
            assert guard.run("fts5", work, part) is None
        assert work.memories.count() == 0
    assert guard.notes == [
        "fts5 was left out: it took too long. Ask for rarer words.",
        "fts5 was left out: ZeroDivisionError: by nothing",
    ]
    assert failures.counts() == {("fts5", "SearchTimeout"): 2, ("fts5", "ZeroDivisionError"): 1}


def test_an_interrupt_is_nobodys_failure(store: Store, scope: Scope) -> None:
    def stopped() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), store.reading(scope) as work:
        Guard(Failures()).run("fts5", work, stopped)
