"""Each rule speaks when its evidence is there, names it with counts, and is silent otherwise."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.evaluation.reporting.samples import dataset, given, run, told

from assay.evaluation.recommendations import Drop, Recommendation, RunEvidence, advise, recommend
from assay.evaluation.results import RunResult
from assay.evaluation.waterfall import waterfall
from assay.flags import FLAGS
from assay.metrics.spec import MetricSpec
from assay.records.evaluations import CaseStatus, Seen
from assay.settings.model import KNOWN

DATA = dataset()
LEAD = MetricSpec.parse("recall@2")


def evidence(result: RunResult, **more: object) -> RunEvidence:
    water = waterfall(DATA, result.cases, k=2)
    return RunEvidence(run=result, lead=LEAD, waterfall=water, **more)  # type: ignore[arg-type] # by name


def advice_on(seen: Seen | None, ids: str = "cd") -> tuple[Recommendation, ...]:
    return recommend(evidence(run(DATA, {f"q{n}": given(ids, seen=seen) for n in (1, 2, 3)})))


def test_nothing_is_recommended_when_nothing_speaks() -> None:
    assert recommend(evidence(run(DATA, {f"q{n}": given("ab") for n in (1, 2, 3)}))) == ()


@pytest.mark.parametrize(
    ("seen", "ids", "advice", "counted"),
    [
        (
            told({"vector": "cd"}, fused="cd", indexed="cdef"),
            "cd",
            "Index them",
            "6 of 6 missed gold items: not indexed",
        ),
        (told({"fts5": "cd"}, fused="cd"), "cd", "Ask the vector channel too", "The channels that were asked: fts5."),
        (told({"vector": "cd"}, fused="cd"), "cd", "Let channels offer more", "never a candidate"),
        (told({"vector": "abcd"}, fused="cd", excluded="ab"), "cd", "Widen the scope", "filtered by scope"),
        (told({"vector": "ab", "bm25": "cd"}, fused="cd"), "cd", "weight of the channel vector", "It alone had 6"),
        (told({"vector": "ab", "bm25": "ba"}, fused="cd"), "cd", "Let fusion keep more", "lost in fusion"),
        (told({"vector": "abcd"}, fused="cdab"), "cd", "Show more results", "rank 4 in the middle"),
        (told({"vector": "abcd"}, fused="cdab"), "cdab", "Rerank the first 4", "6 of them stand between rank 3 and 4"),
        (None, "cd", "Ask the system again", "They may have been: not indexed"),
    ],
)
def test_the_stage_where_most_was_lost_decides_what_to_try(
    seen: Seen | None, ids: str, advice: str, counted: str
) -> None:
    (only,) = advice_on(seen, ids)
    assert advice in only.advice
    assert counted in only.evidence


def test_what_an_advice_names_exists() -> None:
    seen = told({"vector": "abcd"}, fused="cdab")
    (only,) = advice_on(seen, "cdab")
    named = re.findall(r"`([\w.]+)`", only.advice)
    assert named == ["cross_encoder", "rerank.folder"]
    assert set(named) <= {*FLAGS, *(known.key for known in KNOWN)}


def test_a_single_miss_is_an_incident_and_no_pattern() -> None:
    results = {"q1": given("ac", seen=told({"vector": "ac"}, fused="ac")), "q2": given("ab"), "q3": given("ab")}
    assert recommend(evidence(run(DATA, results))) == ()


def test_failures_are_named_with_what_was_said_most_often() -> None:
    failed = given("", status=CaseStatus.ERROR, error="refused")
    (only,) = recommend(evidence(run(DATA, {"q1": failed, "q2": failed, "q3": given("ab")})))
    assert only.evidence == "2 of 3 cases failed (2 error). Most often: refused (2)."


def test_queries_that_came_back_empty_are_named() -> None:
    results = {"q1": given("", status=CaseStatus.EMPTY), "q2": given("ab"), "q3": given("ab")}
    found = recommend(evidence(run(DATA, results)))
    assert found[0].evidence == "1 of 3 cases came back empty: q1."


def test_a_part_whose_interval_lies_below_the_whole_is_named() -> None:
    data = dataset(queries=[f"query {n}" for n in range(24)])
    results = {case.id: given("cd" if case.category == "odd" else "ab", seen=None) for case in data.cases}
    result = run(data, results)
    found = recommend(RunEvidence(run=result, lead=LEAD))
    assert [one.advice for one in found] == ["Look at the queries of category odd first."]
    assert found[0].evidence == "recall@2 is 0.000 there (at most 0.265) and 0.500 over all."


def test_a_drop_names_the_queries_that_lost() -> None:
    drop = Drop(metric="recall@2", before=0.8, now=0.6, losers=("q3", "q1", "q2", "q9"))
    good = run(DATA, {f"q{n}": given("ab") for n in (1, 2, 3)})
    (only,) = recommend(RunEvidence(run=good, lead=LEAD, drops=[drop]))
    assert only.advice == "Read the queries that lost recall@2: q3, q1, q2 and 1 more."
    assert only.evidence == "recall@2 fell from 0.800 to 0.600 (-25.0 %); 4 queries lost."


def test_a_latency_over_its_ceiling_names_the_slowest_stage() -> None:
    slow = run(DATA, {f"q{n}": given("ab", ms=800.0) for n in (1, 2, 3)})
    (only,) = recommend(RunEvidence(run=slow, lead=LEAD, ceilings={"p50": 900.0, "p95": 500.0}))
    assert only.evidence == ("Latency p95 is 800 ms, allowed are 500 ms. The slowest stage is candidate (p95 400 ms).")


def test_results_that_nobody_judged_are_counted_when_they_are_most() -> None:
    good = run(DATA, {f"q{n}": given("ab") for n in (1, 2, 3)})
    (only,) = recommend(RunEvidence(run=good, lead=LEAD, judged=2, shown=6))
    assert only.evidence == "4 of 6 results within k were never judged."
    assert recommend(RunEvidence(run=good, lead=LEAD, judged=3, shown=6)) == ()


def test_a_set_that_cannot_see_what_matters_is_told_so() -> None:
    good = run(DATA, {f"q{n}": given("ab") for n in (1, 2, 3)})
    (only,) = recommend(RunEvidence(run=good, lead=LEAD, detects=0.12, needed=240))
    assert only.evidence.startswith("These queries see differences of 0.120 or more in recall@2 (80 % power)")
    assert only.evidence.endswith("; about 240 would be needed to see 0.05.")
    assert recommend(RunEvidence(run=good, lead=LEAD, detects=0.05)) == ()


def test_one_lost_item_has_advice_of_its_own_and_a_failed_case_has_none() -> None:
    results = {"q1": given("ac", seen=told({"bm25": "ac"}, fused="ac"))}
    water = waterfall(DATA, run(DATA, results).cases, k=2)
    lost = water.missed[0]
    assert "vector" in str(advise(lost, water))
    assert advise(replace(lost, failed=True), water) is None
