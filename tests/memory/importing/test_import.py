"""Import of every format: what becomes of each record, twice the same, with the lines of what is bad."""

from __future__ import annotations

import json
import shutil
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.memory.engines import engine_at
from tests.storage.homes import Home

from assay.errors import InputError, MalformedFile
from assay.formats.memory_files import detect
from assay.memory.engine import Engine
from assay.memory.importing import ImportOptions
from assay.memory.saving import SaveOptions
from assay.records import EdgeKind, Filters, MemoryFilter, MemoryRecord, MemoryStatus, Scope, SearchRequest
from assay.records.saving import ImportFormat, ImportReport

SAMPLES = Path(__file__).parent / "samples"
COUNTS: dict[str, tuple[ImportFormat, int, int, dict[str, int], dict[str, int]]] = {
    "mem0.json": (
        ImportFormat.MEM0, 3, 0, {"a relation of mem0's graph": 1, "id given twice": 1, "no text": 1}, {},
    ),
    "mem0.jsonl": (ImportFormat.MEM0, 2, 0, {"not JSON": 1}, {}),
    "server-memory.jsonl": (
        ImportFormat.SERVER_MEMORY, 3, 2,
        {"entity given twice": 1, "not JSON": 1, "not an entity or relation": 1, "relation from an unknown entity": 1},
        {"link to a memory that is not there": 1},
    ),
    "conversations.json": (ImportFormat.CHATGPT, 1, 0, {"no text": 1, "not a conversation": 1}, {}),
    "notes.jsonl": (
        ImportFormat.JSONL, 2, 0, {"id given twice": 1, "no text": 1, "not JSON": 1, "not an object": 1}, {},
    ),
    "vault": (
        ImportFormat.OBSIDIAN, 3, 4, {"not UTF-8": 1},
        {"front matter that is not YAML": 1, "link to a note that is not there": 1},
    ),
}  # fmt: skip
"""Of each sample: its format, memories, edges, what is skipped and what is incomplete."""


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    """The samples, and a note among them that is not UTF-8."""
    folder = tmp_path / "samples"
    shutil.copytree(SAMPLES, folder)
    (folder / "vault" / "Bad.md").write_bytes(b"\xff\xfe bad")
    return folder


def run(engine: Engine, scope: Scope, path: Path | str, **options: Any) -> ImportReport:
    return engine.import_memories(scope, SAMPLES / path, options=ImportOptions(**options))


def everything(engine: Engine, scope: Scope) -> list[MemoryRecord]:
    return list(engine.list_memories(scope, MemoryFilter(), limit=500).memories)


def by_title(engine: Engine, scope: Scope) -> dict[str, MemoryRecord]:
    return {memory.title: memory for memory in everything(engine, scope)}


def found(engine: Engine, scope: Scope, query: str, **filters: Any) -> list[str]:
    result = engine.searcher.search(scope, SearchRequest(query=query, filters=Filters(**filters)))
    return [hit.title for hit in result.hits]


@pytest.mark.parametrize("name", COUNTS)
def test_a_sample_is_imported_once_and_counted(home: Home, scope: Scope, name: str, samples: Path) -> None:
    kind, memories, edges, skipped, incomplete = COUNTS[name]
    assert detect(samples / name) is kind
    with engine_at(home) as engine:
        planned = run(engine, scope, samples / name, dry_run=True)
        assert (planned.counts, planned.dry_run) == ({"imported": memories}, True)
        assert everything(engine, scope) == []
        first = run(engine, scope, samples / name)
        assert (first.counts, first.skipped, first.incomplete) == ({"imported": memories}, skipped, incomplete)
        assert first.edges == edges
        assert planned.skipped == skipped
        kept = everything(engine, scope)
        assert len(kept) == memories
        again = run(engine, scope, samples / name)
        assert (again.counts, again.skipped, again.edges) == ({"unchanged": memories}, skipped, 0)
        assert everything(engine, scope) == kept
        assert run(engine, scope, samples / name, dry_run=True).counts == {"unchanged": memories}
        assert engine.store.problems() == []


def test_mem0_users_are_kept_apart_and_named(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        report = run(engine, scope, "mem0.json")
        assert report.users == {"alice": 2, "bob": 1}
        assert "2 users are kept apart" in report.notes[0]
        memories = by_title(engine, scope)
        seat = memories["Prefers the window seat on night trains"]
        assert (seat.folder, seat.tags, seat.source_id) == ("users/alice", ("travel",), "mem0:a1")
        assert seat.valid_from == datetime(2025, 3, 1, 17, tzinfo=UTC)
        assert seat.metadata["user_id"] == "alice"
        assert seat.metadata["channel"] == "chat"
        assert memories["Is allergic to hazelnuts"].metadata["updated_at"] == "2025-04-01T09:00:00+00:00"
        assert found(engine, scope, "seat on night trains", folder="users/bob") == [
            "Prefers the aisle seat on night trains"
        ]
    lines = {problem.reason: problem.line for problem in report.problems}
    assert (lines["no text"], lines["id given twice"]) == (10, 11)


def test_mem0_imports_one_user_alone(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        report = run(engine, scope, "mem0.json", user="bob", folder="from mem0")
        assert (report.counts, report.users) == ({"imported": 1}, {"bob": 1})
        assert report.skipped["another user"] == 2
        [seat] = everything(engine, scope)
        assert seat.folder == "from mem0/users/bob"


def test_metadata_that_takes_assays_own_name_is_renamed(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        run(engine, scope, "mem0.jsonl")
        ferns = by_title(engine, scope)["Waters the ferns on Sundays"]
        assert ferns.metadata["mem0_assay"] == "a word"
        assert ferns.metadata["assay"] == {"automated": True}


def test_server_memory_entities_become_memories_and_relations_edges(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        run(engine, scope, "server-memory.jsonl")
        memories = by_title(engine, scope)
        mara, project, depot = (memories[name] for name in ("Mara Lind", "Harbour project", "Depot 4"))
        assert mara.body == "- Leads the harbour project\n- Speaks Finnish"
        assert (mara.tags, depot.body) == (("person",), "Depot 4 (place)")
        with engine.store.reading(scope) as work:
            edges = {(one.source_id, one.target_id): one for one in work.edges.of(project.id)}
        leads, against = edges[mara.id, project.id], edges[project.id, depot.id]
        assert (leads.kind, leads.evidence, leads.strength) == (EdgeKind.SUPPORTS, "leads", 0.5)
        assert (against.kind, against.strength) == (EdgeKind.CONTRADICTS, 1.0)


def test_chatgpt_keeps_the_branch_that_was_shown_with_roles_and_dates(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        run(engine, scope, "conversations.json")
        [pump] = everything(engine, scope)
        assert pump.body == (
            "## User, 2025-01-01 10:00\n\nHow do I grease the leather washer?\n\n[image_asset_pointer]\n\n"
            "## Assistant, 2025-01-01 10:03\n\n### Steps\n\nWarm a spoon of tallow and rub it in.\n\n"
            "```sh\n# not a heading\n```"
        )
        assert pump.valid_from == datetime(2025, 1, 1, 10, tzinfo=UTC)
        assert pump.metadata["model"] == "a-model"
        assert (pump.folder, pump.source_id) == ("chatgpt", "chatgpt:conv-1")
        assert found(engine, scope, "grease leather washer tallow") == ["Repairing a bicycle pump"]


def test_a_zip_file_and_its_folder_are_the_same_conversations(home: Home, scope: Scope, tmp_path: Path) -> None:
    packed = tmp_path / "export.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(SAMPLES / "conversations.json", "data/conversations.json")
    folder = tmp_path / "unpacked"
    folder.mkdir()
    shutil.copy(SAMPLES / "conversations.json", folder)
    with engine_at(home) as engine:
        assert run(engine, scope, packed).counts == {"imported": 1}
        assert run(engine, scope, folder).counts == {"unchanged": 1}
        with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
            archive.writestr("chat.html", "")
        with pytest.raises(InputError, match=r"no conversations\.json"):
            run(engine, scope, tmp_path / "other.zip")


def test_a_long_conversation_comes_in_parts(home: Home, scope: Scope, tmp_path: Path) -> None:
    turns = {
        f"n{number}": {
            "parent": f"n{number - 1}",
            "children": [],
            "message": {
                "author": {"role": "user" if number % 2 else "assistant"},
                "create_time": 1735725600.0 + number,
                "content": {"content_type": "text", "parts": [f"Turn {number}. " + "word " * 19_000]},
            },
        }
        for number in range(1, 6)
    }
    whole = [{"title": "Long", "id": "c", "current_node": "n5", "mapping": turns}]
    (tmp_path / "conversations.json").write_text(json.dumps(whole))
    with engine_at(home, embedder="none") as engine:
        assert run(engine, scope, tmp_path).counts == {"imported": 3}
        assert set(by_title(engine, scope)) == {"Long", "Long (part 2)", "Long (part 3)"}


def test_a_vault_gives_properties_tags_aliases_dates_and_links(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        run(engine, scope, "vault")
        memories = by_title(engine, scope)
        plan, compost, shed = memories["Plan of the garden"], memories["Compost"], memories["Shed"]
        assert (plan.tags, plan.triggers) == (("garden", "2026", "spring"), ("plot plan",))
        assert plan.valid_from == datetime(2025, 2, 3, tzinfo=UTC)
        assert plan.metadata["status"] == "draft"
        assert plan.metadata["updated"] == "2025-02-10T08:30:00"
        assert plan.body.startswith("# A heading")
        with engine.store.reading(scope) as work:
            assert "draft" not in "".join(chunk.text for chunk in work.memories.chunks_of(plan.id))
        assert (compost.tags, shed.folder, shed.rel_path) == (("autumn/late",), "projects", "projects/Shed.md")
        assert "broken: [" in shed.body
        with engine.store.reading(scope) as work:
            ends = {(one.source_id, one.target_id) for memory in memories.values() for one in work.edges.of(memory.id)}
        assert ends == {
            (plan.id, shed.id), (plan.id, compost.id), (compost.id, plan.id), (shed.id, plan.id)
        }  # fmt: skip


def test_a_changed_note_is_a_new_version_and_its_links_follow(home: Home, scope: Scope, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    shutil.copytree(SAMPLES / "vault", vault)
    with engine_at(home) as engine:
        run(engine, scope, vault)
        old = by_title(engine, scope)["Compost"]
        (vault / "Compost.md").write_text("Turn the heap twice.\n")
        again = run(engine, scope, vault)
        assert again.counts == {"updated": 1, "unchanged": 2}
        new = next(one for one in everything(engine, scope) if one.title == "Compost" and one.version == 2)
        with engine.store.reading(scope) as work:
            assert work.memories.get(old.id).status is MemoryStatus.SUPERSEDED
            plan = by_title(engine, scope)["Plan of the garden"]
            ends = {(one.source_id, one.target_id, one.kind) for one in work.edges.of(new.id)}
        assert ends == {(new.id, old.id, EdgeKind.SUPERSEDES), (plan.id, new.id, EdgeKind.SUPPORTS)}


def test_notes_that_are_alike_stay_apart(home: Home, scope: Scope, tmp_path: Path) -> None:
    body = "The retry limit of the upload queue is {} attempts before a message goes to the dead letters."
    lines = [json.dumps({"id": number, "title": "Retries", "text": body.format(number)}) for number in (3, 5, 9)]
    (tmp_path / "alike.jsonl").write_text("\n".join(lines))
    with engine_at(home) as engine:
        assert run(engine, scope, tmp_path / "alike.jsonl").counts == {"imported": 3}
        assert engine.list_memories(scope, MemoryFilter()).by_status == {MemoryStatus.CURRENT: 3}


def test_secrets_are_masked_and_counted(home: Home, scope: Scope, tmp_path: Path) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLE"
    (tmp_path / "n.jsonl").write_text(json.dumps({"title": "Bucket", "text": f"The key of the bucket is {key}."}))
    with engine_at(home) as engine:
        report = run(engine, scope, tmp_path / "n.jsonl")
        assert report.masked == 1
        assert key not in everything(engine, scope)[0].body


def test_what_was_forgotten_is_not_imported_again(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        run(engine, scope, "mem0.jsonl")
        ferns = by_title(engine, scope)["Waters the ferns on Sundays"]
        engine.saver.forget(scope, ferns.id)
        again = run(engine, scope, "mem0.jsonl")
        assert (again.counts, again.skipped["forgotten here"]) == ({"unchanged": 1}, 1)
        assert run(engine, scope, "mem0.jsonl", dry_run=True).skipped["forgotten here"] == 1
        assert ferns.title not in found(engine, scope, "ferns")


def test_a_version_that_a_person_wrote_is_not_replaced(home: Home, scope: Scope, tmp_path: Path) -> None:
    file = tmp_path / "n.jsonl"
    file.write_text(json.dumps({"id": 1, "title": "Ladder", "text": "The long ladder hangs behind the barn door."}))
    with engine_at(home) as engine:
        run(engine, scope, file)
        [first] = everything(engine, scope)
        own = engine.saver.update(scope, first.id, {"body": "The long ladder is sold."}).memory_id
        assert run(engine, scope, file).counts == {"unchanged": 1}
        file.write_text(json.dumps({"id": 1, "title": "Ladder", "text": "The long ladder hangs in the cellar now."}))
        run(engine, scope, file)
        with engine.store.reading(scope) as work:
            assert work.memories.get(str(own)).status is MemoryStatus.CURRENT


def test_an_interrupted_import_keeps_its_batches_and_goes_on(home: Home, scope: Scope, tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    file.write_text("\n".join(json.dumps({"id": number, "text": f"Note number {number}."}) for number in range(1_200)))

    def stop(done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with engine_at(home, embedder="none") as engine:
        with pytest.raises(KeyboardInterrupt):
            engine.import_memories(scope, file, on_progress=stop)
        kept = engine.list_memories(scope, MemoryFilter()).total
        assert kept == SaveOptions().batch
        assert run(engine, scope, file).counts == {"imported": 1_200 - kept, "unchanged": kept}


def test_what_is_in_no_format_is_refused_with_the_formats(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"a": 1}')
    (tmp_path / "x.bin").write_text("")
    for name in ("x.json", "x.bin"):
        with pytest.raises(MalformedFile, match="no format that can be told") as told:
            detect(tmp_path / name)
        assert "server-memory" in told.value.remedy
    with pytest.raises(InputError, match="no file or folder"):
        detect(tmp_path / "nowhere")
