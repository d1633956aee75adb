"""Values that trec_eval's own code gave (`pytrec_eval`), stored beside the rankings they belong to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.metrics.engine import ScoringRules, measure_mappings
from assay.metrics.spec import MetricSpec

STORED: dict[str, Any] = json.loads(Path(__file__).with_name("trec_eval.json").read_text(encoding="utf-8"))
OURS = {
    "ndcg": "ndcg",
    "ndcg_cut": "ndcg",
    "recip_rank": "mrr",
    "map": "ap",
    "map_cut": "ap",
    "Rprec": "rprec",
    "bpref": "bpref",
    "recall": "recall",
    "P": "precision",
    "success": "success",
}


def our_name(theirs: str) -> MetricSpec:
    stem, _, cutoff = theirs.rpartition("_")
    return MetricSpec.parse(f"{OURS[stem]}@{cutoff}" if cutoff.isdigit() else OURS[theirs])


@pytest.mark.parametrize("level", [1, 2])
def test_every_query_has_the_value_that_trec_eval_gives(level: int) -> None:
    expected: dict[str, dict[str, float]] = STORED["expected"][str(level)]
    names = next(iter(expected.values()))
    specs = [our_name(name) for name in names]
    measured = measure_mappings(STORED["qrels"], STORED["run"], specs, ScoringRules(level=level))
    assert set(measured.topics) == set(expected)
    for theirs, spec in zip(names, specs, strict=True):
        scores = measured.scores[spec]
        for place, topic in enumerate(measured.topics):
            if theirs.startswith("recall") and not scores.scored[place]:
                continue  # nothing relevant: 1 by definition here, 0 there
            assert scores.values[place] == pytest.approx(expected[topic][theirs], abs=1e-9), (topic, theirs)
