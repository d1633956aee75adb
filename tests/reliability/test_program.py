"""The command line of the reliability programs."""

from __future__ import annotations

import json

import pytest
import typer
from reliability.__main__ import main
from reliability.outcome import PATIENCE, below
from reliability.scenarios import SCENARIOS, Form
from typer.testing import CliRunner

APP = typer.Typer()
APP.command()(main)


def test_the_list_names_every_scenario() -> None:
    printed = CliRunner().invoke(APP, ["--list"], env={"COLUMNS": "200"})
    assert printed.exit_code == 0
    assert [one.name for one in SCENARIOS if one.name not in printed.output] == []


def test_an_unknown_scenario_is_refused_with_the_known_ones() -> None:
    printed = CliRunner().invoke(APP, ["earthquake"])
    assert printed.exit_code == 2
    assert "unknown scenario earthquake" in printed.output


def test_a_kept_promise_exits_0_and_json_holds_checks_and_figures() -> None:
    printed = CliRunner().invoke(APP, ["first_open", "--times", "1", "--json"])
    assert printed.exit_code == 0
    said = json.loads(printed.stdout)["first_open"]
    assert said["passed"] is True
    assert said["figures"]["races"] == 1
    assert {check["held"] for check in said["checks"]} == {True}


def test_the_full_form_is_never_smaller_than_the_shown_and_the_short_one() -> None:
    wrong = [one.name for one in SCENARIOS if sorted(one.amounts.values(), reverse=True) != list(one.amounts.values())]
    assert wrong == []
    assert [list(one.amounts) for one in SCENARIOS] == [list(Form)] * len(SCENARIOS)


@pytest.mark.parametrize(
    ("seen", "unit", "held", "late"),
    [
        (99.0, "ms", True, False),
        (100.0, "ms", False, True),
        (100.0 * PATIENCE, "ms", False, False),
        (100.0, "MB", False, False),
    ],
)
def test_only_a_time_can_be_late_and_only_so_far(seen: float, unit: str, held: bool, late: bool) -> None:
    check = below("it takes", seen, 100.0, unit)
    assert (check.held, check.late) == (held, late)
