"""The example workflow is true: its commands, run by the base install in a fresh clone with a baseline, are a gate."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tests.evaluation.made import golden
from tests.packaging.environments import Environment

from assay.formats.golden import write_golden

WORKFLOW = Path(__file__).parent.parent.parent / "docs" / "guides" / "assay-gate.yml"
SEARCH = """
import re

def retrieve(query, k):
    case = re.search(r"[0-9]+", query)[0]
    places = {places}
    return [f"d{{case}}-{{place}}" for place in places][:k]
"""


def commands() -> list[list[str]]:
    lines = re.findall(r"run: (assay .*)", WORKFLOW.read_text(encoding="utf-8"))
    return [line.split() for line in lines]


def assay_in(environment: Environment, clone: Path, *arguments: str) -> int:
    """One command of the installed program; the step's summary has its place."""
    told = subprocess.run(
        [str(environment.assay), *arguments],
        cwd=clone,
        env={"PATH": "/usr/bin:/bin", "HOME": str(clone / "home"), "GITHUB_STEP_SUMMARY": str(clone / "step.md")},
        capture_output=True,
        text=True,
        check=False,
    )
    return told.returncode


@pytest.fixture(scope="module")
def repository(base_environment: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is under version control: the golden dataset, the code and the blessed baseline."""
    place = tmp_path_factory.mktemp("repository")
    write_golden(place / "golden" / "golden.json", golden(12))
    (place / "search.py").write_text(SEARCH.format(places="(0, 1, 2, 3, 4)"), encoding="utf-8")
    assert assay_in(base_environment, place, *commands()[0][1:]) == 0
    assert assay_in(base_environment, place, "baseline", "bless") == 0
    return place


def cloned(repository: Path, clone: Path, places: str) -> Path:
    shutil.copytree(repository / "golden", clone / "golden")
    shutil.copy(repository / "baseline.json", clone)
    (clone / "search.py").write_text(SEARCH.format(places=places), encoding="utf-8")
    return clone


def test_the_workflow_installs_no_extra() -> None:
    assert re.findall(r"run: (pip install .*)", WORKFLOW.read_text(encoding="utf-8")) == ["pip install assaykit"]


@pytest.mark.parametrize(
    ("places", "code", "failures"), [("(0, 1, 2, 4, 3)", 0, 0), ("(3, 4, 2, 1, 0)", 1, 4), ("(3, 4)", 1, 8)]
)
def test_the_commands_of_the_workflow_are_the_gate(  # noqa: PLR0917 - fixtures and parameters, all given by name
    base_environment: Environment, repository: Path, tmp_path: Path, places: str, code: int, failures: int
) -> None:
    clone = cloned(repository, tmp_path, places)
    run, gate = commands()
    assert assay_in(base_environment, clone, *run[1:]) == 0
    assert assay_in(base_environment, clone, *gate[1:]) == code
    assert ET.parse(clone / "gate.xml").getroot().get("failures") == str(failures)
    verdict = "PASS" if code == 0 else "FAIL"
    assert (clone / "step.md").read_text(encoding="utf-8").startswith(f"## Assay gate: {verdict}")
    assert (clone / "comment.md").read_text(encoding="utf-8").splitlines()[1] == f"## Assay gate: {verdict}"


def test_without_the_baseline_the_gate_is_never_green(
    base_environment: Environment, repository: Path, tmp_path: Path
) -> None:
    clone = cloned(repository, tmp_path, "(0, 1, 2, 3, 4)")
    (clone / "baseline.json").unlink()
    run, gate = commands()
    assert assay_in(base_environment, clone, *run[1:]) == 0
    assert assay_in(base_environment, clone, *gate[1:]) == 2
