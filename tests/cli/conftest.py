"""A command line in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.telling import Run, runner


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs commands where nothing is yet."""
    monkeypatch.chdir(tmp_path)
    return runner(capsys)
