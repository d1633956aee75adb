"""`/traces`: traces of other systems, and one of them as a waterfall; a key makes it a case of a dataset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from assay.access import acts
from assay.errors import BadValue
from assay.records.traces import ShownTrace, TraceSummary
from assay.server.pages.lists import ListColumn, PageList
from assay.server.pages.page import Page, Pages, PageView
from assay.verbs import traces as trace_verbs

pages = Pages("traces")
DATASET = "traces"
"""The dataset that grows by the key, unless the form names another."""
KEEP = "g"
ON_A_PAGE = 50
AT_ONCE = 500
"""Traces that are read at once for an export."""
COLUMNS = (
    ListColumn[TraceSummary](name="question", value=lambda trace: trace.question, sorts=False),
    ListColumn[TraceSummary](name="trace_id", value=lambda trace: trace.trace_id, sorts=False, shown=False),
    ListColumn[TraceSummary](name="session_id", value=lambda trace: trace.session_id, sorts=False, shown=False),
    ListColumn[TraceSummary](
        name="duration_ms", title="took", value=lambda trace: trace.duration_ms, numeric=True, sorts=False
    ),
    ListColumn[TraceSummary](name="spans", value=lambda trace: trace.spans, numeric=True, sorts=False),
    ListColumn[TraceSummary](name="documents", value=lambda trace: trace.documents, numeric=True, sorts=False),
    ListColumn[TraceSummary](
        name="faults", title="may be wrong", value=lambda trace: " ".join(fault.value for fault in trace.faults),
        sorts=False,
    ),
    ListColumn[TraceSummary](name="started_at", title="began", value=lambda trace: trace.started_at, sorts=False),
)  # fmt: skip


@pages.get("/traces", acts.TRACE_READ)
def list_traces(view: PageView) -> Page:
    """List traces, newest first."""
    cursor = view.query_value("cursor") or None
    session = view.query_value("session") or None
    page = view.call(trace_verbs.LIST_TRACES, limit=ON_A_PAGE, cursor=cursor, session_id=session)
    listed = PageList(
        view=view,
        name="traces",
        what="trace",
        columns=COLUMNS,
        rows=page.traces,
        total=page.total,
        sort=None,
        every=lambda: _every(view, session),
    )
    return Page(
        template="traces.html",
        context={
            "page": page,
            "session": session,
            "next": view.with_query(cursor=page.next_cursor) if page.next_cursor else None,
            "first": view.with_query(cursor=None) if cursor else None,
        },
        listed=listed,
    )


def _every(view: PageView, session: str | None) -> Iterator[TraceSummary]:
    """Yield the traces of all pages, newest first."""
    cursor: str | None = None
    while True:
        page = view.call(trace_verbs.LIST_TRACES, limit=AT_ONCE, cursor=cursor, session_id=session)
        yield from page.traces
        cursor = page.next_cursor
        if cursor is None:
            return


@pages.get("/traces/{trace_id}", acts.TRACE_READ)
def show_trace(view: PageView) -> Page:
    """Show one trace as a waterfall."""
    found = view.call(trace_verbs.SHOW, trace_id=view.path["trace_id"])
    return Page(
        template="trace.html",
        context={
            "found": found,
            "trace": found.summary,
            "bars": _place_bars(found),
            "dataset": DATASET,
            "has_cases": DATASET in view.shelf.dataset_names(),
            "key": KEEP,
            "may_keep": view.grant.allows(acts.TRACE_KEEP.policy),
            "said": view.notice,
        },
    )


def _place_bars(found: ShownTrace) -> list[dict[str, Any]]:
    """Where the bar of each span begins and how long it is, in hundredths of the whole."""
    ends = [line.offset_ms + (line.span.duration_ms or 0.0) for line in found.spans]
    whole = max(ends, default=0.0) or 1.0
    return [
        {
            "line": line,
            "begin": 100.0 * line.offset_ms / whole,
            "length": max(0.5, 100.0 * (line.span.duration_ms or 0.0) / whole),
        }
        for line in found.spans
    ]


@pages.post("/traces/{trace_id}", acts.TRACE_KEEP)
def keep_case(view: PageView) -> Response:
    """Make the trace a case of a dataset."""
    if view.form_value("key") != KEEP:
        raise BadValue(f"there is no key {view.form_value('key')!r}", remedy=f"Press {KEEP}.")
    trace_id = view.path["trace_id"]
    dataset = view.form.get("dataset", "").strip() or DATASET
    done = view.call(trace_verbs.CASES, dataset=dataset, trace_ids=(trace_id,))
    said = f"It is a case of {done.dataset} now" if done.added else f"It is a case of {done.dataset} already"
    if done.left_out:
        said = f"It cannot be a case: {next(iter(done.left_out))}"
    return view.go_to(f"/traces/{quote(trace_id)}", said)
