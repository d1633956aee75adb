"""The catalog of metrics: what is known of each, the registry, `@metric` to add your own, the reference page.

- Entries: a metric's name, meaning and way of computing.
- Registry and `@metric`.
- Lookup by name, and suggestions for unknown names.
- The reference page.

Registry and `@metric`:

    @metric(summary="How many words does the answer have?", better="lower")
    def answer_words(case: CaseView) -> float | None:
        return None if case.answer is None else len(case.answer.text.split())

The function looks at one case at a time (`CaseView`) and returns a number, True or False, None when the question does
not arise, or an `Outcome` with the reason why there is no value. The mean over the cases with a value is the metric.
"""

from __future__ import annotations

import difflib
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from assay.errors import BadValue, ExtensionFailed, UnknownMetric
from assay.metrics import outcomes
from assay.records.evaluations import Outcome
from assay.records.fields import one_of
from assay.registry import Registry, describe_origin, hash_function

if TYPE_CHECKING:
    from assay.metrics.ranking import Kernel
    from assay.records.judging import RubricKind

# --- Entries: a metric's name, meaning and way of computing ---
#
# `compute` says from what: `FromRanking` from ranked grades of many queries at once, `FromCase` from one case,
# `FromCases` from all cases of a run together, `FromRun` from the run as a whole (latency, failures, the index), and
# `FromRecord` for a metric that is only known from a stored run. A metric without a way to compute it cannot be made.


class Cutoff(StrEnum):
    """Whether a metric looks at the first k results."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    NONE = "none"


class Better(StrEnum):
    """Which way is better."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """One `name=value` inside the brackets of a metric."""

    name: str
    meaning: str
    default: str
    """In the spelling users type; left out of the printed form."""
    choices: tuple[str, ...] = ()
    """The values it may take; empty when `kind` decides."""
    kind: str = "word"
    """`word`, `whole`, `number`, `share` (a number strictly between 0 and 1)."""


@dataclass(frozen=True, slots=True)
class FromRanking:
    """Computed from ranked grades, for many queries at once."""

    kernel: Kernel


@dataclass(frozen=True, slots=True)
class FromCase:
    """Computed for one case: a function of a `CaseView`."""

    function: Callable[..., Outcome]


@dataclass(frozen=True, slots=True)
class FromCases:
    """Computed over all cases together: a function of every `CaseView`, which gives each case its share."""

    function: Callable[..., dict[str, Outcome]]
    """Outcomes by case id; their mean is the metric."""
    aggregate: Callable[..., Any]
    """Corrects the aggregate, given it, the outcomes and the views: the shares are not independent."""


@dataclass(frozen=True, slots=True)
class FromRun:
    """Computed over the whole run: a function of the spec and of `RunFacts`. It has no value for a single case."""

    function: Callable[..., Outcome]
    needs: Callable[..., Sequence[Any]] = lambda _: ()
    """Metrics that have to be scored for it, given its spec."""


@dataclass(frozen=True, slots=True)
class FromRecord:
    """Known from a stored run only: its package is not installed here, or this version no longer has it."""


Compute: TypeAlias = FromRanking | FromCase | FromCases | FromRun | FromRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricFacts:
    """What is known of a metric, as every surface shows it."""

    name: str
    family: str
    summary: str
    formula: str = ""
    lowest: float | None = 0
    """None: unbounded below."""
    highest: float | None = 1
    """None: unbounded above."""
    better: Better = Better.HIGHER
    cutoff: Cutoff = Cutoff.NONE
    parameters: tuple[Parameter, ...] = ()
    citation: str = ""
    disagreement: str = ""
    """Where the field computes something else under the same name."""
    example: str = ""
    """A worked case in a sentence or two; a test computes it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricEntry(MetricFacts):
    """One metric in the catalog: the facts, and how it is computed."""

    compute: Compute
    judged_by: RubricKind | None = None
    """The kind of judge that decides it; None: it needs no judge."""
    code: str = ""
    """Hash of the function of a metric that was added: runs measured with other code are not compared."""


# --- Registry and `@metric` ---

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
        "assay.metrics.ranking_metrics",
        "assay.metrics.anchors",
        "assay.metrics.top_chunk",
        "assay.metrics.answers",
        "assay.metrics.agent_memory",
        "assay.metrics.returned",
        "assay.metrics.channels",
        "assay.metrics.current_facts",
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
    its values: with both, a run can state what cases without a value could have changed. `cutoff` states whether it is
    written as `name@10`: `none`, `optional` or `required`; the function finds it in `case.k`.
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
        compute=FromCase(_wrap_function(function, chosen)),
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


def _wrap_function(function: Callable[..., Any], name: str) -> Callable[[Any], Outcome]:
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


# --- Lookup by name, and suggestions for unknown names ---
#
# A stored run may name a metric whose package is not installed here, a function of another program, or one that an
# earlier version of Assay had. `recall` takes what the run says of it, so that the run can still be read, compared and
# held to a gate; it cannot be computed.

_KNOWN_ELSEWHERE = {
    "map": "ap",
    "average_precision": "ap",
    "p": "precision",
    "p_cut": "precision",
    "r": "recall",
    "r@": "recall",
    "rr": "mrr",
    "recip_rank": "mrr",
    "reciprocal_rank": "mrr",
    "hit": "success",
    "hits": "success",
    "hit_rate": "success",
    "top1": "success",
    "ndcg_cut": "ndcg",
    "dcg": "ndcg",
    "r_precision": "rprec",
    "rprecision": "rprec",
    "latency": "p95",
}
"""What other tools call them: understood in a hint, never accepted, because one thing has one name."""
_RECALLED: dict[str, MetricEntry] = {}


def entries() -> tuple[MetricEntry, ...]:
    """Return every metric that can be computed here, family by family."""
    return tuple(registered.entry for registered in METRICS.all().values())


def find(name: str) -> MetricEntry:
    """Return the entry of a metric; raises `UnknownMetric` with close names."""
    entry = METRICS.find(name) or _RECALLED.get(name)
    if entry is not None:
        return entry
    broken = METRICS.problem(name)
    known = METRICS.names()
    close = near(name, known)
    hint = f": {broken}" if broken else f"; close names: {', '.join(close)}" if close else ""
    raise UnknownMetric(
        f"unknown metric {name!r}{hint}",
        remedy="`assay metrics` lists the catalog, `assay metrics NAME` shows one entry.",
    )


def near(name: str, known: Iterable[str]) -> list[str]:
    """Return names that may have been meant, the likeliest first."""
    names = list(known)
    folded = name.lower().replace("-", "_")
    elsewhere = _KNOWN_ELSEWHERE.get(folded)
    likely = [elsewhere] if elsewhere in names else []
    return list(dict.fromkeys([*likely, *difflib.get_close_matches(folded, names, n=3, cutoff=0.5)]))[:3]


def describe_added(names: Iterable[str]) -> dict[str, Any]:
    """Return what a stored run has to say of the metrics among these that are not built in."""
    return {
        name: {
            "summary": entry.summary,
            "better": entry.better.value,
            "lowest": entry.lowest,
            "highest": entry.highest,
            "cutoff": entry.cutoff.value,
            "parameters": {parameter.name: parameter.default for parameter in entry.parameters},
            "code": entry.code,
        }
        for name in dict.fromkeys(names)
        if (entry := find(name)).code
    }


def recall(specs: Iterable[str], described: Mapping[str, Any]) -> None:
    """Make the metrics that a stored run describes known by name, where nothing here computes them."""
    for name in {re.split(r"[(@]", spec, maxsplit=1)[0] for spec in specs}:
        if name in described and METRICS.find(name) is None:
            _RECALLED[name] = _read_description(name, described.get(name) or {})


def _read_description(name: str, facts: Mapping[str, Any]) -> MetricEntry:
    """Read what `describe_added` wrote."""
    return MetricEntry(
        name=name,
        family="stored",
        summary=str(facts.get("summary", "")),
        lowest=facts.get("lowest"),
        highest=facts.get("highest"),
        better=Better(facts.get("better", Better.NEITHER)),
        cutoff=Cutoff(facts.get("cutoff", Cutoff.OPTIONAL)),
        parameters=tuple(
            Parameter(name=parameter, meaning="", default=str(default))
            for parameter, default in (facts.get("parameters") or {}).items()
        ),
        compute=FromRecord(),
        code=str(facts.get("code", "")),
    )


# --- The reference page ---

_CUTOFF = {
    Cutoff.REQUIRED: "required, such as `@10`",
    Cutoff.OPTIONAL: "optional; without one the whole list counts",
    Cutoff.NONE: "none",
}


def reference_markdown() -> str:
    """Write the page of every metric that Assay has itself; a package documents its own."""
    builtin = [registered.entry for registered in METRICS.all().values() if not registered.entry.code]
    parts = ["# Metrics", "", _table(builtin), ""]
    for family, entries in groupby(builtin, key=lambda entry: entry.family):
        parts += [f"## {family.capitalize()}", ""]
        parts += [section for entry in entries for section in (entry_markdown(entry), "")]
    return "\n".join(parts).rstrip() + "\n"


def entry_markdown(entry: MetricEntry) -> str:
    """One metric in full."""
    lines = [f"### `{entry.name}`", "", entry.summary, ""]
    lines += [f"- {name}: {text}" for name, text in entry_facts(entry)]
    return "\n".join(lines)


def entry_facts(entry: MetricFacts) -> list[tuple[str, str]]:
    """The facts about a metric, in the order in which every page lists them."""
    facts = [
        ("Formula", f"`{entry.formula}`" if entry.formula else ""),
        ("Range", range_text(entry)),
        ("Better", entry.better.value),
        ("Cutoff", _CUTOFF[entry.cutoff]),
        *(("Parameter", parameter_text(parameter)) for parameter in entry.parameters),
        ("From", entry.citation),
        ("Others differ", entry.disagreement),
        ("Example", entry.example),
    ]
    return [(name, text) for name, text in facts if text]


def range_text(entry: MetricFacts) -> str:
    """From the lowest to the highest value."""
    low = "no lower limit" if entry.lowest is None else f"{entry.lowest:g}"
    high = "no upper limit" if entry.highest is None else f"{entry.highest:g}"
    return f"{low} to {high}"


def parameter_text(parameter: Parameter) -> str:
    """A parameter with its values and its default."""
    values = " or ".join(f"`{choice}`" for choice in parameter.choices) or f"a {parameter.kind}"
    return f"`{parameter.name}` ({values}; default `{parameter.default}`): {parameter.meaning}"


def _table(entries: Sequence[MetricEntry]) -> str:
    rows = [f"| `{entry.name}` | {entry.family} | {entry.summary} | {range_text(entry)} |" for entry in entries]
    return "\n".join(["| metric | family | question | range |", "| --- | --- | --- | --- |", *rows])
