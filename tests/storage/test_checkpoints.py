"""Checkpoints: whole copies that are listed only when whole, proven before they are used, and undone by another."""

from __future__ import annotations

import json
import stat
import subprocess
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url, text
from tests.storage import samples
from tests.storage.homes import BOUND_S, Home, PostgresServer, raw
from tests.storage.test_migrations import bare

from assay.errors import (
    AssayError,
    BadValue,
    CheckpointFailed,
    CheckpointNotFound,
    NotAStore,
    SettingError,
    StoreCorrupt,
    StoreReadOnly,
)
from assay.records import IdFactory, LogPosition, Scope
from assay.records.access import Access, AccessToken
from assay.storage import Checkpoint, Store, list_checkpoints, open_store, restore_checkpoint, schema
from assay.storage.backend import WriteLock
from assay.storage.checkpoints.folder import hash_of
from assay.storage.checkpoints.sqlite import restore_over_damage
from assay.storage.repositories.base import EPOCH
from assay.storage.work import Work
from assay.testing import FixedClock, note


@pytest.fixture
def file_home(tmp_path: Path, clock: FixedClock) -> Home:
    return Home(str(tmp_path / "notes.db"), clock)


def keep(store: Store, scope: Scope, *ids: str) -> None:
    with store.writing(scope) as work:
        for one in ids:
            work.memories.add(note(one), samples.chunks(one, 2))


def ids(store: Store, scope: Scope) -> list[str]:
    with store.reading(scope) as work:
        return [memory.id for memory in work.memories.page()]


def position(store: Store, scope: Scope) -> LogPosition:
    with store.reading(scope) as work:
        return work.changes.position()


def copy_of(home: Home, checkpoint: Checkpoint) -> Path:
    (found,) = [file for file in home.checkpoint_folder.glob(f"{checkpoint.id}.*") if file.suffix != ".json"]
    return found


def manifest_of(home: Home, checkpoint: Checkpoint) -> Path:
    return home.checkpoint_folder / f"{checkpoint.id}.json"


def bring_back(home: Home, store: Store, scope: Scope, aside: str) -> None:
    """Undo a restore by what it kept aside: a checkpoint on SQLite, a schema on PostgreSQL."""
    if home.backend == "sqlite":
        store.checkpoints.restore(aside, scope)
        return
    ours = home.options.postgres_schema
    with raw(store) as connection:
        connection.execute(text(f"ALTER SCHEMA {ours} RENAME TO {ours}_undone"))
        connection.execute(text(f"ALTER SCHEMA {aside.removeprefix('schema ')} RENAME TO {ours}"))


def heads(store: Store, scope: Scope) -> dict[str, str]:
    with store.reading(scope) as work:
        return work.audit.heads()


def test_a_checkpoint_says_what_it_is_a_copy_of(store: Store, home: Home, scope: Scope, clock: FixedClock) -> None:
    keep(store, scope, "m_1", "m_2")
    clock.advance(hours=1)
    made = store.checkpoints.create("before the move")
    assert made == Checkpoint(
        id=made.id,
        name="before the move",
        created_at=clock.now(),
        backend=home.backend,
        place=store.place,
        schema=schema.CURRENT.newest,
        epoch=position(store, scope).epoch,
        memories=2,
        size_bytes=copy_of(home, made).stat().st_size,
        content=hash_of(copy_of(home, made)),
        audit_heads=heads(store, scope),
    )
    assert store.checkpoints.list() == [made]
    assert list_checkpoints(home.address, home.options) == [made]


def test_checkpoints_are_listed_oldest_first(store: Store, clock: FixedClock) -> None:
    assert store.checkpoints.list() == []
    made = []
    for name in ("zebra", "apple", samples.AWKWARD):
        made.append(store.checkpoints.create(name))
        clock.advance(seconds=1)
    assert store.checkpoints.list() == made


@pytest.mark.parametrize("by", ["id", "name"])
def test_a_restore_brings_the_store_back_and_keeps_the_present_aside(
    store: Store, home: Home, scope: Scope, clock: FixedClock, by: str
) -> None:
    keep(store, scope, "m_1", "m_2")
    made = store.checkpoints.create("good")
    clock.advance(hours=1)
    keep(store, scope, "m_3")
    with store.writing(scope) as work:
        work.memories.remove("m_1")
    restored = store.checkpoints.restore(getattr(made, by), scope)
    assert restored.checkpoint == made
    assert ids(store, scope) == ["m_1", "m_2"]
    assert store.problems() == []
    keep(store, scope, "m_4")
    assert ids(store, scope) == ["m_1", "m_2", "m_4"]
    bring_back(home, store, scope, restored.kept_aside)
    assert ids(store, scope) == ["m_2", "m_3"]
    assert store.problems() == []


def test_a_restore_begins_a_new_epoch_so_that_every_follower_rebuilds(store: Store, scope: Scope) -> None:
    keep(store, scope, "m_1")
    made = store.checkpoints.create("good")
    before = position(store, scope)
    store.checkpoints.restore(made.id, scope)
    after = position(store, scope)
    assert after.epoch != before.epoch
    assert after.seq == before.seq
    with store.reading(scope) as work:
        assert work.changes.follow(before).must_rebuild
    store.checkpoints.restore(made.id, scope)
    assert position(store, scope).epoch not in (before.epoch, after.epoch)


def test_a_restore_leaves_a_line_in_the_audit_log(store: Store, scope: Scope, clock: FixedClock) -> None:
    actor = Scope(tenant=scope.tenant, principal='O\'Brien \\ :name $1 \u6f22 "x"')
    made = store.checkpoints.create("it's good")
    clock.advance(days=1)
    store.checkpoints.restore(made.id, actor)
    with store.reading(scope) as work:
        (line,) = work.audit.entries()
    assert (line.action, line.target, line.actor, line.at) == (
        "checkpoint.restored",
        made.id,
        actor.principal,
        clock.now(),
    )
    assert line.detail == {"name": "it's good"}


def token(token_id: str, **more: Any) -> AccessToken:
    given = {"name": token_id, "access": Access.ADMIN, "digest": f"digest of {token_id}", "created_by": "ops", **more}
    return AccessToken(token_id=token_id, created_at=FixedClock().now(), **given)


def opened_by(store: Store, *token_ids: str) -> list[AccessToken | None]:
    with store.reading(Scope(principal="server")) as work:
        found = [work.access_tokens.find_by_digest(f"digest of {token_id}") for token_id in token_ids]
    return [None if one is None else one[1] for one in found]


def test_a_restore_revives_no_token_and_no_older_grant(store: Store, scope: Scope, clock: FixedClock) -> None:
    rival = Scope(tenant="rival", principal="rival")
    with store.writing(rival) as work:
        work.access_tokens.add(token("t_revoked"))
        work.access_tokens.add(token("t_kept", access=Access.READ))
        work.audit.append("before", "checkpoint")
    with store.writing(scope) as work:
        work.access_tokens.add(token("t_gone"))
    made = store.checkpoints.create("good")
    clock.advance(hours=1)
    with store.writing(rival) as work:
        work.access_tokens.revoke("t_revoked", clock.now())
        work.access_tokens.add(token("t_new", access=Access.OPERATOR))
        work.audit.append("after", "checkpoint")
    with raw(store) as connection:
        connection.execute(text("DELETE FROM access_tokens WHERE token_id = 't_gone'"))
    store.checkpoints.restore(made.id, scope)
    revoked, kept, new, gone = opened_by(store, "t_revoked", "t_kept", "t_new", "t_gone")
    assert revoked is not None
    assert revoked.revoked_at == clock.now()
    assert (kept, new) == (token("t_kept", access=Access.READ), token("t_new", access=Access.OPERATOR))
    assert gone is None
    with store.writing(rival) as work:
        work.audit.append("later", "restore")
        assert [line.action for line in work.audit.entries()] == ["later", "after", "before"]
    with store.reading(scope) as work:
        assert work.audit.entries()[0].action == "checkpoint.restored"


class FaultyClock(FixedClock):
    """Fails once, at the call that it is told to; a restore looks at the clock at each of its steps."""

    calls_left: int | None = None

    def now(self) -> datetime:
        if self.calls_left is not None:
            self.calls_left -= 1
            if self.calls_left < 0:
                self.calls_left = None
                raise RuntimeError("a fault in the middle of a restore")
        return super().now()


def test_a_restore_that_fails_at_any_step_replaces_nothing_and_revives_no_token(home: Home, scope: Scope) -> None:
    """The last steps come after the tokens were carried and before the copy takes the store's place."""
    clock = FaultyClock()
    home.clock = clock
    store = home.open()
    keep(store, scope, "m_1")
    with store.writing(scope) as work:
        work.access_tokens.add(token("t_revoked"))
    made = store.checkpoints.create("good")
    keep(store, scope, "m_2")
    with store.writing(scope) as work:
        work.access_tokens.revoke("t_revoked", clock.now())
    faults = 0
    while True:
        clock.calls_left = faults
        try:
            store.checkpoints.restore(made.id, scope)
        except RuntimeError:
            faults += 1
        else:
            break
        assert ids(store, scope) == ["m_1", "m_2"]
        assert [one is not None and one.revoked_at is not None for one in opened_by(store, "t_revoked")] == [True]
    assert faults >= 3
    assert ids(store, scope) == ["m_1"]
    assert [one is not None and one.revoked_at is not None for one in opened_by(store, "t_revoked")] == [True]


def test_a_copy_with_a_trigger_is_refused_and_nothing_is_replaced(file_home: Home, scope: Scope) -> None:
    with file_home.open() as store:
        keep(store, scope, "m_1")
        assert store.foreign_code() == []
        with raw(store) as connection:
            connection.execute(text("CREATE TRIGGER spy AFTER INSERT ON memories BEGIN SELECT 1; END"))
            connection.execute(text("CREATE VIEW window AS SELECT * FROM memories"))
        assert store.foreign_code() == ["trigger 'spy' on memories", "view 'window'"]
        made = store.checkpoints.create("bad")
        with raw(store) as connection:
            connection.execute(text("DROP TRIGGER spy"))
            connection.execute(text("DROP VIEW window"))
        keep(store, scope, "m_2")
        with pytest.raises(CheckpointFailed, match="trigger 'spy' on memories"):
            store.checkpoints.restore(made.id, scope)
        assert ids(store, scope) == ["m_1", "m_2"]


def test_code_among_the_tables_of_postgres_is_listed(
    postgres: PostgresServer, clock: FixedClock, tmp_path: Path
) -> None:
    home = postgres_home(postgres, clock, tmp_path, "foreign_code", tmp_path)
    with home.open() as store:
        assert store.foreign_code() == []
        with raw(store) as connection:
            connection.execute(text("CREATE VIEW foreign_code.window AS SELECT * FROM foreign_code.memories"))
            connection.execute(text("CREATE RULE spy AS ON DELETE TO foreign_code.audit DO INSTEAD NOTHING"))
        assert store.foreign_code() == ["rule 'spy' on audit", "view 'window'"]


def test_everything_in_the_store_outlives_checkpoint_and_restore(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add(samples.memory("m_1"), [samples.chunk("m_1")])
        work.edges.put(samples.edge("m_1", "m_1"))
        work.queries.add_many([samples.full_query("q_1")])
        work.judgments.put_many([samples.judgment(annotator=samples.AWKWARD)])
        work.results.add(samples.full_result())
        work.feedback.record([samples.event(metadata=samples.NESTED)])
        work.ab_tests.put(samples.full_ab_test())
        work.shadow_runs.add_many([samples.full_shadow_run()])
        work.memories.add_many([samples.embedded("m_2", "some words", triggers=("roll back",))])
        work.saves.record(samples.save_record())
        work.flags.put("mmr", enabled=True)
    made = store.checkpoints.create("full")
    with store.writing(scope) as work:
        work.memories.remove("m_1")
        work.memories.remove("m_2")
    store.checkpoints.restore(made.id, scope)
    with store.reading(scope) as work:
        assert work.memories.get("m_1") == samples.memory("m_1")
        assert work.memories.chunks_of("m_1") == [samples.chunk("m_1")]
        assert work.edges.of("m_1") == [samples.edge("m_1", "m_1")]
        assert work.queries.get("q_1") == samples.full_query("q_1")
        assert work.judgments.of("q_1") == [samples.judgment(annotator=samples.AWKWARD)]
        assert work.results.latest() == [samples.full_result()]
        assert work.feedback.of_query("q_1") == [samples.event(metadata=samples.NESTED)]
        assert work.ab_tests.latest("rerank") == samples.full_ab_test()
        assert work.shadow_runs.of("rerank") == [samples.full_shadow_run()]
        assert work.passages.matching("words", 10) == [2]
        assert work.vectors.page("model-1").numbers.tolist() == [2]
        assert [one.memory_id for one in work.triggers.matching(["roll back"])] == ["m_2"]
        assert [one.save_id for one in work.saves.recent()] == ["sv_1"]
        assert [one.name for one in work.flags.all()] == ["mmr"]
    with store.writing(scope) as work:
        work.results.add(samples.result("run_2"))
        work.audit.append("test.done", "m_1")
    assert store.problems() == []


def test_another_open_store_sees_the_restored_state_at_its_next_read(home: Home, scope: Scope) -> None:
    first, second = home.open(), home.open()
    keep(first, scope, "m_1")
    made = first.checkpoints.create("good")
    keep(first, scope, "m_2")
    for _ in range(12):  # often enough for a driver to prepare the statement
        assert ids(second, scope) == ["m_1", "m_2"]
    first.checkpoints.restore(made.id, scope)
    assert ids(second, scope) == ["m_1"]
    keep(second, scope, "m_3")
    assert ids(first, scope) == ["m_1", "m_3"]
    assert second.problems() == []


def test_a_checkpoint_can_be_made_while_another_writes(home: Home, scope: Scope) -> None:
    first, second = home.open(), home.open()
    keep(first, scope, "m_1")
    with first.writing(scope) as work:
        work.memories.add(note("m_2"))
        made = second.checkpoints.create("meanwhile")
    assert made.memories == 1


def test_a_deleted_checkpoint_is_gone_with_its_copy(store: Store, home: Home) -> None:
    first, second = store.checkpoints.create("one"), store.checkpoints.create("two")
    assert store.checkpoints.delete("one") == first
    assert store.checkpoints.list() == [second]
    assert store.checkpoints.delete(second.id) == second
    assert list(home.checkpoint_folder.iterdir()) == []


def test_a_checkpoint_nobody_made_is_refused_by_name(store: Store, scope: Scope) -> None:
    for attempt in (lambda: store.checkpoints.restore("nowhere", scope), lambda: store.checkpoints.delete("nowhere")):
        with pytest.raises(CheckpointNotFound, match="nowhere") as refused:
            attempt()
        assert refused.value.remedy


def test_a_path_is_not_the_name_of_a_checkpoint(store: Store, home: Home) -> None:
    made = store.checkpoints.create("one")
    with pytest.raises(CheckpointNotFound):
        store.checkpoints.delete(f"../{home.checkpoint_folder.name}/{made.id}")
    assert store.checkpoints.list() == [made]


def test_a_name_that_two_checkpoints_have_is_refused_with_their_ids(store: Store, scope: Scope) -> None:
    made = [store.checkpoints.create("twin"), store.checkpoints.create("twin")]
    with pytest.raises(CheckpointNotFound, match="2 checkpoints are named 'twin'") as refused:
        store.checkpoints.restore("twin", scope)
    for one in made:
        assert one.id in refused.value.remedy
        store.checkpoints.restore(one.id, scope)


def test_a_name_without_a_visible_character_makes_no_checkpoint(store: Store, home: Home) -> None:
    with pytest.raises(BadValue, match="name"):
        store.checkpoints.create("  ")
    assert store.checkpoints.list() == []
    assert list(home.checkpoint_folder.iterdir()) == []


def cut(copy: Path) -> None:
    copy.write_bytes(copy.read_bytes()[:-100])


def flip(copy: Path) -> None:
    content = bytearray(copy.read_bytes())
    content[len(content) // 2] ^= 0xFF
    copy.write_bytes(content)


@pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
def test_a_damaged_copy_is_refused_and_nothing_is_replaced(
    store: Store, home: Home, scope: Scope, damage: Callable[[Path], None]
) -> None:
    keep(store, scope, "m_1")
    made = store.checkpoints.create("good")
    keep(store, scope, "m_2")
    before = position(store, scope)
    damage(copy_of(home, made))
    with pytest.raises(CheckpointFailed, match=made.id) as refused:
        store.checkpoints.restore(made.id, scope)
    assert "another checkpoint" in refused.value.remedy
    assert ids(store, scope) == ["m_1", "m_2"]
    assert position(store, scope) == before
    assert store.checkpoints.list() == [made]
    keep(store, scope, "m_3")


def test_a_copy_that_is_damaged_but_described_as_whole_is_refused_too(store: Store, home: Home, scope: Scope) -> None:
    """The hash guards against accidents; the content is looked at all the same."""
    keep(store, scope, *(f"m_{number}" for number in range(50)))
    made = store.checkpoints.create("good")
    copy = copy_of(home, made)
    content = bytearray(copy.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 4_096] = b"\xff" * 4_096
    copy.write_bytes(content)
    describe(home, made, content=hash_of(copy))
    before = position(store, scope)
    with pytest.raises((CheckpointFailed, StoreCorrupt)) as refused:
        store.checkpoints.restore(made.id, scope)
    assert refused.value.remedy
    assert position(store, scope) == before
    assert len(ids(store, scope)) == 50


def describe(home: Home, checkpoint: Checkpoint, **changed: object) -> None:
    """Write another description of a checkpoint."""
    described = {**checkpoint.as_json(), **changed}
    manifest_of(home, checkpoint).write_text(json.dumps(described), encoding="utf-8")


def test_a_checkpoint_of_a_newer_schema_is_refused(store: Store, home: Home, scope: Scope) -> None:
    made = store.checkpoints.create("future")
    if home.backend == "postgres":
        describe(home, made, schema="9999")
    else:
        with raw(store) as connection:
            connection.execute(text(f"UPDATE {schema.VERSION_TABLE} SET version_num = '9999'"))
        made = store.checkpoints.create("future, really")
        with raw(store) as connection:
            connection.execute(text(f"UPDATE {schema.VERSION_TABLE} SET version_num = '{schema.CURRENT.newest}'"))
    before = position(store, scope)
    with pytest.raises(AssayError, match="9999") as refused:
        store.checkpoints.restore(made.id, scope)
    assert refused.value.code == "schema_too_new"
    assert position(store, scope) == before


GARBLED = {
    "no JSON": "{",
    "a list": "[]",
    "empty": "",
    "not text": "\udcff",
    "a field less": '{"id": "ck_1"}',
    "too deep": "[" * 100_000,
}


def test_a_garbled_description_is_named_and_the_others_can_still_be_used(
    store: Store, home: Home, scope: Scope
) -> None:
    keep(store, scope, "m_1")
    good, bad = store.checkpoints.create("good"), store.checkpoints.create("bad")
    for content in GARBLED.values():
        manifest_of(home, bad).write_bytes(content.encode(errors="surrogateescape"))
        for attempt in (store.checkpoints.list, lambda: store.checkpoints.restore(bad.id, scope)):
            with pytest.raises(CheckpointFailed, match=bad.id) as refused:
                attempt()
            assert refused.value.remedy
    keep(store, scope, "m_2")
    store.checkpoints.restore(good.id, scope)
    assert ids(store, scope) == ["m_1"]


def test_a_description_with_a_value_no_checkpoint_has_is_called_garbled(store: Store, home: Home) -> None:
    made = store.checkpoints.create("good")
    for changed in ({"memories": -1}, {"id": "../x"}, {"created_at": 7}, {"created_at": "yesterday"}, {"more": 1}):
        describe(home, made, **changed)
        with pytest.raises(CheckpointFailed, match=made.id):
            store.checkpoints.list()


def test_what_a_killed_process_left_half_made_is_not_listed(store: Store, home: Home, scope: Scope) -> None:
    keep(store, scope, "m_1")
    made = store.checkpoints.create("whole")
    suffix = copy_of(home, made).suffix
    for name in (f"ck_half{suffix}", "ck_half.tmp", "ck_half.restoring", "ck_half.restoring-journal"):
        (home.checkpoint_folder / name).write_bytes(b"half")
    assert store.checkpoints.list() == [made]
    with pytest.raises(CheckpointNotFound):
        store.checkpoints.restore("ck_half", scope)
    store.checkpoints.restore(made.id, scope)
    assert ids(store, scope) == ["m_1"]


def test_copy_and_description_belong_to_their_owner_alone(store: Store, home: Home) -> None:
    store.checkpoints.create("private")
    modes = {file.suffix: stat.S_IMODE(file.stat().st_mode) for file in home.checkpoint_folder.iterdir()}
    assert len(modes) == 2
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(home.checkpoint_folder.stat().st_mode) == 0o700


def test_a_restore_leaves_no_files_behind(store: Store, home: Home, scope: Scope) -> None:
    keep(store, scope, "m_1")
    made = store.checkpoints.create("good")
    store.checkpoints.restore(made.id, scope)
    left = {file.suffix for file in home.checkpoint_folder.iterdir()}
    assert left == {".json", copy_of(home, made).suffix}
    assert len(list(home.checkpoint_folder.iterdir())) == 2 * len(store.checkpoints.list())


def test_a_folder_that_cannot_be_made_is_named(home: Home, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    store = home.open(checkpoint_folder=tmp_path / "taken" / "checkpoints")
    with pytest.raises((CheckpointFailed, StoreReadOnly), match="taken") as refused:
        store.checkpoints.create("nowhere")
    assert refused.value.remedy


def test_a_set_folder_keeps_two_stores_of_the_same_name_apart(tmp_path: Path, clock: FixedClock) -> None:
    homes = [Home(str(tmp_path / place / "notes.db"), clock) for place in ("here", "there")]
    made = []
    for home in homes:
        with home.open(checkpoint_folder=tmp_path / "kept") as store:
            made.append(store.checkpoints.create("elsewhere"))
            assert store.checkpoints.list() == made[-1:]
        assert not home.checkpoint_folder.exists()
    assert len(list((tmp_path / "kept").glob("notes.db-*/*.db"))) == 2


def corrupt(path: Path) -> None:
    """Overwrite everything but the first page."""
    content = bytearray(path.read_bytes())
    content[4_096:] = b"\xa5" * (len(content) - 4_096)
    path.write_bytes(content)


def lose(path: Path) -> None:
    path.unlink()


def overwrite(path: Path) -> None:
    path.write_text("Not a database, but a letter to my aunt, and quite a long one. " * 100)


@pytest.mark.parametrize("damage", [corrupt, lose, overwrite])
def test_a_store_that_cannot_be_opened_is_restored_and_the_wreck_is_kept(
    file_home: Home, scope: Scope, damage: Callable[[Path], None]
) -> None:
    path = Path(file_home.address)
    with file_home.open() as store:
        keep(store, scope, "m_1")
        with store.writing(scope) as work:
            work.access_tokens.add(token("t_since_revoked"))
        made = store.checkpoints.create("good")
        keep(store, scope, "m_2")
    damage(path)
    wreck = path.read_bytes() if path.exists() else None
    restored = restore_checkpoint(file_home.address, made.id, scope, file_home.clock, file_home.options)
    assert restored.checkpoint == made
    if wreck is not None:
        assert Path(restored.kept_aside).read_bytes() == wreck
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with file_home.open(create=False) as store:
        assert ids(store, scope) == ["m_1"]
        assert store.problems() == []
        assert position(store, scope).epoch != made.epoch
        # Nobody can say whether the token was revoked since: it opens nothing.
        assert [one is not None and one.revoked_at is not None for one in opened_by(store, "t_since_revoked")] == [True]
    assert "revoked" in restored.note


def test_a_wreck_is_left_alone_when_the_checkpoint_is_no_good(file_home: Home, scope: Scope) -> None:
    path = Path(file_home.address)
    with file_home.open() as store:
        made = store.checkpoints.create("bad")
    flip(copy_of(file_home, made))
    overwrite(path)
    wreck = path.read_bytes()
    lock = WriteLock(path, clock=file_home.clock, timeout_s=BOUND_S)
    with pytest.raises(CheckpointFailed):
        restore_over_damage(
            path, made.id, scope, folder=None, lock=lock, clock=file_home.clock, ids=IdFactory(file_home.clock)
        )
    assert path.read_bytes() == wreck
    with pytest.raises(NotAStore):
        file_home.open()


def test_restoring_a_store_that_can_be_opened_needs_no_open_store(home: Home, scope: Scope) -> None:
    with home.open() as store:
        keep(store, scope, "m_1")
        made = store.checkpoints.create("good")
        keep(store, scope, "m_2")
    restore_checkpoint(home.address, "good", scope, home.clock, home.options)
    assert ids(home.open(), scope) == ["m_1"]
    assert made in list_checkpoints(home.address, home.options)


OLD_PG_DUMP = "#!/bin/sh\necho 'pg_dump: error: aborting because of server version mismatch' >&2\nexit 1\n"


@pytest.fixture(params=["missing", "old"])
def programs(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder of client programs that cannot serve: empty, or with a pg_dump older than the server."""
    folder = tmp_path / "programs"
    folder.mkdir()
    if request.param == "old":
        (folder / "pg_dump").write_text(OLD_PG_DUMP)
        (folder / "pg_dump").chmod(0o755)
    return folder


def postgres_home(server: PostgresServer, clock: FixedClock, folder: Path, name: str, programs: Path) -> Home:
    return Home(
        server.address,
        clock,
        postgres_schema=name,
        postgres_programs=programs,
        checkpoint_folder=folder / "checkpoints",
    )


def test_checkpoints_of_postgres_need_no_client_program(
    postgres: PostgresServer, clock: FixedClock, scope: Scope, tmp_path: Path, programs: Path
) -> None:
    home = postgres_home(postgres, clock, tmp_path, f"no_programs_{len(list(programs.iterdir()))}", programs)
    with home.open() as store:
        keep(store, scope, "m_1")
        store.checkpoints.create("good")
        keep(store, scope, "m_2")
        assert [one.name for one in store.checkpoints.holding(scope.tenant, None)] == ["good"]
        assert store.checkpoints.holding("rival", None) == []
        store.checkpoints.restore("good", scope)
        assert ids(store, scope) == ["m_1"]
        assert store.problems() == []


def dumped(home: Home, server: PostgresServer, store: Store) -> Checkpoint:
    """A checkpoint as earlier versions made it: the dump of pg_dump in the place of the copied tables."""
    made = store.checkpoints.create("old kind")
    copy = copy_of(home, made)
    dump = copy.with_suffix(".dump")
    address = make_url(server.address).set(drivername="postgresql").render_as_string(hide_password=False)
    schema_option = f"--schema={home.options.postgres_schema}"
    arguments: list[str | Path] = [
        server.programs / "pg_dump",
        "--format=custom",
        "--no-owner",
        schema_option,
        f"--file={dump}",
        address,
    ]
    subprocess.run(arguments, check=True)
    copy.unlink()
    describe(home, made, content=hash_of(dump), size_bytes=dump.stat().st_size)
    return made


def test_a_dump_of_an_earlier_version_is_restored_with_the_programs(
    postgres: PostgresServer, clock: FixedClock, scope: Scope, tmp_path: Path
) -> None:
    home = postgres_home(postgres, clock, tmp_path, "old_dumps", postgres.programs)
    with home.open() as store:
        keep(store, scope, "m_1")
        with store.writing(scope) as work:
            work.access_tokens.add(token("t_revoked"))
        made = dumped(home, postgres, store)
        keep(store, scope, "m_2")
        with store.writing(scope) as work:
            work.access_tokens.revoke("t_revoked", clock.now())
            work.audit.append("after", "dump")
        assert [one.id for one in store.checkpoints.holding(scope.tenant, None)] == [made.id]
        assert store.checkpoints.holding("rival", None) == []
        store.checkpoints.restore(made.id, scope)
        assert ids(store, scope) == ["m_1"]
        assert [one is not None and one.revoked_at is not None for one in opened_by(store, "t_revoked")] == [True]
        with store.reading(scope) as work:
            assert [line.action for line in work.audit.entries()][:2] == ["checkpoint.restored", "after"]
    with home.open(postgres_programs=tmp_path) as store:
        with pytest.raises(CheckpointFailed, match="pg_restore") as refused:
            store.checkpoints.restore(made.id, scope)
        assert "postgresql-client" in refused.value.remedy
        assert [one.id for one in store.checkpoints.holding("rival", None)] == [made.id]
        store.checkpoints.delete(made.id)
    assert list(home.checkpoint_folder.iterdir()) == []


def test_a_dump_with_a_rule_is_refused_and_nothing_is_replaced(
    postgres: PostgresServer, clock: FixedClock, scope: Scope, tmp_path: Path
) -> None:
    home = postgres_home(postgres, clock, tmp_path, "ruled_dumps", postgres.programs)
    with home.open() as store:
        keep(store, scope, "m_1")
        with raw(store) as connection:
            connection.execute(text("CREATE RULE spy AS ON DELETE TO ruled_dumps.audit DO INSTEAD NOTHING"))
        made = dumped(home, postgres, store)
        with raw(store) as connection:
            connection.execute(text("DROP RULE spy ON ruled_dumps.audit"))
        keep(store, scope, "m_2")
        with pytest.raises(CheckpointFailed, match="rule 'audit spy', which Assay did not make"):
            store.checkpoints.restore(made.id, scope)
        assert ids(store, scope) == ["m_1", "m_2"]


def test_a_checkpoint_of_an_older_schema_is_restored_and_brought_up_to_date(empty_home: Home, scope: Scope) -> None:
    home = empty_home
    older = schema.Schema(scripts=schema.CURRENT.scripts, newest="0008")
    with bare(home) as connection:
        schema.upgrade(connection, "here", older)
        Work(connection, scope, home.clock).meta.put(EPOCH, IdFactory(home.clock).new("ep"))
    with open_store(home.address, clock=home.clock, options=home.options, schema=older) as store:
        # Today's repositories look whether PostgreSQL is the index of the tenant, in a table that came later.
        columns = "tenant text, passages int, tokens int, complete int, analysis text, title_repeats int"
        with raw(store) as connection:
            connection.exec_driver_sql(f"CREATE TABLE passage_stem_totals ({columns})")
            connection.exec_driver_sql("ALTER TABLE memories ADD COLUMN surroundings text NOT NULL DEFAULT ''")
        keep(store, scope, "m_1")
        with raw(store) as connection:
            connection.exec_driver_sql("DROP TABLE passage_stem_totals")
            connection.exec_driver_sql("ALTER TABLE memories DROP COLUMN surroundings")
        made = store.checkpoints.create("before the upgrade")
    assert made.schema == "0008"
    with home.open() as store:
        keep(store, scope, "m_2")
        store.checkpoints.restore(made.id, scope)
        assert ids(store, scope) == ["m_1"]
        with store.writing(scope) as work:
            work.queries.add_many([samples.full_query("q_1")])
        assert store.problems() == []


def test_postgres_needs_a_folder_for_its_checkpoints(postgres: PostgresServer, clock: FixedClock) -> None:
    home = Home(postgres.address, clock, postgres_schema="no_folder")
    with home.open() as store, pytest.raises(SettingError) as refused:
        store.checkpoints.create("nowhere")
    assert "checkpoints.folder" in refused.value.remedy


def test_a_dump_of_another_schema_is_refused_and_nothing_is_replaced(
    postgres: PostgresServer, clock: FixedClock, scope: Scope, tmp_path: Path
) -> None:
    shared = {"postgres_programs": postgres.programs, "checkpoint_folder": tmp_path / "shared"}
    one = Home(postgres.address, clock, postgres_schema="shared_one", **shared).open()
    two = Home(postgres.address, clock, postgres_schema="shared_two", **shared).open()
    keep(one, scope, "m_one")
    keep(two, scope, "m_two")
    made = one.checkpoints.create("of one")
    with pytest.raises(CheckpointFailed) as refused:
        two.checkpoints.restore(made.id, scope)
    assert refused.value.remedy
    assert (ids(one, scope), ids(two, scope)) == (["m_one"], ["m_two"])
    one.close()
    two.close()
