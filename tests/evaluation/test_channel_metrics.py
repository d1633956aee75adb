"""Channel metrics in a run, worked by hand."""

from __future__ import annotations

import pytest
from tests.evaluation.remembered import CASES, given, measured, memory

from assay.cli.run_table import channel_table, table
from assay.evaluation.run_metrics import channel_metrics
from assay.metrics.channels import NO_SUCH_CHANNEL, UNTOLD

ONE = memory(CASES[:1])
TOLD = given(
    "imp",
    "crit",
    "norm",
    "crit2",
    channels={"vector": ("imp", "norm", "crit"), "bm25": ("norm", "crit2", "crit"), "graph": ()},
    only_expanded=("norm",),
)
METRICS = channel_metrics(ONE)


def test_what_each_channel_found_and_what_it_found_alone() -> None:
    result = measured({"c1": TOLD}, METRICS, ONE)
    assert result.value("channel_contribution(channel=vector)@5") == 3 / 4
    assert result.value("exclusive_contribution(channel=vector)@5") == 1 / 4
    assert result.value("exclusive_contribution(channel=bm25)@5") == 1 / 4
    assert result.value("channel_contribution(channel=graph)@5") == 0.0
    assert result.value("channel_contribution(channel=trigger)@5") is None
    assert result.per_case("channel_contribution(channel=trigger)@5")["c1"].reason == "channel 'trigger' did not run"


def test_what_fusion_moved_what_expansion_found_and_how_results_crowd() -> None:
    result = measured({"c1": TOLD}, METRICS, ONE)
    assert result.value("fusion_reorder_rate@5") == pytest.approx(3 / 4), "only imp stands where a channel had it"
    assert result.value("expansion_impact@5") == 1 / 4
    assert result.value("ils@5") == 1 / 2, "four results of two folders"


def test_a_system_that_does_not_tell_has_no_values_and_a_reason() -> None:
    result = measured({"c1": given("imp")}, METRICS, ONE)
    assert result.per_case("fusion_reorder_rate@5")["c1"].reason == UNTOLD
    assert result.value("expansion_impact@5") is None
    assert channel_table([result]) == ""


def test_a_foreign_system_sees_no_rows_of_channels_that_it_does_not_have() -> None:
    own = given("imp", channels={"bm25": ("imp",), "dense": ("crit",)}, names_all_channels=True)
    result = measured({"c1": own}, METRICS, ONE)
    shown = " ".join(map(str, result.shown))
    assert "channel=bm25" in shown
    assert not any(f"channel={name}" in shown for name in ("vector", "fts5", "graph", "trigger"))
    assert result.per_case("channel_contribution(channel=fts5)@5")["c1"].reason == NO_SUCH_CHANNEL


def test_channels_have_a_table_of_their_own() -> None:
    result = measured({"c1": TOLD}, METRICS, ONE)
    lines = channel_table([result]).splitlines()
    assert lines[0].split() == ["channel", "given:", "found", "@5", "given:", "found", "alone", "@5"]
    assert lines[1].split() == ["vector", "0.750", "0.250"]
    assert lines[-1].split() == ["trigger", "-", "-"]
    assert "channel_contribution" not in table([result], {})
