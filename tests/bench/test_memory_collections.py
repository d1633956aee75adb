"""Chats, facts and conversations as collections: what counts as relevant, and what stands around a turn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.collections import load
from bench.memory_collections import BEAM, CONVERSATIONS, FACTS, LOCOMO, load_any


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def write_lines(path: Path, values: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")


def test_a_turn_has_the_turns_of_its_own_session_around_it(tmp_path: Path) -> None:
    conversation = {
        "session_1_date_time": "8 May 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "Do you still row?"},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "Every evening since May."},
        ],
        "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "The boat is painted."}],
    }
    asked = [
        {"question": "Since when does Ben row?", "evidence": ["D1:2"], "category": 2},
        {"question": "Which bird?", "evidence": ["D9:9"], "category": 2},
        {"question": "Why does Ben ski?", "evidence": ["D1:2"], "category": 5},
    ]
    write(tmp_path / "memory-benchmarks/locomo/locomo5.json", [{"conversation": conversation, "qa": asked}])
    found = load_any(tmp_path, LOCOMO)
    assert found.questions == {"0:0": "Since when does Ben row?"}
    assert found.judgments == {"0:0": {"0:D1:2": 1}}
    assert found.surroundings["0:D1:2"] == "Do you still row?"
    assert found.surroundings["0:D2:1"] == ""
    assert found.documents[1].title == "Ben, 8 May 2023"


def test_turns_of_beam_stand_beside_those_of_their_batch(tmp_path: Path) -> None:
    folder = tmp_path / BEAM
    turns = [("c/0", 1, "user: oven?"), ("c/1", 1, "assistant: Poll it."), ("c/2", 2, "user: boat?")]
    write_lines(
        folder / "corpus.jsonl",
        [
            {"_id": name, "title": "", "text": text, "metadata": {"conversation": "c", "batch": batch}}
            for name, batch, text in turns
        ],
    )
    write_lines(folder / "queries.jsonl", [{"_id": "q", "text": "how is the oven read"}])
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\tc/1\t1\n", encoding="utf-8")
    assert load_any(tmp_path, BEAM).surroundings == {
        "c/0": "assistant: Poll it.",
        "c/1": "user: oven?",
        "c/2": "",
    }


def test_the_newest_fact_on_a_topic_is_what_a_question_asks_for(tmp_path: Path) -> None:
    facts = ["The capital of Freedonia is Alba.", "The capital of Freedonia is Bora.", "The sport of Ann is rowing."]
    context = "\n".join(f"{number}. {fact}" for number, fact in enumerate(facts))
    row = {
        "context": context,
        "questions": ["What is the capital of Freedonia?"],
        "answers": [["Bora"]],
        "metadata": {"source": "factconsolidation_sh_6k"},
    }
    write(tmp_path / "memory-benchmarks/factconsolidation/conflict_resolution.json", [row])
    found = load_any(tmp_path, FACTS)
    assert found.one_by_one
    assert found.judgments == {"question-1": {"fact-2": 1}}


def test_a_follow_up_knows_what_the_user_said_before(tmp_path: Path) -> None:
    folder = tmp_path / "talks"
    history = [
        {"speaker": "user", "text": "Is there a ferry?"},
        {"speaker": "agent", "text": "Yes."},
        {"speaker": "user", "text": " "},
    ]
    write_lines(folder / "corpus.jsonl", [{"_id": "d", "title": "", "text": "The ferry costs nine."}])
    write_lines(
        folder / "queries.jsonl",
        [{"_id": "a", "text": "how much", "metadata": {"history": history}}, {"_id": "b", "text": "ferry"}],
    )
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\na\td\t1\nb\td\t1\n", encoding="utf-8")
    assert load(tmp_path, "talks").previous == {"a": "Is there a ferry?"}


def test_the_last_question_of_a_rated_conversation_is_asked_over_the_passages_of_both(tmp_path: Path) -> None:
    folder = tmp_path / "mtrag"
    write_lines(folder / "corpus.jsonl", [{"_id": "d", "title": "", "text": "The ferry costs nine."}])
    write_lines(folder / "queries.jsonl", [{"_id": "a", "text": "ferry"}])
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\na\td\t1\n", encoding="utf-8")
    turns = [("user", "Is there a ferry?"), ("agent", "Yes."), ("user", "how much")]
    conversation = [{"speaker": speaker, "text": text} for speaker, text in turns]
    read = [{"id": "d", "text": "The ferry costs nine."}, {"id": "e", "text": "Children pay four."}]
    rated = [
        {"id": "1", "conversation": conversation[:1], "contexts": read[:1]},
        {"id": "2", "conversation": conversation, "contexts": read},
        {"id": "3", "conversation": conversation, "contexts": []},
    ]
    write_lines(tmp_path / CONVERSATIONS / "human_evaluations.jsonl", rated)
    found = load_any(tmp_path, CONVERSATIONS)
    assert found.questions == {"1": "Is there a ferry?", "2": "how much"}
    assert found.previous == {"2": "Is there a ferry?"}
    assert found.judgments["2"] == {"d": 1, "e": 1}
    assert [document.id for document in found.documents] == ["d", "e"]
