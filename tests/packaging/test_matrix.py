"""Every command line ends as the table says, in each environment, and none blames Assay for what is not installed."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from tests.packaging.environments import Environment, make_environment
from tests.packaging.matrix import MAIN_JOB, ROWS, Needs, Outcome, differences, run_matrix

from assay.cli.main import app


@pytest.fixture(scope="module")
def base_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("work")


@pytest.fixture(scope="module")
def in_base(base_environment: Environment, base_folder: Path) -> list[Outcome]:
    return run_matrix(base_environment, base_folder)


def test_every_command_ends_in_the_base_install_as_the_table_says(in_base: list[Outcome]) -> None:
    assert differences("base", in_base) == []


def test_the_main_job_needs_no_extra() -> None:
    needing = [row.line for row in MAIN_JOB if isinstance(row.base, Needs)]
    assert needing == ["dataset export kept out-parquet --format parquet", "run golden --system mcp:server.toml"]


def test_a_missing_extra_is_told_in_two_lines(in_base: list[Outcome]) -> None:
    told = [one.stderr for one in in_base if isinstance(one.row.base, Needs)]
    assert told
    # Some commands say first what they are about to run.
    errors = [[line for line in text.splitlines() if not line.startswith("Running ")] for text in told]
    assert [
        lines for lines in errors if len(lines) != 2 or not lines[0].startswith("error  this needs the extra")
    ] == []


def test_the_gate_of_the_base_install_writes_its_files(in_base: list[Outcome], base_folder: Path) -> None:
    assert in_base
    assert ET.parse(base_folder / "gate.xml").getroot().get("failures") != "0"
    assert "Assay gate: FAIL" in (base_folder / "comment.md").read_text(encoding="utf-8")


def test_the_report_of_the_base_install_says_what_it_lacks(in_base: list[Outcome], base_folder: Path) -> None:
    shown = next(one.stdout for one in in_base if one.row.line == "report poor --html --name page")
    page = (base_folder / "reports" / "page.html").read_text(encoding="utf-8")
    for text in (shown, page):
        assert "pip install 'assay[report]'" in text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["memory", "all"])
def test_every_command_ends_with_extras_as_the_table_says(name: str, wheel: Path, tmp_path: Path) -> None:
    (work := tmp_path / "work").mkdir()
    environment = make_environment(name, wheel, tmp_path / "environment")
    assert differences(name, run_matrix(environment, work)) == []


def test_every_command_has_a_line_in_the_table() -> None:
    lines = [row.line for row in ROWS]
    missing = [path for path in _commands(app) if not any(f"{line} ".startswith(f"{path} ") for line in lines)]
    assert missing == []


def _commands(group: typer.Typer, before: str = "") -> Iterator[str]:
    """The words that call each command."""
    for one in group.registered_commands:
        yield f"{before}{one.name}"
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        yield from _commands(inner.typer_instance, f"{before}{inner.name} ")
