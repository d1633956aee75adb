"""Every command line ends as the table says, in each environment, and none blames Assay for what is not installed."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.packaging.environments import Environment, make_environment
from tests.packaging.matrix import MAIN_JOB, ROWS, Needs, Outcome, differences, run_matrix

from assay.cli.main import app


def test_the_base_install_does_the_main_job(base_environment: Environment, tmp_path: Path) -> None:
    """One test, so that the commands run once and not once a worker."""
    in_base = run_matrix(base_environment, tmp_path)
    assert differences("base", in_base) == []
    _check_missing_extras(in_base)
    _check_gate_files(tmp_path)
    _check_report(in_base, tmp_path)


def test_the_main_job_needs_no_extra() -> None:
    needing = [row.line for row in MAIN_JOB if isinstance(row.base, Needs)]
    assert needing == ["dataset export kept out-parquet --format parquet", "run golden --system mcp:server.toml"]


def _check_missing_extras(in_base: list[Outcome]) -> None:
    """A missing extra is told in two lines."""
    told = [one.stderr for one in in_base if isinstance(one.row.base, Needs)]
    assert told
    # Some commands say first what they are about to run.
    errors = [[line for line in text.splitlines() if not line.startswith("Running ")] for text in told]
    assert [
        lines for lines in errors if len(lines) != 2 or not lines[0].startswith("error  this needs the extra")
    ] == []


def _check_gate_files(base_folder: Path) -> None:
    """The gate wrote its files."""
    assert ET.parse(base_folder / "gate.xml").getroot().get("failures") != "0"
    assert "Assay gate: FAIL" in (base_folder / "comment.md").read_text(encoding="utf-8")


def _check_report(in_base: list[Outcome], base_folder: Path) -> None:
    """The report has its charts in the base install."""
    assert any(one.row.line == "report poor --html --name page" for one in in_base)
    assert "data-mark" in (base_folder / "reports" / "page.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["memory", "all"])
def test_every_command_ends_with_extras_as_the_table_says(name: str, wheel: Path, tmp_path: Path) -> None:
    (work := tmp_path / "work").mkdir()
    environment = make_environment(name, wheel, tmp_path / "environment")
    assert differences(name, run_matrix(environment, work)) == []


def test_every_command_has_a_line_in_the_table() -> None:
    lines = [row.line for row in ROWS]
    every = _commands(typer.main.get_command(app))
    missing = [path for path in every if not any(f"{line} ".startswith(f"{path} ") for line in lines)]
    assert missing == []


def _commands(group: Any, before: str = "") -> Iterator[str]:
    """The words that call each command."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}"
