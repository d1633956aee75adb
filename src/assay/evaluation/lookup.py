"""From what people name to readings: a run by id, name, folder or as a value; a baseline by its file or as a run.

A run keeps ids of cases and not their texts: those come from the dataset, and where it is not at hand, ids must do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from assay.errors import AssayError, RunNotFound
from assay.evaluation.baselines import FILE_NAME, load_baseline, no_baseline
from assay.evaluation.datasets import Registry, load_dataset, load_named
from assay.evaluation.readings import Reading, reading_of
from assay.evaluation.results import RunResult, load_run
from assay.evaluation.running.files import DEFAULT_RUNS, LATEST, find_run, run_names
from assay.evaluation.scoring import score_run
from assay.records.datasets import Dataset

Named = RunResult | Reading | str | Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Lookup:
    """Where to look."""

    runs: Path = DEFAULT_RUNS
    registry: Registry | None = None
    only_named: bool = False
    """Take what a run calls its dataset for a name and never for a path: for callers who may not read any file."""

    def run(self, named: Named = LATEST) -> Reading:
        """A run, read, with the texts of its cases."""
        if isinstance(named, Reading):
            return named
        found = self.result(named)
        dataset = self._dataset_of(found)
        return reading_of(found, {} if dataset is None else {case.id: case.query for case in dataset.cases})

    def result(self, named: RunResult | str | Path) -> RunResult:
        """A finished run."""
        return named if isinstance(named, RunResult) else load_run(find_run(str(named), self.runs))

    def baseline(self, named: Named = FILE_NAME) -> Reading:
        """The blessed baseline, or any run used as the baseline."""
        if isinstance(named, (RunResult, Reading)):
            return self.run(named)
        path = Path(named)
        if path.is_file() or path.suffix == ".json":
            return load_baseline(path).reading
        try:
            return self.run(named)
        except RunNotFound as problem:
            message = f"there is no baseline {path}, and no run of that name"
            raise no_baseline(path, message, names=run_names(self.runs)) from problem

    def either(self, named: Named) -> Reading:
        """A run, or a baseline where there is a file of that name; a missing `.json` is taken for a baseline."""
        if isinstance(named, (RunResult, Reading)):
            return self.run(named)
        path = Path(named)
        if path.is_file():
            return self.baseline(path)
        try:
            return self.run(named)
        except RunNotFound as problem:
            if path.suffix != ".json":
                raise
            message = f"there is no baseline {path}, and no run of that name"
            raise no_baseline(path, message, names=run_names(self.runs)) from problem

    def repeats(self, named: RunResult | str | Path) -> list[Reading]:
        """Each repeat of a run as a reading of its own."""
        found = self.result(named)
        dataset = self._dataset_of(found)
        if dataset is None or found.manifest.repeats == 1:
            return []
        return [reading_of(_repeat(found, dataset, number)) for number in range(found.manifest.repeats)]

    def dataset(self, name: str) -> Dataset | None:
        """The dataset of that name, where it is at hand."""
        try:
            if self.only_named and self.registry is not None:
                return load_named(name, self.registry)
            return load_dataset(name, registry=self.registry)
        except AssayError:
            return None

    def _dataset_of(self, run: RunResult) -> Dataset | None:
        """What the run was measured on; another dataset of that name is none, since its words would mislead."""
        found, instrument = self.dataset(run.manifest.dataset), run.manifest.instrument
        if found is None or instrument.get("dataset") == found.content_hash:
            return found
        return found if instrument.get("corpus") == found.corpus_hash else None


def _repeat(run: RunResult, dataset: Dataset, number: int) -> RunResult:
    manifest = replace(run.manifest, repeats=1, name=f"{run.name}, repeat {number + 1}")
    cases = [replace(case, repeat=0) for case in run.cases if case.repeat == number]
    return score_run(dataset, manifest, cases)
