"""Tables that a person reads: one for each set, with intervals, verdicts in words, flags, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.formats.grid import grid
from assay.referee.answer_scoring import ACCURACY
from assay.referee.records import BenchRecords, Line
from assay.referee.sets.values import ANSWERS

NONE = "-"
COSTS_TITLE = "Cost (measured on this machine; differs from run to run)"


def render_text(records: BenchRecords, results: Mapping[str, Any], costs: Sequence[Line]) -> str:
    """Return the tables as plain lines."""
    return "\n".join(_render(records, results, costs, markdown=False)).rstrip()


def render_markdown(records: BenchRecords, results: Mapping[str, Any], costs: Sequence[Line]) -> str:
    """Return the tables as Markdown."""
    return "\n".join(_render(records, results, costs, markdown=True)).rstrip() + "\n"


def _render(
    records: BenchRecords, results: Mapping[str, Any], costs: Sequence[Line], *, markdown: bool
) -> Iterator[str]:
    mark = "## " if markdown else ""
    for name, found in results["sets"].items():
        yield from (f"{mark}{name}", "", *_head(records, name, found), "")
        yield from _table(_rows(records, name, found), markdown=markdown)
        yield ""
        yield from _bullets(_sentences(found), markdown=markdown)
        yield from (f"{'### ' if markdown else ''}Categories", "")
        yield from _table(_category_rows(found), markdown=markdown)
        yield ""
    flags = _flag_rows(results)
    if flags:
        yield from (f"{mark}Flags", "", *_bullets(flags, markdown=markdown))
    yield from (f"{mark}Systems", "", *_bullets(_system_lines(records), markdown=markdown))
    if costs:
        yield from (f"{mark}{COSTS_TITLE}", "", *_table(_cost_rows(costs), markdown=markdown), "")


def _head(records: BenchRecords, name: str, found: Line) -> Iterator[str]:
    about, options = records.sets[name], records.options
    yield f"{about['counts']} Scored: {found['scored']} questions in {found['chats']} chats."
    if found["left_out"]:
        parts = [f"{entry['category']} {entry['questions']} ({entry['reason']})" for entry in found["left_out"]]
        yield f"Not in the mean: {', '.join(parts)}."
    if "overlay" in about:
        yield about["overlay"]["sentence"]
    if options.layer == ANSWERS:
        yield f"Reader: {options.reader}. Judge: {options.judge}."


# --- Values ---


def _columns(records: BenchRecords, found: Line) -> list[str]:
    options = records.options
    if options.layer == ANSWERS:
        return [ACCURACY]
    last = found["deciding"].partition("@")[2]
    names = [f"recall_all@{cutoff}" for cutoff in options.cutoffs]
    names += [f"recall_any@{last}", f"ndcg@{last}", f"mrr@{last}", f"recall_all@{options.budget}tok"]
    return [name for name in names if name not in found["withheld"]]


def _rows(records: BenchRecords, name: str, found: Line) -> list[list[str]]:
    columns, deciding = _columns(records, found), found["deciding"]
    with_key = "overlay" in records.sets[name]
    header = ["system", *(f"{column} [95 %]" if column == deciding else column for column in columns)]
    header += [f"{deciding}, corrected key"] if with_key else []
    rows = [[*header, "tokens", "failed"]]
    for row in found["rows"]:
        cells = [_cell(row["values"].get(column), interval=column == deciding) for column in columns]
        if with_key:
            cells.append(_cell(row.get("corrected", {}).get(deciding), interval=True))
        tokens = row.get("tokens")
        rows.append([_label(row), *cells, NONE if tokens is None else f"{tokens:,.0f}", str(row.get("failed", NONE))])
    return rows


def _label(row: Line) -> str:
    if "fits" in row:
        return f"{row['system']} (fits {row['limit']:,} for {row['fits']} of {row['asked']})"
    return str(row["system"]) if row["kind"] == "contender" else f"{row['system']} ({row['kind']})"


def _cell(value: Line | None, *, interval: bool) -> str:
    if value is None or value["mean"] is None:
        return NONE
    shown = f"{value['mean']:.3f}"
    if interval and value["low"] is not None:
        shown += f" [{value['low']:.3f}, {value['high']:.3f}]"
    return shown


def _sentences(found: Line) -> list[str]:
    failures = [
        f"{row['system']} failed on {row['failed']} of {row['asked']} questions: {row['failure']}."
        for row in found["rows"]
        if row.get("failed")
    ]
    return [_order(found), *(line["sentence"] for line in found["comparisons"]), *failures]


def _order(found: Line) -> str:
    """Name the systems from the best to the worst, those with equal values together."""
    deciding = found["deciding"]
    means = {
        row["system"]: row["values"].get(deciding, {}).get("mean")
        for row in found["rows"]
        if row["kind"] == "contender"
    }
    known = sorted({mean for mean in means.values() if mean is not None}, reverse=True)
    parts = [f"{', '.join(name for name in means if means[name] == mean)} {mean:.3f}" for mean in known]
    missing = [name for name, mean in means.items() if mean is None]
    parts += [f"{', '.join(missing)} not measured"] if missing else []
    return f"Best first by {deciding}: {'; '.join(parts)}."


def _category_rows(found: Line) -> list[list[str]]:
    systems = [row for row in found["rows"] if row["kind"] == "contender"]
    rows = [["category", "questions", "chats", *(row["system"] for row in systems), "smallest difference seen"]]
    for entry in found["categories"]:
        smallest = NONE if entry["smallest"] is None else f"{entry['smallest']:.3f}"
        values = [_mean_of(row["categories"].get(entry["category"])) for row in systems]
        rows.append([entry["category"] or "(none)", str(entry["questions"]), str(entry["chats"]), *values, smallest])
    return rows


def _mean_of(entry: Line | None) -> str:
    return NONE if entry is None or entry["mean"] is None else f"{entry['mean']:.3f}"


def _flag_rows(results: Mapping[str, Any]) -> list[str]:
    return [
        f"{flag['trap']}, {flag['action']}{' (' + flag['set'] + ')' if flag['set'] else ''}: {flag['sentence']}"
        for flag in results["flags"]
    ]


def _system_lines(records: BenchRecords) -> list[str]:
    lines = []
    for system, line in records.systems.items():
        declared = line["declared"]
        ignores = f"ignores {', '.join(declared['ignores'])}" if declared["ignores"] else "ignores nothing"
        embedder = declared["embedder"] or "no embedder"
        settings = "; ".join(f"{key}: {value}" for key, value in declared["configuration"].items())
        lines.append(f"{system}: {embedder}; {ignores}; {settings}".rstrip("; "))
    return lines


def _cost_rows(costs: Sequence[Line]) -> list[list[str]]:
    rows = [
        ["set", "system", "items", "fill s", "of it embedding s", "ask p50 ms", "ask p95 ms", "disk MB", "model calls"]
    ]
    for cost in costs:
        size = NONE if cost["disk_bytes"] is None else f"{cost['disk_bytes'] / 1e6:.1f}"
        times = [
            NONE if cost[key] is None else f"{cost[key]:.1f}"
            for key in ("fill_s", "embedding_s", "ask_p50_ms", "ask_p95_ms")
        ]
        rows.append([cost["set"], cost["system"], f"{cost['items']:,}", *times, size, str(cost["model_calls"])])
    return rows


# --- Shapes ---


def _table(rows: Sequence[Sequence[str]], *, markdown: bool) -> list[str]:
    if not markdown:
        return grid([list(row) for row in rows], gap="  ")
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return [lines[0], f"|{' --- |' * len(rows[0])}", *lines[1:]]


def _bullets(sentences: Sequence[str], *, markdown: bool) -> list[str]:
    return [*(f"- {sentence}" if markdown else f"  {sentence}" for sentence in sentences), ""] if sentences else []
