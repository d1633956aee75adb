"""Whatever is sent, the server answers as its description says, and never with a fault of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.fuzzing import Fuzzing
from tests.server.serving import served, services_at

ENDLESS = 10_000_000


def fuzzed(folder: Path, cases: int, seed: int) -> int:
    with services_at(folder, server_requests_per_minute=ENDLESS) as services, served(services) as address:
        seen = Fuzzing(address=address, headers={}, cases=cases, seed=seed).run()
    assert seen[200] > 0
    assert seen[422] > 0
    assert max(seen) < 500
    return seen.total()


def test_a_few_hundred_made_up_requests_are_answered_as_described(tmp_path: Path) -> None:
    assert fuzzed(tmp_path, cases=6, seed=1) > 200


@pytest.mark.slow
def test_ten_thousand_made_up_requests_are_answered_as_described(tmp_path: Path) -> None:
    assert fuzzed(tmp_path, cases=240, seed=2) > 10_000
