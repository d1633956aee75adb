"""`/evaluation`: what became of questions over time, beside the time before; every mark leads to its questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlencode

from assay.access import acts
from assay.analysis.aggregates import aggregate
from assay.analysis.over_time import Period, PeriodSums, find_percentile, list_periods, sum_periods
from assay.analysis.rate_alerts import find_alerts, first_needed
from assay.presentation import charts
from assay.presentation.outcomes import OUTCOME_COLOURS, OUTCOME_TITLES
from assay.records.alerts import RateAlert, WatchedRate
from assay.records.analysis import Aggregates
from assay.records.research import DIMENSIONS
from assay.records.research_log import BINS, DayOfTokens, QuestionOutcome, ResearchFilter, ResearchTotals, TimedSession
from assay.records.sessions import MEASURE_TITLES
from assay.server.pages import filters
from assay.server.pages.page import LastFew, Page, Pages, PageView
from assay.storage import Work
from assay.verbs import sessions as session_verbs
from assay.wiring.models import read_spending
from assay.wiring.research import research_options

pages = Pages("overview")
QUESTIONS = "/evaluation/queries"
TIMED = 4_000
"""Questions whose times are read, about; of more, one in so many is read, and the page says so."""
WATCHED = 10_000
"""Newest questions that alerts are looked for in."""
ALERT_WEEKS = 4
"""Weeks whose alerts are shown: the current one and those before it."""
LEAST_VARYING = 10
"""Questions from which a dimension that never varied is said to be not informative."""
_OWN = frozenset({"range", "from", "to", "as", "after"})
"""Parameters of an address that choose the time and the form of the page, not the questions."""


class SummedQuestions(NamedTuple):
    """What the questions of a filter add up to."""

    totals: ResearchTotals
    found: Aggregates
    before: Aggregates | None
    """Of the period before; None: there is none, or it has no question."""
    tokens: list[DayOfTokens]
    times: list[TimedSession]
    step: int
    """Of how many questions one was timed."""


class _Read(NamedTuple):
    """What the page reads from the store."""

    sums: SummedQuestions
    alerts: list[RateAlert]
    ever: bool


@pages.get("/evaluation", acts.ANSWER_READ)
def overview(view: PageView) -> Page:
    """Show what became of all questions in a time range."""
    now = view.clock.now()
    chosen = filters.whole_days(filters.time_range(view.query, now))
    read = _read_store(view, chosen, now)
    context: dict[str, Any] = {
        "found": read.sums.found,
        "before": read.sums.before,
        "ever": read.ever,
        "chosen": chosen,
        "ranges": filters.RANGES,
        "alerts": [(alert, _alert_address(alert)) for alert in read.alerts],
        "tasks": _compare_tasks(view),
        "spending": read_spending(view.settings, view.engine.store, view.scope, view.clock),
        "time_filter": _time_filter(chosen),
        "questions": _address(view, chosen),
    }
    if read.sums.found.sessions:
        context |= _draw(view, chosen, read, now)
    return Page(template="overview.html", context=context)


def _read_store(view: PageView, chosen: filters.Range, now: datetime) -> _Read:
    wanted, same = filters.research_filter(view.query, chosen), None
    if (earlier := filters.period_before(chosen, now)) is not None:
        same = filters.research_filter(view.query, chosen._replace(since=earlier[0], until=earlier[1]))
    kept: LastFew[SummedQuestions] = view.request.app.state.summed_questions
    with view.engine.store.reading(view.scope) as work:
        newest = work.research.page(limit=1).sessions
        # A stored question never changes: with the same number of them and the same newest one, nothing is new or gone.
        stored = (newest[0].log_id if newest else "", work.research.count())
        sums = kept.of((view.scope.tenant, wanted, same, stored), partial(_sum_questions, work, wanted, same))
    alerts = _read_alerts(view, now, newest[0].log_id) if newest else []
    return _Read(sums, alerts, bool(newest))


def _sum_questions(work: Work, wanted: ResearchFilter, same: ResearchFilter | None) -> SummedQuestions:
    totals = work.research.totals(wanted)
    found = aggregate(totals, work.research.count_repeats(wanted))
    before = None
    if same is not None:
        before = aggregate(work.research.totals(same), work.research.count_repeats(same))
    step = max(1, totals.sessions // TIMED)
    return SummedQuestions(
        totals=totals,
        found=found,
        before=before if before is not None and before.sessions else None,
        tokens=work.research.tokens_by_day(wanted),
        times=work.research.latencies(wanted, step=step),
        step=step,
    )


def _read_alerts(view: PageView, now: datetime, newest: str) -> list[RateAlert]:
    """Return the alerts of the last weeks; they are the same until the next question or the next week."""
    kept: LastFew[list[RateAlert]] = view.request.app.state.alerts

    def find() -> list[RateAlert]:
        with view.engine.store.reading(view.scope) as work:
            since = first_needed(now, weeks=ALERT_WEEKS)
            watched = work.research.brief(ResearchFilter(since=since), newest=WATCHED)
        return find_alerts(watched, now, weeks=ALERT_WEEKS)

    return kept.of((view.scope.tenant, newest, now.astimezone(UTC).isocalendar()[:2]), find)


def _draw(view: PageView, chosen: filters.Range, read: _Read, now: datetime) -> dict[str, Any]:
    """Return the charts of the page, and what stands beside them."""
    days = [day.day for day in read.sums.totals.days]
    first = chosen.since.date() if chosen.since is not None else min(days)
    last = (chosen.until - timedelta(days=1)).date() if chosen.until is not None else now.astimezone(UTC).date()
    periods = list_periods(max(first, min(days)) if chosen.name == "all" else first, last)
    sums = sum_periods(periods, read.sums.totals.days, read.sums.tokens, read.sums.times, read.sums.found.asked_again)
    as_share = view.query_value("as") == "share"
    times = [session.latency_ms for session in read.sums.times]
    used, counted = sum(day.tokens for day in read.sums.tokens), sum(day.counted for day in read.sums.tokens)
    panel = research_options(view.settings).panel
    return {
        "band": _draw_outcomes(view, sums, as_share=as_share),
        "as_share": as_share,
        "as_other": view.with_query(**{"as": None if as_share else "share"}),
        "pass_rate": _draw_pass_rate(view, sums),
        "latency": _draw_latency(view, sums),
        "tokens": _draw_tokens(view, sums) if used else None,
        "p50": find_percentile(times, 50),
        "p95": find_percentile(times, 95),
        "step": read.sums.step,
        "token_sum": used if counted else None,
        "counted": counted,
        "histogram": charts.histogram(read.sums.found.histogram, addresses=_score_addresses(view, chosen)),
        "failures": _draw_failures(view, chosen, read.sums.found),
        "dimensions": [(checkpoint.value, [name.value for name in own]) for checkpoint, own in DIMENSIONS.items()],
        "constant": _find_constant(read.sums.found),
        "thresholds": {checkpoint.value: bar for checkpoint, bar in panel.thresholds.items()},
        "bars": {name.value: panel.bar(checkpoint, name) for checkpoint, own in DIMENSIONS.items() for name in own},
    }


# Addresses of the questions behind a mark.


def _address(view: PageView, chosen: filters.Range | Period, **more: str) -> str:
    """Return the list of the questions of a time, with the filters of this page and others."""
    if isinstance(chosen, Period):
        when = {"from": chosen.first.isoformat(), "to": chosen.last.isoformat()}
    else:
        when = _time_parameters(chosen)
    kept = {name: value for name, value in view.query.items() if name not in _OWN and value}
    return f"{QUESTIONS}?{urlencode({**kept, **more, **when})}"


def _time_parameters(chosen: filters.Range) -> dict[str, str]:
    """Return the parameters that choose the same time on the list of questions."""
    since = chosen.since_day or ("" if chosen.since is None else chosen.since.date().isoformat())
    if chosen.name in ("all", "1d"):
        return {"range": chosen.name}
    return {name: value for name, value in (("from", since), ("to", chosen.until_day)) if value}


def _time_filter(chosen: filters.Range) -> str:
    return f"&{urlencode(_time_parameters(chosen))}"


def _score_addresses(view: PageView, chosen: filters.Range) -> list[str]:
    """Return the questions of each bin of scores; a bin ends before the next begins."""
    ends = [f"{(place + 1) / BINS - 1e-6:.6f}" if place + 1 < BINS else "1" for place in range(BINS)]
    return [_address(view, chosen, least=f"{place / BINS:.2f}", most=end) for place, end in enumerate(ends)]


def _alert_address(alert: RateAlert) -> str:
    week = {"from": alert.week.isoformat(), "to": (alert.week + timedelta(days=6)).isoformat()}
    which = {"passed": "no"} if alert.rate is WatchedRate.PASSED else {"outcome": alert.rate.value}
    return f"{QUESTIONS}?{urlencode({**which, **week})}"


# Charts.

_NO_OUTCOME = "not_recorded"


def _draw_outcomes(view: PageView, sums: Sequence[PeriodSums], *, as_share: bool) -> charts.Figure:
    """Draw the outcomes of each period on top of each other."""
    series = [
        charts.Series(outcome.value, OUTCOME_TITLES[outcome], OUTCOME_COLOURS[outcome]) for outcome in QuestionOutcome
    ]
    missing = [one.sessions - sum(one.outcomes.values()) for one in sums]
    if any(missing):
        series.append(charts.Series(_NO_OUTCOME, "Not recorded", "doubt"))
    stacks = [
        charts.Stack(
            one.period.first.isoformat(),
            {**{outcome.value: count for outcome, count in one.outcomes.items()}, _NO_OUTCOME: lost},
            {outcome.value: _address(view, one.period, outcome=outcome.value) for outcome in one.outcomes},
            one.period.name,
        )
        for one, lost in zip(sums, missing, strict=True)
    ]
    return charts.stacked(stacks, series, what="share of questions" if as_share else "questions", share=as_share)


def _draw_pass_rate(view: PageView, sums: Sequence[PeriodSums]) -> charts.Figure | None:
    points = [
        charts.Point(
            one.period.first.isoformat(),
            None if one.pass_rate is None else one.pass_rate.estimate,
            None if one.pass_rate is None else one.pass_rate.low,
            None if one.pass_rate is None else one.pass_rate.high,
            one.judged,
            _address(view, one.period, passed="no") if one.passed < one.judged else _address(view, one.period),
            f"{one.judged - one.passed:,} did not pass",
        )
        for one in sums
    ]
    line = charts.Line("pass rate", points)
    return charts.lines([line], what="pass rate", high=1.0, form=".0%") if any(one.judged for one in sums) else None


def _draw_latency(view: PageView, sums: Sequence[PeriodSums]) -> charts.Figure:
    found = []
    for name, colour in (("p50", "accent"), ("p95", "amber")):
        values = [getattr(one, f"{name}_ms") for one in sums]
        points = [
            charts.Point(one.period.first.isoformat(), value, None, None, one.timed, _address(view, one.period))
            for one, value in zip(sums, values, strict=True)
        ]
        found.append(charts.Line(name, points, colour))
    return charts.lines(found, what="milliseconds", form=",.0f")


def _draw_tokens(view: PageView, sums: Sequence[PeriodSums]) -> charts.Figure:
    points = [
        charts.Point(
            one.period.first.isoformat(),
            None if one.tokens is None else float(one.tokens),
            None,
            None,
            one.counted,
            _address(view, one.period),
        )
        for one in sums
    ]
    return charts.lines([charts.Line("tokens", points)], what="tokens", form=",.0f")


def _draw_failures(view: PageView, chosen: filters.Range, found: Aggregates) -> charts.Figure | None:
    """Draw the share of questions in which each dimension was below its bar."""
    known = [failure for failure in found.failures if failure.share is not None]
    shares = {failure.dimension.replace("_", " "): failure.share or 0.0 for failure in known}
    leads = {one.dimension.replace("_", " "): _address(view, chosen, dimension=one.dimension) for one in known}
    return charts.bars(shares, what="share of questions", share=True, addresses=leads) if shares else None


def _find_constant(found: Aggregates) -> Mapping[str, float]:
    """Return the dimensions that had one value in every question, with the value: they say nothing about questions."""
    return {
        name: score.least
        for name, score in found.dimensions.items()
        if score is not None and score.mean.n >= LEAST_VARYING and score.most - score.least < 1e-9
    }


def _compare_tasks(view: PageView) -> dict[str, Any] | None:
    """Return the searches of tasks by how the tasks ended; None before a task has ended."""
    found = session_verbs.compare_outcomes(view.caller, session_verbs.TaskOutcomesRequest())
    if not found.ended:
        return None
    comparisons = [
        {
            "comparison": comparison,
            "measures": [{entry.measure: entry for entry in group.measures} for group in comparison.groups],
            "differences": {difference.measure: difference for difference in comparison.differences},
        }
        for comparison in found.comparisons
    ]
    return {"found": found, "comparisons": comparisons, "titles": MEASURE_TITLES}
