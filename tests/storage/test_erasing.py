"""What a DELETE leaves behind, and what does not."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import make_url
from tests.storage import samples
from tests.storage.homes import Home, PostgresServer

from assay.clock import SystemClock
from assay.errors import StoreBusy
from assay.records import Chunk, Scope
from assay.storage import Marks, Store, open_store
from assay.storage.byte_search import found_in
from assay.storage.erasing import Erasing, search
from assay.testing import FixedClock, note

MARKER = "quetzalmarker"


def remember(store: Store, scope: Scope, memory_id: str = "m_1", word: str = MARKER) -> None:
    text = f"The word is {word.title()}, said twice: {word}."
    with store.writing(scope) as work:
        chunk = Chunk(memory_id=memory_id, position=0, text=text, token_count=9)
        work.memories.add(note(memory_id, body=text, triggers=(word,)), [chunk])


def files_of(home: Home, postgres: PostgresServer | None) -> list[Path]:
    folder = Path(home.address).parent if postgres is None else postgres.data
    return [path for path in folder.rglob("*") if path.is_file() and "pg_wal" not in path.parts]


def test_a_search_finds_bytes_across_blocks_whatever_their_case(tmp_path: Path) -> None:
    file = tmp_path / "large"
    file.write_bytes(b"x" * ((1 << 22) - 3) + b"NeeDle" + b"y" * 100)
    assert found_in(file, [b"needle", b"other"]) == [0]
    assert search([file, tmp_path / "gone"], [b"other", b"needle"]).found == {str(file): [1]}
    assert found_in(file, []) == []


def test_deleted_words_stay_in_the_files_until_they_are_scrubbed(
    request: pytest.FixtureRequest, home: Home, store: Store, scope: Scope
) -> None:
    postgres = request.getfixturevalue("postgres") if home.backend == "postgres" else None
    # The server has other tests' schemas in its files.
    gone, kept = (f"{word}{uuid4().hex}" for word in ("gone", "kept"))
    remember(store, scope, word=gone)
    remember(store, scope, "m_2", kept)
    with store.writing(scope) as work:
        work.memories.remove("m_1")
    if postgres is not None:
        postgres.run("CHECKPOINT", database=home.address.rsplit("/", 1)[1].split("?")[0])
    assert search(files_of(home, postgres), [gone.encode()]).found

    store.erasing.scrub()

    assert search(files_of(home, postgres), [gone.encode()]).found == {}
    assert search(files_of(home, postgres), [kept.encode()]).found
    assert store.problems() == []
    assert store.damage() == []


def test_a_word_that_only_the_full_text_index_still_knows_goes_too(
    tmp_path: Path, scope: Scope, clock: FixedClock
) -> None:
    """FTS5 keeps a deleted word in its segments until they merge: VACUUM alone copies it."""
    with open_store(tmp_path / "notes.db", clock=clock) as store:
        _forget_by_vacuum_alone(store, scope)
        assert search(store.erasing.files(), [MARKER[3:].encode()]).found
        store.erasing.scrub()
        assert search(store.erasing.files(), [MARKER[3:].encode()]).found == {}


def _forget_by_vacuum_alone(store: Store, scope: Scope) -> None:
    remember(store, scope)
    with store.writing(scope) as work:
        work.memories.remove("m_1")
    with store._backend.writer_file() as connection:  # type: ignore[attr-defined]
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def test_readers_go_on_and_one_that_never_pauses_is_told(home: Home, store: Store, scope: Scope) -> None:
    remember(store, scope)
    other = home.open(create=False)
    with other.reading(scope) as work:
        assert work.memories.count() == 1
    store.erasing.scrub()
    with other.reading(scope) as work:
        assert work.memories.count() == 1
    if home.backend == "postgres":
        return
    impatient = Erasing(store._backend, SystemClock(), patience_s=0.0)
    with other.reading(scope) as work:
        work.memories.count()
        remember(store, scope, "m_2")
        with pytest.raises(StoreBusy, match="read without a pause"):
            impatient.scrub()
    impatient.scrub()
    assert store.problems() == []


def test_a_snapshot_from_before_is_waited_for_since_rewriting_keeps_what_it_sees(
    postgres: PostgresServer, tmp_path: Path, clock: FixedClock, scope: Scope
) -> None:
    home = Home(postgres.address, clock, postgres_schema=f"t_{uuid4().hex[:12]}", checkpoint_folder=tmp_path)
    store, gone = home.open(), f"gone{uuid4().hex}"
    remember(store, scope, word=gone)
    impatient = Erasing(store._backend, SystemClock(), patience_s=0.2)
    with psycopg.connect(make_url(home.address).set(drivername="postgresql").render_as_string(False)) as reader:
        # It looks at no table of ours, so that no lock keeps the rewriting waiting.
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT count(*) FROM pg_class")
        with store.writing(scope) as work:
            work.memories.remove("m_1")
        with pytest.raises(StoreBusy, match="older than the erasure"):
            impatient.scrub()
    impatient.scrub()
    assert search(files_of(home, postgres), [gone.encode()]).found == {}
    home.close()


def test_checkpoints_that_hold_something_are_told_from_those_that_do_not(
    home: Home, store: Store, scope: Scope
) -> None:
    empty = store.checkpoints.create("empty")
    remember(store, scope)
    full = store.checkpoints.create("full")
    marks = Marks(names=(MARKER,))
    assert [one.id for one in store.checkpoints.holding("acme", marks)] == [full.id]
    assert list(store.checkpoints.holding("rival", marks)) == []
    assert [one.id for one in store.checkpoints.holding("acme", None)] == [full.id]
    [copy] = [path for path in home.checkpoint_folder.iterdir() if path.stem == empty.id and path.suffix != ".json"]
    copy.write_bytes(b"garbage")
    assert {one.id for one in store.checkpoints.holding("acme", marks)} == {empty.id, full.id}


def test_what_a_restore_kept_aside_is_listed_and_can_go(home: Home, store: Store, scope: Scope) -> None:
    remember(store, scope)
    made = store.checkpoints.create("one")
    if home.backend == "postgres":
        store.checkpoints.restore(made.id, scope)
    else:
        Path(home.address + ".damaged-20260101T000000").write_text(MARKER)
    [aside] = store.erasing.list_aside()
    store.erasing.remove_aside(aside)
    assert store.erasing.list_aside() == []


def test_every_table_of_a_tenant_is_emptied_and_no_other(store: Store, scope: Scope, clock: FixedClock) -> None:
    rival = Scope(tenant="rival")
    for one in (scope, rival):
        remember(store, one)
        with store.writing(one) as work:
            work.queries.add_many([samples.query()])
            work.feedback.record([samples.event()])
            work.audit.append("x", "y", {"z": 1})
    with store.reading(scope) as work:
        before = work.changes.position()
    with store.writing(scope) as work:
        work.erasure.strike_tenant("ep_new")
    with store.reading(scope) as work:
        assert work.erasure.count(None) == {}
        assert work.changes.follow(before).must_rebuild
    with store.reading(rival) as work:
        assert work.memories.count() == 1
        assert work.erasure.count(None)["eval_queries"] == 1
    with store.reading(Scope()) as work:
        [line] = [one for one in work.audit.entries() if one.action == "tenant.forget"]
        assert "acme" not in line.target
    assert store.problems() == []


def test_a_search_that_was_asked_after_an_erased_text_holds_it_too(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.queries.add_many(
            [
                samples.query("q_1", query="how much is it", previous_query="where does Ann Lee park"),
                samples.query("q_2", query="how much is it", previous_query="where is the garage"),
                samples.query("q_3", query="how much is it"),
            ]
        )
    with store.reading(scope) as work:
        assert work.erasure.queries_holding(Marks(names=("Ann Lee",))) == ["q_1"]
