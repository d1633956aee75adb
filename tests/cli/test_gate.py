"""`assay compare`, `assay gate` and `assay baseline` as a person and a build server use them: on runs in folders."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tests.cli.telling import Run, runner
from tests.evaluation.made import golden, good, kept, nothing, poor, run_of

from assay.formats.golden import write_golden

RUNS = Path(".assay/runs")
CASES = 30


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    kept(run_of(golden(), [good(n) for n in range(CASES)], name="old", run_id="run-1"), RUNS)
    kept(run_of(golden(), [poor(n) if n % 2 else good(n) for n in range(CASES)], name="worse", run_id="run-2"), RUNS)
    told = runner(capsys)
    assert told("baseline", "bless", "old", "--note", "the first").code == 0
    return told


def test_a_run_as_good_as_its_baseline_passes_with_exit_0(run: Run) -> None:
    told = run("gate", "old")
    assert told.code == 0
    assert told.out.startswith("PASS  all ")
    assert "ndcg@5 stands at 1.00 as in the baseline" in told.out


def test_a_regression_is_exit_1_with_the_reason_first(run: Run) -> None:
    told = run("gate")
    assert told.code == 1
    lines = told.out.splitlines()
    assert lines[0].startswith("FAIL  mrr fell from 1.00 to ")
    assert ["PASS", "7", "other", "rules"] in [line.split() for line in lines]
    assert "stands at" in run("gate", "--verbose").out


def test_a_missing_baseline_a_mistyped_one_and_another_instrument_are_exit_2(run: Run, tmp_path: Path) -> None:
    assert run("gate", "--baseline", "baselin.json").code == 2
    assert run("gate", "--baseline", "odl").code == 2
    (tmp_path / "typo.json").write_text('{"kind": "assay baselin"}', encoding="utf-8")
    assert run("gate", "--baseline", "typo.json").code == 2
    kept(run_of(golden(20), [good(n) for n in range(20)], name="other", run_id="run-3"), RUNS)
    told = run("gate", "other", "--json")
    assert (told.code, told.json["error"]["code"]) == (2, "not_comparable")
    assert "dataset: sha256:" in told.json["error"]["message"]


def test_a_drop_that_may_be_chance_is_exit_2_and_with_strict_exit_1(run: Run) -> None:
    lists = [poor(n) if n in {3, 7, 9} else good(n) for n in range(CASES)]
    kept(run_of(golden(), lists, name="maybe", run_id="run-4"), RUNS)
    told = run("gate", "maybe")
    assert told.code == 2
    assert told.out.startswith("INCONCLUSIVE  mrr fell from 1.00 to ")
    assert run("gate", "maybe", "--strict").code == 1


def test_a_run_in_which_nothing_was_scored_is_exit_2(run: Run) -> None:
    kept(run_of(golden(), [None] * CASES, name="broken", run_id="run-5"), RUNS)
    assert run("gate", "broken").code == 2
    assert run("baseline", "bless", "broken").code == 2


def test_lost_cases_keep_a_gate_from_passing_unless_they_are_allowed(run: Run) -> None:
    lists = [nothing(n) if n == 3 else good(n) for n in range(CASES)]
    kept(run_of(golden(), lists, name="lossy", run_id="run-6"), RUNS)
    told = run("gate", "lossy")
    assert (told.code, "1 case lost since the baseline (by recall@5; 0 gained): q03" in told.out) == (2, True)
    assert "chance alone does this with p = 0.5: repeat both runs (--repeat 3)" in told.out
    assert run("gate", "lossy", "--strict").code == 1
    assert run("gate", "lossy", "--allow-lost", "1").code == 0
    worse = [nothing(n) if n < 5 else good(n) for n in range(CASES)]
    kept(run_of(golden(), worse, name="lossier", run_id="run-6b"), RUNS)
    assert run("gate", "lossier").code == 1


def test_floors_of_the_settings_file_are_in_force_without_a_baseline(run: Run, tmp_path: Path) -> None:
    assert run("gate", "worse", "--no-baseline").code == 2, "nothing is asked of quality yet"
    (tmp_path / "assay.toml").write_text('[floors]\n"mrr" = 0.5\n', encoding="utf-8")
    assert run("gate", "worse", "--no-baseline").code == 0
    (tmp_path / "assay.toml").write_text('[floors]\n"mrr" = 0.9\nerror_rate = 0.0\n', encoding="utf-8")
    told = run("gate", "worse", "--no-baseline")
    assert told.code == 1
    assert "is under the floor 0.90" in told.out
    (tmp_path / "assay.toml").write_text('[floors]\n"mrrr" = 0.9\n', encoding="utf-8")
    assert run("gate", "worse", "--no-baseline").code == 3


def test_the_words_of_a_lost_case_come_from_its_dataset(run: Run, tmp_path: Path) -> None:
    write_golden(tmp_path / "golden.json", golden())
    assert run("dataset", "import", "golden.json", "--name", "docs").code == 0
    lists = [nothing(n) if n == 3 else good(n) for n in range(CASES)]
    kept(run_of(golden(), lists, name="lossy", run_id="run-7"), RUNS)
    assert 'q03 "question 3"' in run("gate", "lossy").out


def test_every_file_of_a_build_is_written_also_when_nothing_can_be_compared(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "step.md"))
    files = ("--junit", "gate.xml", "--summary", "--comment", "comment.md", "--sarif", "gate.sarif")
    assert run("gate", *files).code == 1
    suite = ET.parse(tmp_path / "gate.xml").getroot()
    assert (suite.get("failures"), suite.get("errors")) == ("2", "0")
    assert (tmp_path / "step.md").read_text(encoding="utf-8").startswith("## Assay gate: FAIL")
    assert json.loads((tmp_path / "gate.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    assert run("gate", *files, "--baseline", "gone.json").code == 2
    suite = ET.parse(tmp_path / "gate.xml").getroot()
    assert (suite.get("failures"), suite.get("errors")) == ("0", "1")
    assert "## Assay gate: INCONCLUSIVE" in (tmp_path / "comment.md").read_text(encoding="utf-8")


def test_the_step_summary_needs_its_variable(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert run("gate", "--summary").code == 3


def test_the_verdict_for_machines_holds_every_rule_with_its_evidence(run: Run) -> None:
    told = run("gate", "--json")
    assert told.code == 1
    assert (told.json["status"], told.json["passed"], told.json["baseline"]) == ("fail", False, "old")
    found = {(one["rule"], one["about"]): one for one in told.json["rules"]}
    assert found["relative", "mrr"]["evidence"]["before"] == 1.0
    assert {one["status"] for one in told.json["rules"]} <= {"pass", "fail", "inconclusive", "not_applicable"}


def test_the_self_test_tells_false_alarms_and_what_cannot_be_seen(run: Run) -> None:
    told = run("gate", "--self-test", "--replays", "50")
    assert told.code == 0
    assert "false alarms in 50 replays" in told.out
    for rule in ("relative", "lost cases", "latency", "failures"):
        assert f"\n  {rule}: " in told.out
    assert run("gate", "--self-test", "--replays", "10", "--json").json["rules"].keys() >= {"relative", "lost cases"}
    assert "ndcg@5: this set cannot see less than " in told.out
    assert run("gate", "old", "--self-test").code == 2, "a run and its own baseline show nothing"


def test_a_self_test_takes_no_files_to_write(run: Run, tmp_path: Path) -> None:
    (tmp_path / "gate.xml").write_text("last week", encoding="utf-8")
    told = run("gate", "--self-test", "--junit", "gate.xml")
    assert (told.code, "gate.xml" in told.err) == (3, True)


def test_a_comparison_shows_the_table_what_changed_what_moved_lists_and_times(run: Run) -> None:
    told = run("compare", "old", "worse")
    assert told.code == 0
    head = told.out.splitlines()[0]
    assert head.split()[:3] == ["metric", "old", "worse"]
    assert "worse - old [95 %]" in head
    for part in ("What changed", "system: old -> worse", "Moved most (ndcg@5)", "q01", "RBO", "Latency (ms", "p95"):
        assert part in told.out
    assert run("compare", "old", "worse", "old", "--json").json["comparisons"][1]["metrics"]["mrr"]["delta"] == 0.0


def test_a_baseline_file_can_be_compared_and_other_instruments_are_exit_2(run: Run) -> None:
    assert run("compare", "baseline.json", "worse").code == 0
    kept(run_of(golden(20), [good(n) for n in range(20)], name="other", run_id="run-8"), RUNS)
    assert run("compare", "old", "other").code == 2
    assert run("compare", "old").code == 2
    assert run("compare", "old", "nobody").code == 3


def test_a_baseline_is_shown_and_never_written_by_anything_but_bless(run: Run, tmp_path: Path) -> None:
    before = (tmp_path / "baseline.json").read_bytes()
    run("gate")
    run("compare", "old", "worse")
    assert (tmp_path / "baseline.json").read_bytes() == before
    told = run("baseline", "show")
    assert told.out.startswith("old on docs 1.0.0, 30 cases, blessed ")
    assert "(the first)" in told.out
    assert "latency p95" in told.out
    assert run("baseline", "show", "--json").json["metrics"]["mrr"] == 1.0
    assert run("baseline", "show", "--file", "gone.json").code == 2


def test_a_fresh_clone_needs_the_baseline_file_and_the_new_run_alone(run: Run, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    kept(run_of(golden(), [poor(n) for n in range(CASES)], name="new"), clone)
    (clone / "baseline.json").write_bytes((tmp_path / "baseline.json").read_bytes())
    told = run("gate", "--runs", str(clone), "--baseline", str(clone / "baseline.json"))
    assert told.code == 1


def test_one_metric_can_be_named_to_decide_on_the_command_line_and_in_the_settings(run: Run, tmp_path: Path) -> None:
    lists = [poor(n) if n in {3, 7, 9, 11, 13, 15} else good(n) for n in range(CASES)]
    kept(run_of(golden(), lists, name="six", run_id="run-9"), RUNS)
    assert run("gate", "six", "--metric", "mrr").code == 1
    alone = run("gate", "six", "--metric", "recall@5", "--json")
    assert alone.code == 0
    beside = next(one for one in alone.json["rules"] if one["about"] == "mrr")
    assert (beside["status"], beside["rule"]) == ("not_applicable", "relative")
    (tmp_path / "assay.toml").write_text('[gate]\nmetric = "recall@5"\n', encoding="utf-8")
    assert run("gate", "six").code == 0
    assert run("gate", "six", "--metric", "mrr").code == 1
    assert run("gate", "six", "--metric", "p95").code == 2


def test_a_gate_that_asks_nothing_of_quality_is_undecided_in_every_output(run: Run, tmp_path: Path) -> None:
    kept(run_of(golden(), [nothing(n) for n in range(CASES)], name="bad", run_id="run-9"), RUNS)
    files = ("--junit", "gate.xml", "--comment", "comment.md", "--sarif", "gate.sarif")
    told = run("gate", "bad", "--no-baseline", "--json", *files)
    assert (told.code, told.json["status"], told.json["passed"]) == (2, "inconclusive", False)
    said = next(one["sentence"] for one in told.json["rules"] if one["rule"] == "quality")
    assert said.startswith("nothing is asked of quality (recall@5 is 0.000, ")
    assert "assay baseline bless" in said
    assert "[floors] in assay.toml" in said
    assert "## Assay gate: INCONCLUSIVE" in (tmp_path / "comment.md").read_text(encoding="utf-8")
    assert ET.parse(tmp_path / "gate.xml").getroot().get("errors") == "1"


@pytest.mark.parametrize("floors", ["p95 = 10000", "error_rate = 0.1", '"recall@5" = 0.0'])
def test_a_floor_that_no_bad_result_misses_asks_nothing_of_quality(run: Run, tmp_path: Path, floors: str) -> None:
    kept(run_of(golden(), [nothing(n) for n in range(CASES)], name="bad", run_id="run-9"), RUNS)
    (tmp_path / "assay.toml").write_text(f"[floors]\n{floors}\n", encoding="utf-8")
    assert run("gate", "bad", "--no-baseline").code == 2


@pytest.mark.parametrize(
    "floors",
    ['"recall@5" = nan', '"recall@5" = inf', '"recall@5" = -5', '"recall@5" = 1.2', "p95 = -1", '"recall@5" = "0.9"'],
)
def test_a_floor_out_of_range_is_refused_by_every_command_that_reads_floors(
    run: Run, tmp_path: Path, floors: str
) -> None:
    (tmp_path / "assay.toml").write_text(f"[floors]\n{floors}\n", encoding="utf-8")
    for command in (("gate", "old"), ("gate", "--self-test"), ("report", "old"), ("run", "hotel", "-s", "run:no.trec")):
        told = run(*command, "--json")
        assert told.code == 3, command
        assert "floor" in told.json["error"]["message"], command


def test_a_floor_of_the_dataset_out_of_range_is_refused_before_the_run(run: Run, tmp_path: Path) -> None:
    write_golden(tmp_path / "golden.json", golden(floors={"recall@5": 5.0}))
    (tmp_path / "mine.py").write_text("def search(query, k):\n    return ['d0-0']\n", encoding="utf-8")
    told = run("run", "golden.json", "-s", "python:mine:search", "--json")
    assert (told.code, "the floor 5 of recall@5 is outside" in told.json["error"]["message"]) == (3, True)
    assert "floors" in run("dataset", "check", "golden.json").out


OUTPUTS = ("--junit", "gate.xml", "--comment", "comment.md", "--sarif", "gate.sarif")


@pytest.fixture
def last_week(run: Run) -> Run:
    """A gate that passed has left its files."""
    assert run("gate", "old", *OUTPUTS).code == 0
    return run


def says_refused(reason: str) -> None:
    """No file of the gate says PASS, and each names the reason."""
    suite = ET.parse("gate.xml").getroot()
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")
    assert reason in str(next(suite.iter("error")).get("message"))
    comment = Path("comment.md").read_text(encoding="utf-8").replace("\\", "")
    assert "Assay gate: INCONCLUSIVE" in comment
    assert reason in comment
    (found,) = json.loads(Path("gate.sarif").read_text(encoding="utf-8"))["runs"]
    (invocation,) = found["invocations"]
    assert (found["results"], invocation["executionSuccessful"]) == ([], False)
    assert reason in invocation["toolExecutionNotifications"][0]["message"]["text"]


def test_a_missing_run_replaces_the_files_of_the_gate_before(last_week: Run) -> None:
    assert last_week("gate", "no-such-run", *OUTPUTS).code != 0
    says_refused("no run 'no-such-run'")


def test_a_missing_baseline_replaces_the_files_of_the_gate_before(last_week: Run) -> None:
    assert last_week("gate", "old", "--baseline", "gone.json", *OUTPUTS).code == 2
    says_refused("there is no baseline gone.json")


def test_settings_that_cannot_be_read_replace_the_files_of_the_gate_before(last_week: Run, tmp_path: Path) -> None:
    (tmp_path / "assay.toml").write_text("floors = 3\n", encoding="utf-8")
    assert last_week("gate", "old", *OUTPUTS).code == 3
    says_refused("floors")


def test_a_floor_that_cannot_be_asked_replaces_the_files_of_the_gate_before(last_week: Run, tmp_path: Path) -> None:
    (tmp_path / "assay.toml").write_text("[floors]\nmrr = 7\n", encoding="utf-8")
    assert last_week("gate", "old", *OUTPUTS).code == 3
    says_refused("the floor 7 of mrr")


def test_a_summary_without_its_variable_replaces_the_files_of_the_gate_before(
    last_week: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert last_week("gate", "old", "--summary", *OUTPUTS).code == 3
    says_refused("GITHUB_STEP_SUMMARY is not set")


def test_a_gate_over_a_folder_without_runs_writes_its_files(run: Run) -> None:
    assert run("gate", "--runs", "empty", *OUTPUTS).code != 0
    says_refused("empty holds no runs")


def test_a_mistyped_baseline_is_told_with_the_names_that_are_near(run: Run) -> None:
    assert "Did you mean baseline.json?" in run("gate", "--baseline", "baselin.json").err
    assert "Did you mean old?" in run("gate", "--baseline", "odl").err
    assert "Did you mean" not in run("gate", "--baseline", "nothing-like-it.json").err
    assert "Did you mean baseline.json?" in run("baseline", "show", "--file", "basline.json").err
    assert "Did you mean baseline.json?" in run("compare", "baselin.json", "old").err


def test_cases_that_were_deleted_from_the_dataset_are_named(run: Run) -> None:
    kept(run_of(golden(24), [good(n) for n in range(24)], name="easier", run_id="run-3"), RUNS)
    told = run("gate", "easier", *OUTPUTS)
    assert told.code == 2
    missing = "6 cases of old are missing in easier: q24, q25, q26, q27, q28 and 1 more"
    assert missing in told.err
    says_refused(missing)
    assert missing in run("compare", "old", "easier").err
    assert "6 cases of easier are not in old: q24" not in told.err


def test_a_run_under_its_floors_is_not_blessed_unless_somebody_says_why(run: Run, tmp_path: Path) -> None:
    (tmp_path / "assay.toml").write_text('[floors]\n"mrr" = 0.9\n', encoding="utf-8")
    before = (tmp_path / "baseline.json").read_bytes()
    told = run("baseline", "bless", "worse", "--json")
    assert (told.code, told.json["error"]["code"]) == (2, "not_ready")
    assert "is under the floor 0.90" in told.json["error"]["message"]
    assert (tmp_path / "baseline.json").read_bytes() == before
    told = run("baseline", "bless", "worse", "--despite", "the catalogue was cut in half")
    assert (told.code, "although mrr" in told.out) == (0, True)
    assert "the catalogue was cut in half" in run("baseline", "show").out
    assert "the catalogue was cut in half" in run("gate", "worse").out + run("gate", "worse").err


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (("--nonsense",), "--nonsense"),
        (("--seed", "x"), "--seed"),
        (("--allow-lost", "-1"), "--allow-lost"),
        (("old", "worse", "extra"), "worse"),
    ],
)
def test_a_command_line_that_cannot_be_read_replaces_the_files_of_the_gate_before(
    last_week: Run, wrong: tuple[str, ...], reason: str
) -> None:
    assert last_week("gate", *wrong, "--junit=gate.xml", *OUTPUTS[2:]).code == 3
    says_refused(reason)


def test_a_command_line_that_cannot_be_read_and_names_no_files_writes_none(run: Run) -> None:
    before = sorted(Path().iterdir())
    assert run("gate", "--nonsense").code == 3
    assert sorted(Path().iterdir()) == before
