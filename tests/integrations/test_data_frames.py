"""Runs and comparisons as tables of pandas and Polars."""

from __future__ import annotations

from tests.evaluation.made import level
from tests.evaluation.test_scoring import LISTS, scored
from tests.systems.sample import dataset

from assay.evaluation.comparison import compare_readings

COLUMNS = ["case", "metric", "value", "outcome", "reason"]


def test_a_run_has_a_row_for_each_case_and_metric() -> None:
    result = scored(dataset(), LISTS, "mrr,recall@5")
    pandas, polars = result.to_pandas(), result.to_polars()
    assert list(pandas.columns) == list(polars.columns) == COLUMNS
    assert len(pandas) == polars.height == 8
    expected = [outcome.value for outcome in result.per_case("mrr").values()]
    assert polars.filter(polars["metric"] == "mrr")["value"].to_list() == expected
    assert pandas[pandas["metric"] == "mrr"]["value"].tolist() == expected


def test_a_comparison_has_a_row_for_each_metric() -> None:
    found = compare_readings([level(0.5, name="a"), level(0.6, name="b")])
    assert found.to_polars()["metric"].to_list() == found.to_pandas()["metric"].tolist() == ["ndcg@5"]
    assert found.to_polars()["treatment"].to_list() == ["b"]
