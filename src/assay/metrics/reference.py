"""The reference page of the metrics, written from the catalog, so that it cannot miss one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from assay.metrics.entry import Cutoff, MetricEntry, Parameter
from assay.metrics.registering import METRICS

_CUTOFF = {
    Cutoff.REQUIRED: "required, such as `@10`",
    Cutoff.OPTIONAL: "optional; without one the whole list counts",
    Cutoff.NONE: "none",
}


def reference_markdown() -> str:
    """Write the page of every metric that Assay has itself; a package documents its own."""
    builtin = [registered.entry for registered in METRICS.all().values() if not registered.entry.code]
    parts = ["# Metrics", "", _table(builtin), ""]
    for family, entries in groupby(builtin, key=lambda entry: entry.family):
        parts += [f"## {family.capitalize()}", ""]
        parts += [section for entry in entries for section in (entry_markdown(entry), "")]
    return "\n".join(parts).rstrip() + "\n"


def entry_markdown(entry: MetricEntry) -> str:
    """One metric in full."""
    lines = [f"### `{entry.name}`", "", entry.summary, ""]
    lines += [f"- {name}: {text}" for name, text in entry_facts(entry)]
    return "\n".join(lines)


def entry_facts(entry: MetricEntry) -> list[tuple[str, str]]:
    """What there is to say of a metric, in the order it is said everywhere."""
    facts = [
        ("Formula", f"`{entry.formula}`" if entry.formula else ""),
        ("Range", range_text(entry)),
        ("Better", entry.better.value),
        ("Cutoff", _CUTOFF[entry.cutoff]),
        *(("Parameter", parameter_text(one)) for one in entry.parameters),
        ("From", entry.citation),
        ("Others differ", entry.disagreement),
        ("Example", entry.example),
    ]
    return [(name, text) for name, text in facts if text]


def range_text(entry: MetricEntry) -> str:
    """From the lowest to the highest value."""
    low = "no lower limit" if entry.lowest is None else f"{entry.lowest:g}"
    high = "no upper limit" if entry.highest is None else f"{entry.highest:g}"
    return f"{low} to {high}"


def parameter_text(parameter: Parameter) -> str:
    """A parameter with its values and its default."""
    values = " or ".join(f"`{one}`" for one in parameter.choices) or f"a {parameter.kind}"
    return f"`{parameter.name}` ({values}; default `{parameter.default}`): {parameter.meaning}"


def _table(entries: Sequence[MetricEntry]) -> str:
    rows = [f"| `{entry.name}` | {entry.family} | {entry.summary} | {range_text(entry)} |" for entry in entries]
    return "\n".join(["| metric | family | question | range |", "| --- | --- | --- | --- |", *rows])
