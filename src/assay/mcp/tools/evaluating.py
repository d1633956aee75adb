"""Tools that measure: `eval_run` and `eval_compare`, the use-cases of `assay run` and `assay compare` with limits.

A client names a dataset and a run by name, never by a path, and the system is always Assay over a store of its own:
no file is opened and no code or address is called because a client said so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from pydantic_core import to_jsonable_python

from assay import wiring
from assay.access import acts
from assay.mcp.tool import Arguments, Calling, Result, Tool
from assay.records import Mode
from assay.records.caveats import Caveat

if TYPE_CHECKING:
    from assay.evaluation.comparing import Compared

MOST_CASES = 1_000
LONGEST_S = 600
MOST_MOVERS = 20
NO_PATH = r"^[^/\\.][^/\\]*$"


class RunArguments(Arguments):
    """What to measure."""

    dataset: Annotated[
        str,
        Field(
            min_length=1,
            max_length=200,
            pattern=NO_PATH,
            description="A bundled dataset (hotel, vault, agent-memory) or one imported by `assay dataset import`, by "
            "its name.",
        ),
    ]
    mode: Annotated[Mode, Field(description="How Assay searches; auto decides by the query.")] = Mode.AUTO
    metrics: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=200)], ...],
        Field(max_length=20, description="Up to 20, such as ndcg@10, recall@5, mrr; the dataset's own if left out."),
    ] = ()
    k: Annotated[int | None, Field(ge=1, le=1_000, description="Results to ask for, 1 to 1,000.")] = None
    max_cases: Annotated[
        int, Field(ge=1, le=MOST_CASES, description=f"At most so many cases, up to {MOST_CASES:,}: a fixed sample.")
    ] = 200
    max_seconds: Annotated[
        int, Field(ge=1, le=LONGEST_S, description=f"Stop after so many seconds, up to {LONGEST_S}; what ended counts.")
    ] = 120
    name: Annotated[str, Field(max_length=200, description="What to call the run, up to 200 characters.")] = ""


class Measured(Result):
    """One metric."""

    metric: str
    value: float | None
    """null: nothing could be computed; that is not 0."""
    low: float | None
    high: float | None
    scored: int
    cases: int
    worst: float | None
    """The value if every case without one had come out as badly as possible."""
    best: float | None
    """The value if every case without one had come out as well as possible."""


class CaveatFound(Result):
    """Something a reader must know beside the numbers."""

    kind: str
    sentence: str
    metrics: list[str]
    """The metrics concerned; empty: all of them."""
    count: int | None
    """How many cases, results or documents are concerned."""
    of: int | None
    figures: dict[str, float]


class RunFound(Result):
    """What a run measured."""

    run_id: str
    name: str
    dataset: str
    metrics: list[Measured]
    counts: dict[str, int]
    """Cases by how they ended."""
    caveats: list[CaveatFound]
    notes: list[str]
    """What became of the run itself, such as that it could not be stored."""
    result_hash: str


def _run(calling: Calling, given: RunArguments) -> RunFound:
    wanted = wiring.Measurement(**given.model_dump())
    return _run_found(wiring.measure(calling.settings, calling.engine, calling.scope, wanted, calling.progress))


def _run_found(done: wiring.Measured) -> RunFound:
    result = done.result
    measured = [
        Measured(
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
    return RunFound(
        run_id=result.run_id,
        name=result.name,
        dataset=result.manifest.dataset,
        metrics=measured,
        counts={status.value: count for status, count in result.counts.items()},
        caveats=_caveats(result.caveats),
        notes=list(done.notes),
        result_hash=result.result_hash,
    )


def _caveats(caveats: Sequence[Caveat]) -> list[CaveatFound]:
    return [CaveatFound.model_validate(caveat.as_json()) for caveat in caveats]


class CompareArguments(Arguments):
    """Which runs."""

    control: Annotated[
        str,
        Field(
            min_length=1,
            max_length=200,
            pattern=NO_PATH,
            description="The run to compare with, by its id or name; not a path.",
        ),
    ]
    treatment: Annotated[
        str,
        Field(
            min_length=1,
            max_length=200,
            pattern=NO_PATH,
            description="The run to look at, by its id or name, or latest; not a path.",
        ),
    ]
    seed: Annotated[int, Field(ge=0, le=2**31 - 1, description="Of the resamples behind the intervals.")] = 0


class Changed(Result):
    """One metric on both sides."""

    metric: str
    before: float | None
    after: float | None
    delta: float | None
    low: float | None
    high: float | None
    p_adjusted: float | None
    verdict: str
    sentence: str


class Moved(Result):
    """A case whose value changed."""

    case: str
    query: str
    metric: str
    before: float
    after: float


class ComparisonFound(Result):
    """What changed between two runs over the same cases."""

    control: str
    treatment: str
    metrics: list[Changed]
    movers: list[Moved]
    """The biggest, up to 20."""
    changed: list[str]
    """What is different about what was measured."""
    caveats: list[CaveatFound]


def _compare(calling: Calling, given: CompareArguments) -> ComparisonFound:
    from assay.evaluation.comparing import compare_two  # noqa: PLC0415 - numpy only when comparing

    shelf = calling.shelf
    return _comparison(compare_two(shelf.read_run(given.control), shelf.read_run(given.treatment), seed=given.seed))


def _comparison(found: Compared) -> ComparisonFound:
    told: dict[str, Any] = to_jsonable_python(found.as_json())
    return ComparisonFound(
        control=found.control.name,
        treatment=found.treatment.name,
        metrics=[_changed(name, one) for name, one in told["metrics"].items()],
        movers=[
            Moved(case=one.case, query=one.query, metric=one.metric, before=one.before, after=one.after)
            for one in found.movers[:MOST_MOVERS]
        ],
        changed=[str(one) for one in found.changed],
        caveats=_caveats(found.caveats),
    )


def _changed(name: str, one: dict[str, Any]) -> Changed:
    low, high = one["interval"] or (None, None)
    return Changed(
        metric=name,
        before=one["before"],
        after=one["after"],
        delta=one["delta"],
        low=low,
        high=high,
        p_adjusted=one["p_adjusted"],
        verdict=one["verdict"],
        sentence=one["sentence"],
    )


TOOLS: tuple[Tool[Any, Any], ...] = (
    Tool(
        name="eval_run",
        title="Measure retrieval",
        description="Run Assay over a dataset with known answers and measure how well it finds them, with intervals. "
        "Never touches the memory itself. Tells progress; may take minutes.",
        act=acts.RUN_START,
        arguments=RunArguments,
        result=RunFound,
        call=_run,
    ),
    Tool(
        name="eval_compare",
        title="Compare two runs",
        description="Compare two runs over the same cases: differences with intervals, and the cases that moved most.",
        act=acts.RUN_READ,
        arguments=CompareArguments,
        result=ComparisonFound,
        call=_compare,
    ),
)
