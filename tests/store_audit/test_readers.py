"""The contract of readers: found by look, every memory read once, the original untouched, a copy rewritten exactly."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from bench.audit_stores import pickle_point
from tests.store_audit.stores import KINDS, TEXTS, hash_tree, make_store

from assay.errors import InputError, MalformedFile
from assay.records.store_audits import StoreKind
from assay.storage.foreign_sqlite import open_foreign
from assay.store_audit.auditor import read_store
from assay.store_audit.readers import READERS, TextChange, find_reader
from assay.store_audit.readers.markdown_folders import find_blocks
from assay.store_audit.readers.pickled_points import UnreadablePickle, read_point, replace_text

REWRITTEN = tuple(reader.kind for reader in READERS if not reader.cannot_rewrite)


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_is_found_by_its_look_and_read_whole_without_touching_it(kind: StoreKind, tmp_path: Path) -> None:
    path = make_store(kind, tmp_path / "made")
    before = hash_tree(path)
    store = read_store(path)
    assert store.reader.kind is kind
    assert [item.text for item in store.items] == [text for text, _ in TEXTS] or kind is StoreKind.LETTA
    assert sorted(item.text for item in store.items) == sorted(text for text, _ in TEXTS)
    assert len({item.key for item in store.items}) == len(TEXTS)
    assert not store.unread
    assert hash_tree(path) == before
    assert read_store(path, kind).digest == store.digest


@pytest.mark.parametrize("kind", REWRITTEN)
def test_a_copy_is_rewritten_where_it_was_told_and_nowhere_else(kind: StoreKind, tmp_path: Path) -> None:
    path = make_store(kind, tmp_path / "made")
    keys = {item.text: item.key for item in read_store(path).items}
    gone, changed = "ok thanks", "Petra speaks Dutch."
    find_reader(path).rewrite(path, {keys[gone]: TextChange(None), keys[changed]: TextChange("Petra speaks Frisian.")})
    left = sorted(item.text for item in read_store(path, kind).items)
    expected = [text for text, _ in TEXTS if text not in (gone, changed)] + ["Petra speaks Frisian."]
    assert left == sorted(expected)
    held = b"".join(file.read_bytes() for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file())
    assert changed.encode() not in held


def test_a_store_that_is_no_store_is_refused_with_the_kinds(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"nothing")
    with pytest.raises(MalformedFile, match="no store that is known by its look") as refused:
        find_reader(tmp_path / "x.bin")
    assert "langgraph" in refused.value.remedy
    with pytest.raises(InputError, match="there is no file or folder"):
        find_reader(tmp_path / "nowhere")
    with pytest.raises(MalformedFile, match="is not a SQLite database"):
        read_store(tmp_path / "x.bin", StoreKind.LANGGRAPH)


def test_what_cannot_be_read_is_counted_by_its_reason(tmp_path: Path) -> None:
    lines = [
        '{"id": "a", "text": "The portal is blue."}',
        "{broken",
        "[1]",
        '{"id": "b"}',
        '{"id": "a", "text": "Twice."}',
    ]
    (tmp_path / "notes.jsonl").write_text("\n".join(lines), encoding="utf-8")
    store = read_store(tmp_path / "notes.jsonl")
    assert [item.key for item in store.items] == ["a", "line 5"]
    assert sorted(entry.reason for entry in store.unread) == ["no text", "not JSON", "not an object"]
    entities = [
        {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["Likes tea.", 7]},
        {"type": "entity", "observations": ["x"]},
        {"type": "relation", "from": "Ada"},
    ]
    (tmp_path / "memory.jsonl").write_text("\n".join(map(json.dumps, entities)), encoding="utf-8")
    graph = read_store(tmp_path / "memory.jsonl")
    assert [(item.key, item.title, item.text) for item in graph.items] == [("Ada#0", "Ada", "Likes tea.")]
    assert sorted(entry.reason for entry in graph.unread) == [
        "a relation with a part missing",
        "no text",
        "not an entity or relation",
    ]


def test_rows_that_only_the_log_of_a_database_has_are_read_and_the_log_stays(tmp_path: Path) -> None:
    path = make_store(StoreKind.LANGGRAPH, tmp_path)
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute(
            "INSERT INTO store VALUES ('memories.ada', 'late', '{\"content\": \"Written late.\"}', 0, 0, 0, 0)"
        )
        writer.commit()
        # The writer is still open, so its rows are in the log alone.
        shutil.copytree(tmp_path, tmp_path.with_name("copied"))
    copied = tmp_path.with_name("copied") / path.name
    assert copied.with_name(copied.name + "-wal").stat().st_size > 0
    before = hash_tree(copied)
    assert "Written late." in {item.text for item in read_store(copied).items}
    assert hash_tree(copied) == before


def test_a_history_of_mem0_alone_gives_the_last_text_of_what_was_not_deleted(tmp_path: Path) -> None:
    path = make_store(StoreKind.MEM0, tmp_path) / "history.db"
    with closing(sqlite3.connect(path)) as history, history:
        history.execute("INSERT INTO history VALUES ('x', 'm00000', 'old', 'new', 'UPDATE', NULL, NULL, 0, NULL, NULL)")
        history.execute("INSERT INTO history VALUES ('y', 'm00001', 'old', NULL, 'DELETE', NULL, NULL, 1, NULL, NULL)")
        history.execute("CREATE TABLE messages (id TEXT, content TEXT)")
        history.execute("INSERT INTO messages VALUES ('1', 'hello')")
    store = read_store(path)
    texts = {item.key: item.text for item in store.items}
    assert texts["m00000"] == "new"
    assert "m00001" not in texts
    assert [entry.reason for entry in store.unread] == ["a message, not a memory"]


def test_names_that_mem0_links_by_are_no_memories_and_no_second_copy_of_a_text_is_left(tmp_path: Path) -> None:
    path = make_store(StoreKind.MEM0, tmp_path)
    stored = {"data": "The code is 4711-oak.", "text_lemmatized": "the code be 4711-oak", "created_at": "2025-01-01"}
    entity = {"data": "Oak", "linked_memory_ids": ["p"]}
    with closing(sqlite3.connect(next(path.rglob("storage.sqlite")))) as points, points:
        for key, payload in (("p", stored), ("e", entity)):
            points.execute("INSERT INTO points VALUES (?, ?)", (key, pickle_point(key, payload, [0.5])))
    store = read_store(path)
    assert [entry.reason for entry in store.unread] == ["an entity, not a memory"]
    assert next(item for item in store.items if item.key == "p").metadata == {}
    store.reader.rewrite(path, {"p": TextChange("The code is gone.")})
    assert b"4711" not in next(path.rglob("storage.sqlite")).read_bytes()
    assert next(item for item in read_store(path).items if item.key == "p").text == "The code is gone."


class _Hostile:
    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return os.mkdir, ("ran",)


def test_a_hostile_pickle_is_data_and_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    hostile = pickle.dumps(_Hostile())
    with pytest.raises(UnreadablePickle):
        read_point(hostile)
    inside = pickle_point("p", {"data": "A note.", "metadata": "x"}, [0.5])
    planted = inside.replace(b"\x8c\x01x", pickle.dumps(_Hostile(), protocol=2)[2:-1])
    assert read_point(planted).payload["data"] == "A note."
    assert not (tmp_path / "ran").exists()
    path = make_store(StoreKind.MEM0, tmp_path / "made")
    with closing(sqlite3.connect(next(path.rglob("storage.sqlite")))) as points, points:
        points.execute("INSERT INTO points VALUES ('evil', ?)", (hostile,))
    assert [entry.reason for entry in read_store(path).unread] == ["not a plain point"]
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickled_data_of_every_protocol_is_read_and_a_text_exchanged(protocol: int) -> None:
    payload = {"data": "Ünïcode note", "n": 7, "big": 2**40, "flag": True, "none": None, "tags": ["a", (0.5, 1.5)]}
    data = pickle.dumps({"id": "p", "payload": payload, "vector": [0.5] * 2_000}, protocol=protocol)
    found = read_point(data)
    assert found.payload == {**payload, "tags": ["a", [0.5, 1.5]]}
    changed = replace_text(data, "Ünïcode note", "Another note, which is longer than the first.")
    assert pickle.loads(changed)["payload"]["data"].startswith("Another")
    assert read_point(changed).payload["data"].startswith("Another")
    for cut in range(0, len(data) - 1, 97):
        with pytest.raises(UnreadablePickle):
            read_point(data[:cut])


def test_points_and_paragraphs_of_markdown_are_memories_and_the_rest_is_not() -> None:
    text = (
        "---\ntitle: x\n---\n# Build\n\nRun make first.\nThen wait.\n\n```sh\nmake all\n```\n\n- Use tabs\n"
        "  - in makefiles\n- Use spaces\n\n| a | b |\n| - | - |\n"
    )
    blocks = find_blocks(text)
    assert [block.text for block in blocks] == ["Run make first.\nThen wait.", "Use tabs\n- in makefiles", "Use spaces"]
    assert {block.heading for block in blocks} == {"Build"}


def test_names_of_tables_are_never_made_of_data(tmp_path: Path) -> None:
    path = make_store(StoreKind.LANGGRAPH, tmp_path)
    with open_foreign(path) as database, pytest.raises(ValueError, match="is not the name of a table or column"):
        list(database.rows('store"; --', ("key",)))
