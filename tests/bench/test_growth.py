"""Growth curves: exponents of known curves, tables and charts that show measured sizes alone, a small real run."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from bench.growth import Measured, _curves, fit_exponent, measure_run, measure_store, measure_verdict, write_table
from bench.growth_chart import draw_chart

FOUND = [
    *(Measured("run", size, size / 1e4, size / 5e3, 100.0, 1.0) for size in (1_000, 10_000, 100_000)),
    Measured("search", 1_000, 0.004, 0.008, 150.0, 1.0),
    Measured("search", 10_000, 0.008, 0.008, 180.0, 1.0),
]


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0])
def test_the_exponent_is_that_of_the_largest_sizes(power: float) -> None:
    points = [(size, 3.0 * size**power) for size in (1_000, 10_000, 100_000)]
    assert fit_exponent([(100, 1e6), *points]) == pytest.approx(power)
    assert fit_exponent(points[:1]) is None


def test_a_size_that_was_not_measured_is_said_to_be_so() -> None:
    rows = list(write_table(FOUND))
    assert rows[2].endswith("| 1.00 | 0.00 |")
    assert rows[3] == "| search | 4.0 ms (8.0 ms), 150 MB | 8.0 ms (8.0 ms), 180 MB | not run | 0.30 | 0.08 |"


def test_the_chart_has_a_mark_for_each_measured_size_and_no_other() -> None:
    root = ET.fromstring(draw_chart(list(_curves(FOUND))))
    marks = root.findall("{http://www.w3.org/2000/svg}polygon")
    assert len(marks) == 2 * len(FOUND) + 2  # two panels, and one in the legend for each curve
    texts = [found.text for found in root.findall("{http://www.w3.org/2000/svg}text")]
    assert {"run (n^1.00)", "search (n^0.30)", "100,000", "Memory"} <= set(texts)


def test_a_store_grows_and_two_runs_are_compared(tmp_path: Path) -> None:
    found = list(measure_store(tmp_path, [5, 10], searches=3, saves=3))
    assert [(measured.verb, measured.size) for measured in found] == [
        (verb, size) for size in (5, 10) for verb in ("ingest", "search", "save")
    ]
    folders = [measure_run(tmp_path, 12, shift)[1] for shift in (0, 1)]
    found += [measure_verdict(verb, 12, *folders) for verb in ("compare", "gate")]
    assert all(measured.busy_s > 0.0 and measured.memory_mb > 10.0 for measured in found)


def test_folding_is_measured_where_it_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = list(measure_store(tmp_path, [5], searches=3, saves=3, folding=True))
    assert "folding 100 saves in at 5: " in capsys.readouterr().out
    assert [measured.p95_ms is None for measured in found] == [True, False, False]
    list(measure_store(tmp_path, [5], searches=3, saves=3))
    assert capsys.readouterr().out == ""


def test_a_store_that_was_kept_is_not_filled_again(tmp_path: Path) -> None:
    before = list(measure_store(tmp_path, [5], searches=3, saves=3))
    after = list(measure_store(tmp_path, [5, 8], searches=3, saves=3))
    assert [(measured.verb, measured.size) for measured in after] == [
        ("search", 5),
        ("save", 5),
        ("ingest", 8),
        ("search", 8),
        ("save", 8),
    ]
    assert after[2].busy_s > before[0].busy_s  # everything that was needed to come there
