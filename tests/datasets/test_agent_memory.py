"""The bundled `agent-memory` dataset keeps what it promises: every tier, causal chains, sessions, judged queries."""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest

from assay.embedding.bundled import load_bundled
from assay.evaluation.datasets.validation import check_path
from assay.formats.golden import read_golden
from assay.metrics.current_facts import find_stating
from assay.records import EdgeKind, Intent, Tier
from assay.records.datasets import Case, Dataset
from assay.text.terms import normalise_phrase, words

PLACE = Path(str(files("assay"))) / "datasets" / "agent-memory"
TARGETS = {
    "trigger-match": 30,
    "semantic-search": 50,
    "causal-query": 25,
    "cross-folder": 25,
    "intent-specific": 105,
    "cold-start": 15,
    "multi-concept": 20,
    "edge-case": 10,
}
FOLDERS = {
    "specs",
    "decisions",
    "bugs",
    "incidents",
    "runbooks",
    "conventions",
    "people",
    "security",
    "releases",
}
CAUSAL = {EdgeKind.CAUSED, EdgeKind.ENABLED}


@pytest.fixture(scope="module")
def memory() -> Dataset:
    return read_golden(PLACE)


@pytest.fixture(scope="module")
def following(memory: Dataset) -> dict[str, set[str]]:
    """What each memory caused or enabled."""
    found: dict[str, set[str]] = {}
    for edge in memory.edges:
        if edge.kind in CAUSAL:
            found.setdefault(edge.source_id, set()).add(edge.target_id)
    return found


def relevant(case: Case) -> set[str]:
    return {name for name, grade in case.labels.items() if grade >= 2}


def worked_with(case: Case) -> set[str]:
    return set(case.session.working_memory) if case.session else set()


def named_in(case: Case, dataset: Dataset) -> set[str]:
    """The memories of which a trigger stands in the query."""
    query = f" {normalise_phrase(case.query)} "
    return {
        one.id for one in dataset.documents if any(f" {normalise_phrase(phrase)} " in query for phrase in one.triggers)
    }


def test_the_checks_of_datasets_find_nothing_wrong() -> None:
    assert check_path("agent-memory").findings == ()


def test_memories_are_short_notes_in_markdown(memory: Dataset) -> None:
    lengths = [len(one.text.split()) for one in memory.documents]
    assert len(lengths) >= 130
    assert min(lengths) >= 40
    assert max(lengths) <= 220
    assert sum(length >= 140 for length in lengths) >= 5


def test_every_folder_is_well_filled(memory: Dataset) -> None:
    found = Counter(one.folder for one in memory.documents)
    assert set(found) == FOLDERS
    assert min(found.values()) >= 8


def test_a_memory_lies_where_its_path_says_and_no_file_is_left_over(memory: Dataset) -> None:
    assert {one.rel_path for one in memory.documents} == {
        path.relative_to(PLACE / "memories").as_posix() for path in (PLACE / "memories").rglob("*.md")
    }
    assert [one.id for one in memory.documents if one.rel_path != f"{one.folder}/{one.id}.md"] == []


def test_every_tier_is_there_in_its_measure(memory: Dataset) -> None:
    found = Counter(one.tier for one in memory.documents)
    assert set(found) == set(Tier)
    assert 6 <= found[Tier.CONSTITUTIONAL] <= 8
    assert found[Tier.CRITICAL] >= 15
    assert found[Tier.IMPORTANT] >= 30
    assert min(found[Tier.TEMPORARY], found[Tier.DEPRECATED]) >= 5


def test_constitutional_memories_fit_into_what_a_tenant_may_pin(memory: Dataset) -> None:
    embedder = load_bundled(threads=1)
    laws = [one for one in memory.documents if one.tier is Tier.CONSTITUTIONAL]
    assert sum(embedder.count_tokens(f"{one.title}\n{one.text}") for one in laws) <= 2000


def test_memories_are_titled_tagged_and_dated_within_about_a_year(memory: Dataset) -> None:
    dates = [one.dated for one in memory.documents if one.dated is not None]
    assert len(dates) == len(memory.documents)
    assert 300 <= (max(dates) - min(dates)).days <= 400
    assert len({one.title for one in memory.documents}) == len(memory.documents)
    assert [one.id for one in memory.documents if not one.tags] == []


def test_most_memories_have_two_to_four_triggers(memory: Dataset) -> None:
    counts = [len(one.triggers) for one in memory.documents]
    assert max(counts) <= 4
    assert sum(count >= 2 for count in counts) >= 0.9 * len(counts)


def test_no_two_memories_say_the_same(memory: Dataset) -> None:
    """Written one by one, not filled into a form: no two share twelve words in a row."""
    owners: dict[tuple[str, ...], str] = {}
    shared = []
    for one in memory.documents:
        found = words(one.text)
        for run in {tuple(found[start : start + 12]) for start in range(len(found) - 11)}:
            other = owners.setdefault(run, one.id)
            if other != one.id:
                shared.append((other, one.id, " ".join(run)))
    assert shared == []


def test_edges_are_of_every_kind_and_each_says_why(memory: Dataset) -> None:
    found = Counter(one.kind for one in memory.edges)
    assert len(memory.edges) >= 60
    assert set(found) == set(EdgeKind)
    assert min(found.values()) >= 5
    assert [one for one in memory.edges if not one.evidence or one.source_id == one.target_id] == []
    assert len({(one.source_id, one.kind, one.target_id) for one in memory.edges}) == len(memory.edges)


def test_an_effect_is_not_older_than_its_cause(memory: Dataset) -> None:
    dated = {one.id: one.dated for one in memory.documents}
    for edge in memory.edges:
        source, target = dated[edge.source_id], dated[edge.target_id]
        assert source is not None
        assert target is not None
        if edge.kind in CAUSAL:
            assert source <= target, edge
        if edge.kind is EdgeKind.SUPERSEDES:
            assert source > target, edge
        assert edge.created_at == max(source, target), edge


def test_what_was_superseded_is_deprecated_and_everything_deprecated_was_superseded(memory: Dataset) -> None:
    replaced = [one.target_id for one in memory.edges if one.kind is EdgeKind.SUPERSEDES]
    assert len(replaced) >= 8
    assert sorted(replaced) == sorted(one.id for one in memory.documents if one.tier is Tier.DEPRECATED)


def test_what_was_superseded_is_a_near_miss_for_what_took_its_place(memory: Dataset) -> None:
    for edge in memory.edges:
        if edge.kind is EdgeKind.SUPERSEDES:
            grades = [one.labels[edge.target_id] for one in memory.cases if edge.target_id in one.labels]
            both = [one for one in memory.cases if edge.source_id in relevant(one) and edge.target_id in one.labels]
            assert max(grades) == 1, edge.target_id
            assert both, edge.target_id


def test_there_are_fifteen_causal_chains_of_three_or_more(memory: Dataset, following: dict[str, set[str]]) -> None:
    """Counted by where they begin: a memory that nothing caused, with an effect that has an effect."""
    caused = {target for targets in following.values() for target in targets}
    begun = [name for name in following if name not in caused and any(following.get(one) for one in following[name])]
    assert len(begun) >= 15


def test_the_asked_chains_follow_the_edges_and_are_relevant(memory: Dataset, following: dict[str, set[str]]) -> None:
    chains = [one for one in memory.cases if one.causal_chain]
    assert {one.category for one in chains} == {"causal-query"}
    assert len(chains) == sum(one.category == "causal-query" for one in memory.cases)
    assert sum(len(one.causal_chain) >= 3 for one in chains) >= 23
    for one in chains:
        assert set(one.causal_chain) <= relevant(one), one.id
        assert all(then in following.get(first, ()) for first, then in pairwise(one.causal_chain)), one.id


@pytest.mark.parametrize(("category", "least"), TARGETS.items())
def test_every_category_is_asked_often_enough(memory: Dataset, category: str, least: int) -> None:
    assert sum(one.category == category for one in memory.cases) >= least


def test_queries_are_of_the_known_categories_and_difficulties(memory: Dataset) -> None:
    assert len(memory.cases) >= 280
    assert {one.category for one in memory.cases} == set(TARGETS)
    found = Counter(one.difficulty for one in memory.cases)
    assert set(found) == {"easy", "medium", "hard"}
    assert min(found.values()) >= 50


@pytest.mark.parametrize("intent", list(Intent))
def test_every_intent_has_fifteen_queries_of_its_own(memory: Dataset, intent: Intent) -> None:
    assert sum(one.category == "intent-specific" and one.intent is intent for one in memory.cases) >= 15


def test_a_query_for_triggers_holds_a_trigger_of_a_memory_that_answers_it(memory: Dataset) -> None:
    for one in memory.cases:
        if one.category == "trigger-match":
            assert any(one.labels.get(name) == 3 for name in named_in(one, memory)), one.id


def test_what_a_trigger_names_was_judged(memory: Dataset) -> None:
    assert [(one.id, names) for one in memory.cases if (names := named_in(one, memory) - one.labels.keys())] == []


def test_a_cross_folder_query_needs_memories_of_two_folders_or_more(memory: Dataset) -> None:
    for one in memory.cases:
        if one.category == "cross-folder":
            assert len({memory.by_id[name].folder for name in relevant(one)}) >= 2, one.id


def test_a_cold_start_is_the_first_query_of_a_session_of_its_own(memory: Dataset) -> None:
    cold = [one.session for one in memory.cases if one.category == "cold-start"]
    assert all(one is not None and not one.working_memory and one.turn == 0 for one in cold)
    others = {one.session.session_id for one in memory.cases if one.session and one.category != "cold-start"}
    assert others.isdisjoint({one.session_id for one in cold if one is not None})


def test_forty_queries_are_asked_in_a_session_with_a_history(memory: Dataset) -> None:
    warm = [one.session for one in memory.cases if one.session is not None and one.session.working_memory]
    assert len(warm) >= 40
    assert all(one.turn >= 1 for one in warm)
    assert len({(one.session_id, one.turn) for one in warm}) == len(warm)


def test_what_a_session_was_given_is_not_wanted_again_but_leads_to_what_is(memory: Dataset) -> None:
    joined = {frozenset((one.source_id, one.target_id)) for one in memory.edges}
    for one in memory.cases:
        if held := worked_with(one):
            assert not held & relevant(one), one.id
            assert any(frozenset((first, then)) in joined for first in held for then in relevant(one)), one.id


def test_interchangeable_memories_are_both_right(memory: Dataset) -> None:
    classes = [(one, group) for one in memory.cases if one.equivalence for group in one.equivalence.classes]
    assert len({group for _, group in classes}) >= 5
    assert [one.id for one, group in classes if any(one.labels[name] != 3 for name in group)] == []


def test_some_queries_have_no_answer_and_all_others_have_one_of_the_highest_grade(memory: Dataset) -> None:
    unanswerable = [one for one in memory.cases if not one.answerable]
    assert len(unanswerable) >= 3
    assert {one.category for one in unanswerable} == {"edge-case"}
    assert [one.id for one in unanswerable if max(one.labels.values()) > 0] == []
    assert [one.id for one in memory.cases if one.answerable and 3 not in one.labels.values()] == []


def test_edge_cases_are_long_foreign_misspelt_and_full_of_signs(memory: Dataset) -> None:
    queries = [one.query for one in memory.cases if one.category == "edge-case"]
    assert max(len(words(query)) for query in queries) >= 100
    assert min(len(words(query)) for query in queries) <= 2
    assert sum(not query.isascii() for query in queries) >= 2
    assert sum(any(sign in query for sign in '";`*') for query in queries) >= 2


def test_the_whole_scale_is_used(memory: Dataset) -> None:
    assert (memory.lowest_grade, memory.highest_grade, memory.relevance_level) == (0, 3, 2)
    found = Counter(grade for one in memory.cases for grade in one.labels.values())
    assert set(found) == {0, 1, 2, 3}
    assert min(found.values()) >= 250


def test_many_queries_have_several_relevant_memories(memory: Dataset) -> None:
    counts = [len(relevant(one)) for one in memory.cases]
    assert sum(count >= 2 for count in counts) >= 0.6 * len(counts)
    assert max(counts) <= 9


def test_every_memory_is_graded_and_most_answer_something(memory: Dataset) -> None:
    assert {name for one in memory.cases for name in one.labels} == set(memory.by_id)
    answering = {name for one in memory.cases for name in relevant(one)}
    lasting = {one.id for one in memory.documents if one.tier is not Tier.DEPRECATED}
    assert len(answering) >= 0.9 * len(lasting)


def test_the_listed_relevant_entities_are_those_graded_two_or_three() -> None:
    for one in json.loads((PLACE / "golden.json").read_text(encoding="utf-8"))["queries"]:
        expected = one["expected_results"]
        graded = [name for name, grade in expected["relevance_labels"].items() if grade >= 2]
        assert expected["relevant_entities"] == graded, one["query_id"]


def test_no_query_is_copied_from_a_memory(memory: Dataset) -> None:
    """Six words in a row are a quotation; a term is not."""
    texts = {one.id: f" {' '.join(words(f'{one.title} {one.text}'))} " for one in memory.documents}
    for case in memory.cases:
        found = words(case.query)
        runs = [" ".join(found[start : start + 6]) for start in range(len(found) - 5)]
        assert [(name, run) for run in runs for name, text in texts.items() if f" {run} " in text] == [], case.id


def test_queries_differ_and_stand_in_the_order_of_their_ids(memory: Dataset) -> None:
    assert len({normalise_phrase(one.query) for one in memory.cases}) == len(memory.cases)
    assert all(one.id < then.id for one, then in pairwise(memory.cases))


def test_what_has_changed_names_its_current_value_and_those_it_replaced(memory: Dataset) -> None:
    """Every direct answer states the current value, and only what was superseded states an outdated one."""
    changed = [one for one in memory.cases if one.current_value is not None]
    replaced = {one.target_id for one in memory.edges if one.kind is EdgeKind.SUPERSEDES}
    assert len(changed) >= 12
    assert len({one.current_value for one in changed}) >= 12
    for one in changed:
        stating = set(find_stating(memory.documents, one.current_value or ""))
        assert {name for name, grade in one.labels.items() if grade == 3} <= stating, one.id
        for value in one.outdated_values:
            assert set(find_stating(memory.documents, value)) <= replaced, one.id
