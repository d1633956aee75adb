"""`tune fusion`, `experiment` and `label` as somebody types them, also at a real terminal."""

from __future__ import annotations

import io
import json
import os
import pty
import sys
import time
from pathlib import Path

import pytest
from tests.cli.telling import Run
from tests.models.service import answer, serving
from tests.systems.sample import CASES, dataset

from assay.evaluation.datasets import export_dataset
from assay.records.datasets import Case

QUIET = "embedder.kind=none"


def written(folder: Path, cases: tuple[Case, ...] = CASES) -> Path:
    return export_dataset(dataset(cases=cases), folder / "house.json")


def many() -> tuple[Case, ...]:
    """Enough cases to tune on."""
    return tuple(
        Case(id=f"{one.id}-{number}", query=f"{one.query} {'please ' * number}".strip(), grades=one.grades)
        for one in CASES
        for number in range(4)
    )


def test_tune_fusion_keeps_what_cannot_be_bettered(run: Run, tmp_path: Path) -> None:
    path = str(written(tmp_path, many()))
    told = run("tune", "fusion", path, "-s", f"assay:{QUIET}", "-n", "50", "--json")
    assert told.code == 2
    assert told.json["keep"] is True
    assert told.json["sentence"].startswith("Keep what you have")
    assert told.json["confirmed"] is None
    assert len(told.json["shapley"]) == 5
    shown = run("tune", "fusion", path, "-s", f"assay:{QUIET}", "-n", "50")
    assert "Keep what you have" in shown.out
    assert "what each channel is worth" in shown.out.lower()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--metric", "bpref"], "cannot be tuned by"),
        (["--range", "bm25=high"], "cannot be read"),
        (["--range", "smell=1:2"], "smell"),
        (["--method", "borda"], "borda"),
        (["-s", "run:x.trec"], "does not report what its channels found"),
        (["-n", "0"], "configurations"),
    ],
)
def test_tune_fusion_says_what_it_cannot_use(run: Run, tmp_path: Path, arguments: list[str], why: str) -> None:
    told = run("tune", "fusion", str(written(tmp_path)), "-s", f"assay:{QUIET}", *arguments)
    assert told.code == 3
    assert why in told.err


def test_tune_fusion_needs_enough_cases(run: Run, tmp_path: Path) -> None:
    told = run("tune", "fusion", str(written(tmp_path)), "-s", f"assay:{QUIET}")
    assert told.code == 2
    assert "4 cases are too few" in told.err


def test_an_experiment_is_run_judged_and_written_down(run: Run, tmp_path: Path) -> None:
    path = str(written(tmp_path))
    base = ("experiment", "run", path, "--base", f"assay:{QUIET}")
    worse = run(*base, "--set", "channels=fts5", "-d", "precise words alone", "--json")
    assert worse.code in (0, 1, 2)
    assert worse.json["verdict"] in ("ACCEPTED", "REJECTED", "INCONCLUSIVE")
    assert worse.json["changes"] == {"channels": "fts5"}
    same = run(*base, "--set", "chunking.max_tokens=128")
    assert same.code == 2
    assert same.out.startswith("INCONCLUSIVE")
    assert same.err.startswith(f"Running assay:{QUIET} over house: {len(CASES)} cases ...\n")
    listed = run("experiment", "list")
    assert "precise words alone" in listed.out
    assert "chunking.max_tokens=128" in listed.out
    assert len(json.loads((tmp_path / "experiments.json").read_text(encoding="utf-8"))["experiments"]) == 2
    assert "house 1.0.0 against assay:embedder.kind=none: 2 tries, " in listed.out
    shown = run("experiment", "show", worse.json["id"], "--json").json
    assert {**shown, "tries": worse.json["tries"]} == worse.json
    assert worse.json["tries"]["of"] == 1
    assert (shown["tries"]["number"], shown["tries"]["of"]) == (1, 2)
    assert "Try 2 of 2, " in run("experiment", "show").out
    assert "It was held to p <= 0.0083." in run("experiment", "show").out
    assert run("experiment", "list", "--json").json[1]["alpha"] == pytest.approx(0.05 / 6)


@pytest.mark.parametrize(
    "change", [[], ["--set", "nonsense"], ["--set", "serch.fusion=rrf"], ["--set", "chunking.max_tokens=9"]]
)
def test_an_experiment_that_cannot_be_run_is_refused(run: Run, tmp_path: Path, change: list[str]) -> None:
    told = run("experiment", "run", str(written(tmp_path)), "--base", f"assay:{QUIET}", *change)
    assert told.code == 3
    assert not (tmp_path / "experiments.json").exists()


def test_no_experiments_yet(run: Run) -> None:
    assert "no experiments yet" in run("experiment", "list").out
    assert run("experiment", "show").code == 3


def piped(monkeypatch: pytest.MonkeyPatch, keys: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(keys))


def test_keys_from_a_pipe_label_and_go_on_later(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(written(tmp_path))
    piped(monkeypatch, "3\n2\nu\n1\nq\n")
    first = run("label", path, "-a", "ada")
    assert first.code == 0
    assert "when does the pool" in first.out
    assert "2 of 7 pairs are labelled by ada" in first.out
    piped(monkeypatch, "0 3 3 0 3")
    assert run("label", path, "-a", "ada", "--json").json["done"] == 7
    piped(monkeypatch, "3 2 0 3 3 0 s")
    run("label", path, "-a", "bo", "--quiet")
    agreed = run("label", path, "--agreement", "--json").json
    assert agreed["annotators"] == {"ada": 7, "bo": 6}
    assert {(one["case_id"], one["document_id"]) for one in agreed["disagreements"]} == {("q1", "sauna")}
    assert "alpha" in run("label", path, "--agreement").out
    applied = run("label", path, "--apply", str(tmp_path / "labelled"), "--json").json
    assert applied["grades"] == 13
    assert run("dataset", "check", str(tmp_path / "labelled")).code == 0


def test_labels_that_are_not_there_yet_are_told(run: Run, tmp_path: Path) -> None:
    told = run("label", str(written(tmp_path)), "--agreement")
    assert told.code == 3
    assert "no labels yet" in told.err


def test_a_real_terminal_gives_single_keys_and_is_left_as_it_was(tmp_path: Path) -> None:
    path = str(written(tmp_path))
    child, terminal = pty.fork()
    if child == 0:  # pragma: no cover - another process
        os.chdir(tmp_path)
        os.execv(sys.executable, [sys.executable, "-m", "assay", "label", path, "-a", "ada"])
    shown = _until(terminal, "q quit")
    assert "when does the pool" in shown
    for key, said in (("3", "3: the answer"), ("s", "skipped"), ("q", "pairs are labelled")):
        os.write(terminal, key.encode())
        shown = _until(terminal, said)
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0
    lines = [json.loads(line) for line in (tmp_path / "labels.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line.get("grade", "skip") for line in lines] == [3, "skip"]


def _until(terminal: int, words: str, *, patience_s: float = 60.0) -> str:
    """What a terminal shows, up to these words."""
    seen, end = "", time.monotonic() + patience_s
    while words not in seen:
        assert time.monotonic() < end, f"never saw {words!r} in {seen!r}"
        try:
            seen += os.read(terminal, 4096).decode(errors="replace")
        except OSError:  # the other side has closed it
            break
    return seen


def test_generated_cases_are_labelled_before_they_count(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "pool.md").write_text("# Pool\n\nThe swimming pool is open from 7:00 to 21:00 daily.\n", encoding="utf-8")
    (notes / "bar.md").write_text("# Bar\n\nThe roof bar opens at six because the sun sets later.\n", encoding="utf-8")
    assert run("dataset", "generate", str(notes), "made").code == 0
    assert run("dataset", "generate", str(notes), "made").code == 3
    system = ("--system", f"assay:{QUIET}")
    refused = run("run", "made", *system)
    assert refused.code == 2
    assert "none is labelled yet" in refused.err
    piped(monkeypatch, "3 q")
    run("label", "made", "--quiet")
    assert "1 count from now on" in run("label", "made", "--apply", "labelled").out
    done = run("run", "labelled", *system)
    assert done.code == 0
    assert "1 generated cases are not labelled yet" in done.out


def test_a_log_without_questions_builds_nothing(run: Run, tmp_path: Path) -> None:
    db = ("--db", str(tmp_path / "a.db"))
    run("save", "-t", "Releases", "--text", "Nothing is released after noon on any weekday.", *db)
    told = run("dataset", "build", "--from-log", "use", *db)
    assert told.code == 2
    assert "no usable query" in told.err
    assert run("dataset", "build", "use", *db).code == 3
    assert not (tmp_path / "use").exists()


def test_a_dataset_from_the_log(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    db = ("--db", str(tmp_path / "a.db"))
    run("save", "-t", "Releases", "--text", "The release window is from nine until noon on weekdays.", *db)
    run("search", "release window", *db)
    built = run("dataset", "build", "--from-log", "use", "--unjudged", "1", *db)
    assert built.code == 0, built.err
    assert "1 of 1 questions, 1 documents" in built.out
    piped(monkeypatch, "3")
    assert "1 of 1 pairs are labelled" in run("label", "use", *db).out
    assert "1 labels over 1 cases" in run("label", "use", "--apply", "done", *db).out
    assert run("run", "done", "--system", f"assay:{QUIET}").code == 0


def test_a_configured_model_is_asked_unless_told_not_to(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pool.md").write_text(
        "# Pool\n\nThe swimming pool is open from 7:00 to 21:00 daily.\n", encoding="utf-8"
    )
    said = {"question": "How long can we swim?", "quote": "The swimming pool is open from 7:00 to 21:00 daily."}
    reply = {"model": "m", "choices": [{"message": {"content": json.dumps(said)}, "finish_reason": "stop"}]}
    with serving(answer(body=reply)) as service:
        monkeypatch.setenv("ASSAY_MODEL_URL", service.url)
        monkeypatch.setenv("ASSAY_MODEL_NAME", "m")
        made = run("dataset", "generate", "pool.md", "made", "--db", str(tmp_path / "a.db"))
        assert "by model m: made" in made.out, made.err
        assert "How long can we swim?" in made.out
        plain = run("dataset", "generate", "pool.md", "plain", "--builtin", "--db", str(tmp_path / "b.db"))
        assert "by rules" in plain.out
        assert not (tmp_path / "b.db").exists()
