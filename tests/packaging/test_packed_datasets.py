"""The wheel holds every document of the bundled datasets, packed into their golden files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from zipfile import ZipFile

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "assay"
SOURCE = PACKAGE / "datasets"


@pytest.mark.parametrize("name", ["agent-memory", "hotel", "vault"])
def test_a_packed_dataset_holds_the_text_of_every_document(wheel: Path, name: str) -> None:
    plain = json.loads((SOURCE / name / "golden.json").read_text(encoding="utf-8"))
    with ZipFile(wheel) as files:
        kept = [file for file in files.namelist() if file.startswith(f"assay/datasets/{name}/")]
        packed = json.loads(gzip.decompress(files.read(f"assay/datasets/{name}/golden.json.gz")))
    assert kept == [f"assay/datasets/{name}/golden.json.gz"]
    assert [document["content"] for document in packed["entities"]] == [
        (SOURCE / name / document["content_file"]).read_bytes().decode() for document in plain["entities"]
    ]
    assert packed["queries"] == plain["queries"]


@pytest.mark.parametrize(
    "name",
    [
        "datasets/save_scenarios.jsonl",
        "datasets/save_scenarios_held_out.jsonl",
        "datasets/memory-starter/set.json",
        "judging/certification_cases.jsonl",
        "presentation/assets/assay.css",
        "server/demo_replies.json",
        "server/pages/assets/frame.js",
    ],
)
def test_other_files_are_packed_as_they_are(wheel: Path, name: str) -> None:
    with ZipFile(wheel) as files:
        assert f"assay/{name}" not in files.namelist()
        assert gzip.decompress(files.read(f"assay/{name}.gz")) == (PACKAGE / name).read_bytes()


@pytest.mark.parametrize(
    "name",
    [
        "evaluation/reporting/templates/report.html",
        "presentation/templates/macros.html",
        "server/pages/templates/overview.html",
    ],
)
def test_pages_of_one_folder_are_packed_together(wheel: Path, name: str) -> None:
    folder, page = name.rsplit("/", 1)
    with ZipFile(wheel) as files:
        assert f"assay/{name}" not in files.namelist()
        packed = json.loads(gzip.decompress(files.read(f"assay/{folder}/packed.json.gz")))
    assert packed[page] == (PACKAGE / name).read_text(encoding="utf-8")
    assert set(packed) == {file.name for file in (PACKAGE / folder).glob("*.html")}
