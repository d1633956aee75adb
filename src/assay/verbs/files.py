"""Verbs on files of this machine, which a caller names by their paths: Python and command line only.

No server and no agent may have a file opened by naming its path, so these verbs have no route and no tool.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from assay.access import acts
from assay.records.run_results import FileMeasurement
from assay.verbs.fields import Whole, YesNo
from assay.verbs.verb import Caller, Family, Request, Verb

DEFAULT_METRICS = "ndcg@10,mrr@10,recall@100"
MOST_FILES = 100


class MeasureFilesRequest(Request):
    """Which run files to measure, and how."""

    qrels: Annotated[Path, Field(description="Judgments: TREC qrels or BEIR qrels.tsv.")]
    runs: Annotated[
        tuple[Path, ...],
        Field(
            min_length=1,
            max_length=MOST_FILES,
            description=f"1 to {MOST_FILES} TREC runs, plain or .gz; the first is the control.",
        ),
    ]
    metrics: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=2_000)], ...],
        Field(min_length=1, max_length=100, description="Such as ndcg@10, mrr@10; see `assay metrics`."),
    ] = (DEFAULT_METRICS,)
    relevance_level: Annotated[Whole, Field(description="The lowest grade that is relevant, from 1.")] = 1
    depth: Annotated[Whole | None, Field(description="Use only the first N results of each query, from 1.")] = None
    absent: Annotated[
        str, Field(max_length=20, description="What a judged query without results counts as: empty or skip.")
    ] = "empty"
    per_query: Annotated[YesNo, Field(description="Also give every query's value.")] = False
    seed: Annotated[Whole, Field(ge=0, description="Of the resamples behind intervals and p-values, from 0.")] = 0


def measure(_: Caller, request: MeasureFilesRequest) -> FileMeasurement:
    """Measure run files against judgments; raises `NothingMeasured` where a file and the judgments share nothing."""
    # All of this needs numpy, which a client of another machine's server does without.
    from assay.evaluation.measure import Request as Asked  # noqa: PLC0415
    from assay.evaluation.measure import measure_files  # noqa: PLC0415
    from assay.metrics.engine import Rules  # noqa: PLC0415
    from assay.metrics.spec import parse_specs  # noqa: PLC0415

    asked = Asked(
        qrels=request.qrels,
        runs=request.runs,
        specs=parse_specs(list(request.metrics)),
        rules=Rules(level=request.relevance_level, depth=request.depth, absent=request.absent),
        seed=request.seed,
    )
    return measure_files(asked).result(per_query=request.per_query)


MEASURE = Verb(
    name="file.measure",
    summary="Measure run files against judgments; compare two or more of them query by query.",
    act=acts.FILE_READ,
    request=MeasureFilesRequest,
    result=FileMeasurement,
    call=measure,
    command="measure",
    python="measure",
)

FAMILY = Family(name="files", verbs=(MEASURE,))
