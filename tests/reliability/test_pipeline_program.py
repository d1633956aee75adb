"""The program about the pipeline can fail: it is shown something wrong, and must say so."""

from __future__ import annotations

from dataclasses import replace

import pytest
from reliability.outcome import broken
from reliability.pipeline_faults import PipelineFaultsOutcome

GOOD = PipelineFaultsOutcome(
    questions=17,
    faults={str(one): {"skipped": 1} for one in range(17)},
    raised=(),
    unanswered=(),
    unexplained=(),
    too_often=(),
    too_many_plans=(),
    not_kept=(),
    by_model=1,
    longest_s=3.0,
    deadline_s=4.0,
    grown_mb=10.0,
)


def test_what_went_well_is_held() -> None:
    assert broken(GOOD) == []


@pytest.mark.parametrize(
    "outcome",
    [
        replace(GOOD, raised=("hang: KeyError()",)),
        replace(GOOD, unanswered=("nan",)),
        replace(GOOD, unexplained=("empty",)),
        replace(GOOD, too_often=("prose: 4",)),
        replace(GOOD, too_many_plans=("mixed: 4",)),
        replace(GOOD, not_kept=("hang",)),
        replace(GOOD, by_model=0),
        replace(GOOD, longest_s=9.1),
        replace(GOOD, grown_mb=60.0),
        replace(GOOD, faults={"sound": {"scored by model": 1}}),
    ],
)
def test_one_thing_wrong_is_one_promise_broken(outcome: PipelineFaultsOutcome) -> None:
    assert len(broken(outcome)) == 1
