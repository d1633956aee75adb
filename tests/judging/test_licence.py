"""Ways to get a licence for a judge that should have none: each is refused, or told where the figures are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.judging.made import judge_of, reading_answers, verdict
from tests.judging.test_calibration import OPTIONS, graded, labels, told

from assay.errors import BadValue
from assay.judging.calibration import CalibrationOptions, calibrate, cases_of, overlap
from assay.models.chat import (
    CachedModel,
    ChatModel,
    ChatReply,
    ChatRequest,
    ModelFingerprint,
    RepliesInMemory,
    alias_reason,
)
from assay.records.judging import Calibration
from assay.testing import FixedClock, ScriptedModel


class ServedBy:
    """A model that the server calls by other names than the one that was asked for."""

    def __init__(self, model: ChatModel, *names: str, digest: str | None = None) -> None:
        self._model = model
        self._names = names
        self._digest = digest
        self.asked = 0

    @property
    def name(self) -> str:
        return self._model.name

    def fingerprint(self) -> ModelFingerprint:
        return ModelFingerprint(model=self.name, digest=self._digest)

    def complete(self, request: ChatRequest) -> ChatReply:

        self.asked += 1
        return replace(self._model.complete(request), model=self._names[self.asked % len(self._names)])


def tried(
    model: ChatModel, rows: Sequence[dict[str, Any]], tmp_path: Path, clock: FixedClock, *earlier: Calibration
) -> Calibration:
    options = CalibrationOptions(sample=6, repeats=2, seed=len(earlier))
    found = calibrate(judge_of(model), labels(tmp_path, *rows), clock=clock, options=options, earlier=earlier)
    return found.calibration


def wavering() -> ScriptedModel:
    """Says another score at each asking of the same case, but one that is near the right one."""
    heard: dict[str, int] = {}

    def score(answer: str) -> int:
        if "said " not in answer:
            return 0
        heard[answer] = heard.get(answer, -1) + 1
        return max(0, min(5, told(answer) + (heard[answer] % 2) * (1 if told(answer) < 5 else -1)))

    return reading_answers(score)


def test_a_judge_that_never_says_the_same_twice_is_not_licensed(tmp_path: Path, clock: FixedClock) -> None:
    found = tried(wavering(), graded(36), tmp_path, clock)
    assert found.figures["kappa"]["value"] > 0.9
    assert found.figures["self_consistency"]["same"]["value"] == 0.0
    assert not found.passed
    assert found.figures["shortcomings"] == [
        "it gave the same verdict each time on 0 of 6 cases that were asked again; 80% are needed"
    ]


def test_no_verdict_at_the_second_asking_is_not_the_same_verdict(tmp_path: Path, clock: FixedClock) -> None:
    def says(request: ChatRequest) -> Any:
        if request.repeat:
            return "I would rather not say."
        return verdict(told(request.messages[1].content.split("<<<ANSWER")[1]))

    found = tried(ScriptedModel(says), graded(36), tmp_path, clock)
    assert found.figures["self_consistency"]["cases"] == 6
    assert not found.passed


def test_a_calibration_without_repeats_licenses_nobody(tmp_path: Path, clock: FixedClock) -> None:
    judge, options = judge_of(reading_answers(told)), CalibrationOptions(sample=6, repeats=1)
    found = calibrate(judge, labels(tmp_path, *graded(36)), clock=clock, options=options).calibration
    assert not found.passed
    assert "no case was judged twice" in found.figures["shortcomings"][0]


def test_a_calibration_asks_the_present_model_whatever_the_cache_holds(tmp_path: Path, clock: FixedClock) -> None:
    replies = RepliesInMemory()
    first = tried(CachedModel(reading_answers(told), replies), graded(36), tmp_path, clock)
    assert (first.passed, first.figures["usage"]["cached"]) == (True, 0)
    worse = reading_answers(lambda answer: 5 - told(answer) if "said" in answer else 0)
    second = tried(CachedModel(worse, replies), graded(36), tmp_path, clock, first)
    assert second.fingerprint_id == first.fingerprint_id
    assert not second.passed
    assert len(worse.asked) == second.figures["usage"]["fresh"] > 36


def test_replies_of_a_cache_that_cannot_be_passed_by_license_nobody(tmp_path: Path, clock: FixedClock) -> None:
    class Stubborn(CachedModel):
        def complete(self, request: ChatRequest) -> ChatReply:

            return super().complete(replace(request, fresh=False))

    replies = RepliesInMemory()
    tried(Stubborn(reading_answers(told), replies), graded(36), tmp_path, clock)
    found = tried(Stubborn(reading_answers(told), replies), graded(36), tmp_path, clock)
    assert not found.passed
    assert "replies came from a cache" in found.figures["shortcomings"][0]


def test_copies_of_labelled_cases_count_once(tmp_path: Path, clock: FixedClock) -> None:
    copied = [
        {**row, "id": f"{row['id']}-{number}", "question": f" Q{' ' * number}"}
        for row in graded(10)
        for number in range(4)
    ]
    found = tried(reading_answers(told), copied, tmp_path, clock)
    assert (found.cases, found.figures["labelled"], found.figures["copies"]) == (10, 10, 30)
    assert "10 cases have a label and a verdict; 30 are needed" in found.figures["shortcomings"]


def test_copies_with_different_labels_are_refused(tmp_path: Path, clock: FixedClock) -> None:
    rows = [*graded(36), {**graded(1)[0], "id": "again", "label": 4}]
    with pytest.raises(BadValue, match="'c0' and 'again' are the same case with the labels 0 and 4"):
        tried(reading_answers(told), rows, tmp_path, clock)


def half_right(answer: str) -> int:
    """Right about even cases, and the opposite of right about odd ones."""
    if "said " not in answer:
        return 0
    return told(answer) if int(answer.split(" of ")[1].split(maxsplit=1)[0]) % 2 == 0 else 5 - told(answer)


def test_picking_the_labels_on_which_a_judge_did_well_does_not_help(tmp_path: Path, clock: FixedClock) -> None:
    rows = graded(120)
    attempts: list[Calibration] = []
    for start in (0, 40, 80):
        attempts.append(tried(reading_answers(half_right), rows[start : start + 40], tmp_path, clock, *attempts))
    assert [one.passed for one in attempts] == [False, False, False]
    picked = tried(reading_answers(half_right), rows[::2], tmp_path, clock, *attempts)
    assert picked.figures["kappa"]["value"] == 1.0
    assert not picked.passed
    assert picked.figures["attempts"] == {
        "number": 4,
        "failed_before": 3,
        "void_before": 0,
        "other_judges": 0,
        "shared_cases": 0,
        "left_out_cases": 60,
        "level": 1 - 0.05 / 4,
    }
    assert "over all 120 cases of 4 attempts is under the floor" in picked.figures["shortcomings"][0]
    alone = tried(reading_answers(half_right), rows[::2], tmp_path, clock)
    assert alone.passed


def test_a_judge_that_is_calibrated_again_on_the_same_labels_is_renewed(tmp_path: Path, clock: FixedClock) -> None:
    first = tried(reading_answers(told), graded(36), tmp_path, clock)
    clock.advance(days=31)
    second = tried(reading_answers(told), graded(36), tmp_path, clock, first)
    assert second.passed
    assert second.figures["attempts"]["number"] == 2
    assert second.figures["kappa"]["level"] == 0.95


def test_a_wavering_judge_is_held_to_all_its_attempts(tmp_path: Path, clock: FixedClock) -> None:
    model = wavering()
    first = tried(model, graded(36), tmp_path, clock)
    assert not first.passed
    steady = tried(reading_answers(told), graded(36), tmp_path, clock, first)
    assert steady.fingerprint_id == first.fingerprint_id
    assert "on 6 of 12 cases that were asked again" in steady.figures["shortcomings"][0]


def test_a_judge_that_obeyed_once_is_not_licensed_at_the_next_attempt(tmp_path: Path, clock: FixedClock) -> None:
    obeying = reading_answers(lambda answer: told(answer) if "said" in answer else 5)
    first = tried(obeying, graded(36), tmp_path, clock)
    second = tried(reading_answers(told), graded(36), tmp_path, clock, first)
    assert second.figures["shortcomings"] == ["the judge obeyed planted orders in 1 of 1 earlier calibrations"]


def test_several_judges_tried_on_the_same_labels_are_told(tmp_path: Path, clock: FixedClock) -> None:
    earlier: list[Calibration] = []
    for number in range(5):
        model = reading_answers(told, name=f"prompt-{number}")
        earlier.append(tried(model, graded(60), tmp_path, clock, *earlier))
    attempts = earlier[-1].figures["attempts"]
    assert (attempts["number"], attempts["other_judges"], attempts["shared_cases"]) == (1, 4, 60)
    assert earlier[-1].figures["kappa"]["level"] == pytest.approx(0.99)
    assert earlier[-1].figures["kappa"]["low"] < earlier[0].figures["kappa"]["low"]


def test_questions_of_the_labels_are_found_among_judged_ones(tmp_path: Path, clock: FixedClock) -> None:
    found = tried(reading_answers(told), graded(36), tmp_path, clock)
    assert len(cases_of(found)) == 36
    assert overlap(found, ["  Q ", "another"]) == 1


def test_two_models_under_one_name_license_nobody(tmp_path: Path, clock: FixedClock) -> None:
    model = ServedBy(reading_answers(told, name="judge:1"), "judge-2026-01", "judge-2026-02")
    found = tried(model, graded(36), tmp_path, clock)
    assert found.figures["served"] == ["judge-2026-02", "judge-2026-01"]
    assert "2 models replied under one name: judge-2026-02, judge-2026-01" in found.figures["shortcomings"]


@pytest.mark.parametrize(
    ("name", "digest", "served", "reason"),
    [
        ("qwen3:14b", "ollama:abc", (), ""),
        ("qwen3", "ollama:abc", ("qwen3",), "Ollama reads it as qwen3:latest"),
        ("library/qwen3", "ollama:abc", (), "has no tag"),
        ("some-model", None, ("some-model",), "has no tag or version"),
        ("some-model", None, ("some-model-2026-03-01",), ""),
        ("some-model", "llama.cpp:1", ("some-model",), ""),
        ("small-2", None, ("small-2",), ""),
        ("judge:latest", "ollama:abc", (), "is an alias"),
    ],
)
def test_a_name_that_does_not_tell_the_weights_is_an_alias(
    name: str, digest: str | None, served: tuple[str, ...], reason: str
) -> None:
    found = alias_reason(name, digest, served)
    assert reason in found if reason else not found


def test_an_alias_is_not_licensed(tmp_path: Path, clock: FixedClock) -> None:
    model = ServedBy(reading_answers(told, name="qwen3"), "qwen3", digest="ollama:abc")
    found = tried(model, graded(36), tmp_path, clock)
    assert not found.passed
    assert found.figures["shortcomings"] == ["the model name 'qwen3' has no tag, so Ollama reads it as qwen3:latest"]


def test_a_handful_of_labels_corrects_no_mean(tmp_path: Path, clock: FixedClock) -> None:
    judge = judge_of(reading_answers(told))
    few = calibrate(judge, labels(tmp_path, *graded(12)), clock=clock, options=OPTIONS, unlabelled=[2.0, 3.0] * 20)
    means = few.calibration.figures["means"]
    assert "corrected" not in means
    assert means["withheld"] == "12 labels have a verdict; 20 are needed to correct a mean"


def test_picked_labels_correct_no_mean(tmp_path: Path, clock: FixedClock) -> None:
    judge = judge_of(reading_answers(told))
    easy = [row for row in graded(180) if row["label"] in {4, 5}]
    found = calibrate(judge, labels(tmp_path, *easy), clock=clock, options=OPTIONS, unlabelled=[0.0, 5.0] * 50)
    means = found.calibration.figures["means"]
    assert "corrected" not in means
    assert "the labelled cases are not a random sample" in means["withheld"]
