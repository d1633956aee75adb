"""Totals that add up: of one session, of a day, of many days; so that an overview need not read every session.

Each day's totals are kept beside its sessions and grow with every session that is kept. They hold numbers only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

from assay.records.research import Dimension
from assay.records.research_log import BINS, DayOfResearch, ResearchSession, ResearchStatus, ResearchTotals, Spread

STAGES = ("overall", "plan", "retrieval", "answer")
MARKS = ("skipped", "judge_failed", "escalated", "severe", "regenerated", "exhausted")
COUNTS = ("sessions", "judged", "passed", *MARKS, "abstained", "withheld")
TALLIES = ("iterations", "failed_dimensions", "failure_types")
EMPTY = Spread(0, 0.0, 0.0, None, None)


class Window(NamedTuple):
    """A stretch of time as whole days between two that are cut; a cut that is empty is None."""

    before: tuple[datetime, datetime] | None
    first: date | None
    """None: from the beginning."""
    last: date | None
    """Not itself included; None: to the end."""
    after: tuple[datetime, datetime] | None


def window(since: datetime | None, until: datetime | None) -> Window | None:
    """How a stretch of time is cut; None when it holds no whole day."""
    first = None if since is None else _day_from(since)
    last = None if until is None else until.astimezone(UTC).date()
    if first is not None and last is not None and first >= last:
        return None
    before = (since, _midnight(first)) if since is not None and first is not None else None
    after = (_midnight(last), until) if until is not None and last is not None else None
    return Window(_unless_empty(before), first, last, _unless_empty(after))


def totals_of(session: ResearchSession) -> ResearchTotals:
    """One session as totals."""
    scores = (session.overall_score, session.plan_score, session.retrieval_score, session.answer_score)
    overall = _spread(session.overall_score)
    judged, passed = int(session.passed is not None), int(session.passed is True)
    bins = [0] * BINS
    if session.overall_score is not None:
        bins[bin_of(session.overall_score)] = 1
    return ResearchTotals(
        sessions=1,
        judged=judged,
        passed=passed,
        **{name: int(getattr(session, name)) for name in MARKS},
        abstained=int(session.status is ResearchStatus.ABSTAINED),
        withheld=int(session.status is ResearchStatus.WITHHELD),
        iterations={session.iterations: 1},
        stages=dict(zip(STAGES, map(_spread, scores), strict=True)),
        dimensions={one: _spread(session.scores.get(one.value)) for one in Dimension},
        failed_dimensions=dict.fromkeys(session.failed_dimensions, 1),
        failure_types={session.failure_type: 1} if session.failure_type else {},
        histogram=tuple(bins),
        days=(DayOfResearch(session.created_at.astimezone(UTC).date(), 1, judged, passed, overall),),
    )


def bin_of(score: float) -> int:
    """Which bin of the histogram a score is in: the last one whose lower edge it reaches."""
    return max(place for place in range(BINS) if score >= place / BINS)


def added(parts: Iterable[ResearchTotals]) -> ResearchTotals:
    """Several totals together; days stay apart, in their order."""
    listed = list(parts)
    days: dict[date, DayOfResearch] = {}
    for one in (day for part in listed for day in part.days):
        there = days.get(one.day)
        days[one.day] = one if there is None else _day_added(there, one)
    return ResearchTotals(
        **{name: sum(getattr(part, name) for part in listed) for name in COUNTS},
        iterations=_tally(part.iterations for part in listed),
        failed_dimensions=_tally(part.failed_dimensions for part in listed),
        failure_types=_tally(part.failure_types for part in listed),
        stages={stage: _spreads(part.stages[stage] for part in listed) for stage in STAGES},
        dimensions={one: _spreads(part.dimensions[one] for part in listed) for one in Dimension},
        histogram=tuple(sum(part.histogram[place] for part in listed) for place in range(BINS)),
        days=tuple(days[day] for day in sorted(days)),
    )


def as_json(totals: ResearchTotals) -> dict[str, Any]:
    """As one day's totals are kept; the day itself is the key."""
    written = {one.name: getattr(totals, one.name) for one in fields(totals) if one.name != "days"}
    spreads = {
        name: {str(key): list(spread) for key, spread in written[name].items() if spread.count}
        for name in ("stages", "dimensions")
    }
    tallies = {name: {str(key): count for key, count in written[name].items()} for name in TALLIES}
    return written | spreads | tallies | {"histogram": list(totals.histogram)}


def from_json(day: date, written: Mapping[str, Any]) -> ResearchTotals:
    """One day's totals as they were kept."""
    stages = {stage: _read(written["stages"].get(stage)) for stage in STAGES}
    kept = DayOfResearch(day, written["sessions"], written["judged"], written["passed"], stages["overall"])
    return ResearchTotals(
        **{name: written[name] for name in COUNTS},
        iterations={int(key): count for key, count in written["iterations"].items()},
        failed_dimensions=written["failed_dimensions"],
        failure_types=written["failure_types"],
        stages=stages,
        dimensions={one: _read(written["dimensions"].get(one.value)) for one in Dimension},
        histogram=tuple(written["histogram"]),
        days=(kept,),
    )


def _read(written: Any) -> Spread:
    return EMPTY if written is None else Spread(*written)


def _spread(score: float | None) -> Spread:
    return EMPTY if score is None else Spread(1, score, score * score, score, score)


def _spreads(spreads: Iterable[Spread]) -> Spread:
    scored = [one for one in spreads if one.count]
    if not scored:
        return EMPTY
    return Spread(
        sum(one.count for one in scored),
        sum(one.total for one in scored),
        sum(one.squares for one in scored),
        min(one.least for one in scored if one.least is not None),
        max(one.most for one in scored if one.most is not None),
    )


def _day_added(one: DayOfResearch, other: DayOfResearch) -> DayOfResearch:
    sessions, judged, passed = (a + b for a, b in zip(one[1:4], other[1:4], strict=True))
    return DayOfResearch(one.day, sessions, judged, passed, _spreads([one.score, other.score]))


def _tally(tallies: Iterable[Mapping[Any, int]]) -> dict[Any, int]:
    found: dict[Any, int] = {}
    for key, count in (pair for tally in tallies for pair in tally.items()):
        found[key] = found.get(key, 0) + count
    return dict(sorted(found.items()))


def _day_from(moment: datetime) -> date:
    """The first day that begins at a moment or after it."""
    day = moment.astimezone(UTC).date()
    return day if _midnight(day) == moment else day + timedelta(days=1)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)


def _unless_empty(cut: tuple[datetime, datetime] | None) -> tuple[datetime, datetime] | None:
    return None if cut is None or cut[0] >= cut[1] else cut
