"""Pack the bundled datasets into the wheel: their files are a tenth as large, and stay readable in the repository."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPACT = ("datasets/memory-starter/set.json", "server/demo_replies.json")
"""Files of JSON below `src/assay` that the wheel holds without the blanks that make them readable."""


class PackDatasets(BuildHookInterface[Any]):
    """Puts `golden.json.gz` in the place of each `golden.json` and its documents, and packs files of lines.

    The wheel leaves the plain ones out.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the packed files before the wheel is put together; an editable install reads the plain ones."""
        if version == "editable":
            return
        package = Path(self.root) / "src" / "assay"
        source = package / "datasets"
        for plain in sorted(source.glob("*/golden.json")):
            self._pack(f"{plain.parent.name}/golden.json.gz", hold_documents(plain), build_data)
        for plain in sorted(source.glob("*.jsonl")):
            self._pack(f"{plain.name}.gz", plain.read_text(encoding="utf-8"), build_data)
        for name in COMPACT:
            content = json.loads((package / name).read_text(encoding="utf-8"))
            text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
            self._include(name, text.encode(), build_data)

    def _pack(self, name: str, text: str, build_data: dict[str, Any]) -> None:
        # No time and no name inside, so that the same files always give the same wheel.
        self._include(f"datasets/{name}", gzip.compress(text.encode(), mtime=0), build_data)

    def _include(self, name: str, content: bytes, build_data: dict[str, Any]) -> None:
        made = Path(self.directory) / "packed" / name
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_bytes(content)
        build_data["force_include"][str(made)] = f"assay/{name}"


def hold_documents(golden: Path) -> str:
    """Return a golden file that holds the text of each document instead of naming its file."""
    dataset = json.loads(golden.read_text(encoding="utf-8"))
    for document in dataset["entities"]:
        file = document.pop("content_file", None)
        if file is not None:
            document["content"] = (golden.parent / file).read_bytes().decode()
    return json.dumps(dataset, ensure_ascii=False)
