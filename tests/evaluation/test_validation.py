"""The four validation tests of the regression framework: the dataset loads, metrics are right, a regression is seen,
and the whole way from documents to a report is walked."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.telling import runner
from tests.evaluation.made import reading

from assay.evaluation.datasets import load_dataset
from assay.evaluation.gating import GateOptions, judge
from assay.metrics.engine import measure_mappings
from assay.metrics.spec import parse_specs


def test_1_the_golden_dataset_loads_with_every_required_field() -> None:
    dataset = load_dataset("hotel")
    assert len(dataset.documents) >= 50
    assert len(dataset.cases) >= 20
    assert all(one.id and one.text and one.title and one.entity_type for one in dataset.documents)
    assert all(case.query and case.labels for case in dataset.cases)


def test_2_metrics_are_calculated_correctly() -> None:
    # Three of five relevant documents among five results: both are 0.6.
    relevant = {f"relevant-{number}": 2 for number in range(1, 6)}
    ranked = ("relevant-1", "irrelevant-1", "relevant-2", "irrelevant-2", "relevant-3")
    run = {"q": {name: float(-place) for place, name in enumerate(ranked)}}
    found = measure_mappings({"q": relevant}, run, parse_specs("recall@5,precision@5"))
    assert [scores.outcome(0).value for scores in found.scores.values()] == [0.6, 0.6]


def test_3_a_value_under_its_threshold_fails_with_metric_and_threshold() -> None:
    run = reading({"recall@5": {"q1": 0.5, "q2": 1.0}})
    assert run.mean("recall@5") == 0.75
    verdict = judge(run, None, GateOptions(floors={"recall@5": 0.80}))
    assert not verdict.passed
    (failure,) = [one for one in verdict.rules if one.status.value == "fail"]
    assert failure.about == "recall@5"
    assert failure.sentence == "recall@5 0.75 is under the floor 0.80"


def test_4_from_documents_to_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assay = runner(capsys)
    # Without vectors: what is tested is the way, and words alone walk it in a second.
    told = assay("run", "hotel", "--system", "assay:embedder.kind=none", "--name", "words", "--json")
    assert told.code == 0, told.err
    assert assay("report", "words").code == 0
    (report,) = (tmp_path / "reports").glob("rag-eval-*.md")
    text = report.read_text(encoding="utf-8")
    for metric in ("recall@5", "precision@5", "mrr", "ndcg@5"):
        assert metric in text
