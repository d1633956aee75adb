"""Our BM25 is tantivy's: a passage scores the same in the tail as in a base, length rounding included."""

from __future__ import annotations

import numpy as np
import pytest
from tests.index import oracle
from tests.index.conftest import Opening
from tests.index.writing import save, saved

from assay.index import scoring
from assay.records import Filters, Scope
from assay.storage import Store


def test_a_length_is_rounded_down_to_one_that_can_be_kept() -> None:
    lengths = np.array([0, 1, 39, 40, 41, 42, 55, 56, 59, 60, 1_000, 10**6])
    assert scoring.round_length_down(lengths).tolist() == [0, 1, 39, 40, 40, 42, 54, 56, 56, 60, 984, 983_064]


def test_idf_falls_as_a_term_gets_common_and_stays_positive() -> None:
    found = [scoring.idf(1_000, frequency) for frequency in (1, 10, 500, 1_000)]
    assert found == sorted(found, reverse=True)
    assert found[-1] > 0


@pytest.mark.parametrize("length", [1, 7, 40, 41, 63, 130, 555, 3_000])
def test_a_passage_scores_in_the_tail_as_in_the_base(
    store: Store, scope: Scope, open_indexes: Opening, length: int
) -> None:
    filler = [saved(f"f_{place}", ["word " * (place * 9)], title="t") for place in range(6)]
    text = "cookies " * (length // 3 + 1) + "filler " * (length // 2)
    save(store, scope, *filler, saved("m_1", [text], title="t"))
    indexes = open_indexes()
    with store.reading(scope) as work:
        before = indexes.view(work).lexical({"cooki": 1.0, "filler": 0.5, "word": 0.1}, limit=10)
    indexes.compact(scope)
    with store.reading(scope) as work:
        after = indexes.view(work).lexical({"cooki": 1.0, "filler": 0.5, "word": 0.1}, limit=10)
    assert [one.number for one in before] == [one.number for one in after]
    assert [one.score for one in before] == pytest.approx([one.score for one in after], abs=2e-4)


def test_a_passage_of_the_tail_is_measured_against_the_lengths_of_the_base(
    store: Store, scope: Scope, open_indexes: Opening
) -> None:
    save(store, scope, *[saved(f"f_{place}", ["word " * 30], title="t") for place in range(6)])
    indexes = open_indexes()
    indexes.compact(scope)
    with store.reading(scope) as work:
        base = oracle.bags(work)
    save(store, scope, saved("m_1", ["cookies word word"], title="t"))
    with store.reading(scope) as work:
        found = indexes.view(work).lexical({"cooki": 1.0, "word": 1.0}, limit=10)
        terms, tail = {"cooki": 1.0, "word": 1.0}, set(oracle.bags(work)) - set(base)
        oracle.same(found, oracle.lexical(work, terms, 10, Filters(), base=base, tail=tail), 3e-4)
