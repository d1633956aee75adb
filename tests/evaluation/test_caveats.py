"""What a reader must know beside a number, on every surface that shows the number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.telling import runner
from tests.systems.sample import Given, dataset, grades

from assay.evaluation.baselines import Baseline, load_baseline, write_baseline
from assay.evaluation.ci import junit, pull_request, summary
from assay.evaluation.comparison import compare_two
from assay.evaluation.gating import judge
from assay.evaluation.measure import Measurement, MeasureRequest, measure_files
from assay.evaluation.readings import reading_of
from assay.evaluation.reporting.building import gather
from assay.evaluation.reporting.markdown import markdown
from assay.evaluation.reporting.page import html_page
from assay.evaluation.results import RunResult, load_run
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import run
from assay.formats.trec import write_trec_qrels, write_trec_run
from assay.metrics.engine import ScoringRules
from assay.metrics.spec import parse_specs
from assay.records.datasets import Case
from assay.records.run_results import CaveatKind, caveats_about, read_caveat
from assay.systems.replies import read_reply
from assay.testing import FixedClock

QUERIES = 30
JUDGED = {
    f"q{number:02}": {**{f"r{place}": 1 for place in range(5)}, **{f"n{place}": 0 for place in range(5)}}
    for number in range(QUERIES)
}


def write_run(path: Path, documents: list[str]) -> None:
    scores = {document: float(len(documents) - place) for place, document in enumerate(documents)}
    write_trec_run(path, dict.fromkeys(JUDGED, scores), "x")


def measure(folder: Path, *names: str, metrics: str = "ndcg@10,precision@10", level: int = 1) -> Measurement:
    runs = tuple(folder / f"{name}.trec" for name in names)
    rules = ScoringRules(level=level)
    return measure_files(MeasureRequest(qrels=folder / "qrels", runs=runs, specs=parse_specs(metrics), rules=rules))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_trec_qrels(tmp_path / "qrels", JUDGED)
    write_run(tmp_path / "known.trec", [*(f"r{place}" for place in range(5)), *(f"n{place}" for place in range(5))])
    write_run(tmp_path / "fresh.trec", ["r0", "r1", *(f"unseen{place}" for place in range(8))])
    write_run(tmp_path / "worse.trec", ["r0", "r1", *(f"n{place}" for place in range(5)), "r2", "r3", "r4"])
    return tmp_path


def test_a_difference_that_unjudged_results_may_explain_gets_no_verdict(folder: Path) -> None:
    (comparison,) = measure(folder, "known", "fresh").comparisons
    assert {seen.verdict for seen in comparison.metrics.values()} == {"withheld"}
    assert all("never judged" in seen.sentence for seen in comparison.metrics.values())


def test_a_verdict_is_withheld_where_grade_2_is_the_lowest_relevant_one(folder: Path) -> None:
    graded = {query: {name: 2 * grade for name, grade in labels.items()} for query, labels in JUDGED.items()}
    write_trec_qrels(folder / "qrels", graded)
    found = measure(folder, "known", "fresh", level=2)
    assert {seen.verdict for seen in found.comparisons[0].metrics.values()} == {"withheld"}
    assert "precision@10 1.000 instead of 0.200" in found.caveats[-1].sentence


def test_a_loss_of_recall_is_withheld_where_new_relevant_documents_would_lower_the_other_run(folder: Path) -> None:
    """Recall 0.4 against 1.0; if the eight unseen documents were relevant, 10 of 13 against 5 of 13."""
    found = measure(folder, "known", "fresh", metrics="recall@10")
    assert {seen.verdict for seen in found.comparisons[0].metrics.values()} == {"withheld"}
    (caveat,) = caveats_about(measure(folder, "fresh", metrics="recall@10").caveats, CaveatKind.UNJUDGED)
    assert caveat.figures["if_relevant:recall@10"] == pytest.approx(10 / 13)
    assert caveat.figures["if_missed:recall@10"] == pytest.approx(2 / 13)


def test_a_loss_of_recall_that_unjudged_results_cannot_explain_keeps_its_verdict(folder: Path) -> None:
    write_run(folder / "poor.trec", ["unseen0", *(f"n{place}" for place in range(4))])
    found = measure(folder, "known", "poor", metrics="recall@10")
    assert {seen.verdict for seen in found.comparisons[0].metrics.values()} == {"worse"}


def test_only_unjudged_results_above_the_cutoff_count_in_the_caveat(folder: Path) -> None:
    """A recall@5 would fall, if it were divided by unjudged results that stand below the first five as well."""
    write_run(folder / "long.trec", ["r0", "r1", "r2", "r3", "unseen", *(f"below{place}" for place in range(20))])
    (caveat,) = caveats_about(measure(folder, "long", metrics="recall@5").caveats, CaveatKind.UNJUDGED)
    assert caveat.figures["if_relevant:recall@5"] == pytest.approx(5 / 6)
    assert "recall@5 0.833 instead of 0.800" in caveat.sentence


def test_a_loss_among_judged_results_keeps_its_verdict(folder: Path) -> None:
    (comparison,) = measure(folder, "known", "worse", metrics="ndcg@10").comparisons
    assert {seen.verdict for seen in comparison.metrics.values()} == {"worse"}


def test_where_only_relevant_documents_were_judged_a_caveat_has_to_do(folder: Path) -> None:
    relevant = {query: {name: grade for name, grade in labels.items() if grade} for query, labels in JUDGED.items()}
    write_trec_qrels(folder / "qrels", relevant)
    found = measure(folder, "known", "fresh")
    assert {seen.verdict for seen in found.comparisons[0].metrics.values()} == {"worse"}
    judged = [caveat.figures["judged@10"] for caveat in caveats_about(found.caveats, CaveatKind.UNJUDGED)]
    assert judged == pytest.approx([0.5, 0.2])


def test_unjudged_results_are_told_with_what_they_may_be_worth(folder: Path) -> None:
    (caveat,) = caveats_about(measure(folder, "fresh").caveats, CaveatKind.UNJUDGED)
    assert caveat.figures["judged@10"] == pytest.approx(0.2)
    assert caveat.figures["if_relevant:precision@10"] == pytest.approx(1.0)
    assert "80.0 % of the first 10 results were never judged" in caveat.sentence
    assert "precision@10 1.000 instead of 0.200" in caveat.sentence


def test_measured_ties_are_told_and_clear_scores_are_not(folder: Path) -> None:
    write_trec_run(folder / "tied.trec", {"q00": {"r0": 1.0, "n0": 1.0}, "q01": {"r0": 2.0, "n0": 1.0}}, "x")
    (caveat,) = caveats_about(measure(folder, "tied", metrics="mrr").caveats, CaveatKind.TIES)
    assert (caveat.count, caveat.of) == (1, QUERIES)
    assert not caveats_about(measure(folder, "known", metrics="mrr").caveats, CaveatKind.TIES)


def test_lists_shorter_than_the_cutoff_are_told(folder: Path) -> None:
    write_run(folder / "short.trec", ["r0", "n0"])
    (caveat,) = caveats_about(measure(folder, "short", metrics="precision@10").caveats, CaveatKind.SHORT_LISTS)
    assert (caveat.count, caveat.of) == (QUERIES, QUERIES)
    assert "fewer than 10 results (on average 2.0)" in caveat.sentence


def test_the_measure_command_says_it_in_words_and_in_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assay = runner(capsys)
    given = ["measure", "--qrels", str(folder / "qrels"), "--run", str(folder / "fresh.trec"), "-m", "precision@10"]
    assert "80.0 % of the first 10 results were never judged" in assay(*given).out
    assert "never judged" in assay(*given, "--quiet").out
    assert [caveat["kind"] for caveat in assay(*given, "--json").json["caveats"]] == ["unjudged"]


LISTS = {
    "q1": [("sauna", 1.0), ("pets", 1.0), ("pool", 1.0)],
    "q2": [("pool", 2.0), ("breakfast", 1.0)],
    "q3": [("pets", 1.0)],
    "q4": [("pets", 3.0), ("cellar", 2.0)],
}


@pytest.fixture
def result() -> RunResult:
    cases = dataset().cases
    extra = Case(id="q5", query="nothing judged", grades=grades(pool=0), answerable=False)
    given: dict[str, Any] = {**LISTS, "q5": [("pool", 1.0)]}
    system = Given(lambda case: read_reply(given[case.id]))
    return run(dataset(cases=(*cases, extra)), system, RunOptions(metrics=parse_specs("mrr,precision@3"), name="A"))


def test_a_run_tells_ties_short_lists_and_unjudged_results(result: RunResult) -> None:
    kinds = {caveat.kind for caveat in result.caveats}
    assert {CaveatKind.TIES, CaveatKind.SHORT_LISTS, CaveatKind.UNJUDGED, CaveatKind.NOT_APPLICABLE} <= kinds


def test_caveats_survive_the_run_folder_and_the_baseline_file(result: RunResult, tmp_path: Path) -> None:
    saved = load_run(result.save(tmp_path / "run").folder or tmp_path)
    assert saved.caveats == result.caveats
    blessed = Baseline(reading=reading_of(saved), blessed_at=FixedClock().now())
    write_baseline(tmp_path / "baseline.json", blessed)
    assert load_baseline(tmp_path / "baseline.json").reading.caveats == result.caveats


def test_notes_of_version_0_1_are_read_as_caveats() -> None:
    assert read_caveat("2 cases ended with error: q1, q2.").kind is CaveatKind.OTHER


def test_every_offline_surface_prints_every_caveat(result: RunResult) -> None:
    reading = reading_of(result)
    compared = compare_two(reading, reading)
    verdict = judge(reading, reading)
    report = gather(result)
    shown = {
        "compare": " ".join(caveat.sentence for caveat in compared.caveats),
        "gate": json.dumps(verdict.as_json()),
        "junit": junit(verdict),
        "comment": pull_request(verdict, compared),
        "summary": summary(verdict, compared),
        "report.md": markdown(report),
        "report.html": html_page(report),
        "metrics.json": json.dumps(report.metrics_json),
    }
    for caveat in result.caveats:
        start = caveat.sentence[:20].replace("%", "")
        missing = [name for name, text in shown.items() if start not in text.replace("%", "").replace("\\", "")]
        assert not missing, f"{caveat.kind} is missing in {missing}"
    assert len(compared.caveats) == len(result.caveats), "what holds for both runs is said once"
