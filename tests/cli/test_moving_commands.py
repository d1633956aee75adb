"""Import and export from the command line: counts, dry run, JSON, exit codes, and the way there and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.telling import Run

import assay

SAMPLES = Path(__file__).parent.parent / "memory" / "importing" / "samples"


@pytest.fixture(autouse=True)
def own_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_DB", "notes.db")
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")


def test_an_import_says_what_became_of_every_record(run: Run) -> None:
    planned = run("import", str(SAMPLES / "mem0.json"), "--dry-run")
    assert "mem0, 3 memories: would be: 3 imported" in planned.out
    assert run("list").out.startswith("0 memories")
    done = run("import", str(SAMPLES / "mem0.json"))
    assert done.code == 0
    assert "mem0, 3 memories: 3 imported" in done.out
    assert "users: alice 2, bob 1" in done.out
    assert "skipped: 1 a relation of mem0's graph, 1 id given twice, 1 no text" in done.out
    assert "mem0.json:10: no text (the record has no `memory` with a text in it)" in done.out
    assert "2 users are kept apart" in done.out
    again = run("import", str(SAMPLES / "mem0.json"), "--json").json
    assert (again["counts"], again["users"]) == ({"unchanged": 3}, {"alice": 2, "bob": 1})
    assert again["problems"][0]["line"] == 10
    assert run("import", str(SAMPLES / "mem0.json"), "--strict").code == 2
    assert run("import", str(SAMPLES / "mem0.json"), "--user", "bob", "--tenant", "bob", "--json").json["counts"] == {
        "imported": 1
    }


def test_a_wrong_file_or_format_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    assert "no format that can be told" in run("import", "x.json").err
    assert run("import", "nowhere.jsonl").code == 3
    assert run("import", "x.json", "--format", "letters").code == 3
    assert run("import", str(SAMPLES / "notes.jsonl"), "--format", "mem0", "--json").json["counts"] == {}


def test_an_export_is_imported_into_another_store(run: Run, tmp_path: Path) -> None:
    run("import", str(SAMPLES / "vault"))
    told = run("export", "all.jsonl")
    assert told.out.strip() == "wrote 3 memories (3 current) and 4 edges to all.jsonl"
    back = run("import", "all.jsonl", "--db", "other.db")
    assert "assay, 3 memories: 3 imported" in back.out
    assert "4 edges restored" in back.out
    assert "restored as it was" in run("import", "all.jsonl", "--db", "third.db", "--folder", "x").err
    assert run("export", "again.jsonl", "--db", "other.db", "--json").json["memories"] == 3
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "all.jsonl").read_bytes()
    assert run("export", "notes", "--format", "markdown").code == 0
    assert (tmp_path / "notes" / "projects" / "Shed.md").is_file()
    assert run("export", "notes", "--format", "markdown").code == 3


def test_python_imports_and_exports_the_same(run: Run, tmp_path: Path) -> None:
    with assay.Memory("python.db", embedder="none") as memory:
        assert memory.import_memories(SAMPLES / "notes.jsonl").counts == {"imported": 2}
        assert memory.export_memories(tmp_path / "p.jsonl").memories == 2
    lines = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert lines[-1]["memories"] == 2
    assert run("import", "p.jsonl", "--json").json["counts"] == {"imported": 2}
