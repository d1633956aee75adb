"""Datasets: which there are, and what one holds."""

from __future__ import annotations

from typing import Any

from assay.access import acts
from assay.records.plain import plain
from assay.server.fields import NameInPath
from assay.server.routing import Asked, Resource, Result

RESOURCE = Resource("/api/datasets", "datasets")


class DatasetLine(Result):
    """A dataset in a list."""

    name: str
    version: str | None
    bundled: bool
    documents: int | None
    cases: int | None


class DatasetsFound(Result):
    """Bundled ones first."""

    datasets: list[DatasetLine]


class DatasetFound(Result):
    """One dataset in numbers."""

    name: str
    version: str
    description: str
    overview: dict[str, Any]


@RESOURCE.get("", acts.DATASET_READ)
def list_datasets(asked: Asked) -> DatasetsFound:
    """Every bundled dataset, and every one that was imported for this tenant."""
    from assay.evaluation.datasets.bundled import bundled_names  # noqa: PLC0415 - numpy only when asked for

    bundled = [DatasetLine(name=one, version=None, bundled=True, documents=None, cases=None) for one in bundled_names()]
    imported = [
        DatasetLine(name=one.name, version=one.version, bundled=False, documents=one.documents, cases=one.cases)
        for one in asked.shelf.imported()
    ]
    return DatasetsFound(datasets=[*bundled, *imported])


@RESOURCE.get("/{name}", acts.DATASET_READ, 404)
def get_dataset(asked: Asked, name: NameInPath) -> DatasetFound:
    """What a dataset holds, counted."""
    from assay.evaluation.datasets.showing import show  # noqa: PLC0415 - numpy only when asked for

    seen = show(asked.shelf.load_dataset(name))
    return DatasetFound(name=seen.name, version=seen.version, description=seen.description, overview=plain(seen))
