"""The parts of the page that are tables: summary, what changed, breakdowns, latency, movers, how it was measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.evaluation.reporting import wording
from assay.evaluation.reporting.content import Breakdown, Changed, Line, Mover, Part, Report, Status
from assay.evaluation.reporting.elements import Child, Html, element
from assay.evaluation.reporting.standing import is_worse
from assay.metrics.run_facts import LatencySummary


def table(head: Sequence[str], rows: Iterable[Sequence[Child]], *, numbers: frozenset[int] = frozenset()) -> Html:
    """A table; on a narrow screen each row of a wide one becomes a block, every cell named after its column.

    `numbers` are the columns set to the right.
    """
    wide = len(head) > 2
    kinds = ["num" if at in numbers else None for at in range(len(head))]
    top = element("tr", *(element("th", name, class_=kind) for name, kind in zip(head, kinds, strict=True)))
    body = (
        element(
            "tr",
            *(
                element("td", cell, class_=kind, data_name=name if wide else None)
                for cell, kind, name in zip(cells, kinds, head, strict=True)
            ),
        )
        for cells in rows
    )
    inner = element("table", element("thead", top), element("tbody", *body), class_="blocks" if wide else None)
    return element("div", inner, class_="wide")


def chip(status: Status) -> Html:
    """A status as a coloured word."""
    return element("span", status.value, class_=f"chip {tone(status)}")


def tone(status: Status) -> str:
    """The class that colours a status."""
    return f"is-{status.value.lower().replace(' ', '-')}"


def summary_table(report: Report) -> Html:
    """Every number with its interval, its baseline, what is required and how it stands."""
    head = ["metric", "value", *(["baseline"] if report.baseline else []), "required", "status"]
    last = len(head) - 1
    return table(head, (_summary_row(line, report) for line in report.lines), numbers=frozenset(range(1, last)))


def _summary_row(line: Line, report: Report) -> list[Child]:
    before = [[wording.number(line.baseline, line.unit), _change(line)]] if report.baseline else []
    value = [wording.number(line.value, line.unit), _small(wording.interval(line))]
    return [[line.metric, _small(line.others)], value, *before, wording.floor(line), chip(line.status)]


def _small(text: str, kind: str | None = None) -> Html | None:
    return element("small", text, class_=kind) if text else None


def _change(line: Line) -> Html | None:
    if line.change is None:
        return None
    kind = None if not line.certain else "down" if is_worse(line) else "up"
    return _small(wording.change(line), kind)


def configuration_table(changed: Sequence[Changed], baseline: str) -> Html:
    """The system's settings; with something to compare with, those that differ in the open, the others folded."""
    if not any(one.before is not None for one in changed):
        return table(["setting", "value"], ([_code(one.name), _code(one.now)] for one in changed))
    differing, same = [one for one in changed if one.differs], [one for one in changed if not one.differs]
    rows = ([_code(one.name), _code(one.before or wording.NOTHING), _code(one.now)] for one in differing)
    shown = table(["setting", baseline, "this run"], rows) if differing else None
    if not same:
        return shown or Html("")
    folded = element(
        "details",
        element("summary", element("span", f"{wording.count_of(len(same), 'setting')} the same in both")),
        table(["setting", "value"], ([_code(one.name), _code(one.now)] for one in same)),
    )
    return Html((shown or "") + folded)


def _code(text: str) -> Html:
    return element("code", text)


def breakdown_table(breakdown: Breakdown) -> Html:
    """A row for each value of the label, a column for each metric."""
    head = [breakdown.label, "queries", *(line.metric for line in breakdown.parts[0].lines)]
    return table(head, map(_part_row, breakdown.parts), numbers=frozenset(range(1, len(head))))


def _part_row(part: Part) -> list[Child]:
    return [part.name, f"{part.cases:,}", *(_with_interval(line) for line in part.lines)]


def _with_interval(line: Line) -> list[Child]:
    return [wording.number(line.value), _small(wording.interval(line))]


def latency_table(stages: Iterable[tuple[str, LatencySummary]]) -> Html:
    """A row for each stage."""
    head = ["stage", "p50", "p95", "p99", "mean", "timed"]
    rows = ([name, *wording.latencies(one), f"{one.timed:,}"] for name, one in stages)
    return table(head, rows, numbers=frozenset(range(1, len(head))))


def mover_table(movers: Sequence[Mover]) -> Html:
    """Queries whose value changed most."""
    rows: Iterable[list[Child]] = (
        [
            [element("span", one.query_id, class_="mono"), " ", one.text],
            one.metric,
            wording.number(one.before),
            wording.number(one.now),
            element("span", f"{one.change:+.3f}", class_="down" if one.loss else "up"),
        ]
        for one in movers
    )
    return table(["query", "metric", "before", "now", "change"], rows, numbers=frozenset({2, 3, 4}))


def measured_table(report: Report) -> Html:
    """Fingerprints, seeds, versions."""
    return table(["what", "value"], ([name, _code(value)] for name, value in report.measured_with))
