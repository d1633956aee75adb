"""`assay demo`: the main job from nothing, with the bundled dataset and the bundled embedder."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.telling import Run


def test_a_folder_that_no_demo_made_is_left_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "precious.txt").write_text("keep me")
    assert run("demo", "--folder", "mine").code == 3
    assert (tmp_path / "mine" / "precious.txt").read_text() == "keep me"


@pytest.mark.slow
def test_the_demo_compares_gates_explains_and_reports_and_can_be_run_again(run: Run, tmp_path: Path) -> None:
    told = run("demo")
    assert told.code == 0, told.err
    assert "Assay demo: hotel" in told.out
    assert "s ingest" in told.out
    assert "worse" in told.out
    assert "Gate, default:  PASS" in told.out
    assert "Gate, fts-only: FAIL   recall@5" in told.out
    assert "never a candidate" in told.out
    assert (tmp_path / "build" / "demo" / "report.html").is_file()

    again = run("demo", "--json").json
    assert again["ingested"] == 0
    assert again["gates"]["default"]["passed"] is True
    assert again["gates"]["fts-only"]["passed"] is False
