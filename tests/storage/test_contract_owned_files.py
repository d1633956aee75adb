"""Whose a file is: told across tenants, claimed once, kept on both back ends."""

from __future__ import annotations

import pytest

from assay.errors import BadValue
from assay.records import Scope
from assay.records.access import FileKind, OwnedFile
from assay.storage import Store
from assay.testing import FixedClock

ALPHA, BETA = (Scope(tenant=tenant, principal=f"{tenant}-person") for tenant in ("alpha", "beta"))


def claim(store: Store, scope: Scope, *names: str, kind: FileKind = FileKind.RUN) -> None:
    with store.writing(scope) as work:
        for name in names:
            work.owned_files.claim(kind, name)


def test_a_file_says_whose_it_is_to_everybody(store: Store) -> None:
    claim(store, ALPHA, "run_1", "run_2")
    claim(store, BETA, "run_2")
    claim(store, BETA, "run_1", kind=FileKind.LABELS)
    for scope in (ALPHA, BETA):
        with store.reading(scope) as work:
            found = work.owned_files.owners(FileKind.RUN, ["run_1", "run_2", "run_3"])
        assert found == {"run_1": {"alpha"}, "run_2": {"alpha", "beta"}}


def test_a_tenant_lists_its_own_files_alone(store: Store, clock: FixedClock) -> None:
    claim(store, ALPHA, "run_1")
    claim(store, BETA, "run_2")
    with store.reading(ALPHA) as work:
        made = OwnedFile(kind=FileKind.RUN, name="run_1", principal="alpha-person", created_at=clock.now())
        assert work.owned_files.all(FileKind.RUN) == [made]
        assert work.owned_files.all(FileKind.DATASET) == []


def test_a_second_claim_changes_nothing(store: Store, clock: FixedClock) -> None:
    claim(store, ALPHA, "run_1")
    first = clock.now()
    clock.advance(days=1)
    claim(store, Scope(tenant="alpha", principal="somebody else"), "run_1")
    with store.reading(ALPHA) as work:
        [kept] = work.owned_files.all(FileKind.RUN)
    assert (kept.principal, kept.created_at) == ("alpha-person", first)


def test_a_name_that_no_index_could_hold_is_refused(store: Store) -> None:
    with pytest.raises(BadValue, match="name"):
        claim(store, ALPHA, "x" * 501)


def test_owners_outlive_a_restore(store: Store, scope: Scope) -> None:
    """Otherwise a file that was made since the checkpoint would fall to whoever runs the server."""
    claim(store, ALPHA, "run_before")
    made = store.checkpoints.create("good")
    claim(store, BETA, "run_since")
    store.checkpoints.restore(made.id, scope)
    with store.reading(scope) as work:
        found = work.owned_files.owners(FileKind.RUN, ["run_before", "run_since"])
    assert found == {"run_before": {"alpha"}, "run_since": {"beta"}}


def test_files_of_an_erased_tenant_fall_to_nobody(store: Store) -> None:
    claim(store, ALPHA, "run_1")
    claim(store, BETA, "run_2")
    for epoch in ("ep_1", "ep_2"):
        with store.writing(ALPHA) as work:
            work.erasure.strike_tenant(epoch)
        claim(store, ALPHA, "run_1")
    with store.writing(ALPHA) as work:
        assert work.erasure.strike_tenant("ep_3")["owned_files"] == 1
    with store.reading(BETA) as work:
        found = work.owned_files.owners(FileKind.RUN, ["run_1", "run_2"])
    assert found == {"run_1": {"erased_ep_1", "erased_ep_2", "erased_ep_3"}, "run_2": {"beta"}}
