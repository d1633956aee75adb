"""From what people name to readings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.evaluation.made import golden, good, kept, manifest_of, poor, run_of

from assay.clock import SystemClock
from assay.errors import NoBaseline, RunNotFound
from assay.evaluation.baselines import Baseline, write_baseline
from assay.evaluation.datasets import Registry
from assay.evaluation.datasets.loading import export_dataset
from assay.evaluation.lookup import Lookup
from assay.evaluation.scoring import score_run
from assay.records.evaluations import CaseResult, CaseStatus, Retrieved


def test_a_run_is_found_by_name_id_folder_or_as_a_value(tmp_path: Path) -> None:
    run = kept(run_of(golden(3), [good(n) for n in range(3)], name="plain"), tmp_path)
    place = Lookup(runs=tmp_path)
    named = [place.run(one) for one in ("plain", "run-plain", str(tmp_path / "run-plain"), "latest", run)]
    assert [one.values("mrr") for one in named] == [named[0].values("mrr")] * 5
    assert place.run(named[0]) is named[0]
    with pytest.raises(RunNotFound):
        place.run("plian")


def test_a_baseline_is_a_file_or_a_run_and_nothing_else_passes_for_one(tmp_path: Path) -> None:
    run = kept(run_of(golden(3), [good(n) for n in range(3)], name="plain"), tmp_path)
    place = Lookup(runs=tmp_path)
    write_baseline(tmp_path / "base", Baseline(reading=place.run(run), blessed_at=SystemClock().now()))
    assert place.baseline(tmp_path / "base").lists is None
    assert place.baseline("plain").lists is not None
    assert place.baseline(run).name == "plain"
    for wrong in ("plian", "gone.json"):
        with pytest.raises(NoBaseline, match=f"there is no baseline {wrong}"):
            place.baseline(wrong)


def test_words_come_from_the_dataset_where_it_is_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = run_of(golden(2), [good(0), good(1)])
    assert Lookup(runs=tmp_path, registry=Registry(tmp_path / "none")).run(run).queries == {}
    export_dataset(golden(2), tmp_path / "docs")
    assert Lookup(runs=tmp_path).run(run).queries == {"q00": "question 0", "q01": "question 1"}
    export_dataset(golden(3), tmp_path / "docs")
    assert Lookup(runs=tmp_path).run(run).queries == {}, "another dataset of that name has other words"


def test_repeats_are_readings_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    dataset = golden(2)
    export_dataset(dataset, tmp_path / "docs")
    once = run_of(dataset, [good(0), good(1)])
    assert Lookup(runs=tmp_path).repeats(once) == []
    again = [
        CaseResult(case_id=f"q0{n}", repeat=1, status=CaseStatus.OK, retrieved=Retrieved(ids=poor(n))) for n in range(2)
    ]
    twice = score_run(dataset, replace(manifest_of(dataset, "twice"), repeats=2), [*once.cases, *again])
    first, second = Lookup(runs=tmp_path).repeats(twice)
    assert first.mean("mrr") == 1.0
    assert second.mean("mrr") == pytest.approx(1 / 3)
    assert Lookup(runs=tmp_path).run(twice).noise["mrr"]["q00"] > 0
