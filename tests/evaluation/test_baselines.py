"""The baseline file: what is written is what is read, and anything else is refused with exit code 2."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.made import golden, good, poor, reading, run_of

from assay.errors import BadValue, BrokenSeal, InputError, NoBaseline
from assay.evaluation.baselines import Baseline, baseline_json, load_baseline, write_baseline
from assay.evaluation.gating import Status, judge
from assay.evaluation.readings import Reading, reading_of
from assay.evaluation.running.files import add_seal
from assay.metrics.outcomes import not_applicable, system_failed
from assay.records.evaluations import CaseStatus

AT = datetime(2026, 1, 4, 12, tzinfo=UTC)
WHOLE = reading(
    {
        "mrr": {"b": 1 / 3, "a": 0.1, "c": system_failed("it broke")},
        "recall@5": {"b": 1.0, "a": 0.0, "c": not_applicable("nothing")},
    },
    times={"a": (1.25, 2.0), "b": (3.0,)},
    statuses={"b": (CaseStatus.OK,), "a": (CaseStatus.OK, CaseStatus.OK), "c": (CaseStatus.TIMEOUT,)},
    noise={"mrr": {"a": 0.05}},
    channels={"fts5": 2},
    queries={"a": "where is\nmy <badge>? \u2603"},
    floors={"mrr": 0.2},
)


def kept(path: Path, run: Reading) -> Baseline:
    write_baseline(path, Baseline(reading=run, blessed_at=AT, note="first"))
    return load_baseline(path)


def test_everything_the_paired_test_needs_comes_back_to_the_last_digit(tmp_path: Path) -> None:
    found = kept(tmp_path / "baseline.json", WHOLE)
    assert (found.blessed_at, found.note) == (AT, "first")
    for metric in WHOLE.metrics:
        assert found.reading.values(metric) == WHOLE.values(metric)
        assert {case: one.kind for case, one in found.reading.outcomes[metric].items()} == {
            case: one.kind for case, one in WHOLE.outcomes[metric].items()
        }
    for field in ("times", "statuses", "noise", "channels", "queries", "floors", "instrument", "subject", "host"):
        assert getattr(found.reading, field) == getattr(WHOLE, field), field
    assert found.reading.metrics == WHOLE.metrics
    assert found.reading.lists is None


def test_a_verdict_against_the_file_is_the_verdict_against_the_run(tmp_path: Path) -> None:
    dataset = golden()
    before = reading_of(run_of(dataset, [good(n) for n in range(30)]))
    after = reading_of(run_of(dataset, [poor(n) if n % 3 else good(n) for n in range(30)], name="worse"))
    stored = kept(tmp_path / "baseline.json", before).reading
    assert judge(after, stored).as_json() == judge(after, before).as_json()


def test_a_reviewer_sees_one_line_a_case_sorted_and_the_same_bytes_every_time(tmp_path: Path) -> None:
    kept(tmp_path / "one.json", WHOLE)
    kept(tmp_path / "two.json", WHOLE)
    text = (tmp_path / "one.json").read_text(encoding="utf-8")
    assert text == (tmp_path / "two.json").read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines() if '"status"' in line]
    assert [line[:3] for line in lines] == ['"a"', '"b"', '"c"']
    assert json.loads(text) == add_seal(baseline_json(Baseline(reading=WHOLE, blessed_at=AT, note="first")))
    assert json.loads(text)["metrics"]["mrr"] == (1 / 3 + 0.1) / 2


def test_a_missing_file_is_no_baseline(tmp_path: Path) -> None:
    with pytest.raises(NoBaseline, match=r"there is no baseline .*baselin\.json") as problem:
        load_baseline(tmp_path / "baselin.json")
    assert problem.value.exit_code == 2


def changed(**parts: Any) -> str:
    return json.dumps({**baseline_json(Baseline(reading=WHOLE, blessed_at=AT)), **parts})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"kind": "assay baseline"}',
        changed(kind="something else"),
        changed(version=2),
        changed(cases=[]),
        changed(cases={"a": {"status": ["gone"], "ms": [], "values": {}}}),
        changed(metrics={"no_such_metric@5": 1.0}),
        changed(blessed_at="yesterday"),
        changed()[:-20],
        changed().replace("0.1", "NaN"),
    ],
)
def test_a_file_that_is_something_else_is_no_baseline(text: str, tmp_path: Path) -> None:
    (tmp_path / "baseline.json").write_text(text, encoding="utf-8")
    with pytest.raises(NoBaseline, match="cannot be read as a baseline"):
        load_baseline(tmp_path / "baseline.json")


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    kept(path, WHOLE)
    old = path.read_bytes()
    with pytest.raises(BadValue, match="not finite"):
        write_baseline(path, Baseline(reading=reading({"mrr": {"a": 1.0}}, times={"a": (math.nan,)}), blessed_at=AT))
    with pytest.raises(InputError, match="cannot be written"):
        write_baseline(path / "below.json", Baseline(reading=WHOLE, blessed_at=AT))
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("old", "new"), [("0.1", "0.9"), ('"host": "here"', '"host": "there"'), ("timeout", "ok")])
def test_a_baseline_that_was_edited_is_refused_by_name(old: str, new: str, tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    assert kept(path, WHOLE).reading.sealed
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(BrokenSeal, match=r"baseline\.json was changed after Assay wrote it") as problem:
        load_baseline(path)
    assert (problem.value.exit_code, "assay baseline bless" in problem.value.remedy) == (2, True)


def test_a_baseline_of_version_0_1_has_no_seal_and_decides_nothing(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(json.dumps(baseline_json(Baseline(reading=WHOLE, blessed_at=AT))), encoding="utf-8")
    found = load_baseline(path).reading
    assert not found.sealed
    said = {one.sentence for one in judge(WHOLE, found).of(Status.INCONCLUSIVE) if one.rule == "seal"}
    assert said == {"the baseline now has no seal: whether it was edited cannot be told; bless a run again"}
