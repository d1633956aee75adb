"""Datasets as lines to read and as JSON: imports, checks, overviews and the list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.cli.plain import plain
from assay.evaluation.datasets import Checked, Finding, Import
from assay.formats.grid import grid
from assay.records.datasets import DatasetOverview, LeastMedianMost

FINDINGS_SHOWN = 20
"""Of each severity; --json has them all."""
PLACES_SHOWN = 3
"""Places that are named of findings that say the same."""


def import_lines(done: Import, findings: list[Finding]) -> Iterator[str]:
    """Return the lines about an import."""
    dataset, card = done.dataset, done.card
    grades = f"grades {dataset.lowest_grade} to {dataset.highest_grade}"
    yield (
        f"{card.name} {card.version}: {card.cases:,} queries, {card.documents:,} documents, {grades}"
        f"{'' if done.new else ' (unchanged)'}"
    )
    yield f"{card.content_hash}  tag it {card.tag_hint}"
    errors = [finding for finding in findings if finding.severity.value == "error"]
    rest = len(findings) - len(errors)
    if findings:
        yield f"{len(errors):,} errors, {rest:,} others: assay dataset check {card.name}"


def import_as_json(done: Import, findings: list[Finding]) -> dict[str, Any]:
    """The same for machines."""
    return {**plain(done.card), "tag_hint": done.card.tag_hint, "new": done.new, "findings": plain(findings)}


def check_lines(name: str, found: Checked, fixed: dict[str, Any] | None) -> Iterator[str]:
    """Return the findings of a check, worst first, and whether the dataset is usable."""
    for severity in ("error", "warning", "note"):
        own = [finding for finding in found.findings if finding.severity.value == severity]
        yield from _finding_lines(severity, own)
    if fixed is not None:
        yield _fix_line(fixed)
    counts = ", ".join(f"{count(found, severity):,} {severity}s" for severity in ("error", "warning", "note"))
    yield f"{name}: {'usable' if found.usable else 'not usable'} ({counts})"


def _finding_lines(severity: str, findings: Sequence[Finding]) -> Iterator[str]:
    """Return the findings of a severity; those that say the same become one, with the places of the first few."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for finding in findings:
        alike.setdefault((finding.code, finding.message, finding.remedy or ""), []).append(str(finding.where))
    for (code, message, remedy), places in list(alike.items())[:FINDINGS_SHOWN]:
        more = f" and {len(places) - PLACES_SHOWN:,} more" if len(places) > PLACES_SHOWN else ""
        yield f"{severity:<8} {code}  {', '.join(places[:PLACES_SHOWN])}{more}: {message}"
        if remedy:
            yield f"         {remedy}"
    hidden = sum(len(places) for places in list(alike.values())[FINDINGS_SHOWN:])
    if hidden:
        yield f"{severity:<8} and {hidden:,} more; --json has them all"


def _fix_line(fixed: dict[str, Any]) -> str:
    if not fixed["moved"]:
        return "No anchor has one clear place to go; nothing was written."
    return f"{fixed['moved']:,} anchors moved, {fixed['left']:,} left for a person: {fixed['path']}"


def count(found: Checked, severity: str) -> int:
    """How many findings of a severity there are."""
    return sum(finding.severity.value == severity for finding in found.findings)


def check_as_json(found: Checked, fixed: dict[str, Any] | None) -> dict[str, Any]:
    """The same for machines."""
    dataset = found.dataset
    return {
        "usable": found.usable,
        "content_hash": None if dataset is None else dataset.content_hash,
        "findings": plain(found.findings),
        "unresolved": plain(found.unresolved),
        "fixed": fixed,
    }


def overview_lines(seen: DatasetOverview) -> Iterator[str]:
    """A dataset in numbers."""
    low, high, level = seen.scale
    best = "" if seen.best_precision_at_5 is None else f"; precision@5 can reach {seen.best_precision_at_5:.3f}"
    yield f"{seen.name} {seen.version}" + (f"  {seen.description}" if seen.description else "")
    rows = [
        ("cases", f"{seen.cases:,}", _kinds(seen.categories)),
        ("", "", _kinds(seen.difficulties)),
        ("documents", f"{seen.documents:,}", _kinds(seen.entity_types)),
        ("", "", _kinds(seen.formats)),
        ("words", _spread(seen.words), "of a document: least, median, most"),
        ("judgments", f"{seen.judgments:,}", _kinds({f"grade {key}": count for key, count in seen.grades.items()})),
        ("labels from", "", _kinds(seen.label_sources)),
        ("surfaced by", "", _kinds(seen.surfaced_by)),
        ("with rubric", f"{seen.with_rubric:,}", "cases that say what a good answer must do"),
        ("relevant", _spread(seen.relevant), f"documents a case: least, median, most{best}"),
        ("anchored", f"{seen.anchored:,}", "cases"),
        ("harvested", f"{seen.harvested:,}", "cases, from logged searches"),
        ("unanswerable", f"{seen.unanswerable:,}", "cases"),
        ("scale", f"{low} to {high}", f"relevant from {level}; ranked are {seen.ranked_unit} units"),
        ("floors", f"{len(seen.floors):,}", _kinds(seen.floors)),
        ("written", "", seen.created_at),
        ("content", "", f"{seen.content_hash}   tag it {seen.tag_hint}"),
    ]
    optional = {
        "anchored": seen.anchored,
        "harvested": seen.harvested,
        "with rubric": seen.with_rubric,
        "unanswerable": seen.unanswerable,
        "floors": seen.floors,
        "words": seen.words,
    }
    yield from grid([row for row in rows if any(row[1:]) and optional.get(row[0], True)], indent="  ")


def _kinds(counts: Mapping[str, float]) -> str:
    return ", ".join(f"{kind} {count:,g}" for kind, count in counts.items())


def _spread(spread: LeastMedianMost | None) -> str:
    return "-" if spread is None else f"{spread.least:g}, {spread.median:g}, {spread.most:g}"


def list_lines(datasets: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the table of datasets, as `dataset list --json` has them."""
    head = ("name", "version", "cases", "documents", "content", "from")
    rows = (
        (
            dataset["name"],
            dataset["version"],
            f"{dataset['cases']:,}",
            f"{dataset['documents']:,}",
            dataset["content_hash"][:19],
            dataset.get("imported_from", "Assay"),
        )
        for dataset in datasets
    )
    return grid([head, *rows])
