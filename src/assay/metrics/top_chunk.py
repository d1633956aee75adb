"""The first chunk: is it the one that the dataset expects?

A case may name the chunk that has to come first, as `document:chunk:position`; positions count from 0 within the
document. The number is that of the system's own chunks: a system that cuts documents otherwise has other chunks behind
the same numbers, so values are comparable between runs that cut alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from assay.metrics import outcomes
from assay.metrics.catalog import FromCases, MetricEntry, register
from assay.metrics.inputs import CaseView
from assay.records.evaluations import Cause, Outcome

UNNAMED = "the system does not name its chunks as document:chunk:position"
NOT_EXPECTED = "the case does not say which chunk comes first"
_NAME = re.compile(r".+:chunk:[0-9]+", re.DOTALL)


def top1_chunk(views: Sequence[CaseView]) -> dict[str, Outcome]:
    """Whether the first chunk of each case is the expected one.

    A case without results is a miss, if the system names its chunks anywhere in the run.
    """
    names_chunks = any(_first_chunk(view) for view in views)
    return {view.case.id: _score(view, names_chunks=names_chunks) for view in views}


def _score(view: CaseView, *, names_chunks: bool) -> Outcome:
    if view.case.top_chunk is None:
        return outcomes.not_applicable(NOT_EXPECTED)
    first = _first_chunk(view)
    if not names_chunks or (view.ids and not first):
        return outcomes.not_applicable(UNNAMED, Cause.UNTOLD)
    return outcomes.yes_or_no(first == view.case.top_chunk)


def _first_chunk(view: CaseView) -> str:
    """The name of the first chunk; empty where nothing was retrieved or it has another kind of name."""
    name = view.given.passages[0].chunk_id if view.given.passages else ""
    return name if _NAME.fullmatch(name) else ""


def _as_it_is(aggregate: Any, *_: Any) -> Any:
    """Cases are independent: the mean stands as it is."""
    return aggregate


ENTRIES = (
    MetricEntry(
        name="top1_chunk",
        compute=FromCases(top1_chunk, _as_it_is),
        family="anchors",
        summary="Is the first chunk the one that the dataset expects?",
        formula="1 if the first chunk is the case's `top_1_chunk`, else 0",
        citation="the RAG regression framework, the golden dataset (`top_1_chunk`).",
        disagreement="Some call success@1 so, which is content with any relevant document. A chunk is known by its"
        " number within the document: compare runs that cut documents alike.",
        example="Expected `refunds:chunk:0` and got `refunds:chunk:2`, so success@1 is 1 and this is 0",
    ),
)
register(__name__, ENTRIES)
