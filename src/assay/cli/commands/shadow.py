"""`assay shadow status|replay`: treatments that run unseen beside what is shown."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.surface import Surface, command
from assay.formats.grid import grid
from assay.records.flags import ShadowSummary
from assay.verbs import variants

FlagArgument = Annotated[
    str, typer.Argument(metavar="FLAG", help="A flag or a variant; `assay flag list` has them all.")
]
LastOption = Annotated[int, typer.Option("--last", metavar="N", min=1, max=10_000, help="Of the newest searches.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="See what a change would do, without showing it to anybody.", no_args_is_help=True)
    app.add_typer(group, name="shadow")

    @command(group, "status")
    def status(surface: Surface) -> None:
        """Show what shadow runs came to, by change, intent and session."""
        found = surface.call(variants.SHADOW, create=True)
        lines = grid([_HEAD, *(_row(name, summary) for name, summary in found.changes.items())])
        details = [line for name, summary in found.changes.items() for line in _details(name, summary)]
        empty = "Nothing runs in the shadow. Try `assay flag set NAME off --shadow`, or `assay shadow replay NAME`."
        surface.show(variants.SHADOW, found, "\n".join([*lines, *details]) if found.changes else empty)

    @command(group, "replay")
    def replay(surface: Surface, flag: FlagArgument, last: LastOption = 200) -> None:
        """Ask the newest searches of use again, with a change and without it, and compare."""
        summary = surface.call(variants.REPLAY, create=True, feature_id=flag, last=last)
        lines = [*grid([_HEAD, _row(flag, summary)]), *_details(flag, summary)]
        surface.show(variants.REPLAY, summary, "\n".join(lines))


def _details(name: str, summary: ShadowSummary) -> list[str]:
    """What the runs of a change came to by intent, and in how many sessions it changed something."""
    if not summary.by_intent:
        return []
    rows = [(f"{name}, by intent", "runs", "changed", "mrr@5")]
    rows += [
        (intent, str(group.runs), str(group.changed), _gain(group.mean_mrr_delta, group.judged))
        for intent, group in summary.by_intent.items()
    ]
    told = f"Sessions: {summary.changed_sessions} of {summary.sessions} had a changed list."
    return ["", *grid(rows), *([told] if summary.sessions else [])]


def _gain(mean: float | None, judged: int) -> str:
    return "-" if mean is None else f"{mean:+.3f} ({judged})"


_HEAD = (
    "change",
    "runs",
    "identical",
    "minor",
    "major",
    "incompatible",
    "failed",
    "dropped",
    "other first",
    "overlap",
    "mrr@5",
    "ndcg@10",
    "p95 ms",
)


def _row(name: str, summary: ShadowSummary) -> tuple[str, ...]:
    classes = [str(summary.classes.get(kind, 0)) for kind in ("identical", "minor", "major", "incompatible")]
    gained = _gain(summary.mean_mrr_delta, summary.judged)
    times = summary.latency_p95_ms
    shown = "-" if times is None else f"{times.control:.1f} -> {times.treatment:.1f}"
    ndcg = "-" if summary.mean_ndcg_delta is None else f"{summary.mean_ndcg_delta:+.3f}"
    first = "-" if summary.agreement is None else str(summary.agreement.top_changed)
    overlap = None if summary.agreement is None else summary.agreement.set_overlap
    alike = "-" if overlap is None else f"{overlap:.2f}"
    return (
        name,
        str(summary.runs),
        *classes,
        str(summary.problems),
        str(summary.dropped),
        first,
        alike,
        gained,
        ndcg,
        shown,
    )
