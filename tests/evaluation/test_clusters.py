"""Cases that belong together count as one unit in comparisons and gates, and every surface is told."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.evaluation.made import golden, good, manifest_of, nothing, reading, run_of

from assay.evaluation.baselines import Baseline, load_baseline, write_baseline
from assay.evaluation.comparison import compare_two
from assay.evaluation.gating import judge
from assay.evaluation.readings import Reading, reading_of
from assay.evaluation.running.planning import RunOptions, plan_run
from assay.evaluation.scoring import clusters_of
from assay.evaluation.self_test import self_test
from assay.records.datasets import Case, SessionContext, Turn
from assay.records.run_results import CaveatKind, caveats_about
from assay.systems.python_function import PythonFunction

NAMES = [f"q{n:03}" for n in range(300)]
TOGETHER = {name: f"session {place % 6}" for place, name in enumerate(NAMES)}


def side(better: set[int], name: str, clusters: dict[str, str]) -> Reading:
    """All cases of some sessions are found, none of the others."""
    values = {case: float(place % 6 in better) for place, case in enumerate(NAMES)}
    return reading({"recall@1": values}, name=name, clusters=clusters)


def test_six_sessions_of_fifty_cases_prove_nothing_that_six_cases_would_not() -> None:
    alone = compare_two(side({0, 1}, "a", {}), side({0, 1, 2, 3}, "b", {})).metrics["recall@1"].comparison
    assert (alone.verdict, alone.units) == ("better", 300)
    compared = compare_two(side({0, 1}, "a", TOGETHER), side({0, 1, 2, 3}, "b", TOGETHER))
    together = compared.metrics["recall@1"].comparison
    assert (together.verdict, together.units) == ("no_difference_seen", 6)
    assert "6 clusters" in together.sentence
    assert compared.as_json()["metrics"]["recall@1"]["units"] == 6  # type: ignore[index] # a table


def test_the_gate_tests_clusters_and_says_so() -> None:
    verdict = judge(side({0}, "now", TOGETHER), side({0, 1, 2}, "then", TOGETHER))
    relative = next(one for one in verdict.rules if one.rule == "relative")
    assert relative.status.value == "inconclusive", "two of six sessions fell: chance does that"
    lost = next(one for one in verdict.rules if one.rule == "lost cases")
    assert (lost.status.value, lost.evidence["lost_units"], lost.evidence["p"]) == ("inconclusive", 2, 0.25)
    assert "100 cases lost" in lost.sentence
    assert "counted by cluster: 2 lost, 0 gained" in lost.sentence
    without = judge(side({0}, "now", {}), side({0, 1, 2}, "then", {}))
    assert next(one for one in without.rules if one.rule == "lost cases").status.value == "fail"
    assert next(one for one in without.rules if one.rule == "relative").status.value == "fail"


def test_the_self_test_swaps_whole_clusters() -> None:
    found = self_test(side({0, 1, 2}, "a", TOGETHER), side({1, 2, 3}, "b", TOGETHER), replays=50)
    assert {one.rule: one.alarms for one in found.rules}["relative"] == 0


@pytest.mark.parametrize(
    ("cases", "found"),
    [
        ([{"id": "a"}, {"id": "b"}], {}),
        (
            [{"id": n, "session": SessionContext(session_id=s)} for n, s in (("a", "x"), ("b", "x"), ("c", "y"))],
            {"a": "session x", "b": "session x"},
        ),
        ([{"id": n, "tags": ("cluster:refunds",)} for n in "ab"], {"a": "cluster:refunds", "b": "cluster:refunds"}),
    ],
)
def test_sessions_and_tags_name_clusters(cases: list[dict[str, object]], found: dict[str, str]) -> None:
    assert clusters_of([Case(query=f"about {case['id']}", **case) for case in cases]) == found  # type: ignore[arg-type] # fields of a case


def test_one_question_asked_again_belongs_to_the_first() -> None:
    asked = [("a", "Where is the pool?"), ("b", "where is  the pool?"), ("c", "Where is the bar?")]
    assert clusters_of([Case(id=case, query=query) for case, query in asked]).keys() == {"a", "b"}


def test_the_questions_of_a_conversation_belong_together() -> None:
    first = Case(id="a", query="Where is the pool?")
    later = Case(id="b", query="And when?", history=(Turn(speaker="user", text="Where is the pool?"),))
    other = Case(id="c", query="And who?", history=(Turn(speaker="user", text="Where is the bar?"),))
    assert clusters_of([first, later, other]).keys() == {"a", "b"}


def test_a_run_carries_its_clusters_into_readings_baselines_and_caveats(tmp_path: Path) -> None:
    plain = golden(30)
    cases = tuple(
        replace(case, session=SessionContext(session_id=f"s{place % 5}")) for place, case in enumerate(plain.cases)
    )
    dataset = replace(plain, cases=cases)
    planned = plan_run(
        dataset,
        PythonFunction(lambda query, k: []),
        RunOptions(),
        run_id="run_1",
        at=datetime(2026, 1, 4, tzinfo=UTC),
        host="here",
    )
    assert len(planned.clusters) == 30
    manifest = replace(manifest_of(dataset, "a"), clusters=planned.clusters)
    run = run_of(dataset, [good(n) if n % 3 else nothing(n) for n in range(30)], clusters=manifest.clusters)
    (said,) = caveats_about(run.caveats, CaveatKind.CLUSTERS)
    assert said.sentence.startswith("30 of 30 cases belong together in 5 clusters")
    found = reading_of(run)
    write_baseline(tmp_path / "b.json", Baseline(reading=found, blessed_at=manifest.started_at))
    assert load_baseline(tmp_path / "b.json").reading.clusters == found.clusters == planned.clusters
