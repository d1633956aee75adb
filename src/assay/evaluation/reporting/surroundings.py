"""What a run is looked at with: the dataset it was measured on, what it is held against, what is demanded of it.

A run keeps no texts and no gold. A dataset that has changed since tells of other queries than those that were asked:
then the report says so and shows ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from assay.evaluation.baselines import FILE_NAME
from assay.evaluation.datasets import load_dataset
from assay.evaluation.gating import GateOptions
from assay.evaluation.lookup import Lookup, Named
from assay.evaluation.reporting.gathering import Around
from assay.evaluation.results import RunResult
from assay.records.datasets import Dataset


def around(
    run: RunResult,
    place: Lookup,
    *,
    dataset: str | None = None,
    baseline: Named | None = None,
    floors: Mapping[str, float] | None = None,
    k: int | None = None,
) -> Around:
    """Look up what there is. A dataset that is named must be there; one that is not named may be missing."""
    name = run.manifest.dataset
    found = place.dataset(name) if dataset is None else load_dataset(dataset, registry=place.registry)
    fitting = None if found is None else measured_on(run, found)
    return Around(
        dataset=fitting,
        no_dataset="" if fitting else _why(name, found),
        baseline=None if baseline is None else place.baseline(baseline),
        options=GateOptions(floors=dict(floors or {})),
        k=k,
    )


def default_baseline() -> str | None:
    """The blessed file of the working folder, if there is one."""
    return FILE_NAME if Path(FILE_NAME).is_file() else None


def measured_on(run: RunResult, dataset: Dataset) -> Dataset | None:
    """The dataset as the run saw it, less what was excluded from scoring; None: it is another one by now."""
    instrument = run.manifest.instrument
    excluded = {*instrument.get("excluded_unresolved", ()), *instrument.get("excluded_unlabelled", ())}
    kept = tuple(one for one in dataset.cases if one.id not in excluded)
    scored = replace(dataset, cases=kept) if excluded else dataset
    return scored if scored.content_hash == run.manifest.instrument.get("dataset") else None


def _why(name: str, found: Dataset | None) -> str:
    if found is None:
        return f"The dataset {name} is not at hand, so what was expected is not known. Give it with --dataset."
    return (
        f"The dataset {found.name} is not the one the run was measured on (its content hash differs), so what was "
        "expected is not known. Give the one it was with --dataset."
    )
