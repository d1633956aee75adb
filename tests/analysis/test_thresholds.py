"""A threshold follows people when enough of them agree, as far as it may, and not for chance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from assay.analysis.thresholds import RatedSession, TunedThreshold, TuningOptions, tune
from assay.records.research import Checkpoint

THRESHOLDS = {Checkpoint.PLAN: 0.7, Checkpoint.RETRIEVAL: 0.5, Checkpoint.ANSWER: 0.5}


def rated(count: int, useful: Callable[[float, np.random.Generator], bool], seed: int = 7) -> list[RatedSession]:
    rng = np.random.default_rng(seed)
    scores = [float(one) for one in rng.uniform(0.3, 0.8, count)]
    return [
        RatedSession(log_id=f"r_{seed}_{number}", useful=useful(score, rng), scores={Checkpoint.ANSWER: score})
        for number, score in enumerate(scores)
    ]


def answer(sessions: list[RatedSession], options: TuningOptions | None = None) -> TunedThreshold:
    return next(one for one in tune(sessions, THRESHOLDS, options) if one.checkpoint is Checkpoint.ANSWER)


@pytest.mark.parametrize(("bar", "moved_to"), [(0.42, 0.42), (0.58, 0.58), (0.75, 0.6), (0.35, 0.4)])
def test_it_moves_to_where_people_draw_the_line_and_no_further_than_it_may(bar: float, moved_to: float) -> None:
    found = answer(rated(400, lambda score, _: score >= bar))
    assert found.after == pytest.approx(moved_to, abs=0.021)
    assert abs(found.after - 0.5) <= 0.1 + 1e-9
    assert found.moved
    assert found.p is not None
    assert found.p <= 0.05


def test_it_stays_where_people_agree_with_it() -> None:
    found = answer(rated(400, lambda score, _: score >= 0.5))
    assert not found.moved
    assert found.reason


def test_ratings_that_have_nothing_to_do_with_scores_seldom_move_it() -> None:
    moved = [answer(rated(120, lambda _, rng: bool(rng.random() < 0.5), seed)).moved for seed in range(100)]
    assert sum(moved) <= 10


@pytest.mark.parametrize("sessions", [[], rated(39, lambda score, _: score >= 0.58), rated(400, lambda *_: True)])
def test_too_few_ratings_or_all_of_one_kind_move_nothing(sessions: list[RatedSession]) -> None:
    found = answer(sessions)
    assert not found.moved
    assert found.reason == "too few ratings"
    assert found.rated == len(sessions)


def test_the_plans_threshold_is_left_alone_and_a_checkpoint_nobody_scored_stays() -> None:
    found = tune(rated(400, lambda score, _: score >= 0.58), THRESHOLDS)
    assert [one.checkpoint for one in found] == [Checkpoint.RETRIEVAL, Checkpoint.ANSWER]
    assert not found[0].moved
