"""`assay compare`: two or more runs over the same cases, with what changed, what moved and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from assay.cli.colours import colour_verdicts
from assay.cli.runs import RunsOption, SeedOption, lookup
from assay.cli.surface import Surface, command
from assay.evaluation.comparison import Compared, compare_readings, number
from assay.formats.grid import grid
from assay.records.run_results import LatencyChange, OneSided
from assay.verbs.runs import COMPARE

NamesArgument = Annotated[
    list[str],
    typer.Argument(metavar="A B [C ...]", help="Runs by id, name or folder, or a baseline; A is the control."),
]
_LISTED = 10


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "compare")
    def compare(surface: Surface, names: NamesArgument, runs: RunsOption = None, seed: SeedOption = 0) -> None:
        """Compare runs query by query: differences with intervals, biggest movers, list agreement, latency."""
        place = lookup(surface, runs)
        readings = [place.either(name) for name in names]
        found = compare_readings(readings, seed=seed)
        told = {"comparisons": [COMPARE.to_json(compared.result()) for compared in found.comparisons]}
        text = "\n\n".join("\n".join(_lines(comparison)) for comparison in found.comparisons)
        surface.result(told, colour_verdicts(text))
        surface.caveats([caveat for comparison in found.comparisons for caveat in comparison.caveats])


def _lines(one: Compared) -> Iterator[str]:
    yield from grid(one.rows())
    yield from _unseen(one)
    yield from _section("What changed", [str(change) for change in one.changed] or ["nothing in the subject"])
    yield from _section(f"Moved most ({one.movers[0].metric})" if one.movers else "Moved", _movers(one))
    yield from _section("Scored on one side only", [_one_sided(found) for found in one.one_sided[:_LISTED]])
    if len(one.one_sided) > _LISTED:
        yield f"  and {len(one.one_sided) - _LISTED} more"
    yield from _section("Lists", _agreement(one))
    over = f", over {one.latency[0].cases} cases timed in both" if one.latency else ""
    host = "" if one.same_host else "; two hosts, so not compared"
    yield from _section(
        f"Latency (ms{over}{host})", grid([_latency(found)[: 3 if one.same_host else 2] for found in one.latency])
    )


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield f"\n{title}"
        yield from (f"  {line}" for line in lines)


def _unseen(one: Compared) -> Iterator[str]:
    for name, change in one.metrics.items():
        if change.comparison.verdict in ("unresolvable", "too_few", "withheld"):
            yield f"{name}: {change.comparison.sentence}"


def _movers(one: Compared) -> list[str]:
    if not one.movers:
        return ["no case"]
    rows = [
        (
            f"{mover.after - mover.before:+.3f}",
            f"{number(mover.before)} -> {number(mover.after)}",
            mover.case,
            mover.query,
        )
        for mover in one.movers
    ]
    return grid(rows)


def _one_sided(found: OneSided) -> str:
    return f"{found.case}: {found.before} -> {found.after} ({', '.join(found.metrics)})"


def _agreement(one: Compared) -> list[str]:
    found = one.agreement
    if found is None:
        return ["not kept on both sides"]
    changed = f"another first result in {found.top_changed} of {found.cases} cases"
    return [f"RBO {found.rbo:.3f}, Jaccard {found.jaccard:.3f}, {changed}"]


def _latency(found: LatencyChange) -> tuple[str, str, str]:
    limits = "" if found.low is None or found.high is None else f" [{found.low:+.2f}, {found.high:+.2f}]"
    return (
        f"p{found.percent}",
        f"{found.before:.2f} -> {found.after:.2f}",
        f"{found.after - found.before:+.2f}{limits}",
    )
