"""`assay measure`: run files against judgments, with intervals, and with two or more runs the paired comparison."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.surface import Surface, command
from assay.cli.work import ClusterOption, ProcessesOption, open_executor
from assay.evaluation.comparison import HEAD, cells, number, p_head
from assay.formats.grid import grid
from assay.records.evaluations import Outcome
from assay.records.run_results import ComparedFile, FileMeasurement, MetricValue
from assay.verbs import files

QrelsOption = Annotated[Path, typer.Option("--qrels", metavar="FILE", help="Judgments: TREC qrels or BEIR qrels.tsv.")]
RunOption = Annotated[
    list[Path], typer.Option("--run", metavar="FILE", help="A TREC run, plain or .gz; the first is the control.")
]
MetricsOption = Annotated[
    list[str], typer.Option("--metrics", "-m", metavar="LIST", help="Such as ndcg@10,mrr@10; see `assay metrics`.")
]
LevelOption = Annotated[int, typer.Option("--relevance-level", "-l", help="The lowest grade that is relevant.")]
DepthOption = Annotated[int | None, typer.Option("--depth", help="Count only the first N results of each query.")]
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
        metrics: MetricsOption = [files.DEFAULT_METRICS],  # noqa: B006 - typer reads the default, nobody changes it
        relevance_level: LevelOption = 1,
        depth: DepthOption = None,
        absent: AbsentOption = "empty",
        per_query: PerQueryOption = False,
        seed: SeedOption = 0,
        processes: ProcessesOption = None,
        cluster: ClusterOption = None,
    ) -> None:
        """Measure run files against judgments; compare two or more of them query by query."""
        with open_executor(surface, processes, cluster) as executor:
            found = surface.call_with_executor(
                files.MEASURE,
                executor,
                qrels=qrels,
                runs=run,
                metrics=metrics,
                relevance_level=relevance_level,
                depth=depth,
                absent=absent,
                per_query=per_query,
                seed=seed,
            )
        if per_query and not surface.common.json:
            _print_queries(found)
        surface.show(files.MEASURE, found, _format_measurement(found))
        surface.caveats(found.caveats)


def _print_queries(found: FileMeasurement) -> None:
    """Tab-separated, for other programs: metric, query and a column for each run."""
    write = sys.stdout.write
    write("\t".join(["metric", "query", *(run.name for run in found.runs)]) + "\n")
    columns = [run.per_query or {} for run in found.runs]
    for metric, queries in columns[0].items():
        for query in queries:
            write("\t".join([metric, query, *(_cell(values[metric][query]) for values in columns)]) + "\n")


def _cell(outcome: Outcome) -> str:
    return outcome.kind.value if outcome.value is None else f"{outcome.value:.6f}"


def _format_measurement(found: FileMeasurement) -> str:
    """Plain lines: a table that is cut to the width of a screen would cut numbers."""
    alone = len(found.runs) == 1
    tables = [_alone(found)] if alone else [_comparison_rows(found, comparison) for comparison in found.comparisons]
    return "\n".join([*("\n".join(grid(rows)) + "\n" for rows in tables), *_verdicts(found), _summary(found)])


def _alone(found: FileMeasurement) -> list[tuple[str, ...]]:
    run = found.runs[0]
    head = ("metric", run.name, "[95 %]", "scored", "not scored", "worst to best")
    rows = ((name, number(metric.value), _interval(metric), *_counts(metric)) for name, metric in run.metrics.items())
    return [head, *rows]


def _counts(metric: MetricValue) -> tuple[str, str, str]:
    others = ", ".join(f"{count:,} {kind}" for kind, count in metric.others.items() if count)
    bounds = "" if metric.worst == metric.best else f"{number(metric.worst)} to {number(metric.best)}"
    return f"{metric.scored:,}", others or "-", bounds or "-"


def _comparison_rows(found: FileMeasurement, comparison: ComparedFile) -> list[tuple[str, ...]]:
    names = (comparison.control, comparison.treatment)
    difference = f"{comparison.treatment} - {comparison.control} [95 %]"
    head = ("metric", *names, difference, p_head(len(comparison.metrics)), *HEAD)
    sides = {run.name: run for run in found.runs}
    rows: list[tuple[str, ...]] = [head]
    for metric in sides[comparison.control].metrics:
        values = [number(sides[name].metrics[metric].value) for name in names]
        change = comparison.metrics.get(metric)
        rows.append((metric, *values, *(() if change is None else cells(change))))
    return rows


def _verdicts(found: FileMeasurement) -> list[str]:
    return [
        f"{comparison.treatment}, {metric}: {change.sentence}"
        for comparison in found.comparisons
        for metric, change in comparison.metrics.items()
        if change.verdict in ("unresolvable", "too_few", "withheld")
    ]


def _summary(found: FileMeasurement) -> str:
    level = found.relevance_level
    detects = "" if len(found.runs) == 1 else " detects: the smallest difference seen with 80 % power."
    return f"{found.queries:,} queries, {found.judgments:,} judgments, relevant from grade {level}.{detects}"


def _interval(metric: MetricValue) -> str:
    return "-" if metric.interval is None else f"[{number(metric.interval[0])}, {number(metric.interval[1])}]"
