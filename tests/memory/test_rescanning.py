"""Secrets that an older version stored are found everywhere and masked to the last byte."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from tests.memory.engines import engine_at
from tests.storage import samples
from tests.storage.homes import Home, raw

from assay.memory.engine import Engine
from assay.records import Chunk, Draft, Scope, SearchRequest
from assay.records.memory import LABEL_FIELDS, TEXT_FIELDS
from assay.settings import load_settings
from assay.storage.erasing import search
from assay.testing import note
from assay.wiring import open_engine

TOKEN = "glpat-" + "aB3x" * 5
CARD = "4539 1488 0343 6467"
ASKED = "figd_" + "qR7t" * 10


def store_in_clear(engine: Engine, scope: Scope) -> None:
    """Write rows as a version would that knew none of these kinds."""
    body = f"The mirror clones with {TOKEN} every night, and the card is {CARD}."
    memory = note("m_old", title="Mirror", body=body, triggers=(f"mirror {TOKEN}",), metadata={"said": [TOKEN]})
    with engine.store.writing(scope) as work:
        work.memories.add(memory, [Chunk(memory_id="m_old", position=0, text=body, token_count=20)])
        work.memories.add(note("m_plain", title="Tea", body="Green tea wants eighty degrees."))
        work.queries.add_many([samples.query("q_old", query="plain words")])
        work.audit.append("note", "m_old", {"said": "plain"})
    with raw(engine.store, scope.tenant) as connection:
        connection.execute(
            text("UPDATE eval_queries SET query = :said WHERE query_id = 'q_old'"), {"said": f"who uses {ASKED}"}
        )
        connection.execute(
            text("UPDATE audit SET detail = :said WHERE target = 'm_old'"), {"said": f'{{"said":"{ASKED}"}}'}
        )


def files_of(home: Home) -> list[Path]:
    folder = Path(home.address).parent if home.backend == "sqlite" else home.checkpoint_folder.parent
    return [path for path in folder.rglob("*") if path.is_file()]


def test_what_is_stored_in_clear_is_found_by_kind_and_id_and_nothing_is_changed(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        store_in_clear(engine, scope)
        found = engine.rescanning.find(scope)
        assert not found.clean
        assert not found.masked
        assert found.kinds == {"GitLab token": 3, "card number": 1, "Figma token": 2}
        assert found.memories == {"m_old": ("GitLab token", "card number")}
        assert found.rows == {"eval_queries": 1, "audit": 1}
        with engine.store.reading(scope) as work:
            assert TOKEN in work.memories.get("m_old").body


@pytest.mark.parametrize("name", [*TEXT_FIELDS, *LABEL_FIELDS])
def test_a_secret_is_found_in_every_field_that_a_writer_gives(name: str, tmp_path: Path, scope: Scope) -> None:
    with open_engine(
        load_settings(options={"db": str(tmp_path / "notes.db"), "embedder.kind": "none"}).settings
    ) as engine:
        with engine.store.writing(scope) as work:
            changed: dict[str, Any] = {name: (TOKEN,) if name in LABEL_FIELDS else TOKEN}
            work.memories.add(replace(note("m_old", title="Mirror", body="The mirror."), **changed))
        assert engine.rescanning.find(scope).memories == {"m_old": ("GitLab token",)}


def test_masking_reaches_memories_words_vectors_logs_and_bytes(home: Home, scope: Scope) -> None:
    with engine_at(home, index_exact_below=1) as engine:
        store_in_clear(engine, scope)
        engine.searcher.search(scope, SearchRequest(query="mirror"))
        done = engine.rescanning.mask(scope)
        assert done.masked
        assert done.left == ()
        assert engine.store.problems() == []
        with engine.store.reading(scope) as work:
            memory = work.memories.get("m_old")
            assert memory.body == (
                "The mirror clones with [masked: GitLab token] every night, and the card is [masked: card number]."
            )
            assert memory.triggers == ("mirror [masked: GitLab token]",)
            assert memory.metadata["said"] == ["[masked: GitLab token]"]
            assert all(TOKEN not in chunk.text for chunk in work.memories.chunks_of("m_old"))
            assert work.queries.get("q_old").query == "who uses [masked: Figma token]"
            [line] = work.audit.entries(target=scope.tenant)
            assert line.action == "memory.rescan"
            assert line.detail["secrets"] == 6
            assert work.memories.get("m_plain").body == "Green tea wants eighty degrees."
        assert [hit.memory_id for hit in engine.searcher.search(scope, SearchRequest(query="mirror clones")).hits][
            :1
        ] == ["m_old"]
        assert engine.rescanning.find(scope).clean
    needles = [one.lower().encode() for one in (TOKEN, CARD, ASKED, TOKEN.removeprefix("glpat-"))]
    assert search(files_of(home), needles).found == {}


def test_checkpoints_that_still_hold_a_secret_are_named(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        store_in_clear(engine, scope)
        kept = engine.store.checkpoints.create("before")
        done = engine.rescanning.mask(scope)
        assert done.checkpoints == (kept.id,)
        assert engine.rescanning.find(scope).checkpoints == ()


def test_a_store_without_secrets_is_left_alone(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        engine.saver.save(scope, Draft(title="Tea", body=f"Green tea, and {TOKEN} was masked when it came."))
        found = engine.rescanning.mask(scope)
        assert found.clean
        assert found.secrets == 0
        with engine.store.reading(scope) as work:
            assert work.audit.entries(target=scope.tenant) == []


def test_another_tenants_rows_are_not_looked_at(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        store_in_clear(engine, scope)
        other = Scope(tenant="globex", principal="eve")
        assert engine.rescanning.find(other).secrets == 0
        engine.rescanning.mask(other)
        assert engine.rescanning.find(scope).secrets == 6
