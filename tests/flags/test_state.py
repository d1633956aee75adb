"""What a flag is, which layer said so, and what switching it leaves behind."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.storage.homes import BOUND_S

from assay.errors import CheckpointFailed, InputError, SettingError, StoreFull, UnknownFlag
from assay.flags import FLAGS, Flags, FlagState, Override
from assay.hashing import bucket
from assay.records import Scope
from assay.storage import Store
from assay.testing import FixedClock


@pytest.fixture
def flags(clock: FixedClock) -> Flags:
    return Flags(clock=clock)


def state(flags: Flags, store: Store, scope: Scope, name: str) -> FlagState:
    with store.reading(scope) as work:
        return flags.states(work)[name]


def test_without_anything_stored_every_flag_has_its_default(flags: Flags, store: Store, scope: Scope) -> None:
    with store.reading(scope) as work:
        states = flags.states(work)

    assert {name: one.on for name, one in states.items()} == {name: flag.default for name, flag in FLAGS.items()}
    assert {one.origin for one in states.values()} == {"default"}


def test_a_stored_row_wins_over_the_default_and_an_override_over_the_row(
    clock: FixedClock, flags: Flags, store: Store, scope: Scope
) -> None:
    flags.turn(store, scope, "mmr", "off")
    assert (state(flags, store, scope, "mmr").on, state(flags, store, scope, "mmr").origin) == (False, "stored")

    overridden = Flags({"mmr": Override(100, "environment", "ASSAY_FLAG_MMR")}, clock=clock)
    found = state(overridden, store, scope, "mmr")

    assert (found.on, found.origin, found.place) == (True, "environment", "ASSAY_FLAG_MMR")


def test_what_one_tenant_switches_another_does_not_see(flags: Flags, store: Store, scope: Scope) -> None:
    flags.turn(store, scope, "mmr", "off")
    assert state(flags, store, Scope(tenant="other"), "mmr").on


def test_a_percentage_shows_the_flag_to_the_same_identities_every_time(
    flags: Flags, store: Store, scope: Scope
) -> None:
    turned = flags.turn(store, scope, "graph_scoring", "30")
    seen = {identity for identity in map(str, range(500)) if turned.enabled(identity)}

    assert seen == {identity for identity in map(str, range(500)) if bucket(identity, "graph_scoring") < 30}
    assert 100 < len(seen) < 200


def test_who_has_no_identity_is_in_no_partial_rollout(flags: Flags, store: Store, scope: Scope) -> None:
    assert not flags.turn(store, scope, "mmr", "99%").enabled()
    assert flags.turn(store, scope, "mmr", "on").enabled()


@given(identity=st.text(min_size=1), less=st.integers(1, 99), more=st.integers(1, 99))
def test_a_wider_rollout_takes_nobody_out(identity: str, less: int, more: int) -> None:
    narrow, wide = (
        FlagState(flag=FLAGS["mmr"], percent=percent, shadow=False, origin="stored") for percent in sorted((less, more))
    )
    assert wide.enabled(identity) or not narrow.enabled(identity)


def test_the_first_activation_is_kept_when_a_flag_goes_off_and_on(
    flags: Flags, store: Store, scope: Scope, clock: FixedClock
) -> None:
    first = flags.turn(store, scope, "cross_encoder", "on").activated_at
    clock.advance(days=3)
    flags.turn(store, scope, "cross_encoder", "off")
    clock.advance(days=3)

    assert first is not None
    assert flags.turn(store, scope, "cross_encoder", "on").activated_at == first


def test_a_flag_that_was_only_switched_off_has_no_activation(flags: Flags, store: Store, scope: Scope) -> None:
    assert flags.turn(store, scope, "cross_encoder", "off").activated_at is None


def test_first_use_writes_the_activation_once_and_leaves_the_default_a_default(
    flags: Flags, store: Store, scope: Scope, clock: FixedClock
) -> None:
    first = flags.activate(store, scope, "save_quality_gate")
    clock.advance(days=1)
    again = flags.activate(store, scope, "save_quality_gate")

    assert first.activated_at == again.activated_at is not None
    assert again.origin == "default"


def test_the_activation_outlives_the_process(flags: Flags, clock: FixedClock, store: Store, scope: Scope) -> None:
    began = flags.activate(store, scope, "save_quality_gate").activated_at
    clock.advance(days=2)
    assert state(Flags(clock=clock), store, scope, "save_quality_gate").activated_at == began


def test_a_flag_that_is_off_is_not_activated_by_use(flags: Flags, store: Store, scope: Scope) -> None:
    assert flags.activate(store, scope, "cross_encoder").activated_at is None


def test_a_review_is_stored_and_needs_something_to_review(
    flags: Flags, store: Store, scope: Scope, clock: FixedClock
) -> None:
    with pytest.raises(InputError, match="nothing to review"):
        flags.review(store, scope, "save_quality_gate")
    flags.activate(store, scope, "save_quality_gate")
    clock.advance(days=20)

    assert flags.review(store, scope, "save_quality_gate").reviewed_at == clock.now()


def test_switching_against_an_override_is_refused_with_its_place(clock: FixedClock, store: Store, scope: Scope) -> None:
    flags = Flags({"mmr": Override(0, "file", "assay.toml")}, clock=clock)
    with pytest.raises(SettingError, match=r"assay\.toml") as problem:
        flags.turn(store, scope, "mmr", "on")
    assert problem.value.remedy


def test_an_unknown_flag_is_refused_everywhere(flags: Flags, store: Store, scope: Scope) -> None:
    with pytest.raises(UnknownFlag):
        flags.turn(store, scope, "nmr", "on")
    with store.reading(scope) as work, pytest.raises(UnknownFlag, match="nmr"):
        flags.enabled(work, "nmr")


def test_enabled_takes_what_was_read_before_as_well_as_a_unit_of_work(flags: Flags, store: Store, scope: Scope) -> None:
    with store.reading(scope) as work:
        assert flags.enabled(flags.states(work), "mmr") is flags.enabled(work, "mmr") is True


def test_enabling_reconsolidation_takes_a_checkpoint_first(flags: Flags, store: Store, scope: Scope) -> None:
    taken: list[str] = []
    flags.turn(store, scope, "reconsolidation", "off", checkpoint=taken.append)
    assert taken == []

    flags.turn(store, scope, "reconsolidation", "on", checkpoint=taken.append)

    assert taken == ["before reconsolidation"]


def test_a_checkpoint_that_fails_leaves_reconsolidation_as_it_was(flags: Flags, store: Store, scope: Scope) -> None:
    def full(name: str) -> None:
        raise StoreFull("no space is left", remedy="Free some.")

    flags.turn(store, scope, "reconsolidation", "off")
    with pytest.raises(CheckpointFailed, match="no space is left"):
        flags.turn(store, scope, "reconsolidation", "on", checkpoint=full)

    assert not state(flags, store, scope, "reconsolidation").on


def test_first_use_of_reconsolidation_is_content_with_a_checkpoint_that_is_there(
    flags: Flags, store: Store, scope: Scope
) -> None:
    taken: list[str] = []
    store.checkpoints.create("by hand")

    flags.activate(store, scope, "reconsolidation", checkpoint=taken.append)

    assert taken == []
    assert state(flags, store, scope, "reconsolidation").activated_at is not None


def test_first_uses_that_come_together_take_one_checkpoint(flags: Flags, store: Store, scope: Scope) -> None:
    both_asked = threading.Barrier(2, timeout=BOUND_S)
    taken: list[str] = []

    def slowly(name: str) -> None:
        taken.append(name)
        # Given time, the other would begin a copy of its own.
        store.checkpoints.create(name)

    def use() -> None:
        both_asked.wait()
        flags.activate(store, scope, "reconsolidation", checkpoint=slowly)

    threads = [threading.Thread(target=use, daemon=True) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(BOUND_S)

    assert len(taken) == 1
    assert len(store.checkpoints.list()) == 1


def test_what_others_switch_is_seen_though_nothing_else_was_read_meanwhile(
    clock: FixedClock, flags: Flags, store: Store, scope: Scope
) -> None:
    assert state(flags, store, scope, "mmr").percent == 100
    Flags(clock=clock).turn(store, scope, "mmr", "25")
    assert state(flags, store, scope, "mmr").percent == 25
    assert state(flags, store, Scope(tenant="other"), "mmr").percent == 100
    assert state(flags, store, scope, "mmr").percent == 25


def test_every_switch_is_in_the_audit_log(flags: Flags, store: Store, scope: Scope) -> None:
    flags.turn(store, scope, "mmr", "25", shadow=True)
    flags.review(store, scope, "mmr")

    with store.reading(scope) as work:
        lines = [(entry.action, entry.actor, dict(entry.detail)) for entry in work.audit.entries(target="mmr")]

    assert lines[1] == ("flag.turn", "ada", {"before": 100, "after": 25, "shadow": True})
    assert lines[0][:2] == ("flag.review", "ada")
