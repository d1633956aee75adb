"""`assay judge` as a person uses it, on a run in a folder and with a chat service on the loopback."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.cli.telling import Run, runner

from assay.evaluation.running.runner import Running
from assay.evaluation.running.runner import run as run_system
from assay.formats.golden import write_golden
from assay.records.answers import GivenAnswer
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.evaluations import Retrieved
from assay.systems.protocol import System
from assay.testing.fault_server import Handler, replying, serving

CASES = 12


def dataset() -> Dataset:
    return Dataset(
        name="answers",
        documents=(Document(id="d1", text="The cookie lives for twelve hours."),),
        cases=tuple(
            Case(id=f"q{one:02}", query=f"How long? {one}", grades=(Grade(document_id="d1", grade=2),))
            for one in range(CASES)
        ),
    )


class Answering(System):
    name = "answering"

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        return Retrieved(ids=("d1",), answer=GivenAnswer(text=f"It says {int(case.id[1:]) % 6}."))


def scoring(handler: Handler) -> None:
    """A judge that reads the score from the answer."""
    messages = (handler.heard.body or {}).get("messages", [{}])
    shown = re.search(r"<<<ANSWER \w+>>>\n(.*?)\n<<<END", str(messages[-1].get("content", "")), re.DOTALL)
    said = re.search(r"says (\d)", shown[1] if shown else "")
    score = int(said[1]) if said else 0
    more = 1 if (handler.heard.body or {}).get("model") == "kinder:1b" else 0
    body: dict[str, object] = {"reason": "r", "score": min(5, score + more)}
    body |= {"supported_claims": [], "unsupported_claims": []}
    asked = (handler.heard.body or {}).get("response_format", {}).get("json_schema", {}).get("name")
    body = {"reason": "r", "abstained": False} if asked == "abstention" else body
    body = {"reason": "r", "score": score} if asked == "correctness" else body
    replying(json.dumps(body))(handler)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    write_golden(tmp_path / "answers.json", dataset())
    told = runner(capsys)
    assert told("dataset", "import", "answers.json").code == 0
    run_system(dataset(), Answering(), running=Running(runs=Path(".assay/runs")))
    return told


def labels(path: Path, count: int = 36) -> Path:
    rows = [
        {"id": f"l{one}", "question": f"q{one}", "answer": f"It says {one % 6}.", "passages": ["p"], "label": one % 6}
        for one in range(count)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_without_a_model_the_built_in_judges_are_asked(run: Run) -> None:
    told = run("judge", "run", "--json")
    assert told.code == 0
    assert {one["about"]: one["judge"].split("/")[0] for one in told.json["judges"]} == {
        "abstention": "builtin-abstention",
        "groundedness": "builtin-groundedness",
    }
    assert told.json["metrics"]["groundedness"]["scored"] == CASES


def test_a_model_judges_is_calibrated_checked_and_replaced(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(scoring) as service:
        monkeypatch.setenv("ASSAY_MODEL_URL", service.url)
        monkeypatch.setenv("ASSAY_MODEL_NAME", "strict:1b")
        told = run("judge", "run", "--about", "groundedness")
        assert told.code == 0
        assert "groundedness   2.500" in told.out
        assert "do not listen: its judge was never calibrated" in told.out
        told = run("judge", "calibrate", "--labels", str(labels(Path("labels.jsonl"))), "--on", "latest")
        assert told.code == 0
        assert "may decide gates until" in told.out
        assert "mean, corrected" in told.out
        told = run("judge", "run", "--about", "groundedness")
        assert "gates      listen to it" in told.out
        assert "12 from the cache" in told.out
        assert run("judge", "spot-check").code == 3
        told = run("judge", "spot-check", "--model", "kinder:1b", "--share", "1", "--json")
        assert told.json["judge_reliability"] == {"disagreement_rate": 0.0, "spot_check_n": CASES}
        told = run("judge", "rerun", "--model", "kinder:1b", "--json")
        assert (told.json["both"], told.json["mean_second"] > told.json["mean_first"]) == (CASES, True)


def test_every_kind_is_judged_when_none_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(scoring) as service:
        monkeypatch.setenv("ASSAY_MODEL_URL", service.url)
        monkeypatch.setenv("ASSAY_MODEL_NAME", "strict:1b")
        told = run("judge", "run", "--json")
    assert [one["about"] for one in told.json["judges"]] == ["abstention", "groundedness", "correctness"]
    assert told.json["metrics"]["correctness"]["value"] == 2.5


def test_too_few_labels_are_exit_2(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(scoring) as service:
        monkeypatch.setenv("ASSAY_MODEL_URL", service.url)
        monkeypatch.setenv("ASSAY_MODEL_NAME", "strict:1b")
        told = run("judge", "calibrate", "--labels", str(labels(Path("few.jsonl"), 6)))
    assert told.code == 2
    assert "diagnostic only" in told.out
    assert "not enough: 6 cases have a label" in told.out


def test_wrong_use_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("judge", "run", "no-such-run").code == 3
    assert run("judge", "run", "--about", "mood").code == 3
    assert run("judge", "run", "--about", "correctness").code == 3
    assert run("judge", "rerun").code == 2
    assert run("judge", "calibrate", "--labels", "none.jsonl").code == 3
    monkeypatch.setenv("ASSAY_MODEL_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("ASSAY_MODEL_NAME", "strict:latest")
    told = run("judge", "run")
    assert (told.code, "floating alias" in told.err) == (3, True)


def test_a_server_that_is_gone_leaves_a_run_without_verdicts_and_says_so(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_MODEL_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("ASSAY_MODEL_NAME", "strict:1b")
    monkeypatch.setenv("ASSAY_MODEL_DEADLINE_S", "0.2")
    told = run("judge", "run", "--about", "groundedness")
    assert told.code == 0
    assert f"verdicts   {CASES} unavailable" in told.out
