"""A run before judges: what they are shown, what the run's numbers become, and whether gates may listen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.judging.made import judge_of, reading_answers

from assay.clock import Clock
from assay.errors import NothingMeasured
from assay.evaluation.gating import GateOptions, Status, judge
from assay.evaluation.judged_scores import find_untrusted
from assay.evaluation.readings import reading_of
from assay.evaluation.results import RunResult, load_run
from assay.evaluation.run_judging import Bench, JudgedRun, judge_run
from assay.evaluation.running.runner import Running, run
from assay.judging.builtin.correctness import OverlapCorrectness
from assay.judging.labels import question_key
from assay.judging.protocol import Judging, judging_abstention, judging_correctness
from assay.records import Scope
from assay.records.answers import GivenAnswer
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.evaluations import OutcomeKind, Retrieved
from assay.records.judging import AbstentionVerdict, Calibration, Certificate, RubricKind
from assay.records.run_results import CaveatKind
from assay.storage import Store, open_store
from assay.systems.protocol import System
from assay.testing import FixedClock, ScriptedModel

ANSWERS = {
    "good": GivenAnswer(text="Well said 5."),
    "poor": GivenAnswer(text="Well said 1."),
    "silent": GivenAnswer(text="I cannot say.", abstained=True),
    "unsure": GivenAnswer(text="Nobody knows."),
    "empty": GivenAnswer(text="  ", abstained=False),
}


def dataset() -> Dataset:
    return Dataset(
        name="answers",
        documents=(Document(id="d1", text="What the document says."),),
        cases=tuple(
            Case(
                id=one,
                query=f"question {one}",
                grades=(Grade(document_id="d1", grade=2),),
                answerable=one not in ("silent", "unsure"),
            )
            for one in ANSWERS
        ),
    )


class Answering(System):
    name = "answering"

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        return Retrieved(ids=("d1",), answer=ANSWERS[case.id])


def told(answer: str) -> int:
    return int(answer.split("said ")[1][0]) if "said " in answer else 0


class Declining:
    """Says that an answer declines when it says that nobody knows."""

    name = "declining"
    kind = "builtin"

    def judge(self, question: str, answer: str) -> AbstentionVerdict:
        return AbstentionVerdict(abstained="Nobody knows" in answer)


def bench(store: Store, scope: Scope, clock: Clock) -> Bench:
    return Bench(store=store, scope=scope, clock=clock)


def abstention() -> Judging:
    return judging_abstention(Declining(), version="1")  # type: ignore[arg-type] # a stand-in


@pytest.fixture
def store(tmp_path: Path, clock: FixedClock) -> Iterator[Store]:
    """What is kept is tested on both back ends elsewhere; here one will do."""
    with open_store(str(tmp_path / "store.db"), clock=clock) as opened:
        yield opened


@pytest.fixture
def result(tmp_path: Path) -> RunResult:
    return run(dataset(), Answering(), running=Running(runs=tmp_path / "runs"))


def judged(result: RunResult, store: Store, scope: Scope, clock: Clock) -> JudgedRun:
    judges = [judge_of(reading_answers(told)), abstention()]
    return judge_run(result, dataset(), judges, bench(store, scope, clock))


def test_numbers_come_from_verdicts_and_what_has_none_says_why(
    result: RunResult, store: Store, scope: Scope, clock: FixedClock
) -> None:
    assert result.value("groundedness") is None
    found = judged(result, store, scope, clock).result
    kinds = {case: one.kind for case, one in found.per_case("groundedness").items()}
    assert found.value("groundedness") == 3.0
    assert kinds == {
        "good": OutcomeKind.SCORED,
        "poor": OutcomeKind.SCORED,
        "silent": OutcomeKind.ABSTAINED,
        "unsure": OutcomeKind.ABSTAINED,
        "empty": OutcomeKind.SYSTEM_FAILED,
    }
    assert found.value("abstention_accuracy") == 1.0
    assert found.result_hash != result.result_hash
    assert load_run(found.folder or Path()).value("groundedness") == 3.0


def test_a_system_that_says_it_abstained_is_believed_and_the_rest_is_asked_about(
    result: RunResult, store: Store, scope: Scope, clock: FixedClock
) -> None:
    judged(result, store, scope, clock)
    with store.reading(scope) as work:
        kept = work.judging.verdicts(result.run_id)
    asked = {kind: {one.case_id for one in kept if one.kind is kind} for kind in RubricKind}
    assert asked[RubricKind.ABSTENTION] == {"good", "poor", "unsure"}
    assert asked[RubricKind.GROUNDEDNESS] == {"good", "poor"}


def test_the_context_is_what_the_system_retrieved(
    result: RunResult, store: Store, scope: Scope, clock: FixedClock
) -> None:
    judged(result, store, scope, clock)
    with store.reading(scope) as work:
        kept = next(one for one in work.judging.verdicts(result.run_id) if one.kind is RubricKind.GROUNDEDNESS)
        assert work.judging.input(kept.input_hash).passages == ("What the document says.",)


def test_a_void_judge_scores_nothing(result: RunResult, store: Store, scope: Scope, clock: FixedClock) -> None:
    praising = judge_of(reading_answers(lambda _: 5))
    found = judge_run(result, dataset(), [praising], bench(store, scope, clock))
    assert found.result.value("groundedness") is None
    assert found.result.per_case("groundedness")["good"].kind is OutcomeKind.JUDGE_FAILED
    assert "void" in found.result.per_case("groundedness")["good"].reason
    assert any("void" in note for note in found.result.notes)


def test_unreadable_verdicts_are_failures_of_the_judge(
    result: RunResult, store: Store, scope: Scope, clock: FixedClock
) -> None:
    found = judge_run(result, dataset(), [judge_of(ScriptedModel("well"))], bench(store, scope, clock))
    outcome = found.result.per_case("groundedness")["good"]
    assert (outcome.kind, outcome.reason) == (OutcomeKind.JUDGE_FAILED, "unreadable: it holds no JSON object")


def test_a_run_without_answers_is_nothing_to_judge(store: Store, scope: Scope, clock: FixedClock) -> None:
    class Retrieving(Answering):
        def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
            return Retrieved(ids=("d1",))

    only = run(dataset(), Retrieving())
    with pytest.raises(NothingMeasured, match="no answer to judge"):
        judged(only, store, scope, clock)


def calibrated(found: JudgedRun, store: Store, scope: Scope, clock: FixedClock, **more: Any) -> None:
    for one in found.standings:
        filled: dict[str, Any] = {
            "made_at": clock.now(),
            "expires_at": clock.now() + timedelta(days=30),
            "passed": True,
            "figures": {"shortcomings": []},
            **more,
        }
        with store.writing(scope) as work:
            work.judging.put_calibration(
                Calibration(
                    fingerprint_id=one.fingerprint_id,
                    kind=one.about,
                    labels_hash="h",
                    cases=40,
                    fingerprint={},
                    **filled,
                )
            )


def gate(found: JudgedRun, floor: float) -> dict[str, Status]:
    options = GateOptions(floors={"groundedness": floor}, unjudgeable=1.0)
    verdict = judge(reading_of(found.result), None, options)
    return {one.title: one.status for one in verdict.rules if "groundedness" in one.about}


def test_an_uncalibrated_judge_decides_no_gate(
    result: RunResult, store: Store, scope: Scope, clock: FixedClock
) -> None:
    found = judged(result, store, scope, clock)
    assert find_untrusted(found.result.manifest.subject)["groundedness"] == "its judge was never calibrated"
    assert gate(found, 4.0) == {"judge groundedness": Status.INCONCLUSIVE}
    options = GateOptions(unjudgeable=1.0)
    told_of = {one.title: one.status for one in judge(reading_of(found.result), None, options).rules}
    assert told_of["judge groundedness"] is Status.NOT_APPLICABLE


def test_a_calibrated_judge_decides(result: RunResult, store: Store, scope: Scope, clock: FixedClock) -> None:
    calibrated(judged(result, store, scope, clock), store, scope, clock)
    found = judged(result, store, scope, clock)
    assert all(one.gates for one in found.standings)
    assert gate(found, 2.0) == {"floor groundedness": Status.PASS}
    assert gate(found, 4.0) == {"floor groundedness": Status.FAIL}


def test_a_judge_of_correctness_decides_no_gate_without_a_certificate(
    result: RunResult, store: Store, scope: Scope, clock: FixedClock
) -> None:
    by_rules = judging_correctness(OverlapCorrectness(), version="1")
    asked = replace(dataset(), cases=tuple(replace(case, reference_answer="it says five") for case in dataset().cases))
    options = GateOptions(floors={"correctness": 5.0}, unjudgeable=1.0)

    def rules() -> dict[str, tuple[Status, str]]:
        found = judge_run(result, asked, [by_rules], bench(store, scope, clock))
        seen = judge(reading_of(found.result), None, options).rules
        return {rule.title: (rule.status, rule.sentence) for rule in seen if "correctness" in rule.about}

    calibrated(judge_run(result, asked, [by_rules], bench(store, scope, clock)), store, scope, clock)
    [(status, sentence)] = rules().values()
    assert status is Status.INCONCLUSIVE
    assert "correctness has a floor and cannot decide it: its judge has no certificate" in sentence
    assert "run assay judge certify" in sentence
    certificate = Certificate(
        fingerprint_id=by_rules.fingerprint().id,
        about=RubricKind.CORRECTNESS,
        made_at=clock.now(),
        expires_at=clock.now() + timedelta(days=30),
        cases_hash="h",
        cases=360,
        passed=True,
        figures={"false_accepts": {"value": 0.0}, "false_rejects": {"value": 0.0}, "served": []},
        fingerprint={},
    )
    with store.writing(scope) as work:
        work.judging.put_certificate(certificate)
    assert {status for status, _ in rules().values()} == {Status.FAIL}


def test_a_calibration_ends(result: RunResult, store: Store, scope: Scope, clock: FixedClock) -> None:
    calibrated(judged(result, store, scope, clock), store, scope, clock)
    clock.advance(days=31)
    found = judged(result, store, scope, clock)
    assert "the calibration of its judge ended on 2026-02-04" in {one.why for one in found.standings}
    assert gate(found, 2.0) == {"judge groundedness": Status.INCONCLUSIVE}


def test_below_the_floor_is_diagnostic(result: RunResult, store: Store, scope: Scope, clock: FixedClock) -> None:
    first = judged(result, store, scope, clock)
    calibrated(first, store, scope, clock, passed=False, figures={"shortcomings": ["kappa 0.20 is under 0.60"]})
    found = judged(result, store, scope, clock)
    assert {one.why for one in found.standings} == {"its judge did not pass its calibration: kappa 0.20 is under 0.60"}


def test_a_change_of_an_untrusted_metric_is_passed_over(
    result: RunResult, store: Store, scope: Scope, clock: FixedClock
) -> None:
    before = reading_of(judged(result, store, scope, clock).result)
    worse = judge_run(
        result, dataset(), [judge_of(reading_answers(lambda _: 0)), abstention()], bench(store, scope, clock)
    )
    now = replace(reading_of(worse.result), instrument=before.instrument)
    rules = {one.title for one in judge(now, before, GateOptions(unjudgeable=1.0)).rules}
    assert "relative groundedness" not in rules
    assert "relative ndcg@5" in rules


def test_what_must_be_known_of_the_judge_stands_with_the_run(
    result: RunResult, store: Store, scope: Scope, clock: FixedClock
) -> None:
    first = judged(result, store, scope, clock)
    calibrated(first, store, scope, clock, passed=False, figures={"shortcomings": ["kappa is low"], "served": ["a:1"]})
    question = question_key(dataset().cases[0].query)
    calibrated(first, store, scope, clock, figures={"served": ["a:1"], "evidence": [["c", question, 1.0, 1.0]]})
    again = judged(result, store, scope, clock)
    (standing,) = [one for one in again.standings if one.about is RubricKind.GROUNDEDNESS]
    assert (standing.attempts, standing.failed_attempts, standing.among_labels) == (2, 1, 1)
    assert standing.why == "reader replied, and a:1 was calibrated"
    sentences = [caveat.sentence for caveat in again.result.caveats if caveat.kind is CaveatKind.JUDGE]
    assert "The judge of groundedness was calibrated 2 times, 1 of them without success." in sentences
    assert any("ask questions of the labels" in sentence for sentence in sentences)
    assert "groundedness: diagnostic only, reader replied, and a:1 was calibrated." in sentences


def test_a_wavering_judge_that_was_licensed_before_is_not_listened_to(
    result: RunResult, store: Store, scope: Scope, clock: FixedClock
) -> None:
    wavering = {"shortcomings": [], "self_consistency": {"same": {"value": 0.1, "n": 20}}}
    calibrated(judged(result, store, scope, clock), store, scope, clock, figures=wavering)
    found = judged(result, store, scope, clock)
    assert not any(one.gates for one in found.standings)
    assert (
        found.standings[0].why == "its judge gave the same verdict each time on 10% of the cases that were asked again"
    )
    assert gate(found, 2.0) == {"judge groundedness": Status.INCONCLUSIVE}


def test_what_judging_took_is_kept_with_the_run_and_is_no_change_of_the_system(
    result: RunResult, store: Store, scope: Scope, clock: FixedClock
) -> None:
    found = judged(result, store, scope, clock)
    spent = found.result.manifest.subject["judge"]["groundedness"]["spent"]
    assert spent["requests"] == spent["fresh"] > 0
    assert spent["prompt_tokens"] > 0
    assert "spent" not in reading_of(found.result).subject["judge"]["groundedness"]
    assert reading_of(found.result).subject["judge"]["groundedness"]["gates"] is False
