"""Pack the bundled datasets into the wheel: their files are a tenth as large, and stay readable in the repository."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PackDatasets(BuildHookInterface[Any]):
    """Puts `golden.json.gz` in the place of each `golden.json` and its documents; the wheel leaves those out."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the packed files before the wheel is put together; an editable install reads the plain ones."""
        if version == "editable":
            return
        source = Path(self.root) / "src" / "assay" / "datasets"
        for plain in sorted(source.glob("*/golden.json")):
            packed = Path(self.directory) / "packed" / plain.parent.name / "golden.json.gz"
            packed.parent.mkdir(parents=True, exist_ok=True)
            # No time and no name inside, so that the same files always give the same wheel.
            packed.write_bytes(gzip.compress(hold_documents(plain).encode(), mtime=0))
            build_data["force_include"][str(packed)] = f"assay/datasets/{plain.parent.name}/golden.json.gz"


def hold_documents(golden: Path) -> str:
    """Return a golden file that holds the text of each document instead of naming its file."""
    dataset = json.loads(golden.read_text(encoding="utf-8"))
    for document in dataset["entities"]:
        file = document.pop("content_file", None)
        if file is not None:
            document["content"] = (golden.parent / file).read_bytes().decode()
    return json.dumps(dataset, ensure_ascii=False)
