"""`experiments.json`: added to, never overwritten, also by two processes at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.systems.sample import Given, dataset

from assay.errors import BadValue, InputError, MalformedFile, RecordNotFound
from assay.evaluation.experiments import Book, Experiment, ExperimentOutcome, ExperimentPlan, perform
from assay.evaluation.running.runner import Running
from assay.records.datasets import Dataset
from assay.systems.protocol import System
from assay.testing import FixedClock

WRITER = """
import sys
from pathlib import Path
from assay.clock import SystemClock
from assay.evaluation.experiments import Book, Experiment, ExperimentOutcome
who, count, path = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
for number in range(count):
    Book(path).add(Experiment(
        id=f"ex_{who}{number}", date=SystemClock().now(), description="", dataset="d", dataset_version="1.0.0",
        changes={}, control={}, treatment={}, metric="mrr", verdict=ExperimentOutcome.ACCEPTED, reason="", gate="pass"))
"""


def experiment(ident: str = "ex_1", **changed: object) -> Experiment:
    filled: dict[str, object] = {
        "date": FixedClock().now(),
        "description": "shorter chunks",
        "dataset": "house",
        "dataset_version": "1.0.0",
        "changes": {"chunking.max_tokens": "128"},
        "control": {"system": "assay", "run_id": "r1"},
        "treatment": {"system": "assay:chunking.max_tokens=128", "run_id": "r2"},
        "results": {"mrr": {"before": 0.5, "after": 0.6}},
        "metric": "mrr",
        "verdict": ExperimentOutcome.ACCEPTED,
        "reason": "better",
        "gate": "pass",
    }
    return Experiment(id=ident, **{**filled, **changed})  # type: ignore[arg-type] # one shape for all


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    book = Book(tmp_path / "deep" / "experiments.json")
    assert book.all() == []
    first, second = experiment(), experiment("ex_2", verdict=ExperimentOutcome.REJECTED)
    book.add(first)
    book.add(second)
    assert book.all() == [first, second]
    assert book.get("ex_1") == first
    assert book.get("latest") == second


def test_tries_over_the_same_dataset_and_control_are_counted(tmp_path: Path) -> None:
    book = Book(tmp_path / "experiments.json")
    for number in range(20):
        verdict = ExperimentOutcome.ACCEPTED if number == 7 else ExperimentOutcome.INCONCLUSIVE
        book.add(experiment(f"ex_{number}", verdict=verdict))
    book.add(experiment("ex_other", control={"system": "assay:mode=quick", "run_id": "r9"}))
    assert book.tries()["ex_7"] == (8, 20, 1)
    assert book.tries()["ex_7"].sentence == "try 8 of 20, 1 accepted"
    assert book.tries()["ex_other"] == (1, 1, 1)
    assert book.earlier(("house", "1.0.0", "assay")) == 20
    assert book.earlier(("house", "1.0.1", "assay")) == 0


def test_a_book_that_does_not_say_which_try_is_read(tmp_path: Path) -> None:
    path = tmp_path / "experiments.json"
    old = {name: value for name, value in experiment().as_json().items() if name not in ("attempt", "alpha")}
    path.write_text(json.dumps({"version": 1, "experiments": [old]}), encoding="utf-8")
    assert Book(path).all() == [experiment()]


def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "experiments.json"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, who, "15", str(path)]) for who in ("a", "b")]
    assert [one.wait(timeout=60) for one in writers] == [0, 0]
    found = {one.id for one in Book(path).all()}
    assert found == {f"ex_{who}{number}" for who in ("a", "b") for number in range(15)}
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("text", ["", "[]", '{"version": 2, "experiments": []}', '{"version": 1, "experiments": [{}]}'])
def test_a_file_that_is_none_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "experiments.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MalformedFile, match="holds no experiments"):
        Book(path).add(experiment())
    assert path.read_text(encoding="utf-8") == text


def test_an_id_is_taken_once_and_a_missing_one_is_told(tmp_path: Path) -> None:
    book = Book(tmp_path / "experiments.json")
    with pytest.raises(RecordNotFound, match="'latest'"):
        book.get("latest")
    book.add(experiment())
    with pytest.raises(BadValue, match="already"):
        book.add(experiment())
    with pytest.raises(RecordNotFound, match="ex_9"):
        book.get("ex_9")


def test_both_sides_are_run_and_the_record_has_their_numbers(tmp_path: Path, clock: FixedClock) -> None:
    opened: list[str] = []

    def open_system(spec: str, _: Dataset) -> System:
        opened.append(spec)
        better = spec != "assay"
        return Given(lambda case: list(case.labels) if better else ["parking", "breakfast"], name=spec)

    plan = ExperimentPlan(
        dataset=dataset(), changes={"search.fusion": "rrf", "flags.mmr": "off"}, description="try rrf"
    )
    done = perform(plan, open_system, Running(runs=tmp_path / "runs", clock=clock))
    assert opened == ["assay", "assay:search.fusion=rrf,flags.mmr=off"]
    found = done.experiment
    assert found.description == "try rrf"
    assert found.changes == {"search.fusion": "rrf", "flags.mmr": "off"}
    assert found.results["recall@5"]["after"] == 1.0
    assert found.results["recall@5"]["before"] < 1.0
    assert (found.attempt, found.alpha) == (1, 0.05)
    again = perform(plan, open_system, Running(runs=tmp_path / "again", clock=clock), earlier=19).experiment
    assert (again.attempt, again.series) == (20, plan.series)
    assert {one.name for one in (tmp_path / "runs").iterdir()} == {found.control["run_id"], found.treatment["run_id"]}
    json.dumps(found.as_json(), allow_nan=False)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"changes": {}}, "nothing is to be changed"),
        ({"changes": {"a": "1"}, "base": "run:x.trec"}, "no settings to change"),
        ({"changes": {"channels": "a,b"}}, "cannot be set"),
    ],
)
def test_a_plan_that_cannot_be_run_is_refused(given: dict[str, object], why: str) -> None:
    with pytest.raises(InputError, match=why):
        ExperimentPlan(dataset=dataset(), **given)  # type: ignore[arg-type] # what a command line may be given


def test_changes_are_added_to_what_the_base_says() -> None:
    plan = ExperimentPlan(dataset=dataset(), changes={"mode": "quick"}, base="assay:embedder.kind=none")
    assert plan.treatment == "assay:embedder.kind=none,mode=quick"
