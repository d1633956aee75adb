"""The example package, installed beside Assay: its metric, system and judge are found by every command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "examples" / "assay-shop"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as an installer unpacks its wheel."""
    made = tmp_path_factory.mktemp("example")
    copy = shutil.copytree(PACKAGE, made / "source")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel"], cwd=copy, check=True)
    (wheel,) = (copy / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(made / "site")
    return made / "site"


def assay(site: Path | None, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, with the package on its path or without."""
    environment = {
        **os.environ,
        "ASSAY_DB": str(folder / "assay.db"),
        "PYTHONPATH": "" if site is None else str(site),
    }
    return subprocess.run(
        [sys.executable, "-m", "assay", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def told(site: Path | None, folder: Path, *arguments: str) -> Any:
    done = assay(site, folder, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_its_metric_is_listed_with_the_others(installed: Path, tmp_path: Path) -> None:
    names = [entry["name"] for entry in told(installed, tmp_path, "metrics")["metrics"]]
    without = [entry["name"] for entry in told(None, tmp_path, "metrics")["metrics"]]
    assert [name for name in names if name not in without] == ["answer_words"]
    assert told(installed, tmp_path, "metrics", "answer_words")["better"] == "lower"


@pytest.mark.slow
def test_its_system_is_run_with_its_metric_and_judged_by_its_judge(installed: Path, tmp_path: Path) -> None:
    asked = ("run", "hotel", "--system", "shop:2", "--metrics", "ndcg@10,answer_words", "--sample", "0.2")
    (run,) = told(installed, tmp_path, *asked)["runs"]
    assert run["metrics"]["answer_words"]["scored"] > 10
    assert run["metrics"]["ndcg@10"]["value"] > 0.2
    judged = told(installed, tmp_path, "judge", "run", "latest", "--judge", "shop-quotes")
    assert "shop-quotes" in json.dumps(judged)
    # Where the package is not installed its run can still be read; it cannot be made again.
    gate = assay(None, tmp_path, "gate", "--no-baseline")
    assert gate.returncode == 2
    assert "INCONCLUSIVE  recall@5 was not measured" in gate.stdout
    assert gate.stderr == ""
    again = assay(None, tmp_path, *asked)
    assert again.returncode == 3
    assert "unknown metric 'answer_words'" in again.stderr
    assert "no kind of system is called 'shop'" in assay(None, tmp_path, "run", "hotel", "--system", "shop").stderr


@pytest.mark.slow
def test_a_package_that_cannot_be_loaded_is_one_line_and_breaks_nothing(installed: Path, tmp_path: Path) -> None:
    broken = Path(shutil.copytree(installed, tmp_path / "site"))
    (broken / "assay_shop" / "metrics.py").write_text("import not_installed_anywhere\n", encoding="utf-8")
    done = assay(broken, tmp_path, "metrics")
    assert done.returncode == 0
    (line,) = [line for line in done.stdout.splitlines() if "assay-shop" in line]
    assert "The package assay-shop 0.1.0 cannot add the metric 'answer_words': ModuleNotFoundError" in line
    assert line.removesuffix(".").removeprefix("The ") in assay(broken, tmp_path, "doctor", "--json").stdout
    (problem,) = told(broken, tmp_path, "metrics")["problems"]
    assert line.removesuffix(".").removeprefix("The ") in problem
    refused = assay(broken, tmp_path, "metrics", "answer_words")
    assert refused.returncode == 3
    assert "assay-shop 0.1.0" in refused.stderr
    assert assay(broken, tmp_path, "metrics", "ndcg").returncode == 0
