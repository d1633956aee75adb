"""Every ranking metric by hand: the worked examples of the source documents and of the catalog, and the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.metrics.cases import measured, over, value

from assay.metrics.catalog import find
from assay.metrics.engine import ScoringRules, measure_mappings
from assay.metrics.ranking_metrics import ENTRIES
from assay.metrics.spec import MetricSpec
from assay.records.evaluations import OutcomeKind

N = None

EXAMPLES = {
    "mrr": (
        value("mrr", [0, 0, 1]),
        float(
            over(
                {topic: {"r": 1, "x": 0, "y": 0} for topic in "abc"},
                {"a": {"r": 3, "x": 2}, "b": {"x": 3, "y": 2, "r": 1}, "c": {"x": 2, "r": 1}},
                "mrr",
            ).values.mean()
        ),
    ),
    "ndcg": (value("ndcg@3", [3, 1, 2]),),
    "recall": (value("recall@5", [1, 0, 0, 0, 0], [1]),),
    "precision": (value("precision@5", [3, 0, 2, 0, 0], level=2),),
    "ap": (value("ap", [1, 0, 1]),),
    "success": (value("success@2", [0, 0, 1]), value("success@5", [0, 0, 1])),
    "rprec": (value("rprec", [1, 0, 1, 0, 0, 0, 0, 1]),),
    "bpref": (value("bpref", [1, 0, 1, N]),),
    "rbp": (value("rbp", [1, 0, 1]),),
    "judged": (value("judged@10", [1, 0, N, 2]),),
}

KERNELS = {entry.name for entry in ENTRIES}


def test_the_example_of_every_entry_is_computed() -> None:
    assert set(EXAMPLES) == KERNELS


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_of_an_entry_is_true(name: str) -> None:
    for computed in EXAMPLES[name]:
        assert f"{computed:.4g}" in find(name).example


@pytest.mark.parametrize(
    ("metric", "shown", "missed", "level", "expected"),
    [
        # the RAG regression framework 4.1: one of two relevant documents
        ("recall@5", [1, 0, 0, 0, 0], [1], 1, 0.5),
        # 4.2: labels 3, 0, 2 of five; relevant from 2
        ("precision@5", [3, 0, 2, 0, 0], [], 2, 0.4),
        # 4.3
        ("mrr", [1], [], 1, 1.0),
        ("mrr", [0, 0, 1], [], 1, 1 / 3),
        ("mrr", [0, 1], [], 1, 0.5),
        # 4.4: 4.63 / 4.76
        ("ndcg@3", [3, 1, 2], [], 1, (3 + 1 / math.log2(3) + 1) / (3 + 2 / math.log2(3) + 0.5)),
        # 8.2: three of five relevant retrieved among five
        ("recall@5", [1, 0, 1, 0, 1], [1, 1], 1, 0.6),
        # the core metrics document 2: rank 1, rank 3, none
        ("mrr@5", [0, 0, 2], [], 1, 1 / 3),
        ("mrr@5", [0, 0], [1], 1, 0.0),
        # the memory evaluation framework 3.1: 2^g - 1, and relevance from grade 2
        ("ndcg(gain=exp)@3", [3, 1, 2], [], 2, (7 + 1 / math.log2(3) + 1.5) / (7 + 3 / math.log2(3) + 0.5)),
        ("mrr@5", [1, 2], [], 2, 0.5),
        ("recall@5", [1, 2], [2], 2, 0.5),
    ],
)
def test_the_documents_worked_examples(
    metric: str, shown: list[int | None], missed: list[int], level: int, expected: float
) -> None:
    assert value(metric, shown, missed, level=level) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("metric", "shown", "missed", "expected"),
    [
        # a cutoff longer than the ranking
        ("ndcg@100", [3, 1, 2], [], value("ndcg@3", [3, 1, 2])),
        ("precision@10", [1, 1], [], 0.2),
        ("recall@100", [1], [1], 0.5),
        ("judged@100", [1, N], [], 0.5),
        # relevant documents beyond the cutoff
        ("mrr@2", [0, 0, 1], [], 0.0),
        ("ap@2", [1, 0, 1], [], 0.5),
        ("success@2", [0, 0, 1], [], 0.0),
        ("rbp(p=0.5)@1", [1, 1], [], 0.5),
        # relevant documents that were not found
        ("ap", [1], [1, 1, 1], 0.25),
        ("rprec", [1, 1], [1, 1], 0.5),
        ("bpref", [1], [1], 0.5),
        ("ndcg@10", [1], [1], 1 / (1 + 1 / math.log2(3))),
        # unjudged documents are passed over by bpref and count 0 elsewhere
        ("bpref", [N, 1], [0], 1.0),
        ("bpref", [0, 1], [], 0.0),
        ("bpref", [0, 1, 1], [0, 0], 0.5),
        ("mrr", [N, 1], [], 0.5),
        # the pooled rule: unjudged documents that were retrieved are judged marginal
        ("precision(unjudged=1)@2", [N, 0], [1], 0.5),
        ("recall(unjudged=1)@1", [N, 1], [], 0.5),
        ("precision(unjudged=relevant)@2", [N, 0], [1], 0.5),
        ("mrr(unjudged=1)", [N, 1], [], 1.0),
        ("ndcg(unjudged=1)", [N, 2], [], (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))),
        # graded documents count once
        ("precision@2", [3, 1], [], 1.0),
        # nothing at all came back
        ("ndcg@10", [], [2], 0.0),
        ("mrr", [], [1], 0.0),
        ("ap", [], [1], 0.0),
        ("bpref", [], [1], 0.0),
        ("rprec", [], [1], 0.0),
        ("recall", [], [1], 0.0),
        ("rbp", [], [1], 0.0),
    ],
)
def test_edges(metric: str, shown: list[int | None], missed: list[int], expected: float) -> None:
    assert value(metric, shown, missed) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", sorted(KERNELS - {"judged"}))
def test_a_query_with_nothing_relevant_does_not_enter_the_mean_unless_asked(name: str) -> None:
    cutoff = "@5" if name in ("precision", "success") else ""
    skipped = measured(f"{name}{cutoff}", [0, N, 0])
    counted = measured(f"{name}(vacuous=count){cutoff}", [0, N, 0])
    assert skipped.outcome(0).kind is OutcomeKind.NOT_APPLICABLE
    assert counted.outcome(0).value == (1.0 if name == "recall" else 0.0)
    assert skipped.values[0] == counted.values[0]


def test_grade_zero_is_judged_and_not_relevant() -> None:
    assert value("judged@2", [0, N]) == 0.5
    assert value("precision@2", [0, 1]) == 0.5


def test_a_negative_grade_is_no_verdict() -> None:
    assert value("judged@2", [-1, 1]) == 0.5
    assert value("bpref", [-1, 1], [0]) == 1.0
    assert value("ndcg@2", [-1, 1]) == value("ndcg@2", [N, 1])
    assert value("precision(unjudged=1)@2", [-2, 1]) == 1.0


def test_the_relevance_level_has_no_part_in_ndcg() -> None:
    assert value("ndcg@5", [1, 2, 0], level=3) == value("ndcg@5", [1, 2, 0], level=1)
    assert measured("ndcg@5", [1], level=3).outcome(0).kind is OutcomeKind.SCORED
    assert measured("mrr@5", [1], level=3).outcome(0).kind is OutcomeKind.NOT_APPLICABLE


def test_judged_of_an_empty_ranking_is_not_applicable() -> None:
    assert measured("judged@10", [], [1]).outcome(0).kind is OutcomeKind.NOT_APPLICABLE


def test_large_grades_do_not_break_the_exponential_gain() -> None:
    assert value("ndcg(gain=exp)@2", [1000, 999]) == 1.0
    assert 0.0 < value("ndcg(gain=exp)@2", [999, 1000]) < 1.0


def test_ties_are_broken_by_the_larger_id() -> None:
    scores = over({"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 1.0}}, "mrr")
    assert scores.values[0] == 0.5


def test_a_perfect_ranking_is_exactly_one_however_topics_are_batched() -> None:
    rng = np.random.default_rng(5)
    qrels = {f"q{t}": {f"d{i}": int(g) for i, g in enumerate(rng.integers(0, 4, 30))} for t in range(50)}
    run = {topic: {doc: float(grade) for doc, grade in row.items()} for topic, row in qrels.items()}
    specs = [MetricSpec.parse(text) for text in ("ndcg", "ndcg@7", "ap")]
    together = measure_mappings(qrels, run, specs, ScoringRules())
    for place, topic in enumerate(qrels):
        alone = measure_mappings({topic: qrels[topic]}, run, specs, ScoringRules())
        for spec in specs:
            assert together.scores[spec].values[place] == alone.scores[spec].values[0]
            assert together.scores[spec].values[place] == 1.0
