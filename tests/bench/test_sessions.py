"""Twenty questions in one session find what they find without one."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.sessions import MOST_LOST, QUESTIONS, run

from assay.embedding.bundled import load_bundled


@pytest.mark.slow
def test_twenty_questions_in_one_session_lose_at_most_one_hit(tmp_path: Path) -> None:
    [figures] = run(tmp_path, load_bundled(), sessions=1)
    assert figures.plain == QUESTIONS
    assert figures.in_session >= figures.plain - MOST_LOST
    assert figures.named == figures.named_again == figures.plain
    assert figures.held_back > 0
    assert figures.tokens_saved > 0
