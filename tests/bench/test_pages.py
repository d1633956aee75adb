"""The bench of pages asks a real server for every address, and a deep page is one that has pages before it."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.pages import GOALS_MS, measure


@pytest.mark.slow
def test_every_address_is_answered_over_a_store_of_a_few_evaluations(tmp_path: Path) -> None:
    found = measure(tmp_path, 120, requests=2, seed=1)
    assert found.evaluations == 120
    assert found.peak_mb > 10
    assert {one.what.split(",")[0] for one in found.took} == set(GOALS_MS)
    assert all(0 < one.p50_ms <= one.p95_ms for one in found.took)
    sizes = {one.what: one.kilobytes for one in found.took}
    assert sizes["Questions, deep page"] > 2 * sizes["Questions, a word of none"]
