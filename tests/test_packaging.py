"""What a stranger installs: the base alone, without extras or test tools, in an environment of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name
from tests.packaging.environments import Environment

ROOT = Path(__file__).parent.parent
LOCKS = sorted((ROOT / "locks").glob("*.txt"))
HEAVY = ("sqlalchemy", "alembic", "numpy", "pydantic", "psycopg", "onnxruntime", "scipy")


@pytest.fixture(scope="module")
def base_python(base_environment: Environment) -> Path:
    return base_environment.python


def run(python: Path, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(python), "-W", "error", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )


def assay(environment: Environment, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the installed program in a folder of its own."""
    return subprocess.run(
        [str(environment.assay), *arguments],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_program_prints_its_version_and_ends_well(base_environment: Environment, tmp_path: Path) -> None:
    told = assay(base_environment, tmp_path, "--version")
    assert told.returncode == 0
    assert told.stdout.startswith("assay 0.")
    assert json.loads(assay(base_environment, tmp_path, "--version", "--json").stdout)["assay"] in told.stdout


def test_an_interrupt_while_commands_are_loaded_leaves_no_traceback(base_python: Path) -> None:
    code = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from assay.cli.entry import main\n"
        "main()"
    )
    told = run(base_python, code)
    assert told.returncode == 130
    assert told.stderr == "Interrupted. What was acknowledged is kept; nothing else was.\n"


def test_the_program_begins_where_interrupts_are_arranged(base_environment: Environment) -> None:
    assert "assay.cli.entry" in base_environment.assay.read_text(encoding="utf-8")


def test_the_base_install_has_no_extra(base_python: Path) -> None:
    missing = run(base_python, "import sqlalchemy")
    assert "No module named 'sqlalchemy'" in missing.stderr


def test_the_base_install_is_what_its_lock_file_names(base_environment: Environment) -> None:
    assert set(base_environment.packages) == _locked_names(ROOT / "locks" / "base.txt")


def test_the_base_install_shows_its_help(base_python: Path) -> None:
    told = run(base_python, "from assay.cli.main import main; main(['--help'])")
    assert told.returncode == 0, told.stderr
    assert "checkpoint" in told.stdout


def test_the_base_install_imports_every_public_name(base_python: Path) -> None:
    told = run(base_python, "import assay; print([getattr(assay, n).__name__ for n in assay.__all__])")
    assert told.returncode == 0, told.stderr


def test_a_command_that_needs_an_extra_names_the_install_command(base_python: Path, tmp_path: Path) -> None:
    told = run(base_python, f"from assay.cli.main import main; main(['init', '--db', {str(tmp_path / 'a.db')!r}])")
    assert told.returncode == 3
    assert "pip install 'assaykit[memory]'" in told.stderr
    assert not (tmp_path / "a.db").exists()


def test_doctor_works_with_the_base_install_and_tells_what_is_missing(base_python: Path) -> None:
    told = run(base_python, "from assay.cli.main import main; main(['doctor', '--json'])")
    parts = {one["subject"]: one for one in json.loads(told.stdout)}
    assert parts["Part memory"]["state"] == "note"
    assert parts["Part memory"]["remedy"] == "pip install 'assaykit[memory]'"


def test_doctor_finds_no_problem_in_the_base_install(base_environment: Environment, tmp_path: Path) -> None:
    told = assay(base_environment, tmp_path, "doctor", "--json")
    assert told.returncode == 0
    assert [one["subject"] for one in json.loads(told.stdout) if one["state"] == "problem"] == []


def test_a_bundled_dataset_is_loaded_and_evaluated_in_the_base_install(base_python: Path, tmp_path: Path) -> None:
    code = (
        "from assay import Dataset, compare, evaluate, gate\n"
        "dataset = Dataset.load('hotel')\n"
        "ids = [one.id for one in dataset.documents]\n"
        f"kept = {{'runs': {str(tmp_path / 'runs')!r}}}\n"
        "good = evaluate(dataset, lambda query, k: ids[:k], metrics='recall@5', name='good', **kept)\n"
        "poor = evaluate(dataset, lambda query, k: ids[-k:], metrics='recall@5', name='poor', **kept)\n"
        "print(gate(good, baseline=good).passed, compare(good, poor) is not None)"
    )
    told = run(base_python, code)
    assert told.returncode == 0, told.stderr
    # The same ten documents for every query miss the floors that come with the dataset.
    assert told.stdout.split() == ["False", "True"]


@pytest.mark.parametrize(
    "code",
    [
        "import assay; assay.Memory()",
        "import assay; assay.open_store()",
        "import assay; assay.evaluate('hotel', 'assay')",
        "import assay; assay.evaluate('hotel', 'assay:mode=quick')",
    ],
)
def test_a_call_that_needs_an_extra_raises_the_error_that_names_it(base_python: Path, code: str) -> None:
    told = run(base_python, code)
    assert told.returncode == 1
    last = told.stderr.strip().splitlines()[-1]
    assert last.startswith("assay.errors.MissingExtra: ")
    assert "pip install 'assaykit[memory]'" in last


MAIN_JOB = (
    *("cli", "records", "formats", "statistics", "metrics", "models", "settings", "wiring", "api", "client", "doctor"),
    *(f"evaluation.{name}" for name in ("ci", "datasets", "gating", "running", "reporting", "labelling", "generating")),
    *(f"systems.{name}" for name in ("boundary", "http_service", "python_function", "replies", "run_file", "specs")),
)
"""What measures, compares and gates: no module of it may need an extra to be imported."""
WIRING_OF_MEMORY = {"alerts", "experiments", "judge_kinds", "research", "retention", "server", "variants"}
"""Modules of `assay.wiring` that build what only a memory has. The package loads none of them by itself."""
IMPORT_ALL = """
import importlib, json, pkgutil
import assay
from assay.errors import MissingExtra
from assay.extras import missing_extra
outcomes = {}
for module in pkgutil.walk_packages(assay.__path__, "assay.", onerror=lambda _: None):
    if module.name in ("assay.__main__", "assay.pytest_plugin"):
        continue
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as problem:
        found = missing_extra(problem)
        outcomes[module.name] = str(problem) if found is None else found.remedy
    except MissingExtra as problem:
        outcomes[module.name] = problem.remedy
print(json.dumps(outcomes))
"""


@pytest.fixture(scope="module")
def not_importable(base_python: Path) -> dict[str, str]:
    """The modules and packages that the base install cannot import, each with the remedy it names."""
    told = run(base_python, IMPORT_ALL)
    assert told.returncode == 0, told.stderr
    outcomes: dict[str, str] = json.loads(told.stdout)
    return outcomes


def test_every_module_that_cannot_be_imported_in_the_base_install_names_its_extra(
    not_importable: dict[str, str],
) -> None:
    assert "assay.storage" in not_importable
    assert {name: why for name, why in not_importable.items() if not why.startswith("Install it: pip install")} == {}


def test_no_module_of_the_main_job_needs_an_extra_to_be_imported(not_importable: dict[str, str]) -> None:
    inner = tuple(f"assay.{name}" for name in MAIN_JOB)
    assert {name for name in not_importable if name in inner or name.startswith(tuple(f"{one}." for one in inner))} == {
        f"assay.wiring.{name}" for name in WIRING_OF_MEMORY
    }


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom assay.cli.main import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "print([name for name in sys.modules], file=sys.stderr)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    loaded = told.stderr
    assert [name for name in HEAVY if f"'{name}'" in loaded] == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_a_lock_file_names_versions_and_hashes_and_no_registry(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    pinned = re.findall(r"^[A-Za-z0-9_.\[\]-]+==\S+", text, flags=re.MULTILINE)
    assert pinned
    assert text.count("--hash=sha256:") >= len(pinned)
    assert not re.search(r"https?://|--index|--find-links|--extra-index", text)


def test_there_are_lock_files() -> None:
    assert {path.name for path in LOCKS} >= {"base.txt", "memory.txt", "dev.txt", "uv.txt"}


def _locked_names(lock: Path) -> set[str]:
    names = re.findall(
        r"^([A-Za-z0-9_.-]+)==(?!.*sys_platform == 'win32')", lock.read_text(encoding="utf-8"), re.MULTILINE
    )
    return set(map(canonicalize_name, names))
