"""A session as files, in the documented layout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.judging.panels import QUESTION
from tests.judging.test_panel import Reviewing
from tests.research.made import pipeline, scores

from assay.errors import InputError
from assay.records import Scope
from assay.research.export import export
from assay.storage import Store


def test_the_layout_is_the_documented_one(local: Store, scope: Scope, tmp_path: Path) -> None:
    answer = pipeline(local, scores((0.5, 0.72)), reviewer=Reviewing(0.8)).ask(scope, QUESTION)
    place = export(answer.trace, tmp_path)
    assert place == tmp_path / "evaluations" / answer.log_id
    files = sorted(str(one.relative_to(place)) for one in place.rglob("*.json"))
    assert files == [
        "evaluation.json",
        "evaluator_responses/coverage_checker.json",
        "evaluator_responses/escalation_reviewer.json",
        "evaluator_responses/fact_checker.json",
        "evaluator_responses/faithfulness_judge.json",
        "evaluator_responses/intent_analyst.json",
        "evaluator_responses/quality_assessor.json",
        "plan_attempts/attempt_1.json",
        "plan_attempts/attempt_2.json",
    ]
    whole = json.loads((place / "evaluation.json").read_text(encoding="utf-8"))
    assert whole == answer.trace
    said = json.loads((place / "evaluator_responses/intent_analyst.json").read_text(encoding="utf-8"))
    assert [(one["checkpoint"], one["attempt"]) for one in said] == [("plan", 1), ("plan", 2), ("answer", 1)]


def test_a_folder_that_cannot_be_written_is_named(local: Store, scope: Scope, tmp_path: Path) -> None:
    answer = pipeline(local).ask(scope, QUESTION)
    (tmp_path / "evaluations").write_text("a file")
    with pytest.raises(InputError, match="evaluations"):
        export(answer.trace, tmp_path)
