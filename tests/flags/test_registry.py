"""The table of flags says what the documentation says, and a wrong name is told the near ones."""

from __future__ import annotations

import pytest

from assay.errors import UnknownFlag
from assay.flags import FLAGS, find_flag
from assay.flags.registry import RETIRED

OFF_BY_DEFAULT = {
    "adaptive_fusion",
    "docscore_aggregation",
    "learn_from_selection",
    "cross_encoder",
    "threshold_tuning",
    "pattern_planning",
    "similar_evaluations",
}
ON_BY_DEFAULT = {
    "save_quality_gate",
    "reconsolidation",
    "session_boost",
    "causal_boost",
    "coactivation",
    "mmr",
    "named_boost",
    "query_expansion",
    "negative_feedback",
    "graph_scoring",
    "trust_ranking",
    "tier_boost",
}


def test_every_documented_flag_is_there_with_its_documented_default() -> None:
    assert {name for name, flag in FLAGS.items() if flag.default} == ON_BY_DEFAULT
    assert {name for name, flag in FLAGS.items() if not flag.default} == OFF_BY_DEFAULT


def test_the_flag_with_documented_graduation_rules_has_them() -> None:
    assert (FLAGS["graph_scoring"].minimum_samples, FLAGS["graph_scoring"].graduation_threshold) == (100, 0.02)


def test_every_flag_has_a_meaning_and_an_owner() -> None:
    assert all(flag.meaning.endswith(".") and flag.owner for flag in FLAGS.values())


def test_an_unknown_name_is_refused_with_the_near_ones() -> None:
    with pytest.raises(UnknownFlag, match="reconsolidatoin") as problem:
        find_flag("reconsolidatoin")
    assert "Did you mean reconsolidation?" in problem.value.remedy


def test_a_flag_that_was_removed_says_why() -> None:
    assert not RETIRED.keys() & FLAGS.keys()
    with pytest.raises(UnknownFlag, match="'multi_vector' was removed: a title is part of the vector"):
        find_flag("multi_vector")
