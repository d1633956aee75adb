"""Assay saving: one tenant a case, the gate enforced, and nothing left behind."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from assay import wiring
from assay.errors import InputError
from assay.evaluation.datasets import export_dataset, load_dataset
from assay.evaluation.running.runner import run
from assay.records.datasets import Dataset
from assay.records.evaluations import CaseStatus
from assay.records.saving import SaveDecision

SPEC = "assay:embedder.kind=static"
KINDS = ("changed_number", "unrelated", "restatement")


def few() -> Dataset:
    whole = load_dataset("save-scenarios")
    chosen = [case for kind in KINDS for case in whole.cases if case.category == kind][::6]
    return replace(whole, cases=tuple(chosen))


def test_saves_are_decided_measured_and_thrown_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dataset = few()
    opened = wiring.open_system(SPEC, dataset)
    assert list(tmp_path.iterdir())
    result = run(dataset, opened)
    opened.close()
    assert list(tmp_path.iterdir()) == []
    assert result.counts[CaseStatus.OK] == len(dataset.cases)
    decided = {one.retrieved.saved.decided for one in result.cases if one.retrieved and one.retrieved.saved}
    assert SaveDecision.STORE in decided
    assert len(decided) > 1
    assert result.value("false_rejection_rate") == 0.0


def test_a_repeat_saves_into_an_untouched_place() -> None:
    dataset = few()
    opened = wiring.open_system(SPEC, dataset)
    first = [opened.save(case).saved for case in dataset.cases]
    again = [opened.save(case).saved for case in dataset.cases]
    opened.close()
    assert first == again


def test_what_is_superseded_is_no_longer_served_and_what_is_stored_beside_is() -> None:
    dataset = few()
    opened = wiring.open_system(SPEC, dataset)
    found = [(case, opened.save(case)) for case in dataset.cases]
    opened.close()
    for case, given in found:
        assert case.save is not None
        assert given.saved is not None
        assert (case.save.after in given.ids) <= given.saved.old_live
        assert given.saved.new_live is (given.saved.decided is not SaveDecision.REJECT)


@pytest.mark.parametrize("name", ["save-scenarios", "save-scenarios-held-out"])
def test_the_labelled_saves_are_a_dataset(name: str) -> None:
    found = load_dataset(name)
    assert all(case.save is not None and case.save.after in found.by_id for case in found.cases)
    assert {case.save.contradicts for case in found.cases if case.save} == {True, False}
    assert any("500" in case.save.facts for case in load_dataset("save-scenarios").cases if case.save)


def test_saves_have_no_file_format(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds saves"):
        export_dataset(load_dataset("save-scenarios"), tmp_path / "saves.json")
