"""The report as Markdown: the same parts as the page, readable as plain text, with nothing stored read as markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from assay.evaluation.reporting import wording
from assay.evaluation.reporting.content import Breakdown, Line, Query, Report, Status
from assay.evaluation.waterfall import Fate
from assay.metrics.operations import TOTAL

MOST = 50
"""Queries in full; the page and the run's own files have them all."""
_MARKS = re.compile(r"([\\`*_\[\]<>|#~!&])")
_SHOWN = 10
"""Results shown of each query."""


def markdown(report: Report) -> str:
    """The whole file."""
    blocks = [block for part in _PARTS for block in part(report)]
    return "\n\n".join(blocks) + "\n"


def plain(text: str) -> str:
    """Stored text on one line, every mark of Markdown and HTML escaped."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: int = 0) -> str:
    """Cells are Markdown already; the columns from `right` on are numbers, if it is not 0."""
    rule = ["---:" if right and at >= right else "---" for at in range(len(head))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, rule, *rows])


def _head(report: Report) -> Iterator[str]:
    yield f"# {plain(report.title)}"
    word = "NO VERDICT" if report.status is Status.NOT_GATED else report.status.value
    yield f"**{word}**: {plain(report.verdict)}"
    against = f", compared with {plain(report.baseline)}" if report.baseline else ""
    cases = wording.counted(report.counts.items()) or "no cases"
    yield f"{plain(report.run)} on {plain(report.dataset)}, {report.date}{against}. Cases: {cases}."
    if report.rulings:
        yield "\n".join(f"- **{one.status.value}** {plain(one.sentence)}" for one in report.rulings)


def _summary(report: Report) -> Iterator[str]:
    yield "## Summary"
    head = ["metric", "value", "95 % interval", "baseline", "change", "required", "status"]
    yield _table(head, (_summary_row(line) for line in report.lines))
    if report.caveats:
        yield "Read beside these numbers:"
        yield "\n".join(f"- {plain(caveat.sentence)}" for caveat in report.caveats)


def _summary_row(line: Line) -> list[str]:
    return [
        plain(line.metric),
        wording.number(line.value, line.unit),
        wording.interval(line) or wording.NOTHING,
        wording.number(line.baseline, line.unit),
        wording.change(line) or wording.NOTHING,
        wording.floor(line),
        line.status.value,
    ]


def _configuration(report: Report) -> Iterator[str]:
    if not report.configuration:
        return
    yield "## What changed" if report.baseline else "## Configuration"
    if not report.baseline:
        yield _table(["setting", "value"], ([plain(one.name), plain(one.now)] for one in report.configuration))
        return
    changed = [one for one in report.configuration if one.differs]
    rows = ([plain(one.name), plain(one.before or ""), plain(one.now)] for one in changed)
    yield _table(["setting", plain(report.baseline), "this run"], rows) if changed else "Nothing."
    same = [one for one in report.configuration if not one.differs]
    if same:
        yield "The same in both: " + ", ".join(f"{plain(one.name)} {plain(one.now)}" for one in same) + "."


def _lost(report: Report) -> Iterator[str]:
    yield "## Where evidence was lost"
    water = report.waterfall
    if water is None:
        yield plain(report.no_waterfall)
        return
    yield f"{len(water.missed):,} of {len(water.fates):,} gold items were not among the first {water.k} results."
    rows = [["gold", str(len(water.fates)), wording.NOTHING]]
    rows += [
        [wording.step_name(step, water.k), str(water.reached(step)), str(water.doubtful(step) or wording.NOTHING)]
        for step in water.steps
    ]
    yield _table(["step", "passed", "not known"], rows, right=1)
    yield f"Lost: {wording.losses(water)}."


def _advice(report: Report) -> Iterator[str]:
    yield "## Recommendations"
    if not report.recommendations:
        yield "None: nothing that was measured speaks for a change."
        return
    numbered = enumerate(report.recommendations, start=1)
    yield "\n".join(f"{place}. **{plain(one.advice)}** {plain(one.evidence)}" for place, one in numbered)


def _breakdowns(report: Report) -> Iterator[str]:
    if report.breakdowns:
        yield "## Breakdowns"
    for one in report.breakdowns:
        yield from _breakdown(one)


def _breakdown(one: Breakdown) -> Iterator[str]:
    head = [plain(one.label), "queries", *(plain(line.metric) for line in one.parts[0].lines)]
    rows = ([plain(part.name), f"{part.cases:,}", *map(_with_interval, part.lines)] for part in one.parts)
    yield _table(head, rows, right=1)
    if one.left_out:
        yield f"{one.left_out:,} more values of {plain(one.label)} are in the run's own files."


def _with_interval(line: Line) -> str:
    return f"{wording.number(line.value)} {wording.interval(line)}".strip()


def _latency(report: Report) -> Iterator[str]:
    if TOTAL not in report.latency:
        return
    yield "## Latency"
    rows = (
        [
            plain(name),
            *wording.latencies(one),
            f"{one.timed:,}",
        ]
        for name, one in report.latency.items()
    )
    yield _table(["stage", "p50", "p95", "p99", "mean", "timed"], rows, right=1)


def _movers(report: Report) -> Iterator[str]:
    if not report.baseline:
        return
    yield "## Movers"
    rows = [
        [
            f"{plain(one.query_id)} {plain(one.text)}",
            plain(one.metric),
            wording.number(one.before),
            wording.number(one.now),
            f"{one.change:+.3f}",
        ]
        for one in report.movers
    ]
    yield _table(["query", "metric", "before", "now", "change"], rows) if rows else plain(wording.no_movers(report))


def _failures(report: Report) -> Iterator[str]:
    yield f"## Failures ({len(report.failures)})"
    if not report.failures:
        yield wording.NO_FAILURES
        return
    rows = ([plain(one.id), plain(one.text), one.status, plain(one.error)] for one in report.failures)
    yield _table(["id", "query", "ended", "what went wrong"], rows)


def _queries(report: Report) -> Iterator[str]:
    yield "## Queries"
    shown = report.queries[:MOST]
    of_all = f", {len(shown)} of {len(report.queries):,}" if len(shown) < len(report.queries) else ""
    yield f"The worst first{of_all}."
    for one in shown:
        yield f"### {plain(one.id)}: {plain(one.text) or 'text not at hand'}"
        yield "\n".join(_query(one))


def _query(one: Query) -> Iterator[str]:
    yield f"- Retrieved: {', '.join(plain(given.id) for given in one.given[:_SHOWN]) or 'nothing'}"
    yield f"- Expected: {', '.join(map(_gold, one.expected)) or 'nothing, or not known'}"
    scored = {name: value for name, value in one.values.items() if value is not None}
    values = ", ".join(f"{plain(name)} {wording.number(value)}" for name, value in scored.items())
    yield f"- Values: {values or 'none'}"
    if one.milliseconds is not None:
        yield f"- Latency: {wording.number(one.milliseconds, 'ms')}"
    if one.error:
        yield f"- Ended with {one.status}: {plain(one.error)}"


def _gold(fate: Fate) -> str:
    return f"{plain(fate.item)} ({plain(wording.fate(fate))})"


def _measured(report: Report) -> Iterator[str]:
    yield "## How it was measured"
    yield _table(["what", "value"], ([name, plain(value)] for name, value in report.measured_with))


_PARTS = (
    _head,
    _summary,
    _configuration,
    _lost,
    _advice,
    _breakdowns,
    _latency,
    _movers,
    _failures,
    _queries,
    _measured,
)
