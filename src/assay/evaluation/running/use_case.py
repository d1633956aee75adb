"""Measuring a system over a dataset, from start to end: the one way that every surface takes.

    result = run_dataset(dataset, open_system, RunOptions(metrics=...), Running(runs=folder))
    refuse_unmeasured(result)

`assay run`, `assay.evaluate`, the HTTP API and MCP differ only in where dataset and options come from and in how they
show the result. Which cases may be scored, what of that is part of the instrument, and when a run counts as having
measured nothing is decided here, so that runs of one surface can be compared with runs of another.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from assay.errors import AssayError, BadValue, NothingMeasured
from assay.evaluation.datasets.fixing import ForScoring, for_scoring
from assay.evaluation.results import RunResult
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running, run
from assay.evaluation.running.stored import as_row, evidence_of_run
from assay.records.datasets import Dataset
from assay.records.owned_files import FileKind
from assay.systems.protocol import System

if TYPE_CHECKING:
    from assay.storage import Work  # needs an extra that a run without a store does not

OpenSystem = Callable[[Dataset], AbstractContextManager[System]]
"""Opens the system over the dataset as it is scored, and closes it if it was opened for the run."""
StartRunning = Callable[[], Running]
Writing: TypeAlias = "Callable[[], AbstractContextManager[Work]]"
"""Begins a transaction of the store that gets a row of the run."""
UNMEASURED = "Mend the system, or choose other metrics or another dataset."


def run_dataset(
    dataset: Dataset | ForScoring,
    open_system: OpenSystem,
    options: RunOptions | None = None,
    running: Running | StartRunning | None = None,
    *,
    max_cases: int | None = None,
) -> RunResult:
    """Run a system over what may be scored of a dataset; cases that are left out become part of the instrument.

    With `max_cases` a sample of at most that many cases is taken, the same ones every time. `running` may be a
    function: it is called when the system is open, so that a time limit or a progress bar does not count the opening.
    """
    scored = dataset if isinstance(dataset, ForScoring) else for_scoring(dataset)
    chosen = options or RunOptions()
    chosen = replace(chosen, instrument={**chosen.instrument, **scored.instrument})
    if max_cases is not None:
        _check_max_cases(max_cases, chosen)
    if max_cases is not None and len(scored.dataset.cases) > max_cases:
        chosen = replace(chosen, sample=max_cases / len(scored.dataset.cases))
    with open_system(scored.dataset) as system:
        return run(scored.dataset, system, chosen, running() if callable(running) else running)


def _check_max_cases(max_cases: int, options: RunOptions) -> None:
    if max_cases < 1:
        raise BadValue(f"max_cases {max_cases} is below 1", remedy="Give 1 or more.")
    if options.sample is not None:
        raise BadValue(
            f"there are both a sample of {options.sample} and at most {max_cases} cases",
            remedy="Give one of the two; a run that goes on keeps its sample.",
        )


def keep_row(result: RunResult, dataset: Dataset, writing: Writing) -> str:
    """Write a row of the run to a store, and whose it is.

    A store that cannot take it costs the note that is returned, not the run.
    """
    try:
        with writing() as work:
            work.owned_files.claim(FileKind.RUN, result.run_id)
            work.results.add(as_row(result, evidence_of_run(work, result, dataset)))
    except AssayError as problem:
        return f"The store has no row of this run: {problem.message}."
    return ""


def refuse_unmeasured(result: RunResult, *, remedy: str = UNMEASURED) -> None:
    """Raise `NothingMeasured` when no metric has a value for any case."""
    if not result.aggregates or any(aggregate.scored for aggregate in result.aggregates.values()):
        return
    failed = next((case for case in result.cases if case.error), None)
    why = f"; the first said: {failed.error}" if failed else ""
    message = f"no case of {result.manifest.dataset} could be scored for {result.name}{why}"
    raise NothingMeasured(message, remedy=remedy)
