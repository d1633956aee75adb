"""What is read out of a finished run."""

from __future__ import annotations

from dataclasses import replace

from tests.evaluation.made import golden, good, run_of

from assay.evaluation.readings import limit_instrument, reading_of
from assay.records.evaluations import CaseStatus, Retrieved, Seen


def test_a_run_is_read_with_times_lists_channels_and_words() -> None:
    run = run_of(golden(3), [good(0), None, good(2)])
    found = reading_of(run, {"q00": "where"})
    assert found.times == {"q00": (10.0,), "q02": (12.0,)}
    assert found.lists == {"q00": good(0), "q02": good(2)}
    assert found.channels == {"fts5": 2}
    assert found.statuses["q01"] == (CaseStatus.ERROR,)
    assert (found.called("q00"), found.called("q02")) == ('q00 "where"', "q02")
    assert found.failures().any.hits == 1
    assert found.latency().p95 == 12.0
    assert found.mean("mrr") == 1.0


def test_what_a_scope_took_out_and_was_shown_all_the_same_is_kept() -> None:
    run = run_of(golden(2), [good(0), good(1)])
    leaky = Retrieved(ids=good(0), seen=Seen(excluded=(good(0)[2], "elsewhere")))
    tight = Retrieved(ids=good(1), seen=Seen(excluded=("elsewhere",)))
    cases = (replace(run.cases[0], retrieved=leaky), replace(run.cases[1], retrieved=tight))
    assert reading_of(replace(run, cases=cases)).scoped == {"q00": (good(0)[2],), "q01": ()}


def test_an_instrument_is_cut_to_the_metrics_that_are_compared() -> None:
    whole = {"level": 2, "metrics": {"mrr": 1, "ndcg@5": 2}}
    assert limit_instrument(whole, ["mrr"]) == {"level": 2, "metrics": {"mrr": 1}}
    assert limit_instrument({"level": 2}, ["mrr"]) == {"level": 2}
