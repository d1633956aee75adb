"""Figures as values and as SVG: what is drawn, what stands in the table, and that no label can become markup."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import assay
from assay.presentation import charts
from assay.presentation.charts.figures import Scale, round_values
from assay.presentation.templates import environment

PAGES = environment(Path(__file__).parent)
MOST_ASSETS = 400_000
"""Bytes of all scripts and style sheets together, compressed."""


def draw(figure: charts.Figure, said: str = "a chart") -> str:
    return PAGES.from_string('{% import "macros.html" as ui with context %}{{ ui.chart(figure, said) }}').render(
        figure=figure, said=said
    )


class Tags(HTMLParser):
    """The tags and the words of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.words = ""
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.addresses += [value or "" for name, value in attrs if name == "href"]

    def handle_data(self, data: str) -> None:
        self.words += data


def figures(text: str) -> Iterator[charts.Figure]:
    yield charts.changes(
        [charts.ChartChange(text, 0.1, 0.0, 0.2, "better"), charts.ChartChange(text, -0.1, None, None, "same")]
    )
    yield charts.evidence_path([(1, 0.1, -0.1), (2, 0.2, -0.2)], 3.69, 100)
    yield charts.histogram([0, 1, 2], bar=0.7, addresses=["/a", "/b", "/c"])
    yield charts.bars({text: 0.5}, what="share", share=True, addresses={text: "/x"})
    yield charts.trend([charts.Point("2026-11-09", 0.5, 0.4, 0.6, 9), charts.Point("2026-11-16", None, None, None, 0)])
    yield charts.neighbours(
        [charts.Node(text, 0, "/memory/a"), charts.Node(text, 1, "/memory/b")], [charts.Tie(0, 1, "supports")]
    )
    yield charts.steps([(text, 3)])
    yield charts.stacked(
        [charts.Stack("2026-11-09", {"a": 3, "b": 1}, {"a": "/a"})],
        [charts.Series("a", text, "accent"), charts.Series("b", "other", "fail")],
        what="questions",
    )
    yield charts.latency_histogram([1.0, 2.0, 30.0], [(text, 2.0)])
    yield charts.funnel([charts.FunnelStep(text, 4, 0), charts.FunnelStep("next", 1, 2)])


def test_every_figure_draws_its_marks_and_has_its_table() -> None:
    for figure in figures("a name"):
        page = draw(figure)
        assert figure.marks
        assert page.count("data-mark") == len(figure.marks)
        assert all(cell in Tags(page).words for row in figure.table.rows for cell in row)
        assert "<script" not in page
        assert "style=" not in page


@settings(max_examples=15)
@given(st.text(max_size=40))
def test_no_label_becomes_markup(text: str) -> None:
    known = {name for figure in figures("a") for name in Tags(draw(figure)).names}
    for figure in figures(f"<script>{text}</script>"):
        assert Tags(draw(figure)).names <= known


def test_marks_lead_to_their_addresses_and_the_drawing_says_so_to_readers_of_a_screen() -> None:
    series = [charts.Series("a", "answered", "accent"), charts.Series("f", "failed", "fail")]
    stacks = [charts.Stack("2026-11-09", {"a": 3, "f": 1}, {"a": "/q?a=1", "f": "/q?f=1"}, "week of 9 November")]
    page = draw(charts.stacked(stacks, series, what="questions"))
    assert Tags(page).addresses == ["/q?a=1", "/q?f=1"]
    assert 'aria-label="week of 9 November, failed: 1 of 4 (25%)"' in page
    assert 'role="group"' in page
    assert 'role="img"' in draw(charts.steps([("a", 1)]))


def test_parts_stand_on_each_other_and_fill_the_whole() -> None:
    series = [charts.Series(name, name, "accent") for name in "abc"]
    [one] = charts.stacked(
        [charts.Stack("2026-11-09", {"a": 2, "b": 0, "c": 2}, {})], series, what="questions", share=True
    ).panels
    first, last = one.marks
    assert first.y == pytest.approx(last.y + last.y2)
    assert first.y2 == pytest.approx(last.y2)
    assert [mark.y2 + mark.y for mark in (first,)] == [pytest.approx(239)]


def test_a_difference_keeps_its_interval_its_order_and_the_line_of_no_difference() -> None:
    found = [charts.ChartChange("b", -0.2, -0.3, -0.1, "worse"), charts.ChartChange("a", -0.3, None, None, "too_few")]
    figure = charts.changes(found)
    assert [panel.label for panel in figure.panels] == ["b", "a"]
    assert [tick.text for tick in figure.ticks if tick.strong] == ["+0"]
    whisker, dot = figure.panels[0].marks
    assert whisker.x < dot.x < whisker.x2
    assert whisker.title == "b: -0.200 [-0.300, -0.100], worse"
    assert [mark.shape.value for mark in figure.panels[1].marks] == ["ring"]
    assert figure.table.rows[1] == ("a", "-0.300", "no interval", "too_few")


def test_a_time_without_a_value_is_not_drawn_and_stands_in_the_table() -> None:
    points = [charts.Point("2026-11-09", 0.5, 0.4, 0.6, 9, "/q"), charts.Point("2026-11-16", None, None, None, 0)]
    figure = charts.trend(points)
    assert [(mark.title, mark.address) for mark in figure.marks if mark.shape == "dot"] == [
        ("2026-11-09: 0.500 [0.400, 0.600] over 9", "/q")
    ]
    assert figure.table.rows[1] == ("2026-11-16", "\N{EN DASH}", "no interval", "0")


def test_arrows_run_as_edges_do_and_no_two_nodes_share_a_spot() -> None:
    nodes = [charts.Node(str(place), min(place, 2), f"/memory/{place}") for place in range(6)]
    figure = charts.neighbours(nodes, [charts.Tie(0, 1, "caused"), charts.Tie(2, 1, "supports")])
    out, back = (mark for mark in figure.marks if mark.shape == "arrow")
    assert out.x < out.x2
    assert back.x > back.x2
    dots = [(mark.x, mark.y) for mark in figure.marks if mark.shape == "dot"]
    assert len(set(dots)) == len(nodes)
    assert {mark.text for mark in figure.panels[0].marks if mark.colour == "quiet"} == {"  caused →", "  ← supports"}


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 9))
def test_ticks_are_few_round_and_inside(low: float, width: float, most: int) -> None:
    values = round_values(low, low + width, most)
    assert len(values) <= most + 1
    assert all(low - 1e-6 * width <= value <= low + width + 1e-6 * width for value in values)


def test_a_value_outside_the_range_stays_inside_the_drawing() -> None:
    assert Scale(0.0, 1.0).at(3.0) == 100.0
    assert Scale(2.0, 2.0).at(2.0) == 50.0


def test_scripts_and_style_sheets_are_small() -> None:
    source = Path(assay.__file__).parent
    folders = (source / "presentation/assets", source / "server/pages/assets")
    sizes = {file.name: len(gzip.compress(file.read_bytes())) for one in folders for file in one.iterdir()}
    assert sum(sizes.values()) < MOST_ASSETS, sizes
    assert not re.search("plotly", (source.parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
