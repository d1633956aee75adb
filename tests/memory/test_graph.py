"""Why a memory is as it is: the chain behind it, on both back ends."""

from __future__ import annotations

import pytest

from assay.errors import BadValue, RecordNotFound
from assay.memory.showing import link, why
from assay.records import Edge, EdgeKind, Reason, Scope
from assay.storage import Store
from assay.testing import FixedClock, note


@pytest.fixture
def joined(store: Store, scope: Scope, clock: FixedClock) -> Store:
    """An outage that led to a rule, which an older rule gave way to."""
    with store.writing(scope) as work:
        for name in ("outage", "rule", "old", "guide", "rival"):
            work.memories.add(note(f"m_{name}", title=name.title()))
    for source, kind, target, strength in (
        ("outage", EdgeKind.CAUSED, "rule", 0.5),
        ("rule", EdgeKind.SUPERSEDES, "old", 1.0),
        ("guide", EdgeKind.DERIVED_FROM, "rule", 0.8),
        ("rival", EdgeKind.CONTRADICTS, "guide", 1.0),
    ):
        link(store, scope, edge(clock, source, kind, target, strength))
    return store


def edge(clock: FixedClock, source: str, kind: EdgeKind, target: str, strength: float = 1.0) -> Edge:
    return Edge(
        source_id=f"m_{source}",
        target_id=f"m_{target}",
        kind=kind,
        created_at=clock.now(),
        strength=strength,
        evidence=f"{source} to {target}",
    )


def shape(reason: Reason) -> object:
    return (reason.memory_id, str(reason.kind), reason.strength, [shape(one) for one in reason.behind])


def test_a_chain_goes_back_through_every_kind_and_multiplies_strengths(joined: Store, scope: Scope) -> None:
    with joined.reading(scope) as work:
        answer = why(work, "m_guide")
    behind_rule: list[object] = [("m_old", "supersedes", 0.8, []), ("m_outage", "caused", 0.4, [])]
    assert shape(answer.chain) == ("m_guide", "None", 1.0, [("m_rule", "derived_from", 0.8, behind_rule)])
    assert answer.contradicted_by == ("m_rival",)
    assert not answer.cut
    assert answer.chain.behind[0].evidence == "guide to rule"


def test_what_follows_from_a_memory_does_not_stand_behind_it(joined: Store, scope: Scope) -> None:
    with joined.reading(scope) as work:
        assert why(work, "m_outage").chain.behind == ()


def test_a_circle_ends(joined: Store, scope: Scope, clock: FixedClock) -> None:
    link(joined, scope, edge(clock, "guide", EdgeKind.CAUSED, "outage"))
    with joined.reading(scope) as work:
        answer = why(work, "m_guide")
    assert not answer.cut
    assert {one.memory_id for one in answer.chain.behind[0].behind} == {"m_old", "m_outage"}


@pytest.mark.parametrize("limits", [{"depth": 1}, {"width": 1}])
def test_what_lies_beyond_the_limits_is_said_to_be_cut(joined: Store, scope: Scope, limits: dict[str, int]) -> None:
    with joined.reading(scope) as work:
        answer = why(work, "m_guide", **limits)
    assert answer.cut
    assert [one.memory_id for one in answer.chain.behind] == ["m_rule"]


def test_a_memory_that_is_not_there_has_no_reasons(joined: Store, scope: Scope) -> None:
    with joined.reading(scope) as work, pytest.raises(RecordNotFound, match="m_none"):
        why(work, "m_none")


def test_a_link_is_audited_and_a_memory_is_not_joined_to_itself(joined: Store, scope: Scope, clock: FixedClock) -> None:
    with pytest.raises(BadValue, match="itself"):
        link(joined, scope, edge(clock, "rule", EdgeKind.SUPPORTS, "rule"))
    with joined.reading(scope) as work:
        (line,) = work.audit.entries(target="m_outage")
    assert (line.action, line.detail["target"]) == ("memory.link", "m_rule")
