"""A way to fuse as settings: what differs, and nothing else."""

from __future__ import annotations

import tomllib

import pytest

from assay.errors import BadValue
from assay.evaluation.tuning.choices import FusionChoice, choice_of
from assay.records import Channel, FusionMethod, Intent
from assay.settings import load_settings
from assay.wiring.search_options import search_options


def test_the_settings_lead_from_one_choice_to_another() -> None:
    before = FusionChoice()
    after = FusionChoice(
        method=FusionMethod.RRF, rrf_k=30, weights={**before.weights, Channel.GRAPH: 0.125}, coefficient=0.5
    )
    written = "\n".join(after.toml(before))
    assert tomllib.loads(written) == {
        "search": {"fusion": "rrf", "rrf_k": 30, "coefficient": 0.5, "weights": {"graph": 0.125}}
    }
    settings = load_settings(options=after.settings(before), environment={}).settings
    assert choice_of(search_options(settings)) == after


def test_nothing_is_set_where_nothing_differs() -> None:
    assert FusionChoice().settings(FusionChoice()) == {}
    # The constant of RRF is nothing to convex fusion.
    assert FusionChoice(rrf_k=10).settings(FusionChoice()) == {}


def test_intents_shift_another_base_in_the_same_proportion() -> None:
    settings = load_settings(options={"search.weights.bm25": "0.6"}, environment={}).settings
    options = search_options(settings)
    assert options.weights[Intent.UNDERSTAND][Channel.BM25] == 0.6
    assert options.weights[Intent.FIX_BUG][Channel.BM25] == pytest.approx(0.7)
    assert options.weights[Intent.FIX_BUG][Channel.VECTOR] == 0.65


def test_every_channel_needs_a_weight() -> None:
    with pytest.raises(BadValue, match=r"no weight for .*graph"):
        FusionChoice(weights={Channel.VECTOR: 1.0})
