"""Traces of other systems: writing spans so that a repeated one adds nothing, and reading whole traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, case, exists, func, or_, select

from assay.records.traces import SpanRole, TraceDocument, TraceSpan
from assay.storage.repositories.base import Bound, Repository
from assay.storage.rows import insert, mask_value, read_moment, write_moment
from assay.storage.tables import memories, trace_spans, traces

MOST_REMEMBERED = 32_000_000
"""Characters of document texts whose masked form is remembered while spans are written: searches return the same
documents again and again, and looking for secrets takes longer than everything else."""

MOST_SPANS = 2_000
"""Spans of one trace that are read."""


class StoredSpans(NamedTuple):
    """What became of some spans."""

    stored: int
    traces: int
    """Traces that were not there before."""


class TraceStart(NamedTuple):
    """A trace and when it began."""

    trace_id: str
    started_at: datetime


class MaskedTexts:
    """Masks texts, and remembers those that come again."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._most = most
        self._known: dict[str, str] = {}
        self._characters = 0

    def mask(self, text: str) -> str:
        """Return a text without its secrets."""
        known = self._known.get(text)
        if known is None:
            known = str(mask_value(text))
            if self._characters > self._most:
                self._known.clear()
                self._characters = 0
            self._known[text] = known
            self._characters += len(text)
        return known


class Traces(Repository):
    """The traces of one tenant."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(bound)
        self._own_texts = MaskedTexts()

    def add_many(self, spans: Sequence[TraceSpan], texts: MaskedTexts | None = None) -> StoredSpans:
        """Store spans; one whose trace and span id are stored already is left as it was.

        `texts` remembers masked texts from one call to the next.
        """
        if not spans:
            return StoredSpans(0, 0)
        remembered = texts or self._own_texts
        rows = [{"tenant": self._tenant, **_row_of(span, remembered)} for span in spans]
        statement = insert(self._connection, trace_spans).on_conflict_do_nothing()
        if self._driver is not None:
            stored = int(self._connection.execute(statement, rows).rowcount)
        else:
            # The driver of PostgreSQL does not count what many rows of one statement added.
            added = self._connection.execute(statement.returning(trace_spans.c.number), rows)
            stored = len(added.all())
        return StoredSpans(stored, self._note_starts(spans))

    def _note_starts(self, spans: Sequence[TraceSpan]) -> int:
        """Keep the earliest start of each trace, and return how many traces are new."""
        starts: dict[str, datetime] = {}
        for span in spans:
            known = starts.get(span.trace_id)
            if known is None or span.started_at < known:
                starts[span.trace_id] = span.started_at
        there = (
            select(func.count()).select_from(traces).where(self._mine(traces), self._among(traces.c.trace_id, starts))
        )
        before = int(self._connection.execute(there).scalar_one())
        adding = insert(self._connection, traces)
        earlier = case(
            (adding.excluded.started_at < traces.c.started_at, adding.excluded.started_at), else_=traces.c.started_at
        )
        statement = adding.on_conflict_do_update(index_elements=("trace_id", "tenant"), set_={"started_at": earlier})
        rows = [{"tenant": self._tenant, "trace_id": trace, "started_at": start} for trace, start in starts.items()]
        self._connection.execute(statement, rows)
        return len(starts) - before

    def last_number(self) -> int:
        """The number of the newest span, 0 if there is none: where `count_orphans` begins."""
        newest = select(func.max(trace_spans.c.number)).where(self._mine(trace_spans))
        return int(self._connection.execute(newest).scalar_one() or 0)

    def count_orphans(self, *, after: int) -> int:
        """Count the spans after a number whose parent is not stored."""
        parent = trace_spans.alias("parent")
        is_there = exists().where(
            parent.c.trace_id == trace_spans.c.trace_id,
            parent.c.span_id == trace_spans.c.parent_id,
            parent.c.tenant == trace_spans.c.tenant,
        )
        counted = (
            select(func.count())
            .select_from(trace_spans)
            .where(
                self._mine(trace_spans),
                trace_spans.c.number > after,
                trace_spans.c.parent_id.is_not(None),
                ~is_there,
            )
        )
        return int(self._connection.execute(counted).scalar_one())

    def count(
        self, *, since: datetime | None = None, until: datetime | None = None, session_id: str | None = None
    ) -> int:
        """Count the traces of a period, or those of one session in it."""
        mine = (self._mine(traces), *_between(since, until), *self._of_session(session_id))
        return int(self._connection.execute(select(func.count()).select_from(traces).where(*mine)).scalar_one())

    def _of_session(self, session_id: str | None) -> list[ColumnElement[bool]]:
        if session_id is None:
            return []
        named = (self._mine(trace_spans), trace_spans.c.session_id == session_id)
        return [traces.c.trace_id.in_(select(trace_spans.c.trace_id).where(*named))]

    def newest(
        self,
        *,
        limit: int,
        since: datetime | None = None,
        until: datetime | None = None,
        after: TraceStart | None = None,
        session_id: str | None = None,
    ) -> list[TraceStart]:
        """The newest traces of a period, or of one session in it; those before a certain one if it is named."""
        start, name = traces.c.started_at, traces.c.trace_id
        mine = (self._mine(traces), *_between(since, until), *self._of_session(session_id))
        statement = select(traces.c.trace_id, traces.c.started_at).where(*mine)
        if after is not None:
            same = and_(start == after.started_at, name < after.trace_id)
            statement = statement.where(or_(start < after.started_at, same))
        statement = statement.order_by(start.desc(), name.desc()).limit(limit)
        return [TraceStart(row.trace_id, row.started_at) for row in self._connection.execute(statement)]

    def spans_of(self, trace_ids: Sequence[str], *, most: int = MOST_SPANS) -> dict[str, list[TraceSpan]]:
        """The first spans of traces in the order they were stored; a trace that is not there is left out."""
        place = func.row_number().over(partition_by=trace_spans.c.trace_id, order_by=trace_spans.c.number)
        mine = (self._mine(trace_spans), self._among(trace_spans.c.trace_id, trace_ids))
        placed = select(trace_spans.c.number, place.label("place")).where(*mine).subquery()
        first = select(placed.c.number).where(placed.c.place <= most)
        statement = self._select(trace_spans, trace_spans.c.number.in_(first))
        found: dict[str, list[TraceSpan]] = {}
        for row in self._connection.execute(statement.order_by(trace_spans.c.number)):
            found.setdefault(row.trace_id, []).append(_read_span(row))
        return found

    def each(
        self, *, most: int, since: datetime | None = None, until: datetime | None = None, at_a_time: int = 200
    ) -> Iterator[list[TraceSpan]]:
        """The spans of the newest traces of a period, trace by trace."""
        after: TraceStart | None = None
        left = most
        while left > 0 and (page := self.newest(limit=min(left, at_a_time), since=since, until=until, after=after)):
            spans = self.spans_of([start.trace_id for start in page])
            yield from (spans[start.trace_id] for start in page if start.trace_id in spans)
            after = page[-1]
            left -= len(page)

    def superseded(self, document_ids: Sequence[str]) -> dict[str, datetime | None]:
        """Of documents that are memories of this store: since when each is superseded; None: it still holds."""
        statement = select(memories.c.id, memories.c.superseded_at).where(
            self._mine(memories), self._among(memories.c.id, document_ids)
        )
        return {row.id: row.superseded_at for row in self._connection.execute(statement)}


def _between(since: datetime | None, until: datetime | None) -> list[ColumnElement[bool]]:
    conditions = [] if since is None else [traces.c.started_at >= since]
    return conditions if until is None else [*conditions, traces.c.started_at < until]


def _row_of(span: TraceSpan, texts: MaskedTexts) -> dict[str, Any]:
    """A span as it is stored. The columns that `rows.MASKED` names are masked here, texts that come again once."""
    return {
        "trace_id": span.trace_id,
        "span_id": span.span_id,
        "parent_id": span.parent_id,
        "role": span.role.value,
        "name": texts.mask(span.name),
        "started_at": span.started_at,
        "ended_at": span.ended_at,
        "problem": texts.mask(span.problem),
        "session_id": span.session_id,
        "model": span.model,
        "input_tokens": span.input_tokens,
        "output_tokens": span.output_tokens,
        "cost_usd": span.cost_usd,
        "input": texts.mask(span.input),
        "output": texts.mask(span.output),
        "documents": [_write_document(document, texts) for document in span.documents],
        "candidates": [_write_document(document, texts) for document in span.candidates],
    }


def _write_document(document: TraceDocument, texts: MaskedTexts) -> dict[str, Any]:
    known: dict[str, Any] = {"id": texts.mask(document.id)}
    if document.score is not None:
        known["score"] = document.score
    if document.text:
        known["text"] = texts.mask(document.text)
    if document.stale_after is not None:
        known["stale_after"] = write_moment(document.stale_after)
    return known


def _read_span(row: Any) -> TraceSpan:
    return TraceSpan(
        trace_id=row.trace_id,
        span_id=row.span_id,
        parent_id=row.parent_id,
        role=SpanRole(row.role),
        name=row.name,
        started_at=row.started_at,
        ended_at=row.ended_at,
        problem=row.problem,
        session_id=row.session_id,
        model=row.model,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        cost_usd=row.cost_usd,
        input=row.input,
        output=row.output,
        documents=tuple(map(_read_document, row.documents)),
        candidates=tuple(map(_read_document, row.candidates)),
    )


def _read_document(kept: Mapping[str, Any]) -> TraceDocument:
    stale = kept.get("stale_after")
    return TraceDocument(
        id=kept["id"],
        score=kept.get("score"),
        text=kept.get("text", ""),
        stale_after=None if stale is None else read_moment(stale),
    )
