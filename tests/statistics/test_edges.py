"""What may not enter is refused everywhere, with the value named and a remedy given."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from assay import statistics
from assay.errors import BadValue
from assay.statistics import (
    Bounds,
    EProcess,
    EProcessRule,
    GaussianSprtRule,
    Prior,
    Rules,
    Successes,
    beta_binomial,
    bootstrap_difference,
    bootstrap_mean,
    brier_score,
    calibration_error,
    clopper_pearson,
    cohen_kappa,
    effect_size,
    fit_temperature,
    holm,
    kendall_tau_b,
    krippendorff_alpha,
    mean_interval,
    minimum_detectable_effect,
    paired_t_power,
    paired_t_test,
    ppi_mean,
    rank_biased_overlap,
    required_pairs,
    sign_flip_test,
    sign_test_of,
    team_draft,
    units_for_p,
    units_of,
    wilson,
)
from assay.statistics.inputs import finite, numbers, one_of, open_share, positive, whole, within

RNG = np.random.default_rng(1)
NAN = math.nan

REFUSED: dict[str, Callable[[], Any]] = {
    "NaN in a mean": lambda: mean_interval([0.5, NAN]),
    "infinity in a mean": lambda: mean_interval([0.5, math.inf]),
    "no values": lambda: mean_interval([]),
    "text": lambda: numbers(["a"], "values"),
    "ragged rows": lambda: numbers([[1.0], [1.0, 2.0]], "values"),
    "two dimensions": lambda: numbers([[1.0]], "values"),
    "outside the bounds": lambda: mean_interval([1.5], bounds=(0, 1)),
    "below the bounds": lambda: mean_interval([-0.5], bounds=(0, 1)),
    "bounds in the wrong order": lambda: mean_interval([0.5], bounds=(1, 0)),
    "three bounds": lambda: mean_interval([0.5], bounds=(0, 1, 2)),
    "a level of 95": lambda: mean_interval([0.5], level=95),
    "too few resamples": lambda: bootstrap_mean([0.5], rng=RNG, resamples=10),
    "unequal arms": lambda: bootstrap_difference([0.1], [0.1, 0.2], rng=RNG),
    "unequal clusters": lambda: units_of(np.array([0.1]), ["a", "b"]),
    "flips of nothing": lambda: sign_flip_test([], rng=RNG),
    "an unknown side": lambda: sign_flip_test([0.1], rng=RNG, side="up"),  # type: ignore[arg-type]  # the point
    "a p of 0": lambda: units_for_p(0.0),
    "t of NaN": lambda: paired_t_test([NAN, 1.0]),
    "effect size of nothing": lambda: effect_size([]),
    "power of one pair": lambda: paired_t_power(1, 0.05, 0.15),
    "no effect": lambda: required_pairs(0.0, 0.15),
    "an effect nobody can see": lambda: required_pairs(1e-9, 0.15),
    "no spread": lambda: required_pairs(0.05, 0.0),
    "a side that power has not": lambda: required_pairs(0.05, 0.1, side="less"),
    "detectable with one pair": lambda: minimum_detectable_effect(1, 0.15),
    "p above 1": lambda: holm([1.2]),
    "p of NaN": lambda: holm([NAN]),
    "more successes than tries": lambda: wilson(3, 2),
    "no tries": lambda: clopper_pearson(0, 0),
    "half a try": lambda: clopper_pearson(0.5, 1),  # type: ignore[arg-type]  # the point
    "unequal ranks": lambda: kendall_tau_b([1.0], [1.0, 2.0]),
    "persistence of 1": lambda: rank_biased_overlap(["a"], ["a"], persistence=1.0),
    "a vote above 1": lambda: EProcess().update([0.1, 1.01]),
    "a vote of NaN": lambda: EProcess().update(NAN),
    "effect above 1": lambda: EProcessRule(effect=1.5),
    "alpha of 0": lambda: EProcessRule(alpha=0.0),
    "sigma of 0": lambda: GaussianSprtRule(sigma=0.0),
    "risks above 1": lambda: GaussianSprtRule(sigma=0.1, alpha=0.6, beta=0.6),
    "a bad rule": lambda: Rules(alpha=2.0),
    "posterior of the impossible": lambda: beta_binomial(Successes(3, 2), Successes(0, 0)),
    "a prior of 0": lambda: beta_binomial(Successes(0, 0), Successes(0, 0), prior=Prior(0, 1)),
    "unequal raters": lambda: cohen_kappa(["a"], ["a", "b"], rng=RNG),
    "raters of nothing": lambda: cohen_kappa([], [], rng=RNG),
    "an unknown label": lambda: cohen_kappa(["a"], ["c"], rng=RNG, categories=["a", "b"]),
    "labels of two kinds": lambda: cohen_kappa(["a"], [1], rng=RNG),
    "a rating of NaN": lambda: krippendorff_alpha([[1.0, NAN]], rng=RNG),
    "nobody rated twice": lambda: krippendorff_alpha([[1, None], [None, 2]], rng=RNG),
    "an unknown scale": lambda: krippendorff_alpha([[1, 1]], rng=RNG, scale="ratio"),  # type: ignore[arg-type]
    "human labels outside": lambda: ppi_mean([0, 2], [0, 1], [0, 1], bounds=(0, 1)),
    "one human label": lambda: ppi_mean([1], [1], [0, 1]),
    "unequal judge labels": lambda: ppi_mean([1, 0], [1], [0, 1]),
    "confidence above 1": lambda: calibration_error([1.2], [1]),
    "half right": lambda: brier_score([0.5], [0.5]),
    "no bins": lambda: calibration_error([0.5], [1], bins=0),
    "a single class": lambda: fit_temperature([[1.0]], [0]),
    "an unknown class": lambda: fit_temperature([1.0], [2]),
    "half a class": lambda: fit_temperature([1.0], [0.5]),
    "logits of NaN": lambda: fit_temperature([NAN], [0]),
    "a list of minus one": lambda: team_draft([], [], length=-1, rng=RNG),
    "minus one win": lambda: sign_test_of(wins=-1, losses=0),
    "true as a number": lambda: finite(True, "value"),
    "true as a count": lambda: whole(True, "value", least=0),
    "minus one as a positive": lambda: positive(-1.0, "value"),
    "one as an open share": lambda: open_share(1.0, "value"),
    "a word not offered": lambda: one_of("x", "word", ("a", "b")),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_may_not_enter_is_refused_with_a_remedy(case: str) -> None:
    with pytest.raises(BadValue) as caught:
        REFUSED[case]()
    assert caught.value.message
    assert caught.value.remedy.endswith(".")


def test_a_refusal_names_the_place_and_the_value() -> None:
    with pytest.raises(BadValue, match=r"votes\[2\] is 1.5, outside \[-1, 1\]"):
        within([0.0, 1.0, 1.5], "votes", -1.0, 1.0)


def test_the_callers_array_is_never_changed_or_kept() -> None:
    mine = np.array([0.1, 0.2])
    numbers(mine, "values")[0] = 9.0
    assert mine.tolist() == [0.1, 0.2]


def test_bounds_read_like_a_pair() -> None:
    assert Bounds(0.0, 1.0) == (0.0, 1.0)


def test_every_public_name_is_listed_once_and_documented() -> None:
    assert len(set(statistics.__all__)) == len(statistics.__all__)
    for name in statistics.__all__:
        offered = getattr(statistics, name)
        if inspect.isclass(offered) or inspect.isfunction(offered):
            assert inspect.getdoc(offered), name
