"""`assay metrics`: the catalog as a table, or one metric in full."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from assay.cli.surface import Surface, command
from assay.metrics.catalog import METRICS, MetricEntry, entries, entry_facts, find

NameArgument = Annotated[str | None, typer.Argument(metavar="[NAME]", help="A metric; also as ndcg@10.")]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "metrics")
    def metrics(surface: Surface, name: NameArgument = None) -> None:
        """List every metric, or show one with its formula, source, parameters and a worked example."""
        if name is None:
            every = entries()
            surface.result([_as_json(entry) for entry in every], _table(every))
            for problem in METRICS.problems():
                surface.note(f"{problem[0].upper()}{problem[1:]}.")
        else:
            entry = find(name.split("@")[0].split("(")[0].strip())
            surface.result(_as_json(entry), _full(entry))


def _table(entries: tuple[MetricEntry, ...]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("metric", style="bold", no_wrap=True)
    table.add_column("family", no_wrap=True)
    table.add_column("better", no_wrap=True)
    table.add_column("question", overflow="fold")
    for one in entries:
        table.add_row(one.name, one.family, one.better.value, one.summary)
    return table


def _full(entry: MetricEntry) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("what", style="bold", no_wrap=True)
    table.add_column("text", overflow="fold")
    table.add_row(entry.name, entry.summary)
    for what, text in entry_facts(entry):
        table.add_row(what, text.replace("`", ""))
    return table


def _as_json(entry: MetricEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "family": entry.family,
        "summary": entry.summary,
        "formula": entry.formula,
        "lowest": entry.lowest,
        "highest": entry.highest,
        "better": entry.better.value,
        "cutoff": entry.cutoff.value,
        "parameters": [
            {
                "name": one.name,
                "meaning": one.meaning,
                "default": one.default,
                "choices": list(one.choices),
                "kind": one.kind,
            }
            for one in entry.parameters
        ],
        "citation": entry.citation,
        "disagreement": entry.disagreement,
        "example": entry.example,
    }
