"""The working files of a benchmark: every answered question is appended at once, so that a killed run goes on.

Two files that only grow: `progress.jsonl` holds what numbers are computed from, `costs.jsonl` what was measured with a
clock. A line that was cut off in the middle is left out when a run goes on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from assay.errors import RunFailed
from assay.hashing import canonical_json
from assay.referee.records import Line

PROGRESS, COSTS, PLAN = "progress.jsonl", "costs.jsonl", "plan.json"


class Journal:
    """The files of one benchmark."""

    def __init__(self, folder: Path, plan: Line, *, resume: bool) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        text = canonical_json(plan)
        there = folder / PLAN
        if not (resume and there.is_file() and there.read_text(encoding="utf-8") == text):
            for name in (PROGRESS, COSTS):
                (folder / name).unlink(missing_ok=True)
            there.write_text(text, encoding="utf-8")
        self.lines = list(self._read(PROGRESS))
        self.costs = list(self._read(COSTS))
        self._open = {name: self._append_to(name) for name in (PROGRESS, COSTS)}

    def add(self, line: Line) -> None:
        """Keep a result."""
        self.lines.append(line)
        self._write(PROGRESS, line)

    def add_cost(self, line: Line) -> None:
        """Keep a measurement."""
        self.costs.append(line)
        self._write(COSTS, line)

    def close(self) -> None:
        """Close the files."""
        for file in self._open.values():
            file.close()

    def _write(self, name: str, line: Line) -> None:
        try:
            self._open[name].write(canonical_json(line) + "\n")
            self._open[name].flush()
        except OSError as problem:
            raise RunFailed(
                f"cannot write {self.folder / name}: {problem}", remedy="Make space, then go on with --resume."
            ) from problem

    def _append_to(self, name: str) -> TextIO:
        path = self.folder / name
        kept = self.lines if name == PROGRESS else self.costs
        # Written anew without a cut-off last line, so that the next line begins where a line should.
        path.write_text("".join(canonical_json(line) + "\n" for line in kept), encoding="utf-8")
        return path.open("a", encoding="utf-8")

    def _read(self, name: str) -> Iterator[Line]:
        path = self.folder / name
        if not path.is_file():
            return
        for text in path.read_text(encoding="utf-8").splitlines():
            try:
                yield json.loads(text)
            except ValueError:
                return
