"""`assay start`: from documents or a table of questions to a gate; goes on where it was, and refuses in words."""

from __future__ import annotations

import fcntl
import io
import json
import os
import shutil
from pathlib import Path

import pytest
from rich.console import Console
from tests.cli.telling import Run

from assay.cli.commands.serving import SERVE_DEFAULT_PORT
from assay.cli.commands.start import MOST_CHARACTERS, QUICK, Bound, bound
from assay.cli.question_review import review
from assay.evaluation.datasets import load_dataset
from assay.evaluation.labelling import LabelJournal, LabelSession, apply_labels, rewordings, standing, tasks_of
from assay.evaluation.question_generation import generate
from assay.evaluation.question_review import review_question
from assay.records.datasets import ReviewDecision
from assay.testing import FixedClock

GUIDE = """# Kettle

## Boiling

To enable quiet mode, press the left key for two seconds.

If the water tank is empty, the kettle switches itself off.

## Care

The filter is cleaned with vinegar once a month, because hard water leaves limestone in the spout.
"""
SEARCH = '''"""A retriever that knows every document."""
from pathlib import Path


def retrieve(query, k):
    words = set(query.lower().strip("?").split())
    texts = {path.name: path.read_text() for path in sorted(Path("docs").glob("*.md"))}
    ranked = sorted(texts, key=lambda name: -len(words & set(texts[name].lower().split())))
    return [{"id": name, "rel_path": name, "text": texts[name]} for name in ranked[:k]]
'''
OWN = ("--system", "python:searching:retrieve")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "kettle.md").write_text(GUIDE, encoding="utf-8")
    (tmp_path / "docs" / "cups.md").write_text("# Cups\n\nCups are washed by hand.\n", encoding="utf-8")
    (tmp_path / "docs" / "broken.txt").write_bytes(b"# \xff\xfe\n")
    (tmp_path / "docs" / "photo.png").write_bytes(b"\x89PNG")
    (tmp_path / "searching.py").write_text(SEARCH, encoding="utf-8")
    return tmp_path


def test_documents_become_a_gate_and_a_second_start_goes_on(run: Run, folder: Path) -> None:
    told = run("start", "docs", "--yes", *OWN)
    assert told.code == 0, told.err
    for line in (
        "$ assay dataset generate docs golden.proposed --builtin --most 30",
        "Files skipped, because Assay does not read them as documents: 1 .png.",
        "Not read: broken.txt: docs/broken.txt is not UTF-8 at byte 2",
        "$ assay label golden.proposed --apply golden",
        "$ assay run golden --system python:searching:retrieve --name first",
        "$ assay gate first --baseline baseline.json",
        "PASS",
        "Nobody has read",
        "  assay gate next",
    ):
        assert line in told.out
    assert "$ assay baseline bless run_" in told.out
    assert [case.query for case in load_dataset(folder / "golden").cases][:2] == [
        "How do I turn on quiet mode?",
        "What happens if the water tank is empty?",
    ]
    again = run("start", "--yes", "--json").json
    assert [step["command"] for step in again["steps"]] == ["assay gate first --baseline baseline.json"]
    assert again["steps"][0]["result"]["passed"] is True
    assert (again["unread"], again["run"], again["system"]) == (3, again["run"], OWN[1])


def test_a_table_of_questions_becomes_a_gate(run: Run, folder: Path) -> None:
    (folder / "asked.csv").write_text(
        "\ufeffquery;file\nWho washes cups?;cups\nHow is the filter cleaned?;kettle.md\n", encoding="utf-8"
    )
    (folder / "docs" / "broken.txt").unlink()
    (folder / "baseline.json").write_text("{}", encoding="utf-8")
    told = run("start", "asked.csv", "--docs", "docs", "--to", "mine", "--yes", "--json", *OWN)
    assert told.code == 0, told.err
    assert (told.json["questions"], told.json["documents"]) == (2, 2)
    assert told.json["baseline"] == "mine.baseline.json"
    assert (folder / "baseline.json").read_text(encoding="utf-8") == "{}"  # somebody else's file is left alone
    assert load_dataset(folder / "mine").cases[0].query == "Who washes cups?"


def test_each_question_can_be_kept_reworded_dropped_and_undone(tmp_path: Path, folder: Path) -> None:
    dataset = generate(folder / "docs").dataset
    journal = LabelJournal(tmp_path / "labels.jsonl", clock=FixedClock())
    wordings = iter(["  How do I make it   quiet? "])

    def press(keys: str) -> tuple[int, str]:
        session = LabelSession(tasks_of(dataset), journal, "ada")
        shown = io.StringIO()
        cases = {case.id: case for case in dataset.cases}
        done, _ = review(session, cases, iter(keys), lambda: next(wordings), Console(file=shown, width=200))
        return done, shown.getvalue()

    done, shown = press("xek")
    assert done == 1
    assert "How do I make it quiet?" in shown
    assert "To enable quiet mode, press the left key for two seconds." in shown
    assert press("q")[0] == 1  # nothing is lost between two sessions
    assert press("dudk")[0] == 3
    applied = apply_labels(dataset, standing(journal.labels()), rewordings(journal.labels()))
    assert [case.query for case in applied.dataset.cases] == [
        "How do I make it quiet?",
        "How is the filter cleaned?",
    ]
    assert (applied.reworded, applied.rejected) == (1, 1)


def test_what_a_person_says_counts_more_than_what_was_kept_unread(run: Run, folder: Path) -> None:
    assert run("start", "docs", "--yes", *OWN).code == 0
    dataset = load_dataset(folder / "golden.proposed")
    journal = LabelJournal(folder / "golden.proposed" / "labels.jsonl", clock=FixedClock())
    LabelSession(tasks_of(dataset), journal, "ada").press("0")
    told = run("start", "--yes", "--json").json
    assert (told["kept"], told["dropped"], told["unread"]) == (2, 1, 2)
    assert told["questions"] == 2


@pytest.mark.parametrize(
    ("keys", "pressed", "chosen"),
    [
        ("sfw", None, Bound(MOST_CHARACTERS, "assay")),
        ("fw", None, Bound(None, QUICK)),
        ("sfw", "f", Bound(None, QUICK)),
        ("sfw", "w", Bound(None, "assay")),
    ],
)
def test_a_folder_that_is_too_big_is_said_before_it_begins(keys: str, pressed: str | None, chosen: Bound) -> None:
    said: list[str] = []
    ask = None if pressed is None else lambda _: pressed
    characters = 10 * MOST_CHARACTERS
    given = Bound(None, "assay")
    assert bound(characters, given, keys=keys, whole=False, ask=ask, say=said.append) == chosen
    assert "would take about 40 minutes" in said[0]
    assert bound(MOST_CHARACTERS, given, keys=keys, whole=False, ask=ask, say=said.append) == given
    assert bound(characters, given, keys=keys, whole=True, ask=ask, say=said.append) == given


@pytest.mark.parametrize(
    ("arguments", "code", "problem", "remedy"),
    [
        (["docs"], 3, "standard input is not a terminal", "--yes"),
        (["--yes"], 3, "no documents are named", "assay start docs --yes"),
        (["nowhere", "--yes"], 3, "nowhere does not exist", "folder"),
        (["empty", "--yes", *OWN], 2, "empty holds no document that Assay can read", ".md"),
        (["pictures", "--yes", *OWN], 2, "it has 1 .png", ".rst"),
        (["bad.csv", "--docs", "docs", "--yes", *OWN], 3, "line 2: there is no document 'kettel.md'", "'kettle.md'"),
        (["docs", "--yes", "--system", "nothing:x"], 3, "nothing", ""),
    ],
)
def test_what_stands_in_the_way_is_said_with_its_remedy(  # noqa: PLR0917 - fixtures and parameters, all given by name
    run: Run, folder: Path, arguments: list[str], code: int, problem: str, remedy: str
) -> None:
    for name in ("empty", "pictures"):
        (folder / name).mkdir()
    (folder / "pictures" / "a.png").write_bytes(b"\x89PNG")
    (folder / "docs" / "broken.txt").unlink()
    (folder / "bad.csv").write_text("question,expected_doc\nHow?,kettel.md\n", encoding="utf-8")
    told = run("start", *arguments)
    assert told.code == code
    assert problem in told.err
    assert remedy in told.err


def test_a_second_start_at_the_same_time_and_another_source_are_refused(run: Run, folder: Path) -> None:
    descriptor = os.open(folder / ".golden.start.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        assert "another `assay start` is at work on golden" in run("start", "docs", "--yes", *OWN).err
    finally:
        os.close(descriptor)
    (folder / "golden.start.json").write_text(json.dumps({"path": "other"}), encoding="utf-8")
    told = run("start", "docs", "--yes", *OWN)
    assert told.code == 3
    assert "golden was begun from other, not from docs" in told.err


def test_label_rewords_a_question_from_a_pipe(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("dataset", "generate", "docs", "made", "--builtin").code == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("eHow do I make it quiet?\n33q"))
    assert run("label", "made").code == 0
    told = run("label", "made", "--apply", "labelled")
    assert "1 questions are asked in other words." in told.out
    assert load_dataset(folder / "labelled").cases[0].query == "How do I make it quiet?"


@pytest.mark.slow
def test_assay_itself_is_measured_by_default(run: Run, folder: Path) -> None:
    told = run("start", "docs", "--yes")
    assert told.code == 0, told.err
    assert "$ assay run golden --system assay --name first" in told.out
    assert "PASS" in told.out


def test_questions_reviewed_in_the_browser_are_gone_on_with(run: Run, folder: Path) -> None:
    told = run("start", "docs", "--browser", *OWN)
    assert told.code == 0, told.err
    assert "3 of 3 questions wait for your review. Start the dashboard: assay serve" in told.out
    address = f"http://127.0.0.1:{SERVE_DEFAULT_PORT}/evaluation/review/golden.proposed"
    assert f"Keep, reword or drop each at {address}" in told.out
    assert not (folder / "golden").exists()
    proposed = load_dataset(folder / "golden.proposed")
    # Where the dashboard keeps what people decide on its page.
    journal = LabelJournal(folder / ".assay" / "labels" / "golden.proposed.labels.jsonl", clock=FixedClock())
    first, second, third = (case.id for case in proposed.cases)
    review_question(proposed, journal, "ada", first, ReviewDecision.KEEP, wording="How is the kettle made quiet?")
    review_question(proposed, journal, "ada", second, ReviewDecision.DROP)
    assert "1 of 3 questions wait" in run("start", "--browser").out
    review_question(proposed, journal, "bo", third, ReviewDecision.KEEP)
    again = run("start", "--browser")
    assert again.code == 0, again.err
    assert "golden: 2 questions (2 kept, 1 reworded, 1 dropped) over 2 documents." in again.out
    assert load_dataset(folder / "golden").cases[0].query == "How is the kettle made quiet?"
    shutil.rmtree(folder / "golden.proposed")
    (folder / "docs" / "cups.md").write_text("If the last cup is dirty, the kettle switches itself off.\n")
    anew = run("start", "--browser").out
    assert "$ assay dataset import golden.proposed" in anew, "the dashboard gets the new proposals"
    assert "1 of 4 questions wait" in anew
