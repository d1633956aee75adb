"""What a base on disk says of itself, so that one that does not fit is never searched."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from assay.records import LogPosition
from assay.text.terms import ANALYSIS_VERSION

FORMAT = 2
"""Of the files of a base; another one is built anew."""
NAME = "manifest.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """One base."""

    generation: str
    store: str
    """Which store it was made of."""
    tenant: str
    epoch: str
    seq: int
    model: str | None
    """Whose vectors; None when it holds none."""
    dimension: int
    passages: int
    memories: int
    vectors: int
    tokens: int
    title_repeats: int
    folders: tuple[str, ...]
    grown_from: str | None = None
    """The generation it was added to; None when it was built whole."""
    format: int = FORMAT
    analysis: str = ANALYSIS_VERSION
    files: Mapping[str, int]
    """The size of every file."""

    @property
    def position(self) -> LogPosition:
        """Up to where it knows the change log."""
        return LogPosition(self.epoch, self.seq)

    def as_text(self) -> str:
        """As it is written."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1, sort_keys=True)


def read_manifest(folder: Path) -> Manifest:
    """What the base in a folder says of itself. Raises OSError, ValueError or TypeError for what is not one."""
    said: Mapping[str, Any] = json.loads((folder / NAME).read_text(encoding="utf-8"))
    return Manifest(**{**said, "folders": tuple(said["folders"])})


def file_sizes(folder: Path) -> dict[str, int]:
    """Every file below a folder but the manifest itself and the locks of a writer."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock" and path.name != NAME)
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}
