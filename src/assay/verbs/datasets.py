"""Verbs on datasets: which there are, and what one holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from assay.access import acts
from assay.records.datasets import DatasetOverview, ListedDataset
from assay.verbs.fields import NO_PATH
from assay.verbs.verb import Caller, Family, HttpRoute, Request, Verb


class ListDatasetsRequest(Request):
    """Nothing to say."""


class ShowDatasetRequest(Request):
    """Which dataset."""

    name: Annotated[
        str,
        Field(min_length=1, max_length=200, pattern=NO_PATH, description="A dataset's name, such as hotel or docs@1."),
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class DatasetList:
    """Datasets, those that come with Assay first."""

    datasets: tuple[ListedDataset, ...]


def list_all(caller: Caller, _: ListDatasetsRequest) -> DatasetList:
    """List the bundled datasets, and those that were imported for this tenant."""
    from assay.evaluation.datasets.contents import list_datasets  # noqa: PLC0415 - numpy only when asked for

    return DatasetList(datasets=list_datasets(caller.shelf.list_imports()))


def show(caller: Caller, request: ShowDatasetRequest) -> DatasetOverview:
    """Count what a dataset holds."""
    from assay.evaluation.datasets.contents import show as count  # noqa: PLC0415 - numpy only when asked for

    return count(caller.shelf.load_dataset(request.name))


LIST = Verb(
    name="dataset.list",
    summary="List the datasets that come with Assay and those that were imported.",
    act=acts.DATASET_READ,
    request=ListDatasetsRequest,
    result=DatasetList,
    call=list_all,
    http=HttpRoute("GET", "/api/datasets"),
    command="dataset list",
    client="datasets",
)
SHOW = Verb(
    name="dataset.show",
    summary="Show what a dataset holds: sizes, kinds, grades, version and content hash.",
    act=acts.DATASET_READ,
    request=ShowDatasetRequest,
    result=DatasetOverview,
    call=show,
    http=HttpRoute("GET", "/api/datasets/{name}", (404,)),
    command="dataset show",
    client="show_dataset",
)

FAMILY = Family(name="datasets", verbs=(LIST, SHOW))
