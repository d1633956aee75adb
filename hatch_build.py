"""Pack bundled datasets, style sheet, scripts and pages into the wheel: much smaller there, plain in the repository."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from zopfli import gzip

PACKED = (
    "datasets/*.jsonl",
    "datasets/memory-starter/set.json",
    "embedding/*.json",
    "judging/*.jsonl",
    "judging/builtin/*.json",
    "judging/rubrics/*.toml",
    "memory/searching/*.json",
    "presentation/assets/*",
    "server/demo_replies.json",
    "server/pages/assets/*.js",
)
"""Files that `assay.regular_files.read_packaged_text` reads. `pyproject.toml` leaves the plain ones out."""
TEMPLATES = (
    "evaluation/reporting/templates",
    "evaluation/templates",
    "presentation/templates",
    "server/pages/templates",
    "server/security/templates",
    "store_audit/templates",
)
"""Folders of pages; those of one folder are packed together, which takes half of the room of packing each.

`assay.presentation.templates` reads them.
"""


class PackDatasets(BuildHookInterface[Any]):
    """Puts `golden.json.gz` in the place of each `golden.json` and its documents, and packs files of lines.

    The wheel leaves the plain ones out.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the packed files before the wheel is put together; an editable install reads the plain ones."""
        if version == "editable":
            return
        package = Path(self.root) / "src" / "assay"
        for plain in sorted(package.glob("datasets/*/golden.json")):
            self._pack(f"datasets/{plain.parent.name}/golden.json.gz", hold_documents(plain), build_data)
        for plain in sorted(place for pattern in PACKED for place in package.glob(pattern)):
            place = plain.relative_to(package).as_posix()
            self._pack(f"{place}.gz", plain.read_text(encoding="utf-8"), build_data)
        for folder in TEMPLATES:
            pages = {page.name: page.read_text(encoding="utf-8") for page in sorted((package / folder).glob("*.html"))}
            self._pack(f"{folder}/packed.json.gz", json.dumps(pages, ensure_ascii=False), build_data)

    def _pack(self, name: str, text: str, build_data: dict[str, Any]) -> None:
        made = Path(self.directory) / "packed" / name
        made.parent.mkdir(parents=True, exist_ok=True)
        # A twentieth smaller than `zlib` makes it. No time and no name inside, so that the same files always give the
        # same wheel.
        made.write_bytes(gzip.compress(text.encode()))
        build_data["force_include"][str(made)] = f"assay/{name}"


def hold_documents(golden: Path) -> str:
    """Return a golden file that holds the text of each document instead of naming its file."""
    dataset = json.loads(golden.read_text(encoding="utf-8"))
    for document in dataset["entities"]:
        file = document.pop("content_file", None)
        if file is not None:
            document["content"] = (golden.parent / file).read_bytes().decode()
    return json.dumps(dataset, ensure_ascii=False, separators=(",", ":"))
