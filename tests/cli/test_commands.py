"""The command line as a person uses it: in process, through `main`, with real stores."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest
from tests.cli.telling import Run
from tests.storage.homes import BOUND_S
from tests.storage.waiting import until

from assay import open_store
from assay.clock import SystemClock
from assay.records import Scope
from assay.storage.backend import WriteLock
from assay.testing import note


def test_without_a_command_the_help_is_shown(run: Run) -> None:
    told = run()
    assert told.code == 0
    assert "checkpoint" in told.out


def test_version_names_what_it_stands_on(run: Run) -> None:
    assert set(run("version", "--json").json) == {"assay", "python", "sqlite"}


def test_the_common_options_may_stand_before_or_after_the_command(run: Run) -> None:
    assert run("--json", "version").json == run("version", "--json").json


def test_init_makes_a_store_and_says_where(run: Run, tmp_path: Path) -> None:
    told = run("init", "--db", "notes.db")
    assert told.code == 0
    assert str(tmp_path / "notes.db") in told.out
    assert (tmp_path / "notes.db").stat().st_mode & 0o777 == 0o600


def test_init_takes_the_checkpoint_that_reconsolidation_needs_once(run: Run) -> None:
    run("init", "--db", "notes.db")
    run("init", "--db", "notes.db")
    assert len(run("checkpoint", "list", "--db", "notes.db", "--json").json["checkpoints"]) == 1
    assert run("flag", "show", "reconsolidation", "--db", "notes.db", "--json").json["activated_at"]


def test_one_memory_is_not_counted_as_memories(run: Run) -> None:
    run("save", "--db", "notes.db", "--title", "Oven", "--text", "We poll the oven every 5 s behind the NAT.")
    assert run("list", "--db", "notes.db").out.startswith("1 memory: 1 current\n")
    assert "(1 memory)" in run("init", "--db", "notes.db").out


def test_init_again_changes_nothing(run: Run) -> None:
    run("init", "--db", "notes.db")
    assert run("init", "--db", "notes.db", "--json").json["memories"] == 0


def test_the_settings_file_that_init_writes_is_one_that_config_reads(run: Run, tmp_path: Path) -> None:
    run("init", "--db", "notes.db", "--settings-file")
    commented = (tmp_path / "assay.toml").read_text(encoding="utf-8")
    opened = "\n".join(line[2:] if " = " in line and '""' not in line else line for line in commented.splitlines())
    (tmp_path / "assay.toml").write_text(opened, encoding="utf-8")

    shown = run("config", "--json").json

    assert shown["file"] == str(tmp_path / "assay.toml")
    assert shown["settings"]["store.readers"]["layer"] == "file"


def test_config_shows_value_and_origin_of_everything(run: Run) -> None:
    told = run("config", "--tenant", "blue")
    assert "option --tenant" in told.out
    assert "store.lock_timeout_s" in told.out


def test_doctor_finds_a_healthy_store_healthy(run: Run) -> None:
    run("init", "--db", "notes.db")
    told = run("doctor", "--db", "notes.db", "--json")
    states = {one["subject"]: one["state"] for one in told.json}
    assert told.code == 0
    assert states["Store"] == "ok"
    assert states["Permissions"] == "ok"


def test_doctor_explains_and_fails_for_a_store_that_cannot_be_used(run: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("not a database at all, but long enough to be read as one" * 20)
    told = run("doctor", "--db", "notes.db")
    assert told.code == 4
    assert "problem" in told.out


def test_doctor_names_a_trigger_that_assay_did_not_make(run: Run, tmp_path: Path) -> None:
    run("init", "--db", "notes.db")
    assert not any(
        "not made by Assay" in finding["seen"] for finding in run("doctor", "--db", "notes.db", "--json").json
    )
    with closing(sqlite3.connect(tmp_path / "notes.db")) as foreign:
        foreign.execute("CREATE TRIGGER spy AFTER INSERT ON memories BEGIN SELECT 1; END")
    told = run("doctor", "--db", "notes.db")
    assert told.code != 0
    assert "trigger 'spy' on memories was not made by Assay" in " ".join(told.out.split())


def test_a_token_of_an_operator_is_made_at_the_command_line(run: Run) -> None:
    made = run("token", "create", "--scope", "operator", "--name", "ops", "--db", "notes.db", "--json").json
    assert (made["access"], made["token"][:6]) == ("operator", "assay_")
    assert "operator" in run("token", "list", "--db", "notes.db").out


def test_doctor_reads_the_whole_file_and_finds_damage_in_its_middle(run: Run, tmp_path: Path) -> None:
    with open_store(tmp_path / "notes.db") as store, store.writing(Scope()) as work:
        for number in range(200):
            work.memories.add(note(f"m_{number}", body="Something worth keeping. " * 20))
    content = bytearray((tmp_path / "notes.db").read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = b"x" * 4096
    (tmp_path / "notes.db").write_bytes(content)

    told = run("doctor", "--db", "notes.db", "--json")

    assert told.code == 4
    assert "problem" in {one["state"] for one in told.json if one["subject"] == "Store"}


def test_a_checkpoint_is_made_listed_restored_and_deleted(run: Run, tmp_path: Path) -> None:
    with open_store(tmp_path / "notes.db") as store, store.writing(Scope()) as work:
        work.memories.add(note("m_1"))
    made = run("checkpoint", "create", "first", "--db", "notes.db", "--json").json
    with open_store(tmp_path / "notes.db") as store, store.writing(Scope()) as work:
        work.memories.remove("m_1")

    assert made["name"] in run("checkpoint", "list", "--db", "notes.db").out
    restored = run("checkpoint", "restore", "first", "--db", "notes.db", "--json").json
    with open_store(tmp_path / "notes.db") as store, store.reading(Scope()) as work:
        assert work.memories.get("m_1") == note("m_1")
    assert run("checkpoint", "delete", made["id"], "--db", "notes.db").code == 0
    left = [one["id"] for one in run("checkpoint", "list", "--db", "notes.db", "--json").json["checkpoints"]]
    assert left == [restored["kept_aside"]]


def test_a_damaged_store_is_brought_back_from_its_checkpoint(run: Run, tmp_path: Path) -> None:
    with open_store(tmp_path / "notes.db") as store, store.writing(Scope()) as work:
        work.memories.add(note("m_1"))
    run("checkpoint", "create", "good", "--db", "notes.db")
    (tmp_path / "notes.db").write_bytes(b"rubbish" * 5000)

    assert run("checkpoint", "restore", "good", "--db", "notes.db").code == 0
    with open_store(tmp_path / "notes.db", create=False) as store, store.reading(Scope()) as work:
        assert work.memories.count() == 1
    assert list(tmp_path.glob("notes.db.damaged-*"))


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (("frobnicate",), 3, "frobnicate"),
        (("init", "--nonsense"), 3, "--nonsense"),
        (("checkpoint", "restore"), 3, "ID|NAME"),
        (("checkpoint", "list", "--tenant", "../x"), 3, "../x"),
        (("init", "--db", "."), 3, "folder"),
        (("init", "--db", "mysql://x/y"), 3, "mysql"),
        (("checkpoint", "create", "--db", "missing.db"), 3, "missing.db"),
        (("checkpoint", "restore", "nope", "--db", "missing.db"), 3, "nope"),
        (("init", "--db", "postgresql://me:hunter2@127.0.0.1:1/x"), 4, "127.0.0.1"),
    ],
)
def test_a_mistake_ends_with_its_code_and_one_error_that_names_the_value(
    run: Run, arguments: tuple[str, ...], code: int, named: str
) -> None:
    plain, machine = run(*arguments), run(*arguments, "--json")

    assert (plain.code, machine.code) == (code, code)
    assert named in plain.err
    assert "try" in plain.err
    assert "hunter2" not in plain.err + machine.out
    assert set(machine.json["error"]) == {"code", "message", "remedy"}
    assert machine.json["error"]["remedy"]


def test_stored_text_is_never_read_as_markup(run: Run) -> None:
    run("init", "--db", "notes.db")
    run("checkpoint", "create", "[b]x", "--db", "notes.db")
    assert "[b]x" in run("checkpoint", "list", "--db", "notes.db").out


def test_ctrl_c_ends_a_waiting_command_cleanly(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.touch()
    lock = WriteLock(path, clock=SystemClock(), timeout_s=5)
    with lock.hold():
        command = [sys.executable, "-m", "assay", "init", "--db", str(path)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as waiting:
            queue = tmp_path / "notes.db.queue"
            # It has reached the queue when it holds the turnstile that only waiters touch.
            until(lambda: holds_open(waiting.pid, queue))
            waiting.send_signal(signal.SIGINT)
            _, told = waiting.communicate(timeout=BOUND_S)
    assert waiting.returncode == 130
    assert "Interrupted" in told
    assert "Traceback" not in told


def holds_open(pid: int, path: Path) -> bool:
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed while we looked
            if link.readlink() == path:
                return True
    return False


def test_output_that_is_no_terminal_has_no_colours(run: Run) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "assay", "doctor"], capture_output=True, text=True, timeout=60, check=False
    )
    assert "Python" in told.stdout
    assert "\x1b[" not in told.stdout


def test_a_reader_that_leaves_early_is_no_error() -> None:
    told = subprocess.run(
        f"{sys.executable} -m assay doctor | head -c 1",
        shell=True,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert told.stderr == ""
