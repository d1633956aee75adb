"""Each reliability program in the form a test run can afford; `make soak` runs the long ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from reliability.__main__ import NEEDS_SHIM
from reliability.outcome import broken
from reliability.scenarios import SCENARIOS, Form, Scenario

from reliability import shim


def _named(scenario: Scenario) -> str:
    return scenario.name


LONG = (
    *("api_load", "cluster", "egress", "erasure_postgres", "events_postgres", "hostile", "judge_faults"),
    *("killed_restore", "migration", "pipeline_faults", "power_cut", "several_servers", "state_machine", "tenants"),
)
"""Programs whose short form takes many seconds and whose promises have tests of their own beside it."""


def _all_but_long_ones() -> list[object]:
    return [
        pytest.param(scenario, marks=pytest.mark.slow) if scenario.name in LONG else scenario for scenario in SCENARIOS
    ]


@pytest.mark.parametrize("scenario", _all_but_long_ones(), ids=_named)
def test_every_promise_holds_in_the_short_form(scenario: Scenario, tmp_path: Path) -> None:
    if scenario.name in NEEDS_SHIM and (reason := shim.missing()):
        pytest.skip(reason)
    outcome = scenario.run(tmp_path / scenario.name, scenario.amounts[Form.SHORT], 1)
    # How quick it is, is measured where nothing else runs: beside other tests what is late may be, and what hangs not.
    assert [check for check in broken(outcome) if not check.late] == []


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=_named)
def test_every_promise_holds_with_another_seed(scenario: Scenario, tmp_path: Path) -> None:
    if scenario.name in NEEDS_SHIM and (reason := shim.missing()):
        pytest.skip(reason)
    outcome = scenario.run(tmp_path / scenario.name, scenario.amounts[Form.SHORT] * 3, 2)
    assert broken(outcome) == []
