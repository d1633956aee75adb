"""Runs and comparisons as frames of the real packages: types and missing values are theirs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.evaluation.made import golden, good, level, poor, run_of

from assay.evaluation.comparison import compare_readings

LISTS = [good(0), None, poor(2)]


def test_a_run_becomes_a_pandas_frame() -> None:
    pandas: Any = pytest.importorskip("pandas")
    frame = run_of(golden(3), LISTS).to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    values = frame[frame["metric"] == "ndcg@5"].set_index("case")["value"]
    assert values["q00"] == 1.0
    assert pandas.isna(values["q01"])
    assert values.dtype == "float64"
    assert values.mean() == pytest.approx((values["q00"] + values["q02"]) / 2)


def test_a_comparison_becomes_a_pandas_frame() -> None:
    pandas: Any = pytest.importorskip("pandas")
    frame = compare_readings([level(0.5, cases=1), level(0.6, cases=1)]).to_pandas()
    assert frame["p"].dtype == "float64"
    assert pandas.isna(frame["p"][0])
    assert frame["wins"].dtype == "Int64"
    assert list(frame["metric"]) == ["ndcg@5"]


def test_a_run_becomes_a_polars_frame() -> None:
    polars: Any = pytest.importorskip("polars")
    frame = run_of(golden(3), LISTS).to_polars()
    values = frame.filter(polars.col("metric") == "ndcg@5")
    assert values["value"].to_list()[:2] == [1.0, None]
    assert values["value"].null_count() == 1
    assert frame.schema["stopped_early"] == polars.Boolean


def test_a_comparison_becomes_a_polars_frame() -> None:
    polars: Any = pytest.importorskip("polars")
    frame = compare_readings([level(0.5, cases=1), level(0.6, cases=1)]).to_polars()
    assert frame.schema["p"] == polars.Float64
    assert frame["p"].to_list() == [None]
    assert frame["interval_low"].to_list()[0] is None or frame["interval_low"].to_list()[0] <= 0.1
