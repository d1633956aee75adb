"""The programs about judges can fail: each is shown something wrong, and must say so."""

from __future__ import annotations

from dataclasses import replace

import pytest
from reliability.budget import BudgetOutcome
from reliability.injection import InjectionOutcome
from reliability.judge_faults import JudgeFaultsOutcome
from reliability.outcome import broken

FAULTS = JudgeFaultsOutcome(
    calls=16,
    faults={str(one): {"unavailable": 1} for one in range(16)},
    raised=(),
    unexplained=(),
    too_many=(),
    longest_s=2.0,
    grown_mb=3.0,
)
BUDGET = BudgetOutcome(limit_usd=1.0, charged_usd=0.9, booked_usd=0.95, requests=9, restarts=2, refused=1, seconds=1.0)
INJECTION = InjectionOutcome(
    documents=2,
    tried=30,
    moved=28,
    stopped=28,
    flagged=0,
    unflagged=(),
    missed_by_canaries=0,
    honest=200,
    honest_flagged=1,
)


@pytest.mark.parametrize("outcome", [FAULTS, BUDGET, INJECTION])
def test_what_went_well_is_held(outcome: JudgeFaultsOutcome | BudgetOutcome | InjectionOutcome) -> None:
    assert broken(outcome) == []


@pytest.mark.parametrize(
    "outcome",
    [
        replace(FAULTS, raised=("hang: TimeoutError()",)),
        replace(FAULTS, unexplained=("nan: scored",)),
        replace(FAULTS, too_many=("prose: 4",)),
        replace(FAULTS, longest_s=60.0),
        replace(FAULTS, grown_mb=100.0),
        replace(FAULTS, faults={}),
        replace(BUDGET, charged_usd=1.000001, booked_usd=2.0),
        replace(BUDGET, charged_usd=0.96),
        replace(BUDGET, charged_usd=0.01),
        replace(BUDGET, restarts=0),
        replace(BUDGET, refused=0),
        replace(INJECTION, unflagged=("note in note 7",)),
        replace(INJECTION, missed_by_canaries=1),
        replace(INJECTION, moved=0),
        replace(INJECTION, honest_flagged=5),
    ],
)
def test_one_thing_wrong_is_one_promise_broken(
    outcome: JudgeFaultsOutcome | BudgetOutcome | InjectionOutcome,
) -> None:
    assert len(broken(outcome)) == 1
