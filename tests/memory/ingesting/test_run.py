"""What a run does to the store: what is new, what changed, what is left alone, and what it tells."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.memory.engines import engine_at
from tests.storage.homes import Home

from assay.errors import InputError
from assay.memory.engine import Engine
from assay.memory.ingesting import Step
from assay.records import MemoryRecord, Scope, SearchRequest
from assay.records.saving import IngestReport
from assay.verbs import documents


def put(root: Path, **texts: str) -> None:
    for name, text in texts.items():
        (root / f"{name}.md").write_text(text, encoding="utf-8")


def take(engine: Engine, scope: Scope, root: Path, **how: Any) -> IngestReport:
    return engine.ingester.ingest(scope, [root], root=root, **how)


def memories(engine: Engine, scope: Scope) -> list[MemoryRecord]:
    with engine.store.reading(scope) as work:
        return work.memories.page()


def found(engine: Engine, scope: Scope, query: str) -> list[str]:
    return [hit.rel_path for hit in engine.searcher.search(scope, SearchRequest(query=query))]


def test_documents_are_stored_found_and_counted(engine: Engine, scope: Scope, root: Path) -> None:
    put(root, tea="# Tea\n\nThe tea is in the left cupboard.\n", rain="# Rain\n\nUmbrellas stand at the door.\n")

    report = take(engine, scope, root)

    assert (report.files, report.documents, report.fates) == (2, 2, {"stored": 2})
    assert report.chunks == 2
    assert report.chunk_tokens is not None
    assert report.chunk_tokens.chunks == 2
    assert found(engine, scope, "left cupboard")[0] == "tea.md"
    assert engine.store.problems() == []


def test_again_nothing_is_read_twice_embedded_or_written(engine: Engine, scope: Scope, root: Path) -> None:
    put(root, tea="# Tea\n\nThe tea is in the left cupboard.\n")
    take(engine, scope, root)
    before = memories(engine, scope)

    report = take(engine, scope, root)

    assert report.fates == {"unchanged": 1}
    assert (report.chunks, report.seconds["chunk"], report.seconds["embed"]) == (0, 0.0, 0.0)
    assert memories(engine, scope) == before


def test_a_changed_file_is_a_new_version_and_the_old_one_leaves_the_search(
    engine: Engine, scope: Scope, root: Path
) -> None:
    put(root, tea="# Tea\n\nThe tea is in the left cupboard.\n")
    take(engine, scope, root)
    put(root, tea="# Tea\n\nThe tea is in the right drawer.\n")

    assert take(engine, scope, root).fates == {"new version": 1}

    old, new = sorted(memories(engine, scope), key=lambda one: one.version)
    assert (old.superseded_at is not None, new.superseded_at, new.version) == (True, None, 2)
    hits = engine.searcher.search(scope, SearchRequest(query="where is the tea")).hits
    assert [hit.memory_id for hit in hits] == [new.id]


def test_like_documents_stay_apart_unless_the_gate_is_asked_for(engine: Engine, scope: Scope, root: Path) -> None:
    same = "# Opening hours\n\nThe office in the city opens at nine and closes at five on every working day.\n"
    put(root, berlin=same, paris=same)
    assert take(engine, scope, root).fates == {"stored": 2}

    (root / "rome.md").write_text(same)
    gated = take(engine, scope, root, gate=True)
    assert gated.fates["unchanged"] == 2
    with engine.store.reading(scope) as work:
        (asked,) = [one for one in work.saves.recent() if one.source_id == "handbook/rome.md"]
    assert asked.similarity == pytest.approx(1.0, abs=1e-3)


def test_what_left_the_disk_is_told_and_superseded_only_when_asked(engine: Engine, scope: Scope, root: Path) -> None:
    put(root, tea="The tea is in the left cupboard.", rain="Umbrellas stand at the door.")
    take(engine, scope, root)
    (root / "tea.md").unlink()

    assert take(engine, scope, root).missing == ("handbook/tea.md",)
    assert found(engine, scope, "left cupboard")[0] == "tea.md"

    report = take(engine, scope, root, prune=True)
    assert report.pruned == ("handbook/tea.md",)
    assert "tea.md" not in found(engine, scope, "left cupboard")
    assert take(engine, scope, root).missing == ()


def test_a_file_that_comes_back_is_taken_in_again(engine: Engine, scope: Scope, root: Path) -> None:
    put(root, tea="The tea is in the left cupboard.")
    take(engine, scope, root)
    (root / "tea.md").rename(root / "tea.away")
    take(engine, scope, root, prune=True)
    (root / "tea.away").rename(root / "tea.md")

    take(engine, scope, root)

    assert found(engine, scope, "left cupboard") == ["tea.md"]


def test_a_narrower_walk_calls_nothing_missing_that_it_did_not_look_for(
    engine: Engine, scope: Scope, root: Path
) -> None:
    put(root, tea="The tea is in the left cupboard.")
    (root / "deep").mkdir()
    (root / "deep/note.txt").write_text("Deep down.")
    take(engine, scope, root)

    assert engine.ingester.ingest(scope, [root / "deep"], root=root).missing == ()
    assert engine.ingester.ingest(scope, [root / "tea.md"], root=root).missing == ()
    assert take(engine, scope, root, globs=["*.txt"]).missing == ()


def test_records_of_a_file_are_documents_and_one_that_left_it_is_missing(
    engine: Engine, scope: Scope, root: Path
) -> None:
    def write(records: Sequence[dict[str, Any]]) -> None:
        (root / "corpus.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))

    one, two = (
        {"_id": "1", "title": "Tea", "text": "Left cupboard."},
        {"_id": "2", "title": "Rain", "text": "Umbrella."},
    )
    write([one, two])
    assert take(engine, scope, root).fates == {"stored": 2}

    write([one])
    assert take(engine, scope, root).missing == ("handbook/corpus.jsonl#2",)
    with (root / "corpus.jsonl").open("a") as file:
        file.write("{broken\n")
    # What a file cannot be read to hold may still be in it.
    assert take(engine, scope, root).missing == ()


def test_an_id_that_stands_twice_is_taken_once_and_told(engine: Engine, scope: Scope, root: Path) -> None:
    (root / "corpus.jsonl").write_text('{"_id": "1", "text": "first"}\n{"_id": "1", "text": "second"}\n')

    first, again = take(engine, scope, root), take(engine, scope, root)

    assert first.fates == {"stored": 1}
    assert [skip.reason for skip in first.faults] == ["record"]
    assert again.fates == {"unchanged": 1}


def test_what_cannot_be_taken_is_told_by_reason_and_the_rest_is_taken(
    engine: Engine, scope: Scope, root: Path, tmp_path: Path
) -> None:
    put(root, good="The tea is in the left cupboard.", empty="")
    (root / "image.md").write_bytes(b"\x89PNG\x00")
    (root / "latin.txt").write_bytes(b"caf\xe9")
    (root / "bad.json").write_text('{\n"a": }')
    (root / "code.py").write_text("pass")
    with (root / "big.txt").open("wb") as file:
        file.truncate(50_000_000)
    (root / "loop").symlink_to(root)
    (tmp_path / "secret.md").write_text("keys")
    (root / "leak.md").symlink_to(tmp_path / "secret.md")

    report = take(engine, scope, root)

    assert report.fates == {"stored": 1}
    assert report.skipped.reasons == {
        "empty": 1, "binary": 1, "encoding": 1, "json": 1, "kind": 1, "size": 1, "outside": 1,
    }  # fmt: skip
    assert {skip.place for skip in report.faults} == {
        "empty.md", "image.md", "latin.txt", "bad.json", "big.txt", "leak.md",
    }  # fmt: skip
    assert documents.INGEST.to_json(report)["skipped"]["reasons"]["size"] == 1


def test_a_name_that_no_store_can_keep_is_told(engine: Engine, scope: Scope, root: Path) -> None:
    Path(os.fsdecode(os.fsencode(root) + b"/\xff.md")).write_text("x")
    (root / ("long" * 60 + ".md")).write_text("fine")
    report = take(engine, scope, root)
    assert report.fates == {"stored": 1}
    assert [skip.reason for skip in report.faults] == ["refused"]


def test_a_secret_in_a_document_is_masked_and_counted(engine: Engine, scope: Scope, root: Path) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLA"
    put(root, deploy=f"The deploy key is {key} for now.")
    assert take(engine, scope, root).masked == 1
    assert key not in str(memories(engine, scope))


def test_every_file_is_told_when_it_is_durable(engine: Engine, scope: Scope, root: Path) -> None:
    put(root, a="one", b="two")
    steps: list[Step] = []
    kept: list[int] = []

    def told(step: Step) -> None:
        steps.append(step)
        kept.append(len(memories(engine, scope)))

    take(engine, scope, root, on_file=told)
    assert [(step.place, step.files, step.of_files) for step in steps] == [("a.md", 1, 2), ("b.md", 2, 2)]
    assert steps[-1].size == steps[-1].of_size == 6
    assert [(step.documents, step.chunks) for step in steps] == [(1, 1), (2, 2)]
    assert all(there >= step.documents for there, step in zip(kept, steps, strict=True))
    steps.clear()
    take(engine, scope, root, on_file=told)
    assert [(step.files, step.documents) for step in steps] == [(1, 0), (2, 0)]


def test_records_of_one_file_are_told_as_they_become_durable(engine: Engine, scope: Scope, tmp_path: Path) -> None:
    place = tmp_path / "notes.jsonl"
    lines = [json.dumps({"id": str(number), "text": f"Record {number} about tea."}) for number in range(100)]
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    steps: list[Step] = []
    engine.ingester.ingest(scope, [place], on_file=steps.append)
    assert [step.documents for step in steps] == list(range(1, 101))
    sizes = [step.size for step in steps]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] == steps[-1].of_size == place.stat().st_size
    assert [step.files for step in steps] == [0] * 99 + [1]


def test_the_time_is_told_by_what_it_went_into(engine: Engine, scope: Scope, root: Path) -> None:
    put(root, a="one")
    seconds = take(engine, scope, root).seconds
    assert set(seconds) == {"total", "read", "chunk", "embed", "write"}
    parts = sum(value for name, value in seconds.items() if name != "total")
    assert parts == pytest.approx(seconds["total"])


def test_nothing_is_begun_when_a_path_is_wrong(engine: Engine, scope: Scope, root: Path) -> None:
    put(root, a="one")
    with pytest.raises(InputError, match="nowhere"):
        engine.ingester.ingest(scope, [root, root / "nowhere"], root=root)
    assert memories(engine, scope) == []


def test_tenants_take_in_the_same_folder_apart(engine: Engine, scope: Scope, root: Path) -> None:
    put(root, a="The tea is in the left cupboard.")
    other = Scope(tenant="other")
    take(engine, scope, root)
    assert take(engine, other, root).fates == {"stored": 1}
    assert len(memories(engine, scope)) == len(memories(engine, other)) == 1


def test_an_interrupted_run_keeps_what_it_committed_and_the_next_goes_on(home: Home, scope: Scope, root: Path) -> None:
    put(root, **{f"n{number:03}": f"# Note {number}\n\nWhat note number {number} says.\n" for number in range(600)})

    def interrupt(step: Step) -> None:
        if step.files == 300:
            raise KeyboardInterrupt

    with engine_at(home) as engine, pytest.raises(KeyboardInterrupt):
        take(engine, scope, root, on_file=interrupt)
    with engine_at(home) as engine:
        kept = memories(engine, scope)
        assert 0 < len(kept) < 600
        assert engine.store.problems() == []
        report = take(engine, scope, root)
        assert report.fates == {"stored": 600 - len(kept), "unchanged": len(kept)}
        assert take(engine, scope, root).fates == {"unchanged": 600}


def test_a_changed_record_keeps_what_it_does_not_mention(engine: Engine, scope: Scope, tmp_path: Path) -> None:
    place = tmp_path / "notes.jsonl"
    place.write_text('{"id": "a", "text": "The tea is left.", "tags": ["kitchen"], "triggers": ["thirsty"]}\n')
    engine.ingest(scope, [place])
    place.write_text('{"id": "a", "text": "The tea is right.", "tags": []}\n')
    engine.ingest(scope, [place])
    with engine.store.reading(scope) as work:
        [now] = [one for one in work.memories.page() if one.superseded_at is None]
    assert (now.body, now.triggers, now.tags) == ("The tea is right.", ("thirsty",), ())
