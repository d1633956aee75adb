"""The whole analysis over a real store: filters, the newest first, a model's words, prompts in use."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from tests.analysis.made import AT, scored, session

from assay.analysis.offline import analyze, compare_prompts, newest
from assay.analysis.prompts import PromptBook
from assay.errors import BadValue, NothingMeasured
from assay.records import Scope
from assay.records.research_log import ResearchFilter, ResearchSession
from assay.storage import Store
from assay.testing import ScriptedModel


def fill(store: Store, scope: Scope, sessions: list[ResearchSession]) -> None:
    with store.writing(scope) as work:
        for one in sessions:
            work.research.put(one, {})


def test_a_planted_pattern_is_told_with_its_log_ids(store: Store, scope: Scope) -> None:
    fill(store, scope, scored(240, seed=1, lowered=lambda number: number % 8 == 0))
    found = analyze(store, scope)
    assert found.aggregates.sessions == 240
    assert not found.patterns.cut
    (pattern,) = found.patterns.found
    assert {one.log_ids for one in pattern.affected} == {(f"r_{number}",) for number in range(0, 240, 8)}


def test_a_filter_is_for_patterns_too(store: Store, scope: Scope) -> None:
    fill(store, scope, scored(240, seed=1, lowered=lambda number: number % 8 == 0))
    found = analyze(store, scope, ResearchFilter(until=AT + timedelta(hours=40)))
    assert (found.aggregates.sessions, found.patterns.sessions, found.patterns.found) == (40, 40, ())


def test_a_model_is_shown_the_prompt_that_is_in_use(store: Store, scope: Scope) -> None:
    fill(store, scope, scored(240, seed=1, lowered=lambda number: number % 8 == 0))
    PromptBook(store).add_sentence(scope, "planner", "Mind the year.")
    model = ScriptedModel({"sentence": "Search for this year."}, name="small:1b")
    found = analyze(store, scope, model=model).patterns.found[0].suggestion
    assert (found.sentence, found.by) == ("Search for this year.", "small:1b")
    assert "Mind the year." in model.asked[0].messages[-1].content


def test_nothing_to_analyze_says_so(store: Store, scope: Scope) -> None:
    with pytest.raises(NothingMeasured, match="no session fits"):
        analyze(store, scope)


def test_the_newest_are_read_over_pages(store: Store, scope: Scope) -> None:
    fill(store, scope, [session(number) for number in range(7)])
    with store.reading(scope) as work:
        assert [one.log_id for one in newest(work, None, 3)] == ["r_6", "r_5", "r_4"]
        assert len(list(newest(work, None, 100))) == 7


def test_versions_are_compared_by_the_sessions_that_used_them(store: Store, scope: Scope) -> None:
    PromptBook(store).add_sentence(scope, "planner", "Mind the year.")
    first = scored(40, seed=1, lowered=lambda _: True)
    second = scored(40, seed=1, lowered=lambda _: False)
    fill(store, scope, [replace(one, prompt_versions=("planner@0",)) for one in first])
    rng = np.random.default_rng(0)
    with pytest.raises(NothingMeasured, match="planner@1"):
        compare_prompts(store, scope, "planner", 0, 1, rng=rng)
    again = [replace(one, log_id=f"s_{one.log_id}", prompt_versions=("planner@1",)) for one in second]
    fill(store, scope, again)
    found = compare_prompts(store, scope, "planner", 0, 1, rng=rng)
    assert found.paired
    assert {one.metric: one.verdict for one in found.metrics}["intent_alignment"] == "better"
    with pytest.raises(BadValue, match="both versions are 1"):
        compare_prompts(store, scope, "planner", 1, 1, rng=rng)
