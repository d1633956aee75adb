"""Mappings and batches give the same numbers, and nothing that stands on one side only is dropped in silence."""

from __future__ import annotations

import numpy as np
import pytest
from tests.metrics.cases import over, whole

from assay.errors import BadValue
from assay.metrics import engine
from assay.metrics.engine import (
    BATCH_CELLS,
    MeasuredRun,
    ScatteredTopics,
    ScoringRules,
    measure_batches,
    measure_mappings,
    measure_pairs,
)
from assay.metrics.ranked_grades import find, without_repeats
from assay.metrics.spec import MetricSpec, parse_specs
from assay.records.evaluations import OutcomeKind
from assay.records.rankings import QrelTable, RunBatch

SPECS = parse_specs("ndcg@10,ndcg,mrr,recall@5,precision@3,ap,success@2,rprec,bpref,rbp,judged@10,success@1")
Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def key(text: str) -> int:
    return int.from_bytes(text.encode().ljust(8, b"\0")[:8], "little")


def table(qrels: Qrels) -> QrelTable:
    cells = [(doc, grade) for row in qrels.values() for doc, grade in row.items()]
    return QrelTable(
        topics=tuple(qrels),
        lengths=np.array([len(row) for row in qrels.values()], dtype=np.int64),
        keys=np.array([key(doc) for doc, _ in cells], dtype=np.uint64),
        grades=np.array([grade for _, grade in cells], dtype=np.int16),
    )


def batch(run: dict[str, list[tuple[str, float]]]) -> RunBatch:
    rows = list(run.values())
    cells = [cell for row in rows for cell in row]
    return RunBatch(
        topics=tuple(run),
        lengths=np.array([len(row) for row in rows], dtype=np.int64),
        keys=np.array([key(doc) for doc, _ in cells], dtype=np.uint64),
        scores=np.array([score for _, score in cells], dtype=np.float32),
        ids=lambda row: [doc for doc, _ in rows[row]],
    )


def random_case(seed: int, topics: int) -> tuple[Qrels, Run]:
    rng = np.random.default_rng(seed)
    qrels: Qrels = {}
    run: Run = {}
    for topic in range(topics):
        docs = [f"d{one}" for one in rng.permutation(40)]
        qrels[f"q{topic}"] = {doc: int(rng.integers(-1, 4)) for doc in docs[: rng.integers(1, 20)]}
        shown = docs[10 : 10 + int(rng.integers(0, 25))]
        run[f"q{topic}"] = {doc: float(rng.integers(0, 9)) for doc in shown}
    return qrels, run


def same(one: MeasuredRun, other: MeasuredRun) -> bool:
    return all(
        (one.scores[spec].values == other.scores[spec].values).all()
        and (one.scores[spec].kinds == other.scores[spec].kinds).all()
        for spec in SPECS
    )


@pytest.mark.parametrize("seed", range(20))
def test_few_judgments_are_ranked_as_many_are(seed: int) -> None:
    """Ties, negative grades and rankings of any length, with few enough judgments for the other way round."""
    rng = np.random.default_rng(seed)
    run = {f"q{t}": {f"d{one}": float(rng.integers(0, 40)) for one in range(rng.integers(0, 60))} for t in range(30)}
    qrels = {topic: {f"d{one}": int(rng.integers(-1, 4)) for one in rng.integers(0, 70, size=4)} for topic in run}
    parts = {topic: list(row.items()) for topic, row in run.items() if row}
    assert same(measure_batches(table(qrels), [batch(parts)], SPECS), measure_mappings(qrels, run, SPECS))


@pytest.mark.parametrize("size", [1, 7, 100])
def test_batches_of_any_size_give_what_mappings_give(size: int) -> None:
    qrels, run = random_case(3, 100)
    names = list(run)
    parts = [{name: list(run[name].items()) for name in names[at : at + size]} for at in range(0, 100, size)]
    assert same(measure_batches(table(qrels), map(batch, parts), SPECS), measure_mappings(qrels, run, SPECS))


def test_topics_in_another_order_than_the_judgments() -> None:
    qrels, run = random_case(4, 30)
    backwards = {name: list(run[name].items()) for name in reversed(run)}
    assert same(measure_batches(table(qrels), [batch(backwards)], SPECS), measure_mappings(qrels, run, SPECS))


def test_one_long_ranking_among_short_ones_is_not_padded_to_all() -> None:
    qrels = {"long": {"d5": 1}, **{f"q{number}": {"d1": 1} for number in range(300)}}
    run = {topic: {"d0": 2.0, "d1": 1.0} for topic in qrels}
    run["long"] = {f"d{place}": float(-place) for place in range(BATCH_CELLS // 8)}
    parts = {topic: list(row.items()) for topic, row in run.items()}
    by_batch = measure_batches(table(qrels), [batch(parts)], SPECS)
    assert same(by_batch, measure_mappings(qrels, run, SPECS))
    assert by_batch.scores[MetricSpec.parse("mrr")].values[:2].tolist() == [1 / 6, 0.5]


@pytest.mark.parametrize("most", [1, 3, 16, 40])
def test_topics_that_come_one_by_one_are_batched_as_those_in_memory(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lengths differ, so that batches end at the most topics, at the most results, and at the end."""
    monkeypatch.setattr(engine, "_MOST_TOPICS", most)
    monkeypatch.setattr(engine, "BATCH_CELLS", 100)
    lengths = [int(length) for length in np.random.default_rng(most).integers(0, 60, size=40)]
    pairs = [({"d1": 1}, {f"d{place}": float(-place) for place in range(length)}) for length in lengths]
    expected = list(engine._spans(np.array(lengths)))
    ends = np.cumsum([len(part) for part in engine._batches(iter(pairs))]).tolist()
    assert ends == [last for _, last in expected]
    topics = [f"q{place}" for place in range(len(pairs))]
    alone = [measure_mappings({"q": judged}, {"q": found}, SPECS) for judged, found in pairs]
    measured = measure_pairs(topics, iter(pairs), SPECS)
    for spec in SPECS:
        assert measured.scores[spec].values.tolist() == [float(one.scores[spec].values[0]) for one in alone]


def test_queries_on_one_side_only_are_named() -> None:
    found = whole({"a": {"d": 1}, "b": {"d": 1}}, {"b": {"d": 1}, "c": {"d": 1}}, *SPECS)
    assert (found.absent, found.unknown) == (("a",), ("c",))
    by_batch = measure_batches(
        table({"a": {"d": 1}, "b": {"d": 1}}), [batch({"b": [("d", 1)], "c": [("d", 1)]})], SPECS
    )
    assert (by_batch.absent, by_batch.unknown) == (("a",), ("c",))


def test_a_query_without_results_counts_as_empty_or_is_skipped() -> None:
    qrels: Qrels = {"a": {"d": 1}, "b": {"d": 1}}
    spec = MetricSpec.parse("mrr")
    empty = whole(qrels, {"a": {"d": 1.0}}, spec).scores[spec]
    skipped = whole(qrels, {"a": {"d": 1.0}}, spec, rules=ScoringRules(absent="skip")).scores[spec]
    assert empty.outcome(1).value == 0.0
    assert skipped.outcome(1).kind is OutcomeKind.SKIPPED
    assert skipped.outcome(0).value == 1.0


def test_depth_cuts_every_ranking() -> None:
    spec = MetricSpec.parse("recall")
    qrels, run = {"a": {"x": 1, "y": 1}}, {"a": {"x": 2.0, "y": 1.0}}
    assert whole(qrels, run, spec, rules=ScoringRules(depth=1)).scores[spec].values[0] == 0.5
    assert whole(qrels, run, spec, rules=ScoringRules(depth=1)).retrieved[0] == 1


def test_of_a_document_listed_twice_the_better_rank_counts() -> None:
    twice = batch({"q": [("x", 1.0), ("y", 2.0), ("x", 3.0)], "p": [("x", 1.0), ("x", 1.0), ("z", 0.0)]})
    clean, dropped = without_repeats(twice)
    assert dropped == 2
    assert clean.lengths.tolist() == [2, 2]
    assert list(zip(clean.ids(0), clean.scores[:2].tolist(), strict=True)) == [("y", 2.0), ("x", 3.0)]
    assert list(clean.ids(1)) == ["x", "z"]
    found = measure_batches(table({"q": {"x": 1}, "p": {"z": 1}}), [twice], SPECS)
    assert found.repeats == 2
    assert found.scores[MetricSpec.parse("mrr")].values.tolist() == [1.0, 0.5]


def test_a_topic_that_comes_back_is_noticed() -> None:
    part = {"q": [("x", 1.0)]}
    with pytest.raises(ScatteredTopics):
        measure_batches(table({"q": {"x": 1}}), [batch(part), batch(part)], SPECS)
    with pytest.raises(ScatteredTopics):
        measure_batches(table({"other": {"x": 1}}), [batch(part), batch(part)], SPECS)


def test_how_many_results_were_judged_is_known() -> None:
    assert whole({"q": {"x": 0, "y": 1}}, {"q": {"x": 1.0, "z": 2.0}}, *SPECS).judged_results == 1
    assert whole({"q": {"y": 1}}, {"q": {"x": 1.0}}, *SPECS).judged_results == 0


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -float("inf"), 1e39, None, "1.0"])
def test_a_score_that_orders_nothing_is_refused_by_name(score: float) -> None:
    with pytest.raises(BadValue, match="topic 'q', document 'b': the score"):
        over({"q": {"a": 1}}, {"q": {"a": 1.0, "b": score}}, "mrr")


@pytest.mark.parametrize("grade", [1.5, float("nan"), 1001, -1001, None, "x"])
def test_a_grade_that_is_no_grade_is_refused_by_name(grade: int) -> None:
    with pytest.raises(BadValue, match="topic 'q', document 'b': the grade"):
        over({"q": {"a": 1, "b": grade}}, {"q": {"a": 1.0}}, "mrr")


def test_whole_grades_of_another_type_are_fine() -> None:
    assert over({"q": {"a": 2.0, "b": True}}, {"q": {"b": 1, "a": 0}}, "ndcg").values[0] < 1.0  # type: ignore[dict-item]
    assert over({"q": {"a": 300}}, {"q": {"a": 1}}, "ndcg").values[0] == 1.0


@pytest.mark.parametrize(
    ("rules", "named"),
    [({"level": 0}, "relevance level 0"), ({"depth": 0}, "depth 0"), ({"absent": "zero"}, "absent 'zero'")],
)
def test_rules_that_mean_nothing_are_refused(rules: dict[str, object], named: str) -> None:
    with pytest.raises(BadValue, match=named):
        ScoringRules(**rules)  # type: ignore[arg-type] # the point of the test


def test_metrics_of_other_families_are_not_measured_from_rankings() -> None:
    with pytest.raises(BadValue, match="p95"):
        whole({"q": {"a": 1}}, {}, *parse_specs("mrr,p95"))
    with pytest.raises(BadValue, match="no metric"):
        whole({"q": {"a": 1}}, {})


def test_the_join_finds_every_key_and_no_other() -> None:
    rng = np.random.default_rng(1)
    known = rng.permutation(np.arange(5_000, dtype=np.uint64)) << np.uint64(3)  # crowded slots
    asked = rng.integers(0, 80_000, size=20_000).astype(np.uint64)
    found = find(asked, known)
    assert (found >= 0).tolist() == np.isin(asked, known).tolist()
    assert (known[found[found >= 0]] == asked[found >= 0]).all()
    assert find(asked, np.empty(0, np.uint64)).max() == -1
    assert find(np.empty(0, np.uint64), known).size == 0
