"""Where gold was lost: one test a stage, what is not known stays so, and the stages add up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st
from tests.evaluation.reporting.samples import dataset, given, told

from assay.evaluation.waterfall import RETRIEVAL, EvidenceStep, GoldFate, LossStage, trace, waterfall
from assay.records.answers import GivenAnswer, GoldAnchors, GoldSupport, RetrievedChunk
from assay.records.datasets import Case, Dataset, Document
from assay.records.evaluations import CaseResult, CaseStatus, Retrieved, Seen
from assay.systems.replies import read_reply

DATA = dataset()


def fate_of_a(seen: Seen | None, ids: str = "cd", k: int = 2, answer: GivenAnswer | None = None) -> GoldFate:
    retrieved = Retrieved(ids=tuple(ids), seen=seen, answer=answer)
    result = CaseResult(case_id="q1", status=CaseStatus.OK, retrieved=retrieved)
    fate = trace(DATA, DATA.cases[0], result, k=k)[0]
    assert fate.item == "a"
    return fate


@pytest.mark.parametrize(
    ("seen", "ids", "stage"),
    [
        (told({"vector": "cd"}, fused="cd", indexed="bcdef"), "cd", LossStage.NOT_INDEXED),
        (told({"vector": "cd"}, fused="cd"), "cd", LossStage.NOT_A_CANDIDATE),
        (told({"vector": "acd"}, fused="cd", excluded="a"), "cd", LossStage.OUT_OF_SCOPE),
        (told({"vector": "acd"}, fused="cd"), "cd", LossStage.LOST_IN_FUSION),
        (told({"vector": "acd"}, fused="cda"), "cd", LossStage.LOST_IN_RERANK),
        (told({"vector": "acd"}, fused="cda"), "cda", LossStage.BELOW_K),
        (told({"vector": "acd"}, fused="cda"), "ca", LossStage.REACHED),
        (None, "ca", LossStage.REACHED),
        (None, "cda", LossStage.BELOW_K),
    ],
)
def test_each_stage_is_told_from_what_the_system_tells(seen: Seen | None, ids: str, stage: LossStage) -> None:
    assert fate_of_a(seen, ids).stage is stage


def test_a_scope_that_acts_inside_the_channels_is_the_reason_that_they_offered_nothing() -> None:
    assert fate_of_a(told({"vector": "cd"}, fused="cd", excluded="a")).stage is LossStage.OUT_OF_SCOPE


def test_what_a_system_does_not_tell_is_not_known_and_the_stages_left_open_are_named() -> None:
    silent = fate_of_a(None)
    assert silent.stage is LossStage.NOT_KNOWN
    assert silent.between == (
        LossStage.NOT_INDEXED,
        LossStage.NOT_A_CANDIDATE,
        LossStage.OUT_OF_SCOPE,
        LossStage.LOST_IN_FUSION,
        LossStage.LOST_IN_RERANK,
    )
    half = fate_of_a(Seen(channels={"vector": ("a", "c")}))
    assert half.between == (LossStage.OUT_OF_SCOPE, LossStage.LOST_IN_FUSION, LossStage.LOST_IN_RERANK)


@pytest.mark.parametrize(
    ("reply", "stage", "dropped_by"),
    [
        ({"candidates": {"dense": "cd"}}, LossStage.NOT_KNOWN, ""),
        ({"candidates": {"dense": "acd"}}, LossStage.LOST_IN_RERANK, ""),
        ({"candidates": {"dense": "acd", "bm25": "d"}}, LossStage.NOT_KNOWN, ""),
        (
            {"candidates": {"dense": "acd", "bm25": "d"}, "stages": [{"name": "rerank", "dropped": "a"}]},
            LossStage.LOST_IN_RERANK,
            "rerank",
        ),
        ({"stages": [{"name": "fusion", "dropped": "a"}]}, LossStage.LOST_IN_FUSION, "fusion"),
        ({"stages": [{"name": "filter", "dropped": "a"}]}, LossStage.OUT_OF_SCOPE, "filter"),
        ({"stages": [{"name": "dedup", "dropped": "a"}]}, LossStage.LOST_IN_RERANK, "dedup"),
        (
            {"candidates": {"dense": "a", "bm25": "d"}, "stages": [{"name": "fusion", "in": "ad", "out": "ad"}]},
            LossStage.LOST_IN_RERANK,
            "",
        ),
        (
            {"candidates": {"dense": "a", "bm25": "d"}, "stages": [{"name": "fusion", "in": "ad", "out": "d"}]},
            LossStage.LOST_IN_FUSION,
            "fusion",
        ),
    ],
)
def test_a_foreign_system_that_reports_its_steps_is_followed(
    reply: dict[str, Any], stage: LossStage, dropped_by: str
) -> None:
    candidates = {name: list(ids) for name, ids in reply.get("candidates", {}).items()}
    stages = [
        {key: value if key == "name" else list(value) for key, value in one.items()} for one in reply.get("stages", ())
    ]
    said = {"candidates": candidates or None, "stages": stages or None}
    fate = fate_of_a(read_reply({"results": list("cd"), **said}).seen)
    assert (fate.stage, fate.dropped_by) == (stage, dropped_by)


def test_a_list_that_was_cut_where_it_is_kept_proves_no_absence() -> None:
    told = Seen(channels={"dense": ("c",)}, indexed=("a",), cut=("candidates: dense",))
    assert fate_of_a(told).passed[EvidenceStep.CANDIDATE] is None
    assert fate_of_a(replace(told, cut=())).stage is LossStage.NOT_A_CANDIDATE


def test_candidates_may_be_named_by_the_path_of_their_document() -> None:
    documents = tuple(replace(one, rel_path=f"notes/{one.id}.md") for one in DATA.documents)
    seen = read_reply({"results": ["c"], "candidates": {"dense": [("notes/a.md", 0.5)]}}).seen
    result = CaseResult(case_id="q1", status=CaseStatus.OK, retrieved=Retrieved(ids=("c",), seen=seen))
    fate = trace(replace(DATA, documents=documents), DATA.cases[0], result, k=2)[0]
    assert (fate.channels, fate.channel_scores) == ({"dense": 1}, {"dense": 0.5})


def test_not_to_be_excluded_proves_nothing_of_the_channels() -> None:
    fate = fate_of_a(told({"vector": "cd"}, fused="cd"))
    assert fate.passed[EvidenceStep.IN_SCOPE] is True
    assert fate.passed[EvidenceStep.CANDIDATE] is False


def test_ranks_in_every_list_are_kept() -> None:
    fate = fate_of_a(told({"vector": "cda", "bm25": "cd"}, fused="dca"), "dca")
    assert (fate.channels, fate.fused_rank, fate.rank) == ({"vector": 3, "bm25": None}, 3, 3)


def test_an_answer_adds_citing_and_being_right() -> None:
    def stage(*references: str, right: bool | None = None) -> LossStage:
        answer = GivenAnswer(text="so", references=tuple(RetrievedChunk(rel_path=one) for one in references))
        result = CaseResult(case_id="q1", status=CaseStatus.OK, retrieved=Retrieved(ids=("a",), answer=answer))
        return trace(DATA, DATA.cases[0], result, k=2, right=right)[0].stage

    assert stage("c") is LossStage.NOT_CITED
    assert stage("a", right=False) is LossStage.ANSWER_WRONG
    assert stage("a", right=True) is LossStage.REACHED
    assert stage("a") is LossStage.REACHED


def test_a_chunk_of_a_document_cites_it() -> None:
    reference = RetrievedChunk(rel_path="notes/a.md", chunk_id="a:chunk:4")
    fate = fate_of_a(None, "a", answer=GivenAnswer(text="so", references=(reference,)))
    assert fate.passed[EvidenceStep.CITED] is True


def test_anchored_gold_is_a_place_and_its_document_alone_proves_nothing() -> None:
    support = GoldSupport(rel_path="doors.md", heading_path="Badges")
    case = Case(id="q", query="badge", anchors=GoldAnchors(supports=(support,)))
    data = Dataset(name="vault", documents=(Document(id="doors", text="x", rel_path="doors.md"),), cases=(case,))

    def fate(passages: tuple[RetrievedChunk, ...], *, indexed: tuple[str, ...] = ("doors",)) -> GoldFate:
        seen = Seen(indexed=indexed, channels={"vector": indexed}, excluded=(), fused=indexed)
        retrieved = Retrieved(ids=("doors",), passages=passages, seen=seen)
        return trace(data, case, CaseResult(case_id="q", status=CaseStatus.OK, retrieved=retrieved), k=1)[0]

    elsewhere = RetrievedChunk(rel_path="doors.md", heading_path="Keys")
    assert fate((elsewhere,)).stage is LossStage.NOT_KNOWN
    assert fate((elsewhere,), indexed=()).stage is LossStage.NOT_INDEXED
    there = RetrievedChunk(rel_path="doors.md", heading_path="Badges > Replacement")
    assert fate((elsewhere, there)).stage is LossStage.BELOW_K
    assert fate((there,)).stage is LossStage.REACHED


def test_an_unanswerable_case_has_no_gold_and_ungraded_documents_are_none() -> None:
    case = Case(id="q", query="?", answerable=False, anchors=GoldAnchors(answerable=False))
    data = replace(DATA, cases=(case,))
    result = CaseResult(case_id="q", status=CaseStatus.OK, retrieved=Retrieved(ids=("c",)))
    assert waterfall(data, [result], k=2).fates == ()


def test_failed_and_untried_cases_are_counted_apart() -> None:
    failed = CaseResult(case_id="q1", status=CaseStatus.ERROR, error="boom")
    skipped = CaseResult(case_id="q2", status=CaseStatus.SKIPPED)
    good = CaseResult(case_id="q3", **given("ab"))  # type: ignore[arg-type] # by name
    water = waterfall(DATA, [failed, skipped, good], k=2)
    assert water.lost == {LossStage.SYSTEM_FAILED: 2}
    assert (water.untried, len(water.fates), water.count_reached(EvidenceStep.WITHIN_K)) == (2, 4, 2)


def test_of_repeats_the_first_counts() -> None:
    first = CaseResult(case_id="q1", **given("ab"))  # type: ignore[arg-type] # by name
    assert len(waterfall(DATA, [first, replace(first, repeat=1)], k=2).fates) == 2


IDS = st.lists(st.sampled_from("abcdef"), unique=True).map(tuple)
SEEN = st.builds(
    Seen,
    indexed=st.none() | IDS,
    channels=st.none() | st.dictionaries(st.sampled_from(["vector", "bm25"]), IDS),
    excluded=st.none() | IDS,
    fused=st.none() | IDS,
)


@for_all(seen=st.none() | SEEN, ids=IDS, k=st.integers(1, 4))
def test_whatever_a_system_tells_every_item_ends_once_and_the_funnel_only_narrows(
    seen: Seen | None, ids: tuple[str, ...], k: int
) -> None:
    result = CaseResult(case_id="q1", status=CaseStatus.OK, retrieved=Retrieved(ids=ids, seen=seen))
    water = waterfall(DATA, [result], k=k)
    assert sum(water.lost.values()) + sum(one.found for one in water.fates) == len(water.fates) == 2
    passed = [water.count_reached(step) for step in RETRIEVAL]
    possible = [water.count_reached(step) + water.doubtful(step) for step in RETRIEVAL]
    assert passed == sorted(passed, reverse=True)
    assert possible == sorted(possible, reverse=True)
    for one in water.fates:
        assert one.found == (one.item in ids[:k])
        assert (one.stage is LossStage.NOT_KNOWN) == (len(one.between) > 1)
