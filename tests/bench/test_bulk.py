"""A store that was written in bulk is like one that was saved: the same words, sound references, an index over all."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from bench.passages import SCOPE, Material, material

from assay.records import Draft, Format, Mode, SearchRequest
from assay.settings import Settings
from assay.storage.full_text import analyse_body
from assay.wiring import open_engine
from bench import bulk

TEXTS = [
    "Kettles boil water in the old kitchen. Gauges show how hot a boiler is! Ships carry grain over the northern sea.",
    "Bees fly to flowers when the sun is warm. Keepers take honey late in the summer.",
    "Word.",
]


@pytest.fixture
def real(tmp_path: Path) -> Material:
    with open_engine(Settings(db=str(tmp_path / "real.db")), embedder=bulk.WordVectors(TEXTS)) as engine:
        for place, text in enumerate(TEXTS):
            engine.saver.save(SCOPE, Draft(title=f"Title {place}", body=text, format=Format.TEXT))
        return material(engine.store)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "BATCH", 5)
    monkeypatch.setattr(bulk, "COMMITTED", 2)


def rows(db: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(db)) as connection:
        return connection.execute(statement).fetchall()


@pytest.mark.usefixtures("small_batches")
def test_a_bulk_store_is_sound_and_can_be_searched(tmp_path: Path, real: Material) -> None:
    db = tmp_path / "bulk.db"
    bulk.fill_bulk(db, real, 103)
    made = -(-(103 - len(real.chunks)) // bulk.PER_MEMORY) * bulk.PER_MEMORY
    assert rows(db, "SELECT count(*) FROM chunks") == [(len(real.chunks) + made,)]
    assert rows(db, "PRAGMA foreign_key_check") == rows(db, "PRAGMA integrity_check")[1:] == []
    words = "SELECT c.heading_path, c.text, f.body FROM chunks c JOIN passages_fts f ON f.rowid = c.number"
    assert all(analyse_body(str(path), str(text)) == body for path, text, body in rows(db, words))
    with open_engine(Settings(db=str(db)), embedder=bulk.WordVectors(TEXTS)) as engine:
        folded = engine.indexes.compact(SCOPE)
        assert folded.passages == len(real.chunks) + made
        assert len(engine.searcher.search(SCOPE, SearchRequest(query="bees and honey", mode=Mode.FOCUSED)).hits) > 5


@pytest.mark.usefixtures("small_batches")
def test_filling_goes_on_where_it_was_stopped(tmp_path: Path, real: Material) -> None:
    whole, stopped = tmp_path / "whole.db", tmp_path / "stopped.db"
    bulk.fill_bulk(whole, real, 150)
    bulk.fill_bulk(stopped, real, 3)
    writing = bulk.add_made(stopped, real, 150)
    assert next(writing) == len(real.chunks) + 40
    writing.close()
    bulk.fill_bulk(stopped, real, 150)
    everything = "SELECT number, memory_id, text FROM chunks ORDER BY number"
    assert rows(whole, everything) == rows(stopped, everything)
    vectors = "SELECT number, vector FROM vectors ORDER BY number"
    assert rows(whole, vectors) == rows(stopped, vectors)


def test_texts_that_share_rare_words_are_near() -> None:
    embedder = bulk.WordVectors(TEXTS)
    bees, honey, ships = embedder.embed(["bees and flowers", "the bees of the flowers", "the ships at sea"])
    assert bees @ honey > bees @ ships + 0.3
    between = bulk.put_between(np.stack([bees]), embedder.embed(TEXTS))
    assert int(np.argmax(embedder.embed(TEXTS) @ between[0])) == 1
