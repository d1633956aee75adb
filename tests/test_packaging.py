"""What a stranger installs: the base alone, without extras or test tools, in an environment of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LOCKS = sorted((ROOT / "locks").glob("*.txt"))
HEAVY = ("sqlalchemy", "alembic", "numpy", "pydantic", "psycopg", "onnxruntime", "scipy")


@pytest.fixture(scope="module")
def base_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that sees the base install only: our package and what `locks/base.txt` names, linked, not fetched."""
    folder = tmp_path_factory.mktemp("base")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60)
    target = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    source = Path(sysconfig.get_path("purelib"))
    for name in _locked_names(ROOT / "locks" / "base.txt"):
        _link_package(name, source, target)
    (target / "assay.pth").write_text(str(ROOT / "src") + "\n", encoding="utf-8")
    return folder / "bin" / "python"


def run(python: Path, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(python), "-W", "error", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )


def test_the_base_install_has_no_extra(base_python: Path) -> None:
    missing = run(base_python, "import sqlalchemy")
    assert "No module named 'sqlalchemy'" in missing.stderr


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
    assert "pip install 'assay[memory]'" in told.stderr
    assert not (tmp_path / "a.db").exists()


def test_doctor_works_with_the_base_install_and_tells_what_is_missing(base_python: Path) -> None:
    told = run(base_python, "from assay.cli.main import main; main(['doctor', '--json'])")
    parts = {one["subject"]: one for one in json.loads(told.stdout)}
    assert parts["Part memory"]["state"] == "note"
    assert parts["Part memory"]["remedy"] == "pip install 'assay[memory]'"


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


def _locked_names(lock: Path) -> list[str]:
    return re.findall(r"^([A-Za-z0-9_.-]+)==", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)


def _link_package(name: str, source: Path, target: Path) -> None:
    folded = re.sub(r"[-_.]+", "_", name).lower()
    for record in source.glob("*.dist-info/RECORD"):
        if re.sub(r"[-_.]+", "_", record.parent.name.split("-")[0]).lower() != folded:
            continue
        tops = {line.split(",")[0].split("/")[0] for line in record.read_text(encoding="utf-8").splitlines()}
        for top in tops - {"..", "bin", "__pycache__"}:
            if not (target / top).exists():
                (target / top).symlink_to(source / top)
