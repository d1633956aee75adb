"""What an agent says of itself before a task and after it, and what it may ask to forget."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadValue
from assay.records import Forget, TaskRecord, TaskReport
from assay.testing.clock import START

SHARE = st.floats(0, 1)


def task(**given_values: Any) -> TaskRecord:
    filled: dict[str, Any] = {
        "task_id": "t",
        "knowledge_before": 0.2,
        "uncertainty_before": 0.8,
        "context_before": 0.5,
        "begun_at": START,
    }
    return TaskRecord(**{**filled, **given_values})


def test_a_task_that_has_not_ended_has_no_outcome() -> None:
    assert task().change is None


def test_the_outcome_is_the_difference_and_its_mean() -> None:
    ended = task(knowledge_after=0.9, uncertainty_after=0.2, context_after=0.3, ended_at=START + timedelta(minutes=30))
    outcome = ended.change
    assert outcome is not None
    assert outcome.knowledge_delta == pytest.approx(0.7)
    assert outcome.uncertainty_reduction == pytest.approx(0.6)
    assert outcome.context_gain == pytest.approx(-0.2)
    assert outcome.learning_index == pytest.approx((0.7 + 0.6 - 0.2) / 3)
    assert outcome.duration_minutes == 30


@given(before=st.tuples(SHARE, SHARE, SHARE), after=st.tuples(SHARE, SHARE, SHARE))
def test_learning_lies_between_minus_one_and_one(before: tuple[float, ...], after: tuple[float, ...]) -> None:
    names = ("knowledge", "uncertainty", "context")
    said = {f"{name}_before": value for name, value in zip(names, before, strict=True)}
    said |= {f"{name}_after": value for name, value in zip(names, after, strict=True)}
    outcome = task(**said, ended_at=START).change
    assert outcome is not None
    assert -1 <= outcome.learning_index <= 1


def test_a_clock_that_was_set_back_makes_no_negative_duration() -> None:
    ended = task(knowledge_after=1, uncertainty_after=0, context_after=1, ended_at=START - timedelta(hours=1))
    assert ended.change is not None
    assert ended.change.duration_minutes == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"knowledge": 1.5},
        {"uncertainty": float("nan")},
        {"context": "much"},
        {"task_id": "../etc"},
        {"useful": ("m_1",), "not_useful": ("m_1",)},
    ],
)
def test_a_report_that_no_agent_can_mean_is_refused(wrong: dict[str, Any]) -> None:
    filled: dict[str, Any] = {"task_id": "t", "knowledge": 0.1, "uncertainty": 0.1, "context": 0.1}
    with pytest.raises(BadValue):
        TaskReport(**{**filled, **wrong})


def test_one_thing_is_forgotten_at_a_time() -> None:
    with pytest.raises(BadValue, match="nothing was named"):
        Forget()
    with pytest.raises(BadValue, match="2 kinds of things were named to forget at once"):
        Forget(memory_ids=("m_1",), names=("Zenobia",))
    with pytest.raises(BadValue, match="too short"):
        Forget(names=("Zo",))
    assert replace(Forget(everything=True), checkpoints=True).checkpoints
