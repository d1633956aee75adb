"""The audit log is a chain: what is changed, removed or slipped in afterwards is found, and a person can still go."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from sqlalchemy import Connection, text
from tests.storage.homes import BOUND_S, Home, raw

from assay.records import Scope
from assay.storage import Store
from assay.storage.audit_chain import REDACT, ChainCheck, read_places, write_places
from assay.storage.erasing import Marks
from assay.storage.repositories.history import AuditFilter
from assay.testing import FixedClock

Tamper = Callable[[Connection], object]


def sql(statement: str) -> Tamper:
    return lambda connection: connection.exec_driver_sql(statement)


def fill(store: Store, scope: Scope, entries: int = 5) -> None:
    with store.writing(scope) as work:
        for number in range(1, entries + 1):
            work.audit.append("test.step", f"target {number}", {"number": number, "said": "Anna Quixbrook"})


def checked(store: Store, scope: Scope) -> ChainCheck:
    with store.reading(scope) as work:
        return work.audit.check()


def test_a_log_that_nobody_touched_is_whole(store: Store, scope: Scope) -> None:
    assert checked(store, scope) == ChainCheck(entries=0, erased=0, head="")
    fill(store, scope)
    found = checked(store, scope)
    assert (found.is_whole, found.entries, found.erased) == (True, 5, 0)
    with store.reading(scope) as work:
        assert [line.place for line in work.audit.entries()] == [5, 4, 3, 2, 1]
    fill(store, scope, 1)
    assert checked(store, scope).head != found.head


@pytest.mark.parametrize(
    ("tamper", "broken_at", "problem"),
    [
        ("UPDATE audit SET detail = '{\"number\":9}' WHERE place = 3 AND tenant = 'acme'", 3, "detail was changed"),
        ("UPDATE audit SET actor = 'bob' WHERE place = 2 AND tenant = 'acme'", 2, "actor, origin or detail"),
        ("UPDATE audit SET via = 'http 1.2.3.4' WHERE place = 2 AND tenant = 'acme'", 2, "origin"),
        ("UPDATE audit SET action = 'other' WHERE place = 4 AND tenant = 'acme'", 4, "action or time"),
        ("UPDATE audit SET at = '2020-01-01T00:00:00.000000Z' WHERE place = 1 AND tenant = 'acme'", 1, "time"),
        ("DELETE FROM audit WHERE place = 2 AND tenant = 'acme'", 2, "removed"),
        ("DELETE FROM audit WHERE place = 1 AND tenant = 'acme'", 1, "removed"),
        ("UPDATE audit SET salt = NULL, actor = 'bob' WHERE place = 3 AND tenant = 'acme'", 3, "no later entry"),
        (
            "INSERT INTO audit (tenant, action, target, actor, at, detail) VALUES ('acme', 'x', 'y', 'z', 'now', '{}')",
            6,
            "no place in the chain",
        ),
    ],
)
def test_the_first_entry_that_does_not_fit_is_named(
    store: Store, scope: Scope, tamper: str, broken_at: int, problem: str
) -> None:
    fill(store, scope)
    with raw(store, "acme") as connection:
        sql(tamper)(connection)
    found = checked(store, scope)
    assert (found.is_whole, found.broken_at) == (False, broken_at)
    assert problem in found.problem


def test_entries_of_another_tenant_do_not_fit(store: Store, scope: Scope) -> None:
    fill(store, scope, 2)
    fill(store, Scope(tenant="other"), 3)
    with raw(store, "acme") as connection:
        sql("DELETE FROM audit WHERE tenant = 'acme' AND place = 2")(connection)
        sql("UPDATE audit SET tenant = 'acme' WHERE tenant = 'other' AND place = 2")(connection)
    assert checked(store, scope).broken_at == 2
    with store.reading(scope) as work:
        everywhere = work.audit.check_everywhere()
    assert {tenant: found.broken_at for tenant, found in everywhere.items()} == {"acme": 2, "default": None, "other": 2}


@pytest.mark.slow
def test_two_processes_keep_one_chain(home: Home, scope: Scope) -> None:
    home.open().close()
    program = f"""
import sys
from pathlib import Path
from assay.clock import SystemClock
from assay.records import Scope
from assay.storage import StoreOptions, open_store
folder = sys.argv[2] and Path(sys.argv[2])
options = StoreOptions(lock_timeout_s={BOUND_S}, checkpoint_folder=folder or None,
                       postgres_schema={home.options.postgres_schema!r})
with open_store(sys.argv[1], clock=SystemClock(), create=False, options=options) as store:
    for number in range(25):
        with store.writing(Scope(tenant="acme", principal=sys.argv[3])) as work:
            work.audit.append("test.step", f"t{{number}}")
"""
    folder = str(home.options.checkpoint_folder or "")
    running = [
        subprocess.Popen([sys.executable, "-c", program, home.address, folder, name]) for name in ("ada", "grace")
    ]
    assert [process.wait(BOUND_S) for process in running] == [0, 0]
    found = checked(home.open(), scope)
    assert (found.is_whole, found.entries) == (True, 50)


def test_a_person_goes_and_the_chain_still_holds(store: Store, scope: Scope) -> None:
    fill(store, scope)
    with store.writing(scope) as work:
        work.erasure.strike(Marks(pieces=("Anna Quixbrook",)))
    found = checked(store, scope)
    assert (found.is_whole, found.erased, found.entries) == (True, 5, 6)
    with store.reading(scope) as work:
        newest, *others = work.audit.entries()
        assert (newest.action, newest.detail) == (REDACT, {"places": [[1, 5]]})
        assert {line.detail["said"] for line in others} == {"(erased)"}
    with raw(store, "acme") as connection:
        asked = text("SELECT count(*) FROM audit WHERE tenant = 'acme' AND place < 6 AND salt IS NOT NULL")
        assert connection.execute(asked).scalar_one() == 0
    with raw(store, "acme") as connection:
        sql("UPDATE audit SET action = 'other' WHERE place = 2 AND tenant = 'acme'")(connection)
    assert checked(store, scope).broken_at == 2


def test_a_renamed_actor_loses_name_and_address_and_entries_about_erased_words_are_named_again(
    store: Store, scope: Scope
) -> None:
    ada = Scope(tenant="acme", principal="ada", via="http 10.0.0.7")
    fill(store, ada, 2)
    with store.writing(ada) as work:
        work.erasure.strike(Marks(pieces=("Anna Quixbrook",)))
    with store.writing(Scope(tenant="acme", principal="grace")) as work:
        assert work.erasure.rename_actor("ada", "erased-1") == {"audit": 3}
    with store.reading(scope) as work:
        newest, *others = work.audit.entries()
        assert {(line.actor, line.via) for line in others} == {("erased-1", "")}
        assert newest.detail == {"places": [[1, 3]]}
        assert work.audit.check().is_whole


def test_a_tenant_that_was_erased_leaves_a_chained_entry_with_the_default_tenant(
    store: Store, scope: Scope, clock: FixedClock
) -> None:
    fill(store, scope)
    with store.writing(scope) as work:
        work.erasure.strike_tenant(store.ids.new("ep"))
    with store.reading(Scope()) as work:
        assert work.audit.entries()[0].action == "tenant.forget"
        assert work.audit.check().is_whole
        assert [line.entry.tenant for line in work.audit.find_everywhere(AuditFilter())] == ["default", "default"]


def test_entries_are_found_by_what_they_say(store: Store, clock: FixedClock) -> None:
    ada = Scope(tenant="acme", principal="ada", via="command line")
    for actor, action, target in (("ada", "token.create", "t1"), ("bob", "token.revoke", "t1"), ("ada", "flag", "t2")):
        clock.advance(seconds=60)
        with store.writing(Scope(tenant="acme", principal=actor, via=ada.via)) as work:
            work.audit.append(action, target)
    begin = clock.now()

    def found(**wanted: object) -> list[str]:
        with store.reading(ada) as work:
            return [line.entry.action for line in work.audit.find(AuditFilter(**wanted))]  # type: ignore[arg-type] # any field

    assert found() == ["flag", "token.revoke", "token.create"]
    assert found(action="token.") == ["token.revoke", "token.create"]
    assert found(action="token") == []
    assert found(actor="ada") == ["flag", "token.create"]
    assert found(target="t1", actor="bob") == ["token.revoke"]
    assert found(since=begin) == ["flag"]
    assert found(until=begin) == ["token.revoke", "token.create"]
    with store.reading(Scope(tenant="other")) as work:
        assert work.audit.find(AuditFilter()) == []
        first, second = work.audit.find_everywhere(AuditFilter(action="token."), limit=2)
        assert [first.entry.tenant, first.entry.via] == ["acme", "command line"]
        assert work.audit.find_everywhere(AuditFilter(), before=second.row_id)[0].entry.tenant == "default"


def test_a_checkpoint_knows_where_the_log_ended_and_a_log_that_was_cut_since_is_noticed(
    store: Store, scope: Scope
) -> None:
    fill(store, scope)
    made = store.checkpoints.create("then")
    [listed] = store.checkpoints.list()
    assert listed.audit_heads == made.audit_heads
    assert scope.tenant not in str(made.audit_heads)
    fill(store, scope, 2)
    with store.reading(scope) as work:
        assert len(made.audit_heads) == 2
        assert work.audit.missing_heads(made.audit_heads) == []
        assert work.audit.missing_heads(store.checkpoints.create("now").audit_heads) == []
    with raw(store, "acme") as connection:
        sql("DELETE FROM audit WHERE tenant = 'acme' AND place > 4")(connection)
    assert checked(store, scope).is_whole, "a chain that was cut is a shorter chain"
    with store.reading(scope) as work:
        assert work.audit.missing_heads(made.audit_heads) == ["acme"]


def test_places_are_written_as_ranges() -> None:
    assert write_places([5, 1, 2, 3, 3]) == [[1, 3], [5, 5]]
    assert read_places('{"places":[[1,3],[5,5]]}') == [range(1, 4), range(5, 6)]
    assert read_places('{"other":1}') == []
    assert read_places("[]") == []
