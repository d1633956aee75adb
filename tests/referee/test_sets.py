"""Readers: each public form, written here in miniature, gives the same values; quirks and counts are said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.errors import BadValue, InputError, MalformedFile
from assay.referee.sets.catalog import SETS, load_set
from assay.referee.sets.overlays import Correction, KeyOverlay, convert_audit, load_overlay, write_overlay
from assay.referee.sets.values import MemoryItem, MemoryQuestion, MemorySet, MemoryUser


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def test_every_set_states_quirks_and_its_published_size() -> None:
    for entry in SETS.values():
        assert entry.quirks, entry.name
        assert entry.published is not None, entry.name
    names = {name.partition("-")[0] for name in SETS}
    assert names == {
        "starter",
        "locomo",
        "longmemeval",
        "beam",
        "personamem",
        "factconsolidation",
        "precisionmembench",
        "realtalk",
    }


def test_the_bundled_set_is_whole_and_its_evidence_is_there() -> None:
    starter = load_set("starter", None)
    assert starter.compare_counts().startswith("8 chats and 56 questions: the whole published set")
    for question in starter.questions:
        there = {item.id for item in starter.by_user[question.user].items}
        assert there.issuperset(question.evidence)
        assert bool(question.evidence) == question.answerable
    assert min(len(user.items) for user in starter.users) > 20
    assert set(starter.count_categories()) == {
        "update",
        "preference",
        "date",
        "name",
        "multi-session",
        "unanswerable",
    }


LOCOMO = [
    {
        "sample_id": "conv-30",
        "qa": [
            {"question": "Where is Jo?", "answer": "Rome", "evidence": ["D1:1; D1:2"], "category": 1},
            {"question": "Whose cat?", "evidence": ["D"], "category": 5, "adversarial_answer": "Bo's"},
        ],
        "conversation": {
            "speaker_a": "Jo",
            "speaker_b": "Bo",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Jo", "dia_id": "D1:1", "text": "Greetings from Rome!"},
                {"speaker": "Bo", "dia_id": "D1:2", "text": "Nice.", "blip_caption": "a fountain"},
            ],
        },
    }
]


def test_locomo_splits_joined_evidence_and_numbers_questions_as_the_audit_does(tmp_path: Path) -> None:
    write(tmp_path / "locomo" / "locomo10.json", LOCOMO)
    locomo = load_set("locomo", tmp_path)
    first, second = locomo.questions
    # conv-30 is the second chat of the published file, wherever it stands in this one.
    assert (first.id, first.evidence, first.category) == ("locomo_1_qa0", ("D1:1", "D1:2"), "multi-hop")
    assert (second.answerable, second.answer) == (False, "")
    assert locomo.users[0].items[1].text == "Bo: Nice. [shares an image: a fountain]"
    assert locomo.users[0].items[0].date is not None
    assert "a part of the published 10 chats" in locomo.compare_counts()


def test_realtalk_is_read_like_locomo_with_cleaned_texts(tmp_path: Path) -> None:
    chat = {
        "name": {"speaker_1": "Jo", "speaker_2": "Bo"},
        "session_1": [{"speaker": "Jo", "dia_id": "D1:1", "clean_text": "Hi there"}],
        "session_1_date_time": "29.12.2023, 20:15:00",
        "qa": [{"question": "Who greets?", "answer": "Jo", "evidence": ["D1:1"], "category": 2}],
    }
    write(tmp_path / "Chat_1_Jo_Bo.json", chat)
    realtalk = load_set("realtalk", tmp_path)
    assert realtalk.users[0].items[0].text == "Jo: Hi there"
    assert realtalk.questions[0].category == "temporal"


def test_longmemeval_gives_each_question_its_own_user_and_marked_turns_as_evidence(tmp_path: Path) -> None:
    session = [{"role": "user", "content": "I have a dog.", "has_answer": True}, {"role": "assistant", "content": "!"}]
    entry = {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "Which pet?",
        "answer": "A dog",
        "haystack_session_ids": ["s1", "s1"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 02:21"],
        "haystack_sessions": [session, session],
    }
    write(tmp_path / "longmemeval_s.json", [entry, {**entry, "question_id": "q2_abs"}])
    found = load_set("longmemeval-s", tmp_path)
    assert found.questions[0].evidence == ("s1#0", "s1~2#0")
    assert (found.questions[1].answerable, found.questions[1].evidence) == (False, ())
    assert [user.id for user in found.users] == ["q1", "q2_abs"]


def test_beam_reads_both_forms(tmp_path: Path) -> None:
    chat = [
        {
            "batch_number": 1,
            "turns": [
                [
                    {"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "My sprint ends on March 29."},
                    {"role": "assistant", "id": 1, "content": "Noted."},
                ]
            ],
        }
    ]
    probing = {
        "abstention": [{"question": "Who pays?", "ideal_response": "Nothing is said.", "rubric": ["nothing"]}],
        "knowledge_update": [
            {"question": "When?", "answer": "March 29", "source_chat_ids": {"original_info": [0], "updated_info": [1]}}
        ],
    }
    write(tmp_path / "public" / "chats" / "100K" / "1" / "chat.json", chat)
    write(tmp_path / "public" / "chats" / "100K" / "1" / "probing_questions" / "probing_questions.json", probing)
    public = load_set("beam-100k", tmp_path / "public")
    assert public.by_question["beam-100k-1/knowledge_update-0"].evidence == ("0", "1")
    assert not public.by_question["beam-100k-1/abstention-0"].answerable
    assert len(public.files) == 2

    beir = tmp_path / "beir" / "beam100k"
    facts = {"conversation": "beam-1", "batch": 1, "role": "user", "time_anchor": "March-15-2024"}
    write(beir / "corpus.jsonl", {"_id": "beam-1/0", "text": "user: My sprint ends.", "metadata": facts})
    write(
        beir / "queries.jsonl",
        {"_id": "q", "text": "When?", "metadata": {"conversation": "beam-1", "category": "x", "answer": "March 29"}},
    )
    (beir / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\tbeam-1/0\t1\n")
    assert load_set("beam-100k", tmp_path / "beir").questions[0].evidence == ("beam-1/0",)


def test_personamem_splits_documents_into_turns_and_hides_the_options(tmp_path: Path) -> None:
    write(
        tmp_path / "documents.json",
        [{"id": "u_0", "user_id": "u", "content": "[USER] I like jazz.\n\n[ASSISTANT] Good.", "timestamp": None}],
    )
    write(
        tmp_path / "queries.json",
        [
            {
                "id": "q",
                "query": "What now?\n\n(a) Jazz\n(b) Rock",
                "gold_answers": ["(a) Jazz", "a"],
                "gold_ids": ["u_0"],
                "user_id": "u",
                "meta": {"question_type": "recall", "retrieval_query": "What now?"},
            }
        ],
    )
    found = load_set("personamem", tmp_path)
    assert [item.text for item in found.users[0].items] == ["I like jazz.", "Good."]
    question = found.questions[0]
    assert (question.text, question.options, question.answer) == ("What now?", ("Jazz", "Rock"), "a")
    assert found.layers == ("answers",)


def test_personamem_as_published_ends_each_chat_where_the_question_is_asked(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": f"turn {place}"} for place in range(4)]
    (tmp_path / "shared_contexts_32k.jsonl").write_text(json.dumps({"ctx": turns}) + "\n")
    (tmp_path / "questions_32k.csv").write_text(
        "question_id,question_type,user_question_or_message,correct_answer,all_options,shared_context_id,"
        "end_index_in_shared_context\n"
        "q1,recall,What now?,(b),\"['(a) Jazz', '(b) Rock']\",ctx,2\n"
        "q2,recall,And now?,(a),\"['(a) Jazz', '(b) Rock']\",ctx,4\n"
    )
    found = load_set("personamem", tmp_path)
    assert [len(user.items) for user in found.users] == [2, 4]
    assert found.chats == 1
    assert found.questions[0].options == ("Jazz", "Rock")
    assert found.questions[0].answer == "b"


def test_factconsolidation_derives_the_newest_chain(tmp_path: Path) -> None:
    context = """Here is a list of facts:
0. Ada Lovelace is married to William King.
1. William King is a citizen of Norway.
2. The capital of Norway is Oslo.
3. William King is a citizen of Peru.
4. The capital of Peru is Lima."""
    single = {
        "context": context,
        "questions": ["What is the country of citizenship of William King?"],
        "answers": [["Peru"]],
        "metadata": {"source": "factconsolidation_sh_6k"},
    }
    multi = {
        "context": context,
        "questions": ["What is the capital of the country of the spouse of Ada Lovelace?", "Who knows?"],
        "answers": [["Lima"], ["nobody"]],
        "metadata": {"source": "factconsolidation_mh_6k"},
    }
    write(tmp_path / "conflict_resolution.json", [multi, single])
    found = load_set("factconsolidation", tmp_path)
    assert [question.evidence for question in found.questions] == [("3",), ("0", "3", "4"), ()]
    assert found.users[0].id == "factconsolidation_sh_6k"


def test_precisionmembench_asks_cases_and_turns_and_keeps_users_without_beliefs(tmp_path: Path) -> None:
    belief = {"_id": "b1", "user_id": "test-user", "canonical_name": "deploy_tool", "aliases": ["k8s"], "content": "K."}
    case = {"caseId": "c1", "category": "Alias", "query": "k8s?", "scope": [], "expect": {}}
    wanted = {"relevantBeliefs": {"shouldOnlyInclude": ["b1"]}}
    cases = [{**case, "expect": wanted}, {**case, "caseId": "c2", "userId": "new-user"}]
    write(tmp_path / "beliefs.seed.json", [belief])
    write(tmp_path / "retrieval.cases.json", cases)
    turn = {"turnIndex": 3, "userMessage": "And now?", "expect": wanted}
    write(tmp_path / "session-retrieval.cases.json", [{"caseId": "s", "turns": [turn]}])
    found = load_set("precisionmembench", tmp_path)
    assert found.users[0].items[0].text == "deploy tool (also: k8s): K."
    assert [question.id for question in found.questions] == ["c1", "c2", "s#3"]
    assert found.by_user["new-user"].items == ()


def test_a_set_that_is_not_there_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not contain"):
        load_set("locomo", None)
    with pytest.raises(InputError, match="no file of LoCoMo"):
        load_set("locomo", tmp_path)
    with pytest.raises(InputError, match="there is no set"):
        load_set("lokomo", tmp_path)
    (tmp_path / "locomo10.json").write_text("{")
    with pytest.raises(MalformedFile):
        load_set("locomo", tmp_path)


def test_a_set_refuses_repeated_ids_and_unknown_users() -> None:
    item = MemoryItem(id="i", text="x")
    with pytest.raises(BadValue, match="more than once"):
        MemorySet(name="s", users=(MemoryUser(id="u", items=(item, item)),), questions=())
    with pytest.raises(BadValue, match="does not have"):
        MemorySet(name="s", users=(), questions=(MemoryQuestion(id="q", user="u", text="?"),))


# --- Key overlays ---


def test_an_audit_becomes_an_overlay_that_corrects_answers_and_evidence(tmp_path: Path) -> None:
    write(tmp_path / "data" / "locomo10.json", LOCOMO)
    error = {
        "question_id": "locomo_1_qa0",
        "error_type": "WRONG_CITATION",
        "correct_evidence": ["D1:1"],
        "correct_answer": "Rome, Italy",
        "reasoning": "only the first turn says so",
    }
    write(tmp_path / "audit" / "errors_conv_1.json", [error])
    write_overlay(tmp_path / "overlay.json", convert_audit(tmp_path / "audit", version="1"))
    overlay = load_overlay(tmp_path / "overlay.json")
    assert overlay.corrections[0].wrong == "wrong evidence"
    locomo = load_set("locomo", tmp_path / "data")
    fixed = overlay.apply(locomo).questions[0]
    assert (fixed.evidence, fixed.answer) == (("D1:1",), "Rome, Italy")
    assert "1 of 2 questions, 0 with a wrong answer, 1 with other evidence" in overlay.describe(locomo)


def test_an_overlay_of_another_set_or_form_is_refused(tmp_path: Path) -> None:
    overlay = KeyOverlay(set="locomo", version="1", source="x", corrections=(Correction(question="q", wrong="x"),))
    with pytest.raises(InputError, match="the overlay is for locomo"):
        overlay.apply(load_set("starter", None))
    write(tmp_path / "no.json", {"format": "other"})
    with pytest.raises(MalformedFile):
        load_overlay(tmp_path / "no.json")
    with pytest.raises(InputError, match="errors_conv"):
        convert_audit(tmp_path, version="1")
