"""Sign-ins on both back ends: what opens, what ends, and that no restore brings an ended one back."""

from __future__ import annotations

from datetime import timedelta

from assay.access import SignIns, Tokens
from assay.records import Scope
from assay.records.access import Access
from assay.storage import Store
from assay.testing import FixedClock

HOUR = timedelta(hours=1)


def test_a_restore_revives_no_sign_in_and_ends_none(store: Store, scope: Scope, clock: FixedClock) -> None:
    sign_ins, tokens = SignIns(store, clock, lasts=12 * HOUR, idle=HOUR), Tokens(store, clock)
    token, revoked = (tokens.create(scope, name, Access.READ) for name in ("kept", "revoked"))
    ended, lasting, of_revoked = (sign_ins.begin(text, "browser") for text in (token.text, token.text, revoked.text))
    assert ended is not None
    assert lasting is not None
    assert of_revoked is not None
    made = store.checkpoints.create("then")
    sign_ins.end(scope, ended.kept.session_id)
    tokens.revoke(scope, revoked.kept.token_id)
    later = sign_ins.begin(token.text, "browser")
    assert later is not None
    store.checkpoints.restore(made.id, scope)
    opened = [sign_ins.find(one.text) is not None for one in (ended, lasting, of_revoked, later)]
    assert opened == [False, True, False, True]
    with store.reading(scope) as work:
        assert work.audit.check().is_whole
        assert work.audit.entries()[0].action == "checkpoint.restored"


def test_a_sign_in_of_one_tenant_is_nobody_elses(store: Store, scope: Scope, clock: FixedClock) -> None:
    sign_ins = SignIns(store, clock, lasts=12 * HOUR, idle=HOUR)
    made = sign_ins.begin(Tokens(store, clock).create(scope, "ci", Access.WRITE).text, "browser 10.0.0.7")
    assert made is not None
    opened = sign_ins.find(made.text)
    assert opened is not None
    assert (opened.grant.scope.tenant, opened.grant.access) == (scope.tenant, Access.WRITE)
    assert sign_ins.all(Scope(tenant="other")) == []
    assert [sign_in.via for sign_in in sign_ins.all(scope)] == ["browser 10.0.0.7"]
    for wrong in ("", made.text[:-1], made.text + "x", made.kept.digest, made.kept.session_id):
        assert sign_ins.find(wrong) is None
