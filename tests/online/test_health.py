"""What health says beside the channels, line by line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.online.conftest import Online

from assay.online.health import UNMEASURED, online_lines
from assay.records import EvalResult, LoggedQuery, RunType
from assay.records.flags import VoteKind
from assay.records.learning import cycle_evidence, evidence_to_json
from assay.records.memory_list import Condition


def told(online: Online) -> dict[str, tuple[Condition, str]]:
    lines = online_lines(online.engine, online.scope, rng=np.random.default_rng(1))
    return {line.name: (line.state, line.reason) for line in lines}


def test_a_new_store_has_nothing_to_tell_yet(online: Online) -> None:
    assert {name: state for name, (state, _) in told(online).items()} == {
        "metrics": Condition.EMPTY,
        "quality proxy": Condition.EMPTY,
        "tests": Condition.EMPTY,
        "learning": Condition.EMPTY,
    }
    assert told(online)["metrics"][1] == UNMEASURED


def measured(run_id: str, *, own: bool, **given: Any) -> EvalResult:
    reason = "" if own else "it ran another system"
    evidence = evidence_to_json(cycle_evidence(["what is tea"], stored_at=given["created_at"], reason=reason))
    told = given.pop("metrics_json", {})
    return EvalResult(run_id=run_id, run_type=RunType.FULL, metrics_json={**told, **evidence}, **given)


def test_the_newest_run_a_test_and_a_shadow_are_told(online: Online) -> None:
    engine, scope = online.engine, online.scope
    result = measured("r1", own=True, query_count=301, created_at=online.clock.now(), mrr_at_5=0.867)
    with engine.store.writing(scope) as work:
        work.results.add(result)
    engine.flags.turn(engine.store, scope, "graph_scoring", "off", shadow=True)
    online.ladder.trials.begin(scope, "graph_scoring", kind=VoteKind.PAIRED)
    online.clock.advance(days=3)
    seen = told(online)
    assert seen["metrics"] == (Condition.OK, "mrr@5 0.867 over 301 queries, 3 days ago")
    assert seen["tests"] == (Condition.OK, "graph_scoring 0 votes, ln K 0.00 of 3.69")
    assert seen["shadow"][1].startswith("graph_scoring: 0 runs")


def test_a_run_of_another_system_or_corpus_is_not_this_memorys_quality(online: Online) -> None:
    at = online.clock.now()
    stub = measured("r1", own=False, query_count=164, created_at=at, mrr_at_5=0.02)
    with online.engine.store.writing(online.scope) as work:
        work.results.add(stub)
    assert told(online)["metrics"] == (Condition.EMPTY, UNMEASURED)
    with online.engine.store.writing(online.scope) as work:
        own = {"name": "assay", "manifest": {"dataset": "mine"}}
        work.results.add(measured("r2", own=True, query_count=9, created_at=at, mrr_at_5=0.9, metrics_json=own))
        work.results.add(replace(stub, run_id="r3"))
        work.results.add(replace(stub, run_id="r2", run_type=RunType.REGRESSION))
    said = "mrr@5 0.900 over 9 queries, 0 days ago (assay on mine)"
    assert told(online)["metrics"] == (Condition.OK, said)


@pytest.mark.parametrize(("after", "state"), [(0.7, Condition.OK), (0.5, Condition.DEGRADED), (0.9, Condition.OK)])
def test_a_fall_of_the_quality_proxy_is_seen_and_dated(online: Online, after: float, state: Condition) -> None:
    rng = np.random.default_rng(2)
    lines = []
    for mean in (0.7, after):
        online.clock.advance(hours=1)
        lines += [
            LoggedQuery(
                query_id=online.engine.store.ids.new("eq"),
                query=f"query {place}",
                tool_name="search",
                created_at=online.clock.now(),
                quality_proxy_score=float(rng.normal(mean, 0.05)),
            )
            for place in range(60)
        ]
    with online.engine.store.writing(online.scope) as work:
        work.queries.add_many(lines)
    seen, reason = told(online)["quality proxy"]
    assert seen is state
    assert ("since 2026-01-05 11:00" in reason) is (after != 0.7)


def test_learning_tells_its_day_and_what_stands_in_the_way(online: Online) -> None:
    online.engine.flags.turn(online.engine.store, online.scope, "learn_from_selection", "on")
    online.clock.advance(days=3)
    state, reason = told(online)["learning"]
    assert state is Condition.OK
    assert reason.startswith("shadow, day 4 of 7; ")
    assert "noise not known yet" in reason
