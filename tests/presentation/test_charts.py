"""Figures as values: what is drawn, and that no label can become markup."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from assay.presentation import charts

SIMPLE = {"scatter", "bar"}
"""Trace types that run where text may not be evaluated as code."""


def figures(text: str) -> Iterator[charts.Figure]:
    yield charts.changes(
        [charts.ChartChange(text, 0.1, 0.0, 0.2, "better"), charts.ChartChange(text, -0.1, None, None, "same")]
    )
    yield charts.evidence_path([(1, 0.1, -0.1), (2, 0.2, -0.2)], 3.69, 100)
    yield charts.histogram([0, 1, 2], bar=0.7)
    yield charts.bars({text: 0.5}, what="share", share=True)
    yield charts.trend([charts.Point("2026-11-09", 0.5, 0.4, 0.6, 9), charts.Point("2026-11-16", None, None, None, 0)])
    yield charts.neighbours(
        [charts.Node(text, 0, "/memory/a"), charts.Node(text, 1, "/memory/b")], [charts.Tie(0, 1, "supports")]
    )
    yield charts.steps([(text, 3)])


@given(st.text(max_size=60))
def test_every_figure_is_plain_json_of_simple_traces_without_markup(text: str) -> None:
    for figure in figures(text):
        json.dumps(figure, allow_nan=False)
        assert {trace["type"] for trace in figure["data"]} <= SIMPLE
        assert all("<" not in one for trace in figure["data"] for one in texts(trace))


def texts(trace: dict[str, Any]) -> Iterator[str]:
    """What a trace shows of other people's words."""
    for name in ("x", "y", "text"):
        values = trace.get(name)
        yield from (one for one in values if isinstance(one, str)) if isinstance(values, list) else ()


def test_a_difference_keeps_its_interval_and_the_order_of_its_metrics() -> None:
    found = [charts.ChartChange("b", -0.2, -0.3, -0.1, "worse"), charts.ChartChange("a", 0.1, 0.0, 0.2, "too_few")]
    figure = charts.changes(found)
    worse = next(trace for trace in figure["data"] if trace["name"] == "worse")
    assert worse["error_x"]["arrayminus"] == [0.09999999999999998]
    assert figure["layout"]["yaxis"]["categoryarray"] == ["b", "a"]


def test_a_time_without_a_score_is_left_out_of_a_trend() -> None:
    points = [charts.Point("2026-11-09", 0.5, 0.4, 0.6, 9), charts.Point("2026-11-16", None, None, None, 0)]
    line = charts.trend(points)["data"][-1]
    assert (line["x"], line["y"], line["customdata"]) == (["2026-11-09"], [0.5], [9])


def test_neighbours_stand_in_rings_around_the_middle() -> None:
    nodes = [charts.Node(str(place), min(place, 2), f"/memory/{place}") for place in range(6)]
    dots = charts.neighbours(nodes, [])["data"][-1]
    radii = [round((x * x + y * y) ** 0.5, 6) for x, y in zip(dots["x"], dots["y"], strict=True)]
    assert radii == [0.0, 0.5, 1.0, 1.0, 1.0, 1.0]


def test_differences_have_rows_of_their_own_show_zero_and_no_interval_that_nobody_computed() -> None:
    names = [f"channel_contribution(channel={name})@5" for name in ("vector", "bm25")]
    found = [
        charts.ChartChange(names[0], -0.5, -0.6, -0.4, "worse"),
        charts.ChartChange(names[1], -0.3, None, None, "worse"),
    ]
    figure = charts.changes(found)
    assert len(set(figure["layout"]["yaxis"]["categoryarray"])) == 2
    assert figure["layout"]["xaxis"]["rangemode"] == "tozero"
    assert [("error_x" in trace, len(trace["x"])) for trace in figure["data"]] == [(True, 1), (False, 1)]
    assert figure["data"][0]["customdata"] == ["[-0.600, -0.400]"]
