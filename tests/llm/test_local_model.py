"""Judges against a real model on this machine. `make test-llm` starts it; without it these tests are skipped."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from assay.clock import SystemClock
from assay.judging.calibration import CalibrationOptions, calibrate
from assay.judging.canaries import judge_with_canaries
from assay.judging.injection import InjectionGuard
from assay.judging.labels import read_labels
from assay.judging.model_judge import JudgeOptions, LlmJudge
from assay.judging.persistence import StoredReplies, StoredSpending
from assay.judging.rubric import load_rubric
from assay.models.budget import BudgetedModel, Limits, Prices
from assay.models.chat import CachedModel, ChatModel, ChatRequest, Message, digest_of
from assay.models.endpoint import Endpoint, EndpointOptions
from assay.models.endpoint_chat import EndpointChat
from assay.network import ANYWHERE
from assay.records import Scope
from assay.records.judging import GroundednessVerdict, JudgeInput, RubricKind, VerdictOutcome
from assay.storage import Store, open_store

URL = os.environ.get("LOCAL_MODEL_URL", "")
NAME = os.environ.get("LOCAL_MODEL_NAME", "")
DEADLINE_S = 600.0
SCOPE = Scope(tenant="acme", principal="ada")
PASSAGES = ("The session cookie is HttpOnly and lives for twelve hours.", "Deploys go out before noon.")

pytestmark = pytest.mark.skipif(not URL, reason="needs a local model: make test-llm")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "store.db"), clock=SystemClock())


@pytest.fixture
def model(store: Store) -> ChatModel:
    """The model with everything around it that the product puts there."""
    clock, rng = SystemClock(), np.random.default_rng(0)

    def endpoint(url: str) -> Endpoint:
        return Endpoint(EndpointOptions(url=url, deadline_s=DEADLINE_S), gate=ANYWHERE, clock=clock, rng=rng)

    root = endpoint(URL.removesuffix("/v1"))
    chat = EndpointChat(endpoint(URL), name=NAME, clock=clock, digest=lambda: digest_of(root, NAME))
    spending = StoredSpending(store, SCOPE, period="ever", clock=clock)
    paid = BudgetedModel(
        chat, spending=spending, limits=Limits(tokens=1_000_000), prices=Prices(prompt=0, completion=0)
    )
    return CachedModel(paid, StoredReplies(store, SCOPE))


def judge(model: ChatModel, kind: RubricKind) -> LlmJudge:
    return LlmJudge(
        model, load_rubric(kind.value), guard=InjectionGuard(b"secret"), options=JudgeOptions(max_tokens=300)
    )


def case(answer: str, kind: RubricKind = RubricKind.GROUNDEDNESS) -> JudgeInput:
    shown = () if kind is RubricKind.ABSTENTION else PASSAGES
    return JudgeInput(kind=kind, question="How long does the session cookie live?", answer=answer, passages=shown)


def test_the_server_tells_which_weights_it_has(model: ChatModel) -> None:
    found = model.fingerprint()
    assert (found.model, (found.digest or "").split(":")[0]) == (NAME, "llama.cpp")


def test_a_schema_holds_the_model_to_json(model: ChatModel) -> None:
    schema = {"type": "object", "required": ["colour"], "properties": {"colour": {"type": "string"}}}
    asked = ChatRequest(
        messages=(Message(role="user", content="Write a long poem about a red barn."),), schema=schema, max_tokens=60
    )
    assert set(json.loads(model.complete(asked).text)) == {"colour"}
    again = model.complete(asked)
    assert again.cached


def test_what_is_supported_is_told_from_what_is_not(model: ChatModel) -> None:
    asked = judge(model, RubricKind.GROUNDEDNESS)
    good = asked.judge_case(case("The cookie lives for twelve hours [1]."))
    bad = asked.judge_case(case("The cookie lives for three weeks and is blue."))
    for one in (good, bad):
        assert isinstance(one.verdict, GroundednessVerdict)
        assert one.verdict.outcome is VerdictOutcome.SCORED
        assert one.verdict.reason
        assert one.completion_tokens
    assert (good.score or 0) > (bad.score or 0)


def test_declining_is_told_from_answering(model: ChatModel) -> None:
    asked = judge(model, RubricKind.ABSTENTION)
    declined = asked.judge_case(case("I could not find anything about this in the notes.", RubricKind.ABSTENTION))
    answered = asked.judge_case(case("It lives for twelve hours.", RubricKind.ABSTENTION))
    assert (declined.score, answered.score) == (1.0, 0.0)


def test_a_hearing_ends_with_every_verdict_told_or_void(model: ChatModel) -> None:
    hearing = judge_with_canaries(
        judge(model, RubricKind.ABSTENTION), [case("Twelve hours.", RubricKind.ABSTENTION)], run_id="r1"
    )
    (one,) = hearing.given
    assert (one.verdict.outcome is VerdictOutcome.VOID) == bool(hearing.void)


def test_a_calibration_is_made_and_kept(model: ChatModel, store: Store, tmp_path: Path) -> None:
    place = tmp_path / "labels.jsonl"
    rows = [
        ("The cookie lives for twelve hours [1].", 5),
        ("It lives for twelve hours and is HttpOnly [1].", 5),
        ("The cookie lives for three weeks.", 1),
        ("Elephants are grey.", 0),
    ]
    asked = {"question": "How long does the session cookie live?", "passages": list(PASSAGES)}
    lines = [{"id": f"l{n}", "answer": answer, "label": label, **asked} for n, (answer, label) in enumerate(rows)]
    place.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    labels = read_labels(place, RubricKind.GROUNDEDNESS)
    options = CalibrationOptions(sample=1, repeats=2)
    found = calibrate(judge(model, RubricKind.GROUNDEDNESS), labels, clock=SystemClock(), options=options).calibration
    with store.writing(SCOPE) as work:
        work.judging.put_calibration(found)
    with store.reading(SCOPE) as work:
        assert work.judging.calibration(found.fingerprint_id) == found
    assert found.figures["judged"] >= 2
    assert not found.passed  # four labels are too few for any judge
