"""A chat is taken in turn by turn, and a turn is found by the words around it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.memory.ingesting.test_run import memories, take

from assay.memory.engine import Engine
from assay.records import Channel, Scope, SearchRequest
from assay.records.maintenance import Forget

SAID = (
    ("Ann", "2024-03-12T10:15:00", "How is the violin going?"),
    ("Bo", "2024-03-12T10:16:00", "Since May, every single evening!"),
    ("Ann", "2024-03-12T10:17:00", "That is wonderful."),
    ("Bo", "2024-03-14T09:00:00", "The boat is painted."),
)


def write(root: Path, count: int = len(SAID)) -> Path:
    path = root / "chat.json"
    path.write_text(json.dumps([{"name": who, "date": at, "text": text} for who, at, text in SAID[:count]]), "utf-8")
    return path


def test_each_turn_is_a_memory_that_is_found_by_its_neighbours(engine: Engine, scope: Scope, root: Path) -> None:
    write(root)
    report = take(engine, scope, root, conversation=True)
    assert report.fates == {"stored": 4}
    turns = memories(engine, scope)
    assert [(one.title, one.body) for one in turns][1] == (
        "Bo, 12 March 2024, 10:16",
        "Bo: Since May, every single evening!",
    )
    assert turns[1].valid_from.isoformat().startswith("2024-03-12T10:16")
    assert turns[1].surroundings == "Ann: How is the violin going?\nAnn: That is wonderful."
    assert turns[3].surroundings == ""  # two days later

    request = SearchRequest(query="violin evening", channels=(Channel.BM25,))
    result = engine.searcher.search(scope, request)
    assert result.ids[0] == turns[1].id
    assert turns[3].id not in result.ids
    assert "violin" not in result.hits[0].text


def test_again_nothing_changes_and_a_new_turn_changes_its_neighbours_only(
    engine: Engine, scope: Scope, root: Path
) -> None:
    write(root, 1)
    take(engine, scope, root, conversation=True)
    assert take(engine, scope, root, conversation=True).fates == {"unchanged": 1}
    write(root, 2)
    assert take(engine, scope, root, conversation=True).fates == {"stored": 1, "new version": 1}


def test_an_erased_turn_goes_from_the_surroundings_of_others(engine: Engine, scope: Scope, root: Path) -> None:
    write(root)
    take(engine, scope, root, conversation=True)
    first = memories(engine, scope)[0]
    done = engine.forget(scope, Forget(memory_ids=(first.id,)))
    assert done.left == ()
    assert [one.surroundings for one in memories(engine, scope)] == [""] * 3
    assert engine.searcher.search(scope, SearchRequest(query="violin", channels=(Channel.BM25,))).ids == ()


def test_a_file_that_is_no_chat_is_passed_over_with_the_reason(engine: Engine, scope: Scope, root: Path) -> None:
    (root / "note.txt").write_text("nothing of the kind", encoding="utf-8")
    report = take(engine, scope, root, conversation=True)
    assert report.documents == 0
    [skip] = report.skipped.files
    assert (skip.reason, skip.place) == ("conversation", "note.txt")
    assert "NAME: TEXT" in skip.detail
