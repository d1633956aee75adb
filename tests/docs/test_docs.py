"""The documentation is true: generated pages are fresh, examples run, links lead somewhere, commands are all there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs.generate import pages

from assay.settings import KNOWN

ROOT = Path(__file__).parent.parent.parent
WRITTEN = sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), *(ROOT / "design").glob("*.md")])


def examples() -> list[tuple[str, str]]:
    """Every Python example of the written pages."""
    found: list[tuple[str, str]] = []
    for path in WRITTEN:
        blocks = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        found += [(f"{path.name}-{number}", block) for number, block in enumerate(blocks)]
    return found


def test_there_are_pages_and_examples() -> None:
    assert len(WRITTEN) > 10
    assert examples()


@pytest.mark.parametrize("path", list(pages()), ids=lambda path: path.name)
def test_a_generated_page_is_fresh(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == pages()[path], "run `make docs`"


@pytest.mark.parametrize(("name", "code"), examples())
def test_a_python_example_runs(
    name: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code, name, "exec"), {})
    assert list(tmp_path.iterdir()) or capsys.readouterr().out, "an example leaves a store or shows something"


GUIDES = (
    "write-a-metric",
    "write-a-system-adapter",
    "write-a-judge",
    "write-a-gate-rule",
    "write-a-dataset-format",
    "write-a-channel",
    "write-an-embedder",
    "benchmark-your-memory-system",
)


@pytest.mark.parametrize("guide", GUIDES)
def test_what_a_user_adds_takes_less_than_forty_lines(guide: str) -> None:
    page = (ROOT / "docs" / "guides" / f"{guide}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python(?: title=[^\n]*)?\n(.*?)```", page, flags=re.DOTALL)
    lengths = [len(code.splitlines()) for code in blocks]
    assert lengths
    assert max(lengths) < 40


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8"))
    broken = [link for link in links if "://" not in link and not (path.parent / link).exists()]
    assert not broken


def test_every_setting_is_on_its_page() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    assert [one.key for one in KNOWN if f"`{one.key}`" not in page] == []


def test_every_command_has_a_sentence() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    silent = re.findall(r"^## (`assay [^`]+`)\n\n(?![A-Z])", page, flags=re.MULTILINE)
    assert not silent


def test_every_design_note_is_in_the_list_of_notes() -> None:
    listed = set(re.findall(r"\]\(([^)]+)\)", (ROOT / "design" / "README.md").read_text(encoding="utf-8")))
    assert {path.name for path in (ROOT / "design").glob("*.md")} - {"README.md"} == listed


def test_every_file_a_design_note_names_exists() -> None:
    for note in (ROOT / "design").glob("*.md"):
        for name in re.findall(
            r"`((?:tests|reliability|storage|records|bench|src)/[\w/.-]+)`", note.read_text(encoding="utf-8")
        ):
            places = (ROOT / name, ROOT / "src" / "assay" / name)
            assert any(place.exists() for place in places), f"{note.name} names {name}"


def test_no_file_names_a_registry_or_a_path_of_one_machine() -> None:
    words = re.compile(r"(extra-)?index[-_]url|://\S+/simple[/ ]|" + re.escape(f"{ROOT.parent}/"))
    broken = [
        path for path in WRITTEN + sorted((ROOT / "locks").iterdir()) if words.search(path.read_text(encoding="utf-8"))
    ]
    assert not broken
