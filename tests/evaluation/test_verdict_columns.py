"""Runs that are compared and judged in columns come out as those that are compared case by case."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.evaluation.made import golden, good, manifest_of, nothing, poor

from assay.errors import AssayError, BadValue, NotComparable
from assay.evaluation.comparison import compare_two, movers
from assay.evaluation.gating.baseline_rules import _chance, find_gained_cases, find_lost_cases
from assay.evaluation.gating.rules import judge
from assay.evaluation.gating.run_rules import unjudgeable
from assay.evaluation.gating.verdict import GateOptions
from assay.evaluation.paired_columns import are_in_columns, find_missing
from assay.evaluation.reading_columns import CaseTimes, SomeCases
from assay.evaluation.readings import Reading, reading_of
from assay.evaluation.results import load_run, with_skipped
from assay.evaluation.scoring import score_run
from assay.metrics.outcome_columns import CaseOrder, CaseSet, OutcomeColumn
from assay.records.evaluations import CaseResult, CaseStatus, Outcome, OutcomeKind, Retrieved, Seen

CASES = 40
DATASET = golden(CASES)
STATUSES = [CaseStatus.OK] * 6 + [CaseStatus.ERROR, CaseStatus.TIMEOUT, CaseStatus.EMPTY]


def make_result(rng: np.random.Generator, number: int, repeat: int, *, varied: bool) -> CaseResult:
    ids = [good, poor, nothing][rng.integers(0, 3)](number)
    status = STATUSES[rng.integers(0, len(STATUSES))] if varied else CaseStatus.OK
    found = Retrieved(ids=ids if status is CaseStatus.OK else ())
    if varied and rng.random() < 0.2:
        found = replace(found, seen=Seen(channels={"fts5": ids, "vector": ()}, excluded=ids[:1]))
    return CaseResult(
        case_id=DATASET.cases[number].id,
        repeat=repeat,
        status=status,
        retrieved=None if status in (CaseStatus.ERROR, CaseStatus.TIMEOUT) else found,
        total_ms=None if varied and rng.random() < 0.1 else float(np.round(rng.random() * 20, 1)),
        error="it broke" if status is CaseStatus.ERROR else "",
    )


def make_reading(folder: Path, name: str, seed: int, *, varied: bool = True, few: bool = False) -> Reading:
    """A run of a system that fails, is silent, runs out of time and leaves cases out, read from its folder."""
    rng = np.random.default_rng(seed)
    ids = [case.id for case in DATASET.cases]
    chosen = rng.permutation(CASES)[: CASES - int(rng.integers(0, 4))] if few else np.arange(CASES)
    clusters = {case: f"cluster {number % 7}" for number, case in enumerate(ids) if number % 3} if seed % 3 == 0 else {}
    repeats = 2 if varied and seed % 4 == 1 else 1
    manifest = manifest_of(
        DATASET, name, repeats=repeats, clusters=clusters, case_ids=tuple(ids[number] for number in chosen)
    )
    results = [
        make_result(rng, number, repeat, varied=varied)
        for repeat in range(repeats)
        for number in chosen.tolist()
        if not varied or rng.random() > 0.05
    ]
    score_run(DATASET, manifest, with_skipped(manifest, results)).save(folder / name)
    return reading_of(load_run(folder / name), {ids[0]: "the first"})


def describe(act: Any) -> object:
    """What a call gives as JSON, or how it is refused."""
    try:
        return act().as_json()
    except AssayError as refused:
        return type(refused), str(refused), refused.remedy


@pytest.mark.parametrize("seed", range(24))
def test_columns_and_tables_are_compared_and_judged_alike(tmp_path: Path, seed: int) -> None:
    pair = [make_reading(tmp_path, name, seed + shift, few=seed % 2 == 0) for name, shift in (("a", 0), ("b", 100))]
    plain = [reading.in_tables() for reading in pair]
    assert are_in_columns(*pair)
    assert not are_in_columns(*plain)
    sides = [pair, [pair[0], plain[1]], [plain[0], pair[1]]]
    expected = describe(lambda: compare_two(*plain))
    for given in sides:
        assert describe(lambda given=given: compare_two(*given)) == expected
    options = GateOptions(floors={"p95": 5.0, "mrr": 0.9}, lost=1, metric="mrr" if seed % 5 == 0 else None)
    judged = describe(lambda: judge(plain[1], plain[0], options))
    for control, treatment in sides:
        assert describe(lambda control=control, treatment=treatment: judge(treatment, control, options)) == judged
    assert describe(lambda: judge(pair[1], None, options)) == describe(lambda: judge(plain[1], None, options))


@pytest.mark.parametrize("seed", range(24))
def test_columns_are_read_as_tables_are(tmp_path: Path, seed: int) -> None:
    reading = make_reading(tmp_path, "a", seed)
    plain = reading.in_tables()
    assert isinstance(reading.times, CaseTimes)
    assert isinstance(reading.lists, SomeCases)
    run = load_run(tmp_path / "a")
    rows = reading_of(replace(run, cases=tuple(run.cases)), {"q00": "the first"})
    for name in ("statuses", "times", "waited", "lists", "channels", "scoped", "of_run"):
        assert getattr(reading, name) == getattr(rows, name)
        assert len(getattr(reading, name)) == len(getattr(rows, name))
    assert reading.cases == plain.cases
    assert reading.latency() == plain.latency()
    assert reading.failures() == plain.failures()
    assert unjudgeable(reading) == unjudgeable(plain)
    for metric in reading.metrics:
        assert reading.values(metric) == plain.values(metric)
        assert list(reading.values(metric)) == list(plain.values(metric))
        assert (reading.mean(metric), reading.count_values(metric)) == (plain.mean(metric), plain.count_values(metric))
    assert "nowhere" not in reading.times
    assert "nowhere" not in reading.lists


@pytest.mark.parametrize("seed", range(6))
def test_lost_gained_moved_and_missing_cases_are_the_same(tmp_path: Path, seed: int) -> None:
    before, after = (make_reading(tmp_path, name, seed + shift, few=True) for name, shift in (("a", 0), ("b", 50)))
    old, new = before.in_tables(), after.in_tables()
    assert find_missing(before, after) == find_missing(old, new) == set(after.cases) - set(before.cases)
    for metric in before.metrics:
        assert find_lost_cases(before, after, metric) == find_lost_cases(old, new, metric)
        assert find_gained_cases(before, after, metric) == find_gained_cases(old, new, metric)
        for most in (0, 1, 5, CASES):
            assert movers(before, after, metric, most) == movers(old, new, metric, most)


def test_runs_without_a_common_value_are_refused_alike(tmp_path: Path) -> None:
    pair = [make_reading(tmp_path, name, 2, varied=False) for name in ("a", "b")]
    other = replace(pair[1], instrument={**pair[1].instrument, "dataset": "sha256:bb"})
    for given in ((pair[0], other), (pair[0].in_tables(), other.in_tables())):
        with pytest.raises(NotComparable, match="measured with other instruments: dataset"):
            compare_two(*given)
    skipped = {case: Outcome(kind=OutcomeKind.SKIPPED) for case in pair[0].cases}
    empty = replace(pair[1], outcomes={metric: OutcomeColumn.of(skipped) for metric in pair[1].metrics})
    expected = describe(lambda: compare_two(pair[0].in_tables(), empty.in_tables()))
    assert describe(lambda: compare_two(pair[0], empty)) == expected
    assert describe(lambda: judge(empty, pair[0])) == describe(lambda: judge(empty.in_tables(), pair[0].in_tables()))


def test_a_negative_time_is_refused_in_columns_too(tmp_path: Path) -> None:
    reading = make_reading(tmp_path, "a", 2, varied=False)
    assert isinstance(reading.times, CaseTimes)
    times = CaseTimes(reading.times.order, np.full_like(reading.times.matrix, -1.0))
    for given in (replace(reading, times=times), replace(reading, times=times).in_tables()):
        with pytest.raises(BadValue, match="negative"):
            given.latency()


def test_a_run_with_a_case_twice_is_read_case_by_case(tmp_path: Path) -> None:
    reading = make_reading(tmp_path, "a", 2, varied=False)
    column = reading.column("mrr")
    assert column is not None
    twice = OutcomeColumn(CaseOrder([*column.order.ids[:-1], column.order.ids[0]]), column.numbers, column.distinct)
    assert replace(reading, outcomes={"mrr": twice}).column("mrr") is None


def test_orders_are_aligned_by_id() -> None:
    left, right = CaseOrder(["c", "a", "b"]), CaseOrder(["b", "d", "c"])
    shared = left.align(right)
    assert list(shared.ids()) == ["b", "c"]
    assert (shared.left.tolist(), shared.right.tolist(), shared.whole) == ([2, 0], [0, 2], False)
    assert left.align(CaseOrder(["b", "c", "a"])).whole
    assert left.align(CaseOrder(("c", "a", "b"))).whole


@pytest.mark.parametrize(
    "ids", [["b", "a", "ab", "é", "z", "\U0001f600", "\ufb01"], ["a\0", "a", "b"], ["x" * 70, "b"], ["\ud800", "a"], []]
)
def test_places_are_sorted_as_texts_are(ids: list[str]) -> None:
    order = CaseOrder(ids)
    assert [ids[place] for place in order.sorted_places] == sorted(ids)
    assert order.is_unique
    assert not ids or not CaseOrder([*ids, ids[0]]).is_unique


def test_sets_of_cases_are_equal_by_their_ids() -> None:
    order, other = CaseOrder(["a", "b", "c"]), CaseOrder(["c", "b"])
    some = CaseSet(order, np.array([1, 2], dtype=np.int32))
    assert some == CaseSet(order, np.array([1, 2], dtype=np.int32))
    assert some == CaseSet(other, np.array([1, 0], dtype=np.int32))
    assert hash(some) == hash(CaseSet(other, np.array([1, 0], dtype=np.int32)))
    assert some != CaseSet(order, np.array([0, 1], dtype=np.int32))
    assert some != ("b", "c")


@pytest.mark.parametrize(("lost", "gained"), [(1, 0), (3, 2), (7, 0), (40, 25), (0, 3)])
def test_the_chance_of_lost_cases_is_the_tail_of_the_sign_test(lost: int, gained: int) -> None:
    ways = np.array([1.0])
    for _ in range(lost + gained):
        ways = np.convolve(ways, [0.5, 0.5])
    assert _chance(lost, gained) == pytest.approx(1.0 if lost <= 0 else float(ways[lost:].sum()), rel=1e-12)
