"""`/memory`: list and search memories with every score, and show one memory with its neighbours and history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from assay.access import acts
from assay.memory.showing import show
from assay.online.attribution import format_share
from assay.presentation import charts
from assay.records import Filters, MemoryFilter, Origin, SearchRequest, SearchResult, Tier
from assay.server.pages import filters
from assay.server.pages.page import Page, Pages, PageView, vote_word
from assay.storage import Work
from assay.verbs import sessions as session_verbs

pages = Pages("memory")
LISTED = 40
FOUND = 20
NEAR = 24
"""Neighbours in the graph of a memory."""
AUDITED = 30
_NOT_A_SIEVE = ("folder-choice", "boost")
"""Steps of a search whose count is not the number of remaining passages."""


@pages.get("/memory", acts.MEMORY_LIST)
def browse(view: PageView) -> Page:
    """List memories by folder, or show the results of a search with an explanation."""
    words, folder = view.query_value("q"), view.query_value("folder") or None
    tier = filters.one_of(view.query, "tier", Tier)
    folders = view.engine.folders(view.scope)
    context: dict[str, Any] = {
        "words": words, "folder": folder or "", "tier": tier or "", "folders": folders, "tiers": list(Tier),
        "found": None, "steps": None, "memories": [], "matching": 0, "next": None, "first": None,
    }  # fmt: skip
    with view.engine.store.reading(view.scope) as work:
        context |= {"total": work.memories.count(), "edges": work.edges.count(), "chunks": work.memories.count_chunks()}
    if not words:
        context |= _list_memories(view, folder, tier)
        context |= {"attribution": view.call(session_verbs.ATTRIBUTION), "share": format_share}
    else:
        found = search_to_explain(view, words, folder=folder, tier=tier)
        context |= {"found": found, "steps": charts.steps(steps_of(found))}
    return Page(template="memory.html", context=context)


def _list_memories(view: PageView, folder: str | None, tier: Tier | None) -> dict[str, Any]:
    wanted = MemoryFilter(folder=folder, tier=tier)
    page = view.engine.list_memories(view.scope, wanted, after=view.query_value("after") or None, limit=LISTED)
    return {
        "memories": page.memories,
        "matching": page.total,
        "next": None if page.next_after is None else view.with_query(after=page.next_after),
        "first": view.with_query(after="") if view.query_value("after") else None,
    }


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


@pages.get("/memory/{memory_id}", acts.MEMORY_READ)
def show_memory(view: PageView) -> Page:
    """Show one memory: its text, neighbours, learned terms, and audit entries."""
    memory_id = view.path["memory_id"]
    with view.engine.store.reading(view.scope) as work:
        shown = show(work, memory_id)
        context = {
            "shown": shown,
            "graph": _graph(work, memory_id, shown.memory.title) if shown.edges else None,
            "terms": work.learned_terms.of(memory_id=memory_id),
            "evidence": work.learned_terms.evidence(memory_id=memory_id),
            "tally": work.learning.tally(memory_id),
            "audit": work.audit.entries(target=memory_id, limit=AUDITED),
            "whole": filters.yes(view.query, "whole") or False,
            "said": view.notice,
        }
    return Page(template="memory_one.html", context=context)


@pages.post("/memory/{memory_id}/validate", acts.MEMORY_VALIDATE)
def validate(view: PageView) -> Response:
    """Vote on a memory as useful or useless."""
    memory_id = view.path["memory_id"]
    useful = view.form_value("was_useful") == "yes"
    vote = view.engine.validate(view.scope, memory_id, useful, note="from the dashboard")
    return view.go_to(f"/memory/{memory_id}", vote_word([vote], useful=useful))


def _graph(work: Work, memory_id: str, title: str) -> charts.Figure:
    near = work.edges.around([memory_id], hops=2, limit=NEAR)
    hops = {memory_id: 0, **{neighbour.memory_id: neighbour.hops for neighbour in near}}
    titles = {memory_id: title}
    for neighbour in near:
        found = work.memories.find(neighbour.memory_id)
        titles[neighbour.memory_id] = neighbour.memory_id if found is None else found.title
    order = list(hops)
    nodes = [charts.Node(titles[node_id], hops[node_id], f"/memory/{node_id}") for node_id in order]
    ties = {
        (edge.source_id, edge.target_id, edge.kind.value)
        for node_id in order
        for edge in work.edges.of(node_id)
        if edge.source_id in hops and edge.target_id in hops
    }
    places = {node_id: place for place, node_id in enumerate(order)}
    drawn = [charts.Tie(places[source], places[target], kind) for source, target, kind in sorted(ties)]
    return charts.neighbours(nodes, drawn)
