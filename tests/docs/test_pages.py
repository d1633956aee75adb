"""What README, tutorials, examples, notebooks, the container file and the site say is true."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from docs.console import ROOT, PageFile, find_pages, matches, normalise, read_page
from docs.follow import describe_all, visit_pages
from tests.cli.telling import Run, runner
from tests.packaging.environments import make_environment

from docs import build_site, notebooks

RESULTS = (ROOT / "docs" / "results" / "memory-systems.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTAINER = (ROOT / "Containerfile").read_text(encoding="utf-8")
SETS = {
    "LoCoMo": "locomo",
    "FactConsolidation": "factconsolidation",
    "PrecisionMemBench": "precisionmembench",
    "BEAM 100k": "beam-100k",
    "Assay's own starter set": "starter",
}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return runner(capsys)


@pytest.mark.parametrize("name", SETS)
def test_the_comparison_of_the_readme_is_the_measured_one(name: str) -> None:
    line = next(line for line in README.splitlines() if line.startswith(f"| {name}"))
    questions, *values = [cell.strip(" *") for cell in line.strip("|").split("|")[1:]]
    part = RESULTS.split(f"\n## {SETS[name]}\n")[1].split("\n## ")[0]
    assert f"Scored: {int(questions):,} questions" in part
    for systems, value in zip(
        (["assay"], ["mem0", "chroma", "lancedb", "qdrant"], ["bm25"], ["markdown-grep"]), values, strict=True
    ):
        for system in systems:
            row = next(row for row in part.splitlines() if row.startswith(f"| {system} |"))
            assert row.strip("|").split("|")[3].split()[0] == value, f"{name}, {system}"


def test_no_difference_of_that_table_is_significant() -> None:
    verdicts = re.findall(r" against assay: ([^.]+)\.", RESULTS)
    assert set(verdicts) == {"undecided", "no difference seen"}


def test_the_gate_of_the_tutorial_prints_what_the_tutorial_shows(run: Run, tmp_path: Path) -> None:
    page = read_page(ROOT / "docs" / "tutorials" / "rag-engineer.md")
    first = next(step for step in page.steps if isinstance(step, PageFile))
    (tmp_path / "search.py").write_text(first.content, encoding="utf-8")
    gated = 0
    for command in page.commands:
        words = shlex.split(command.text)
        if words[0] == "sed":
            subprocess.run(words, check=True)
            sys.modules.pop("search", None)
        elif words[:2] in (["assay", "dataset"], ["assay", "run"], ["assay", "baseline"], ["assay", "gate"]):
            told = run(*words[1:])
            assert told.code == command.exit_code, told.err
            assert matches(normalise(command.shown), normalise(tuple(told.out.splitlines())))
            if words[1] == "gate":
                gated = told.code
                break
    assert gated == 1


def test_a_notebook_prints_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_notebook("compare-retrievers.ipynb", tmp_path, monkeypatch)


@pytest.mark.slow
def test_the_notebook_that_embeds_prints_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_notebook("look-into-a-search.ipynb", tmp_path, monkeypatch)


def check_notebook(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the cells of a notebook in this process; `make site` runs them in a kernel."""
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    cells = notebooks.code_cells(notebooks.FOLDER / name)
    for cell in cells:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("".join(cell["source"]), name, "exec"), names)
        assert not notebooks.differs(notebooks.shown_text(cell), printed.getvalue()), printed.getvalue()
    assert sum(bool(cell["outputs"]) for cell in cells) >= 3


def test_notebooks_are_small_and_name_no_machine() -> None:
    for path in notebooks.FOLDER.glob("*.ipynb"):
        text = path.read_text(encoding="utf-8")
        assert len(text) < 20_000
        assert "/home/" not in text
        assert "/tmp/" not in text
        assert json.loads(text)["metadata"].keys() == {"kernelspec", "language_info"}


def instructions() -> list[tuple[str, str]]:
    """The lines of the container file as (instruction, rest), continued lines joined, comments left out."""
    lines = [line for line in CONTAINER.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]
    return [(words[0], words[1]) for words in (line.split(maxsplit=1) for line in lines)]


def test_everything_the_container_copies_exists_and_nothing_names_a_registry() -> None:
    copies = [rest.split() for name, rest in instructions() if name == "COPY" and not rest.startswith("--from")]
    assert copies
    assert [source for *sources, _ in copies for source in sources if not (ROOT / source).exists()] == []
    bases = [rest.split()[0] for name, rest in instructions() if name == "FROM"]
    assert all("/" not in base for base in bases)
    assert not re.search(r"https?://(?!127\.0\.0\.1)", CONTAINER)


def test_the_container_has_what_the_wheel_is_built_from() -> None:
    copied = {source for name, rest in instructions() if name == "COPY" for source in rest.split()[:-1]}
    assert {"pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "src"} <= copied


def test_the_container_serves_without_root_and_keeps_its_data_in_one_volume() -> None:
    found = dict(instructions())
    assert found["USER"] == "assay"
    assert found["VOLUME"] == "/data"
    variables = dict(word.split("=", 1) for word in found["ENV"].split())
    assert {name for name, value in variables.items() if value.startswith("/data")} == {
        "HOME",
        "ASSAY_DB",
        "ASSAY_RUNS_FOLDER",
        "ASSAY_DATASETS_FOLDER",
    }
    assert "--require-token" in json.loads(found["CMD"])


def test_a_page_that_loads_from_another_host_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="https://example.org">a link</a><script src="https://cdn.example/x.js"></script>'
        '<link rel="stylesheet" href="//fonts.example/f.css"><img src="docs/images/run.png">',
        encoding="utf-8",
    )
    (tmp_path / "b.css").write_text("@font-face { src: url(https://fonts.example/f.woff2) }", encoding="utf-8")
    assert build_site.find_foreign(tmp_path) == [
        "a.html: https://cdn.example/x.js",
        "a.html: //fonts.example/f.css",
        "b.css: https://fonts.example/f.woff2",
    ]


def test_a_list_below_a_paragraph_becomes_a_list_on_the_site() -> None:
    page = "**Rule.**\n- a\n- b\n  more\n\n```\nx\n- y\n```\n\ntext\n- z\n"
    expected = "**Rule.**\n\n- a\n- b\n  more\n\n```\nx\n- y\n```\n\ntext\n\n- z\n"
    assert build_site.separate_lists(page) == expected


def test_every_page_of_the_docs_is_on_the_site() -> None:
    on_site = {ROOT / page for page in build_site.find_pages(ROOT)}
    assert sorted(set((ROOT / "docs").rglob("*.md")) - on_site) == []
    listed = json.dumps(build_site.make_navigation(ROOT))
    assert [str(page) for page in build_site.find_pages(ROOT) if f'"{page}"' not in listed] == []


@pytest.mark.slow
def test_the_site_builds_and_needs_no_other_host() -> None:
    python = ROOT / "build" / "site-venv" / "bin" / "python"
    if not python.exists():
        pytest.skip("the environment of the site is not there: `make site` makes it")
    built = subprocess.run(
        [str(python), "-m", "docs.build_site"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert (build_site.SITE / "search" / "search_index.js").stat().st_size > 100_000
    assert build_site.find_foreign(build_site.SITE) == []


@pytest.mark.slow
def test_the_command_of_the_container_starts_in_a_fresh_environment(wheel: Path, tmp_path: Path) -> None:
    environment = make_environment("all", wheel, tmp_path / "venv")
    found = dict(instructions())
    data = tmp_path / "data"
    data.mkdir()
    variables = {
        name: value.replace("/data", str(data)).replace("/opt/assay", str(environment.folder))
        for name, value in (word.split("=", 1) for word in found["ENV"].split())
    }
    program = [str(environment.folder / "bin" / json.loads(found["ENTRYPOINT"])[0])]
    subprocess.run(
        [*program, "token", "create", "--scope", "admin"], env=variables, cwd=data, check=True, capture_output=True
    )
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port = str(place.getsockname()[1])
    words = [port if word == "8710" else word for word in json.loads(found["CMD"])]
    server = subprocess.Popen([*program, *words], env=variables, cwd=data, stdout=subprocess.DEVNULL)
    check = json.loads(found["HEALTHCHECK"].partition("CMD")[2])
    try:
        deadline = time.monotonic() + 120
        while subprocess.run(
            [check[0], *(word.replace("8710", port) for word in check[1:])],
            env=variables,
            capture_output=True,
            check=False,
        ).returncode:
            assert server.poll() is None
            assert time.monotonic() < deadline
            time.sleep(1)
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10)
    finally:
        server.terminate()
        server.wait(timeout=60)
    assert sorted(path.name for path in data.iterdir() if path.suffix == ".db") == ["assay.db"]


@pytest.mark.slow
def test_every_page_can_be_followed_from_top_to_bottom(wheel: Path, tmp_path: Path) -> None:
    environment = make_environment("all", wheel, tmp_path / "venv")
    visits = visit_pages(find_pages(), environment.folder / "bin", tmp_path)
    assert not [visit for visit in visits if visit.failed or visit.different], describe_all(visits)
