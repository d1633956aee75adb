"""`/memory`: list, sort, filter and export memories, or search them with every score.

One memory is in `memory_one`, what waits for a decision in `memory_inbox`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.access import acts
from assay.online.attribution import format_share
from assay.presentation import charts
from assay.records import (
    Filters,
    MemoryFilter,
    MemoryOrder,
    MemoryRecord,
    MemoryStatus,
    Origin,
    SearchRequest,
    SearchResult,
    Tier,
)
from assay.server.pages import filters, lists
from assay.server.pages.lists import ListColumn, PageList
from assay.server.pages.memory_adding import SAMPLE_FOLDER
from assay.server.pages.page import LastFew, Page, Pages, PageView
from assay.verbs import sessions as session_verbs

pages = Pages("memory")
LISTED = 40
FOUND = 20
_NOT_A_SIEVE = ("folder-choice", "boost")
"""Steps of a search whose count is not the number of remaining passages."""
COLUMNS = (
    ListColumn[MemoryRecord](name="title", value=lambda memory: memory.title),
    ListColumn[MemoryRecord](name="tier", value=lambda memory: memory.tier.value),
    ListColumn[MemoryRecord](name="folder", value=lambda memory: memory.folder),
    ListColumn[MemoryRecord](name="confidence", value=lambda memory: memory.confidence, numeric=True),
    ListColumn[MemoryRecord](name="reads", value=lambda memory: memory.access_count, numeric=True),
    ListColumn[MemoryRecord](
        name="learned", value=lambda memory: ", ".join(memory.learned_triggers) or None, sorts=False
    ),
    ListColumn[MemoryRecord](name="updated", value=lambda memory: memory.updated_at),
    ListColumn[MemoryRecord](name="created", value=lambda memory: memory.created_at, shown=False),
    ListColumn[MemoryRecord](name="id", value=lambda memory: memory.id, sorts=False, shown=False),
    ListColumn[MemoryRecord](name="status", value=lambda memory: memory.status.value, sorts=False, shown=False),
    ListColumn[MemoryRecord](name="version", value=lambda memory: memory.version, sorts=False, shown=False),
    ListColumn[MemoryRecord](
        name="tags", value=lambda memory: ", ".join(memory.tags) or None, sorts=False, shown=False
    ),
    ListColumn[MemoryRecord](name="written_by", value=lambda memory: memory.written_by, sorts=False, shown=False),
)


@pages.get("/memory", acts.MEMORY_LIST)
def browse(view: PageView) -> Page:
    """List memories that match the filters, in any order, or show the results of a search with an explanation."""
    words = view.query_value("q")
    wanted = _read_filter(view.query)
    context: dict[str, Any] = {
        "words": words, "folder": wanted.folder or "", "tier": wanted.tier or "", "status": wanted.status or "",
        "tag": wanted.tags[0] if wanted.tags else "", "folders": view.engine.folders(view.scope), "tiers": list(Tier),
        "statuses": list(MemoryStatus), "filtered": wanted != MemoryFilter(), "found": None, "steps": None,
        "by_status": {}, "next": None, "first": None, "said": view.notice, "sample_folder": SAMPLE_FOLDER,
    }  # fmt: skip
    everything = count_by_status(view, MemoryFilter())
    total = sum(count for status, count in everything.items() if status is not MemoryStatus.FORGOTTEN)
    with view.engine.store.reading(view.scope) as work:
        context |= {"total": total, "edges": work.edges.count(), "chunks": work.memories.count_chunks()}
    if words:
        found = search_to_explain(view, words, folder=wanted.folder, tier=wanted.tier)
        context |= {"found": found, "steps": charts.steps(steps_of(found))}
        return Page(template="memory.html", context=context)
    listed, more = _list_memories(view, wanted)
    context |= {"attribution": view.call(session_verbs.ATTRIBUTION), "share": format_share, **more}
    return Page(template="memory.html", context=context, listed=listed)


def _read_filter(query: Mapping[str, str]) -> MemoryFilter:
    tag = query.get("tag", "").strip()
    return MemoryFilter(
        folder=query.get("folder", "").strip() or None,
        tags=(tag,) if tag else (),
        tier=filters.one_of(query, "tier", Tier),
        status=filters.one_of(query, "status", MemoryStatus),
    )


def _list_memories(view: PageView, wanted: MemoryFilter) -> tuple[PageList[MemoryRecord], dict[str, Any]]:
    """Return one page of the list, and what else the template shows of it."""
    sort = lists.read_sort(view.query, COLUMNS, "-created") or lists.ListSort("created", descending=True)
    order = MemoryOrder(sort.name)
    after = view.query_value("after") or None
    with view.engine.store.reading(view.scope) as work:
        rows = work.memory_lists.page(wanted, order=order, descending=sort.descending, after=after, limit=LISTED + 1)
    by_status = count_by_status(view, wanted)

    def every() -> Iterator[MemoryRecord]:
        with view.engine.store.reading(view.scope) as work:
            yield from work.memory_lists.every(wanted, order=order, descending=sort.descending)

    listed = PageList(
        view=view, name="memories", what="memory", columns=COLUMNS, rows=rows[:LISTED],
        total=sum(by_status.values()), sort=sort, every=every,
    )  # fmt: skip
    return listed, {
        "by_status": {status.value: count for status, count in by_status.items()},
        "next": view.with_query(after=rows[LISTED - 1].id) if len(rows) > LISTED else None,
        "first": view.with_query(after="") if after else None,
    }


def count_by_status(view: PageView, wanted: MemoryFilter) -> Mapping[MemoryStatus, int]:
    """Count the memories that match a filter, by status; it reads them all, so counts are kept until one changes."""
    counts: LastFew[Mapping[MemoryStatus, int]] = view.request.app.state.memory_counts
    with view.engine.store.reading(view.scope) as work:
        key = (view.scope.tenant, wanted, work.changes.position())
        return counts.of(key, lambda: work.memories.count_matching(wanted))


def search_to_explain(
    view: PageView, words: str, *, folder: str | None = None, tier: Tier | None = None
) -> SearchResult:
    """Search with an explanation. A search of the dashboard does not count as use: nothing is learned from it."""
    request = SearchRequest(
        query=words,
        k=FOUND,
        explain=True,
        filters=Filters(folder=folder, tiers=() if tier is None else (tier,)),
        origin=Origin.EVALUATION,
        tool_name="dashboard",
    )
    return view.engine.searcher.search(view.scope, request)


def steps_of(found: SearchResult) -> Sequence[tuple[str, int]]:
    """Return each step of a search with its time, and how many passages remained after it."""
    kept = [stage for stage in found.stages if stage.name not in _NOT_A_SIEVE]
    return [(f"{stage.name} ({stage.duration_ms:.1f} ms)", stage.outputs) for stage in kept]
