"""Every column of `eval_results` is filled by something that a user does, and shown by `GET /api/runs`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.telling import Run
from tests.evaluation.made import golden, good, kept, poor, run_of
from tests.server.serving import reaching, services_at
from tests.systems.sample import dataset

from assay import wiring
from assay.evaluation.datasets import export_dataset
from assay.records import EvalResult, RunType, Scope
from assay.records.datasets import Dataset
from assay.settings import load_settings

FLAG = "docscore_aggregation"
RUNS = Path(".assay/runs")


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")


def in_folders() -> Dataset:
    whole = dataset()
    folders = {"pool": "water", "sauna": "water"}
    return replace(
        whole,
        documents=tuple(replace(document, folder=folders.get(document.id, "house")) for document in whole.documents),
    )


def rows() -> list[EvalResult]:
    with wiring.open_store(load_settings().settings) as store, store.reading(Scope()) as work:
        return work.results.latest()[::-1]


def test_a_run_of_assay_fills_rankings_channels_and_diversity_that_nobody_asked_for(run: Run, tmp_path: Path) -> None:
    place = export_dataset(in_folders(), tmp_path / "house.json")
    run("save", "--title", "Tea", "--text", "The tea is in the left cupboard.")
    assert run("run", str(place), "--metrics", "precision@1", "-k", "20").code == 0
    [row] = rows()
    assert row.run_type is RunType.FULL
    assert row.mrr_at_5 == row.mrr_at_10 == row.ndcg_at_10 == row.recall_at_5 == 1.0
    assert row.ndcg_at_20 is not None
    assert row.confidence_interval_upper == 1.0
    assert row.result_diversity_score is not None
    assert 0.0 < row.result_diversity_score < 1.0
    assert row.channel_contribution_json is not None
    words = row.channel_contribution_json["bm25"]
    assert words["queries"] == 4
    assert 0 < words["found"] <= words["shown"]


def test_a_list_that_ends_before_a_cutoff_leaves_its_column_empty(run: Run, tmp_path: Path) -> None:
    place = export_dataset(dataset(), tmp_path / "house.json")
    run("save", "--title", "Tea", "--text", "The tea is in the left cupboard.")
    assert run("run", str(place), "--metrics", "precision@1", "-k", "5").code == 0
    [row] = rows()
    assert (row.mrr_at_5, row.mrr_at_10, row.ndcg_at_20) == (1.0, None, None)
    assert row.result_diversity_score is None  # one folder only


def test_a_gate_keeps_a_row_with_control_differences_and_p(run: Run) -> None:
    run("save", "--title", "Tea", "--text", "The tea is in the left cupboard.")
    kept(run_of(golden(), [good(n) for n in range(30)], name="old", run_id="run-1"), RUNS)
    kept(run_of(golden(), [poor(n) if n % 2 else good(n) for n in range(30)], name="worse", run_id="run-2"), RUNS)
    assert run("gate", "worse", "--baseline", "old").code == 1
    assert run("gate", "worse", "--no-baseline").code == 2
    against, alone = rows()
    assert (against.run_id, against.run_type, against.control_run_id) == ("run-2", RunType.REGRESSION, "run-1")
    assert against.query_count == 30
    assert against.mrr_delta is not None
    assert against.mrr_delta < 0
    assert against.ndcg_delta is not None
    assert against.p_value is not None
    assert against.p_value < 0.05
    assert against.is_significant is True
    assert against.confidence_interval_upper is not None
    assert against.confidence_interval_upper < 0
    assert against.metrics_json["status"] == "fail"
    assert against.metrics_json["metric"] == "mrr"
    assert (alone.control_run_id, alone.p_value, alone.is_significant) == (None, None, None)


def test_noise_is_a_row_that_is_not_significant(run: Run) -> None:
    run("save", "--title", "Tea", "--text", "The tea is in the left cupboard.")
    kept(run_of(golden(), [good(n) for n in range(30)], name="old", run_id="run-1"), RUNS)
    kept(run_of(golden(), [poor(n) if n == 3 else good(n) for n in range(30)], name="new", run_id="run-2"), RUNS)
    run("gate", "new", "--baseline", "old")
    [row] = rows()
    assert row.is_significant is False
    assert row.mrr_delta is not None
    assert row.mrr_delta < 0


def test_without_a_store_a_gate_makes_none(run: Run, tmp_path: Path) -> None:
    kept(run_of(golden(), [good(n) for n in range(30)], name="old", run_id="run-1"), RUNS)
    assert run("gate", "old", "--no-baseline").code == 2
    assert not Path(load_settings().settings.db).exists()


def test_the_two_sides_of_a_flag_are_rows_with_the_feature_and_count_for_no_cycle(run: Run, tmp_path: Path) -> None:
    place = export_dataset(dataset(), tmp_path / "house.json")
    step = run("ladder", "offline", FLAG, str(place), "--json").json
    off, on, verdict = rows()
    assert [row.feature_id for row in (off, on, verdict)] == [FLAG] * 3
    assert (off.run_id, on.run_id) == (step["detail"]["control_run"], step["detail"]["treatment_run"])
    assert (verdict.run_type, verdict.run_id, verdict.control_run_id) == (RunType.REGRESSION, on.run_id, off.run_id)
    assert verdict.mrr_delta == 0.0
    assert verdict.is_significant is False
    assert "cycle_evidence" not in off.metrics_json
    assert "cycle_evidence" not in on.metrics_json


def test_a_gate_over_http_keeps_the_verdict_and_the_list_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with services_at(tmp_path) as services, reaching(services) as client:
        made = [
            client.post("/api/runs", json={"dataset": "hotel", "max_cases": 5, "mode": mode, "name": mode}).json()
            for mode in ("focused", "quick")
        ]
        control, treatment = (run["run_id"] for run in made)
        judged = client.post("/api/runs/gate", json={"run": treatment, "baseline": control})
        assert judged.status_code == 200
        listed = client.get("/api/runs", params={"run_type": "regression"}).json()["runs"]
        shown = client.get(f"/api/runs/{treatment}", params={"run_type": "regression"}).json()
        itself = client.get(f"/api/runs/{treatment}").json()
        unjudged = client.get(f"/api/runs/{control}", params={"run_type": "regression"})
    [line] = listed
    assert (line["run_id"], line["control_run_id"]) == (treatment, control)
    assert line["mrr_delta"] is not None
    assert line["is_significant"] is False
    assert shown["metrics_json"]["status"] == judged.json()["status"]
    assert itself["run_type"] == "full"
    assert itself["channel_contribution_json"]["bm25"]["shown"] > 0
    assert unjudged.status_code == 404
    assert "no gate has judged" in unjudged.json()["error"]["message"]


def test_comparing_writes_nothing(run: Run) -> None:
    run("save", "--title", "Tea", "--text", "The tea is in the left cupboard.")
    kept(run_of(golden(), [good(n) for n in range(30)], name="old", run_id="run-1"), RUNS)
    kept(run_of(golden(), [poor(n) for n in range(30)], name="new", run_id="run-2"), RUNS)
    assert run("compare", "old", "new").code == 0
    assert rows() == []
