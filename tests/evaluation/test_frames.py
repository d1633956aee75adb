"""Runs and comparisons as data frames and as tables of a notebook; stand-ins take the place of pandas and polars."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.made import golden, good, level, poor, reading, run_of

from assay.errors import MissingExtra
from assay.evaluation.comparison import compare_readings
from assay.evaluation.frames import CASE_COLUMNS, CHANGE_COLUMNS, show_in_notebook

STAND_IN = """
class Series(list):
    def __init__(self, values, dtype):
        super().__init__(values)
        self.dtype = dtype
class DataFrame(dict):
    def __init__(self, data, schema=None):
        super().__init__(data)
        self.schema = schema
String, Float64, Int64, Boolean = "String", "Float64", "Int64", "Boolean"
"""
LISTS = [good(0), None, poor(2)]


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Put a small package of a name where Python finds it."""
    made: list[str] = []

    def make(name: str) -> None:
        (tmp_path / f"{name}.py").write_text(STAND_IN, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.syspath_prepend(tmp_path)
        made.append(name)

    yield make
    for name in made:
        sys.modules.pop(name, None)


class Reader(HTMLParser):
    """The texts of cells and everything that a page would load or run."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._inside = self._inside or tag in ("td", "th")
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.cells[-1] += data


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_without_the_package_the_error_names_it_and_the_line_that_installs_it(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else found(name))
    for thing in (run_of(golden(3), LISTS), compare_readings([level(0.5), level(0.6)])):
        with pytest.raises(MissingExtra, match=f"to_{package} needs the Python package '{package}'") as refused:
            getattr(thing, f"to_{package}")()
        assert refused.value.remedy == f"Install it: pip install {package}"


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_run_hands_over_a_row_for_each_case_and_metric_and_missing_stays_missing(
    package: str, stand_in: Callable[[str], None]
) -> None:
    stand_in(package)
    run = run_of(golden(3), LISTS)
    frame: Any = getattr(run, f"to_{package}")()
    assert list(frame) == list(CASE_COLUMNS)
    assert {len(column) for column in frame.values()} == {3 * len(run.scores)}
    rows = {
        (case, metric): value
        for case, metric, value in zip(frame["case"], frame["metric"], frame["value"], strict=True)
    }
    assert rows["q00", "ndcg@5"] == 1.0
    assert rows["q01", "ndcg@5"] is None
    place = list(frame["case"]).index("q01")
    assert frame["outcome"][place] == "system_failed"
    assert "it broke" in frame["reason"][place]
    assert set(frame["stopped_early"]) == {False}


def test_columns_keep_their_types_where_every_value_is_missing(stand_in: Callable[[str], None]) -> None:
    stand_in("pandas")
    stand_in("polars")
    found = compare_readings([level(0.5, cases=1), level(0.6, cases=1)])
    pandas: Any = found.to_pandas()
    assert pandas["p"] == [None]
    assert (pandas["p"].dtype, pandas["queries_needed"].dtype, pandas["verdict"].dtype) == (
        "float64",
        "Int64",
        "object",
    )
    polars: Any = found.to_polars()
    assert polars.schema == {
        name: {str: "String", float: "Float64", int: "Int64"}[kind] for name, kind in CHANGE_COLUMNS.items()
    }


def test_a_comparison_hands_over_a_row_for_each_run_and_metric(stand_in: Callable[[str], None]) -> None:
    stand_in("pandas")
    found = compare_readings([level(0.5, name="a"), level(0.6, name="b"), level(0.4, name="c")])
    frame: Any = found.to_pandas()
    assert list(frame) == list(CHANGE_COLUMNS)
    assert list(zip(frame["control"], frame["treatment"], frame["verdict"], strict=True)) == [
        ("a", "b", "better"),
        ("a", "c", "worse"),
    ]
    assert frame["delta"] == pytest.approx([0.1, -0.1])
    assert frame["interval_low"][0] <= 0.1 <= frame["interval_high"][0]


def test_a_notebook_shows_the_verdict_in_words() -> None:
    found = compare_readings([level(0.5, name="a"), level(0.6, name="b")])
    page = found._repr_html_()
    assert "b is better on ndcg@5." in page
    cells = Reader(page).cells
    assert cells[:6] == ["metric", "a", "b", "b - a [95 %]", "p", "verdict"]
    assert cells[6:9] == ["ndcg@5", "0.500", "0.600"]
    assert cells[11].startswith("Better: +0.1 [")


def test_a_notebook_shows_a_missing_value_as_missing() -> None:
    nothing = run_of(golden(2), [None, None])
    cells = Reader(nothing._repr_html_()).cells
    place = cells.index("ndcg@5")
    assert cells[place : place + 5] == ["ndcg@5", "missing", "missing", "0 of 2", "none"]
    one_case = compare_readings([level(0.5, cases=1), level(0.6, cases=1)])._repr_html_()
    assert "<em>missing</em>" in one_case


def test_a_notebook_says_which_floors_are_missed() -> None:
    run = replace(run_of(golden(3), LISTS), floors={"ndcg@5": 0.5, "precision@5": 0.99})
    page = run._repr_html_()
    assert "1 of 2 floors are missed or not measured: precision@5." in page
    cells = Reader(page).cells
    assert cells[cells.index("ndcg@5") + 4] == "0.5, reached"
    assert cells[cells.index("precision@5") + 4] == "0.99, missed"
    reached = replace(run, floors={"ndcg@5": 0.5})
    assert "Every floor is reached: ndcg@5." in reached._repr_html_()
    assert "demands no floor" in replace(run, floors={})._repr_html_()


def test_names_of_runs_are_escaped_and_nothing_is_loaded() -> None:
    bad = '<script src="//evil.example/x.js">&'
    values = {"ndcg@5": {f"q{number}": 0.5 for number in range(20)}}
    pages = [
        compare_readings([reading(values, name=bad), reading(values, name="b")])._repr_html_(),
        run_of(golden(2), [good(0), None], name=bad)._repr_html_(),
        show_in_notebook(bad, bad, (bad, "b"), [(bad, None)], [bad]),
    ]
    for page in pages:
        reader = Reader(page)
        assert "&lt;script" in page
        assert reader.tags <= {
            "div",
            "p",
            "strong",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "em",
            "details",
            "summary",
            "ul",
            "li",
        }
        assert reader.attributes <= {"style", "scope"}
