"""A split of a prompt's questions: dealt by their words, ended by any switch, and judged by question."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.prompt_splits import standing, standing_of
from assay.analysis.prompts import PromptBook
from assay.errors import BadValue, InputError
from assay.judging.prompts import dealt, read_bundled, version_for
from assay.records import Scope
from assay.records.research_log import PromptSplit, ResearchSession
from assay.storage import Store
from assay.testing import FixedClock

TEXT = 'system = """You plan."""\ntask = """Plan."""\n'
AT = FixedClock().now()
SPLIT = PromptSplit(prompt_id="planner", first=0, second=1, began_at=AT)
FIRST, SECOND = SPLIT.keys


def session(number: int, key: str, score: float | None, *, question: str = "", **more: object) -> ResearchSession:
    made = ResearchSession(
        log_id=f"r_{number}",
        created_at=AT + timedelta(minutes=number),
        question=question or f"question number {number}",
        overall_score=score,
        passed=None if score is None else score >= 0.7,
        prompt_versions=(key,),
    )
    return replace(made, **more)  # type: ignore[arg-type] # fields by name


def asked(gain: float, count: int, seed: int = 1) -> list[ResearchSession]:
    """Questions as a fair coin deals them."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        second = bool(rng.integers(2))
        score = float(np.clip(rng.normal(0.6, 0.1) + (gain if second else 0.0), 0.0, 1.0))
        made.append(session(number, SECOND if second else FIRST, score))
    return made


@given(st.text(max_size=60).map(lambda text: f"why {text}"))
def test_a_question_always_goes_to_the_same_side_however_it_is_written(question: str) -> None:
    side = version_for(SPLIT, question)
    assert side in (0, 1)
    assert version_for(SPLIT, f"  {question}  ") == side
    if question.isascii():
        assert version_for(SPLIT, question.upper()) == side


def test_half_of_the_questions_go_to_each_side_and_another_split_parts_them_otherwise() -> None:
    questions = [f"what is the rule number {number}" for number in range(2_000)]
    later = replace(SPLIT, began_at=AT + timedelta(days=1))
    one, other = ([version_for(split, question) for question in questions] for split in (SPLIT, later))
    assert 0.45 < sum(one) / len(one) < 0.55
    assert 0.45 < sum(a == b for a, b in zip(one, other, strict=True)) / len(one) < 0.55


def test_a_question_is_asked_with_the_version_it_was_dealt(store: Store, scope: Scope) -> None:
    book = PromptBook(store)
    book.write(scope, "planner", TEXT, active=False)
    made = book.split(scope, "planner", 1)
    assert (made.first, made.second, made.created_by) == (0, 1, scope.principal)
    with store.reading(scope) as work:
        splits, kept = work.prompts.running_splits(), work.prompts.versions()
    assert splits == [made]
    seen = set()
    for number in range(50):
        question = f"question {number}"
        found = dealt(question, kept, splits)
        version = version_for(made, question)
        seen.add(version)
        assert found.keys == (f"planner@{version}",)
        assert found.prompts["planner"].version == version
        assert (found.prompts["planner"].system == "You plan.") is (version == 1)
        assert found.prompts["synthesiser"].version == 0
    assert seen == {0, 1}
    assert dealt("question", kept, ()).keys == ()


@pytest.mark.parametrize("switch", ["use", "write", "end"])
def test_whatever_switches_a_version_ends_its_split(store: Store, scope: Scope, switch: str) -> None:
    book = PromptBook(store)
    book.write(scope, "planner", TEXT, active=False)
    book.split(scope, "planner", 1)
    if switch == "use":
        book.use(scope, "planner", 1)
    elif switch == "write":
        book.write(scope, "planner", TEXT.replace("Plan.", "Plan well."))
    else:
        book.end_split(scope, "planner")
    last = book.last_split(scope, "planner")
    assert last is not None
    assert last.ended_at is not None
    with store.reading(scope) as work:
        assert work.prompts.running_splits() == []
        assert "prompt.split_end" in [one.action for one in work.audit.entries(target="planner")]
        assert standing(work, last).first.sessions == 0
    with pytest.raises(InputError, match="not split"):
        book.end_split(scope, "planner")


def test_a_split_needs_another_version_that_is_there(store: Store, scope: Scope) -> None:
    book = PromptBook(store)
    assert book.last_split(scope, "planner") is None
    with pytest.raises(BadValue, match="both versions are 0"):
        book.split(scope, "planner", 0)
    with pytest.raises(InputError, match="no version 7"):
        book.split(scope, "planner", 7)
    with pytest.raises(BadValue, match="no prompt"):
        book.split(scope, "nobody", 1)
    assert read_bundled("planner")


def test_nobody_is_dealt_the_split_of_another_tenant(store: Store, scope: Scope) -> None:
    book = PromptBook(store)
    book.write(scope, "planner", TEXT, active=False)
    book.split(scope, "planner", 1)
    with store.reading(Scope(tenant="other")) as work:
        assert work.prompts.running_splits() == []
        assert work.prompts.split("planner") is None


def test_both_sides_are_shown_with_their_questions_and_intervals() -> None:
    found = standing_of(SPLIT, asked(0.0, 40))
    for side in (found.first, found.second):
        assert side.sessions == side.questions > 5
        assert side.score is not None
        assert side.score.low is not None
        assert side.score.high is not None
        assert side.score.low < side.score.estimate < side.score.high
        assert side.pass_rate is not None
    assert found.delta is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.0 < found.high
    assert found.decision is None
    assert found.uneven == ""


def test_a_better_version_is_found_and_a_worse_one_is_given_up() -> None:
    assert standing_of(SPLIT, asked(0.2, 400)).decision == "better"
    assert standing_of(SPLIT, asked(-0.2, 400)).decision in ("worse", "futile")


def test_versions_that_are_the_same_are_rarely_told_apart_however_often_one_looks() -> None:
    decisions = [standing_of(SPLIT, asked(0.0, 300, seed)).decision for seed in range(60)]
    assert sum(one in ("better", "worse") for one in decisions) <= 4


def test_the_question_is_the_unit() -> None:
    repeated = [session(number, FIRST, 0.9, question="the same again") for number in range(30)]
    found = standing_of(SPLIT, [*repeated, session(50, FIRST, 0.5), session(51, SECOND, 0.5)])
    assert (found.first.sessions, found.first.questions) == (31, 2)
    assert found.first.score is not None
    assert found.first.score.estimate == pytest.approx(0.7)


def test_retries_unscored_and_undealt_sessions_count_for_nothing() -> None:
    left_out = [
        session(1, FIRST, 0.9, retry_of="r_0"),
        session(2, SECOND, None),
        session(3, "planner@7", 0.9),
        session(4, FIRST, 0.9, prompt_versions=(FIRST, SECOND)),
    ]
    found = standing_of(SPLIT, left_out)
    assert (found.first.questions, found.second.questions, found.second.sessions) == (0, 0, 1)
    assert (found.delta, found.decision, found.evidence) == (None, None, (1.0, 1.0))


def test_sides_that_no_coin_would_deal_are_told() -> None:
    many = [session(number, FIRST, 0.5) for number in range(40)]
    assert "40 questions" in standing_of(SPLIT, [*many, session(50, SECOND, 0.5)]).uneven


def test_a_split_with_a_dead_side_decides_nothing() -> None:
    found = standing_of(SPLIT, [session(number, SECOND, 1.0) for number in range(60)])
    assert found.decision is None
    assert found.withheld.startswith("No decision before each side has 10 scored questions: 0 questions went to")
    fair = standing_of(SPLIT, asked(0.2, 400))
    assert (fair.decision, fair.withheld) == ("better", "")


def test_an_unfair_split_decides_nothing() -> None:
    sides = [session(number, SECOND, 1.0) for number in range(80)]
    sides += [session(100 + number, FIRST, 0.0) for number in range(20)]
    found = standing_of(SPLIT, sides)
    assert found.decision is None
    assert found.withheld.startswith("No decision while the split is not fair: 20 questions went to the first and 80")
