"""The group of commands: what it lists, and that it loads a command only when that is used."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.cli.telling import Run

from assay import verbs
from assay.cli import commands
from assay.cli.group import COMMANDS, LazyCommands, load_command
from assay.cli.main import app

ENTRIES = [entry for entries in COMMANDS.values() for entry in entries]


def loaded_by(*arguments: str, **environment: str) -> tuple[str, list[str]]:
    """What the program prints in a process of its own, and the modules of Assay that are loaded at its end."""
    code = (
        "import sys\nfrom assay.cli.main import main\n"
        f"try: main({list(arguments)!r})\nexcept SystemExit: pass\n"
        "print(*[name for name in sys.modules if name.startswith(('assay', 'pydantic'))], file=sys.stderr)"
    )
    told = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, **environment},
    )
    return told.stdout, told.stderr.split()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_list_says_what_the_command_says_of_itself(entry: Any) -> None:
    paragraph, *_ = inspect.cleandoc(load_command(entry.name).help).split("\n\n")
    assert entry.help == " ".join(paragraph.split())


def test_every_command_is_listed_once_and_every_file_has_commands() -> None:
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)
    files = {path.stem for path in Path(str(commands.__file__)).parent.glob("*.py")} - {"__init__"}
    assert {entry.module or entry.name for entry in ENTRIES} == files


@pytest.mark.parametrize("module", sorted({entry.module or entry.name for entry in ENTRIES}))
def test_a_file_of_commands_registers_those_that_are_listed_with_it(module: str) -> None:
    registered = typer.Typer()
    import_module(f"assay.cli.commands.{module}").register(registered)
    listed = {entry.name for entry in ENTRIES if module == (entry.module or entry.name)}
    assert set(typer.main.get_group(registered).commands) == listed


def test_help_shows_every_command_in_its_panel_and_loads_none() -> None:
    shown, modules = loaded_by("--help", COLUMNS="200")
    titles = [shown.index(f"─ {title} ─") for title in COMMANDS]
    assert titles == sorted(titles)
    for entry in ENTRIES:
        assert f"│ {entry.name} " in shown
        assert entry.help in shown
    assert [name for name in modules if name.startswith("assay.cli.commands")] == []
    assert [name for name in modules if name.startswith(("pydantic", "assay.settings", "assay.records"))] == []


def test_a_command_loads_its_own_file_alone() -> None:
    _, modules = loaded_by("version")
    found = [name for name in modules if name.startswith("assay.cli.commands.")]
    assert found == ["assay.cli.commands.version"]


def test_a_search_loads_nothing_that_only_other_commands_need(run: Run, tmp_path: Path) -> None:
    db = str(tmp_path / "notes.db")
    assert run("--db", db, "save", "--title", "Harbor", "--text", "The ferry leaves the harbor at noon.").code == 0
    shown, modules = loaded_by("--db", db, "search", "harbor ferry")
    assert "The ferry leaves the harbor at noon." in shown
    families = {f"assay.verbs.{path.stem}" for path in Path(str(verbs.__file__)).parent.glob("*.py")}
    needed = {f"assay.verbs.{name}" for name in ("agent_text", "faults", "fields", "searching", "verb")}
    assert families & set(modules) == needed
    others = ("evaluation", "judging", "online", "research", "server", "systems", "work")
    assert [name for name in modules if name.startswith(tuple(f"assay.{other}" for other in others))] == []
    rows = ("erasure", "judging", "memory_lists", "research", "retention", "tenants", "traces")
    assert {f"assay.storage.repositories.{name}" for name in rows}.isdisjoint(modules)
    records = ("analysis", "datasets", "judging", "research_log", "store_audits", "traces")
    assert {f"assay.records.{name}" for name in records}.isdisjoint(modules)


def test_a_name_is_completed_without_loading_a_command() -> None:
    shown, modules = loaded_by(_ASSAY_COMPLETE="complete_bash", COMP_WORDS="assay se", COMP_CWORD="1")
    assert shown.split() == ["search", "session", "serve"]
    assert [name for name in modules if name.startswith("assay.cli.commands")] == []


def test_a_misspelled_command_is_answered_with_the_near_ones(run: Run) -> None:
    told = run("serch")
    assert told.code == 3
    assert "'search'" in told.err


def test_a_group_without_a_command_says_what_is_missing(run: Run) -> None:
    told = run("dataset")
    assert told.code == 3
    assert "`assay dataset` needs the name of a command" in told.err


def test_a_command_that_is_added_is_found_beside_the_listed_ones() -> None:
    added = LazyCommands()
    names = set(added)
    added["extra"] = load_command("version")
    assert set(added) == names | {"extra"}
    assert len(added) == len(names) + 1
    assert added["extra"].name == "version"
    del added["extra"]
    assert "extra" not in added
    with pytest.raises(KeyError):
        added["extra"]


def test_all_commands_can_be_gone_through() -> None:
    group: Any = typer.main.get_command(app)
    assert {name for name, command in group.commands.items() if command.help} == {entry.name for entry in ENTRIES}


def test_help_shows_the_help_of_a_command(run: Run) -> None:
    assert run("help").out == run("--help").out
    assert run("help", "flag", "set").out == run("flag", "set", "--help").out
    told = run("help", "flag", "sett")
    assert told.code == 3
    assert "Did you mean `assay help flag set`?" in told.err
    assert run("help", "run", "more").code == 3
