"""`assay measure` and `assay metrics` as a person uses them: in process, through `main`, on files."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.cli.telling import Run, runner

from assay.formats.trec import write_beir_qrels, write_trec_qrels, write_trec_run
from assay.metrics.catalog import entries


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(11)
    qrels = {f"q{t}": {f"d{one}": int(rng.integers(0, 4)) for one in rng.permutation(30)[:9]} for t in range(21)}
    qrels["q0"]["d1"] = 3
    write_trec_qrels(tmp_path / "qrels", qrels)
    write_beir_qrels(tmp_path / "qrels.tsv", qrels)
    for name, noise in (("a.trec", 3.0), ("b.trec.gz", 1.0)):
        scores = {
            topic: {f"d{one}": row.get(f"d{one}", 0) + noise * float(rng.random()) for one in range(30)}
            for topic, row in qrels.items()
        }
        write_trec_run(tmp_path / name, scores, "x")
    return runner(capsys)


def test_one_run_has_values_intervals_and_counts(run: Run) -> None:
    told = run("measure", "--qrels", "qrels", "--run", "a.trec")
    assert told.code == 0
    head, first, *_ = told.out.splitlines()
    assert head.split() == ["metric", "a", "[95", "%]", "scored", "not", "scored", "worst", "to", "best"]
    assert first.startswith("ndcg@10 ")
    assert "judged@10" in told.out
    assert "21 queries, 190 judgments, relevant from grade 1." in told.out


def test_two_runs_are_compared_in_one_table(run: Run) -> None:
    told = run("measure", "--qrels", "qrels", "--run", "a.trec", "--run", "b.trec.gz", "--metrics", "ndcg@10,mrr")
    assert told.code == 0
    head, first, *_ = told.out.splitlines()
    assert "b - a [95 %]" in head
    assert "p (Holm)" in head
    assert "wins/ties/losses" in head
    assert "/" in first
    assert "+0." in first


def test_a_table_is_never_cut_to_the_width_of_the_screen(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    told = run("measure", "--qrels", "qrels", "--run", "a.trec", "--run", "b.trec.gz")
    assert "…" not in told.out
    assert "wins/ties/losses" in told.out


def test_beir_and_trec_judgments_give_the_same_numbers(run: Run) -> None:
    trec = run("measure", "--qrels", "qrels", "--run", "a.trec", "--json").json
    beir = run("measure", "--qrels", "qrels.tsv", "--run", "a.trec", "--json").json
    assert trec["runs"] == beir["runs"]
    assert trec["dataset"] == beir["dataset"]


def test_the_json_has_everything(run: Run) -> None:
    told = run("measure", "--qrels", "qrels", "--run", "a.trec", "--run", "b.trec.gz", "--per-query", "--json").json
    assert {"qrels", "queries", "judgments", "dataset", "runs", "comparisons", "caveats"} < set(told)
    one = told["runs"][0]["metrics"]["ndcg@10"]
    assert one["scored"] + sum(one["others"].values()) == 21
    assert one["interval"][0] < one["value"] < one["interval"][1]
    assert one["fingerprint"].startswith("sha256:")
    assert len(told["runs"][0]["per_query"]["ndcg@10"]) == 21
    seen = told["comparisons"][0]["metrics"]["ndcg@10"]
    assert seen["wins"] + seen["ties"] + seen["losses"] == seen["n"]
    assert 0 < seen["p_floor"] <= seen["p"] <= 1
    assert seen["minimum_detectable_effect"] > 0


def test_per_query_values_come_first_and_are_for_programs(run: Run) -> None:
    told = run("measure", "--qrels", "qrels", "--run", "a.trec", "--metrics", "mrr", "--per-query", "-l", "3")
    rows = [line.split("\t") for line in told.out.splitlines()[:22]]
    assert rows[0] == ["metric", "query", "a"]
    assert [row[1] for row in rows[1:]] == [f"q{number}" for number in range(21)]
    assert all(row[2] == "not_applicable" or 0 <= float(row[2]) <= 1 for row in rows[1:])


def test_the_options_that_move_numbers_are_stored_with_them(run: Run) -> None:
    base = run("measure", "--qrels", "qrels", "--run", "a.trec", "--json").json
    told = run(
        "measure",
        "--qrels",
        "qrels",
        "--run",
        "a.trec",
        "--relevance-level",
        "2",
        "--depth",
        "5",
        "--absent",
        "skip",
        "--json",
    ).json
    assert (told["relevance_level"], told["depth"], told["absent"]) == (2, 5, "skip")
    prints = [one["runs"][0]["metrics"]["ndcg@10"]["fingerprint"] for one in (base, told)]
    assert prints[0] != prints[1]


@pytest.mark.parametrize(
    ("content", "code", "named"),
    [
        (b"", 2, "holds no results"),
        (b"nobody Q0 d1 1 1 x\n", 2, "no query of"),
        (b"q0 Q0 nothing 1 1 x\n", 2, "no document of"),
        (b"q0 Q0 d1 1\n", 3, "bad.trec, line 1: has 4 fields, not 6"),
        (b"q0 Q0 d1 1 nan x\n", 3, "the score 'nan'"),
        (b"q0 Q0 d1 1 inf x\n", 3, "the score 'inf'"),
        (b"q0 Q0 d\xe9 1 1 x\n", 3, "is not UTF-8"),
        (gzip.compress(b"q0 Q0 d1 1 1 x\n" * 99, mtime=0)[:-9], 3, "cannot be unpacked"),
    ],
)
def test_a_bad_run_ends_with_its_code_and_one_error(run: Run, content: bytes, code: int, named: str) -> None:
    Path("bad.trec").write_bytes(content)
    plain = run("measure", "--qrels", "qrels", "--run", "a.trec", "--run", "bad.trec")
    machine = run("measure", "--qrels", "qrels", "--run", "bad.trec", "--json")
    assert (plain.code, machine.code) == (code, code)
    assert named in plain.err
    assert plain.out == ""
    assert set(machine.json["error"]) == {"code", "message", "remedy"}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--qrels", "nowhere", "--run", "a.trec"), "nowhere cannot be read"),
        (("--qrels", ".", "--run", "a.trec"), "is a folder"),
        (("--qrels", "qrels"), "--run"),
        (("--run", "a.trec"), "--qrels"),
        (
            ("--qrels", "qrels", "--run", "a.trec", "--metrics", "ndgc@10,map"),
            "close names: ndcg; unknown metric 'map'",
        ),
        (("--qrels", "qrels", "--run", "a.trec", "--metrics", "p95"), "not measured from rankings: p95"),
        (("--qrels", "qrels", "--run", "a.trec", "-l", "0"), "relevance level 0"),
        (("--qrels", "qrels", "--run", "a.trec", "--depth", "0"), "depth 0"),
        (("--qrels", "qrels", "--run", "a.trec", "--absent", "zero"), "absent 'zero'"),
    ],
)
def test_wrong_use_is_named(run: Run, arguments: tuple[str, ...], named: str) -> None:
    told = run("measure", *arguments)
    assert told.code == 3
    assert named in told.err


def test_the_catalog_is_shown_as_a_table_and_as_json(run: Run) -> None:
    shown = run("metrics").out
    assert all(entry.name in shown for entry in entries())
    catalog = run("metrics", "--json").json
    assert [metric["name"] for metric in catalog["metrics"]] == [entry.name for entry in entries()]
    assert catalog["problems"] == []


@pytest.mark.parametrize("name", ["ndcg", "ndcg@10", "ndcg(gain=exp)@10"])
def test_one_metric_is_shown_in_full(run: Run, name: str) -> None:
    told = run("metrics", name)
    assert "Formula" in told.out
    assert "Järvelin" in told.out
    assert run("metrics", name, "--json").json["name"] == "ndcg"


def test_an_unknown_metric_is_told_with_near_names(run: Run) -> None:
    told = run("metrics", "ndgc")
    assert told.code == 3
    assert "close names: ndcg" in told.err


def test_measuring_loads_no_store() -> None:
    code = (
        "import sys\nfrom assay.cli.main import main\n"
        "try: main(['measure', '--qrels', 'x', '--run', 'y'])\nexcept SystemExit: pass\n"
        "print(sorted(sys.modules), file=sys.stdout)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "'numpy'" in told.stdout
    assert "'sqlalchemy'" not in told.stdout
    assert "'assay.storage'" not in told.stdout
