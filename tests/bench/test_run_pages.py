"""The bench of pages over runs asks a real server for every address."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.run_pages import measure


@pytest.mark.slow
def test_every_address_is_answered_over_a_few_runs(tmp_path: Path) -> None:
    found = measure(tmp_path, 22, requests=2, seed=1)
    assert found.runs == 22
    assert len(found.took) == 11
    assert all(0 < took.p50_ms <= took.p95_ms for took in found.took)
