"""One table of several capsules: what was measured at different times, or by different people, side by side.

Refused where the numbers could not be compared: other layers, other options, other texts or keys of a set, a system
that was set up differently, answers that were judged differently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.errors import NotComparable
from assay.referee.records import BenchRecords, Line
from assay.referee.traps import refuse_mixed_judges, refuse_mixed_layers

_SAME = ("cutoffs", "budget", "seed", "repeats", "context_limit", "reader", "judge", "depth")
"""Options that must be equal."""


def join_records(several: Sequence[BenchRecords]) -> BenchRecords:
    """Return the records of all as one; the order of systems and sets is that of their first appearance."""
    refuse_mixed_layers([records.options.layer for records in several])
    first = several[0]
    for other in several[1:]:
        for name in _SAME:
            _refuse_difference(f"the option {name}", getattr(first.options, name), getattr(other.options, name))
    systems = _join(
        "the system",
        [{name: records.systems[name] for name in records.options.systems} for records in several],
        "declared",
    )
    sets = _join("the set", [records.sets for records in several], "hash")
    joined = BenchRecords(
        options=replace(first.options, systems=tuple(systems)),
        sets=sets,
        systems=systems,
        pools=_union(records.pools for records in several),
        questions=_union(records.questions for records in several),
        rankings=_union(records.rankings for records in several),
        answers=_union(records.answers for records in several),
        fills=_union(records.fills for records in several),
        observed=list({str(line): line for records in several for line in records.observed}.values()),
        versions=_join_versions([records.versions for records in several]),
    )
    refuse_mixed_judges(joined.answers)
    return joined


def _union(parts: Any) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for part in parts:
        found |= part
    return found


def _join(what: str, parts: Sequence[Mapping[str, Line]], field: str) -> dict[str, Line]:
    found: dict[str, Line] = {}
    for part in parts:
        for name, line in part.items():
            if name in found:
                _refuse_difference(f"{what} {name}", found[name][field], line[field])
            found.setdefault(name, line)
    return found


def _join_versions(parts: Sequence[Mapping[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in parts:
        for name, version in part.items():
            _refuse_difference(f"the version of {name}", found.setdefault(name, version), version)
    return found


def _refuse_difference(what: str, one: Any, other: Any) -> None:
    if one != other:
        raise NotComparable(
            f"{what} differs between the capsules: {str(one)[:100]} and {str(other)[:100]}",
            remedy="Make the capsules with the same options, texts and versions.",
        )
