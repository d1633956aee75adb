"""Verbs on datasets: which there are, what one holds, and the review of questions that were proposed for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from assay.access import acts
from assay.records.datasets import DatasetOverview, ListedDataset, ProposedQuestions, ReviewDecision
from assay.verbs.fields import LONGEST_QUERY, NO_PATH
from assay.verbs.verb import Caller, Family, HttpRoute, Request, Verb


class ListDatasetsRequest(Request):
    """Nothing to say."""


class ShowDatasetRequest(Request):
    """Which dataset."""

    name: Annotated[
        str,
        Field(min_length=1, max_length=200, pattern=NO_PATH, description="A dataset's name, such as hotel or docs@1."),
    ]


class ListProposalsRequest(ShowDatasetRequest):
    """Which dataset."""


class ReviewQuestionRequest(ShowDatasetRequest):
    """Which question, and what is decided about it."""

    case_id: Annotated[str, Field(min_length=1, max_length=500, description="The question's id, as the list has it.")]
    decision: Annotated[ReviewDecision, Field(description="Keep it, drop it, or undo one's own last decision.")]
    wording: Annotated[
        str | None, Field(max_length=LONGEST_QUERY, description="Keep the question in these words; left out: as it is.")
    ] = None


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


def list_proposals(caller: Caller, request: ListProposalsRequest) -> ProposedQuestions:
    """List the questions that were proposed for a dataset, and what was decided about each."""
    return caller.shelf.proposals(request.name)


def review(caller: Caller, request: ReviewQuestionRequest) -> ProposedQuestions:
    """Keep, reword or drop a proposed question, or take that back."""
    return caller.shelf.review(request.name, request.case_id, request.decision, request.wording)


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

PROPOSALS = Verb(
    name="dataset.proposals",
    summary="List the questions that were proposed for a dataset, and what was decided about each.",
    act=acts.LABEL_READ,
    request=ListProposalsRequest,
    result=ProposedQuestions,
    call=list_proposals,
    http=HttpRoute("GET", "/api/datasets/{name}/proposals", (404,)),
    command="dataset review",
    client="proposals",
)
REVIEW = Verb(
    name="dataset.review",
    summary="Keep, reword or drop a proposed question, or take that back.",
    act=acts.LABEL_WRITE,
    request=ReviewQuestionRequest,
    result=ProposedQuestions,
    call=review,
    http=HttpRoute("POST", "/api/datasets/{name}/proposals", (404,)),
    command="dataset review --decide",
    client="review_proposal",
)

FAMILY = Family(name="datasets", verbs=(LIST, SHOW, PROPOSALS, REVIEW))
