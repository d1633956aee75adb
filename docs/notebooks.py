"""Run the notebooks of `examples/notebooks` and compare what they print with what they show.

    python -m docs.notebooks            fails when a cell prints something else
    python -m docs.notebooks --write    keeps what was printed in the notebook

`make site` runs it in the environment of the site, with a real kernel.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from docs.console import normalise

FOLDER = Path(__file__).parent.parent / "examples" / "notebooks"


def code_cells(path: Path) -> list[dict[str, Any]]:
    """Return the code cells of a notebook, in order."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def shown_text(cell: dict[str, Any]) -> str:
    """Return what a cell shows below itself."""
    return "".join("".join(output["text"]) for output in cell["outputs"] if output["output_type"] == "stream")


def differs(shown: str, printed: str) -> bool:
    """Whether two outputs differ, ids and times aside."""
    return normalise(tuple(shown.splitlines())) != normalise(tuple(printed.splitlines()))


def run_notebook(path: Path) -> list[str]:
    """Run a notebook in a kernel of its own, and return what each code cell printed."""
    # Only the environment of the site has these.
    notebook = import_module("nbformat").read(path, as_version=4)
    client = import_module("nbclient").NotebookClient
    with tempfile.TemporaryDirectory() as folder:
        client(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()
    return [shown_text(cell) for cell in notebook.cells if cell["cell_type"] == "code"]


def write_outputs(path: Path, printed: Sequence[str]) -> None:
    """Keep what was printed, without counters and times, so that a second run changes nothing."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    texts = iter(printed)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            text = next(texts)
            lines = text.splitlines(keepends=True)
            cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": lines}] if text else []
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; returns 1 when a cell printed something else."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="keep what was printed")
    options = parser.parse_args(arguments)
    different = 0
    for path in sorted(FOLDER.glob("*.ipynb")):
        printed = run_notebook(path)
        if options.write:
            write_outputs(path, printed)
        for cell, text in zip(code_cells(path), printed, strict=True):
            if differs(shown_text(cell), text):
                different += 1
                print(f"{path.name}: a cell shows\n{shown_text(cell)}and printed\n{text}")
        print(f"{path.name}: {len(printed)} cells run")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
