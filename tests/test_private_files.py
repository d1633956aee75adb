"""Files that Assay keeps are their owner's alone: 0600 and 0700, also with a umask that would let everybody read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.telling import Run, runner

from assay.clock import SystemClock
from assay.evaluation.datasets import export_dataset
from assay.evaluation.labelling import LabelJournal, Pressed
from assay.private_files import make_private_folder, open_new_private
from assay.records.datasets import Case, Dataset, Document, Grade


@pytest.fixture(params=[0o000, 0o022], ids=["umask-000", "umask-022"])
def open_umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    return runner(capsys)


def modes(root: Path) -> dict[str, str]:
    """The mode of everything below a folder, and of the folder itself, where somebody else could read it."""
    found = {path: stat.S_IMODE(path.stat().st_mode) for path in (root, *root.rglob("*")) if not path.is_symlink()}
    return {
        str(path.relative_to(root.parent)): oct(mode)
        for path, mode in found.items()
        if mode != (0o700 if path.is_dir() else 0o600)
    }


def golden() -> Dataset:
    return Dataset(
        name="private",
        documents=(Document(id="d1", title="Bands", text="Band 1 pays 10000."),),
        cases=(Case(id="q1", query="what band 1 pays", grades=(Grade(document_id="d1", grade=3),)),),
    )


@pytest.mark.usefixtures("open_umask")
def test_datasets_runs_reports_and_labels_are_private(shell: Run, tmp_path: Path) -> None:
    export_dataset(golden(), tmp_path / "golden.json")
    assert (
        shell("save", "--title", "Bands", "--text", "Band 1 pays 10000 a year, as the board decided in May.").code == 0
    )
    assert shell("dataset", "import", "golden.json").code == 0
    assert shell("run", "private").code == 0
    assert shell("report", "latest", "--html", "--output", "out/reports").code == 0
    LabelJournal(tmp_path / ".assay/labels/private.jsonl", clock=SystemClock()).add(("q1", "d1"), "ada", Pressed.SKIP)
    assert (tmp_path / ".assay" / "runs").is_dir()
    assert (tmp_path / "home" / "data" / "assay" / "datasets" / "private").is_dir()
    for root in (".assay", "out", "home"):
        assert modes(tmp_path / root) == {}


@pytest.mark.usefixtures("open_umask")
def test_every_folder_that_is_made_is_private(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "one" / "two" / "three")
    assert modes(tmp_path / "one") == {}
    make_private_folder(tmp_path / "one" / "two")
    with pytest.raises(FileExistsError):
        make_private_folder(tmp_path / "one" / "two", exist_ok=False)


def test_a_file_in_the_way_of_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        make_private_folder(tmp_path / "file")


@pytest.mark.usefixtures("open_umask")
def test_what_lay_there_before_does_not_lend_its_mode(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("old", encoding="utf-8")
    place.chmod(0o666)
    with open_new_private(place) as file:
        file.write("new")
    assert (place.read_text(encoding="utf-8"), stat.S_IMODE(place.stat().st_mode)) == ("new", 0o600)


def test_a_folder_that_was_opened_to_a_group_stays_open(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o770)
    shared.chmod(0o770)
    make_private_folder(shared / "inner")
    assert stat.S_IMODE(shared.stat().st_mode) == 0o770
