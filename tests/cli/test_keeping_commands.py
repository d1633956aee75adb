"""Sessions, tasks, retention and forgetting from the command line."""

from __future__ import annotations

import gzip
import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.cli.telling import Run

from assay import Scope, Settings
from assay.clock import SystemClock
from assay.records import Draft, SearchRequest
from assay.testing import FixedClock, note
from assay.wiring import list_checkpoints, open_engine

TEA = "The tea of Zenobia Quix is kept in the left cupboard of the small kitchen."


@pytest.fixture(autouse=True)
def own_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_DB", "notes.db")
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")


@pytest.fixture
def tea(run: Run) -> str:
    """A memory, searched for four months ago in session `s`."""
    long_ago = FixedClock(SystemClock().now() - timedelta(days=120))
    with open_engine(Settings(db="notes.db", embedder="none"), clock=long_ago) as engine:
        saved = engine.saver.save(Scope(), Draft(title="Tea", body=TEA)).memory_id
        engine.searcher.search(Scope(), SearchRequest(query="where is the tea", session_id="s"))
    assert saved is not None
    return saved


def test_a_session_is_listed_and_shown(run: Run, tea: str) -> None:
    assert "s " in run("session", "list").out
    shown = run("session", "show", "s")
    assert shown.code == 0
    assert tea in shown.out
    assert "no search was judged" in shown.out
    assert run("session", "show", "s", "--json").json["totals"]["total_searches"] == 1
    assert run("session", "show", "nope").code == 3
    assert "nothing is known" in run("session", "show", "nope").err
    assert "No sessions yet" in run("session", "list", "--tenant", "rival").out


def test_a_task_is_begun_and_ended(run: Run, tea: str) -> None:
    numbers = ("--knowledge", "0.2", "--uncertainty", "0.8", "--context", "0.5")
    assert run("task", "preflight", "t1", *numbers, "--session", "s", "--goal", "make tea").code == 0
    ended = run("task", "postflight", "t1", "--knowledge", "0.8", "--uncertainty", "0.2", "--context", "0.8")
    assert "learning index   +0.50" in ended.out
    again = run("task", "postflight", "t1", *numbers, "--useful", tea, "--json").json
    assert again["validated"] == 1
    assert again["change"]["learning_index"] == 0
    assert run("task", "preflight", "t1", *numbers).code == 3
    assert run("task", "preflight", "t2", "--knowledge", "7", *numbers[2:]).code == 3
    assert run("task", "postflight", "t3", *numbers).code == 3


def test_the_searches_of_tasks_are_compared_by_outcome(run: Run, tea: str) -> None:
    numbers = ("--knowledge", "0.2", "--uncertainty", "0.8", "--context", "0.5")
    assert "No task has ended yet" in run("task", "outcomes").out
    for task, outcome in (("t1", "done"), ("t2", "failed")):
        run("task", "preflight", task, *numbers, "--session", "s")
        run("search", "where is the tea", "--session", "s")
        ended = run("task", "postflight", task, *numbers, "--outcome", outcome, "--useful", tea)
        assert f"minutes, {outcome}" in ended.out
    assert "done, learning +0.00" in run("session", "show", "s").out
    shown = run("task", "outcomes").out
    assert "2 ended tasks, of which 0 have no searches" in shown
    assert "Too few to compare: 1 done and 1 failed tasks have searches" in shown
    assert re.search(r"searches with something used +[\d.]+ +[\d.]+ +- +[+-][\d.]+, no interval", shown)
    assert "This is an association" in shown
    done, failed, abandoned = run("task", "outcomes", "--json").json["comparisons"][0]["groups"]
    assert [group["searches"] for group in (done, failed, abandoned)] == [1, 1, 0]
    assert run("task", "postflight", "t1", *numbers, "--outcome", "half").code == 3


def test_old_searches_are_archived_and_come_back(run: Run, tea: str) -> None:
    planned = run("retention", "run", "--dry-run", "--json").json
    assert planned["queries"] == 1
    boundary = datetime.fromisoformat(planned["queries_before"])
    assert boundary.utcoffset() == timedelta(0)
    shown = run("retention", "run", "--dry-run").out
    assert re.search(r"searches +1 into archives, from before \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", shown)
    assert re.search(r"comparisons +0 deleted, from before \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", shown)
    done = run("retention", "run", "--json").json
    assert done["queries"] == 1
    [archive] = done["archives"]
    assert Path(archive).parent.name == "notes.db.archives"
    assert "gone" in run("retention", "run").out
    assert "1 of 1 rows came back" in run("retention", "restore", archive).out
    assert "0 of 1 rows came back" in run("retention", "restore", archive).out
    Path(archive).write_bytes(Path(archive).read_bytes()[:60])
    cut = run("retention", "restore", archive)
    assert cut.code == 3
    assert "line " in cut.err
    assert run("retention", "restore", "nowhere.gz").code == 3
    assert tea


def test_forgetting_asks_looks_erases_and_proves(run: Run, tea: str) -> None:
    [archive] = run("retention", "run", "--json").json["archives"]
    assert run("forget", tea).code == 3
    assert "--yes" in run("forget", tea).err
    looked = run("forget", "--person", "Zenobia Quix", "--dry-run")
    assert looked.code == 0
    assert tea in looked.out
    done = run("forget", "--person", "Zenobia Quix", "--yes", "--json")
    assert done.code == 0
    assert done.json["left"] == []
    assert {Path(path).name for path in done.json["searched"]} >= {"notes.db"}
    assert done.json["files_changed"] == [archive]
    assert run("show", tea).code == 3
    gone = run("forget", "--person", "Zenobia Quix", "--yes")
    assert gone.code == 2
    assert "nothing of it" in gone.out
    assert not Path(archive).exists() or b"Zenobia" not in gzip.decompress(Path(archive).read_bytes())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "nothing was named"),
        (("--tenant", "rival"), "nothing was named"),
        (("m_1", "--everything"), "2 kinds of things were named to forget at once"),
        (("m_gone", "--yes"), "there is no memory 'm_gone'"),
        (("--person", "Z", "--yes"), "too short"),
        (("../etc", "--yes"), "is not an id"),
    ],
)
def test_a_wrong_wish_to_forget_is_refused(run: Run, tea: str, arguments: tuple[str, ...], said: str) -> None:
    told = run("forget", *arguments)
    assert told.code == 3
    assert said in told.err
    assert run("show", tea).code == 0


def test_a_whole_tenant_is_forgotten_and_the_copies_that_held_it(run: Run, tea: str) -> None:
    settings = Settings(db="notes.db", embedder="none")
    made = run("checkpoint", "create", "--json").json
    assert made["name"] == "by hand"
    listed = run("forget", "--everything", "--yes")
    assert made["id"] in listed.out
    assert run("forget", "--everything", "--checkpoints", "--yes").code == 0
    assert list_checkpoints(settings) == []
    assert run("show", tea).code == 3
    assert "nothing was unfinished" in run("forget", "--finish").out


def test_a_checkpoint_is_made_and_deleted_by_what_surfaces_call(run: Run, tea: str) -> None:
    settings = Settings(db="notes.db", embedder="none")
    made = run("checkpoint", "create", "for a tool", "--json").json
    assert run("checkpoint", "delete", "for a tool", "--json").json == made
    assert made["id"] not in [checkpoint.id for checkpoint in list_checkpoints(settings)]


def test_secrets_stored_in_clear_are_found_and_masked(run: Run) -> None:
    secret = "glpat-" + "aB3x" * 5
    with open_engine(Settings(db="notes.db", embedder="none")) as engine, engine.store.writing(Scope()) as work:
        work.memories.add(note("m_old", title="Mirror", body=f"The mirror clones with {secret} at night."))
    found = run("rescan")
    assert found.code == 2
    assert "1 secret in 1 memory and 0 other rows is stored in clear" in found.out
    assert "GitLab token" in found.out
    assert "m_old" in found.out
    assert secret not in found.out
    assert run("rescan", "--apply").code == 3
    assert "there is no terminal to confirm it" in run("rescan", "--apply").err
    assert run("rescan", "--json").json["memories"] == {"m_old": ["GitLab token"]}
    done = run("rescan", "--apply", "--yes")
    assert done.code == 0
    assert "nothing left" in done.out
    assert secret.encode() not in Path("notes.db").read_bytes()
    again = run("rescan")
    assert again.code == 0
    assert "no secrets are stored in clear" in again.out
