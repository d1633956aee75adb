"""The registry of metrics, and `@metric`, which adds a function of your own.

    @metric(summary="How many words does the answer have?", better="lower")
    def answer_words(case: CaseView) -> float | None:
        return None if case.answer is None else len(case.answer.text.split())

The function looks at one case at a time (`CaseView`) and returns a number, True or False, None when the question does
not arise, or an `Outcome` that says why there is no value. The mean over the cases with a value is the metric.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

from assay.errors import BadValue, ExtensionFailed
from assay.metrics import outcomes
from assay.metrics.entry import Better, Cutoff, FromCase, MetricEntry, Parameter
from assay.records.checked import one_of
from assay.records.outcome import Outcome
from assay.registry import Registry, describe_origin, hash_function

OWN = "own"
"""The family of metrics that packages and programs add, unless they name another."""
Function = TypeVar("Function", bound=Callable[..., Any])


def read_metric(name: str, thing: object) -> MetricEntry:
    """Make a metric of a plain function: its docstring is the summary, higher is better, nothing bounds it."""
    if not callable(thing):
        raise BadValue(f"{thing!r} is not a function", remedy="Give a function of one case that returns a number.")
    return make_metric(thing, name=name)


METRICS: Registry[MetricEntry] = Registry(
    "metric",
    group="assay.metrics",
    read=read_metric,
    builtin=(
        "assay.metrics.ranking_entries",
        "assay.metrics.anchors",
        "assay.metrics.answers",
        "assay.metrics.agent_memory",
        "assay.metrics.channels",
        "assay.metrics.write_path",
        "assay.metrics.operations",
        "assay.metrics.indexing",
    ),
)
"""Every metric, by name."""


def register(module: str, entries: Sequence[MetricEntry]) -> None:
    """Register the metrics of a family."""
    for entry in entries:
        METRICS.add(entry.name, entry, thing=entry, origin=f"Assay itself (family {entry.family})", module=module)


@overload
def metric(function: Function, /) -> Function: ...


@overload
def metric(
    *,
    name: str = "",
    summary: str = "",
    better: Better | str = Better.HIGHER,
    lowest: float | None = None,
    highest: float | None = None,
    cutoff: Cutoff | str = Cutoff.NONE,
    parameters: Sequence[Parameter] = (),
    family: str = OWN,
) -> Callable[[Function], Function]: ...


def metric(function: Function | None = None, /, **facts: Any) -> Function | Callable[[Function], Function]:
    """Register a function as a metric; it is returned unchanged.

    `name` is the function's own unless given, `summary` the first line of its docstring. `lowest` and `highest` bound
    its values: with both, a run can say what cases without a value could have changed. `cutoff` says whether it is
    asked for as `name@10`: `none`, `optional` or `required`; the function finds it in `case.k`.
    """

    def add(given: Function) -> Function:
        entry = make_metric(given, **facts)
        METRICS.add(entry.name, entry, thing=given)
        return given

    return add if function is None else add(function)


def make_metric(
    function: Callable[..., Any],
    *,
    name: str = "",
    summary: str = "",
    better: Better | str = Better.HIGHER,
    lowest: float | None = None,
    highest: float | None = None,
    cutoff: Cutoff | str = Cutoff.NONE,
    parameters: Sequence[Parameter] = (),
    family: str = OWN,
) -> MetricEntry:
    """Make the catalog entry of a function."""
    chosen = name or getattr(function, "__name__", "")
    first_line = (inspect.getdoc(function) or "").partition("\n")[0]
    return MetricEntry(
        name=chosen,
        family=family,
        summary=summary or first_line or f"What does {describe_origin(function)} give?",
        lowest=lowest,
        highest=highest,
        better=one_of(Better)(better, "better"),
        cutoff=one_of(Cutoff)(cutoff, "cutoff"),
        parameters=tuple(parameters),
        citation=describe_origin(function),
        compute=FromCase(_checked(function, chosen)),
        code=hash_function(function),
    )


def metric_names(metrics: str | Sequence[str | Callable[..., Any]]) -> str | list[str]:
    """Return metrics as names; a function that is not registered yet is registered under its own name."""
    if isinstance(metrics, str):
        return metrics
    return [given if isinstance(given, str) else _name_function(given) for given in metrics]


def _name_function(function: Callable[..., Any]) -> str:
    if not callable(function):
        raise BadValue(f"{function!r} is not a metric", remedy="Give a name such as 'ndcg@10', or a function.")
    known = METRICS.name_of(function)
    if known is None:
        metric(function)
        known = METRICS.name_of(function)
    return str(known)


def _checked(function: Callable[..., Any], name: str) -> Callable[[Any], Outcome]:
    """Wrap a function so that what it returns or raises is read as an outcome or reported with the case."""

    def compute(view: Any) -> Outcome:
        try:
            value = function(view)
        except Exception as problem:
            raise ExtensionFailed(
                f"the metric {name} failed on the case {view.case.id}: {type(problem).__name__}: {problem}",
                remedy="Correct the function. The cases are kept: `assay run --resume latest` measures them again.",
            ) from problem
        return _read_value(value, name, view.case.id)

    return compute


def _read_value(value: object, name: str, case_id: str) -> Outcome:
    if isinstance(value, Outcome):
        return value
    if value is None:
        return outcomes.not_applicable(f"{name} gives no value for the case")
    try:
        number = float(value)  # type: ignore[arg-type]  # whatever cannot be a number is refused below
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ExtensionFailed(
            f"the metric {name} returned {value!r} for the case {case_id}",
            remedy="Return a finite number, True or False, None, or an Outcome.",
        )
    return Outcome.scored(number)
