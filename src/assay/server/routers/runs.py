"""Runs: listed, shown, made, compared. Only those that this tenant's store has a row of."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Query
from pydantic import ConfigDict, Field
from pydantic_core import to_jsonable_python

from assay import wiring
from assay.access import acts
from assay.errors import RunNotFound, ServerBusy
from assay.records import Mode
from assay.records.plain import plain
from assay.server import paging
from assay.server.fields import NO_PATH, IdInPath
from assay.server.paging import Cursor, Limit
from assay.server.routing import Asked, Body, Resource, Result

if TYPE_CHECKING:
    from assay.evaluation.results import RunResult

RESOURCE = Resource("/api/runs", "runs")
LIST = "runs"
MOST_CASES = 1_000
LONGEST_S = 600


class RunLine(Result):
    """A run in a list."""

    run_id: str
    run_type: str
    feature_id: str | None
    query_count: int
    created_at: datetime
    mrr_at_10: float | None
    ndcg_at_10: float | None
    recall_at_10: float | None
    avg_latency_ms: float | None


class RunPage(Result):
    """Runs, newest first."""

    runs: list[RunLine]
    next_cursor: str | None


@RESOURCE.get("", acts.RUN_READ)
def list_runs(asked: Asked, cursor: Cursor = None, limit: Limit = 50) -> RunPage:
    """Every run of this tenant, page by page."""
    before = paging.read(LIST, cursor, paging.number, 0)
    with asked.engine.store.reading(asked.scope) as work:
        rows = work.lists.runs(before=before, limit=limit + 1)
    shown, following = paging.page(LIST, rows, limit, lambda one: one.id)
    lines = [RunLine(**{name: getattr(one, name) for name in RunLine.model_fields}) for one in shown]
    return RunPage(runs=lines, next_cursor=following)


class RunBody(Body):
    """What to measure."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"dataset": "hotel", "metrics": ["ndcg@10", "mrr"]}]})

    dataset: Annotated[
        str, Field(min_length=1, max_length=200, pattern=NO_PATH, description="A dataset's name; never a path.")
    ]
    mode: Mode = Mode.AUTO
    metrics: Annotated[tuple[Annotated[str, Field(min_length=1, max_length=200)], ...], Field(max_length=20)] = ()
    k: Annotated[int | None, Field(strict=True, ge=1, le=1_000)] = None
    max_cases: Annotated[int, Field(strict=True, ge=1, le=MOST_CASES)] = 200
    max_seconds: Annotated[int, Field(strict=True, ge=1, le=LONGEST_S)] = 120
    name: Annotated[str, Field(max_length=200)] = ""


class MetricMeasured(Result):
    """One metric."""

    metric: str
    value: float | None = Field(description="null: nothing could be computed; that is not 0.")
    low: float | None
    high: float | None
    scored: int
    cases: int
    worst: float | None = Field(description="The value if every case without one had come out as badly as possible.")
    best: float | None = Field(description="The value if every case without one had come out as well as possible.")


class CaveatFound(Result):
    """Something a reader must know beside the numbers."""

    kind: str
    sentence: str
    metrics: list[str] = Field(description="The metrics concerned; empty: all of them.")
    count: int | None = Field(description="How many cases, results or documents are concerned.")
    of: int | None = Field(description="Out of how many.")
    figures: dict[str, float]


class RunDone(Result):
    """What a run measured."""

    run_id: str
    name: str
    dataset: str
    metrics: list[MetricMeasured]
    counts: dict[str, int] = Field(description="Cases by how they ended.")
    caveats: list[CaveatFound]
    notes: list[str] = Field(description="What became of the run itself, such as that it could not be stored.")
    result_hash: str


@RESOURCE.post("", acts.RUN_START, 404)
def make_run(asked: Asked, body: RunBody) -> RunDone:
    """Run Assay over a dataset with known answers and measure how well it finds them, with intervals.

    Never touches the memory itself. One run at a time: two would distort each other's times.
    """
    if not asked.services.measuring.acquire(blocking=False):
        raise ServerBusy("an evaluation is running already", remedy="Wait until it has ended.")
    try:
        wanted = wiring.Measurement(**body.model_dump())
        done = wiring.measure(asked.services.settings, asked.engine, asked.scope, wanted)
    finally:
        asked.services.measuring.release()
    return _done(done.result, done.notes)


def _done(result: RunResult, notes: tuple[str, ...] = ()) -> RunDone:
    metrics = [
        MetricMeasured(
            metric=str(spec),
            value=one.value,
            low=None if one.interval is None else one.interval.low,
            high=None if one.interval is None else one.interval.high,
            scored=one.scored,
            cases=one.cases,
            worst=one.worst,
            best=one.best,
        )
        for spec, one in result.aggregates.items()
    ]
    return RunDone(
        run_id=result.run_id,
        name=result.name,
        dataset=result.manifest.dataset,
        metrics=metrics,
        counts={status.value: count for status, count in result.counts.items()},
        caveats=[CaveatFound.model_validate(caveat.as_json()) for caveat in result.caveats],
        notes=list(notes),
        result_hash=result.result_hash,
    )


class RunFound(RunLine):
    """A run as the store keeps it."""

    per_query_results: dict[str, Any] = Field(description="Every case's value, or why it has none, by metric.")
    metrics_json: dict[str, Any] = Field(description="Everything the columns have no place for.")


class ComparisonFound(Result):
    """What changed between two runs over the same cases."""

    control: dict[str, Any]
    treatment: dict[str, Any]
    metrics: dict[str, dict[str, Any]]
    movers: list[dict[str, Any]]
    list_agreement: dict[str, Any] | None
    latency: list[dict[str, Any]]
    same_host: bool
    one_sided: list[dict[str, Any]]
    changed: list[dict[str, Any]]
    caveats: list[CaveatFound]


RunName = Annotated[str, Query(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:#-]*$")]


@RESOURCE.get("/compare", acts.RUN_READ, 404, 409)
def compare_runs(
    asked: Asked, control: RunName, treatment: RunName, seed: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0
) -> ComparisonFound:
    """Compare two runs by id or name: differences with intervals, and the cases that moved most."""
    from assay.evaluation.comparing import compare_two  # noqa: PLC0415 - numpy only when comparing

    shelf = asked.shelf
    compared = compare_two(shelf.read_run(control), shelf.read_run(treatment), seed=seed)
    return ComparisonFound.model_validate(to_jsonable_python(compared.as_json()))


@RESOURCE.get("/{run_id}", acts.RUN_READ, 404)
def get_run(asked: Asked, run_id: IdInPath) -> RunFound:
    """One run: its numbers, and every case's."""
    with asked.engine.store.reading(asked.scope) as work:
        rows = work.results.of(run_id)
    if not rows:
        raise RunNotFound(f"there is no run {run_id!r}", remedy="GET /api/runs lists those there are.")
    told = plain(rows[-1])
    return RunFound.model_validate({name: told[name] for name in RunFound.model_fields})
