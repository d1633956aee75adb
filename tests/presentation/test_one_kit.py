"""There is one of each: environment, style sheet, colours, and the scores at which colours change."""

from __future__ import annotations

import re
from pathlib import Path

import assay
from assay.presentation.wording import GOOD_SCORE, POOR_SCORE

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


def test_one_script_draws_charts() -> None:
    assert files_with(r"Plotly\.", ".js") == ["presentation/assets/charts.js"]


def test_no_page_is_made_of_strings() -> None:
    assert files_with(r"""["']<(div|section|table|tr|td|p|span|ul|li)\b|<!doctype""", ".py") == []


def test_scores_change_their_colour_at_values_that_scripts_are_given() -> None:
    assert files_with(rf"{GOOD_SCORE}\b|\b{POOR_SCORE}\s*\?", ".js") == []
    live = (SOURCE / "server/pages/templates/ask_live.html").read_text(encoding="utf-8")
    assert 'data-good="{{ GOOD_SCORE }}" data-poor="{{ POOR_SCORE }}"' in live
