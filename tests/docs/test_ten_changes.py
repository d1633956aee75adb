"""The table of ten changes is true: files exist, and none of the changes touches more than five."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "contributing" / "ten-changes.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([\w ]+) \| (\d+) \| (.+) \|$", PAGE, flags=re.MULTILINE)
MOST_FILES = 5


def test_there_are_ten_changes() -> None:
    assert len({name for name, _, _ in ROWS}) == 10


@pytest.mark.parametrize(("name", "count", "files"), ROWS, ids=[name for name, _, _ in ROWS])
def test_a_change_touches_few_files_and_names_them(name: str, count: str, files: str) -> None:
    named = re.findall(r"`([^`]+)`( \(new\))?", files)
    assert len(named) == int(count) <= MOST_FILES, name
    for path, new in named:
        place = ROOT / "src" / "assay" / path
        assert place.parent.is_dir() if new else place.is_file(), f"{name}: there is no {path}"


def test_every_change_says_how_to_see_it() -> None:
    sections = [section for section in PAGE.split("\n## ")[1:] if "Trial: " in section]
    assert len(sections) == len(ROWS)
    assert all("\nSee it: " in section for section in sections)
