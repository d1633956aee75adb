"""Every stage is timed and counted, also one that fails."""

from __future__ import annotations

from itertools import count

import pytest

from assay.memory.searching.trace import Trace


def ticking() -> Trace:
    """A trace whose stopwatch moves one millisecond with every reading."""
    readings = count()
    return Trace("tr_1", lambda: next(readings) / 1000.0)


def test_a_stage_is_timed_and_counted() -> None:
    trace = ticking()
    with trace.stage("candidate", inputs=3) as stage:
        stage.outputs = 2
        stage.detail["vector"] = 2
    (kept,) = trace.stages
    assert (kept.name, kept.inputs, kept.outputs, dict(kept.detail)) == ("candidate", 3, 2, {"vector": 2})
    assert kept.duration_ms == pytest.approx(1.0)


def test_stages_stand_in_the_order_they_ran_and_one_that_ran_twice_stands_there_twice() -> None:
    trace = ticking()
    for name in ("candidate", "filter", "candidate"):
        with trace.stage(name):
            pass
    assert [stage.name for stage in trace.stages] == ["candidate", "filter", "candidate"]
    assert trace.total_ms("candidate") == pytest.approx(2.0)
    assert trace.total_ms("rerank") == 0.0


def test_a_stage_that_raises_is_kept_and_does_not_swallow() -> None:
    trace = ticking()
    with pytest.raises(KeyError), trace.stage("boost"):
        raise KeyError
    assert [stage.name for stage in trace.stages] == ["boost"]


def test_time_runs_from_the_beginning_of_the_search() -> None:
    trace = ticking()
    assert trace.elapsed_ms() == pytest.approx(1.0)
    assert trace.elapsed_ms() == pytest.approx(2.0)
