"""Tokens: kept as a hash, shown once, good until they are revoked or expire, each for its own tenant."""

from __future__ import annotations

import pytest

from assay.access import Access, Everybody, Grant, OneToken, StoredTokens, Tokens
from assay.access.tokens import MOST_REMEMBERED, REMEMBERED_S
from assay.errors import BadValue, InputError, RecordNotFound
from assay.records import Scope
from assay.storage import Store
from assay.testing import FixedClock

OTHER = Scope(tenant="other", principal="eve")


def test_a_new_token_opens_its_tenant_in_its_own_name(store: Store, scope: Scope, clock: FixedClock) -> None:
    made = Tokens(store, clock).create(scope, "ci", Access.WRITE)
    assert StoredTokens(store, clock).grant(made.text) == Grant(
        Scope(tenant=scope.tenant, principal="token:ci", principal_id=made.kept.token_id), Access.WRITE
    )


def test_the_token_itself_is_nowhere_in_the_store(store: Store, scope: Scope, clock: FixedClock) -> None:
    made = Tokens(store, clock).create(scope, "ci", Access.READ)
    assert made.text not in repr(Tokens(store, clock).all(scope))
    with store.reading(scope) as work:
        assert made.text not in repr(work.audit.entries())


@pytest.mark.parametrize("wrong", [None, "", "assay_", "assay_" + "x" * 43, "x" * 49, "\ud800"])
def test_what_is_no_token_opens_nothing(store: Store, clock: FixedClock, wrong: str | None) -> None:
    assert StoredTokens(store, clock).grant(wrong) is None


def test_a_revoked_token_opens_nothing(store: Store, scope: Scope, clock: FixedClock) -> None:
    tokens, known = Tokens(store, clock), StoredTokens(store, clock)
    made = tokens.create(scope, "ci", Access.READ)
    assert known.grant(made.text) is not None
    tokens.revoke(scope, made.kept.token_id)
    clock.advance(seconds=REMEMBERED_S)
    assert known.grant(made.text) is None


def test_revoking_twice_keeps_the_first_moment(store: Store, scope: Scope, clock: FixedClock) -> None:
    tokens = Tokens(store, clock)
    made = tokens.create(scope, "ci", Access.READ)
    first = tokens.revoke(scope, made.kept.token_id)
    clock.advance(days=1)
    assert tokens.revoke(scope, made.kept.token_id) == first


def test_an_expired_token_opens_nothing(store: Store, scope: Scope, clock: FixedClock) -> None:
    made = Tokens(store, clock).create(scope, "ci", Access.READ, days=1)
    known = StoredTokens(store, clock)
    assert known.grant(made.text) is not None
    clock.advance(days=1)
    assert known.grant(made.text) is None


def test_another_tenants_token_cannot_be_listed_or_revoked(store: Store, scope: Scope, clock: FixedClock) -> None:
    tokens = Tokens(store, clock)
    made = tokens.create(scope, "ci", Access.READ)
    assert tokens.all(OTHER) == []
    with pytest.raises(RecordNotFound):
        tokens.revoke(OTHER, made.kept.token_id)
    assert StoredTokens(store, clock).grant(made.text) is not None


@pytest.mark.parametrize("days", [0, -1, 10**9])
def test_a_token_lasts_for_some_days_or_for_ever(store: Store, scope: Scope, clock: FixedClock, days: int) -> None:
    with pytest.raises(InputError):
        Tokens(store, clock).create(scope, "ci", Access.READ, days=days)


def test_a_token_needs_a_name(store: Store, scope: Scope, clock: FixedClock) -> None:
    with pytest.raises(BadValue):
        Tokens(store, clock).create(scope, " ", Access.READ)


def test_what_is_no_stored_token_is_left_to_the_other_authoriser(store: Store, scope: Scope, clock: FixedClock) -> None:
    grant = Grant(scope, Access.ADMIN)
    known = StoredTokens(store, clock)
    assert known.or_else(Everybody(grant)).grant(None) is grant
    assert known.or_else(OneToken("a-long-enough-token", grant)).grant("a-long-enough-token") is grant
    # What looks like one of ours and is none is nobody's.
    assert known.or_else(Everybody(grant)).grant("assay_" + "x" * 43) is None


def test_tokens_that_open_nothing_do_not_push_out_good_ones(store: Store, scope: Scope, clock: FixedClock) -> None:
    known = StoredTokens(store, clock)
    good = Tokens(store, clock).create(scope, "ci", Access.READ).text
    assert known.grant(good) is not None
    for number in range(MOST_REMEMBERED + 1):
        assert known.grant(f"assay_{number:043d}") is None
    # Within two seconds the store is not asked again.
    store.close()
    assert known.grant(good) is not None
    assert known.grant("assay_" + "x" * 43) is None


def test_it_is_known_whether_there_are_tokens(store: Store, scope: Scope, clock: FixedClock) -> None:
    known, tokens = StoredTokens(store, clock), Tokens(store, clock)
    assert not known.exist()
    made = tokens.create(OTHER, "ci", Access.READ)
    assert known.exist()
    tokens.revoke(OTHER, made.kept.token_id)
    assert not known.exist()


def test_each_access_includes_the_ones_before_it() -> None:
    assert [access.includes(Access.WRITE) for access in Access] == [False, True, True, True]
