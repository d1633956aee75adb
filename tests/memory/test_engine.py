"""The parts together, on both back ends: one engine, many tenants, closed cleanly."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from tests.memory.engines import engine_at, settings_of
from tests.storage.homes import Home

from assay.embedding.protocol import Progress, Vectors
from assay.errors import MissingExtra, SettingError
from assay.memory.engine import FOLD_FROM
from assay.records import Channel, Draft, EdgeKind, SaveDecision, Scope, SearchRequest, make_draft
from assay.testing import HashedEmbedder
from assay.wiring import load_embedder, open_engine

TEA = Draft(title="Tea", body="The tea is kept in the left cupboard of the small kitchen.", triggers=("thirsty",))


def test_a_save_is_found_by_every_channel_that_can(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        tea = engine.saver.save(scope, TEA).memory_id
        rain = engine.saver.save(scope, Draft(title="Rain", body="Umbrellas stand behind the door.")).memory_id
        assert tea is not None
        assert rain is not None
        engine.link(scope, tea, EdgeKind.ENABLED, rain, strength=0.9, evidence="habit")

        found = engine.searcher.search(scope, SearchRequest(query='thirsty: tea in the "left cupboard"', explain=True))

        assert found[0].memory_id == tea
        assert set(found[0].channels) >= {Channel.VECTOR, Channel.BM25, Channel.FTS5, Channel.TRIGGER}
        assert found[0].explanation is not None
        assert found[0].explanation.recompute() == pytest.approx(found[0].score, abs=1e-12)
        assert found.degraded == ()
        assert rain in found.ids


def test_what_is_known_of_a_memory_is_shown(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        old = engine.saver.save(scope, Draft(title="Tea", body="The tea is left.", source_id="s")).memory_id
        new = engine.saver.save(scope, Draft(title="Tea", body="The tea is right.", source_id="s")).memory_id
        assert old is not None
        assert new is not None

        shown = engine.show(scope, new)

        assert [one.memory_id for one in shown.versions] == [old, new]
        assert [one.edge.kind for one in shown.edges] == [EdgeKind.SUPERSEDES]
        assert shown.edges[0].other_title == "Tea"
        assert [one.decision for one in shown.saves]
        assert len(shown.chunks) == 1
        assert engine.why(scope, new).chain.behind[0].memory_id == old


def test_an_embedder_is_loaded_by_what_needs_it_and_by_nothing_else(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        engine.saver.save(scope, TEA)
    with engine_at(home) as engine:
        assert engine.embedder is not None
        assert engine.searcher.search(scope, SearchRequest(query="tea", channels=(Channel.BM25, Channel.FTS5))).hits
        assert engine.indexes.status(scope).passages == 1
        assert engine.vector_models(scope).stored == {"hashed-words": 1}
        assert not engine.embedder.loaded
        assert engine.searcher.search(scope, SearchRequest(query="tea", channels=(Channel.VECTOR,))).hits
        assert engine.embedder.loaded


class Elsewhere(HashedEmbedder):
    """Embeds as workers do, and notes which threads asked for it."""

    embeds_elsewhere = True

    def __init__(self) -> None:
        super().__init__()
        self.asked_by: set[str] = set()

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        self.asked_by.add(threading.current_thread().name)
        return super().embed(texts, progress=progress)


def test_workers_that_embed_are_asked_by_other_threads_than_the_one_that_writes(
    home: Home, scope: Scope, tmp_path: Path
) -> None:
    """Whatever wraps an embedder on its way into the engine has to tell that workers do its work."""
    for number in range(3):
        (tmp_path / f"note-{number}.md").write_text(f"# Note {number}\n\nA lamp by the ferry.\n", encoding="utf-8")
    embedder = Elsewhere()
    with open_engine(settings_of(home), embedder=embedder) as engine:
        assert engine.ingester.ingest(scope, [tmp_path]).documents == 3
    assert {name.partition("_")[0] for name in embedder.asked_by} == {"assay-prepare"}


def test_without_an_embedder_saving_and_searching_go_on_by_words(home: Home, scope: Scope) -> None:
    with open_engine(settings_of(home, embedder="none"), clock=home.clock) as engine:
        outcome = engine.saver.save(scope, TEA)
        found = engine.searcher.search(scope, SearchRequest(query="left cupboard"))
        assert outcome.decision is SaveDecision.STORE
        assert found.ids == (outcome.memory_id,)
        assert found.degraded
        assert engine.model_state(scope) is None


def test_the_engine_can_be_closed_twice_and_leaves_no_thread(home: Home, scope: Scope) -> None:
    before = set(threading.enumerate())
    with engine_at(home) as engine:
        engine.saver.save(scope, TEA)
        engine.searcher.search(scope, SearchRequest(query="tea"))
    engine.close()
    assert {one.name for one in set(threading.enumerate()) - before} == set()


def test_two_engines_see_each_others_last_save(home: Home, scope: Scope) -> None:
    with engine_at(home) as one, engine_at(home) as other:
        for number in range(5):
            writer, reader = (one, other) if number % 2 else (other, one)
            saved = writer.saver.save(scope, Draft(title=f"Note {number}", body=f"What number{number} says."))
            found = reader.searcher.search(scope, SearchRequest(query=f"number{number}"))
            assert found[0].memory_id == saved.memory_id


@pytest.mark.slow
def test_many_new_chunks_are_folded_at_once(home: Home, scope: Scope, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    lines = "".join(f'{{"_id": {number}, "text": "Record number{number} about tea."}}\n' for number in range(FOLD_FROM))
    (folder / "corpus.jsonl").write_text(lines)
    with engine_at(home) as engine:
        engine.ingest(scope, [folder], root=folder)
        assert engine.indexes.status(scope).base_passages == FOLD_FROM


def test_deleted_indexes_are_made_again(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        saved = engine.saver.save(scope, TEA).memory_id
        engine.indexes.compact(scope)
        folder = engine.delete_indexes(scope)
        assert folder is not None
        assert not Path(folder).exists()
        assert engine.searcher.search(scope, SearchRequest(query="cupboard")).ids == (saved,)
    with engine_at(home) as engine:
        assert engine.searcher.search(scope, SearchRequest(query="cupboard")).ids == (saved,)


def test_chunks_repeat_as_many_tokens_as_the_settings_say(home: Home, scope: Scope) -> None:
    body = " ".join(f"Sentence {number} here." for number in range(200))
    chunks = {}
    for overlap in (0, 20):
        with engine_at(home, chunking_max_tokens=80, chunking_overlap_tokens=overlap) as engine:
            saved = engine.saver.save(scope, make_draft(title=f"Long {overlap}", body=body), gated=False)
            with engine.store.reading(scope) as work:
                chunks[overlap] = [chunk.text for chunk in work.memories.chunks_of(str(saved.memory_id))]
    assert len(chunks[20]) > len(chunks[0])
    assert all(second.split(".")[0] in first for first, second in pairwise(chunks[20]))
    with engine_at(home, chunking_overlap_tokens=10_000) as engine, pytest.raises(SettingError, match="overlap_tokens"):
        engine.saver.save(scope, make_draft(title="Tea", body="Left cupboard."))


def test_thresholds_of_the_settings_win_over_the_embedders(home: Home) -> None:
    with engine_at(home, similarity_duplicate=0.99) as engine:
        assert engine.embedder is not None
        own = HashedEmbedder().profile
        assert engine.embedder.profile.duplicate == 0.99
        assert engine.embedder.profile.merge == own.merge


@pytest.mark.parametrize(("kind", "key"), [("local", "embedder.folder"), ("remote", "embedder.url")])
def test_an_embedder_that_lacks_a_setting_names_it(home: Home, kind: str, key: str) -> None:
    with pytest.raises(SettingError, match=key):
        load_embedder(settings_of(home, embedder=kind))


def test_a_search_loads_neither_what_saves_nor_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = """
import sys
from assay import Settings
from assay.records import Channel, Scope, SearchRequest
from assay.wiring import open_engine
with open_engine(Settings(db="notes.db")) as engine:
    engine.searcher.search(Scope(), SearchRequest(query="tea", channels=(Channel.BM25,)))
heavy = ("onnxruntime", "detect_secrets", "markdown_it", "semantic_text_splitter")
print([name for name in heavy if name in sys.modules])
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert told.stdout.strip() == "[]"


def test_a_missing_part_names_the_install_command(monkeypatch: pytest.MonkeyPatch, home: Home) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="sqlalchemy") as problem:
        open_engine(settings_of(home))
    assert "assaykit[memory]" in problem.value.remedy
