"""`assay metrics`: the catalog as a table, or one metric in full."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from assay.cli.surface import Surface, command
from assay.metrics.catalog import MetricFacts, entry_facts
from assay.verbs import metrics as metric_verbs

NameArgument = Annotated[str | None, typer.Argument(metavar="[NAME]", help="A metric; also as ndcg@10.")]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "metrics")
    def metrics(surface: Surface, name: NameArgument = None) -> None:
        """List every metric, or show one with its formula, source, parameters and a worked example."""
        if name is None:
            catalog = surface.call_unopened(metric_verbs.LIST)
            surface.show(metric_verbs.LIST, catalog, _table(catalog.metrics))
            for problem in catalog.problems:
                surface.note(f"{problem[0].upper()}{problem[1:]}.")
        else:
            facts = surface.call_unopened(metric_verbs.SHOW, name=name)
            surface.show(metric_verbs.SHOW, facts, _full(facts))


def _table(entries: tuple[MetricFacts, ...]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("metric", style="bold", no_wrap=True)
    table.add_column("family", no_wrap=True)
    table.add_column("better", no_wrap=True)
    table.add_column("question", overflow="fold")
    for entry in entries:
        table.add_row(entry.name, entry.family, entry.better.value, entry.summary)
    return table


def _full(entry: MetricFacts) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("what", style="bold", no_wrap=True)
    table.add_column("text", overflow="fold")
    table.add_row(entry.name, entry.summary)
    for what, text in entry_facts(entry):
        table.add_row(what, text.replace("`", ""))
    return table
