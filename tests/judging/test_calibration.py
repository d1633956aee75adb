"""How far a judge agrees with people, and until when that counts."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from tests.judging.made import judge_of, reading_answers, verdict

from assay.errors import EndpointUnavailable, MalformedFile, NothingMeasured
from assay.judging.calibration import FILLER, CalibrationOptions, calibrate
from assay.judging.labels import Labels, read_labels
from assay.judging.protocol import judging_abstention, judging_correctness, judging_groundedness
from assay.records.judging import AbstentionVerdict, Calibration, CorrectnessVerdict, GroundednessVerdict, RubricKind
from assay.testing import FixedClock, ScriptedModel

OPTIONS = CalibrationOptions(sample=6, repeats=2)


def labels(tmp_path: Path, *rows: object, kind: RubricKind = RubricKind.GROUNDEDNESS) -> Labels:
    place = tmp_path / "labels.jsonl"
    place.write_text("\n".join(json.dumps(one) for one in rows), encoding="utf-8")
    return read_labels(place, kind)


def graded(count: int, label: int | None = None) -> list[dict[str, object]]:
    """Answers that say which score people gave them."""
    return [
        {
            "id": f"c{one}",
            "question": "q",
            "answer": f"said {one % 6} of {one}",
            "passages": ["p1", "p2"],
            "label": one % 6 if label is None else label,
        }
        for one in range(count)
    ]


def told(answer: str) -> int:
    """The score an answer says it has; canaries say nothing of the kind."""
    return int(answer.split("said ")[1][0]) if "said " in answer else 0


def test_a_judge_that_agrees_with_people_may_decide_until_it_expires(tmp_path: Path, clock: FixedClock) -> None:
    found = calibrate(judge_of(reading_answers(told)), labels(tmp_path, *graded(36)), clock=clock, options=OPTIONS)
    calibration = found.calibration
    assert calibration.passed
    assert (calibration.cases, calibration.figures["accuracy"]["value"]) == (36, 1.0)
    assert calibration.figures["kappa"]["value"] == calibration.figures["alpha"]["value"] == 1.0
    assert calibration.figures["self_consistency"]["same"]["value"] == 1.0
    assert calibration.expires_at == clock.now() + timedelta(days=30)
    assert calibration.gates_at(clock.now())
    assert calibration.gates_at(calibration.expires_at - timedelta(seconds=1))
    assert not calibration.gates_at(calibration.expires_at)


def test_a_judge_below_the_floor_is_diagnostic_only(tmp_path: Path, clock: FixedClock) -> None:
    opposite = judge_of(reading_answers(lambda answer: 5 - told(answer) if "said" in answer else 0))
    calibration = calibrate(opposite, labels(tmp_path, *graded(36)), clock=clock, options=OPTIONS).calibration
    assert not calibration.passed
    assert not calibration.gates_at(clock.now())
    assert "under the floor 0.60" in calibration.figures["shortcomings"][0]


def test_few_labels_let_nobody_decide(tmp_path: Path, clock: FixedClock) -> None:
    found = calibrate(judge_of(reading_answers(told)), labels(tmp_path, *graded(12)), clock=clock, options=OPTIONS)
    assert found.calibration.figures["shortcomings"][0] == "12 cases have a label and a verdict; 30 are needed"
    assert not found.calibration.passed


def test_one_label_alone_shows_no_agreement(tmp_path: Path, clock: FixedClock) -> None:
    alike = labels(tmp_path, *graded(36, label=3))
    judge = judge_of(reading_answers(lambda answer: 3 if "said" in answer else 0))
    found = calibrate(judge, alike, clock=clock, options=OPTIONS).calibration
    assert found.figures["kappa"]["value"] is None
    assert "only one label" in found.figures["shortcomings"][0]


def test_a_judge_that_obeys_orders_is_diagnostic_only(tmp_path: Path, clock: FixedClock) -> None:
    obeying = judge_of(reading_answers(lambda answer: told(answer) if "said" in answer else 5))
    found = calibrate(obeying, labels(tmp_path, *graded(36)), clock=clock, options=OPTIONS).calibration
    assert not found.passed
    assert "obeyed 5 of 5" in found.figures["void"]


def test_padding_and_order_that_move_a_judge_are_measured(tmp_path: Path, clock: FixedClock) -> None:
    wordy = judge_of(reading_answers(lambda answer: min(5, told(answer) + 2 * (FILLER in answer))))
    found = calibrate(wordy, labels(tmp_path, *graded(36)), clock=clock, options=OPTIONS).calibration.figures
    assert found["verbosity_bias"]["mean_move"] > 0.5
    assert found["position_bias"] == {
        "cases": 6,
        "mean_move": 0.0,
        "moved": pytest.approx({"value": 0.0, "low": 0.0, "high": 0.39, "n": 6}, abs=0.01),
    }


def test_a_judge_that_wavers_is_found_out(tmp_path: Path, clock: FixedClock) -> None:
    wavering = reading_answers(lambda answer: (told(answer) + len(wavering.asked)) % 6)
    found = calibrate(judge_of(wavering), labels(tmp_path, *graded(36)), clock=clock, options=OPTIONS)
    assert found.calibration.figures["self_consistency"]["same"]["value"] < 0.5


def test_means_of_unlabelled_cases_are_corrected_by_what_people_said(tmp_path: Path, clock: FixedClock) -> None:
    kind = judge_of(reading_answers(lambda answer: min(5, told(answer) + 1) if "said" in answer else 0))
    found = calibrate(
        kind, labels(tmp_path, *graded(60)), clock=clock, options=OPTIONS, unlabelled=[3.5] * 50 + [3.0] * 50
    ).calibration.figures["means"]
    assert found["judge_unlabelled"] == 3.25
    assert found["bias"] == pytest.approx(50 / 60)
    assert found["corrected"]["value"] < 3.25
    assert found["corrected"]["low"] < found["corrected"]["value"] < found["corrected"]["high"]


def test_people_may_say_yes_and_no(tmp_path: Path, clock: FixedClock) -> None:
    rows = [{**one, "label": one["label"] >= 4} for one in graded(36)]  # type: ignore[operator] # labels are numbers here
    found = calibrate(judge_of(reading_answers(told)), labels(tmp_path, *rows), clock=clock, options=OPTIONS)
    assert found.calibration.figures["scale"] == "yes/no"
    assert found.calibration.figures["accuracy"]["value"] == 1.0


def test_missing_verdicts_are_counted_and_too_many_disqualify(tmp_path: Path, clock: FixedClock) -> None:
    model = ScriptedModel(
        lambda request: "no idea" if "said 1" in request.messages[1].content else verdict(3), name="half-blind"
    )
    found = calibrate(judge_of(model), labels(tmp_path, *graded(60)), clock=clock, options=OPTIONS).calibration
    assert found.figures["outcomes"] == {"scored": 50, "unreadable": 10}
    assert "10 of 60 cases got no verdict" in found.figures["shortcomings"]


def test_a_judge_that_cannot_be_asked_is_an_error_with_its_reason(tmp_path: Path, clock: FixedClock) -> None:
    gone = judge_of(ScriptedModel(EndpointUnavailable("it is gone", remedy="Wait.")))
    with pytest.raises(NothingMeasured, match="0 verdicts on 6 labelled cases: it is gone"):
        calibrate(gone, labels(tmp_path, *graded(6)), clock=clock, options=OPTIONS)


def test_judges_without_a_model_are_calibrated_alike(tmp_path: Path, clock: FixedClock) -> None:
    class Rules:
        name = "rules"
        kind = "builtin"

        def judge(self, question: str, answer: str, passages: object = (), *, reference: str = "") -> object:
            raise NotImplementedError

    class Grounded(Rules):
        def judge(self, question: str, answer: str, passages: object = (), *, reference: str = "") -> object:
            return GroundednessVerdict(score=float(told(answer)))

    class Correct(Rules):
        def judge(self, question: str, answer: str, passages: object = (), *, reference: str = "") -> object:
            return CorrectnessVerdict(score=float(told(answer)))

    class Declined(Rules):
        def judge(self, question: str, answer: str, passages: object = (), *, reference: str = "") -> object:
            return AbstentionVerdict(abstained=told(answer) > 2)

    graded_rows = graded(36)
    yes_no = [{**one, "label": one["label"] > 2} for one in graded_rows]  # type: ignore[operator] # labels are numbers here
    kinds = RubricKind.GROUNDEDNESS, RubricKind.CORRECTNESS, RubricKind.ABSTENTION
    judges = (
        judging_groundedness(Grounded(), version="1"),  # type: ignore[arg-type] # a stand-in
        judging_correctness(Correct(), version="1"),  # type: ignore[arg-type] # the same
        judging_abstention(Declined(), version="1"),  # type: ignore[arg-type] # the same
    )
    for kind, judge, rows in zip(kinds, judges, (graded_rows, graded_rows, yes_no), strict=True):
        found = calibrate(judge, labels(tmp_path, *rows, kind=kind), clock=clock, options=OPTIONS).calibration
        assert found.passed, found.figures["shortcomings"]
        assert found.fingerprint["judge_kind"] == "builtin"
    again = judging_groundedness(Grounded(), version="2")  # type: ignore[arg-type] # the same
    assert again.fingerprint().id != judges[0].fingerprint().id


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"question": "q", "answer": "a"}, "lacks question, answer or label"),
        ({"question": "q", "answer": "a", "label": 7}, "outside 0 to 5"),
        ({"question": "q", "answer": "a", "label": "4"}, "not a number"),
        ({"question": "q", "answer": "a", "label": 4, "mood": 1}, "more than is known"),
        ({"question": "q", "answer": "a", "label": 4, "passages": "p"}, "passages is not a list"),
        ({"question": "q", "answer": 3, "label": 4}, "answer 3 is not text"),
        ([1], "lacks question"),
    ],
)
def test_labels_that_cannot_be_read_are_told_with_their_line(tmp_path: Path, row: object, said: str) -> None:
    with pytest.raises(MalformedFile, match=rf"line 2: .*{said}"):
        labels(tmp_path, graded(1)[0], row)


def test_labels_of_two_kinds_or_with_one_id_twice_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MalformedFile, match="scores and yes/no"):
        labels(tmp_path, graded(1)[0], {"id": "x", "question": "q", "answer": "a", "label": True})
    with pytest.raises(MalformedFile, match="'c0' twice"):
        labels(tmp_path, graded(1)[0], graded(1)[0])
    with pytest.raises(NothingMeasured, match="no labelled case"):
        labels(tmp_path)
    with pytest.raises(MalformedFile, match="not true or false"):
        labels(tmp_path, graded(1)[0], kind=RubricKind.ABSTENTION)
    with pytest.raises(MalformedFile, match="cannot read"):
        read_labels(tmp_path / "none.jsonl", RubricKind.GROUNDEDNESS)


def test_a_calibration_is_a_value_that_stores_can_keep(tmp_path: Path, clock: FixedClock) -> None:
    found = calibrate(judge_of(reading_answers(told)), labels(tmp_path, *graded(36)), clock=clock, options=OPTIONS)
    assert isinstance(found.calibration, Calibration)
    json.dumps(dict(found.calibration.figures), allow_nan=False)
