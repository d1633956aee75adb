"""Reports as Markdown, and the query that somebody means.

- Markdown.
- Finding a query by id or words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assay.errors import InputError
from assay.evaluation.reporting import wording
from assay.evaluation.reporting.content import Breakdown, LineStatus, Query, Report, SummaryLine
from assay.evaluation.waterfall import GoldFate
from assay.metrics.operations import TOTAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

# --- Markdown ---

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
    word = "NO VERDICT" if report.status is LineStatus.NOT_GATED else report.status.value
    yield f"**{word}**: {plain(report.verdict)}"
    against = f", compared with {plain(report.baseline)}" if report.baseline else ""
    cases = wording.join_counts(report.counts.items()) or "no cases"
    yield f"{plain(report.run)} on {plain(report.dataset)}, {report.date}{against}. Cases: {cases}."
    if report.rulings:
        yield "\n".join(f"- **{ruling.status.value}** {plain(ruling.sentence)}" for ruling in report.rulings)


def _summary(report: Report) -> Iterator[str]:
    yield "## Summary"
    counted = any(line.counted for line in report.lines)
    head = ["metric", "value", "95 % interval", *(["counted"] if counted else []), "baseline", "change", "required"]
    yield _table([*head, "status"], (_summary_row(line, counted=counted) for line in report.lines))
    if report.caveats:
        yield "Read beside these numbers:"
        yield "\n".join(f"- {plain(caveat.sentence)}" for caveat in report.caveats)


def _summary_row(line: SummaryLine, *, counted: bool) -> list[str]:
    return [
        plain(line.metric),
        wording.number(line.value, line.unit),
        wording.interval(line) or wording.NOTHING,
        *([line.counted or wording.NOTHING] if counted else []),
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
        yield _table(
            ["setting", "value"], ([plain(setting.name), plain(setting.now)] for setting in report.configuration)
        )
        return
    changed = [setting for setting in report.configuration if setting.differs]
    rows = ([plain(setting.name), plain(setting.before or ""), plain(setting.now)] for setting in changed)
    yield _table(["setting", plain(report.baseline), "this run"], rows) if changed else "Nothing."
    same = [setting for setting in report.configuration if not setting.differs]
    if same:
        yield "The same in both: " + ", ".join(f"{plain(setting.name)} {plain(setting.now)}" for setting in same) + "."


def _evidence_lines(report: Report) -> Iterator[str]:
    yield "## Where evidence was lost"
    water = report.waterfall
    if water is None:
        yield plain(report.no_waterfall)
        return
    yield f"{len(water.missed):,} of {len(water.fates):,} gold items were not among the first {water.k} results."
    rows = [["gold", str(len(water.fates)), wording.NOTHING]]
    rows += [
        [wording.step_name(step, water.k), str(water.count_reached(step)), str(water.doubtful(step) or wording.NOTHING)]
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
    yield "\n".join(
        f"{place}. **{plain(recommendation.advice)}** {plain(recommendation.evidence)}"
        for place, recommendation in numbered
    )


def _breakdowns(report: Report) -> Iterator[str]:
    if report.breakdowns:
        yield "## Breakdowns"
    for breakdown in report.breakdowns:
        yield from _breakdown(breakdown)


def _breakdown(breakdown: Breakdown) -> Iterator[str]:
    head = [plain(breakdown.label), "queries", *(plain(line.metric) for line in breakdown.parts[0].lines)]
    rows = ([plain(part.name), f"{part.cases:,}", *map(_with_interval, part.lines)] for part in breakdown.parts)
    yield _table(head, rows, right=1)
    if breakdown.left_out:
        yield f"{breakdown.left_out:,} more values of {plain(breakdown.label)} are in the run's own files."


def _with_interval(line: SummaryLine) -> str:
    return f"{wording.number(line.value)} {wording.interval(line)}".strip()


def _latency(report: Report) -> Iterator[str]:
    if TOTAL not in report.latency:
        return
    yield "## Latency"
    rows = (
        [
            plain(name),
            *wording.latencies(latency),
            f"{latency.timed:,}",
        ]
        for name, latency in report.latency.items()
    )
    yield _table(["stage", "p50", "p95", "p99", "mean", "timed"], rows, right=1)


def _movers(report: Report) -> Iterator[str]:
    if not report.baseline:
        return
    yield "## Movers"
    rows = [
        [
            f"{plain(mover.query_id)} {plain(mover.text)}",
            plain(mover.metric),
            wording.number(mover.before),
            wording.number(mover.now),
            f"{mover.change:+.3f}",
        ]
        for mover in report.movers
    ]
    yield _table(["query", "metric", "before", "now", "change"], rows) if rows else plain(wording.no_movers(report))


def _failures(report: Report) -> Iterator[str]:
    yield f"## Failures ({len(report.failures)})"
    if not report.failures:
        yield wording.NO_FAILURES
        return
    rows = (
        [plain(failure.id), plain(failure.text), failure.status, plain(failure.error)] for failure in report.failures
    )
    yield _table(["id", "query", "ended", "what went wrong"], rows)


def _queries(report: Report) -> Iterator[str]:
    yield "## Queries"
    shown = report.queries[:MOST]
    of_all = f", {len(shown)} of {len(report.queries):,}" if len(shown) < len(report.queries) else ""
    yield f"The worst first{of_all}."
    for query in shown:
        yield f"### {plain(query.id)}: {plain(query.text) or 'text not at hand'}"
        yield "\n".join(_query(query))


def _query(query: Query) -> Iterator[str]:
    yield f"- Retrieved: {', '.join(plain(given.id) for given in query.given[:_SHOWN]) or 'nothing'}"
    yield f"- Expected: {', '.join(map(_gold, query.expected)) or 'nothing, or not known'}"
    scored = {name: value for name, value in query.values.items() if value is not None}
    values = ", ".join(f"{plain(name)} {wording.number(value)}" for name, value in scored.items())
    yield f"- Values: {values or 'none'}"
    if query.milliseconds is not None:
        yield f"- Latency: {wording.number(query.milliseconds, 'ms')}"
    if query.error:
        yield f"- Ended with {query.status}: {plain(query.error)}"


def _gold(fate: GoldFate) -> str:
    return f"{plain(fate.item)} ({plain(wording.fate(fate))})"


def _measurement_table(report: Report) -> Iterator[str]:
    yield "## How it was measured"
    yield _table(["what", "value"], ([name, plain(value)] for name, value in report.measured_with))


_PARTS = (
    _head,
    _summary,
    _configuration,
    _evidence_lines,
    _advice,
    _breakdowns,
    _latency,
    _movers,
    _failures,
    _queries,
    _measurement_table,
)


# --- Finding a query by id or words ---

_NAMED = 5
"""Queries named when several fit."""


def find_query(report: Report, wanted: str) -> Query:
    """The query of that id, else the one whose text it is, else the one whose text holds it."""
    queries = {query.id: query for query in report.queries}
    return queries[choose_query({query.id: query.text for query in report.queries}, wanted, report.run)]


def choose_query(texts: Mapping[str, str], wanted: str, run: str) -> str:
    """The id that is meant by an id or words, of texts by id; raises `InputError` where none or several fit."""
    folded = wanted.casefold().strip()
    ways = (
        [query_id for query_id in texts if query_id == wanted],
        [query_id for query_id, text in texts.items() if text.casefold().strip() == folded],
        [query_id for query_id, text in texts.items() if folded and folded in text.casefold()],
    )
    fitting = next((found for found in ways if found), [])
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        raise InputError(f"the run {run} has no query {wanted!r}", remedy="Give an id or words of the query.")
    names = ", ".join(fitting[:_NAMED])
    raise InputError(f"{len(fitting)} queries of the run hold {wanted!r}", remedy=f"Give one id, such as: {names}.")
