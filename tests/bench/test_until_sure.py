"""The comparisons that `bench.until_sure` makes have the means that they say, and its promises can fail."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bench.setting_changes import SettingChange, find_changes
from bench.until_sure import (
    ALL_CHANGES,
    SAME,
    WAYS,
    Figures,
    Pair,
    collect,
    decide_finite,
    draw_comparison,
    find_failures,
    make_scenarios,
    pair_changes,
    share_of_quick_changes,
    swap_sides,
)

from assay.systems.registry import parse_spec


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


@pytest.fixture
def far(rng: np.random.Generator) -> Pair:
    """Two sides whose values differ much: every way of making a gain is open."""
    control = rng.uniform(0.2, 0.8, size=100)
    return Pair("far", control, np.clip(control - rng.uniform(-0.1, 0.3, size=100), 0.0, 1.0))


@pytest.fixture
def near() -> Pair:
    """One case of ten differs, by 0.1."""
    control = np.tile([1.0, 0.6, 0.5, 1.0, 0.7], 20)
    return Pair("near", control, control - np.tile([0.1] + [0.0] * 9, 10))


def test_every_way_makes_a_gain_of_five_hundredths(far: Pair, near: Pair, rng: np.random.Generator) -> None:
    for pair, ways in ((far, ["coin", "mixed", "shifted", "repaired"]), (near, ["shifted", "repaired"])):
        rows = {way: [make(pair, rng) for _ in range(600)] for way, make in WAYS.items()}
        made = {way: [row for row in found if row is not None] for way, found in rows.items()}
        assert [way for way, found in made.items() if found] == ways
        for way in ways:
            assert len(made[way]) == 600
            assert float(np.mean(made[way])) == pytest.approx(0.05, abs=0.004)
            assert np.max(np.abs(made[way])) <= 1.0


def test_no_value_is_raised_above_one(near: Pair, rng: np.random.Generator) -> None:
    for way in ("shifted", "repaired"):
        row = WAYS[way](near, rng)
        assert row is not None
        assert float(np.max(near.control + row)) <= 1.0 + 1e-12
        assert np.all(row[near.control == 1.0] <= 0.0)


def test_sides_that_are_swapped_keep_the_sizes_and_lose_the_mean(far: Pair, rng: np.random.Generator) -> None:
    rows = [swap_sides(far, rng) for _ in range(400)]
    assert float(np.mean(rows)) == pytest.approx(0.0, abs=0.004)
    assert all(np.allclose(np.abs(row), np.abs(far.differences)) for row in rows)


def test_all_pairs_and_ways_are_drawn_alike(far: Pair, near: Pair, rng: np.random.Generator) -> None:
    drawn = [draw_comparison([far, near], rng, gain=True) for _ in range(800)]
    of_near = [comparison.way for comparison in drawn if comparison.pair == "near"]
    assert len(of_near) == pytest.approx(400, abs=60)
    assert of_near.count("shifted") == pytest.approx(len(of_near) / 2, abs=45)
    assert {comparison.way for comparison in drawn} == set(WAYS)
    same = draw_comparison([near], rng, gain=False)
    assert same.way == SAME
    assert np.allclose(np.sort(np.abs(same.row)), np.sort(np.abs(near.differences)))


def test_a_pair_of_systems_has_only_the_scenarios_that_it_allows(
    far: Pair, near: Pair, rng: np.random.Generator
) -> None:
    assert [scenario for scenario, _ in make_scenarios(far, 3, rng)] == [SAME, "+0.05, coin", "+0.05, mixed"]
    assert [scenario for scenario, _ in make_scenarios(near, 3, rng)] == [SAME]


def test_bets_against_a_finite_set_end_when_its_mean_is_certain() -> None:
    assert decide_finite(np.full(50, 0.3)).decision == "better"
    assert decide_finite(np.full(50, -0.3)).decision == "worse"
    assert decide_finite(np.zeros(50)).decision is None


def test_a_promise_that_does_not_hold_is_named(rng: np.random.Generator) -> None:
    found = collect(ALL_CHANGES, SAME, rng.uniform(-0.1, 0.1, size=(20, 60)))
    assert list(find_failures([found])) == []
    assert list(find_failures([replace(found, better=0.04, worse=0.02)])) == ["all changes: 6.0% false decisions"]
    slow: Figures = replace(found, scenario="+0.05", saved=0.4)
    assert list(find_failures([slow])) == ["all changes, +0.05: 40% of the cases saved"]
    assert list(find_failures([replace(slow, systems="one change")])) == []
    assert share_of_quick_changes([slow, replace(slow, systems="a"), replace(slow, systems="b", saved=0.5)]) == (1, 2)


def test_changes_change_one_setting_and_can_be_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("none")
    changes = find_changes()
    assert len(changes) == len(set(changes)) > 50
    for change in changes:
        parts = [
            {*spec.removeprefix("assay").removeprefix(":").split(",")} - {""}
            for spec in (change.baseline, change.changed)
        ]
        assert parts[0] <= parts[1]
        assert len(parts[1] - parts[0]) == 1
        assert parse_spec(change.changed, folder).configuration is not None


def test_a_change_without_an_effect_is_no_pair() -> None:
    changes = [SettingChange("assay", "assay:mode=quick"), SettingChange("assay:a=1", "assay:a=1,b=2")]
    values = {"assay": np.array([1.0, 0.5]), "assay:mode=quick": np.array([1.0, 0.5])}
    pairs = pair_changes(changes, {**values, "assay:a=1": np.array([0.0]), "assay:a=1,b=2": np.array([1.0])})
    assert [pair.name for pair in pairs] == ["b=2 (beside a=1)"]
