"""Runs of systems that answer: declining is never good, and every number of answers and judging moves."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from tests.evaluation.answering import ANSWERABLE, DECLINED, answer_well, decline_all, questions, run_answers, seats
from tests.judging.made import judge_of, verdict

from assay.cli.run_table import table
from assay.evaluation.ci import junit
from assay.evaluation.gating import GateOptions, Status, Verdict, judge
from assay.evaluation.readings import reading_of
from assay.evaluation.reporting import Around, LineStatus, gather, markdown
from assay.evaluation.reporting.page import html_page
from assay.evaluation.results import RunResult
from assay.evaluation.run_judging import Bench, judge_run
from assay.evaluation.running.runner import as_row
from assay.judging.builtin.judges import BuiltinAbstention
from assay.judging.protocol import Judging, judging_abstention
from assay.metrics.spec import MetricSpec
from assay.models.budget import Prices
from assay.models.chat import ChatReply, ChatRequest
from assay.records import Scope
from assay.records.answers import GivenAnswer
from assay.records.datasets import Case
from assay.storage import open_store
from assay.testing import FixedClock, ScriptedModel

WELL, SILENT = run_answers(answer_well, "well"), run_answers(decline_all, "silent")


def answer_some(number: int, case: Case) -> GivenAnswer:
    """Answers five of twenty."""
    return seats(number) if case.answerable and number < 5 else DECLINED


def values(result: RunResult) -> dict[str, float | None]:
    return {str(spec): one.value for spec, one in result.aggregates.items()}


def test_declining_everything_looks_bad_in_the_default_table() -> None:
    shown = {line.split()[0]: line for line in table([SILENT], {}).splitlines()}
    assert "1.000" in shown["over_abstention_rate"]
    assert "20 of 20" in shown["over_abstention_rate"]
    assert "0 of 20" in shown["reference_match(over=answerable)"]
    assert "4 of 4" in shown["abstention_accuracy"]
    well = {line.split()[0]: line for line in table([WELL], {}).splitlines()}
    assert "0 of 20" in well["over_abstention_rate"]


def test_a_run_that_only_retrieves_has_no_counts_in_its_table() -> None:
    without = replace(WELL, cases=tuple(replace(case, retrieved=None) for case in WELL.cases))
    assert "counted" not in table([without], {}).splitlines()[0]
    assert "counted" in table([WELL], {}).splitlines()[0]


def test_correctness_is_counted_over_answers_given_and_over_all_that_could_be_given() -> None:
    some = values(run_answers(answer_some))
    assert some["reference_match"] == 1.0
    assert some["reference_match(over=answerable)"] == 0.25
    assert some["answer_rate"] == 0.25
    assert some["over_abstention_rate"] == 0.75

    def answer_wrongly(number: int, case: Case) -> GivenAnswer:
        return seats(number + 1)

    wrong = values(run_answers(answer_wrongly))
    assert wrong["reference_match"] == 0.0
    assert wrong["reference_match(over=given)"] == 0.0


def test_risk_over_coverage_rises_when_sure_answers_are_wrong() -> None:
    def answer_half(number: int, case: Case, *, sure_when_right: bool) -> GivenAnswer:
        right = number % 2 == 0
        return seats(number if right else number + 1, confidence=0.9 if right is sure_when_right else 0.2)

    honest = run_answers(lambda number, case: answer_half(number, case, sure_when_right=True))
    boastful = run_answers(lambda number, case: answer_half(number, case, sure_when_right=False))
    area = MetricSpec.parse("risk_coverage_area(right=reference)")
    low, high = honest.run_metrics[area].value, boastful.run_metrics[area].value
    assert low is not None
    assert high is not None
    assert low < 0.4
    assert high > 0.6
    assert honest.summary().run_metrics[str(area)] == low
    assert as_row(honest).metrics_json["run_metrics"][str(area)]["value"] == low


def test_citation_coverage_falls_with_a_sentence_without_a_mark() -> None:
    def answer_bare(number: int, case: Case) -> GivenAnswer:
        given = seats(number)
        return replace(given, text=f"{given.text} The room is large.")

    assert values(WELL)["citation_coverage"] == 1.0
    assert values(run_answers(answer_bare))["citation_coverage"] == 0.5


def test_generation_time_is_told_without_asking() -> None:
    assert WELL.value("p50(stage=generation)") == 7.0
    assert "p50(stage=generation)" in {str(spec) for spec in WELL.run_metrics}
    assert "7.0 ms" in next(line for line in table([WELL], {}).splitlines() if line.startswith("p50(stage="))


# --- The gate ---


def rulings(verdict: Verdict) -> dict[tuple[str, str], Status]:
    return {(one.rule, one.about): one.status for one in verdict.rules}


def test_a_system_that_declines_everything_fails_the_gate_without_any_floor_for_it() -> None:
    verdict = judge(reading_of(SILENT), None)
    assert verdict.status is Status.FAIL
    (failed,) = verdict.of(Status.FAIL)
    assert failed.sentence.startswith("20 of 20 answerable questions were declined: the system answers nothing")
    assert "over_abstention_rate under [floors]" in failed.sentence
    assert verdict.as_json()["status"] == "fail"
    suite = ET.fromstring(junit(verdict))
    assert [one.get("message") for one in suite.iter("failure")] == [failed.sentence]


def test_a_system_that_declines_everything_fails_also_against_itself() -> None:
    assert judge(reading_of(SILENT), reading_of(SILENT)).status is Status.FAIL


def test_a_system_that_answers_passes() -> None:
    verdict = judge(reading_of(WELL), None)
    assert verdict.status is Status.PASS
    assert rulings(verdict)["answers", "over_abstention_rate"] is Status.PASS


def test_declining_more_than_half_fails_without_a_baseline_and_a_floor_replaces_the_rule() -> None:
    some = reading_of(run_answers(answer_some))
    verdict = judge(some, None)
    assert "15 of 20 answerable questions were declined: over_abstention_rate 0.75" in repr(verdict)
    assert verdict.status is Status.FAIL
    allowed = judge(some, None, GateOptions(floors={"over_abstention_rate": 0.8}))
    assert allowed.status is Status.PASS
    assert ("answers", "over_abstention_rate") not in rulings(allowed)


def test_answers_lost_since_the_baseline_fail_the_gate_though_every_document_is_found() -> None:
    def answer_most(number: int, case: Case) -> GivenAnswer:
        return seats(number) if case.answerable and number < 12 else DECLINED

    verdict = judge(reading_of(run_answers(answer_most)), reading_of(WELL))
    found = rulings(verdict)
    assert found["answers", "over_abstention_rate"] is Status.PASS
    assert found["lost cases", "recall@5"] is Status.PASS
    assert found["lost cases", "answer_rate"] is Status.FAIL
    assert "8 cases lost since the baseline (by answer_rate; 0 gained)" in repr(verdict)


def test_blank_answers_to_everything_fail_too() -> None:
    verdict = judge(reading_of(run_answers(lambda *_: GivenAnswer(text=" "))), None)
    assert "0 of 20 answerable questions were declined and 20 failed: the system answers nothing" in repr(verdict)


def test_a_system_that_only_retrieves_is_not_asked_for_answers() -> None:
    without = {metric: of for metric, of in reading_of(WELL).outcomes.items() if metric == "recall@5"}
    verdict = judge(replace(reading_of(WELL), outcomes=without), None)
    assert "answers" not in {one.rule for one in verdict.rules}


def judged_by_rules(result: RunResult, folder: Path) -> RunResult:
    clock = FixedClock()
    with open_store(folder / "store.db", clock=clock) as store:
        bench = Bench(store=store, scope=Scope(tenant="t", principal="p"), clock=clock)
        judges: list[Judging] = [
            judging_abstention(BuiltinAbstention(), version="1"),
            judge_of(ScriptedModel(verdict(3))),
        ]
        return judge_run(result, questions(), judges, bench).result


def test_a_judge_with_nothing_to_decide_does_not_take_abstentions_from_the_gate(tmp_path: Path) -> None:
    def answer_one(number: int, case: Case) -> GivenAnswer:
        return seats(number) if case.id == "q00" else DECLINED

    judged = judged_by_rules(run_answers(answer_one), tmp_path)
    assert judged.value("groundedness") == 3.0
    verdict = judge(reading_of(judged), None)
    assert rulings(verdict)["answers", "over_abstention_rate"] is Status.FAIL


# --- Judging: tokens, cost and time ---


class SlowModel(ScriptedModel):
    """Takes two seconds of a clock for each reply, and counts its tokens."""

    def __init__(self, clock: FixedClock, tokens: int) -> None:
        super().__init__(lambda _: verdict(3), name="slow")
        self._clock, self._tokens = clock, tokens

    def complete(self, request: ChatRequest) -> ChatReply:
        self._clock.advance(seconds=2)
        reply = super().complete(request)
        return replace(reply, prompt_tokens=self._tokens, completion_tokens=1)


def judged_run(folder: Path, *, tokens: int = 100, price: float = 1.0) -> RunResult:
    clock = FixedClock()
    folder.mkdir(exist_ok=True)
    with open_store(folder / "store.db", clock=clock) as store:
        bench = Bench(
            store=store,
            scope=Scope(tenant="t", principal="p"),
            clock=clock,
            prices=Prices.per_million(price, 2 * price),
        )
        return judge_run(WELL, questions(), [judge_of(SlowModel(clock, tokens))], bench).result


def test_tokens_cost_and_time_of_judging_follow_what_the_judge_took(tmp_path: Path) -> None:
    cheap, dear = judged_run(tmp_path / "a"), judged_run(tmp_path / "b", tokens=200, price=3.0)
    tokens, cost = cheap.value("judge_tokens"), cheap.value("judge_cost")
    assert tokens is not None
    assert cost is not None
    requests = tokens / 101  # canaries included
    assert requests >= ANSWERABLE
    assert cost == pytest.approx(requests * (100 * 1.0 + 1 * 2.0) / 1e6)
    assert cheap.value("judge_time") == 2 * requests
    assert dear.value("judge_tokens") == requests * 201
    assert dear.value("judge_cost") == pytest.approx(requests * (200 * 3.0 + 1 * 6.0) / 1e6)
    shown = table([cheap], {})
    assert f"{tokens:,.0f} tokens" in shown
    assert f"{cost:.4f} USD" in shown


def test_a_report_of_a_judged_run_names_judge_prompt_reliability_and_what_judging_took(tmp_path: Path) -> None:
    judged = judged_run(tmp_path / "a")
    report = gather(judged, Around(dataset=questions()))
    for text in (markdown(report).replace("\\", ""), html_page(report)):
        assert "judge of groundedness" in text
        assert re.search(r"groundedness \S+, sha256:\w+, model slow, temperature 0", text)
        assert "never calibrated; no second judge was asked" in text
        assert "judge_tokens" in text
        assert "judge_cost" in text
        assert "judge_time" in text


# --- The report ---


def test_a_wrongly_declined_question_is_a_failure_in_the_report() -> None:
    report = gather(SILENT, Around(dataset=questions()))
    assert report.status is LineStatus.FAIL
    assert {query.status for query in report.failures} == {"declined"}
    assert len(report.failures) == ANSWERABLE
    page = html_page(report)
    assert page.count('is-fail">declined') == ANSWERABLE
    text = markdown(report).replace("\\", "")
    assert "## Failures (20)" in text
    assert "the question has an answer, and the system declined it" in text
    assert "| over_abstention_rate | 1.000 | [0.832, 1.000] | 20 of 20 |" in text


def test_a_question_without_an_answer_that_was_answered_is_a_failure_too() -> None:
    report = gather(run_answers(lambda number, _: seats(number)), Around(dataset=questions()))
    assert {query.id: query.status for query in report.failures} == {f"u{n}": "answered" for n in range(4)}


def test_a_report_of_good_answers_has_no_failures() -> None:
    assert gather(WELL, Around(dataset=questions())).failures == ()
