"""The audit log, and facts about the store itself."""

from __future__ import annotations

from tests.storage import samples

from assay.records import AuditEntry, Scope
from assay.storage import Store
from assay.storage.schema import CURRENT
from assay.testing import FixedClock


def test_an_audit_line_names_the_principal_the_moment_and_the_detail(
    store: Store, scope: Scope, clock: FixedClock
) -> None:
    actor = Scope(tenant=scope.tenant, principal=samples.AWKWARD)
    clock.advance(seconds=1)
    with store.writing(actor) as work:
        work.audit.append("flag.set", samples.LONG_KEY, samples.NESTED)
    with store.reading(scope) as work:
        assert work.audit.entries() == [
            AuditEntry(
                action="flag.set",
                target=samples.LONG_KEY,
                actor=samples.AWKWARD,
                at=clock.now(),
                detail=samples.NESTED,
            )
        ]


def test_audit_lines_are_given_newest_first_of_all_or_of_one_target(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        for number, target in enumerate(["a", "b", "a", "A"]):
            work.audit.append(f"step.{number}", target)
    with store.reading(scope) as work:
        assert [line.action for line in work.audit.entries()] == ["step.3", "step.2", "step.1", "step.0"]
        assert [line.action for line in work.audit.entries(limit=2)] == ["step.3", "step.2"]
        assert [line.action for line in work.audit.entries(target="a")] == ["step.2", "step.0"]
        assert [line.action for line in work.audit.entries(target="a", limit=1)] == ["step.2"]
        assert work.audit.entries(target="unknown") == []


def test_a_new_store_says_that_it_was_made(store: Store) -> None:
    with store.reading(Scope()) as work:
        (line,) = work.audit.entries()
    assert (line.action, line.actor) == ("schema.migrated", "assay")
    assert line.detail["steps"][-1] == CURRENT.newest


def test_a_fact_takes_the_place_of_the_one_before(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        assert work.meta.get("flag:x") is None
        work.meta.put("flag:x", "on")
        work.meta.put("flag:x", samples.AWKWARD)
        work.meta.put("flag:y", "")
    with store.reading(scope) as work:
        assert work.meta.get("flag:x") == samples.AWKWARD
        assert work.meta.get("flag:y") == ""


def test_facts_belong_to_the_store_and_not_to_a_tenant(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.meta.put("flag:x", "on")
    with store.reading(Scope(tenant="another")) as work:
        assert work.meta.get("flag:x") == "on"
