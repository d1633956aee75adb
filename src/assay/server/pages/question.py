"""What the page of one question shows beside its stages: the timeline, the support of each sentence, and its retry.

- The timeline of spans.
- The support of each sentence.
- A retry beside the original.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple

from assay.errors import RecordNotFound
from assay.presentation import charts
from assay.records import LoggedQuery
from assay.records.research_log import ResearchSession, StoredResearch
from assay.research.attempts import find_chosen_answer
from assay.research.record import FORMAT
from assay.research.support import find_support
from assay.server.pages.page import PageView
from assay.verbs import research as research_verbs

# --- The timeline of spans ---
#
# The record keeps when each attempt was finished and how long its evaluation took, and the log keeps when each search
# began and how long it took. What lies between is the making of the plan or the answer. Times of single channels are
# not kept; what each of them gave is.

_COLOURS = {"plan": "accent", "search": "pass", "answer": "amber"}


class _Between(NamedTuple):
    begin: datetime
    end: datetime


def draw_timeline(view: PageView, found: StoredResearch) -> charts.Figure | None:
    """Draw what was done for a question, one row each; None where its record is gone."""
    trace = found.trace
    if trace is None or trace.get("format") != FORMAT:
        return None
    searches = _read_searches(view, trace)
    prices = (view.settings.model_price_in, view.settings.model_price_out)
    spans = list(_list_spans(found.session, trace, searches, prices))
    return charts.timeline(spans) if spans else None


def _read_searches(view: PageView, trace: Mapping[str, Any]) -> list[LoggedQuery]:
    """Return the searches of a question from the log, those that retention removed left out."""
    found = []
    with view.engine.store.reading(view.scope) as work:
        for query_id in trace["retrieval_evaluation"]["query_ids"]:
            try:
                found.append(work.queries.get(query_id))
            except RecordNotFound:
                continue
    return sorted(found, key=lambda query: query.created_at)


Prices = tuple[float | None, float | None]


def _list_spans(
    session: ResearchSession, trace: Mapping[str, Any], searches: Sequence[LoggedQuery], prices: Prices
) -> Iterator[charts.Span]:
    start = session.created_at
    at = start
    for attempt in trace["plan_evaluation"]["attempts"]:
        at = yield from _list_attempt("plan", attempt, start, at, prices)
    for number, query in enumerate(searches, 1):
        took = timedelta(milliseconds=query.total_latency_ms or 0.0)
        # The log may have another clock than the record; such a search stands behind the one before it.
        inside = start <= query.created_at <= start + timedelta(milliseconds=session.latency_ms)
        begins = query.created_at if inside else at
        gave = ", ".join(
            f"{name} {one.get('candidates', 0)} found, {one.get('found', 0)} kept"
            for name, one in query.channel_contributions.items()
            if one.get("candidates")
        )
        yield _span(
            f"search {number}",
            "search",
            start,
            _Between(begins, begins + took),
            note=f"{query.query}: {gave}",
        )
        at = max(at, begins + took)
    result = trace["retrieval_evaluation"]["result"]
    ends = at + timedelta(milliseconds=result["latency_ms"])
    yield from _list_evaluation("search", "sources", result, start, _Between(at, ends), prices=prices)
    at = ends
    for attempt in trace["answer_evaluation"]["attempts"]:
        at = yield from _list_attempt("answer", attempt, start, at, prices)


def _list_attempt(
    stage: str, attempt: Mapping[str, Any], start: datetime, at: datetime, prices: Prices
) -> Generator[charts.Span, None, datetime]:
    """Yield the making of a plan or an answer and its evaluation; return when it ended."""
    done = datetime.fromisoformat(attempt["made_at"])
    judged = max(at, done - timedelta(milliseconds=attempt["result"]["latency_ms"]))
    name = f"{stage} {attempt['number']}"
    maker = attempt[{"plan": "plan", "answer": "synthesis"}[stage]]
    by = maker.get("planner") or maker.get("synthesiser") or ""
    yield _span(name, stage, start, _Between(at, judged), note=f"made by {by}")
    yield from _list_evaluation(
        stage, name, attempt["result"], start, _Between(judged, max(judged, done)), prices=prices
    )
    return max(at, done)


def _list_evaluation(
    stage: str, name: str, result: Mapping[str, Any], start: datetime, between: _Between, *, prices: Prices
) -> Iterator[charts.Span]:
    """Yield an evaluation with a lane for each judge; they begin together."""
    cached = bool(result["cached"])
    verdict = result["verdict"]
    note = "evaluated before" if cached else result["reason"]
    yield _span(f"check {name}", stage, start, between, note=note, cached=cached, soft=True)
    for role in verdict["results"] if verdict else ():
        took = timedelta(milliseconds=role["latency_ms"])
        own = _Between(between.begin, min(between.begin + took, max(between.end, between.begin)))
        tokens = role["tokens"]
        yield _span(
            f"{name}: {role['role'].replace('_', ' ')}", stage, start, own, note=f"by {role['evaluator']}",
            tokens=tokens, cost=_write_cost(tokens, prices), cached=cached, soft=True, depth=1,
        )  # fmt: skip


def _span(
    name: str,
    stage: str,
    start: datetime,
    between: _Between,
    *,
    note: str = "",
    tokens: int | None = None,
    cost: str = "",
    cached: bool = False,
    soft: bool = False,
    depth: int = 0,
) -> charts.Span:
    begin, end = ((moment - start).total_seconds() * 1000 for moment in between)
    colour = "doubt" if cached else "accent-soft" if soft else _COLOURS[stage]
    return charts.Span(name, begin, max(begin, end), colour, note, tokens, cost, cached, depth)  # fmt: skip


def _write_cost(tokens: int | None, prices: Prices) -> str:
    """Return what tokens cost at the prices of the settings: a range, since sent and replied ones are one number."""
    if tokens is None or prices[0] is None or prices[1] is None:
        return ""
    low, high = sorted((tokens * prices[0] / 1e6, tokens * prices[1] / 1e6))
    return f"${low:.4f}" if low == high else f"${low:.4f} to ${high:.4f}"


# --- The support of each sentence ---


class Segment(NamedTuple):
    """A part of a passage; `marks` are the sentences of the answer that it supports."""

    text: str
    marks: tuple[int, ...]
    begins: tuple[int, ...]
    """Those of them whose support begins here."""


def link_sentences(answer: Mapping[str, Any] | None, passages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return each passage in segments, and the pairs of sentence and passage that are linked."""
    texts = {passage["number"]: passage["text"] for passage in passages}
    spans: dict[int, list[tuple[int, int, int]]] = {}
    linked = set()
    for place, statement in enumerate(answer["statements"] if answer else (), 1):
        for number in statement["citations"]:
            support = find_support(statement["text"], texts.get(number, ""))
            if support is not None:
                spans.setdefault(number, []).append((support.start, support.end, place))
                linked.add((place, number))
    segments = {number: _cut(texts[number], own) for number, own in spans.items()}
    return {"segments": segments, "linked": linked}


def _cut(text: str, spans: Sequence[tuple[int, int, int]]) -> list[Segment]:
    """Cut a text where support begins and ends; parts that support nothing have no marks."""
    edges = sorted({0, len(text), *(edge for start, end, _ in spans for edge in (start, end))})
    found = []
    for start, end in pairwise(edges):
        marks = tuple(place for begin, stop, place in spans if begin <= start and end <= stop)
        begins = tuple(place for begin, _, place in spans if begin == start)
        found.append(Segment(text[start:end], marks, begins))
    return found


# --- A retry beside the original ---


class Beside(NamedTuple):
    """A question and its retry."""

    title: str
    session: ResearchSession
    text: str
    """The answer, or why there is none; empty where the record is gone."""
    passages: int


def find_beside(view: PageView, found: StoredResearch) -> list[Beside]:
    """Return the original and its retries, oldest first; empty where there was no retry."""
    first = found.session.retry_of or found.session.log_id
    with view.engine.store.reading(view.scope) as work:
        retries = work.research.retries_of(first)
    if not retries:
        return []
    shown = (_beside(view, log_id, title) for log_id, title in _titles(first, retries))
    return [one for one in shown if one is not None]


def _titles(first: str, retries: Sequence[ResearchSession]) -> Iterator[tuple[str, str]]:
    yield first, "First search"
    for number, session in enumerate(retries, 1):
        yield session.log_id, "Wider search" if len(retries) == 1 else f"Wider search {number}"


def _beside(view: PageView, log_id: str, title: str) -> Beside | None:
    """Return one of them; None: it was erased."""
    try:
        found = view.call(research_verbs.SHOW, log_id=log_id)
    except RecordNotFound:
        return None
    trace = found.trace if found.trace is not None and found.trace.get("format") == FORMAT else None
    chosen = None if trace is None or found.session.status.value == "withheld" else find_chosen_answer(trace)
    synthesis = chosen["synthesis"] if chosen else {}
    text = synthesis.get("text") or synthesis.get("reason") or ""
    return Beside(title, found.session, text, 0 if trace is None else len(trace["retrieval_evaluation"]["passages"]))
