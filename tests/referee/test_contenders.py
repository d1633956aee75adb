"""The contract that every contender keeps.

Peers are tried where their packages are installed: `build/bench-venv/bin/python -m pytest tests/referee`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from assay.errors import AssayError, InputError, RecordNotFound, UnknownSystem
from assay.records.datasets import Case, SessionContext
from assay.referee.contenders.contract import Contender, Declaration, OpenContender
from assay.referee.sets.values import MemoryItem
from assay.referee.watching import SharedEmbedder
from assay.testing import HashedEmbedder
from assay.wiring.referee import CONTENDERS, open_contender, parse_contender

PEERS = {
    "chroma": "chromadb",
    "qdrant": "qdrant_client",
    "lancedb": "lancedb",
    "lancedb:hybrid": "lancedb",
    "mem0": "mem0",
    "langgraph-store": "langgraph",
}
OWN = ("assay", "bm25", "vector", "markdown-grep", "python:tests.referee.own_system:WordMemory")
INSTALLED = tuple(name for name, module in PEERS.items() if importlib.util.find_spec(module) is not None)
ALL = (*OWN, *INSTALLED)
NOTES = (
    MemoryItem(id="n1", text="The bicycle is chained to the fence behind the bakery.", session="s1"),
    MemoryItem(id="n2", text="Grandmother keeps the recipe for plum cake in a tin box.", session="s1"),
    MemoryItem(id="n3", text="Der Schlüssel für das Boot hängt neben dem Kühlschrank. 船の鍵 🛶", session="s2"),
    MemoryItem(id="n4", text="The quarterly meeting was moved to Thursday at noon.", session="s2"),
)


@pytest.fixture(scope="module")
def embedder() -> SharedEmbedder:
    return SharedEmbedder(HashedEmbedder(dimension=256))


@pytest.fixture(params=ALL)
def spec(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def contender(spec: str, embedder: SharedEmbedder, tmp_path: Path) -> Iterator[Contender]:
    with closing(open_contender(spec, OpenContender(folder=tmp_path, embedder=embedder))) as opened:
        yield opened


def ids(contender: Contender, user: str, question: str, k: int = 5) -> list[str]:
    return [hit.id for hit in contender.ask(user, question, k)]


def test_every_system_of_the_list_is_tried_here_or_described_by_a_file() -> None:
    tried = {name.partition(":")[0] for name in (*OWN, *PEERS)}
    assert set(CONTENDERS) - tried == {"http", "mcp"}


def test_what_was_filled_is_found_with_its_text(contender: Contender) -> None:
    contender.fill("ada", NOTES)
    found = contender.ask("ada", NOTES[1].text, 4)
    assert found[0].id == "n2"
    assert found[0].text == NOTES[1].text


def test_no_more_than_k_results(contender: Contender) -> None:
    contender.fill("ada", NOTES)
    assert len(ids(contender, "ada", NOTES[0].text, 1)) == 1


def test_users_do_not_see_each_other(contender: Contender) -> None:
    contender.fill("ada", NOTES[:2])
    contender.fill("o'brien; --", NOTES[2:])
    assert set(ids(contender, "ada", NOTES[3].text)) <= {"n1", "n2"}
    assert ids(contender, "o'brien; --", NOTES[3].text)[0] == "n4"


def test_two_users_may_have_items_of_one_id(contender: Contender) -> None:
    contender.fill("ada", [NOTES[0]])
    contender.fill("bo", [MemoryItem(id="n1", text="Quite another note about whales.")])
    assert contender.ask("ada", NOTES[0].text, 1)[0].text == NOTES[0].text
    assert contender.ask("bo", "Quite another note about whales.", 1)[0].text == "Quite another note about whales."


def test_an_updated_item_is_found_by_its_new_text_only(contender: Contender) -> None:
    contender.fill("ada", NOTES)
    new = MemoryItem(id="n2", text="Zebras graze beyond the river in the dry season.")
    contender.update("ada", new)
    assert contender.ask("ada", new.text, 1)[0] == type(contender.ask("ada", new.text, 1)[0])(id="n2", text=new.text)
    assert all(hit.text != NOTES[1].text for hit in contender.ask("ada", NOTES[1].text, 5))


def test_a_deleted_item_is_gone(contender: Contender) -> None:
    contender.fill("ada", NOTES)
    contender.delete("ada", "n1")
    assert "n1" not in ids(contender, "ada", NOTES[0].text)
    assert ids(contender, "ada", NOTES[1].text)[0] == "n2"


def test_what_is_not_there_cannot_be_changed(contender: Contender) -> None:
    contender.fill("ada", NOTES)
    with pytest.raises(RecordNotFound):
        contender.delete("ada", "nobody")
    with pytest.raises(RecordNotFound):
        contender.update("bo", NOTES[0])


def test_an_empty_memory_returns_nothing(contender: Contender) -> None:
    contender.fill("ada", [])
    assert ids(contender, "ada", "anything") == []
    assert ids(contender, "nobody", "anything") == []


def test_unicode_survives(contender: Contender) -> None:
    contender.fill("ädä", NOTES)
    assert contender.ask("ädä", NOTES[2].text, 1)[0].text == NOTES[2].text


def test_line_ends_and_marks_survive(contender: Contender) -> None:
    text = 'First line.\n<!-- item 9 "x" -->\n# Heading "quoted" \\ back'
    contender.fill("ada", [MemoryItem(id="odd/id ~1", text=text, session="a/b")])
    found = contender.ask("ada", text, 1)[0]
    assert (found.id, found.text) == ("odd/id ~1", text)


def test_a_restart_loses_nothing(spec: str, embedder: SharedEmbedder, tmp_path: Path) -> None:
    def reopen() -> Contender:
        return open_contender(spec, OpenContender(folder=tmp_path, embedder=embedder))

    with closing(reopen()) as first:
        first.fill("ada", NOTES)
        persistent = first.declaration.persistent
    if not persistent:
        pytest.skip("it declares that it forgets")
    with closing(reopen()) as second:
        assert second.ask("ada", NOTES[3].text, 1)[0].text == NOTES[3].text


def test_vector_systems_declare_the_shared_embedder(contender: Contender, embedder: SharedEmbedder) -> None:
    assert contender.declaration.embedder in (None, embedder.model)


@pytest.mark.slow
def test_ten_thousand_items(contender: Contender) -> None:
    items = [MemoryItem(id=f"i{place}", text=f"Parcel {place} lies on shelf {place % 97}.") for place in range(10_000)]
    contender.fill("ada", items)
    assert ids(contender, "ada", "Parcel 4321 lies on shelf 53.", 10)[0] == "i4321"


def test_a_contender_is_a_system_of_assay_run(contender: Contender) -> None:
    contender.fill("ada", NOTES)
    case = Case(id="c", query=NOTES[1].text, session=SessionContext(session_id="ada"))
    assert contender.retrieve(case.query, 3, case).ids[0] == "n2"
    assert contender.subject()["system"] == contender.name


def test_unknown_systems_are_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownSystem) as refused:
        parse_contender("chrome")
    assert "chroma" in refused.value.remedy


@pytest.mark.parametrize("spec", ["assay:fast", "lancedb:other", "python:nothing_here:Memory", "http:", "mcp:no.toml"])
def test_what_cannot_be_opened_is_refused_with_a_remedy(spec: str, embedder: SharedEmbedder, tmp_path: Path) -> None:
    with pytest.raises(AssayError) as refused:
        open_contender(spec, OpenContender(folder=tmp_path, embedder=embedder))
    assert refused.value.remedy


def test_a_declaration_names_known_things_only() -> None:
    with pytest.raises(InputError, match="dates"):
        Declaration(ignores=("dates",))
