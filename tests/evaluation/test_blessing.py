"""What may become a baseline, and what is written down where it becomes one all the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.evaluation.made import golden, good, level, nothing, run_of

from assay.errors import NotReady
from assay.evaluation.baselines import bless, load_baseline, write_baseline
from assay.evaluation.gating import GateOptions, judge
from assay.evaluation.readings import Reading, reading_of
from assay.metrics.outcomes import skipped
from assay.records.evaluations import CaseStatus, Outcome

AT = datetime(2026, 1, 4, 12, tzinfo=UTC)
DATASET = golden(floors={"recall@5": 0.8})


def under_its_floor() -> Reading:
    return reading_of(run_of(DATASET, [nothing(n) if n % 2 else good(n) for n in range(30)], name="low"))


def half_failed() -> Reading:
    return reading_of(run_of(golden(), [None if n % 2 else good(n) for n in range(30)], name="broken"))


def budget_stopped() -> Reading:
    whole = level(0.9)
    outcomes: dict[str, Outcome] = dict(whole.outcomes["ndcg@5"])
    outcomes["q00"] = skipped("the case was not tried")
    return replace(whole, outcomes={"ndcg@5": outcomes}, statuses={**whole.statuses, "q00": (CaseStatus.SKIPPED,)})


def undecided() -> Reading:
    why = {"groundedness": {"gates": False, "why": "its judge was never calibrated"}}
    return replace(level(0.9, floors={"groundedness": 3.0}), subject={"judge": why})


REFUSED = {
    "under its floor": (under_its_floor, "recall@5 0.50 is under the floor 0.80"),
    "half failed": (half_failed, "15 of 30 cases failed"),
    "stopped by a budget": (budget_stopped, "1 of 60 cases were never tried"),
    "a sample": (lambda: replace(level(0.9), sample=0.2), "it is a sample of 20% of the cases"),
    "unsealed": (lambda: replace(level(0.9), sealed=False), "has no seal"),
    "not measured": (undecided, "groundedness was not measured"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_run_that_would_lower_the_bar_is_refused_with_the_reason(what: str) -> None:
    made, why = REFUSED[what]
    with pytest.raises(NotReady, match="cannot be blessed") as problem:
        bless(made(), at=AT)
    assert why in problem.value.message
    assert "--despite" in problem.value.remedy
    assert problem.value.exit_code == 2


def test_a_good_run_is_blessed_also_where_nothing_is_asked_of_quality_yet() -> None:
    assert bless(level(0.1), at=AT, note="first").shortcomings == ()
    with pytest.raises(NotReady, match=r"under the floor 0\.50"):
        bless(level(0.1), at=AT, options=GateOptions(floors={"ndcg@5": 0.5}))


def test_the_reason_stands_in_the_file_and_beside_every_later_verdict(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    write_baseline(path, bless(under_its_floor(), at=AT, despite="the old index is gone"))
    found = load_baseline(path)
    assert found.despite == "the old index is gone"
    assert found.shortcomings == ("recall@5 0.50 is under the floor 0.80",)
    verdict = judge(under_its_floor(), found.reading)
    assert any("blessed although recall@5 0.50 is under the floor" in one.sentence for one in verdict.caveats)
