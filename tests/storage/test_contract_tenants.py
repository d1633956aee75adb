"""One store, many tenants: none sees, counts, changes or blocks the rows of another."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from tests.storage import samples

from assay.errors import RecordNotFound
from assay.records import AbTestStatus, EdgeKind, LogPosition, Scope
from assay.storage import Recorded, Store, Work
from assay.testing import note

OURS = Scope(tenant="ours")
THEIRS = Scope(tenant="theirs")
SOON = samples.AT + timedelta(days=1)


def fill(work: Work, said: str) -> None:
    """The same ids and keys in every tenant, told apart by one word."""
    work.memories.add(note("m_1", body=said, source_id="s_1"), [samples.chunk("m_1", text=said)])
    work.memories.add(note("m_2", body=said))
    work.edges.put(samples.edge("m_1", "m_2", evidence=said))
    work.audit.append("test.done", "m_1", {"said": said})
    work.queries.add_many([samples.query("q_1", query=said, candidates=samples.full_query().candidates)])
    work.judgments.put_many([samples.judgment(confidence=len(said) / 10)])
    work.results.add(samples.result(metrics_json={"said": said}))
    assert work.feedback.record([samples.event("e_1", metadata={"said": said})]) == Recorded(1, 0)
    work.ab_tests.put(samples.ab_test(state_json={"said": said}))
    work.shadow_runs.add_many([samples.shadow_run(control_result_ids=(said,))])


def seen(work: Work) -> dict[str, object]:
    """Everything that every repository shows."""
    epoch = work.changes.position().epoch
    return {
        "memories.page": work.memories.page(),
        "memories.find": work.memories.find("m_1"),
        "memories.by_source": work.memories.by_source("s_1"),
        "memories.mentioning": work.memories.mentioning("s"),
        "memories.count": work.memories.count(),
        "memories.chunks_of": work.memories.chunks_of("m_1"),
        "memories.count_chunks": work.memories.count_chunks(),
        "edges.of": work.edges.of("m_1"),
        "edges.count": work.edges.count(),
        "changes.position": work.changes.position().seq,
        "changes.follow": work.changes.follow(LogPosition(epoch, 0)).changes,
        "audit.entries": work.audit.entries(),
        "audit.entries of": work.audit.entries(target="m_1"),
        "queries.recent": work.queries.recent(),
        "queries.count": work.queries.count(),
        "judgments.of": work.judgments.of("q_1"),
        "results.of": work.results.of("run_1"),
        "results.latest": work.results.latest(),
        "feedback.of_query": work.feedback.of_query("q_1"),
        "feedback.count": work.feedback.count(),
        "ab_tests.in_state": work.ab_tests.in_state(AbTestStatus.RUNNING),
        "shadow_runs.of": work.shadow_runs.of("rerank"),
    }


def test_a_foreign_tenant_sees_and_counts_nothing(store: Store) -> None:
    with store.writing(OURS) as work:
        fill(work, "ours")
    with store.reading(THEIRS) as work:
        shown = {name: found for name, found in seen(work).items() if found}
        assert shown == {}
        for ask in (
            partial(work.memories.get, "m_1"),
            partial(work.queries.get, "q_1"),
            partial(work.ab_tests.latest, "rerank"),
        ):
            with pytest.raises(RecordNotFound):
                ask()


def test_the_same_ids_and_keys_are_free_for_every_tenant(store: Store) -> None:
    for scope, said in ((OURS, "ours"), (THEIRS, "theirs")):
        with store.writing(scope) as work:
            fill(work, said)
    for scope, said, foreign in ((OURS, "'ours'", "'theirs'"), (THEIRS, "'theirs'", "'ours'")):
        with store.reading(scope) as work:
            shown = repr([seen(work), work.queries.get("q_1"), work.ab_tests.latest("rerank")])
        assert said in shown
        assert foreign not in shown
    assert store.problems() == []


def test_a_foreign_tenant_changes_and_removes_nothing(store: Store) -> None:
    with store.writing(OURS) as work:
        fill(work, "ours")
        before = seen(work)
    with store.writing(THEIRS) as work:
        for attempt in (
            partial(work.memories.update, note("m_1", title="Stolen")),
            partial(work.memories.remove, "m_1"),
            partial(work.edges.put, samples.edge("m_1", "m_2")),
            partial(work.edges.remove, "m_1", "m_2", EdgeKind.SUPPORTS),
        ):
            with pytest.raises(RecordNotFound):
                attempt()
        assert work.queries.remove_before(SOON) == 0
        assert work.feedback.remove_before(SOON) == 0
        assert work.shadow_runs.remove_before(SOON) == 0
        assert work.changes.trim(10**9) == 0
    with store.reading(OURS) as work:
        assert seen(work) == before


def test_an_edge_cannot_reach_into_another_tenant(store: Store) -> None:
    with store.writing(OURS) as work:
        work.memories.add(note("m_ours"))
    with store.writing(THEIRS) as work:
        work.memories.add(note("m_theirs"))
        with pytest.raises(RecordNotFound, match="m_ours"):
            work.edges.put(samples.edge("m_theirs", "m_ours"))


def test_trimming_one_tenants_log_leaves_the_followers_of_others_alone(store: Store) -> None:
    for scope in (OURS, THEIRS):
        with store.writing(scope) as work:
            fill(work, scope.tenant)
    with store.writing(OURS) as work:
        work.changes.trim(10**9)
        epoch = work.changes.position().epoch
    with store.reading(THEIRS) as work:
        followed = work.changes.follow(LogPosition(epoch, 0))
    assert not followed.must_rebuild
    assert [change.row_id for change in followed.changes] == ["m_1", "m_1#0", "m_2"]


def test_the_log_writes_each_query_under_its_own_tenant(store: Store) -> None:
    for number in range(6):
        scope = (OURS, THEIRS)[number % 2]
        store.log.append(scope, samples.query(f"q_{number}"))
    store.log.flush()
    for scope, expected in ((OURS, ["q_4", "q_2", "q_0"]), (THEIRS, ["q_5", "q_3", "q_1"])):
        with store.reading(scope) as work:
            assert [query.query_id for query in work.queries.recent()] == expected


def test_tenants_are_told_apart_by_case(store: Store) -> None:
    with store.writing(Scope(tenant="Acme")) as work:
        work.memories.add(note("m_1"))
    with store.reading(Scope(tenant="acme")) as work:
        assert work.memories.count() == 0
