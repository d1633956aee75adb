"""Patterns: what was planted is found with its questions, chance is not, and a repeated question counts once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.analysis.made import asked, scored, session

from assay.analysis.patterns import find_patterns
from assay.analysis.traits import NEWEST
from assay.errors import BadValue
from assay.records.analysis import Impact, PatternOptions, Trait, TraitKind
from assay.records.research_log import ResearchSession


def test_a_planted_failure_is_found_with_its_questions_and_a_suggestion() -> None:
    found = find_patterns(scored(240, seed=1, lowered=lambda number: number % 8 == 0))
    assert len(found.found) == 1
    pattern = found.found[0]
    assert pattern.dimension == "intent_alignment"
    assert Trait(TraitKind.INTENT, NEWEST) in {pattern.trait, *pattern.same_as}
    assert Trait(TraitKind.TERM, "latest") in {pattern.trait, *pattern.same_as}
    assert {one.text for one in pattern.affected} == {asked(number, newest=True) for number in range(0, 240, 8)}
    assert [one.score for one in pattern.affected] == sorted(one.score for one in pattern.affected)
    assert pattern.impact is Impact.HIGH
    assert pattern.drop == pytest.approx(0.35, abs=0.1)
    assert pattern.loss == pytest.approx(pattern.drop / 8)
    assert pattern.suggestion.prompt_id == "planner"
    assert "current year" in pattern.suggestion.sentence
    assert "30 questions" in pattern.sentence


def test_a_tag_and_a_length_can_be_patterns_too() -> None:
    long = " with all that was ever said about it in any of the yearly meetings of the board"
    sessions = [
        session(
            number,
            asked(number).rstrip("?") + (long if number % 5 == 0 else ""),
            {"completeness": 0.3 if number % 5 == 0 else 0.9, "coherence": 0.2 if number % 7 == 0 else 0.8},
            tags=("legal",) if number % 7 == 0 else (),
        )
        for number in range(140)
    ]
    told = {(one.dimension, one.trait.kind) for one in find_patterns(sessions).found}
    assert told == {("completeness", TraitKind.LENGTH), ("coherence", TraitKind.TAG)}


def test_shuffled_scores_give_no_pattern_in_nineteen_of_twenty() -> None:
    sessions = scored(240, seed=2, lowered=lambda number: number % 8 == 0)
    rng = np.random.default_rng(3)
    silent = sum(not find_patterns(_shuffled(sessions, rng)).found for _ in range(20))
    assert silent >= 19


def _shuffled(sessions: list[ResearchSession], rng: np.random.Generator) -> list[ResearchSession]:
    order = rng.permutation(len(sessions))
    return [replace(one, scores=sessions[int(place)].scores) for one, place in zip(sessions, order, strict=True)]


def test_one_bad_question_asked_often_is_no_pattern() -> None:
    good = [session(number, scores={"faithfulness": 0.9}) for number in range(60)]
    bad = [session(100 + number, "How is the vault sealed?", {"faithfulness": 0.1}) for number in range(40)]
    found = find_patterns([*good, *bad])
    assert (found.questions, found.sessions) == (61, 100)
    assert found.found == ()


def test_higher_scores_are_no_pattern() -> None:
    sessions = scored(240, seed=4, lowered=lambda number: number % 8 == 0, drop=-0.3)
    assert not [one for one in find_patterns(sessions).found if one.trait.name == NEWEST]


def test_a_drop_too_small_to_matter_is_not_reported() -> None:
    sessions = [
        session(n, asked(n, newest=n % 4 == 0), {"coherence": 0.80 if n % 4 == 0 else 0.83}) for n in range(400)
    ]
    assert find_patterns(sessions).found == ()
    assert find_patterns(sessions, PatternOptions(least_drop=0.01)).found[0].impact is Impact.LOW


def test_what_is_the_same_seen_otherwise_is_told_once() -> None:
    """A third of the questions with the tag also have a word; the word alone is lowered by nothing."""
    sessions = [
        session(
            number,
            asked(number).rstrip("?") + (" carefully" if number % 9 == 0 else ""),
            {"relevance": 0.2 if number % 3 == 0 else 0.9},
            tags=("legal",) if number % 3 == 0 else (),
        )
        for number in range(180)
    ]
    found = find_patterns(sessions).found
    assert [str(one.trait) for one in found] == ["tag: legal"]
    assert "carefully" in {one.name for one in found[0].also}


def test_sessions_without_scores_are_left_out_and_dimensions_of_your_own_are_tested() -> None:
    unscored = [session(1_000 + number, skipped=True) for number in range(50)]
    own = [session(n, asked(n, newest=n % 5 == 0), {"tone": 0.1 if n % 5 == 0 else 0.9}) for n in range(100)]
    found = find_patterns([*unscored, *own])
    assert found.questions == 100
    assert [one.dimension for one in found.found] == ["tone"]
    assert "tone" in found.found[0].suggestion.sentence


def test_nothing_and_little_give_nothing() -> None:
    assert find_patterns([]).tested == 0
    few = find_patterns([session(number, scores={"tone": 0.5}) for number in range(5)])
    assert (few.questions, few.tested, few.found) == (5, 0, ())


def test_scores_that_never_differ_give_nothing() -> None:
    found = find_patterns([session(number, scores={"tone": 0.7}) for number in range(100)])
    assert found.tested > 0
    assert found.found == ()


def test_the_same_sessions_give_the_same_patterns() -> None:
    sessions = scored(240, seed=5, lowered=lambda number: number % 8 == 0, drop=0.15)
    assert find_patterns(sessions) == find_patterns(sessions)


@pytest.mark.parametrize(
    "wrong", [{"fdr": 0.0}, {"fdr": 1.0}, {"least_support": 1}, {"least_drop": -0.1}, {"least_drop": float("nan")}]
)
def test_options_that_mean_nothing_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(BadValue, match=next(iter(wrong))):
        PatternOptions(**wrong)  # type: ignore[arg-type] # a wrong value is the point


def test_a_rate_that_no_number_of_draws_could_show_is_refused() -> None:
    with pytest.raises(BadValue, match="fdr is 1e-09"):
        PatternOptions(fdr=1e-9)
