"""Run reliability programs and print what they saw.

    python -m reliability --list
    python -m reliability all                     # every full form, about an hour and a quarter
    python -m reliability all --form shown        # about ten minutes
    python -m reliability kill --times 300
    python -m reliability writers --seconds 60 --json

Exits 1 if a promise was broken, 2 if a scenario is not known.
"""

from __future__ import annotations

import json
import signal
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from reliability import shim
from reliability.outcome import Outcome, broken
from reliability.scenarios import SCENARIOS, Form, Scenario, named

NEEDS_SHIM = ("power_cut", "faults")
Amount = typer.Option("--times", "--seconds", "--events", "--steps", help="How much, in the scenario's own unit.")


def main(
    names: Annotated[list[str] | None, typer.Argument(help="Scenarios, or `all`.")] = None,
    *,
    amount: Annotated[int | None, Amount] = None,
    form: Annotated[Form, typer.Option(help="How much of each, when no amount is given.")] = Form.FULL,
    seed: Annotated[int, typer.Option(help="Where chance begins.")] = 1,
    folder: Annotated[Path | None, typer.Option(help="Keep the data here, instead of a temporary folder.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    show_list: Annotated[bool, typer.Option("--list", help="Show the scenarios and end.")] = False,
) -> None:
    """Run reliability programs and print what they saw."""
    console = Console(stderr=as_json)
    if show_list or not names:
        console.print(_listed())
        return
    outcomes = {
        scenario.name: _run(scenario, amount or scenario.amounts[form], seed, folder, console)
        for scenario in _asked_for(names, console)
    }
    if as_json:
        print(json.dumps({name: _plain(outcome) for name, outcome in outcomes.items()}, indent=2))
    else:
        for name, outcome in outcomes.items():
            console.print(_table(name, outcome))
    raise typer.Exit(any(broken(outcome) for outcome in outcomes.values()))


def _asked_for(names: list[str], console: Console) -> list[Scenario]:
    if names == ["all"]:
        return list(SCENARIOS)
    unknown = [name for name in names if named(name) is None]
    if unknown:
        known = ", ".join(one.name for one in SCENARIOS)
        console.print(f"unknown scenario {', '.join(unknown)}; choose from {known}, or all")
        raise typer.Exit(2)
    missing = shim.missing()
    if missing and set(names) & set(NEEDS_SHIM):
        console.print(missing)
        raise typer.Exit(2)
    return [one for one in SCENARIOS if one.name in names]


def _run(scenario: Scenario, amount: int, seed: int, folder: Path | None, console: Console) -> Outcome:
    console.print(f"{scenario.name}: {amount} {scenario.unit} ...", highlight=False)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="assay-", ignore_cleanup_errors=True) as temporary:
        outcome = scenario.run((folder or Path(temporary)) / scenario.name, amount, seed)
    verdict = "broken" if broken(outcome) else "held"
    console.print(f"{scenario.name}: {verdict} after {time.monotonic() - began:.0f} s", highlight=False)
    return outcome


def _listed() -> Table:
    table = Table(title="Scenarios")
    for column in ("name", "proves", "unit", *Form):
        table.add_column(column)
    for one in SCENARIOS:
        table.add_row(one.name, one.proves, one.unit, *(f"{one.amounts[form]:,}" for form in Form))
    return table


def _table(name: str, outcome: Outcome) -> Table:
    table = Table(title=f"{name}: {outcome.did}", title_justify="left")
    for column in ("promise", "seen", ""):
        table.add_column(column)
    for check in outcome.checks:
        table.add_row(check.promise, check.seen, "[green]held[/]" if check.held else "[red]broken[/]")
    return table


def _plain(outcome: Outcome) -> dict[str, object]:
    checks = [asdict(check) for check in outcome.checks]
    return {"did": outcome.did, "passed": not broken(outcome), "checks": checks, "figures": asdict(outcome)}


if __name__ == "__main__":
    # Told to stop, it still stops its own processes and servers first.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    typer.run(main)
