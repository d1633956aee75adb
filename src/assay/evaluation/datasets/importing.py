"""From somebody's files into the registry, and a corrected copy beside what it corrects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from assay.clock import Clock
from assay.errors import InputError, NothingMeasured
from assay.evaluation.datasets.bundled import bundled_path
from assay.evaluation.datasets.loading import export_dataset, read_path
from assay.evaluation.datasets.registering import Source
from assay.evaluation.datasets.registry import Imported, Registry, next_version
from assay.records.datasets import Dataset


class Import(NamedTuple):
    """What an import gave."""

    card: Imported
    dataset: Dataset
    new: bool
    """False where the same content was kept under this name and version already."""


def import_dataset(
    path: Path,
    registry: Registry,
    *,
    clock: Clock,
    source: Source | None = None,
    name: str | None = None,
    version: str | None = None,
    replacing: bool = False,
    on_read: Callable[[int], None] | None = None,
) -> Import:
    """Read a dataset and keep it, under another name or version if asked."""
    if not path.exists():
        raise InputError(f"{path} is not there", remedy="Give a dataset's file or folder.")
    found = read_path(path, name=name, source=source or Source(), on_read=on_read)
    if not found.cases:
        raise NothingMeasured(f"{path} holds no cases", remedy="Give a dataset with at least one query.")
    if bundled_path(found.name) is not None:
        raise InputError(f"{found.name!r} is a dataset that comes with Assay", remedy="Give another --name.")
    dataset = found if version is None else replace(found, version=version)
    card, new = registry.add(dataset, origin=str(path.resolve()), clock=clock, replacing=replacing)
    return Import(card, dataset, new)


def keep_fixed(name_or_path: str, fixed: Dataset, *, registry: Registry, clock: Clock, to: Path | None) -> str:
    """Keep a corrected copy: where it was asked for, as the next version of an imported one, or beside the files."""
    bumped = replace(fixed, version=next_version(fixed.version))
    if to is None and registry.path_of(name_or_path) is not None:
        card, _ = registry.add(bumped, origin=f"{name_or_path}, corrected", clock=clock)
        return f"{card.name}@{card.version}"
    asked = Path(name_or_path)
    place = to or asked.with_name(f"{asked.name.split('.')[0]}.fixed")
    anchored = place.suffix != ".json" and all(one.anchors for one in bumped.cases)
    return str(export_dataset(bumped, place, kind="anchored" if anchored else "golden"))
