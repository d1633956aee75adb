"""The bundled datasets' own gates hold for the engine as it comes, with the bundled model."""

from __future__ import annotations

import pytest

from assay import wiring
from assay.evaluation.datasets import load_dataset
from assay.evaluation.gating import Status, judge
from assay.evaluation.readings import reading_of
from assay.evaluation.running.runner import run


@pytest.mark.slow
@pytest.mark.parametrize("name", ["agent-memory", "vault", "save-scenarios", "save-scenarios-held-out"])
def test_the_gate_of_a_bundled_dataset_holds(name: str) -> None:
    dataset = load_dataset(name)
    system = wiring.open_system("assay", dataset)
    result = run(dataset, system)
    system.close()
    verdict = judge(reading_of(result), None)
    # How fast this machine is now says nothing about what is in the repository.
    said = [one.sentence for one in verdict.rules if one.status in (Status.FAIL, Status.INCONCLUSIVE)]
    assert [one for one in said if not one.startswith("latency ")] == []
