"""The program that kills workers and schedulers must see a run that went wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from reliability.cluster import ClusterOutcome
from reliability.outcome import broken

GOOD = ClusterOutcome(
    workers_killed=3,
    schedulers_killed=1,
    runs=2,
    resumed=1,
    cases=600,
    taken_back=40,
    given_up=(),
    repeated=(),
    missing=(),
    other_hashes=0,
    seconds=1.0,
)


@pytest.mark.parametrize(
    "wrong",
    [
        {"workers_killed": 0, "schedulers_killed": 0},
        {"taken_back": 0, "resumed": 0},
        {"given_up": ("q1",)},
        {"repeated": ("q1",)},
        {"missing": ("q1",)},
        {"other_hashes": 1},
    ],
)
def test_each_promise_can_be_broken(wrong: dict[str, object]) -> None:
    assert broken(GOOD) == []
    assert len(broken(replace(GOOD, **wrong))) == 1  # type: ignore[arg-type]
