"""The recall of an approximate index against exact search, printed beside a run's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.systems.sample import CASES, dataset

from assay.evaluation.results import load_run
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running, run
from assay.metrics.spec import parse_specs
from assay.records.datasets import Case
from assay.records.evaluations import VECTOR_SEARCH, Retrieved, Seen
from assay.records.run_results import Caveat, CaveatKind, caveats_about
from assay.systems.protocol import System
from assay.testing import FixedClock

FOUND: Mapping[str, tuple[str, ...]] = {
    "q1": ("pool", "sauna"),
    "q2": ("breakfast", "pets"),
    "q3": ("parking", "pool"),
    "q4": ("pets",),
}
EXACT: Mapping[str, tuple[str, ...] | None] = {
    "q1": ("sauna", "pool"),
    "q2": ("breakfast", "pool"),
    "q3": None,
    "q4": (),
}
"""All of it in another order, half of it, not searched, and nothing to find."""


class Approximate(System):
    """A store whose index misses some neighbours."""

    name = "approximate"

    def __init__(self, *, timed: bool = True) -> None:
        self._timed = timed

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        stages = {VECTOR_SEARCH: 2.0 if case.id == "q1" else 4.0} if self._timed else {}
        return Retrieved(ids=FOUND[case.id], stages=stages)

    def seen(self, case: Case, given: Retrieved) -> Seen | None:
        exact = EXACT[case.id]
        return None if exact is None else Seen(exact=exact, exact_ms=10.0 if self._timed else None)


def caveats(system: System, runs: Path | None = None) -> tuple[Caveat, ...]:
    options = RunOptions(metrics=parse_specs("recall@2"), k=2)
    result = run(dataset(cases=CASES), system, options, Running(runs=runs, clock=FixedClock()))
    if runs is not None:
        assert result.folder is not None
        assert load_run(result.folder).cases == result.cases
        assert load_run(result.folder).caveats == result.caveats
    return tuple(caveats_about(result.caveats, CaveatKind.INDEX))


def test_recall_is_the_mean_share_over_the_cases_that_were_searched_exactly(tmp_path: Path) -> None:
    [told] = caveats(Approximate(), tmp_path)
    assert told.sentence == (
        "The approximate index has a recall@2 of 0.750 against exact search of the same vectors, over 2 cases; the "
        "lowest is 0.500. The index took p50 2.00 ms, p95 4.00 ms; exact search p50 10.00 ms, p95 10.00 ms."
    )
    assert (told.count, told.of) == (2, 4)
    figures = {"recall": 0.75, "lowest": 0.5, "k": 2, "p50": 2.0, "p95": 4.0, "exact_p50": 10.0, "exact_p95": 10.0}
    assert dict(told.figures) == pytest.approx(figures)


def test_without_times_the_recall_stands_alone() -> None:
    [told] = caveats(Approximate(timed=False))
    assert told.sentence.endswith("the lowest is 0.500.")
    assert set(told.figures) == {"recall", "lowest", "k"}


def test_a_system_that_searches_one_way_has_no_such_caveat() -> None:
    class Plain(Approximate):
        def seen(self, case: Case, given: Retrieved) -> Seen | None:
            return Seen(indexed=())

    assert caveats(Plain()) == ()
