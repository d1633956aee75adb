"""The bundled `vault` dataset keeps what it promises: anchors that lead somewhere, and grades that say the same."""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib.resources import files
from itertools import pairwise
from pathlib import Path, PurePosixPath

import pytest

from assay.embedding.bundled import load_bundled
from assay.evaluation.datasets.validation import check_path
from assay.formats.golden import read_golden
from assay.metrics.anchors import cite_both, cite_newer, matches, recall_all, recall_any
from assay.records import Format
from assay.records.answers import ConflictRule, FolderMode, GivenAnswer, GoldAnchors, GoldSupport, RetrievedChunk
from assay.records.datasets import Case, Dataset, Document
from assay.text.chunking import Chunker
from assay.text.sections import markdown_sections
from assay.text.terms import words

VAULT = Path(str(files("assay"))) / "datasets" / "vault"
LEAST = {
    "factual": 25,
    "reasoning": 15,
    "general": 10,
    "multi_hop": 15,
    "recency/conflict": 12,
    "adversarial": 12,
    "unanswerable": 60,
    "scope": 12,
}
UNANSWERABLE_KINDS = ("missing-detail", "false-premise", "other-entity")


@pytest.fixture(scope="module")
def vault() -> Dataset:
    return read_golden(VAULT)


@pytest.fixture(scope="module")
def notes(vault: Dataset) -> dict[str, Document]:
    return {one.rel_path: one for one in vault.documents}


@pytest.fixture(scope="module")
def places(vault: Dataset) -> dict[str, list[RetrievedChunk]]:
    """Each note as a system would retrieve it that cuts at every heading and nowhere else."""
    return {
        one.rel_path: [
            RetrievedChunk(rel_path=one.rel_path, heading_path=part.heading_path, text=part.text)
            for part in markdown_sections(one.text)
        ]
        for one in vault.documents
    }


def gold(case: Case) -> GoldAnchors:
    assert case.anchors is not None, case.id
    return case.anchors


def supports(vault: Dataset) -> list[tuple[Case, GoldSupport]]:
    return [(case, support) for case in vault.cases for support in gold(case).supports]


def of(vault: Dataset, category: str) -> list[Case]:
    return [one for one in vault.cases if one.category == category]


def outdated(case: Case) -> set[str]:
    """The notes whose word no longer counts, where the newer one is to be cited."""
    anchors = gold(case)
    if anchors.recency_conflict_rule is not ConflictRule.CITE_NEWER:
        return set()
    return {one.rel_path for one in anchors.supports} - {
        anchors.supports[position].rel_path for group in anchors.required_support_groups for position in group
    }


def test_the_checks_of_datasets_find_nothing_wrong() -> None:
    assert check_path("vault").findings == ()


def test_it_has_enough_notes_and_cases(vault: Dataset) -> None:
    assert 70 <= len(vault.documents) <= 90
    assert len(vault.cases) >= 200


@pytest.mark.parametrize("category", LEAST)
def test_every_kind_of_case_is_there_often_enough(vault: Dataset, category: str) -> None:
    assert len(of(vault, category)) >= LEAST[category]


def test_cases_are_of_the_known_kinds_and_difficulties(vault: Dataset) -> None:
    assert {one.category for one in vault.cases} == set(LEAST)
    found = Counter(one.difficulty for one in vault.cases)
    assert set(found) == {"easy", "medium", "hard"}
    assert min(found.values()) >= 20


def test_both_vaults_are_asked_about_alike(vault: Dataset) -> None:
    found = Counter(one.vault for one in vault.cases)
    assert set(found) == {"work", "personal"}
    assert min(found.values()) >= 0.4 * len(vault.cases)


def test_every_case_has_tags_and_a_question_of_its_own(vault: Dataset) -> None:
    assert [one.id for one in vault.cases if not one.tags] == []
    assert len({one.query for one in vault.cases}) == len(vault.cases)


def test_cases_stand_in_the_order_of_their_ids(vault: Dataset) -> None:
    assert all(one.id < then.id for one, then in pairwise(vault.cases))


def test_a_note_lies_where_its_path_says(vault: Dataset) -> None:
    for one in vault.documents:
        path = PurePosixPath(one.rel_path)
        assert (one.id, one.folder) == (path.stem, path.parent.as_posix())
        assert one.folder.split("/")[0] in {"work", "personal"}
        assert (VAULT / "notes" / one.rel_path).read_text(encoding="utf-8") == one.text


def test_no_file_of_a_note_is_left_over(notes: dict[str, Document]) -> None:
    found = {path.relative_to(VAULT / "notes").as_posix() for path in (VAULT / "notes").rglob("*") if path.is_file()}
    assert found == set(notes)


def test_both_vaults_have_several_folders(vault: Dataset) -> None:
    for name in ("work", "personal"):
        assert len({one.folder for one in vault.documents if one.folder.startswith(f"{name}/")}) >= 6


def test_notes_are_markdown_of_150_to_900_words(vault: Dataset) -> None:
    lengths = [len(one.text.split()) for one in vault.documents]
    assert {one.format for one in vault.documents} == {Format.MARKDOWN}
    assert min(lengths) >= 150
    assert max(lengths) <= 900
    assert sum(one >= 450 for one in lengths) >= 5


def test_a_note_says_its_title_date_and_tags_itself(vault: Dataset) -> None:
    for one in vault.documents:
        front, body = re.fullmatch(r"---\n(.+?)\n---\n(.+)", one.text, re.DOTALL).groups()  # type: ignore[union-attr]
        said = dict(line.split(": ", 1) for line in front.splitlines())
        assert one.dated is not None, one.id
        assert said["date"] == one.dated.date().isoformat(), one.id
        assert said["tags"] == f"[{', '.join(one.tags)}]", one.id
        assert body.startswith(f"# {one.title}\n"), one.id


def test_notes_have_two_to_four_levels_of_headings(places: dict[str, list[RetrievedChunk]]) -> None:
    depths = {
        path: max(len(part.heading_path.split(" > ")) for part in parts if part.heading_path)
        for path, parts in places.items()
    }
    assert set(depths.values()) <= {2, 3, 4}
    assert sum(depth >= 3 for depth in depths.values()) >= 0.5 * len(depths)


def test_a_heading_path_is_used_once_in_a_note(places: dict[str, list[RetrievedChunk]]) -> None:
    for path, parts in places.items():
        named = [part.heading_path for part in parts if part.heading_path]
        assert len(named) == len(set(named)), path


def test_no_two_notes_say_the_same(vault: Dataset) -> None:
    """Written one by one, not filled into a form: no two share twenty words in a row."""
    owners: dict[tuple[str, ...], str] = {}
    shared = []
    for one in vault.documents:
        found = words(one.text)
        for run in {tuple(found[start : start + 20]) for start in range(len(found) - 19)}:
            other = owners.setdefault(run, one.id)
            if other != one.id:
                shared.append((other, one.id, " ".join(run)))
    assert shared == []


def test_no_question_is_copied_from_a_note(vault: Dataset) -> None:
    texts = {one.id: f" {' '.join(words(f'{one.title} {one.text}'))} " for one in vault.documents}
    for case in vault.cases:
        found = words(case.query)
        runs = [" ".join(found[start : start + 6]) for start in range(len(found) - 5)] or [" ".join(found)]
        copied = [(name, run) for run in runs for name, text in texts.items() if f" {run} " in text]
        assert copied == [], case.id


def test_every_anchor_names_a_heading_of_its_note(vault: Dataset, places: dict[str, list[RetrievedChunk]]) -> None:
    for case, support in supports(vault):
        named = {part.heading_path for part in places[support.rel_path]}
        assert support.heading_path in {"", *named}, case.id


def test_every_snippet_stands_where_its_anchor_leads(vault: Dataset, places: dict[str, list[RetrievedChunk]]) -> None:
    for case, support in supports(vault):
        assert support.snippets, case.id
        for snippet in support.snippets:
            alone = GoldSupport(rel_path=support.rel_path, heading_path=support.heading_path, snippets=(snippet,))
            assert any(matches(part, alone, snippets=True) for part in places[support.rel_path]), (case.id, snippet)


def test_every_snippet_survives_the_cutting_for_the_bundled_embedder(
    vault: Dataset, notes: dict[str, Document]
) -> None:
    """Otherwise requiring snippets would ask for what no system can retrieve."""
    embedder = load_bundled(threads=1)
    chunker = Chunker(embedder.count_tokens, embedder.token_limit)
    cut = {
        path: [
            RetrievedChunk(rel_path=path, heading_path=piece.heading_path, text=piece.text)
            for piece in chunker.chunk(one.title, one.text, one.format).pieces
        ]
        for path, one in notes.items()
    }
    for case, support in supports(vault):
        assert any(matches(piece, support, snippets=True) for piece in cut[support.rel_path]), case.id


def test_anchors_lie_in_the_vault_that_is_asked_about(vault: Dataset) -> None:
    assert [case.id for case, support in supports(vault) if not support.rel_path.startswith(f"{case.vault}/")] == []


def test_what_has_an_answer_says_it_and_where_it_stands(vault: Dataset) -> None:
    for one in vault.cases:
        found = (one.answerable, bool(gold(one).supports), one.reference_answer is not None)
        assert found == ((True,) * 3 if one.category != "unanswerable" else (False,) * 3), one.id


def test_reference_answers_are_short(vault: Dataset) -> None:
    assert max(len(words(one.reference_answer or "")) for one in vault.cases) <= 50


def test_notes_are_graded_relevant_exactly_where_an_anchor_needs_them(vault: Dataset) -> None:
    for one in vault.cases:
        needed = {support.rel_path for support in gold(one).supports} - outdated(one)
        relevant = {vault.by_id[name].rel_path for name, grade in one.labels.items() if grade >= 2}
        assert relevant == needed, one.id


def test_what_was_true_once_is_graded_one(vault: Dataset, notes: dict[str, Document]) -> None:
    for one in vault.cases:
        assert {one.labels[notes[path].id] for path in outdated(one)} <= {1}, one.id


def test_every_answerable_case_has_a_note_of_the_highest_grade(vault: Dataset) -> None:
    assert [one.id for one in vault.cases if one.answerable and 3 not in one.labels.values()] == []


def test_nothing_is_above_zero_where_there_is_no_answer(vault: Dataset) -> None:
    for one in of(vault, "unanswerable"):
        assert len(one.labels) >= 3, one.id
        assert set(one.labels.values()) == {0}, one.id


@pytest.mark.parametrize("kind", UNANSWERABLE_KINDS)
def test_each_kind_of_unanswerable_question_is_there_often_enough(vault: Dataset, kind: str) -> None:
    assert sum(kind in one.tags for one in of(vault, "unanswerable")) >= 20


def test_an_unanswerable_question_has_one_tag_that_says_why(vault: Dataset) -> None:
    for one in of(vault, "unanswerable"):
        assert len(set(one.tags) & set(UNANSWERABLE_KINDS)) == 1, one.id


def test_the_words_of_unanswerable_questions_occur_in_the_notes(vault: Dataset) -> None:
    """Otherwise a system could tell from the words alone that there is no answer."""
    known = {word for one in vault.documents for word in words(f"{one.title} {one.text}")}
    for one in of(vault, "unanswerable"):
        asked = set(words(one.query))
        assert len(asked & known) >= 0.75 * len(asked), (one.id, asked - known)


def test_reference_answers_are_given_for_every_answerable_question(vault: Dataset) -> None:
    answerable = [one for one in vault.cases if one.answerable]
    assert len(answerable) >= 145
    assert [one.id for one in answerable if not (one.reference_answer or "").strip()] == []


def test_the_whole_scale_is_used_and_most_notes_are_needed_somewhere(vault: Dataset) -> None:
    assert (vault.lowest_grade, vault.highest_grade, vault.relevance_level) == (0, 3, 2)
    assert {grade for one in vault.cases for grade in one.labels.values()} == {0, 1, 2, 3}
    needed = {support.rel_path for _, support in supports(vault)}
    assert len(needed) >= 0.9 * len(vault.documents)


def test_the_listed_relevant_notes_are_those_graded_two_or_three() -> None:
    for one in json.loads((VAULT / "golden.json").read_text(encoding="utf-8"))["queries"]:
        expected = one["expected_results"]
        graded = [name for name, grade in expected["relevance_labels"].items() if grade >= 2]
        assert sorted(expected["relevant_entities"]) == sorted(graded), one["query_id"]


def test_multi_hop_cases_need_two_places_or_more(vault: Dataset, places: dict[str, list[RetrievedChunk]]) -> None:
    for one in of(vault, "multi_hop"):
        anchors = gold(one)
        assert len(anchors.required_support_groups) >= 2, one.id
        every = [part for support in anchors.supports for part in places[support.rel_path] if matches(part, support)]
        assert recall_all(anchors, every, len(every)).value == 1, one.id
        for part in every:
            assert recall_any(anchors, [part], 1).value == 1, one.id
            assert recall_all(anchors, [part], 1).value == 0, one.id


def test_most_multi_hop_cases_cross_notes(vault: Dataset) -> None:
    found = [len({support.rel_path for support in gold(one).supports}) for one in of(vault, "multi_hop")]
    assert sum(count >= 2 for count in found) >= 0.9 * len(found)


def test_conflicts_follow_all_three_rules_and_only_conflicts_have_one(vault: Dataset) -> None:
    found = Counter(gold(one).recency_conflict_rule for one in of(vault, "recency/conflict"))
    assert set(found) == set(ConflictRule)
    assert min(found.values()) >= 4
    others = {gold(one).recency_conflict_rule for one in vault.cases if one.category != "recency/conflict"}
    assert others == {None}


def test_both_sides_of_a_conflict_are_named_with_the_dates_of_their_notes(
    vault: Dataset, notes: dict[str, Document]
) -> None:
    for one in of(vault, "recency/conflict"):
        found = gold(one).supports
        assert len({support.rel_path for support in found}) >= 2, one.id
        assert [support.dated for support in found] == [notes[support.rel_path].dated for support in found], one.id


def cited(*found: GoldSupport) -> GivenAnswer:
    references = tuple(RetrievedChunk(rel_path=one.rel_path, heading_path=one.heading_path) for one in found)
    return GivenAnswer(text="It depends.", references=references)


def test_only_the_newest_note_satisfies_where_the_newer_one_counts(vault: Dataset) -> None:
    for one in of(vault, "recency/conflict"):
        anchors = gold(one)
        if anchors.recency_conflict_rule is ConflictRule.CITE_NEWER:
            newest, *others = anchors.supports
            assert cite_newer(anchors, cited(newest)).value == 1, one.id
            assert cite_newer(anchors, cited(*others)).value == 0, one.id
            assert [group[0] for group in anchors.required_support_groups] == [0], one.id


def test_one_side_is_not_enough_where_both_are_to_be_cited(vault: Dataset) -> None:
    for one in of(vault, "recency/conflict"):
        anchors = gold(one)
        if anchors.recency_conflict_rule is ConflictRule.CITE_BOTH:
            first, then = anchors.supports
            assert cite_both(anchors, cited(first, then)).value == 1, one.id
            assert cite_both(anchors, cited(first)).value == cite_both(anchors, cited(then)).value == 0, one.id


def test_scope_cases_choose_folders_and_no_others_do(vault: Dataset) -> None:
    found = Counter(one.folder_mode for one in of(vault, "scope"))
    assert set(found) == {FolderMode.ON, FolderMode.ON_WITH_FALLBACK}
    others = {one.folder_mode for one in vault.cases if one.category != "scope"}
    assert others == {FolderMode.OFF}


def test_a_scope_case_has_its_gold_in_one_folder_and_decoys_in_others(
    vault: Dataset, notes: dict[str, Document]
) -> None:
    for one in of(vault, "scope"):
        folders = {notes[support.rel_path].folder for support in gold(one).supports}
        decoys = {vault.by_id[name].folder for name, grade in one.labels.items() if grade < 2}
        assert len(folders) == 1, one.id
        assert decoys - folders, one.id


def test_notes_that_give_orders_to_assistants_are_asked_about(vault: Dataset) -> None:
    """Each holds an injected instruction; the gold of a case about it lies elsewhere, or says that it is false."""
    orders = re.compile(r"ANY ASSISTANT|SYSTEM: You are now|Automated helpers")
    injected = {one.id for one in vault.documents if orders.search(one.text)}
    asked = {name for one in of(vault, "adversarial") if "injection" in one.tags for name in one.labels}
    assert len(injected) == 3
    assert injected <= asked
    for case, support in supports(vault):
        assert not any(orders.search(snippet) for snippet in support.snippets), case.id


def test_the_floors_can_be_reached(vault: Dataset) -> None:
    counts = [sum(grade >= 2 for grade in one.labels.values()) for one in vault.cases if one.answerable]
    assert max(counts) <= 5
    assert vault.floors["recall@5"] == 0.8
    assert "precision@5" not in vault.floors  # with one relevant note in most cases it could not be
