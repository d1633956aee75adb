"""Answered questions: kept, listed, read whole, and added up by day.

- Totals of sessions, days and ranges.
- Sessions and traces.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Integer,
    Row,
    Select,
    case,
    func,
    literal,
    literal_column,
    select,
    type_coerce,
    update,
)

from assay.errors import BadValue, RecordNotFound
from assay.records.research import Dimension
from assay.records.research_log import (
    BINS,
    AskedAgain,
    BriefSession,
    DayOfResearch,
    DayOfTokens,
    QuestionOrder,
    QuestionOutcome,
    ResearchFilter,
    ResearchPage,
    ResearchSession,
    ResearchStatus,
    ResearchTotals,
    Spread,
    StoredResearch,
    TimedSession,
)
from assay.storage.repositories.base import Repository
from assay.storage.rows import TextType, from_row, insert, mask_value, to_row
from assay.storage.tables import research_days, research_sessions, research_traces
from assay.text.terms import normalise_phrase

# --- Totals of sessions, days and ranges ---
#
# Each day's totals are kept beside its sessions and grow with every session that is kept. They hold numbers only.

STAGES = ("overall", "plan", "retrieval", "answer")
MARKS = ("skipped", "judge_failed", "escalated", "severe", "regenerated", "exhausted")
COUNTS = ("sessions", "judged", "passed", *MARKS, "abstained", "withheld")
TALLIES = ("outcomes", "iterations", "failed_dimensions", "failure_types")
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
    overall = _spread_of_score(session.overall_score)
    judged, passed = int(session.passed is not None), int(session.passed is True)
    outcomes = {} if session.outcome is None else {session.outcome: 1}
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
        outcomes=outcomes,
        iterations={session.iterations: 1},
        stages=dict(zip(STAGES, map(_spread_of_score, scores), strict=True)),
        dimensions={dimension: _spread_of_score(session.scores.get(dimension.value)) for dimension in Dimension},
        failed_dimensions=dict.fromkeys(session.failed_dimensions, 1),
        failure_types={session.failure_type: 1} if session.failure_type else {},
        histogram=tuple(bins),
        days=(DayOfResearch(session.created_at.astimezone(UTC).date(), 1, judged, passed, overall, outcomes),),
    )


def bin_of(score: float) -> int:
    """Which bin of the histogram a score is in: the last one whose lower edge it reaches."""
    return max(place for place in range(BINS) if score >= place / BINS)


def add_totals(parts: Iterable[ResearchTotals]) -> ResearchTotals:
    """Several totals together; days stay apart, in their order."""
    listed = list(parts)
    days: dict[date, DayOfResearch] = {}
    for entry in (day for part in listed for day in part.days):
        there = days.get(entry.day)
        days[entry.day] = entry if there is None else _day_added(there, entry)
    return ResearchTotals(
        **{name: sum(getattr(part, name) for part in listed) for name in COUNTS},
        outcomes=_tally(part.outcomes for part in listed),
        iterations=_tally(part.iterations for part in listed),
        failed_dimensions=_tally(part.failed_dimensions for part in listed),
        failure_types=_tally(part.failure_types for part in listed),
        stages={stage: _spreads(part.stages[stage] for part in listed) for stage in STAGES},
        dimensions={dimension: _spreads(part.dimensions[dimension] for part in listed) for dimension in Dimension},
        histogram=tuple(sum(part.histogram[place] for part in listed) for place in range(BINS)),
        days=tuple(days[day] for day in sorted(days)),
    )


def as_json(totals: ResearchTotals) -> dict[str, Any]:
    """As one day's totals are kept; the day itself is the key."""
    written = {field.name: getattr(totals, field.name) for field in fields(totals) if field.name != "days"}
    spreads = {
        name: {str(key): list(spread) for key, spread in written[name].items() if spread.count}
        for name in ("stages", "dimensions")
    }
    tallies = {name: {str(key): count for key, count in written[name].items()} for name in TALLIES}
    return written | spreads | tallies | {"histogram": list(totals.histogram)}


def from_json(day: date, written: Mapping[str, Any]) -> ResearchTotals:
    """One day's totals as they were kept."""
    stages = {stage: _read(written["stages"].get(stage)) for stage in STAGES}
    # Days that an earlier version kept have no outcomes.
    outcomes = {QuestionOutcome(key): count for key, count in written.get("outcomes", {}).items()}
    kept = DayOfResearch(day, written["sessions"], written["judged"], written["passed"], stages["overall"], outcomes)
    return ResearchTotals(
        **{name: written[name] for name in COUNTS},
        outcomes=outcomes,
        iterations={int(key): count for key, count in written["iterations"].items()},
        failed_dimensions=written["failed_dimensions"],
        failure_types=written["failure_types"],
        stages=stages,
        dimensions={dimension: _read(written["dimensions"].get(dimension.value)) for dimension in Dimension},
        histogram=tuple(written["histogram"]),
        days=(kept,),
    )


def _read(written: Any) -> Spread:
    return EMPTY if written is None else Spread(*written)


def _spread_of_score(score: float | None) -> Spread:
    return EMPTY if score is None else Spread(1, score, score * score, score, score)


def _spreads(spreads: Iterable[Spread]) -> Spread:
    scored = [spread for spread in spreads if spread.count]
    if not scored:
        return EMPTY
    return Spread(
        sum(spread.count for spread in scored),
        sum(spread.total for spread in scored),
        sum(spread.squares for spread in scored),
        min(spread.least for spread in scored if spread.least is not None),
        max(spread.most for spread in scored if spread.most is not None),
    )


def _day_added(one: DayOfResearch, other: DayOfResearch) -> DayOfResearch:
    sessions, judged, passed = (a + b for a, b in zip(one[1:4], other[1:4], strict=True))
    outcomes = _tally([one.outcomes, other.outcomes])
    return DayOfResearch(one.day, sessions, judged, passed, _spreads([one.score, other.score]), outcomes)


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


# --- Sessions and traces ---

LARGEST_PAGE = 1_000
_KNOWN = tuple(dimension.value for dimension in Dimension)
_OF = research_sessions.c
_ORDERS: Mapping[QuestionOrder, ColumnElement[Any]] = {
    QuestionOrder.ASKED: _OF.created_at,
    QuestionOrder.OVERALL: _OF.overall_score,
    QuestionOrder.PLAN: _OF.plan_score,
    QuestionOrder.SOURCES: _OF.retrieval_score,
    QuestionOrder.ANSWER: _OF.answer_score,
    QuestionOrder.PLANS: _OF.iterations,
}


class ResearchRows(Repository):
    """The answered questions of one tenant."""

    def put(self, session: ResearchSession, trace: Mapping[str, Any]) -> None:
        """Keep a session with its whole record; one that is there already is left as it is."""
        row = {"tenant": self._tenant, **to_row(session, research_sessions)}
        row |= {name: session.scores.get(name) for name in _KNOWN}
        row["custom_scores"] = {name: score for name, score in session.scores.items() if name not in _KNOWN}
        statement = insert(self._connection, research_sessions).values(row).on_conflict_do_nothing()
        counted = self._connection.execution_options(preserve_rowcount=True)
        if not counted.execute(statement).rowcount:
            return
        self._add_to_its_day(session)
        key = {"tenant": self._tenant, "log_id": session.log_id}
        self._connection.execute(research_traces.insert().values({**key, "trace": mask_value(dict(trace))}))

    def get(self, log_id: str) -> StoredResearch:
        """One session and its record."""
        row = self._connection.execute(self._select(research_sessions, _OF.log_id == log_id)).one_or_none()
        if row is None:
            raise RecordNotFound(
                f"there is no research session {log_id!r} in this scope", remedy="Check the id and tenant."
            )
        statement = select(research_traces.c.trace).where(
            self._mine(research_traces), research_traces.c.log_id == log_id
        )
        trace = self._connection.execute(statement).scalar_one_or_none()
        return StoredResearch(session=_session(row), trace=trace)

    def page(self, wanted: ResearchFilter | None = None, *, after: int | None = None, limit: int = 50) -> ResearchPage:
        """The newest sessions first, from behind a page's `after`."""
        if not 1 <= limit <= LARGEST_PAGE:
            raise BadValue(f"limit {limit} is not from 1 to {LARGEST_PAGE}", remedy="Ask for smaller pages.")
        found = self._matching(select(research_sessions), wanted).order_by(_OF.id.desc()).limit(limit + 1)
        if after is not None:
            found = found.where(_OF.id < after)
        rows = self._connection.execute(found).all()
        more = rows[limit - 1].id if len(rows) > limit else None
        return ResearchPage(tuple(_session(row) for row in rows[:limit]), more)

    def sorted_by(
        self, order: QuestionOrder, wanted: ResearchFilter, *, descending: bool, begin: int = 0, limit: int = 50
    ) -> list[ResearchSession]:
        """Return sessions in an order, from the one at `begin`; those without a value come last, the newest first."""
        value = _ORDERS[order]
        keys = (value.is_(None), value.desc() if descending else value.asc())
        newest_last = order is QuestionOrder.ASKED and not descending
        # Ids alone are sorted: whole rows of a long list would not fit where the database sorts.
        found = self._matching(select(_OF.id), wanted).order_by(*keys, _OF.id.asc() if newest_last else _OF.id.desc())
        ids = self._connection.execute(found.offset(begin).limit(limit)).scalars().all()
        rows = self._connection.execute(select(research_sessions).where(self._mine(research_sessions), _OF.id.in_(ids)))
        by_id = {row.id: _session(row) for row in rows}
        return [by_id[row_id] for row_id in ids]

    def each(self, wanted: ResearchFilter | None = None, *, limit: int = 100_000) -> Iterator[ResearchSession]:
        """Yield sessions, oldest first, for the analysis of patterns."""
        found = self._matching(select(research_sessions), wanted).order_by(_OF.id).limit(limit)
        for row in self._connection.execution_options(yield_per=1_000).execute(found):
            yield _session(row)

    def brief(self, wanted: ResearchFilter | None = None, *, newest: int = 10_000) -> list[BriefSession]:
        """Return question and outcome of the newest sessions of a filter, oldest first."""
        columns = (_OF.created_at, _OF.question, _OF.outcome, _OF.passed)
        found = self._matching(select(*columns), wanted).order_by(_OF.created_at.desc(), _OF.id.desc()).limit(newest)
        rows = self._connection.execute(found).all()
        return [
            BriefSession(
                row.created_at,
                row.question,
                None if row.outcome is None else QuestionOutcome(row.outcome),
                row.passed,
            )
            for row in reversed(rows)
        ]

    def tokens_by_day(self, wanted: ResearchFilter | None = None) -> list[DayOfTokens]:
        """Return the tokens of the sessions of a filter, day by day."""
        day = _day_column()
        columns: list[ColumnElement[Any]] = [day, func.count(), func.count(_OF.tokens), func.sum(_OF.tokens)]
        found = self._matching(select(*columns), wanted).group_by(day).order_by(day)
        return [
            DayOfTokens(date.fromisoformat(day), sessions, counted, int(tokens or 0))
            for day, sessions, counted, tokens in self._connection.execute(found)
        ]

    def latencies(self, wanted: ResearchFilter | None = None, *, step: int = 1) -> list[TimedSession]:
        """Return how long sessions took, oldest first; with a `step`, of about one in so many."""
        found = self._matching(select(_day_column().label("day"), _OF.latency_ms), wanted).order_by(_OF.id)
        if step > 1:
            found = found.where(_OF.id % step == 0)
        return [TimedSession(date.fromisoformat(row.day), row.latency_ms) for row in self._connection.execute(found)]

    def retries_of(self, log_id: str) -> list[ResearchSession]:
        """Return the sessions that widened the search of a session, oldest first."""
        found = self._select(research_sessions, _OF.retry_of == log_id).order_by(_OF.id)
        return [_session(row) for row in self._connection.execute(found)]

    def questions_searched_for(self, *, newest: int = 10_000) -> dict[str, str]:
        """Return the question of each search of the newest sessions, by the id of the search."""
        statement = (
            select(_OF.question, research_traces.c.trace)
            .join(research_traces, research_traces.c.log_id == _OF.log_id)
            .where(self._mine(research_sessions), self._mine(research_traces))
            .order_by(_OF.id.desc())
            .limit(newest)
        )
        found: dict[str, str] = {}
        for question, trace in self._connection.execution_options(yield_per=100).execute(statement):
            for query_id in (trace or {}).get("retrieval_evaluation", {}).get("query_ids", ()):
                found[str(query_id)] = question
        return found

    def count(self, wanted: ResearchFilter | None = None) -> int:
        """Count the sessions that match a filter."""
        return int(self._connection.execute(self._matching(select(func.count()), wanted)).scalar_one())

    def totals(self, wanted: ResearchFilter | None = None) -> ResearchTotals:
        """Counts and sums over the sessions of a filter. Of whole days they are kept; the rest the database sums up."""
        wanted = wanted or ResearchFilter()
        only_time = replace(wanted, since=None, until=None) == ResearchFilter()
        cut = window(wanted.since, wanted.until) if only_time else None
        kept = None if cut is None else self._read_kept_days(cut)
        if cut is None or kept is None:
            return self._sum_sessions(wanted)
        ends = [
            ResearchFilter(since=window[0], until=window[1]) for window in (cut.before, cut.after) if window is not None
        ]
        return add_totals([*kept, *map(self._sum_sessions, ends)])

    def count_repeats(self, wanted: ResearchFilter | None = None, *, newest: int = 2_000) -> AskedAgain:
        """Count distinct questions among the newest sessions of a filter; same words are the same question."""
        found = self._matching(select(_OF.question), wanted).order_by(_OF.id.desc()).limit(newest).subquery()
        grouped = select(found.c.question, func.count().label("sessions")).group_by(found.c.question)
        repeats: Counter[str] = Counter()
        for row in self._connection.execute(grouped):
            repeats[normalise_phrase(row.question) or row.question] += row.sessions
        sessions = repeats.total()
        pairs = sum(count * (count - 1) for count in repeats.values())
        return AskedAgain(sessions, len(repeats), pairs / (sessions * (sessions - 1)) if sessions > 1 else 0.0)

    def _read_kept_days(self, cut: Window) -> list[ResearchTotals] | None:
        """The totals of whole days; None when a session was taken out since they were made."""
        day = research_days.c.day
        bounds = [day >= cut.first.isoformat()] if cut.first is not None else []
        bounds += [day < cut.last.isoformat()] if cut.last is not None else []
        rows = self._connection.execute(self._select(research_days, *bounds))
        found = [from_json(date.fromisoformat(row.day), row.totals) for row in rows]
        there = select(func.count()).where(self._mine(research_sessions))
        # Days sort as moments do: a day is the beginning of the text of each of its moments.
        moment = type_coerce(_OF.created_at, TextType)
        there = there.where(moment >= cut.first.isoformat()) if cut.first is not None else there
        there = there.where(moment < cut.last.isoformat()) if cut.last is not None else there
        count = self._connection.execute(there).scalar_one()
        return found if count == sum(part.sessions for part in found) else None

    def _add_to_its_day(self, session: ResearchSession) -> None:
        """Add a session to the totals of its day; on PostgreSQL, other transactions that do so wait."""
        own = totals_of(session)
        day = own.days[0].day
        key = {"tenant": self._tenant, "day": day.isoformat()}
        empty = insert(self._connection, research_days).values({**key, "totals": {}}).on_conflict_do_nothing()
        self._connection.execute(empty)
        same = (self._mine(research_days), research_days.c.day == key["day"])
        there = self._connection.execute(select(research_days.c.totals).where(*same).with_for_update()).scalar_one()
        grown = add_totals([from_json(day, there), own]) if there else own
        self._connection.execute(update(research_days).where(*same).values(totals=as_json(grown)))

    def _sum_sessions(self, wanted: ResearchFilter) -> ResearchTotals:
        """Sum up the sessions of a filter in three queries, however many days there are."""
        bins, iterations, types = self._tallies(wanted)
        return replace(
            add_totals(self._days(wanted)),
            iterations=dict(sorted(iterations.items())),
            failed_dimensions=dict(sorted(self._count_failed(wanted).items())),
            failure_types={name: types[name] for name in sorted(types) if name},
            histogram=tuple(bins[place] for place in range(BINS)),
        )

    def _count_failed(self, wanted: ResearchFilter | None) -> Counter[str]:
        """Sessions by what failed in them: the database counts each combination once, and there are few of them."""
        listed = type_coerce(_OF.failed_dimensions, TextType).label("listed")
        columns: tuple[ColumnElement[Any], ...] = (listed, func.count().label("sessions"))
        found = self._matching(select(*columns), wanted).group_by("listed")
        failed: Counter[str] = Counter()
        for row in self._connection.execute(found):
            for name in set(json.loads(row.listed)):
                failed[name] += row.sessions
        return failed

    def _days(self, wanted: ResearchFilter | None) -> Iterator[ResearchTotals]:
        """Counts and sums of each day; what is tallied is not in them."""
        day = _day_column()
        found = self._matching(select(day.label("day"), *_SUMMED), wanted).group_by(day).order_by(day)
        return map(_day, self._connection.execute(found))

    def _tallies(self, wanted: ResearchFilter) -> tuple[Counter[int | None], Counter[int], Counter[str]]:
        """Sessions by bin, by iterations and by failure, from one look at the table."""
        columns = (_bin().label("bin"), _OF.iterations, _OF.failure_type)
        found = self._matching(select(*columns, func.count().label("sessions")), wanted)
        bins: Counter[int | None] = Counter()
        iterations: Counter[int] = Counter()
        types: Counter[str] = Counter()
        for row in self._connection.execute(found.group_by("bin", _OF.iterations, _OF.failure_type)):
            bins[row.bin] += row.sessions
            iterations[row.iterations] += row.sessions
            types[row.failure_type] += row.sessions
        return bins, iterations, types

    def _matching(self, statement: Select[Any], wanted: ResearchFilter | None) -> Select[Any]:
        return statement.where(self._mine(research_sessions), *_conditions(wanted or ResearchFilter()))


def _day_column() -> ColumnElement[str]:
    """Return the day of a session."""
    # Written out, as the index has it: values that are bound would not be seen to be the same.
    first, length = literal_column("1", Integer), literal_column("10", Integer)
    return func.substr(type_coerce(_OF.created_at, TextType), first, length)


def _conditions(wanted: ResearchFilter) -> Iterator[ColumnElement[bool]]:
    ranges: Iterable[tuple[str, Any, Any]] = (
        ("created_at", wanted.since, None),
        ("overall_score", wanted.least_score, wanted.most_score),
        ("iterations", wanted.least_iterations, wanted.most_iterations),
    )
    for name, least, most in ranges:
        if least is not None:
            yield _OF[name] >= least
        if most is not None:
            yield _OF[name] <= most
    if wanted.until is not None:
        yield _OF.created_at < wanted.until
    for name in ("passed", "escalated", "skipped", "judge_failed", "severe", "failure_type", "session_id"):
        value = getattr(wanted, name)
        if value is not None:
            yield _OF[name] == value
    for name in ("status", "outcome", "kind"):
        if getattr(wanted, name) is not None:
            yield _OF[name] == getattr(wanted, name).value
    yield from _match_text(wanted)


def _match_text(wanted: ResearchFilter) -> Iterator[ColumnElement[bool]]:
    for name, value in (("prompt_versions", wanted.prompt_version), ("failed_dimensions", wanted.failed_dimension)):
        if value is not None:
            yield type_coerce(_OF[name], TextType).contains(f'"{value}"', autoescape=True)
    if wanted.text is not None:
        yield func.lower(_OF.question).contains(wanted.text.lower(), autoescape=True)


def _session(row: Row[Any]) -> ResearchSession:
    values = row._mapping  # noqa: SLF001 - public in SQLAlchemy despite the underscore
    scores = {name: values[name] for name in _KNOWN if values[name] is not None}
    return from_row(ResearchSession, row, research_sessions, scores={**scores, **values["custom_scores"]})


def _day(row: Row[Any]) -> ResearchTotals:
    values = row._mapping  # noqa: SLF001 - public in SQLAlchemy despite the underscore
    counts = {name: int(values[name] or 0) for name in _COUNTS}
    stages = {stage: _spread_of_columns(values, stage) for stage in STAGES}
    found = {outcome: int(values[_column_of(outcome)] or 0) for outcome in QuestionOutcome}
    outcomes = {outcome: count for outcome, count in sorted(found.items()) if count}
    day = DayOfResearch(
        date.fromisoformat(row.day), counts["sessions"], counts["judged"], counts["passed"], stages["overall"], outcomes
    )
    return ResearchTotals(
        **counts,
        outcomes=outcomes,
        stages=stages,
        dimensions={dimension: _spread_of_columns(values, dimension.value) for dimension in Dimension},
        iterations={},
        failed_dimensions={},
        failure_types={},
        histogram=(0,) * BINS,
        days=(day,),
    )


def _spread_of_columns(values: Mapping[Any, Any], name: str) -> Spread:
    count, total, squares, least, most = (values[f"{name}_{part}"] for part in _PARTS)
    return Spread(int(count), float(total or 0.0), float(squares or 0.0), least, most)


_PARTS = ("count", "sum", "squares", "least", "most")


def _parts(name: str, column: ColumnElement[Any]) -> list[ColumnElement[Any]]:
    made = (
        func.count(column),
        func.sum(column),
        func.sum(column * column),
        func.min(column),
        func.max(column),
    )
    return [column.label(f"{name}_{part}") for part, column in zip(_PARTS, made, strict=True)]


def _yes(column: ColumnElement[Any]) -> ColumnElement[Any]:
    return func.sum(type_coerce(column, Integer))


def _status(status: ResearchStatus) -> ColumnElement[Any]:
    return func.sum(case((_OF.status == status.value, 1), else_=0))


def _outcome(outcome: QuestionOutcome) -> ColumnElement[Any]:
    return func.sum(case((_OF.outcome == outcome.value, 1), else_=0))


def _column_of(outcome: QuestionOutcome) -> str:
    """Return the label of the count of an outcome."""
    return f"outcome_{outcome.value}"


def _bin() -> ColumnElement[Any]:
    """Floor on both: a cast rounds on one of them and cuts on the other."""
    score = type_coerce(_OF.overall_score, research_sessions.c.latency_ms.type)
    return case((_OF.overall_score.is_(None), None), else_=_bin_between(score, 0, BINS))


def _bin_between(score: ColumnElement[Any], first: int, end: int) -> ColumnElement[Any]:
    """Which of some bins: the half it is in, then the half of that. One edge after the other takes twice as long."""
    if end - first == 1:
        return literal(first)
    middle = (first + end) // 2
    lower, upper = _bin_between(score, first, middle), _bin_between(score, middle, end)
    return case((score < middle / BINS, lower), else_=upper)


_COUNTS: Mapping[str, ColumnElement[Any]] = {
    "sessions": func.count(),
    "judged": func.count(_OF.passed),
    "passed": _yes(_OF.passed),
    **{name: _yes(_OF[name]) for name in ("skipped", "judge_failed", "escalated", "severe", "regenerated")},
    "exhausted": _yes(_OF.exhausted),
    "abstained": _status(ResearchStatus.ABSTAINED),
    "withheld": _status(ResearchStatus.WITHHELD),
}
_SUMMED = [
    *(column.label(name) for name, column in _COUNTS.items()),
    *(_outcome(outcome).label(_column_of(outcome)) for outcome in QuestionOutcome),
    *(part for stage in STAGES for part in _parts(stage, _OF[f"{stage}_score"])),
    *(part for name in _KNOWN for part in _parts(name, _OF[name])),
]
