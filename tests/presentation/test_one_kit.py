"""There is one of each: environment, style sheet, colours, and the choice of a colour for a question's result."""

from __future__ import annotations

import re
from pathlib import Path

import assay
from assay.presentation.outcomes import Tone

SOURCE = Path(assay.__file__).parent
OWN = [path for path in SOURCE.rglob("*") if path.suffix in {".py", ".js", ".html", ".css"}]


def files_with(pattern: str, *suffixes: str) -> list[str]:
    found = re.compile(pattern)
    return sorted(
        path.relative_to(SOURCE).as_posix()
        for path in OWN
        if path.suffix in suffixes and found.search(path.read_text(encoding="utf-8"))
    )


def test_there_is_one_style_sheet_and_colours_stand_in_it_alone() -> None:
    assert files_with("", ".css") == ["presentation/assets/assay.css"]
    assert files_with(r"#[0-9a-fA-F]{6}\b", ".py", ".js", ".html") == []


def test_there_is_one_template_environment() -> None:
    assert files_with(r"\bEnvironment\(", ".py") == ["presentation/templates.py"]


def test_one_template_draws_charts_and_no_script_does() -> None:
    assert files_with(r'class="chart"', ".html") == ["presentation/templates/charts.html"]
    assert files_with(r"Plotly", ".js") == []


def test_no_page_is_made_of_strings() -> None:
    assert files_with(r"""["']<(div|section|table|tr|td|p|span|ul|li)\b|<!doctype""", ".py") == []


RESULTS = ("answer", "answer_part", "answered", "ask", "ask_live", "ask_problem", "overview", "queries", "query")
"""Templates that show the result of a question."""


def test_neither_scripts_nor_pages_of_results_choose_a_colour_themselves() -> None:
    classes = "|".join(tone.value for tone in Tone if tone.value)
    chosen = [*files_with(classes, ".js"), *files_with(classes, ".html")]
    assert [name for name in chosen if Path(name).stem in RESULTS] == []
    assert files_with(r"\b0?\.\d\s*\?|[<>]=?\s*0?\.\d", ".js") == []
    live = (SOURCE / "server/pages/templates/ask_live.html").read_text(encoding="utf-8")
    assert 'data-tones="{{ results.LIVE_TONES' in live
