"""A dataset and two runs over it that every tenant of the tests of parity has.

They lie in the folders that the settings name, as the command line leaves them, and each tenant has a claim to them: so
every surface finds the same files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from tests.traces.made import LANGFUSE_TRACE, LANGSMITH_RUNS, write_json

import assay
from assay.evaluation.datasets import Registry
from assay.evaluation.labelling import LabelJournal, Pressed
from assay.evaluation.results import RunResult
from assay.evaluation.running.runner import keep_row
from assay.evaluation.shelf import file_key
from assay.formats.trec import write_trec_qrels, write_trec_run
from assay.records import Scope
from assay.records.access import FileKind
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.testing import FixedClock

NAME = "tiny"
TEXTS = (
    "Makefiles are indented with tabs.",
    "Ovens are polled every 5 s.",
    "Tabs of the browser stay open.",
    "The harbour is closed on Mondays.",
)
QUERIES = ("indent makefiles", "polling ovens", "browser tabs", "harbour mondays")


class Files(NamedTuple):
    """What lies in the folders of the settings."""

    dataset: Dataset
    dataset_path: Path
    runs: dict[str, RunResult]
    """By the name that stands for their id in examples."""
    paths: dict[str, str]
    """Files of this machine, by the name that stands for their path in examples."""

    def claim(self, engine: Any, scope: Scope) -> None:
        """Say that they belong to a tenant too."""
        with engine.store.writing(scope) as work:
            work.owned_files.claim(FileKind.DATASET, file_key(self.dataset_path))
            for run in self.runs.values():
                work.owned_files.claim(FileKind.RUN, run.run_id)

    def keep_rows(self, engine: Any, scope: Scope) -> None:
        """Keep a row of each run."""
        for run in self.runs.values():
            assert not keep_row(run, self.dataset, lambda: engine.store.writing(scope))


def make_files(folder: Path) -> Files:
    """Import the dataset and run two systems over it; the settings must name the folders already."""
    dataset = Dataset(
        name=NAME,
        version="1.0.0",
        documents=tuple(
            Document(id=f"d{number}", title=f"Note {number}", text=text) for number, text in enumerate(TEXTS)
        ),
        cases=tuple(
            Case(id=f"c{number}", query=query, grades=(Grade(document_id=f"d{number}", grade=3),))
            for number, query in enumerate(QUERIES)
        ),
    )
    card, _ = Registry(folder / "datasets").add(dataset, origin="test", clock=FixedClock())
    runs = {
        "auto": assay.evaluate(NAME, "assay", name="auto", runs=folder / "runs"),
        "poor": assay.evaluate(NAME, give_two, name="poor one", runs=folder / "runs"),
        "deep": assay.evaluate(NAME, "assay", name="deep", k=20, runs=folder / "runs"),
    }
    return Files(dataset, card.path, runs, _write_rankings(folder))


def _write_rankings(folder: Path) -> dict[str, str]:
    """Write judgments and two runs over them, as other tools do."""
    paths = {name: str(folder / f"{name}.trec") for name in ("qrels", "good", "worse", "other")}
    write_trec_qrels(Path(paths["qrels"]), {f"q{number}": {"d1": 2, "d2": 1, "d3": 0} for number in range(8)})
    for name, best in (("good", "d1"), ("worse", "d3")):
        scores = {f"q{number}": {"d1": 0.5, "d2": 0.4, "d3": 0.3, best: 0.9} for number in range(8)}
        write_trec_run(Path(paths[name]), scores, name)
    paths |= {name: str(folder / name) for name in ("reports", "agreed.jsonl", "alone.jsonl", "labelled")}
    grades = {"ada": (3, 0, 2), "bo": (3, 1, 2)}
    for name, people in (("agreed.jsonl", ("ada", "bo")), ("alone.jsonl", ("ada",))):
        journal = LabelJournal(folder / name, clock=FixedClock())
        for who in people:
            for number, grade in enumerate(grades[who]):
                journal.add((f"c{number}", f"d{number}"), who, Pressed.GRADE, grade)
    notes = folder / "notes"
    notes.mkdir()
    for name in ("kettle", "lamp"):
        (notes / f"{name}.md").write_text(f"# The {name}\n\nThe {name} stands in the hall.\n", encoding="utf-8")
    (notes / "broken.json").write_text("{", encoding="utf-8")
    others = [{"_id": str(number), "title": f"Shelf {number}", "text": f"Shelf {number} is oak."} for number in (1, 2)]
    (folder / "others.jsonl").write_text("".join(f"{json.dumps(other)}\n" for other in others), encoding="utf-8")
    paths |= {"notes": str(notes), "others": str(folder / "others.jsonl"), "exported": str(folder / "exported.jsonl")}
    paths |= {"vault": str(folder / "none" / "vault"), "root": str(folder)}
    write_trec_run(Path(paths["other"]), {"nobody": {"d1": 1.0}}, "other")
    paths |= {name: str(folder / f"{name}.jsonl") for name in ("spans", "more_spans", "scores", "more_scores")}
    write_json(Path(paths["spans"]), *LANGSMITH_RUNS, {"run_type": "llm", "id": "no times"})
    write_json(Path(paths["more_spans"]), LANGFUSE_TRACE)
    return paths


def give_two(query: str, k: int) -> list[str]:
    """Return the same two documents for every query."""
    return ["d1", "d2"][:k]
