"""What the records of the research pipeline refuse, and that every dimension has one owner."""

from __future__ import annotations

import pytest

from assay.errors import BadValue
from assay.records.research import (
    DIMENSIONS,
    OWNERS,
    Checkpoint,
    Citation,
    Dimension,
    Material,
    Plan,
    PlannedQuery,
    Role,
    RoleScores,
    Statement,
    Synthesis,
    roles_at,
)


def test_every_dimension_belongs_to_one_checkpoint_and_one_role() -> None:
    placed = [dimension for dimensions in DIMENSIONS.values() for dimension in dimensions]
    assert sorted(placed) == sorted(Dimension)
    assert set(OWNERS) == set(Dimension)


def test_the_roles_of_a_checkpoint_are_the_owners_of_its_dimensions() -> None:
    assert roles_at(Checkpoint.PLAN) == (Role.INTENT_ANALYST, Role.COVERAGE_CHECKER)
    assert roles_at(Checkpoint.RETRIEVAL) == (Role.COVERAGE_CHECKER, Role.FAITHFULNESS_JUDGE, Role.QUALITY_ASSESSOR)
    assert roles_at(Checkpoint.ANSWER) == tuple(Role)


def test_a_plan_without_a_query_is_refused() -> None:
    with pytest.raises(BadValue, match="no query"):
        Plan(question="why?", queries=())


def test_a_query_without_words_is_refused() -> None:
    with pytest.raises(BadValue):
        PlannedQuery(text="  ")


def test_an_answer_that_cites_nothing_is_refused() -> None:
    with pytest.raises(BadValue, match="without a citation"):
        Synthesis(text="It is 40.", statements=(Statement(text="It is 40.", citations=()),))


def test_an_answer_that_cites_what_is_not_listed_is_refused() -> None:
    with pytest.raises(BadValue, match="without a citation"):
        Synthesis(
            text="It is 40 [2].",
            statements=(Statement(text="It is 40.", citations=(2,)),),
            citations=(Citation(number=1),),
        )


def test_an_answer_that_neither_states_nor_abstains_is_refused() -> None:
    with pytest.raises(BadValue, match="nothing at all"):
        Synthesis(text="Well.")


def test_an_abstention_needs_a_reason_and_no_statement() -> None:
    with pytest.raises(BadValue, match="abstention"):
        Synthesis(text="I do not know.", abstained=True)
    with pytest.raises(BadValue, match="abstention"):
        Synthesis(text="No.", abstained=True, reason="weak", statements=(Statement(text="No.", citations=(1,)),))


@pytest.mark.parametrize("score", [-0.1, 1.1, float("nan")])
def test_a_score_or_confidence_outside_0_to_1_is_refused(score: float) -> None:
    with pytest.raises(BadValue):
        RoleScores(scores={Dimension.RELEVANCE: score}, confidence=0.5)
    with pytest.raises(BadValue):
        RoleScores(scores={Dimension.RELEVANCE: 0.5}, confidence=score)


def test_an_unknown_dimension_is_refused_with_a_near_name() -> None:
    with pytest.raises(BadValue, match="coherence"):
        RoleScores(scores={"coherense": 0.5}, confidence=0.5)  # type: ignore[dict-item]


def test_material_needs_what_its_checkpoint_looks_at() -> None:
    with pytest.raises(BadValue, match="no plan"):
        Material(checkpoint=Checkpoint.PLAN, question="why?")
    with pytest.raises(BadValue, match="no synthesis"):
        Material(checkpoint=Checkpoint.ANSWER, question="why?")
