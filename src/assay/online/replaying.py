"""Shadow runs after the fact: the newest searches of use asked again on both sides, one after the other."""

from __future__ import annotations

from assay.clock import Clock
from assay.online.diffs import shadow_run
from assay.online.shadow import Treatment
from assay.records import LoggedQuery, Mode, Origin, Scope, SearchRequest, ShadowRun
from assay.storage import Store


def replay(
    store: Store, scope: Scope, feature_id: str, control: Treatment, treatment: Treatment, *, last: int, clock: Clock
) -> list[ShadowRun]:
    """Ask and compare; the comparisons are kept, newest query first."""
    store.log.flush()
    with store.reading(scope) as work:
        queries = {query.query: query for query in reversed(work.queries.recent(limit=last, origin=Origin.USE))}
    for query in [*queries.values()][:1]:
        # The first search of a process loads what it needs; whoever comes second would look quick.
        control(scope, _request(query), query.query_id)
    runs = [_compare_replayed(store, scope, feature_id, control, treatment, query, clock) for query in queries.values()]
    with store.writing(scope) as work:
        work.shadow_runs.add_many(runs)
    return runs[::-1]


def _compare_replayed(  # noqa: PLR0917 - what a comparison needs, all of it named
    store: Store,
    scope: Scope,
    feature_id: str,
    control: Treatment,
    treatment: Treatment,
    query: LoggedQuery,
    clock: Clock,
) -> ShadowRun:
    before, after = (side(scope, _request(query), query.query_id) for side in (control, treatment))
    with store.reading(scope) as work:
        grades = work.judgments.of_text(query.query)
    return shadow_run(feature_id, before, after, grades=grades, at=clock.now())


def _request(query: LoggedQuery) -> SearchRequest:
    return SearchRequest(
        query=query.query,
        k=max(query.result_count, 1),
        mode=Mode(query.mode) if query.mode else Mode.AUTO,
        session_id=query.session_id,
        origin=Origin.SHADOW,
        tool_name=query.tool_name,
    )
