"""`/evaluation`: how well questions were answered over a time: totals, distribution, failures, trend, iterations."""

from __future__ import annotations

from assay.access import acts
from assay.analysis.aggregates import aggregate, summarize
from assay.presentation import charts
from assay.presentation.wording import GOOD_SCORE
from assay.records.analysis import Aggregates, ScoreSummary
from assay.records.research import DIMENSIONS
from assay.records.research_log import DayOfResearch
from assay.server.pages import asking_for
from assay.server.pages.viewing import Page, Pages, View

pages = Pages("overview")


@pages.get("/evaluation", acts.ANSWER_READ)
def overview(view: View) -> Page:
    """Everything that was asked in a range of time."""
    chosen = asking_for.time_range(view.query, view.clock.now())
    with view.engine.store.reading(view.scope) as work:
        wanted = asking_for.research_filter(view.query, chosen)
        totals, asked_again = work.research.totals(wanted), work.research.asked_again(wanted)
        ever = bool(totals.sessions) or bool(work.research.page(limit=1).sessions)
    found = aggregate(totals, asked_again)
    return Page(
        template="overview.html",
        context={
            "found": found,
            "ever": ever,
            "chosen": chosen,
            "ranges": asking_for.RANGES,
            "histogram": charts.histogram(found.histogram, bar=GOOD_SCORE) if found.sessions else None,
            "failures": _failures(found),
            "trend": charts.trend(_points(found, totals.days)) if found.sessions else None,
            "dimensions": [(one.value, [name.value for name in own]) for one, own in DIMENSIONS.items()],
            "questions": view.with_query(range=chosen.name or None).replace("/evaluation", "/evaluation/queries", 1),
        },
    )


def _points(found: Aggregates, days: tuple[DayOfResearch, ...]) -> list[charts.Point]:
    """Week by week; a single week day by day."""
    weeks = found.trend.weeks
    if len(weeks) > 1:
        return [_point(week.begins.isoformat(), week.score) for week in weeks]
    worth = found.asked_again.independent
    return [_point(day.day.isoformat(), summarize(day.score, worth)) for day in days]


def _point(at: str, score: ScoreSummary | None) -> charts.Point:
    if score is None:
        return charts.Point(at, None, None, None, 0)
    return charts.Point(at, score.mean.estimate, score.mean.low, score.mean.high, score.mean.n)


def _failures(found: Aggregates) -> charts.Figure | None:
    """The share of questions in which each dimension was below its bar."""
    shares = {one.dimension.replace("_", " "): one.share for one in found.failures if one.share is not None}
    return charts.bars(shares, what="share of questions", share=True) if shares else None
