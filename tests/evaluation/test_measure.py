"""Run files against judgments: the numbers, what is told beside them, and what is not a number at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.errors import NothingMeasured
from assay.evaluation.measure import Measurement, MeasureRequest, dataset_hash, measure_files, with_judged
from assay.formats.trec import read_qrels, write_trec_qrels, write_trec_run
from assay.metrics.engine import ScoringRules
from assay.metrics.spec import MetricSpec, parse_specs

MRR = MetricSpec.parse("mrr")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_trec_qrels(tmp_path / "qrels", {"q1": {"a": 1, "b": 0}, "q2": {"a": 2}, "q3": {"c": 0}, "q4": {"a": 1}})
    good = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 1.0}, "q3": {"c": 1.0}, "q9": {"a": 1.0}}
    write_trec_run(tmp_path / "good.trec", good, "x")
    write_trec_run(tmp_path / "poor.trec.gz", {"q1": {"b": 2.0, "a": 1.0}, "q2": {"x": 2.0, "a": 1.0}}, "x")
    return tmp_path


def ask(folder: Path, *runs: str, metrics: str = "mrr", rules: ScoringRules | None = None) -> Measurement:
    return measure_files(
        MeasureRequest(
            qrels=folder / "qrels",
            runs=tuple(folder / run for run in runs),
            specs=parse_specs(metrics),
            rules=rules or ScoringRules(),
        )
    )


def test_one_run_is_measured_and_everything_on_one_side_is_told(folder: Path) -> None:
    found = ask(folder, "good.trec")
    assert found.runs[0].name == "good"
    assert found.runs[0].aggregates[MRR].value == pytest.approx(2 / 3)
    assert found.notes == (
        "good: 1 judged queries without results, counted as empty rankings: q4.",
        "good: 1 queries with results and without judgments, left out: q9.",
        "good: 1 queries with nothing relevant to find, not applicable.",
    )
    assert found.comparisons == ()


def test_queries_without_results_can_be_skipped(folder: Path) -> None:
    found = ask(folder, "good.trec", rules=ScoringRules(absent="skip"))
    one = found.runs[0].aggregates[MRR]
    assert (one.value, one.scored, one.best) == (1.0, 2, 1.0)
    assert one.worst == pytest.approx(2 / 3)
    assert "left out of the means: q4" in found.notes[0]


def test_judged_stands_beside_every_metric() -> None:
    names = [str(one) for one in with_judged(parse_specs("ndcg@10,mrr,recall@5,judged@5,success@1"))]
    assert names == ["ndcg@10", "mrr", "recall@5", "judged@5", "success@1", "judged@1", "judged@10", "judged"]


def test_two_runs_are_compared_query_by_query(folder: Path) -> None:
    found = ask(folder, "good.trec", "poor.trec.gz", metrics="mrr,recall@1")
    (one,) = found.comparisons
    assert (one.control, one.treatment) == ("good", "poor")
    assert one.metrics[MRR].delta == pytest.approx((0.5 - 1 + 0.5 - 1 + 0) / 3)
    assert one.metrics[MRR].score == (0, 1, 2)
    assert one.metrics[MRR].verdict == "unresolvable"
    assert (one.metrics[MRR].p_floor or 0.0) > 0.05


def test_a_comparison_is_the_same_every_time(folder: Path) -> None:
    rng = np.random.default_rng(3)
    qrels = {f"q{number}": {"d": 1} for number in range(60)}
    write_trec_qrels(folder / "qrels", qrels)
    for name in ("a", "b"):
        write_trec_run(folder / name, {topic: {"d": float(rng.random()), "x": 0.5} for topic in qrels}, "x")
    first, again = (ask(folder, "a", "b").comparisons for _ in range(2))
    assert first == again


def test_runs_of_one_name_are_told_apart(folder: Path) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "good.trec").write_bytes((folder / "good.trec").read_bytes())
    found = ask(folder, "good.trec", "other/good.trec", "good.trec")
    assert len({run.name for run in found.runs}) == 3


def test_lines_of_a_topic_that_stand_far_apart_count_together(folder: Path) -> None:
    filler = "".join(f"f{number} Q0 d{number} 1 1.0 x\n" for number in range(150_000))
    text = f"q1 Q0 b 1 2.0 x\n{filler}q1 Q0 a 1 3.0 x\n"
    (folder / "apart.trec").write_text(text, encoding="utf-8")
    found = ask(folder, "apart.trec")
    assert found.runs[0].measured.scores[MRR].values[0] == 1.0
    assert found.runs[0].measured.retrieved[0] == 2


def test_duplicates_and_negative_grades_are_told(folder: Path) -> None:
    (folder / "qrels").write_text("q 0 a 1\nq 0 b -1\nq 0 a 1\n", encoding="utf-8")
    (folder / "run").write_text("q Q0 a 1 1 x\nq Q0 a 2 0 x\n", encoding="utf-8")
    assert ask(folder, "run").notes == (
        "Judgments with a negative grade: 1. They count as unjudged, as in trec_eval.",
        "Judgments given twice with the same grade: 1. They count once.",
        "run: 1 results that repeat a document of their query; the better rank counts.",
    )


@pytest.mark.parametrize(
    ("run", "named", "remedy"),
    [
        ("", "holds no results", "at least one line"),
        ("# only a comment\n", "holds no results", "at least one line"),
        ("other Q0 a 1 1 x\n", "no query of", "The run has 'other', the qrels have 'q1'"),
        ("q1 Q0 z 1 1 x\n", "no document of", "The run has 'z', the qrels have 'a'"),
    ],
)
def test_what_matches_nothing_is_not_zero(folder: Path, run: str, named: str, remedy: str) -> None:
    (folder / "run").write_text(run, encoding="utf-8")
    with pytest.raises(NothingMeasured) as told:
        ask(folder, "run")
    assert named in told.value.message
    assert remedy in told.value.remedy
    assert told.value.exit_code == 2


def test_judgments_without_a_line_or_without_anything_relevant_measure_nothing(folder: Path) -> None:
    with pytest.raises(NothingMeasured, match="no query could be scored"):
        ask(folder, "good.trec", rules=ScoringRules(level=3))
    (folder / "qrels").write_text("", encoding="utf-8")
    with pytest.raises(NothingMeasured, match="holds no judgments"):
        ask(folder, "good.trec")


def test_the_identity_of_judgments_is_their_content(tmp_path: Path) -> None:
    texts = {
        "a": "q 0 x 1\nq 0 y 0\np 0 x 1\n",
        "b": "p 0 x 1\nq 0 y 0\nq 0 x 1\n",
        "grade": "q 0 x 1\nq 0 y 0\np 0 x 2\n",
        "topic": "q 0 x 1\nq 0 y 0\nr 0 x 1\n",
        "swapped": "q 0 x 0\nq 0 y 1\np 0 x 1\n",
    }
    hashes = {}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        hashes[name] = dataset_hash(read_qrels(tmp_path / name))
    assert hashes["a"] == hashes["b"]
    assert len(set(hashes.values())) == 4
