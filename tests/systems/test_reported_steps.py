"""What a reply may say of its channels and stages, and what is refused with the value that was there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assay.errors import BadValue
from assay.evaluation.running.files import case_line, read_case
from assay.extend import Reply
from assay.records.evaluations import CaseResult, CaseStatus, Seen, SeenStage
from assay.systems.adapters.framework import steps_of
from assay.systems.replies import map_steps, read_reply
from assay.systems.reported_steps import MOST_KEPT, MOST_LISTS

STAGES: list[dict[str, Any]] = [
    {"name": "filter", "in": 5, "out": 4, "dropped": ["d"]},
    {"name": "fusion", "in": ["a", "b", "c"], "out": ["b", "a"]},
    {"name": "rerank", "ms": 12.5, "dropped": ["a"]},
]
SEEN = Seen(
    channels={"bm25": ("a", "c"), "dense": ("b", "a")},
    names_all_channels=True,
    channel_scores={"dense": (0.7, 0.6)},
    excluded=("d",),
    fused=("b", "a"),
    stages=(
        SeenStage(name="filter", entered=5, left=4, dropped=("d",)),
        SeenStage(name="fusion", entered=3, left=2, dropped=("c",)),
        SeenStage(name="rerank", dropped=("a",)),
    ),
)


def test_a_mapping_a_reply_and_named_lists_are_read_alike() -> None:
    lists = {"bm25": ["a", "c", "a"], "dense": [("b", 0.7), {"id": "a", "score": 0.6}]}
    by_key = read_reply({"results": ["b"], "scores": [0.9], "candidates": lists, "stages": STAGES})
    assert (by_key.seen, by_key.stages, by_key.scores) == (SEEN, {"rerank": 12.5}, (0.9,))
    named = [{"name": name, "results": listed} for name, listed in lists.items()]
    assert read_reply(Reply(results=["b"], scores=[0.9], candidates=named, stages=STAGES)) == by_key


def test_times_alone_tell_nothing_of_the_way() -> None:
    found = read_reply({"results": ["a"], "stages": {"rerank": 3}})
    assert (found.stages, found.seen) == ({"rerank": 3.0}, None)


def test_what_was_reported_is_kept_with_the_case() -> None:
    found = read_reply({"results": ["b"], "candidates": {"bm25": ["a"]}, "stages": STAGES})
    case = CaseResult(case_id="q", status=CaseStatus.OK, retrieved=found)
    assert read_case(json.loads(case_line(case))) == case


def test_lists_are_kept_up_to_a_bound_that_is_noted() -> None:
    long = {"dense": [str(place) for place in range(MOST_KEPT + 1)]}
    found = read_reply({"results": ["a"], "candidates": long})
    assert found.seen is not None
    assert found.seen.channels is not None
    assert len(found.seen.channels["dense"]) == MOST_KEPT
    assert found.seen.cut == ("candidates: dense",)
    assert found.notes == ("candidates: dense: the first 1,000 of 1,001 ids are kept",)
    many = read_reply({"results": [], "candidates": {f"c{place}": ["a"] for place in range(MOST_LISTS + 1)}})
    assert many.notes == ("candidates: the first 32 of 33 channels are kept",)


def test_a_key_that_is_nearly_right_is_noted() -> None:
    found = read_reply({"results": ["a"], "candidate": {"dense": ["a"]}, "took": 3})
    assert found.notes == ("the reply has 'candidate', which is not read; did you mean 'candidates'?",)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({"candidates": 7}, r"'candidates' is 7 \(int\)"),
        ({"candidates": ["a"]}, "'candidates' is a list of 1"),
        ({"candidates": [{"channel": "dense"}]}, "channel 1 of 'candidates' has the keys 'channel' and no 'name'"),
        ({"candidates": {"dense": "a"}}, "candidates of 'dense': the reply is 'a'"),
        ({"candidates": {"dense": [{"doc": 1}]}}, "candidates of 'dense': result 1 has the keys 'doc' and no 'id'"),
        ({"stages": 7}, r"'stages' is 7 \(int\)"),
        ({"stages": [{"in": 3}]}, "stage 1 has the keys 'in' and no 'name'"),
        ({"stages": [{"name": "rerank", "drop": []}]}, "stage 'rerank' has the key 'drop'"),
        ({"stages": {"rerank": "fast"}}, r"stage 'rerank' has 'fast' \(str\) as 'ms'"),
        ({"stages": [{"name": "rerank", "in": -1}]}, r"stage 'rerank': 'in' is -1 \(int\)"),
        ({"scores": [1.0, 2.0]}, "1 results have 2 'scores'"),
        ({"scores": 3}, r"'scores' is 3 \(int\), not a list"),
    ],
)
def test_anything_else_is_refused_by_name(reply: dict[str, object], said: str) -> None:
    with pytest.raises(BadValue, match=said):
        read_reply({"results": ["a"], **reply})


def test_candidates_of_a_service_are_read_by_its_paths() -> None:
    reply = {"debug": {"dense": [{"doc": {"id": "b"}, "sim": 0.7}]}, "way": [{"name": "rerank", "in": 3}]}
    paths = {"id": "doc.id", "score": "s", "candidates": "debug", "candidate_score": "sim", "stages": "way"}
    assert map_steps(reply, paths, "[response] candidates") == {
        "candidates": {"dense": [{"id": "b", "score": 0.7}]},
        "stages": [{"name": "rerank", "in": 3}],
    }
    assert map_steps({}, paths, "[response] candidates") == {}, "a reply may lack them"
    with pytest.raises(BadValue, match=r"\[response\] candidates dense, candidate 1 has nothing at 'key'; .* 'doc'"):
        map_steps(reply, {**paths, "candidate_id": "key"}, "[response] candidates")


def test_a_state_of_a_framework_may_have_other_things_under_these_names() -> None:
    assert steps_of({"candidates": ["a", "b"], "stages": ["one", "two"]}, list) == {}
    said = steps_of({"candidates": {"dense": [object()]}, "stages": {"rerank": 2}}, lambda listed: ["a"] * len(listed))
    assert said == {"candidates": {"dense": ["a"]}, "stages": {"rerank": 2}}
