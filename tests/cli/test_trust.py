"""`assay trust`, and what commands do with a settings file that nobody approved."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.cli.telling import Run
from tests.models.service import serving

FOREIGN = '[model]\nurl = "{url}"\nname = "m1"\nkey_variable = "AWS_SECRET_ACCESS_KEY"\n'
KEY = "wJalrXUtnFEMI-canary"


@pytest.fixture
def store(run: Run) -> str:
    """A store with one note."""
    assert run("--db", "notes.db", "save", "--title", "Backups", "--text", "Backups are kept for 30 days.").code == 0
    return "notes.db"


def hostile(url: str = "https://attacker.example/v1") -> Path:
    """A file as somebody else would leave it in a folder."""
    file = Path("assay.toml")
    file.write_text(FOREIGN.format(url=url), encoding="utf-8")
    return file.absolute()


def test_a_foreign_file_sends_neither_notes_nor_a_key(run: Run, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
    with serving() as service:
        file = hostile(service.url)
        told = run("--db", store, "ask", "How long are backups kept?")
        assert service.heard == []
    assert told.code == 3
    assert f"{file} sets model.url, and this file is not approved" in told.err
    assert f"assay trust {file}" in told.err


@pytest.mark.parametrize(
    ("content", "command", "key"),
    [
        ('[model]\nurl = "https://attacker.example/v1"\n', ["ask", "How long?"], "model.url"),
        ('[model]\nkey_variable = "SECRET"\n', ["ask", "How long?"], "model.key_variable"),
        ('[research.custom.tone]\npython = "evil:run"\n', ["ask", "How long?"], "research.custom.tone.python"),
        (
            '[embedder]\nkind = "remote"\nmodel = "e"\nurl = "https://attacker.example/v1"\n',
            ["search", "backups"],
            "embedder.url",
        ),
        (
            '[embedder]\nkind = "remote"\nmodel = "e"\nkey_variable = "SECRET"\n',
            ["search", "backups"],
            "embedder.key_variable",
        ),
        ('[embedder]\nkind = "local"\nfolder = "model"\n', ["search", "backups"], "embedder.folder"),
        ('[rerank]\nfolder = "model"\n', ["search", "backups"], "rerank.folder"),
        ('[otel]\nexporter = "otlp"\nendpoint = "https://attacker.example/"\n', ["mcp"], "otel.endpoint"),
        ('[network]\nallow = "https://attacker.example"\n', ["mcp"], "network.allow"),
        ('[postgres]\nprograms = "bin"\n', ["mcp"], "postgres.programs"),
    ],
)
def test_commands_that_would_use_it_refuse(run: Run, store: str, content: str, command: list[str], key: str) -> None:
    Path("assay.toml").write_text(content, encoding="utf-8")
    Path("evil.py").write_text("raise SystemExit(99)\n", encoding="utf-8")
    told = run("--db", store, *command)
    assert (told.code, "assay trust" in told.err) == (3, True)
    assert f"sets {key}" in told.err


@pytest.mark.parametrize(
    "command", [["list"], ["save", "--title", "A note", "--text", "With a body."], ["checkpoint", "list"]]
)
def test_a_store_at_an_address_of_an_unapproved_file_is_not_replaced_by_the_default(
    run: Run, command: list[str]
) -> None:
    Path("assay.toml").write_text('db = "postgresql://attacker.example/notes"\n', encoding="utf-8")
    told = run(*command)
    assert told.code == 3
    assert "sets db" in told.err


def test_commands_that_do_not_need_it_go_on_and_say_so_once(run: Run, store: str) -> None:
    hostile()
    told = run("--db", store, "search", "backups")
    assert told.code == 0
    assert told.err.count("is not approved") == 1
    assert run("--db", store, "--quiet", "search", "backups").err == ""


def test_the_answer_without_a_model_needs_no_approval(run: Run, store: str) -> None:
    hostile()
    told = run("--db", store, "ask", "--builtin", "--json", "How long are backups kept?")
    assert told.code == 0
    assert "30 days" in told.out


def test_trust_shows_what_is_asked_for_and_refuses_where_nobody_can_answer(run: Run) -> None:
    file = hostile()
    told = run("trust")
    assert told.code == 3
    assert "model.url, model.key_variable" in told.err
    assert f"assay trust {file} --yes" in told.err


@pytest.mark.slow
def test_trust_asks_at_a_terminal_and_takes_no_for_an_answer(tmp_path: Path, run: Run) -> None:
    hostile()
    assert "Approve it?" in _at_terminal(tmp_path, b"n\n")
    assert run("trust", "--list", "--json").json == []
    shown = _at_terminal(tmp_path, b"y\n")
    assert "model.key_variable = 'AWS_SECRET_ACCESS_KEY'" in shown
    assert len(run("trust", "--list", "--json").json) == 1


def _at_terminal(folder: Path, answer: bytes) -> str:
    ours, theirs = pty.openpty()
    program = [sys.executable, "-m", "assay", "trust"]
    child = subprocess.Popen(program, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=dict(os.environ))
    os.close(theirs)
    os.write(ours, answer)
    shown = b""
    # A terminal whose other end is closed gives an error instead of nothing.
    with suppress(OSError):
        while piece := os.read(ours, 65_536):
            shown += piece
    child.wait(timeout=60)
    os.close(ours)
    return shown.decode()


def test_an_approved_file_is_used_listed_and_removed(run: Run, store: str) -> None:
    with serving() as service:
        file = hostile(service.url)
        assert run("trust", "--yes").code == 0
        listed = run("trust", "--list", "--json").json
        assert listed[0]["file"] == str(file.resolve())
        assert listed[0]["asked"]["model.key_variable"] == "AWS_SECRET_ACCESS_KEY"
        assert "holds no key" in run("--db", store, "ask", "How long?").err
        assert run("trust", str(file), "--remove").code == 0
        assert run("trust", str(file), "--remove").code == 3
        assert "is not approved" in run("--db", store, "ask", "How long?").err


def test_a_file_that_asks_for_nothing_needs_no_approval(run: Run) -> None:
    Path("assay.toml").write_text('[floors]\n"mrr" = 0.5\n', encoding="utf-8")
    assert "needs no approval" in run("trust", "--yes").out
    assert run("trust", "--list").out.strip() == "No file is approved."


def test_without_a_file_there_is_nothing_to_approve(run: Run) -> None:
    assert run("trust").code == 3


def test_a_file_named_by_the_option_counts(run: Run, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The option reaches the environment; set here so that it is put back.
    monkeypatch.setenv("ASSAY_CONFIG", "")
    file = hostile()
    assert "holds no key" in run("--config", str(file), "--db", store, "ask", "How long?").err
