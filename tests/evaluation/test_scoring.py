"""From results to numbers, worked by hand."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.remembered import CASES as MEMORY_CASES
from tests.evaluation.remembered import given as retrieved
from tests.evaluation.remembered import measured, memory
from tests.systems.sample import CASES, Given, dataset, grades

from assay.errors import MissingExtra, NothingMeasured, UnknownMetric
from assay.evaluation.measure import MeasureRequest, measure_files
from assay.evaluation.results import RunResult
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import COLUMNS, as_row, detectable, run, sentence
from assay.formats.trec import write_trec_qrels
from assay.metrics.engine import ScoringRules
from assay.metrics.outcomes import NO_JUDGE_ASKED
from assay.metrics.spec import MetricSpec, parse_specs
from assay.records.answers import (
    ConflictRule,
    EquivalenceClasses,
    FolderMode,
    GivenAnswer,
    GoldAnchors,
    GoldSupport,
    RetrievedChunk,
)
from assay.records.datasets import Case, Dataset
from assay.records.evaluations import Retrieved, Seen
from assay.records.run_results import CaveatKind, caveats_about

LISTS = {"q1": ["sauna", "pets", "pool"], "q2": ["pool", "breakfast"], "q3": [], "q4": ["pets"]}


def scored(of: Dataset, given: Mapping[str, Any], metrics: str, **options: Any) -> RunResult:
    system = Given(lambda case: given[case.id])
    return run(of, system, RunOptions(metrics=parse_specs(metrics), **options))


def test_rankings_are_measured_as_by_hand() -> None:
    result = scored(dataset(), LISTS, "recall@2,mrr,ndcg@3")
    assert [one.value for one in result.per_case("recall@2").values()] == [0.5, 1.0, 0.0, 1.0]
    assert result.value("mrr") == pytest.approx((1 + 0.5 + 0 + 1) / 4)
    gain = 2 + 3 / math.log2(4)
    assert result.per_case("ndcg@3")["q1"].value == pytest.approx(gain / (3 + 2 / math.log2(3)))


def test_a_run_written_as_trec_measures_the_same(tmp_path: Path) -> None:
    result = scored(dataset(), LISTS, "ndcg@10,mrr,recall@5")
    result.write_trec(tmp_path / "run.trec")
    write_trec_qrels(tmp_path / "qrels", {case.id: case.labels for case in CASES})
    specs = parse_specs("ndcg@10,mrr,recall@5")
    asked = MeasureRequest(
        qrels=tmp_path / "qrels", runs=(tmp_path / "run.trec",), specs=specs, rules=ScoringRules(level=2)
    )
    (measured,) = measure_files(asked).runs
    for spec in specs:
        assert measured.aggregates[spec].value == result.value(spec)


def test_equivalent_documents_count_once() -> None:
    same = EquivalenceClasses(classes=(frozenset({"pool", "sauna"}),))
    case = replace(CASES[0], equivalence=same)
    result = scored(dataset(cases=(case,)), {"q1": ["sauna", "pool", "pets"]}, "recall@5,precision@2")
    assert result.value("recall@5") == 1.0
    assert result.value("precision@2") == 0.5


def test_repeats_are_averaged_and_their_noise_is_kept() -> None:
    lists = iter([["pool"], ["pets", "pool"], ["pets", "breakfast", "pool"]])
    result = run(
        dataset(cases=CASES[:1]), Given(lambda _: next(lists)), RunOptions(metrics=parse_specs("mrr"), repeats=3)
    )
    assert result.value("mrr") == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert result.noise[MetricSpec.parse("mrr")]["q1"] == pytest.approx(0.34694, abs=1e-5)
    assert len(result.results_of("q1")) == 3


def test_a_repeat_that_failed_leaves_the_mean_of_the_others() -> None:
    lists = iter([["pool"], None])
    result = run(
        dataset(cases=CASES[:1]), Given(lambda _: next(lists)), RunOptions(metrics=parse_specs("mrr"), repeats=2)
    )
    assert result.value("mrr") == 1.0
    assert result.value("error_rate") == 0.5


def test_labels_break_the_numbers_down() -> None:
    result = scored(dataset(), LISTS, "mrr")
    mrr = MetricSpec.parse("mrr")
    assert {value: part[mrr].value for value, part in result.breakdowns["category"].items()} == {
        "prices": 0.0,
        "rules": 1.0,
        "times": 0.75,
    }
    assert {value: part[mrr].scored for value, part in result.breakdowns["tags"].items()} == {
        "(none)": 2,
        "dogs": 1,
        "food": 2,
    }
    assert "vault" not in result.breakdowns


def test_cases_with_nothing_to_find_are_not_applicable_and_said_once() -> None:
    cases = (*CASES, Case(id="q5", query="who won", grades=grades(pool=0), answerable=False))
    result = scored(dataset(cases=cases), {**LISTS, "q5": ["pool"]}, "mrr,recall@5")
    assert result.per_case("mrr")["q5"].kind == "not_applicable"
    reasons = [caveat.sentence for caveat in caveats_about(result.caveats, CaveatKind.NOT_APPLICABLE)]
    assert reasons == [
        "1 cases are not applicable under mrr, recall@5: the question has no answer among the documents.",
    ]


def test_results_of_unanswerable_cases_do_not_count_as_unjudged() -> None:
    cases = (*CASES, Case(id="q5", query="who won", grades=grades(pool=0), answerable=False))
    given = {**LISTS, "q1": ["pool", "attic", "pets"]}
    without = scored(dataset(), given, "mrr,ndcg@3")
    beside = scored(dataset(cases=cases), {**given, "q5": ["sauna", "pets"]}, "mrr,ndcg@3")
    told = caveats_about(without.caveats, CaveatKind.UNJUDGED)
    assert len(told) == 1
    assert caveats_about(beside.caveats, CaveatKind.UNJUDGED) == told


def test_notes_of_cases_are_added_up() -> None:
    given = {**LISTS, "q1": ["pool", "attic", "pool"], "q4": ["pets", "cellar"]}
    notes = scored(dataset(), given, "mrr").notes
    assert "In 2 cases: 2 ids that the dataset does not have." in notes
    assert "In 1 cases: 1 repeated results dropped." in notes


def test_floors_are_spelt_as_metrics_are() -> None:
    result = scored(dataset(floors={"recall@5": 0.8, "latency p95": 500.0}), LISTS, "mrr")
    assert result.floors == {"recall@5": 0.8, "p95": 500.0}


def test_latency_and_rates_come_from_every_case() -> None:
    result = scored(dataset(), LISTS, "mrr")
    assert result.latency["total"].timed == 3
    assert result.value("empty_response_rate") == 0.25
    assert (result.value("p95") or 0.0) > 0.0
    assert result.value("timeout_rate") == 0.0


def test_a_metric_that_was_not_measured_is_told_by_name() -> None:
    with pytest.raises(UnknownMetric, match=r"was not measured with ndcg@10. It has: mrr"):
        scored(dataset(), LISTS, "mrr").per_case("ndcg@10")


GOLD = GoldAnchors(
    supports=(GoldSupport(rel_path="a.md", heading_path="Times"), GoldSupport(rel_path="b.md")),
    required_support_groups=((0,), (1,)),
)
ANCHORED = Case(id="a1", query="when", anchors=GOLD, folder_mode=FolderMode.ON)
CHUNKS = (RetrievedChunk(rel_path="c.md"), RetrievedChunk(rel_path="a.md", heading_path="Times > Pool"))


def anchored(given: Any, metrics: str) -> RunResult:
    return scored(dataset(cases=(ANCHORED,)), {"a1": given}, metrics)


def test_anchors_are_looked_for_in_passages() -> None:
    result = anchored(Retrieved(ids=("x",), passages=CHUNKS), "recall_any@5,recall_all@5,anchor_mrr,anchor_precision@2")
    assert [result.value(one) for one in ("recall_any@5", "recall_all@5", "anchor_mrr", "anchor_precision@2")] == [
        1.0,
        0.0,
        0.5,
        0.5,
    ]


def test_a_system_without_passages_cannot_be_measured_by_anchors() -> None:
    with pytest.raises(NothingMeasured, match=r"no result that given returned is from the documents of house"):
        anchored(Retrieved(ids=("x",)), "recall_any@5")


def test_a_scope_miss_is_what_shut_every_support_out() -> None:
    documents = (replace(dataset().documents[0], id="A", rel_path="a.md"),)
    gold = GoldAnchors(supports=(GoldSupport(rel_path="a.md"),))
    case = Case(id="a1", query="when", anchors=gold, folder_mode=FolderMode.ON)
    base = replace(dataset(cases=(case,)), documents=documents)
    out = scored(base, {"a1": Retrieved(ids=("A",), seen=Seen(excluded=("A",)))}, "scope_miss_rate")
    into = scored(base, {"a1": Retrieved(ids=("A",), seen=Seen(excluded=()))}, "scope_miss_rate")
    mute = scored(base, {"a1": Retrieved(ids=("A",))}, "scope_miss_rate")
    assert (out.value("scope_miss_rate"), into.value("scope_miss_rate")) == (1.0, 0.0)
    assert mute.per_case("scope_miss_rate")["a1"].kind == "skipped"


def test_answers_bring_their_metrics_and_those_of_a_judge_are_not_zero() -> None:
    cases = (CASES[0], Case(id="q9", query="who won", answerable=False))
    given = {
        "q1": Retrieved(ids=("pool",), answer=GivenAnswer(text="At seven.")),
        "q9": Retrieved(ids=(), answer=GivenAnswer(text="I do not know.", abstained=True)),
    }
    result = scored(dataset(cases=cases), given, "mrr")
    assert result.value("abstention_accuracy") == 1.0
    assert result.value("hallucination_rate") == 0.0
    judged = result.per_case("correctness")["q1"]
    assert (judged.kind, judged.reason) == ("not_applicable", NO_JUDGE_ASKED)
    assert "correctness" not in {str(one) for one in scored(dataset(), LISTS, "mrr").scores}


def test_a_system_that_declines_everything_shows_a_bad_number_without_being_asked() -> None:
    declined = Retrieved(ids=("pool",), answer=GivenAnswer(text="I do not know.", abstained=True))
    cases = (*CASES, Case(id="q9", query="who won", answerable=False))
    result = scored(dataset(cases=cases), {case.id: declined for case in cases}, "mrr")
    assert (result.value("abstention_accuracy"), result.value("answer_rate")) == (1.0, 0.0)
    assert result.aggregates[MetricSpec.parse("answer_rate")].scored == len(CASES)


def test_citations_are_matched_with_anchors() -> None:
    gold = GoldAnchors(
        supports=(GoldSupport(rel_path="a.md"), GoldSupport(rel_path="b.md")),
        recency_conflict_rule=ConflictRule.CITE_BOTH,
    )
    case = Case(id="a1", query="when", anchors=gold)
    answer = GivenAnswer(text="Both.", references=(RetrievedChunk(rel_path="a.md"), RetrievedChunk(rel_path="b.md")))
    result = scored(
        dataset(cases=(case,)),
        {"a1": Retrieved(ids=("x",), answer=answer)},
        "cite_both,attribution_hit_rate,cite_newer",
    )
    assert (result.value("cite_both"), result.value("attribution_hit_rate")) == (1.0, 1.0)
    assert result.per_case("cite_newer")["a1"].kind == "not_applicable"


def test_a_row_for_the_store_has_the_fixed_columns_it_knows() -> None:
    row = as_row(scored(dataset(), LISTS, "ndcg@10,recall@5,precision@5"))
    assert row.ndcg_at_10 == row.metrics_json["metrics"]["ndcg@10"]["value"]
    assert (row.recall_at_5, row.mrr_at_10) == (0.75, None)
    assert row.per_query_results["recall@5"] == {"q1": 1.0, "q2": 1.0, "q3": 0.0, "q4": 1.0}
    assert row.query_count == 4


def test_a_run_over_an_agent_memory_fills_the_columns_of_its_metrics() -> None:
    lists = {
        "c1": retrieved("crit", "norm"),
        "c2": retrieved("norm", unboosted=("imp", "norm")),
        "c3": retrieved("imp", "crit"),
        "c4": retrieved(),
    }
    row = as_row(measured(lists, ",".join(COLUMNS.values())))
    values = {column: getattr(row, column) for column in COLUMNS}
    assert values == {column: row.metrics_json["metrics"][name]["value"] for column, name in COLUMNS.items()}
    assert None not in values.values()


def test_what_a_set_can_see_shrinks_with_its_size_and_grows_with_its_spread() -> None:
    mrr = MetricSpec.parse("mrr")
    few = scored(dataset(), LISTS, "mrr")
    cases = tuple(replace(case, id=f"{case.id}-{n}") for n in range(20) for case in CASES)
    many = run(dataset(cases=cases), Given(lambda case: LISTS[case.id[:2]]), RunOptions(metrics=(mrr,)))
    small, large = detectable([many], mrr), detectable([few], mrr)
    assert small is not None
    assert large is not None
    assert small < large
    assert detectable([few, few], mrr) is None
    assert sentence([many], mrr) == f"This set can see differences of {small:.3f} or more in mrr (80 % power)."
    unknown = "What differences in mrr this set can see cannot be estimated: the runs differ in no case."
    assert sentence([few, few], mrr) == unknown


def test_a_result_shows_itself_in_a_few_lines() -> None:
    shown = repr(scored(dataset(), LISTS, "mrr", name="mine")).splitlines()
    assert shown[0] == "mine on house: 3 ok, 1 empty"
    assert shown[1].split()[:2] == ["mrr", "0.625"]


def test_a_result_becomes_a_table_where_pandas_is_installed() -> None:
    result = scored(dataset(), LISTS, "mrr")
    if importlib.util.find_spec("pandas") is None:
        with pytest.raises(MissingExtra, match="pip install pandas"):
            result.to_frame()
    else:
        frame = result.to_frame()
        assert list(frame.columns) == ["case", "metric", "value", "outcome", "reason"]
        assert len(frame) == 4


def test_breakdowns_add_up_to_the_whole() -> None:
    """Every case stands in one part of each label, in as many parts of `tags` as it has tags."""
    whole = memory(
        tuple(replace(one, difficulty="easy" if one.answerable else "", vault="work") for one in MEMORY_CASES)
    )
    lists = {one.id: retrieved("imp", "crit", "norm") for one in MEMORY_CASES}
    result = measured(lists, "mrr,recall@5,importance_weighted_recall@10,tier_precision@5,cold_start_ratio@10", whole)
    assert set(result.breakdowns) >= {"category", "difficulty", "tags", "vault", "tier", "answerable"}
    weights = {one.id: max(len(one.tags), 1) for one in MEMORY_CASES}
    for label, parts in result.breakdowns.items():
        for spec, total in result.aggregates.items():
            added = [one[spec] for one in parts.values()]
            counted = weights if label == "tags" else dict.fromkeys(weights, 1)
            values = {case: one.value for case, one in result.scores[spec].items() if one.value is not None}
            assert sum(one.cases for one in added) == sum(counted.values()), (label, spec)
            assert sum(one.scored for one in added) == sum(counted[case] for case in values), (label, spec)
            total_value = sum(counted[case] * value for case, value in values.items())
            assert math.fsum((one.value or 0.0) * one.scored for one in added) == pytest.approx(total_value), (
                label,
                spec,
            )
            if label != "tags":
                assert total.scored == sum(one.scored for one in added)


def test_a_dataset_that_asks_for_answers_says_when_there_are_none() -> None:
    gold = GoldAnchors(supports=(GoldSupport(rel_path="a.md"),))
    case = Case(id="a1", query="where", anchors=gold)
    result = scored(dataset(cases=(case,)), {"a1": ["pool"]}, "recall_any@5")
    told = [note for note in result.notes if note.startswith("The system gives no answers")]
    assert len(told) == 1
    assert "attribution_hit_rate" in told[0]
    assert "groundedness" in told[0]
