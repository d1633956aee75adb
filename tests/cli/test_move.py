"""`assay move`: what it prints, what it refuses, and what is at the new place."""

from __future__ import annotations

from pathlib import Path

from tests.cli.telling import Run


def test_a_store_is_moved_and_used_from_its_new_place(run: Run, tmp_path: Path) -> None:
    here, there = str(tmp_path / "notes.db"), str(tmp_path / "moved.db")
    run("--db", here, "save", "--title", "Cookies", "--text", "Sessions end after an hour.", "--json")
    counted = run("--db", here, "move", "--to", there, "--dry-run")
    assert counted.code == 0
    assert counted.out.startswith("Would move")
    assert not Path(there).exists()
    moved = run("--db", here, "move", "--to", there)
    assert (moved.code, moved.err) == (0, "")
    assert "Every table has the same rows" in moved.out
    listed = run("--db", there, "list", "--json").json
    assert [memory["title"] for memory in listed["memories"]] == ["Cookies"]
    again = run("--db", here, "move", "--to", there, "--json")
    assert (again.code, again.json["error"]["code"]) == (3, "target_not_empty")
    replaced = run("--db", here, "move", "--to", there, "--replace", "--json")
    assert replaced.code == 0
    tables = {table["name"]: table for table in replaced.json["tables"]}
    assert tables["memories"]["rows"] == 1
    assert tables["memories"]["content"].startswith("sha256:")
    assert replaced.json["checkpoint"]
