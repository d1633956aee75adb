"""The list of answered questions: columns, order, count and exports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assay.presentation.outcomes import question_words
from assay.records.research_log import QuestionOrder, ResearchFilter, ResearchSession
from assay.server.pages import filters, lists
from assay.server.pages.lists import ListColumn, PageList
from assay.server.pages.page import PageView

LISTED = 50
AT_ONCE = 1_000
"""Questions that are read at once for an export."""
_MOST_ID = 2**62
_MANY = 10_000_000
NEWEST = lists.ListSort("asked", descending=True)
COLUMNS = (
    ListColumn[ResearchSession](name="question", value=lambda session: session.question, sorts=False),
    ListColumn[ResearchSession](name="overall", value=lambda session: session.overall_score, numeric=True),
    ListColumn[ResearchSession](name="plan", value=lambda session: session.plan_score, numeric=True),
    ListColumn[ResearchSession](name="sources", value=lambda session: session.retrieval_score, numeric=True),
    ListColumn[ResearchSession](name="answer", value=lambda session: session.answer_score, numeric=True),
    ListColumn[ResearchSession](name="plans", value=lambda session: session.iterations, numeric=True),
    ListColumn[ResearchSession](name="outcome", value=question_words, sorts=False),
    ListColumn[ResearchSession](name="asked", value=lambda session: session.created_at),
    ListColumn[ResearchSession](name="log_id", value=lambda session: session.log_id, sorts=False, shown=False),
    ListColumn[ResearchSession](name="passed", value=lambda session: session.passed, sorts=False, shown=False),
    ListColumn[ResearchSession](
        name="failure_type", value=lambda session: session.failure_type or None, sorts=False, shown=False
    ),
    ListColumn[ResearchSession](name="latency_ms", value=lambda session: session.latency_ms, sorts=False, shown=False),
    ListColumn[ResearchSession](name="tokens", value=lambda session: session.tokens, sorts=False, shown=False),
)


def list_questions(view: PageView, wanted: ResearchFilter) -> tuple[PageList[ResearchSession], dict[str, Any]]:
    """Return one page of the questions that match a filter, and the addresses of the pages beside it."""
    sort = lists.read_sort(view.query, COLUMNS, NEWEST.said) or NEWEST
    with view.engine.store.reading(view.scope) as work:
        total = work.research.count(wanted)
    rows, pager = _read_newest(view, wanted) if sort == NEWEST else _read_sorted(view, wanted, sort)
    listed = PageList(
        view=view, name="questions", what="question", columns=COLUMNS, rows=rows, total=total, sort=sort,
        every=lambda: _every(view, wanted, sort),
    )  # fmt: skip
    return listed, pager


def _read_newest(view: PageView, wanted: ResearchFilter) -> tuple[list[ResearchSession], dict[str, Any]]:
    after = filters.whole(view.query, "after", most=_MOST_ID)
    with view.engine.store.reading(view.scope) as work:
        page = work.research.page(wanted, after=after, limit=LISTED)
    return list(page.sessions), {
        "next": None if page.after is None else view.with_query(after=page.after),
        "first": view.with_query(after=None) if after is not None else None,
    }


def _read_sorted(
    view: PageView, wanted: ResearchFilter, sort: lists.ListSort
) -> tuple[list[ResearchSession], dict[str, Any]]:
    begin = filters.whole(view.query, "begin", most=_MANY) or 0
    with view.engine.store.reading(view.scope) as work:
        rows = work.research.sorted_by(
            QuestionOrder(sort.name), wanted, descending=sort.descending, begin=begin, limit=LISTED + 1
        )
    return rows[:LISTED], {
        "next": view.with_query(begin=begin + LISTED) if len(rows) > LISTED else None,
        "first": view.with_query(begin=None) if begin else None,
    }


def _every(view: PageView, wanted: ResearchFilter, sort: lists.ListSort) -> Iterator[ResearchSession]:
    begin = 0
    with view.engine.store.reading(view.scope) as work:
        while rows := work.research.sorted_by(
            QuestionOrder(sort.name), wanted, descending=sort.descending, begin=begin, limit=AT_ONCE
        ):
            yield from rows
            begin += len(rows)
