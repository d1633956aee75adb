"""The program that measures answers without a model: its questions, its shares and its thresholds."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest
from bench.answers import (
    BUNDLED,
    PROFILES,
    TAKEN,
    AskedOf,
    Searched,
    Share,
    bundled_questions,
    examples_of,
    fit,
    measure,
)

from assay.judging.builtin.answerability import FILE, FOUND, evidence_features
from assay.judging.builtin.judges import weights_of
from assay.records.research import Passage
from assay.testing import HashedEmbedder


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_questions_have_references_or_the_reason_why_there_is_no_answer(name: str) -> None:
    questions = bundled_questions(name)
    assert all(question.references and question.answering for question in questions if question.answerable)
    kinds = {question.kind for question in questions if not question.answerable}
    assert kinds == {"missing-detail", "false-premise", "other-entity"}


def test_the_interval_of_a_share_holds_it_and_narrows_with_more_questions() -> None:
    few, many = Share(count=2, total=10).interval, Share(count=200, total=1_000).interval
    assert few[0] < 0.2 < few[1]
    assert many[0] < 0.2 < many[1]
    assert many[1] - many[0] < few[1] - few[0]
    assert str(Share(count=0, total=0)) == "-", "no question is not a share of 0"


def test_the_stored_coefficients_weigh_features_that_exist() -> None:
    stored = json.loads(files("assay.judging.builtin").joinpath(FILE).read_text(encoding="utf-8"))["profiles"]
    assert {name: tuple(profile["names"]) for name, profile in stored.items()} == PROFILES
    known = evidence_features([Passage(number=1, text="x", score=0.5, standing=3.0)], [])
    assert all(set(names) <= set(known) for names in PROFILES.values())
    weights = weights_of(FOUND, FILE)
    high, low = ({"score": x, "standing": 8 * x, "sentence": x} for x in (0.9, 0.1))
    assert weights.probability(high) > 0.9
    assert weights.probability(low) < 0.1


def made(number: int, *, answerable: bool, value: float, kind: str = TAKEN) -> Searched:
    asked = AskedOf(
        id=f"q{number}", text="How long?", answerable=answerable, kind="" if answerable else kind, group=str(number)
    )
    features = {"score": value, "standing": value, "sentence": value, "words": value}
    return Searched(asked=asked, passages=(Passage(number=1, text="For 30 days it is kept."),), features=features)


def test_a_set_is_measured_at_the_shipped_threshold_and_at_its_own() -> None:
    questions = [made(n, answerable=True, value=0.6 + n / 100) for n in range(20)]
    questions += [made(n, answerable=False, value=0.2 + n / 100) for n in range(20, 40)]
    profile = fit({"hotel": questions})["found"]
    found = measure("hotel", questions, profile, HashedEmbedder())
    assert found.auroc[TAKEN] == 1.0
    assert found.shipped.declined.count == 0
    assert found.shipped.wrong[TAKEN].count == 0
    assert found.own is not None
    assert found.own.wrong[TAKEN].count <= 3, "at most 15 % of 20"
    assert found.is_met


def test_near_misses_are_not_fitted_on() -> None:
    questions = [made(1, answerable=True, value=0.9), made(2, answerable=False, value=0.9, kind="missing-detail")]
    questions.append(made(3, answerable=False, value=0.1))
    assert [example.label for example in examples_of("hotel", questions)] == [True, False]
