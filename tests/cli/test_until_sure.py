"""`assay run --until-sure` as a person uses it: what it prints, how it goes on, and who refuses the run afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.telling import Run
from tests.evaluation.made import golden

from assay.formats.golden import write_golden

ENGINE = """
import pathlib, re, time
def case(query):
    return re.search(r"[0-9]+", query)[0]
def good(query, k):
    return [f"d{case(query)}-{place}" for place in (0, 1, 2, 3, 4)][:k]
def poor(query, k):
    return [f"d{case(query)}-{place}" for place in (3, 4, 2, 1, 0)][:k]
asked = []
def hanging(query, k):
    asked.append(query)
    while len(asked) > 4 and not pathlib.Path("go").exists():
        time.sleep(0.05)
    return good(query, k)
"""
SURE = ("run", "golden.json", "-s", "python:sure_engine:good", "--until-sure", "--against", "poor", "--name", "sure")


@pytest.fixture
def measured(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A dataset, an engine, and the run `poor`, which is the baseline."""
    write_golden(tmp_path / "golden.json", golden(60))
    (tmp_path / "sure_engine.py").write_text(ENGINE, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "sure_engine", raising=False)
    assert run("run", "golden.json", "-s", "python:sure_engine:poor", "--name", "poor").code == 0
    return run


def test_it_stops_says_why_and_nothing_takes_it_for_a_full_run(measured: Run, tmp_path: Path) -> None:
    told = measured(*SURE)
    assert told.code == 0, told.err
    assert "Stopped early after" in told.out + told.err
    assert "better than poor by ndcg" in told.out + told.err
    again = measured("run", "golden.json", "--resume", "sure", "--json")
    (shown,) = again.json["runs"]
    assert [caveat["kind"] for caveat in shown["caveats"]].count("stopped_early") == 1
    assert 0 < shown["counts"]["ok"] < 40
    blessed = measured("baseline", "bless", "sure")
    assert (blessed.code, "was ended by --until-sure" in blessed.err) == (2, True)
    assert not (tmp_path / "baseline.json").exists()
    assert measured("baseline", "bless", "sure", "--despite", "a try").code == 0
    gated = measured("gate", "sure", "--baseline", "poor")
    # Latency may fail it besides: times of so small a system are noise.
    assert (gated.code in (1, 2), "INCONCLUSIVE  the run sure was ended by --until-sure" in gated.out) == (True, True)
    assert "Withheld" in measured("compare", "poor", "sure").out
    refused = measured(*SURE[:-3], "baseline.json")
    assert (refused.code, "was itself stopped early" in refused.err) == (2, True)


def test_a_report_of_it_is_no_pass_and_says_so_in_words(measured: Run, tmp_path: Path) -> None:
    assert measured(*SURE).code == 0
    told = measured("report", "sure", "--baseline", "poor", "--html", "--name", "sure")
    assert told.out.startswith(("INCONCLUSIVE", "FAIL  latency")), told.out
    for file in ("sure.md", "sure.html"):
        assert "Stopped early after" in (tmp_path / "reports" / file).read_text(encoding="utf-8"), file


def test_the_seed_chooses_another_order_against_a_baseline_file(measured: Run, tmp_path: Path) -> None:
    assert measured("baseline", "bless", "poor").code == 0
    against = [*SURE[:6], "baseline.json", "--name"]
    for seed in ("1", "2"):
        told = measured(*against, f"seed{seed}", "--seed", seed)
        assert "better than poor by ndcg" in told.out + told.err
    manifests = [json.loads(path.read_text()) for path in sorted(tmp_path.glob(".assay/runs/*/manifest.json"))[1:]]
    assert [manifest["until_sure"]["seed"] for manifest in manifests] == [1, 2]
    assert manifests[0]["case_ids"] != manifests[1]["case_ids"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--until-sure",), 3, "--against is missing"),
        (("--against", "poor"), 3, "--until-sure is missing"),
        (("--until-sure", "--against", "nowhere.json"), 2, "there is no baseline nowhere.json"),
        (("--until-sure", "--against", "poor", "--resume", "latest"), 3, "fixed when a run begins"),
        (("--until-sure", "--against", "poor", "-m", "p95"), 3, "cannot decide by p95"),
    ],
)
def test_wrong_use_is_told_with_what_to_do(measured: Run, arguments: tuple[str, ...], code: int, said: str) -> None:
    told = measured("run", "golden.json", "-s", "python:sure_engine:good", *arguments)
    assert (told.code, said in told.err) == (code, True), told.err


@pytest.mark.slow
def test_after_ctrl_c_it_goes_on_to_the_same_decision(measured: Run, tmp_path: Path) -> None:
    (whole,) = measured(*SURE, "--json").json["runs"]
    hanging = [*SURE[:3], "python:sure_engine:hanging", *SURE[4:-1], "stopped", "--timeout", "600"]
    child = subprocess.Popen([sys.executable, "-m", "assay", *hanging], stderr=subprocess.PIPE, text=True)
    before = set(tmp_path.glob(".assay/runs/*/cases.jsonl"))
    cases: set[Path] = set()
    while child.poll() is None and not any(path.read_bytes().count(b"\n") == 4 for path in cases):
        cases = set(tmp_path.glob(".assay/runs/*/cases.jsonl")) - before
        os.sched_yield()
    child.send_signal(signal.SIGINT)
    _, told = child.communicate()
    assert child.returncode == 130
    assert "Go on with: assay run golden.json --resume" in told
    (tmp_path / "go").touch()
    (result,) = measured("run", "golden.json", "--resume", "stopped", "--json").json["runs"]
    assert result["result_hash"] == whole["result_hash"]
    assert result["counts"]["ok"] == whole["counts"]["ok"]
