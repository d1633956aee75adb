"""`assay measure`: run files against judgments, with intervals, and with two or more runs the paired comparison."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.surface import Surface, command
from assay.evaluation.comparison import HEAD, cells, comparison_json, number, p_head
from assay.evaluation.measure import Measurement, Request, RunComparison, RunResult, measure_files
from assay.formats.grid import grid
from assay.metrics.aggregate import Aggregate
from assay.metrics.engine import Rules
from assay.metrics.spec import MetricSpec, parse_specs

DEFAULT_METRICS = "ndcg@10,mrr@10,recall@100"

QrelsOption = Annotated[Path, typer.Option("--qrels", metavar="FILE", help="Judgments: TREC qrels or BEIR qrels.tsv.")]
RunOption = Annotated[
    list[Path], typer.Option("--run", metavar="FILE", help="A TREC run, plain or .gz; the first is the control.")
]
MetricsOption = Annotated[
    list[str], typer.Option("--metrics", "-m", metavar="LIST", help="Such as ndcg@10,mrr@10; see `assay metrics`.")
]
LevelOption = Annotated[int, typer.Option("--relevance-level", "-l", help="The lowest grade that is relevant.")]
DepthOption = Annotated[int | None, typer.Option("--depth", help="Look at so many results of each query only.")]
AbsentOption = Annotated[
    str, typer.Option("--absent", metavar="empty|skip", help="What a judged query without results counts as.")
]
PerQueryOption = Annotated[bool, typer.Option("--per-query", help="Also print every query's value.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Of the resamples behind intervals and p-values.")]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "measure")
    def measure(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        qrels: QrelsOption,
        run: RunOption,
        metrics: MetricsOption = [DEFAULT_METRICS],  # noqa: B006 - typer reads the default, nobody changes it
        relevance_level: LevelOption = 1,
        depth: DepthOption = None,
        absent: AbsentOption = "empty",
        per_query: PerQueryOption = False,
        seed: SeedOption = 0,
    ) -> None:
        """Measure run files against judgments; compare two or more of them query by query."""
        found = measure_files(
            Request(
                qrels=qrels,
                runs=tuple(run),
                specs=parse_specs(metrics),
                rules=Rules(level=relevance_level, depth=depth, absent=absent),
                seed=seed,
            )
        )
        if per_query and not surface.common.json:
            _print_queries(found)
        surface.result(_as_json(found, per_query=per_query), _shown(found))
        surface.caveats(found.caveats)


def _print_queries(found: Measurement) -> None:
    """Tab-separated, for other programs: metric, query and a column for each run."""
    write = sys.stdout.write
    write("\t".join(["metric", "query", *(run.name for run in found.runs)]) + "\n")
    for spec in found.request.specs:
        for place, topic in enumerate(found.topics):
            write("\t".join([str(spec), topic, *(_cell(run, spec, place) for run in found.runs)]) + "\n")


def _cell(run: RunResult, spec: MetricSpec, place: int) -> str:
    outcome = run.measured.scores[spec].outcome(place)
    return outcome.kind.value if outcome.value is None else f"{outcome.value:.6f}"


def _shown(found: Measurement) -> str:
    """Plain lines: a table that is cut to the width of a screen would cut numbers."""
    tables = [_alone(found)] if len(found.runs) == 1 else [_compared(found, one) for one in found.comparisons]
    return "\n".join([*("\n".join(grid(rows)) + "\n" for rows in tables), *_verdicts(found), _summary(found)])


def _alone(found: Measurement) -> list[tuple[str, ...]]:
    run = found.runs[0]
    head = ("metric", run.name, "[95 %]", "scored", "not scored", "worst to best")
    rows = ((str(spec), number(one.value), _interval(one), *_counts(one)) for spec, one in run.aggregates.items())
    return [head, *rows]


def _counts(one: Aggregate) -> tuple[str, str, str]:
    others = ", ".join(f"{count:,} {kind.value}" for kind, count in one.others.items() if count)
    bounds = "" if one.worst == one.best else f"{number(one.worst)} to {number(one.best)}"
    return f"{one.scored:,}", others or "-", bounds or "-"


def _compared(found: Measurement, one: RunComparison) -> list[tuple[str, ...]]:
    difference = f"{one.treatment} - {one.control} [95 %]"
    head = ("metric", one.control, one.treatment, difference, p_head(len(one.metrics)), *HEAD)
    sides = {run.name: run for run in found.runs}
    rows: list[tuple[str, ...]] = [head]
    for spec in sides[one.control].aggregates:
        values = [number(sides[name].aggregates[spec].value) for name in (one.control, one.treatment)]
        rows.append((str(spec), *values, *(cells(one.metrics[spec]) if spec in one.metrics else ())))
    return rows


def _verdicts(found: Measurement) -> list[str]:
    return [
        f"{one.treatment}, {spec}: {seen.sentence}"
        for one in found.comparisons
        for spec, seen in one.metrics.items()
        if seen.verdict in ("unresolvable", "too_few", "withheld")
    ]


def _summary(found: Measurement) -> str:
    level = found.request.rules.level
    seen = "" if len(found.runs) == 1 else " detects: the smallest difference seen with 80 % power."
    return f"{len(found.topics):,} queries, {found.judgments:,} judgments, relevant from grade {level}.{seen}"


def _interval(one: Aggregate) -> str:
    return "-" if one.interval is None else f"[{number(one.interval.low)}, {number(one.interval.high)}]"


def _as_json(found: Measurement, *, per_query: bool) -> dict[str, Any]:
    rules = found.request.rules
    return {
        "qrels": str(found.request.qrels),
        "queries": len(found.topics),
        "judgments": found.judgments,
        "relevance_level": rules.level,
        "depth": rules.depth,
        "absent": rules.absent,
        "dataset": found.instrument.dataset,
        "runs": [_run_json(run, found, per_query=per_query) for run in found.runs],
        "comparisons": [_comparison_json(one) for one in found.comparisons],
        "caveats": [caveat.as_json() for caveat in found.caveats],
    }


def _run_json(run: RunResult, found: Measurement, *, per_query: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "name": run.name,
        "path": str(run.path),
        "metrics": {str(spec): one.as_json() for spec, one in run.aggregates.items()},
        "queries_without_results": list(run.measured.absent),
        "queries_without_judgments": list(run.measured.unknown),
        "repeated_results": run.measured.repeats,
    }
    if per_query:
        shown["per_query"] = {str(spec): _queries_json(run, spec, found) for spec in found.request.specs}
    return shown


def _queries_json(run: RunResult, spec: MetricSpec, found: Measurement) -> dict[str, Any]:
    outcomes = ((topic, run.measured.scores[spec].outcome(place)) for place, topic in enumerate(found.topics))
    return {topic: {"kind": one.kind.value, "value": one.value} for topic, one in outcomes}


def _comparison_json(one: RunComparison) -> dict[str, Any]:
    return {
        "control": one.control,
        "treatment": one.treatment,
        "metrics": {str(spec): comparison_json(seen) for spec, seen in one.metrics.items()},
    }
