"""Guarantees, as guarantees: for every k, mode, filter, text and session."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.memory.searching.shelf import Shelf, ids

from assay.memory.searching.options import SearchOptions
from assay.records import Channel, EdgeKind, Filters, FusionMethod, MemoryRecord, Mode, Scope, SearchResult, Tier
from assay.storage import Store, open_store
from assay.testing import FixedClock, note

WORDS = ("alpha", "beta", "gamma", "delta", "caf\u00e9", "NEAR", "x*", '"quoted', "\u6f22\u5b57", "it's", "a-b", "50%")
FOLDERS = ("", "a", "a/b", "ab", "c")
TENANTS = count()

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
filters = st.builds(
    Filters,
    folder=st.sampled_from([None, "a", "zzz"]),
    tiers=st.sampled_from([(), (Tier.NORMAL,), (Tier.CRITICAL,)]),
    tags=st.sampled_from([(), ("red",)]),
    include_superseded=st.booleans(),
)
requests = st.fixed_dictionaries(
    {
        "query": texts,
        "k": st.integers(1, 5),
        "mode": st.sampled_from(list(Mode)),
        "filters": filters,
        "folder_mode": st.sampled_from(["off", "on", "on_with_fallback"]),
        "session_id": st.sampled_from([None, "s"]),
        "token_budget": st.sampled_from([None, 0, 5, 100]),
        "channels": st.sampled_from([None, *((channel,) for channel in Channel)]),
    }
)


@st.composite
def memories(draw: st.DrawFn) -> list[MemoryRecord]:
    return [draw(memory(place)) for place in range(draw(st.integers(1, 6)))]


@st.composite
def memory(draw: st.DrawFn, place: int) -> MemoryRecord:
    return note(
        f"m_{place}",
        title=draw(texts),
        body="\n\n".join(draw(st.lists(texts, min_size=1, max_size=3))),
        triggers=tuple(draw(st.lists(texts, max_size=2))),
        learned_triggers=tuple(draw(st.lists(texts, max_size=2))),
        folder=draw(st.sampled_from(FOLDERS)),
        tags=draw(st.sampled_from([(), ("red",)])),
        tier=draw(st.sampled_from([Tier.NORMAL, Tier.CRITICAL, Tier.CONSTITUTIONAL])),
        confidence=draw(st.sampled_from([0.0, 0.5, 1.0])),
    )


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for all examples: each has a tenant of its own in it."""
    with open_store(tmp_path_factory.mktemp("properties") / "notes.db", clock=FixedClock()) as store:
        yield store


def a_shelf(store: Store) -> Shelf:
    return Shelf(store, Scope(tenant=f"t{next(TENANTS)}"), FixedClock())


PROPERTY = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)


@PROPERTY
@given(ours=memories(), asked=st.lists(requests, min_size=1, max_size=3))
def test_every_constitutional_memory_is_pinned_to_every_result(
    shared: Store, ours: list[MemoryRecord], asked: list[dict[str, Any]]
) -> None:
    laws = {one.id for one in ours if one.tier is Tier.CONSTITUTIONAL}
    shelf = a_shelf(shared)
    shelf.put(*ours)
    for one in asked:
        result = shelf.search(**one)
        assert {pinned.memory_id for pinned in result.pinned} == laws
        assert len(result) <= one["k"]
        assert shelf.searcher.failures.counts() == {}


@PROPERTY
@given(ours=memories(), theirs=memories(), asked=st.lists(requests, min_size=1, max_size=3))
def test_what_another_tenant_keeps_changes_nothing(
    shared: Store, ours: list[MemoryRecord], theirs: list[MemoryRecord], asked: list[dict[str, Any]]
) -> None:
    first, beside = a_shelf(shared), a_shelf(shared)
    first.put(*ours)
    before = [shown(first.search(**{**one, "session_id": None})) for one in asked]
    beside.put(*theirs)
    after = [shown(first.search(**{**one, "session_id": None})) for one in asked]
    assert before == after
    known = {(one.id, one.title) for one in ours}
    for one in asked:
        assert {(hit.memory_id, hit.title) for hit in first.search(**one)} <= known


@PROPERTY
@given(ours=memories(), asked=st.lists(requests, min_size=1, max_size=3))
def test_learned_triggers_never_matter_to_any_channel(
    shared: Store, ours: list[MemoryRecord], asked: list[dict[str, Any]]
) -> None:
    with_them, without = a_shelf(shared), a_shelf(shared)
    with_them.put(*ours)
    without.put(*(replace(one, learned_triggers=()) for one in ours))
    for one in asked:
        assert shown(with_them.search(**one)) == shown(without.search(**one))


@pytest.mark.parametrize("method", list(FusionMethod))
@PROPERTY
@given(ours=memories(), asked=st.lists(requests, min_size=1, max_size=3), aggregated=st.sampled_from([0, 100]))
def test_an_explanation_recomputes_the_score(
    shared: Store, method: FusionMethod, ours: list[MemoryRecord], asked: list[dict[str, Any]], aggregated: int
) -> None:
    shelf = a_shelf(shared)
    flags = shelf.flags(docscore_aggregation=aggregated, learn_from_selection=100)
    shelf.searcher = shelf.searching(options=SearchOptions(method=method), flags=flags)
    shelf.put(*ours)
    if len(ours) > 1:
        shelf.join("m_0", EdgeKind.CAUSED, "m_1")
    for one in asked:
        for hit in shelf.search(**one, explain=True):
            assert hit.explanation is not None
            assert hit.explanation.score == hit.score
            assert abs(hit.explanation.recompute() - hit.score) <= 1e-12
            assert 0.0 < hit.score <= 1.0


@PROPERTY
@given(ours=memories(), asked=requests)
def test_no_filter_of_the_caller_is_ever_broken(shared: Store, ours: list[MemoryRecord], asked: dict[str, Any]) -> None:
    by_id = {one.id: one for one in ours}
    wanted: Filters = asked["filters"]
    shelf = a_shelf(shared)
    shelf.put(*ours)
    for found in map(by_id.__getitem__, ids(shelf.search(**asked))):
        assert wanted.folder is None or f"{found.folder}/".startswith(f"{wanted.folder}/")
        assert not wanted.tiers or found.tier in wanted.tiers
        assert set(wanted.tags) <= set(found.tags)


def shown(result: SearchResult) -> list[tuple[str, float, str]]:
    return [(hit.memory_id, hit.score, hit.text) for hit in result]
