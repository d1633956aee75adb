"""`/traces`: traces of other systems, and one of them as a waterfall; a key makes it a case of a dataset."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from assay.access import acts
from assay.errors import BadValue
from assay.records.traces import ShownTrace
from assay.server.pages.page import Page, Pages, PageView
from assay.verbs import traces as trace_verbs

pages = Pages("traces")
DATASET = "traces"
"""The dataset that grows by the key, unless the form names another."""
KEEP = "g"
ON_A_PAGE = 50


@pages.get("/traces", acts.TRACE_READ)
def list_traces(view: PageView) -> Page:
    """List traces, newest first."""
    cursor = view.query_value("cursor") or None
    session = view.query_value("session") or None
    page = view.call(trace_verbs.LIST_TRACES, limit=ON_A_PAGE, cursor=cursor, session_id=session)
    return Page(
        template="traces.html",
        context={
            "page": page,
            "session": session,
            "next": view.with_query(cursor=page.next_cursor) if page.next_cursor else None,
            "first": view.with_query(cursor=None) if cursor else None,
        },
    )


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
