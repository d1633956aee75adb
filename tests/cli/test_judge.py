"""`assay judge` as a person uses it, on a run in a folder and with a chat service on the loopback."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cli.telling import Run, runner

from assay.evaluation.running.runner import Running
from assay.evaluation.running.runner import run as run_system
from assay.formats.golden import write_golden
from assay.records.answers import GivenAnswer
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.evaluations import Retrieved
from assay.systems.protocol import System
from assay.testing.fault_server import FAULTS, FaultService, Handler, envelope, replying, sending, serving

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


def shown_answer(handler: Handler) -> str:
    """The answer a judge is shown."""
    messages = (handler.heard.body or {}).get("messages", [{}, {}])
    shown = re.search(r"<<<ANSWER \w+>>>\n(.*?)\n<<<END", str(messages[1].get("content", "")), re.DOTALL)
    return shown[1] if shown else ""


def scoring(handler: Handler) -> None:
    """A judge that reads the score from the answer."""
    sending(scored(handler))(handler)


def scored(handler: Handler) -> bytes:
    """What the judge sends that reads the score from the answer."""
    said = re.search(r"says (\d)", shown_answer(handler))
    score = int(said[1]) if said else 0
    more = 1 if (handler.heard.body or {}).get("model") == "kinder:1b" else 0
    body: dict[str, object] = {"reason": "r", "score": min(5, score + more)}
    body |= {"supported_claims": [], "unsupported_claims": []}
    asked = (handler.heard.body or {}).get("response_format", {}).get("json_schema", {}).get("name")
    body = {"reason": "r", "abstained": False} if asked == "abstention" else body
    body = {"reason": "r", "score": score} if asked == "correctness" else body
    return envelope(json.dumps(body))


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
        "correctness": "builtin-correctness",
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
    assert run("judge", "run", "--about", "correctness", "--judge", "no-such-judge").code == 3
    assert run("judge", "certify", "--data", "vague").code == 3
    assert run("judge", "gold", "no-such-dataset").code in {2, 3}
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


def served_as(name: str) -> Callable[[Handler], None]:
    """The scoring judge behind a server that puts another name on its replies."""

    def act(handler: Handler) -> None:
        sending(json.dumps({**json.loads(scored(handler)), "model": name}).encode())(handler)

    return act


def wavering() -> Callable[[Handler], None]:
    """A judge that is near the truth and says another score each time it is asked the same."""
    asked: dict[str, int] = {}

    def act(handler: Handler) -> None:
        case = str((handler.heard.body or {}).get("messages"))
        asked[case] = asked.get(case, -1) + 1
        found = re.search(r"says (\d)", shown_answer(handler))
        score = 0 if found is None else int(found[1]) + (1 if int(found[1]) < 5 else -1) * (asked[case] % 2)
        verdict = {"supported_claims": [], "unsupported_claims": [], "reason": "r", "score": score}
        replying(json.dumps(verdict))(handler)

    return act


def use(service: FaultService, monkeypatch: pytest.MonkeyPatch, name: str = "strict:1b") -> None:
    monkeypatch.setenv("ASSAY_MODEL_URL", service.url)
    monkeypatch.setenv("ASSAY_MODEL_NAME", name)


def test_a_wavering_judge_decides_no_gate_and_everything_says_why(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(wavering()) as service:
        use(service, monkeypatch)
        told = run("judge", "calibrate", "--labels", str(labels(Path("labels.jsonl"))))
        assert told.code == 2
        assert "diagnostic only" in told.out
        assert "the same verdict each time on 0 of 20 cases" in told.out
        assert "0 of 20 cases that were asked again" in run("judge", "list").out
        told = run("judge", "run", "--about", "groundedness")
        again = run("judge", "run", "--about", "groundedness", "--json").json["judges"][0]["spent"]
    assert (
        "do not listen: its judge did not pass its calibration: it gave the same verdict each time on 0 of 20"
        in told.out
    )
    Path("assay.toml").write_text("[floors]\ngroundedness = 1.0\n", encoding="utf-8")
    told = run("gate", "--no-baseline")
    assert told.code == 2
    assert "cannot decide it" in told.out
    text = report_files(run, "wavering")[0]
    # Its kappa is above the floor: that it wavers is why it may not decide.
    assert "kappa 1.00 over 36 labels, calibration not passed" in text
    assert "The judge of groundedness was to be strict:1b, and faulty replied." in text
    assert "The judge of groundedness was calibrated once, without success." in text
    assert f"| groundedness: tokens | 0 (and {again['cached']} replies from the cache) |" in text


def test_a_calibration_is_not_renewed_from_kept_replies(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_MODEL_DEADLINE_S", "5")
    given = str(labels(Path("labels.jsonl")))
    with serving(scoring) as service:
        use(service, monkeypatch)
        assert run("judge", "calibrate", "--labels", given).code == 0
        calls = len(service.heard)
        told = run("judge", "calibrate", "--labels", given)
        assert "fresh by faulty, 0 from the cache" in told.out
        assert len(service.heard) - calls >= 36
        url = service.url
    monkeypatch.setenv("ASSAY_MODEL_URL", url)
    monkeypatch.setenv("ASSAY_MODEL_DEADLINE_S", "0.2")
    told = run("judge", "calibrate", "--labels", given)
    assert told.code == 2
    assert "0 verdicts on 36 labelled cases" in told.err


def test_another_model_under_the_same_name_is_not_listened_to(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(served_as("strict-2026-01")) as service:
        use(service, monkeypatch)
        assert run("judge", "calibrate", "--labels", str(labels(Path("labels.jsonl")))).code == 0
        told = run("judge", "run", "--about", "groundedness")
        assert "served by  strict-2026-01 (strict:1b was asked)" in told.out
        assert "gates      listen to it" in told.out
    with serving(served_as("strict-2026-02")) as service:
        monkeypatch.setenv("ASSAY_MODEL_URL", service.url)
        told = run("judge", "run", "--about", "groundedness", "--fresh", "--json")
    (judge,) = told.json["judges"]
    assert judge["served"] == ["strict-2026-02"]
    assert not judge["gates"]
    assert judge["why"] == "strict-2026-02 replied, and strict-2026-01 was calibrated"


def test_runs_judged_by_two_served_models_are_not_compared(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [run_system(dataset(), Answering(), running=Running(runs=Path(".assay/runs"))).run_id for _ in range(2)]
    for run_id, served in zip(runs, ("strict-2026-01", "strict-2026-02"), strict=True):
        with serving(served_as(served)) as service:
            use(service, monkeypatch)
            assert run("judge", "run", run_id, "--about", "groundedness", "--fresh").code == 0
    told = run("compare", *runs)
    assert told.code == 2
    assert "judge.groundedness.served: strict-2026-01 -> strict-2026-02" in told.err


def test_a_name_without_a_version_is_an_alias(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(served_as("some-model")) as service:
        use(service, monkeypatch, "some-model")
        told = run("judge", "run", "--about", "groundedness")
        assert "ALIAS      the model name 'some-model' has no tag or version" in told.out
        told = run("judge", "calibrate", "--labels", str(labels(Path("labels.jsonl"))))
    assert told.code == 2
    assert "not enough: the model name 'some-model' has no tag or version" in told.out


def test_copied_labels_count_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [json.loads(line) for line in labels(Path("ten.jsonl"), 10).read_text(encoding="utf-8").splitlines()]
    copies = [{**row, "id": f"{row['id']}-{number}"} for row in rows for number in range(4)]
    Path("forty.jsonl").write_text("\n".join(map(json.dumps, copies)), encoding="utf-8")
    with serving(scoring) as service:
        use(service, monkeypatch)
        told = run("judge", "calibrate", "--labels", "forty.jsonl")
    assert told.code == 2
    assert "10: 10 scored (30 copies left out)" in told.out


def test_every_attempt_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(scoring) as service:
        use(service, monkeypatch)
        for number in range(2):
            few = labels(Path("few.jsonl"), 6 + number)
            assert run("judge", "calibrate", "--labels", str(few)).code == 2
        told = run("judge", "calibrate", "--labels", str(labels(Path("labels.jsonl"))))
        assert "number 3 of this judge, 2 failed before" in told.out
        told = run("judge", "run", "--about", "groundedness")
        assert "calibrated 3 times, 2 without success" in told.out
        told = run("judge", "calibrate", "--labels", "labels.jsonl", "--model", "kinder:1b")
        assert "1 other judge was tried on 36 of these cases" in told.out
    listed = run("judge", "list", "--json").json["calibrations"]
    assert [one["passed"] for one in listed] == [True, True, False, False]
    assert "evidence" not in listed[0]["figures"]


def test_judged_cases_among_the_labels_are_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [json.loads(line) for line in labels(Path("labels.jsonl")).read_text(encoding="utf-8").splitlines()]
    own = [{**row, "question": f"How long? {number}"} for number, row in enumerate(rows)]
    Path("own.jsonl").write_text("\n".join(map(json.dumps, own)), encoding="utf-8")
    with serving(scoring) as service:
        use(service, monkeypatch)
        assert run("judge", "calibrate", "--labels", "own.jsonl").code == 0
        told = run("judge", "run", "--about", "groundedness")
    assert f"{CASES} of {CASES} judged cases ask questions of its calibration" in told.out


def test_requests_tokens_and_cost_of_every_attempt_are_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_MODEL_PRICE_IN", "1000")
    monkeypatch.setenv("ASSAY_MODEL_PRICE_OUT", "2000")
    with serving(FAULTS["server_error"], scoring) as service:
        use(service, monkeypatch)
        told = run("judge", "run", "--about", "groundedness", "--json")
        chats = [one for one in service.heard if one.path.endswith("/chat/completions")]
    spent = told.json["judges"][0]["spent"]
    assert spent["requests"] == len(chats)
    assert (spent["prompt_tokens"], spent["completion_tokens"]) == (10 * spent["fresh"], 5 * spent["fresh"])
    assert spent["cost_usd"] == pytest.approx(spent["fresh"] * (10 * 1000 + 5 * 2000) / 1_000_000)
    assert spent["fresh"] > CASES + 5
    again = run("judge", "run", "--about", "groundedness")
    assert "from the cache" in again.out


def test_failed_requests_are_bounded(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_MODEL_PRICE_IN", "1")
    monkeypatch.setenv("ASSAY_MODEL_PRICE_OUT", "2")
    monkeypatch.setenv("ASSAY_MODEL_DEADLINE_S", "0.2")
    with serving(FAULTS["server_error"]) as service:
        use(service, monkeypatch)
        told = run("judge", "run", "--about", "groundedness")
    assert re.search(r"requests   (\d+) sent, \1 failed", told.out)
    assert re.search(r"tokens     0 sent, 0 replied; at most [\d,]+ more", told.out)
    assert re.search(r"cost       0\.0000 USD, at most 0\.\d*[1-9]\d* USD", told.out)


def test_failed_judges_leave_bounds_and_no_false_sentence_in_the_gate(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def partly(handler: Handler) -> None:
        says = re.search(r"says [01]\.", shown_answer(handler))
        (replying("no verdict") if says else scoring)(handler)

    with serving(partly) as service:
        use(service, monkeypatch)
        told = run("judge", "run", "--about", "groundedness")
    assert "8 cases, 4 without a value   worst to best 2.333 to 4.000" in told.out
    told = run("gate", "--no-baseline", "--verbose")
    assert "0 of 12 cases could not be judged under metrics that decide" in told.out
    assert "4 more under groundedness, which decides nothing" in told.out


@contextmanager
def chatting(monkeypatch: pytest.MonkeyPatch, judge: Callable[[Handler], None]) -> Iterator[None]:
    """A chat service that judges, named in the settings."""
    with serving(judge) as service:
        monkeypatch.setenv("ASSAY_MODEL_URL", service.url)
        monkeypatch.setenv("ASSAY_MODEL_NAME", "strict:1b")
        yield


def report_files(run: Run, name: str) -> tuple[str, str, dict[str, Any], dict[str, Any]]:
    """Markdown, HTML, metrics.json and config.json of the report of the latest run."""
    told = run("report", "latest", "--html", "--output", name, "--name", "r")
    assert told.code == 0, told.err
    folder = Path(name)
    texts = [(folder / f"r.{ending}").read_text(encoding="utf-8") for ending in ("md", "html")]
    found = [json.loads((folder / file).read_text(encoding="utf-8")) for file in ("metrics.json", "config.json")]
    return texts[0], texts[1], found[0], found[1]


def test_a_report_names_the_judge_its_prompt_reliability_and_tokens(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    text, page, metrics, config = report_files(run, "before")
    assert (metrics["judge_reliability"], metrics["judge_reliability_reason"]) == (None, "no judge was asked")
    assert config["judges"] == []
    assert "| judge | no judge was asked |" in text
    with chatting(monkeypatch, scoring):
        assert run("judge", "run", "--about", "groundedness").code == 0
        text, page, metrics, config = report_files(run, "judged")
        found = metrics["judge_reliability"]["groundedness"]
        assert (found["disagreement_rate"], found["spot_check_n"], found["kappa"]) == (None, None, None)
        assert "never calibrated; no second judge was asked" in text
        told = run("judge", "spot-check", "--model", "kinder:1b", "--share", "1", "--json")
        assert told.json["recorded"] is True
    text, page, metrics, config = report_files(run, "checked")
    assert metrics["judge_reliability_reason"] is None
    found = metrics["judge_reliability"]["groundedness"]
    assert (found["disagreement_rate"], found["spot_check_n"]) == (0.0, CASES)
    assert found["gates_listen"] is False
    [judge] = config["judges"]
    assert judge["model"] == "strict:1b"
    assert judge["judge_id"] == config["instrument"]["judge"]["groundedness"]["id"]
    assert judge["prompt_version"]
    assert judge["prompt_hash"]
    assert judge["temperature"] == 0.0
    assert judge["tokens"] > 0
    for shown in (text, page):
        assert ">no judge was asked<" not in shown
        assert "| no judge was asked |" not in shown
        assert "correctness: no judge was asked for this metric" in shown
        assert "groundedness: no judge was asked" not in shown
        assert "strict:1b" in shown
        assert judge["prompt_version"] in shown
        assert "a second judge disagreed on 0% of 12 verdicts" in shown
        assert f"{judge['tokens']:,}" in shown


def contrary(handler: Handler) -> None:
    """A judge whose second model says the opposite of the first."""
    said = re.search(r"says (\d)", shown_answer(handler))
    score = int(said[1]) if said else 0
    other = (handler.heard.body or {}).get("model") == "kinder:1b"
    body = {"reason": "r", "score": 5 - score if other else score, "supported_claims": [], "unsupported_claims": []}
    sending(envelope(json.dumps(body)))(handler)


def test_disagreement_is_told_beside_the_numbers_and_what_earlier_judges_said_is_not_kept(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with chatting(monkeypatch, contrary):
        for _ in range(2):
            assert run("judge", "run", "--about", "groundedness").code == 0
        once = [caveat["sentence"] for caveat in report_files(run, "one")[2]["caveats"]]
        assert len(once) == len(set(once))
        for _ in range(2):
            run("judge", "spot-check", "--model", "kinder:1b", "--share", "1")
        text, page, metrics, _ = report_files(run, "two")
        disagreed = [caveat for caveat in metrics["caveats"] if "disagreement_rate" in caveat["figures"]]
        assert len(disagreed) == 1
        assert disagreed[0]["count"] == metrics["judge_reliability"]["groundedness"]["disagreement_rate"] * CASES
        for shown in (text, page):
            assert "A second judge disagreed on" in shown
        assert run("judge", "run", "--about", "groundedness", "--model", "kinder:1b").code == 0
    text, page, metrics, config = report_files(run, "three")
    assert config["judges"][0]["model"] == "kinder:1b"
    assert metrics["judge_reliability"]["groundedness"]["spot_check_n"] is None
    assert "A second judge disagreed on" not in text


def test_a_judge_is_certified_listed_and_its_certificate_shown_with_its_verdicts(run: Run) -> None:
    told = run("judge", "certify", "--judge", "builtin:correctness")
    assert told.code == 0
    assert "certified until" in told.out
    assert "attack: heap of words" in told.out
    told = run("judge", "certify", "--judge", "builtin:overlap", "--json")
    assert told.code == 2
    assert told.json["passed"] is False
    assert told.json["judge"]["prompt_hash"].startswith("sha256:")
    told = run("judge", "list", "--json")
    assert [one["passed"] for one in told.json["certificates"]] == [False, True]
    assert told.json["calibrations"] == []
    assert "did not pass" in run("judge", "list").out
    told = run("judge", "run", "--judge", "builtin:correctness")
    assert "certified  until" in told.out
    assert "do not listen: its judge was never calibrated" in told.out
    told = run("judge", "run", "--judge", "builtin:overlap")
    assert "its judge did not pass its certification" in told.out


def test_reference_answers_that_contradict_their_documents_are_listed(run: Run) -> None:
    made = Dataset(
        name="keys",
        documents=(Document(id="d1", text="The cookie lives for twelve hours."),),
        cases=tuple(
            Case(id=f"q{hours}", query="How long?", grades=(Grade(document_id="d1", grade=2),), reference_answer=hours)
            for hours in ("12 hours", "9 hours")
        ),
    )
    write_golden(Path("keys.json"), made)
    told = run("judge", "gold", "keys.json")
    assert told.code == 0
    assert "1 of 2 reference answers with evidence contradict it" in told.out
    assert "it states 9 hours" in told.out
    [suspect] = run("judge", "gold", "keys.json", "--json").json["suspects"]
    assert (suspect["gold"], suspect["evidence"]) == ("9 hours", ["twelve hours"])
