"""`assay serve --demo` has a folder of its own; what fills it is tested in `pages/test_demo_pages.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import InputError
from assay.server import demo
from assay.settings import load_settings


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("three years of work", encoding="utf-8")
    with pytest.raises(InputError, match="the demo did not create"):
        demo.demo_settings(load_settings().settings, tmp_path)
    assert (tmp_path / "thesis.txt").exists()


def test_what_was_left_half_made_is_made_anew(tmp_path: Path) -> None:
    settings = demo.demo_settings(load_settings().settings, tmp_path / "demo")
    Path(settings.db).write_text("half", encoding="utf-8")
    demo.clear(settings)
    assert not Path(settings.db).exists()
    (tmp_path / "demo" / demo.FILLED).write_text("{}", encoding="utf-8")
    Path(settings.db).write_text("whole", encoding="utf-8")
    demo.clear(settings)
    assert Path(settings.db).read_text(encoding="utf-8") == "whole"
