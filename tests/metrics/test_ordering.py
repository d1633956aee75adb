from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.metrics.ordering import PADDING, Rows, rank_grades, rank_ids, sort_keys

scores = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(-1e30, 1e30),
    st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-12, 1e-45, -1e-45]),
)


def test_score_decides_then_the_larger_id() -> None:
    assert rank_ids({"a": 1.0, "b": 2.0, "c": 1.0}) == ["b", "c", "a"]


def test_scores_that_float32_cannot_tell_apart_are_equal() -> None:
    assert rank_ids({"a": 1.0 + 1e-12, "b": 1.0}) == ["b", "a"]
    assert rank_ids({"a": 1.0 + 1e-6, "b": 1.0}) == ["a", "b"]


def test_minus_zero_is_zero() -> None:
    assert rank_ids({"a": 0.0, "b": -0.0}) == ["b", "a"]


def test_ids_are_ordered_by_their_bytes() -> None:
    assert rank_ids({"z": 0, "é": 0, "\U0001f600": 0, "\uffff": 0}) == ["\U0001f600", "\uffff", "é", "z"]


def test_nothing_is_ranked_as_nothing() -> None:
    assert rank_ids({}) == []
    nothing = Rows(np.zeros(2, np.int64), np.empty(0, np.float32), np.empty(0, np.int16), lambda _: ())
    assert rank_grades(nothing).shape == (2, 0)


@given(values=st.lists(scores, min_size=2))
def test_keys_ascend_exactly_where_float32_descends(values: list[float]) -> None:
    singles = np.array(values, dtype=np.float64).astype(np.float32)
    keys = sort_keys(np.array(values))
    assert ((keys[:, None] < keys) == (singles[:, None] > singles)).all()
    assert ((keys[:, None] == keys) == (singles[:, None] == singles)).all()


ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3)
rankings = st.lists(st.dictionaries(ids, st.tuples(scores, st.integers(-1, 3)), max_size=8), min_size=1, max_size=5)


@settings(deadline=None)
@given(rows=rankings)
def test_many_rankings_at_once_come_out_as_one_by_one(rows: list[dict[str, tuple[float, int]]]) -> None:
    cells = [cell for row in rows for cell in row.values()]
    together = Rows(
        lengths=np.array([len(row) for row in rows]),
        scores=np.array([score for score, _ in cells], dtype=np.float32),
        grades=np.array([grade for _, grade in cells], dtype=np.int16),
        ids=lambda row: list(rows[row]),
    )
    found = rank_grades(together)
    for row, got in zip(rows, found.tolist(), strict=True):
        alone = [row[one][1] for one in rank_ids({one: score for one, (score, _) in row.items()})]
        assert got == alone + [PADDING] * (len(got) - len(alone))
