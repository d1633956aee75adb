"""`assay ingest` as a person runs it: what it prints, how it ends, and two of it at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.telling import Run
from tests.formats.made_pdf import make_pdf

from assay.formats import document_text
from assay.memory.saving.options import SaveOptions

BOUND_S = 60.0


@pytest.fixture(autouse=True)
def own_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_DB", "notes.db")
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(3):
        (folder / f"n{number}.md").write_text(f"# Note {number}\n\nWhat note {number} says about tea.\n")
    return folder


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "assay", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


def test_a_folder_is_taken_in_and_found(run: Run, docs: Path) -> None:
    told = run("ingest", "docs")
    assert told.code == 0
    assert "3 files, 3 documents: 3 stored" in told.out
    assert "seconds" in told.out
    assert "docs/n1.md" in run("search", "note 1 tea").out
    assert "3 unchanged" in run("ingest", "docs").out


def test_pdf_files_without_their_reader_are_counted_named_and_the_reader_is(
    run: Run, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.pdf", "b.PDF"):
        (docs / name).write_bytes(make_pdf("Tea."))
    with monkeypatch.context() as without:
        without.setattr(document_text, "missing_modules", lambda extra: ["pypdf"])
        told = run("ingest", "docs")
    assert (told.code, "5 files, 3 documents: 3 stored" in told.out) == (0, True)
    assert "passed over: 2 no reader" in told.out
    assert "2 PDF files were left out. Install their reader, and ingest again: pip install 'assaykit[pdf]'" in told.out
    assert "docs/b.PDF: no reader (PDF is read by the extra 'pdf'; install it: pip install 'assaykit[pdf]')" in told.out
    assert run("ingest", "docs", "--strict", "--json").json["fates"] == {"stored": 2, "unchanged": 3}


def test_json_has_counts_reasons_and_times(run: Run, docs: Path) -> None:
    (docs / "bad.json").write_text("{")
    told = run("ingest", "docs", "--json").json
    assert told["fates"] == {"stored": 3}
    assert told["skipped"]["reasons"] == {"json": 1}
    assert told["skipped"]["files"][0]["line"] == 1
    assert set(told["seconds"]) == {"total", "read", "chunk", "embed", "write"}
    assert told["chunk_tokens"]["chunks"] == 3


def test_what_was_passed_over_is_listed_and_strict_makes_it_an_exit(run: Run, docs: Path) -> None:
    (docs / "image.md").write_bytes(b"\x00")
    told = run("ingest", "docs")
    assert told.code == 0
    assert "docs/image.md: binary" in told.out
    assert run("ingest", "docs", "--strict").code == 2


def test_another_root_and_patterns(run: Run, docs: Path) -> None:
    told = run("ingest", "docs", "--root", "docs", "--glob", "n1*", "--json").json
    assert told["files"] == 1
    assert run("search", "tea", "--json").json["hits"][0]["rel_path"] == "n1.md"


def test_what_is_gone_is_told_then_pruned(run: Run, docs: Path) -> None:
    run("ingest", "docs")
    (docs / "n0.md").unlink()
    assert "1 no longer on disk, kept" in run("ingest", "docs").out
    assert "1 no longer on disk, superseded" in run("ingest", "docs", "--prune").out


@pytest.mark.usefixtures("run")
@pytest.mark.slow
def test_two_processes_take_in_the_same_folder_and_nothing_comes_twice(run: Run, docs: Path) -> None:
    for number in range(40):
        (docs / f"more{number}.md").write_text(f"# More {number}\n\nEven more about number {number}.\n")
    run("init")
    both = [start("ingest", "docs", "--json") for _ in range(2)]
    told = [json.loads(one.communicate(timeout=BOUND_S)[0]) for one in both]

    assert [one.returncode for one in both] == [0, 0]
    assert sum(one["fates"].get("stored", 0) for one in told) == 43
    assert all(one["documents"] == 43 for one in told)
    assert run("ingest", "docs", "--json").json["fates"] == {"unchanged": 43}


def test_ctrl_c_keeps_what_was_committed_and_the_next_run_goes_on(
    run: Run, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("init")
    records = [json.dumps({"_id": number, "text": f"Record {number} about tea."}) for number in range(200)]
    os.mkfifo(docs / "pipe.jsonl.fifo")
    (docs / "a.jsonl").write_text("\n".join(records) + "\n")
    with start("ingest", "docs", "--watch", "--interval", "0.1") as watching:
        assert watching.stdout is not None
        assert "203 documents: 203 stored" in watching.stdout.readline()
        (docs / "late.md").write_text("# Late\n\nSomething that came late.\n")
        while "1 files, 1 documents: 1 stored" not in watching.stdout.readline():
            pass
        watching.send_signal(signal.SIGINT)
        _, errors = watching.communicate(timeout=BOUND_S)
    assert watching.returncode == 130
    assert "Traceback" not in errors
    assert run("ingest", "docs", "--json").json["fates"] == {"unchanged": 204}


def test_watch_says_what_it_does_and_an_interruption_says_what_is_kept(run: Run, docs: Path) -> None:
    run("init")
    (docs / "more.md").write_text("# More\n\nMore about tea.\n")
    with start("ingest", "docs", "--watch", "--interval", "0.1") as watching:
        assert watching.stdout is not None
        assert "4 documents: 4 stored" in watching.stdout.readline()
        watching.send_signal(signal.SIGINT)
        _, errors = watching.communicate(timeout=BOUND_S)
    assert errors.startswith("Taking in docs, then looking for changes every 0.1 s. Ctrl-C ends it.\n")
    assert "Kept: 4 documents in 4 chunks; 4 of 4 files are done, 0.0 of 0.0 MB." in errors
    assert "The same command goes on from there." in errors


INTERRUPTED = """
import sys
from pathlib import Path
from assay import Memory
from assay.memory.ingesting import Step

def told(step: Step) -> None:
    print(step.files, flush=True)
    if step.files == 100:
        sys.stdin.readline()

with Memory("notes.db", embedder="none") as memory:
    memory.engine.ingest(memory.scope, [Path("docs")], on_file=told)
"""


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.slow
def test_a_run_that_is_stopped_in_the_middle_leaves_whole_documents_only(
    run: Run, docs: Path, signal_number: signal.Signals
) -> None:
    more_than_one_batch = SaveOptions().batch
    for number in range(more_than_one_batch):
        (docs / f"z{number:03}.md").write_text(f"# More {number}\n\nEven more about number {number}.\n")
    run("init")
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as one:
        assert one.stdout is not None
        while one.stdout.readline().strip() != "100":
            assert one.poll() is None, "it ended too early"
        one.send_signal(signal_number)
        one.communicate(timeout=BOUND_S)
    assert one.returncode != 0

    doctor = {line["subject"]: line["state"] for line in run("doctor", "--json").json}
    again = run("ingest", "docs", "--json").json

    assert doctor["Store"] == "ok"
    kept, left = again["fates"]["unchanged"], again["fates"]["stored"]
    assert kept >= 100, "it said that 100 files are done"
    assert left > 0, "it was stopped in the middle"
    assert kept + left == more_than_one_batch + 3
