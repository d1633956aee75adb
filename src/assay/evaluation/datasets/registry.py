"""The folder of imported datasets: `NAME/VERSION/`, each with its golden files and an `import.json` about them.

A version is written beside its place and moved there whole, so a half-written version is never seen. What has been
measured on a version must be found again: a version whose content would change is refused unless it is to be replaced.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from assay.clock import Clock
from assay.errors import BadValue, MalformedFile, RecordExists
from assay.formats.files import write_lines, writing
from assay.formats.golden import write_golden_lines
from assay.formats.strict_json import to_indented_json
from assay.private_files import make_private_folder
from assay.records.datasets import Dataset

CARD = "import.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_VERSION = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """One version of an imported dataset."""

    name: str
    version: str
    content_hash: str
    documents: int
    cases: int
    imported_from: str
    imported_at: datetime
    path: Path

    @property
    def tag_hint(self) -> str:
        """What to call this version in git."""
        return f"{self.name}-v{self.version}"


class Registry:
    """Imported datasets by name and version, in one folder or several.

    New ones go into `folder`. With `shows` only versions count for whose folder it returns True; the others are treated
    as if they were not there.
    """

    def __init__(self, folder: Path, *, more: Sequence[Path] = (), shows: Callable[[Path], bool] | None = None) -> None:
        self.folder = folder
        self._folders = (folder, *more)
        self._shows = shows

    def names(self) -> list[str]:
        """Every name, in order."""
        return sorted({entry.name for entry in self.entries()})

    def entries(self) -> Iterator[Imported]:
        """Every version of every dataset, oldest version first."""
        kept = {place.parts[-2:]: place for place in self._places("*")}
        for name, version in sorted(kept, key=lambda key: (key[0], _version_key(key[1]))):
            yield _read_card(kept[name, version] / CARD)

    def path_of(self, asked: str) -> Path | None:
        """Where `name` (its newest version) or `name@version` is kept."""
        name, _, version = asked.partition("@")
        if not _NAME.fullmatch(name):
            return None
        kept = {place.name: place for place in self._places(name)}
        if version:
            return kept.get(version)
        return kept[max(kept, key=_version_key)] if kept else None

    def card(self, asked: str) -> Imported | None:
        """What is known about an imported dataset."""
        path = self.path_of(asked)
        return None if path is None else _read_card(path / CARD)

    def add(self, dataset: Dataset, *, origin: str, clock: Clock, replacing: bool = False) -> tuple[Imported, bool]:
        """Store a dataset under its name and version; the second value is True when it is new."""
        _check_names(dataset)
        place = self.folder / dataset.name / dataset.version
        known = _read_card(place / CARD) if (place / CARD).is_file() else None
        if known is not None and known.content_hash == dataset.content_hash:
            return known, False
        if known is not None and not replacing:
            raise RecordExists(
                f"{dataset.name} {dataset.version} is kept already, with other content",
                remedy=f"Give --version {next_version(dataset.version)}, or --replace to lose what it was.",
            )
        card = _card_of(dataset, origin, clock, place)
        with writing(place):
            self._put(dataset, card)
        return card, True

    def _places(self, name: str) -> Iterator[Path]:
        """Return the folder of each version that is shown; those of the first folder come last, and so win."""
        for folder in reversed(self._folders):
            for card in folder.glob(f"{name}/*/{CARD}"):
                if self._shows is None or self._shows(card.parent):
                    yield card.parent

    def _put(self, dataset: Dataset, card: Imported) -> None:
        make_private_folder(card.path.parent)
        passing = Path(tempfile.mkdtemp(prefix=".import-", dir=card.path.parent))
        try:
            write_golden_lines(passing / "kept", dataset, private=True)
            write_lines(passing / "kept" / CARD, [to_indented_json(_card_fields(card))], private=True)
            if card.path.exists():
                card.path.rename(passing / ".before")
            (passing / "kept").rename(card.path)
        finally:
            shutil.rmtree(passing, ignore_errors=True)


def next_version(version: str) -> str:
    """The version after this one: its last number plus one."""
    core = version.partition("-")[0].split(".")
    return ".".join([*core[:-1], str(int(core[-1]) + 1)]) if _VERSION.fullmatch(version) else "1.0.1"


def _version_key(version: str) -> tuple[list[int], bool, str]:
    """Semantic order; a pre-release comes before its release."""
    core, _, pre = version.partition("-")
    return [int(part) if part.isdigit() else -1 for part in core.split(".")], not pre, pre


def _check_names(dataset: Dataset) -> None:
    if not _NAME.fullmatch(dataset.name):
        raise BadValue(
            f"name {dataset.name!r} cannot be a dataset's",
            remedy="Give --name with up to 100 letters, digits or . _ - that begins with a letter or digit.",
        )
    if not _VERSION.fullmatch(dataset.version):
        raise BadValue(f"version {dataset.version!r} is not a semantic version", remedy="Give --version such as 1.2.0.")


def _card_of(dataset: Dataset, origin: str, clock: Clock, place: Path) -> Imported:
    return Imported(
        name=dataset.name,
        version=dataset.version,
        content_hash=dataset.content_hash,
        documents=len(dataset.documents),
        cases=len(dataset.cases),
        imported_from=origin,
        imported_at=clock.now(),
        path=place,
    )


def _card_fields(card: Imported) -> dict[str, Any]:
    return {
        "name": card.name,
        "version": card.version,
        "content_hash": card.content_hash,
        "documents": card.documents,
        "cases": card.cases,
        "imported_from": card.imported_from,
        "imported_at": card.imported_at.isoformat(),
    }


def _read_card(path: Path) -> Imported:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        moment = datetime.fromisoformat(found.pop("imported_at"))
        return Imported(**found, imported_at=moment, path=path.parent)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise MalformedFile(
            f"{path} cannot be read: {problem}", remedy="Import the dataset again with --replace, or remove its folder."
        ) from problem
