"""`Memory` in a program: the same words as the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay import Memory
from assay.errors import BadValue, RecordNotFound, SettingError, StoreClosed
from assay.records import Channel, EdgeKind, SaveDecision, Tier
from assay.testing import FixedClock, HashedEmbedder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "notes.db"


def memory_at(place: Path, **settings: Any) -> Memory:
    return Memory(place, embedder=HashedEmbedder(), clock=FixedClock(), **settings)


def test_save_search_show_link_why_restore(place: Path) -> None:
    with memory_at(place) as memory:
        tea = memory.save(title="Tea", body="The tea is kept in the left cupboard.", tags=["kitchen"], tier="critical")
        rain = memory.save(title="Rain", body="Umbrellas stand behind the door.", triggers=["wet outside"])
        assert tea.decision is SaveDecision.STORE
        assert tea.memory_id is not None
        assert rain.memory_id is not None

        hit = memory.search("left cupboard", k=1, explain=True)[0]
        assert (hit.memory_id, hit.title, hit.tier) == (tea.memory_id, "Tea", Tier.CRITICAL)
        assert "left cupboard" in hit.text
        assert hit.explanation is not None
        assert memory.search("it is wet outside", channels=["trigger"])[0].channels == (Channel.TRIGGER,)
        assert memory.search("cupboard", tags=["garden"]).hits == ()

        memory.link(tea.memory_id, "caused", rain.memory_id, evidence="steam")
        assert memory.why(rain.memory_id).chain.behind[0].kind is EdgeKind.CAUSED
        assert memory.show(tea.memory_id).memory.title == "Tea"
        with pytest.raises(RecordNotFound):
            memory.show("m_nobody")


def test_a_new_version_replaces_and_restore_brings_back(place: Path) -> None:
    with memory_at(place) as memory:
        old = memory.save(title="Tea", body="Left cupboard.", source_id="kitchen").memory_id
        assert old is not None
        memory.save(title="Tea", body="Right drawer.", source_id="kitchen")
        assert old not in memory.search("tea cupboard").ids
        assert memory.restore(old).memory_id == old
        assert old in memory.search("tea cupboard").ids


def test_documents_flags_and_health(place: Path, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/tea.md").write_text("# Tea\n\nIn the left cupboard.\n")
    with memory_at(place) as memory:
        assert memory.ingest("docs").fates == {"stored": 1}
        assert memory.search("cupboard")[0].rel_path == "docs/tea.md"
        assert memory.flag("mmr").on
        assert not memory.flag("mmr", "off").on
        assert not memory.flag("mmr").on
        assert {line.name for line in memory.health().parts} >= {"vector", "bm25", "fts5", "trigger", "graph"}


def test_settings_are_given_by_their_names_and_a_typo_is_told(place: Path) -> None:
    with memory_at(place, tenant="blue", search_k=1) as memory:
        for number in range(3):
            memory.save(title=f"Tea {number}", body=f"Sort number{number} of tea.")
        assert len(memory.search("tea")) == 1
        assert len(memory.search("tea", k=3)) == 3
        assert repr(memory) == f"Memory({str(place)!r}, tenant='blue')"
    with pytest.raises(SettingError, match="search_kk"):
        memory_at(place, search_kk=1)
    with pytest.raises(SettingError, match="turbo"):
        Memory(place, embedder="turbo")


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"mode": "wild"}, "wild"),
        ({"channels": ["smell"]}, "smell"),
        ({"tiers": ["vital"]}, "vital"),
        ({"k": 0}, "k: input .*, not 0"),
    ],
)
def test_a_wrong_word_of_a_search_names_itself(place: Path, wrong: dict[str, Any], named: str) -> None:
    with memory_at(place) as memory, pytest.raises(BadValue, match=named):
        memory.search("tea", **wrong)


def test_a_wrong_word_of_a_save_or_an_edge_names_itself(place: Path) -> None:
    with memory_at(place) as memory:
        with pytest.raises(BadValue, match="vital"):
            memory.save(title="T", body="b", tier="vital")
        with pytest.raises(BadValue, match="likes"):
            memory.link("m_a", "likes", "m_b")


def test_after_closing_nothing_works_and_closing_again_is_fine(place: Path) -> None:
    memory = memory_at(place)
    memory.close()
    memory.close()
    with pytest.raises(StoreClosed):
        memory.search("tea")


def test_a_change_of_model_is_worked_off_in_the_background(place: Path) -> None:
    with memory_at(place) as memory:
        memory.save(title="Tea", body="In the left cupboard.")
    with Memory(place, embedder=HashedEmbedder(model="newer"), clock=FixedClock()) as memory:
        assert memory.search("cupboard").degraded
        assert memory.engine.reembedding is not None
        assert memory.engine.reembedding.wait(60.0)
        assert memory.search("cupboard").degraded == ()


def test_an_update_keeps_what_was_not_given_and_an_empty_value_empties(place: Path) -> None:
    with memory_at(place) as memory:
        given: dict[str, Any] = {
            "folder": "kitchen",
            "tags": ["tea"],
            "triggers": ["thirsty"],
            "tier": "constitutional",
        }
        memory.save(title="Tea", body="The tea is in the left cupboard.", source_id="tea", **given)
        new = memory.save(title="Tea", body="The tea is in the right cupboard.", source_id="tea", tags=())
        assert [one.field for one in new.inherited] == ["triggers", "tier", "folder"]
        [hit] = memory.search("tea cupboard", folder="kitchen")
        assert (hit.memory_id, hit.tags) == (new.memory_id, ())
        assert [one.memory_id for one in memory.search("umbrella").pinned] == [new.memory_id]
