"""What functions and services may give back, and what they may not."""

from __future__ import annotations

import numpy as np
import pytest

from assay.errors import BadValue
from assay.records.answers import GivenAnswer, RetrievedChunk
from assay.systems.replies import read_answer, read_reply


def test_ids_pairs_and_objects_are_read_alike() -> None:
    assert read_reply(["a", "b"]).ids == ("a", "b")
    assert read_reply([("a", 2), ["b", 1.5]]).scores == (2.0, 1.5)
    objects = read_reply([{"id": "a", "score": np.float32(2.0)}, {"id": "b", "score": 1}])
    assert (objects.ids, objects.scores) == (("a", "b"), (2.0, 1.0))
    assert read_reply(one for one in ("a", "b")).ids == ("a", "b")
    assert read_reply([]).ids == ()


def test_whole_numbers_are_ids_too() -> None:
    assert read_reply([3, np.int64(4)]).ids == ("3", "4")


def test_an_object_with_more_than_an_id_is_a_passage() -> None:
    found = read_reply([{"id": "a", "text": "Open.", "heading_path": "Times"}, {"id": "b"}])
    # A result without more keeps its place: left out, those below it would move up.
    assert found.passages == (
        RetrievedChunk(rel_path="a", heading_path="Times", text="Open."),
        RetrievedChunk(rel_path="b"),
    )


def test_a_whole_reply_has_an_answer_stages_and_a_cost() -> None:
    found = read_reply(
        {"results": ["a"], "answer": {"text": "No.", "abstained": True}, "stages": {"rerank": 3}, "cost": 0.5}
    )
    assert (found.ids, found.stages, found.cost) == (("a",), {"rerank": 3.0}, 0.5)
    assert found.answer == GivenAnswer(text="No.", abstained=True)
    assert read_answer("Yes.") == GivenAnswer(text="Yes.")


def test_scores_that_rise_are_noted_and_the_order_given_counts() -> None:
    found = read_reply([("a", 1.0), ("b", 2.0)])
    assert (found.ids, found.notes) == (("a", "b"), ("the scores do not fall; the order given counts",))


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (None, "the reply is None"),
        ("abc", "not a list of results"),
        (7, "not a list of results"),
        ({"hits": []}, "the keys 'hits' and no 'results'"),
        ({"results": {"a": 1}}, "not a list of results"),
        ([None], "result 1 has the id None"),
        ([True], "result 1 has the id True"),
        ([""], "result 1 has the id ''"),
        ([1.5], "result 1 has the id 1.5"),
        ([("a", "high")], "result 1 has the score 'high'"),
        ([("a", 1.0), "b"], "some results have a score"),
        ([{"score": 1.0}], "result 1 has the keys 'score' and no 'id'"),
        ({"results": [], "answer": 7}, "the answer is 7"),
    ],
)
def test_anything_else_is_refused_by_name(reply: object, said: str) -> None:
    with pytest.raises(BadValue, match=said.replace("(", r"\(")):
        read_reply(reply)


def test_what_stands_beside_an_answer_of_text_belongs_to_it() -> None:
    found = read_reply({"results": [], "answer": "I do not know.", "abstained": True, "confidence": 0.2})
    assert found.answer == GivenAnswer(text="I do not know.", abstained=True, confidence=0.2)
    assert read_reply({"results": [], "answer": "Yes."}).answer == GivenAnswer(text="Yes.")
