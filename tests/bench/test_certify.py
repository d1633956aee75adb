"""The table of `bench.certify`, on a small made-up set in the form of LoCoMo's files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench.certify import accept_by_overlap, cross_validate, fit, print_table
from bench.judged_answers import MODELS, NATURAL, RESTYLED, RIGHT, SPECIFIC, VAGUE, WRONG, read_locomo, restyle

from assay.judging.builtin.answer_features import compare

TOWNS = ("Oslo", "Turin", "Lyon", "Porto", "Graz", "Bath", "Riga", "Brno")
CHATS, QUESTIONS = 3, 6


Told = tuple[str, tuple[bool, ...]]


def line(chat: int, number: int, told: Told) -> dict[str, Any]:
    answer, judgments = told
    return {
        "question_id": f"locomo_{chat}_qa{number}",
        "question": f"Where did person {number} go?",
        "golden_answer": TOWNS[number],
        "generated_answer": answer,
        "llm_judgments": {f"judgment_{place}": said for place, said in enumerate(judgments)},
        "category": "4",
    }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    place = tmp_path / "memory-benchmarks" / "locomo"
    (place / "judged").mkdir(parents=True)
    (place / "audit").mkdir()
    told: dict[str, Callable[[int], Told]] = {
        MODELS[0]: lambda n: (f"They went to {TOWNS[n]} by train.", (n != 5, n != 5)),
        MODELS[1]: lambda n: (f"To {TOWNS[n]}. It was fine.", (True, n != 4)),
        WRONG[SPECIFIC]: lambda n: (TOWNS[n + 1], (False,)),
        WRONG[VAGUE]: lambda n: ("Some place in another region", (True,)),
    }
    for name, made in told.items():
        chats = {f"user_{c}": [line(c, n, made(n)) for n in range(QUESTIONS)] for c in range(CHATS)}
        (place / "judged" / f"{name}.json").write_text(json.dumps(chats), encoding="utf-8")
    faults = [
        {"question_id": "locomo_0_qa0", "error_type": "HALLUCINATION"},
        {"question_id": "locomo_0_qa1", "error_type": "WRONG_CITATION"},
    ]
    (place / "audit" / "errors_conv_0.json").write_text(json.dumps(faults), encoding="utf-8")
    return tmp_path


def test_an_answer_is_right_when_every_judgment_of_both_models_accepts_and_its_key_has_no_fault(data: Path) -> None:
    pairs = read_locomo(data)
    right = {pair.question_id for pair in pairs if pair.group == RIGHT}
    assert right == {f"locomo_{c}_qa{n}" for c in range(CHATS) for n in range(4)} - {"locomo_0_qa0"}
    assert {pair.question_id for pair in pairs if pair.group == NATURAL} == {f"locomo_{c}_qa5" for c in range(CHATS)}
    assert sum(pair.group == SPECIFIC for pair in pairs) == sum(pair.group == VAGUE for pair in pairs) == 18
    assert {pair.group for pair in restyle(pairs)} == set(RESTYLED)


def test_no_chat_is_scored_by_what_was_fitted_on_it(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = read_locomo(data)
    found = {pair: compare(pair.question, pair.gold, pair.answer) for pair in pairs}
    accepted = cross_validate(pairs, found)
    assert set(accepted) == set(pairs)
    shares = {
        group: [hit for pair, hit in accepted.items() if pair.group == group] for group in (RIGHT, SPECIFIC, VAGUE)
    }
    assert sum(shares[RIGHT]) / len(shares[RIGHT]) > 0.8
    assert not any(shares[SPECIFIC] + shares[VAGUE])
    floor = accept_by_overlap(pairs, 1.0)
    assert all(hit for pair, hit in floor.items() if pair.group == RIGHT)
    stored = fit(pairs, found)
    assert 0 < stored["threshold"] < 1
    print_table("Accepted", {"ours": accepted}, (RIGHT, "nothing"))
    assert "| ours | " in capsys.readouterr().out
