"""Guarantees have no share of exceptions."""

from __future__ import annotations

from typing import Any

from tests.evaluation.made import level, reading

from assay.evaluation.comparison import compare_two
from assay.evaluation.gating import Question, Status
from assay.evaluation.gating.guarantee_rules import judge_guarantees
from assay.evaluation.gating.verdict import RuleVerdict
from assay.evaluation.readings import Reading


def judged(run: Reading, before: Reading | None = None) -> dict[str, RuleVerdict]:
    compared = None if before is None else compare_two(before, run)
    return {one.about: one for one in judge_guarantees(Question(run=run, compared=compared))}


def test_one_constitutional_memory_that_does_not_surface_is_enough() -> None:
    values: Any = {"constitutional_surfacing@5": {f"q{n:03}": 0.0 if n == 7 else 1.0 for n in range(200)}}
    found = judged(reading(values))["constitutional_surfacing@5"]
    assert found.status is Status.FAIL
    assert found.sentence == "constitutional memories surface in 199 of 200 cases: not in q007"
    held = reading({"constitutional_surfacing@5": {"a": 1.0}})
    assert judged(held)["constitutional_surfacing@5"].status is Status.PASS


def test_one_document_from_outside_the_scope_is_enough() -> None:
    assert judged(level(0.5, scoped={"q00": (), "q01": ()}))["scope"].status is Status.PASS
    leaking = judged(level(0.5, scoped={"q00": (), "q01": ("secret",)}))["scope"]
    assert leaking.status is Status.FAIL
    assert leaking.sentence.endswith("in 1 of 2 cases: not in q01")


def test_a_channel_that_was_alive_and_is_silent_fails() -> None:
    before = level(0.5, channels={"vector": 60, "graph": 0, "trigger": 3})
    found = judged(level(0.5, channels={"vector": 0, "graph": 0}), before)
    assert found["channel vector"].status is Status.FAIL
    assert "in the baseline it found something in 60" in found["channel vector"].sentence
    assert found["channel graph"].status is Status.NOT_APPLICABLE, "it never found anything"
    assert found["channel trigger"].status is Status.INCONCLUSIVE, "it was not asked"
    assert "channel trigger was not asked in any case; in the baseline it found something in 3" in (
        found["channel trigger"].sentence
    )
    assert judged(level(0.5, channels={"vector": 9}), before)["channel vector"].status is Status.PASS


def test_a_run_that_tells_nothing_of_guarantees_is_not_judged_by_them() -> None:
    assert judged(level(0.5))[""].status is Status.NOT_APPLICABLE


def test_a_channel_that_finds_nothing_is_told_without_a_baseline_and_decides_nothing() -> None:
    found = judged(level(0.5, channels={"vector": 0, "fts5": 60}))["channel vector"]
    assert found.status is Status.NOT_APPLICABLE
    assert found.sentence == "channel vector found nothing in any case; no baseline says that it should"


def test_a_system_that_tells_nothing_of_channels_lost_none() -> None:
    assert judged(level(0.5), level(0.5, channels={"vector": 60}))[""].status is Status.NOT_APPLICABLE
