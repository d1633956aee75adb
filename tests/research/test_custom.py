"""Dimensions of one's own: they weigh in, and what they do wrong is theirs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.judging.made import GUARD
from tests.judging.panels import alike, material, panel, saying

from assay.errors import BadValue
from assay.judging.panel_options import WEIGHTS
from assay.judging.prompts import parse_prompt
from assay.records.judging import PanelState, RoleOutcome
from assay.records.research import Checkpoint, Material
from assay.research.custom import CustomDimension, with_custom
from assay.testing import ScriptedModel

ANSWER = Checkpoint.ANSWER


def judged(says: Any, *, model: Any = None, prompt: Any = None) -> Any:
    score = None if prompt else (lambda _: says)
    dimension = CustomDimension(name="tone", checkpoint=ANSWER, weight=1.0, score=score, prompt=prompt)
    seats = with_custom({ANSWER: saying(alike(ANSWER, 0.8, confidence=1.0))}, [dimension], model=model, guard=GUARD)
    weights = {key.value: one for key, one in WEIGHTS.items()} | {"tone": 1.0}
    return panel(seats, weights=weights).judge(material(ANSWER), deadline_s=20)


@pytest.mark.parametrize(("says", "value"), [(0.2, 0.5), ((0.2, 1.0), 0.5), ((0.2, 0.5, "curt"), 0.6)])
def test_a_function_adds_its_score_by_weight_and_confidence(says: Any, value: float) -> None:
    verdict = judged(says)
    assert verdict.scores["tone"] == 0.2
    assert verdict.aggregate == pytest.approx(value)
    assert verdict.state is PanelState.FULL


@pytest.mark.parametrize("says", [1.5, -0.1, float("nan"), "good", (0.5, 2.0), (), None])
def test_what_is_no_score_is_the_functions_own_failure(says: Any) -> None:
    verdict = judged(says)
    assert verdict.results[-1].outcome is RoleOutcome.FAILED
    assert verdict.results[-1].reason
    assert verdict.aggregate == pytest.approx(0.8)
    assert verdict.state is PanelState.DEGRADED


def test_a_rubric_asks_the_model_for_one_number() -> None:
    model = ScriptedModel({"confidence": 1.0, "scores": {"tone": 0.2}})
    prompt = parse_prompt("tone", 'system = "You hear tones."\ntask = "Is it kind?"')
    verdict = judged(None, model=model, prompt=prompt)
    assert verdict.scores["tone"] == 0.2
    assert "- tone" in model.asked[0].messages[1].content


def test_a_rubric_without_a_model_is_refused() -> None:
    with pytest.raises(BadValue, match="no model"):
        judged(None, prompt=parse_prompt("tone", 'system = "a"\ntask = "b"'))


def test_a_dimension_needs_a_name_of_its_own_and_one_way_to_be_scored() -> None:
    def score(seen: Material) -> float:
        return float(bool(seen))

    with pytest.raises(BadValue, match="coherence"):
        CustomDimension(name="coherence", checkpoint=ANSWER, weight=0.1, score=score)
    with pytest.raises(BadValue, match="function or a rubric"):
        CustomDimension(name="tone", checkpoint=ANSWER, weight=0.1)
