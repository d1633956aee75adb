"""One query explained on a screen: for each gold item what every step did with it, and what would keep it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.errors import InputError
from assay.evaluation.recommending import advise
from assay.evaluation.reporting import wording
from assay.evaluation.reporting.content import Query, Report
from assay.evaluation.waterfall import Fate, Stage, Step, Waterfall

_NAMED = 5
"""Queries named when several fit."""


def find_query(report: Report, wanted: str) -> Query:
    """The query of that id, else the one whose text it is, else the one whose text holds it."""
    folded = wanted.casefold().strip()
    ways = (
        [one for one in report.queries if one.id == wanted],
        [one for one in report.queries if one.text.casefold().strip() == folded],
        [one for one in report.queries if folded and folded in one.text.casefold()],
    )
    fitting = next((found for found in ways if found), [])
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        raise InputError(f"the run {report.run} has no query {wanted!r}", remedy="Give an id or words of the query.")
    names = ", ".join(one.id for one in fitting[:_NAMED])
    raise InputError(f"{len(fitting)} queries of the run hold {wanted!r}", remedy=f"Give one id, such as: {names}.")


def explain(query: Query, water: Waterfall) -> list[str]:
    """Plain lines: the missed items step by step, the others in one line each."""
    missed = [one for one in query.expected if not one.found]
    found = [one for one in query.expected if one.found]
    lines = [f'{query.id} "{" ".join(query.text.split())}"']
    if query.error:
        lines.append(f" {query.status}: {query.error}")
    for one in missed:
        lines += ["", *_missed(one, water)]
    lines += [""] if found else []
    lines += [f"found: {one.item}   rank {one.rank}{_citing(one)}" for one in found]
    if not query.expected:
        lines.append(" nothing is expected of this query")
    return lines


def explain_json(query: Query, water: Waterfall) -> dict[str, object]:
    """The same for machines."""
    return {
        "query_id": query.id,
        "query": query.text,
        "status": query.status,
        "error": query.error,
        "k": water.k,
        "values": dict(query.values),
        "gold": [_fate_json(one, water) for one in query.expected],
    }


def _fate_json(one: Fate, water: Waterfall) -> dict[str, object]:
    return {
        "item": one.item,
        "grade": one.grade,
        "stage": one.stage.value,
        "may_be": [stage.value for stage in one.between],
        "passed": {step.value: done for step, done in one.passed.items()},
        "channels": None if one.channels is None else dict(one.channels),
        "fused_rank": one.fused_rank,
        "rank": one.rank,
        "suggestion": None if one.found else advise(one, water),
    }


def _missed(one: Fate, water: Waterfall) -> Iterator[str]:
    grade = "" if one.grade is None else f" (grade {one.grade})"
    yield f"gold: {one.item}{grade}"
    if one.failed:
        yield " the system failed, so nothing is known of it"
        return
    rows = {
        Step.INDEXED: ("indexed", _yes(one.passed[Step.INDEXED])),
        Step.CANDIDATE: ("candidate", _offers(one)),
        Step.IN_SCOPE: ("scope", _yes(one.passed[Step.IN_SCOPE], "inside", "filtered out")),
        Step.FUSED: ("fusion", _fusion(one)),
    }
    shown = f"rank {one.rank} (k = {water.k})" if one.rank else f"no (k = {water.k})"
    for name, told in (*_until_lost(one, rows), ("shown", shown), ("lost", _lost(one))):
        yield f" {name:<11} {told}"
    suggestion = advise(one, water)
    if suggestion:
        yield f" Suggestion: {suggestion}"


Row = tuple[str, str]
"""A step's name and what it did."""


def _until_lost(one: Fate, rows: Mapping[Step, Row]) -> Iterator[Row]:
    """What became of it after it was lost tells nothing."""
    for step, row in rows.items():
        yield row
        if one.passed[step] is False:
            return


def _yes(done: bool | None, yes: str = "yes", no: str = "no") -> str:
    return "not known" if done is None else yes if done else no


def _offers(one: Fate) -> str:
    if one.channels is None:
        return _yes(one.passed[Step.CANDIDATE])
    named = (f"{name} rank {rank}" if rank else f"{name} -" for name, rank in one.channels.items())
    return "   ".join(named) or "no channel was asked"


def _fusion(one: Fate) -> str:
    if one.fused_rank is None:
        return _yes(one.passed[Step.FUSED], "kept", "not kept")
    voters = [name for name, rank in (one.channels or {}).items() if rank]
    alone = f"   only {voters[0]} voted" if len(voters) == 1 and len(one.channels or {}) > 1 else ""
    return f"rank {one.fused_rank}{alone}"


def _lost(one: Fate) -> str:
    if one.stage is Stage.NOT_KNOWN:
        return f"not known where: {_either([stage.value for stage in one.between])}"
    return one.stage.value


def _either(names: Sequence[str]) -> str:
    return " or ".join(names)


def _citing(one: Fate) -> str:
    return "" if one.stage is Stage.REACHED else f", {wording.fate(one)}"
