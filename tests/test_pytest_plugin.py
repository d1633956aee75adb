"""The gate inside pytest, run as a project would run it: in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.evaluation.made import golden, good, kept, poor, run_of

from assay.clock import SystemClock
from assay.evaluation.baselines import Baseline, write_baseline
from assay.evaluation.readings import reading_of

CASES = 30
MARKED = """
import pytest

@pytest.mark.assay("same", baseline="baseline.json")
def test_as_good_as_before(assay_verdict):
    assert assay_verdict.passed

@pytest.mark.assay("worse")
def test_worse_than_before():
    raise AssertionError("its own lines never run")

@pytest.mark.assay("same", floors={"recall@50": 0.5})
def test_that_cannot_be_decided():
    raise AssertionError("its own lines never run")

@pytest.mark.assay("same", baseline="gone.json")
def test_without_its_baseline():
    raise AssertionError("its own lines never run")

def test_without_the_marker():
    pass
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    dataset, runs = golden(), tmp_path / ".assay/runs"
    best = run_of(dataset, [good(n) for n in range(CASES)], name="same", run_id="run-2")
    kept(best, runs)
    kept(run_of(dataset, [poor(n) for n in range(CASES)], name="worse", run_id="run-1"), runs)
    write_baseline(tmp_path / "baseline.json", Baseline(reading=reading_of(best), blessed_at=SystemClock().now()))
    return tmp_path


def pytest_in(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Pytest with the plugin and nothing else that is installed here."""
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "assay.pytest_plugin",
            "-p",
            "no:randomly",
            "-p",
            "no:xdist",
            *arguments,
        ],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_marked_test_fails_for_a_regression_and_errs_for_what_cannot_be_decided(project: Path) -> None:
    (project / "test_gate.py").write_text(MARKED, encoding="utf-8")
    told = pytest_in(project, "--strict-markers", "-rA")
    assert told.returncode == 1
    assert "2 passed" in told.stdout
    assert "FAILED test_gate.py::test_worse_than_before" in told.stdout
    assert "mrr fell from 1.00 to " in told.stdout
    assert "ERROR test_gate.py::test_that_cannot_be_decided" in told.stdout
    assert "recall@50 was not measured" in told.stdout
    assert "ERROR test_gate.py::test_without_its_baseline" in told.stdout
    assert "its own lines never run" not in told.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        pytest.param(("--assay-run", "same"), 0, "9 passed", marks=pytest.mark.slow),
        (("--assay-run", "worse"), 1, "FAILED assay-gate::relative mrr"),
        pytest.param(
            ("--assay-run", "same", "--assay-baseline", "gone.json"),
            2,
            "there is no baseline gone.json",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_exit_code_is_the_gate(project: Path, arguments: tuple[str, ...], code: int, said: str) -> None:
    told = pytest_in(project, "--assay-gate", "-rA", *arguments)
    assert (told.returncode, said in told.stdout) == (code, True), told.stdout
