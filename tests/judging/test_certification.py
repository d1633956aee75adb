"""Certificates of judges: what they are shown, when they pass, how a certificate is kept, and what it licenses."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assay.errors import BadValue, MalformedFile, NothingMeasured
from assay.judging.builtin.correctness import BuiltinCorrectness, OverlapCorrectness
from assay.judging.certification import CertificationOptions, Certified, certify
from assay.judging.certification_cases import CertificationCase, CertificationGroup, bundled_cases, with_files
from assay.judging.licence import LicenceQuestion, explain_no_licence
from assay.judging.protocol import AnyJudge, judging_correctness
from assay.records import Scope
from assay.records.judging import (
    Calibration,
    Certificate,
    CorrectnessVerdict,
    JudgeInput,
    RubricKind,
    VerdictOutcome,
    no_verdict,
)
from assay.storage import Store
from assay.testing import FixedClock

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
WRONG = [group for group in CertificationGroup if not group.right]


def judge_by(score: Callable[[JudgeInput], float | None], about: RubricKind = RubricKind.CORRECTNESS) -> AnyJudge:
    def verdict(given: JudgeInput) -> Any:
        found = score(given)
        return (
            no_verdict(about, VerdictOutcome.UNAVAILABLE, "away") if found is None else CorrectnessVerdict(score=found)
        )

    return AnyJudge(verdict, name="scripted", kind="own", about=about, version="1")


def certified(judge: AnyJudge, **options: Any) -> Certified:
    return certify(judge, bundled_cases(), clock=FixedClock(NOW), options=CertificationOptions(**options))


def test_the_bundled_cases_have_sixty_answers_of_each_group() -> None:
    cases = bundled_cases()
    assert Counter(case.group for case in cases) == dict.fromkeys(CertificationGroup, 60)
    assert len({(case.question, case.answer) for case in cases}) == len(cases)
    attacks = Counter(case.attack for case in cases if case.attack)
    assert len(attacks) == 5
    assert set(attacks.values()) == {12}


def test_the_built_in_judge_passes_and_word_overlap_does_not() -> None:
    ours = certified(judging_correctness(BuiltinCorrectness(), version="1"))
    assert ours.certificate.passed, ours.certificate.figures["shortcomings"]
    assert ours.certificate.expires_at == NOW + timedelta(days=30)
    floor = certified(judging_correctness(OverlapCorrectness(), version="1")).certificate
    assert not floor.passed
    assert floor.figures["false_accepts"]["value"] > ours.certificate.figures["false_accepts"]["value"]
    assert any("specific answers" in reason for reason in floor.figures["shortcomings"])


@pytest.mark.parametrize(("score", "wrong"), [(5.0, "accepted"), (0.0, "rejected")])
def test_a_judge_that_always_says_the_same_is_not_certified(score: float, wrong: str) -> None:
    found = certified(judge_by(lambda _: score))
    figures = found.certificate.figures
    assert figures["false_accepts"]["value"] == float(score == 5)
    assert figures["false_rejects"]["value"] == float(score == 0)
    assert figures["stability"]["same"]["value"] == 1.0
    assert len([reason for reason in figures["shortcomings"] if wrong in reason]) == (4 if score else 2)
    assert len(found.mistakes()) == (240 if score else 120)


def test_padding_that_moves_a_verdict_is_length_bias() -> None:
    found = certified(judge_by(lambda given: 5.0 if len(given.answer) > 150 else 0.0))
    bias = found.certificate.figures["length_bias"]
    assert bias["to_accepted"]["value"] > 0.5
    assert bias["to_rejected"]["value"] == 0


def test_a_judge_that_reads_only_the_beginning_has_position_bias() -> None:
    found = certified(judge_by(lambda given: 5.0 if given.answer.startswith("To put it") else 0.0))
    assert found.certificate.figures["position_bias"]["value"] == 1.0


def test_a_judge_that_changes_its_mind_is_not_certified() -> None:
    asked: Counter[str] = Counter()

    def waver(given: JudgeInput) -> float:
        asked[given.answer] += 1
        return 5.0 if asked[given.answer] % 2 else 0.0

    figures = certified(judge_by(waver)).certificate.figures
    assert figures["stability"]["same"]["value"] < 0.8
    assert any("80% are needed" in reason for reason in figures["shortcomings"])


def test_missing_verdicts_are_no_rejections() -> None:
    """A judge that is away gets no certificate for rejecting every wrong answer."""
    with pytest.raises(NothingMeasured, match="gave no verdict on 360 answers: away"):
        certified(judge_by(lambda _: None))
    half = certified(judge_by(lambda given: None if given.answer.startswith("I") else 0.0)).certificate
    group = half.figures["groups"]["abstaining"]
    assert group["without_verdict"] > 0
    assert group["accepted"]["n"] == 60 - group["without_verdict"]
    assert any("got no verdict" in reason for reason in half.figures["shortcomings"])


def test_only_judges_of_correctness_are_certified() -> None:
    with pytest.raises(BadValue, match="scripted judges groundedness"):
        certified(judge_by(lambda _: 5.0, RubricKind.GROUNDEDNESS))


# --- Files of one's own ---


def answers(path: Path, count: int = 20, **more: Any) -> Path:
    lines = [
        {
            "question_id": f"q{n}",
            "question": f"Who is {n}?",
            "golden_answer": n,
            "generated_answer": f"It is {n}.",
            **more,
        }
        for n in range(1, count + 1)
    ]
    path.write_text(json.dumps({"chat": lines}), encoding="utf-8")
    return path


def test_a_file_takes_the_place_of_its_group(tmp_path: Path) -> None:
    cases = with_files([f"vague={answers(tmp_path / 'vague.json')}"])
    own = [case for case in cases if case.group is CertificationGroup.VAGUE]
    assert own[0] == CertificationCase("q1", CertificationGroup.VAGUE, "Who is 1?", "1", "It is 1.")
    assert Counter(case.group for case in cases)[CertificationGroup.RIGHT] == 60


def test_right_answers_count_only_where_every_judgment_accepts(tmp_path: Path) -> None:
    sure = answers(tmp_path / "one.json", llm_judgments={"a": True, "b": True})
    doubted = answers(tmp_path / "two.json", count=5, llm_judgments={"a": True, "b": False})
    cases = with_files([f"right={sure}", f"right={doubted}"])
    own = [case.case for case in cases if case.group is CertificationGroup.RIGHT]
    assert own == [f"q{number}" for number in range(6, 21)]
    wrong = with_files([f"specific={doubted}"])
    assert Counter(case.group for case in wrong)[CertificationGroup.SPECIFIC] == 5


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "[1]", '[{"question": "q"}]', '[{"question": 1, "golden_answer": 1}]']
)
def test_files_that_hold_no_answers_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MalformedFile, match=r"bad\.json"):
        with_files([f"vague={path}"])


@pytest.mark.parametrize("option", ["vague", "vague=", "odd=x.json"])
def test_options_that_name_no_group_are_refused(option: str) -> None:
    with pytest.raises(BadValue):
        with_files([option])


def test_a_file_without_an_accepted_answer_is_refused(tmp_path: Path) -> None:
    doubted = answers(tmp_path / "two.json", llm_judgments={"a": False})
    with pytest.raises(BadValue, match="no answer for the group right"):
        with_files([f"right={doubted}"])


# --- The store, and the licence ---


def made(**more: Any) -> Certificate:
    fields: dict[str, Any] = {
        "fingerprint_id": "j_1",
        "about": RubricKind.CORRECTNESS,
        "made_at": NOW,
        "expires_at": NOW + timedelta(days=30),
        "cases_hash": "sha256:1",
        "cases": 360,
        "passed": True,
        "figures": {"served": [], "false_accepts": {"value": 0.0}, "false_rejects": {"value": 0.1}},
        "fingerprint": {"judge": "scripted", "prompt_hash": "sha256:2", "model": ""},
    }
    return Certificate(**{**fields, **more})


def calibrated(**more: Any) -> Calibration:
    fields: dict[str, Any] = {
        "fingerprint_id": "j_1",
        "kind": RubricKind.CORRECTNESS,
        "made_at": NOW,
        "expires_at": NOW + timedelta(days=30),
        "labels_hash": "sha256:3",
        "cases": 40,
        "passed": True,
        "figures": {},
        "fingerprint": {},
    }
    return Calibration(**{**fields, **more})


def test_a_certificate_is_kept_beside_calibrations_and_mixed_with_none(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.judging.put_certificate(made(passed=False))
        work.judging.put_certificate(made())
        work.judging.put_certificate(made(fingerprint_id="j_2"))
        work.judging.put_calibration(calibrated())
    with store.reading(scope) as work:
        assert work.judging.certificates(fingerprint_id="j_1") == [made(), made(passed=False)]
        assert work.judging.certificates(limit=1) == [made(fingerprint_id="j_2")]
        assert work.judging.calibrations() == [calibrated()]
        assert work.judging.calibrations_about(RubricKind.CORRECTNESS) == [calibrated()]
        assert work.judging.calibration("j_1") == calibrated()
        assert work.judging.calibration("j_2") is None


ASKED = LicenceQuestion(about=RubricKind.CORRECTNESS, calibration=calibrated(), certificate=made(), at=NOW)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, ""),
        ({"certificate": None}, "its judge has no certificate: run assay judge certify"),
        ({"calibration": None}, "its judge was never calibrated"),
        (
            {"certificate": made(passed=False, figures={"shortcomings": ["it accepted 30% of the vague answers"]})},
            "its judge did not pass its certification on 2026-05-04: it accepted 30% of the vague answers",
        ),
        (
            {"certificate": made(expires_at=NOW)},
            "the certificate of its judge ended on 2026-05-04: run assay judge certify",
        ),
        ({"served": ("other:1",)}, "other:1 replied, and no model was certified"),
        (
            {"calibration": None, "certificate": None},
            "its judge was never calibrated; its judge has no certificate: run assay judge certify",
        ),
        ({"void": "it obeyed an order", "certificate": None}, "it obeyed an order"),
        ({"about": RubricKind.GROUNDEDNESS, "certificate": None}, ""),
    ],
)
def test_a_judge_of_correctness_needs_a_valid_certificate_to_gate(change: dict[str, Any], why: str) -> None:
    assert explain_no_licence(replace(ASKED, **change)) == why
