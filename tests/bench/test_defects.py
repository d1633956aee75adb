"""Planted defects: the cases are the same every time, each defect changes its part alone, and figures are right."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from bench.defects.__main__ import run_model
from bench.defects.cases import DefectCase, build_cases, sample_cases
from bench.defects.figures import (
    BELOW,
    COUNTS,
    NOT_MEASURED,
    compute_cells,
    judge_dimensions,
    show_groups,
    show_overview,
    show_own,
    show_verdicts,
)
from bench.defects.planting import DEFECTS, join_questions
from bench.defects.question_sets import (
    BUNDLED,
    ResearchedQuestion,
    load_bundled_set,
    load_collection,
    research,
)
from bench.defects.scoring import ModelScoring, fingerprint, score_cases, scores_of
from bench.defects.text_changes import change_name, change_number, cut_off, list_names, negate_sentence

from assay.judging.injection import InjectionGuard
from assay.models.chat import ChatRequest
from assay.records.research import DIMENSIONS, OWNERS, Checkpoint, Dimension, Material
from assay.settings import Settings
from assay.testing import HashedEmbedder, ScriptedModel
from assay.testing.fault_server import replying, serving
from assay.text.terms import words

Sets = Mapping[str, Sequence[ResearchedQuestion]]
SOME = 30
"""Questions of each set: enough for every defect."""


def _research(folder: Path, count: int = SOME) -> Sets:
    loaded = [load_bundled_set(name) for name in BUNDLED]
    return {
        found.name: research(replace(found, questions=found.questions[:count]), folder, HashedEmbedder())
        for found in loaded
    }


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Sets:
    return _research(tmp_path_factory.mktemp("stores"))


@pytest.fixture(scope="module")
def cases(sets: Sets) -> list[DefectCase]:
    return build_cases(sets)


def _of(cases: Sequence[DefectCase], name: str) -> list[DefectCase]:
    found = [case for case in cases if case.defect.name == name]
    assert found
    return found


def _needed(sets: Sets, case: DefectCase) -> frozenset[str]:
    (asked,) = [asked for found in sets.values() for asked in found if asked.id == case.question_id]
    return asked.question.needed


def _said(material: Material) -> list[str]:
    assert material.synthesis is not None
    return [statement.text for statement in material.synthesis.statements]


# --- Cases ---


def test_bundled_sets_alone_give_at_least_300_cases_and_some_of_every_defect(cases: list[DefectCase]) -> None:
    counts = Counter(case.defect.name for case in cases)
    assert len(cases) >= 300
    assert set(counts) == {defect.name for defect in DEFECTS}
    assert min(counts.values()) >= 5


def test_the_same_questions_give_the_same_cases(sets: Sets, cases: list[DefectCase]) -> None:
    assert build_cases(sets) == cases
    assert build_cases(sets, seed=7) != cases


@pytest.mark.slow
def test_another_store_gives_the_same_plans_and_passages(sets: Sets, tmp_path: Path) -> None:
    again = _research(tmp_path, count=3)
    assert again == {name: found[:3] for name, found in sets.items()}


def test_every_dimension_has_a_defect_of_its_own() -> None:
    assert {dimension for defect in DEFECTS for dimension in defect.own} == set(Dimension)
    assert all(set(defect.own) <= set(DIMENSIONS[defect.checkpoint]) for defect in DEFECTS)


def test_a_defect_changes_the_newest_part_of_the_material_and_nothing_else(cases: list[DefectCase]) -> None:
    part = {Checkpoint.PLAN: "plan", Checkpoint.RETRIEVAL: "passages", Checkpoint.ANSWER: "synthesis"}
    for case in cases:
        changed = part[case.defect.checkpoint]
        assert getattr(case.good, changed) != getattr(case.bad, changed)
        assert replace(case.bad, **{changed: getattr(case.good, changed)}) == case.good


def test_passages_are_numbered_in_order_and_as_many_as_before(cases: list[DefectCase]) -> None:
    for case in cases:
        for material in (case.good, case.bad):
            assert [passage.number for passage in material.passages] == list(range(1, len(material.passages) + 1))
        if case.defect.name != "needed passage missing":
            assert len(case.bad.passages) == len(case.good.passages)


def test_a_plan_that_misses_half_keeps_the_queries_of_one_question(cases: list[DefectCase]) -> None:
    for case in _of(cases, "misses half of the question"):
        assert case.good.plan is not None
        assert case.bad.plan is not None
        assert replace(case.bad.plan, queries=case.good.plan.queries) == case.good.plan
        assert len(" ".join(case.bad.plan.texts)) < len(" ".join(case.good.plan.texts))


def test_needed_documents_are_there_in_the_good_material_and_gone_in_the_bad(
    sets: Sets, cases: list[DefectCase]
) -> None:
    for case in _of(cases, "needed passage missing"):
        needed = _needed(sets, case)
        assert needed & {passage.memory_id for passage in case.good.passages}
        assert not needed & {passage.memory_id for passage in case.bad.passages}


def test_noise_replaces_half_or_more_and_keeps_a_needed_passage(sets: Sets, cases: list[DefectCase]) -> None:
    for case in _of(cases, "noise"):
        kept = [passage for passage in case.bad.passages if passage in case.good.passages]
        assert [found.score for found in case.bad.passages] == [found.score for found in case.good.passages]
        assert 0 < len(kept) <= len(case.good.passages) / 2
        assert _needed(sets, case) & {passage.memory_id for passage in kept}


def test_a_contradicting_passage_differs_from_its_neighbour_in_little(cases: list[DefectCase]) -> None:
    for case in _of(cases, "contradicting passage"):
        (place,) = [place for place, found in enumerate(case.bad.passages) if found.memory_id.endswith("-other")]
        lie, truth = case.bad.passages[place], case.bad.passages[place - 1]
        assert lie.memory_id == f"{truth.memory_id}-other"
        assert lie.text != truth.text
        changed = Counter(words(lie.text)) - Counter(words(truth.text))
        assert changed.total() <= 5


@pytest.mark.parametrize(("name", "field"), [("superseded source", "superseded"), ("old sources", "updated_at")])
def test_marks_of_sources_change_and_texts_do_not(cases: list[DefectCase], name: str, field: str) -> None:
    for case in _of(cases, name):
        for good, bad in zip(case.good.passages, case.bad.passages, strict=True):
            assert replace(bad, **{field: getattr(good, field)}) == good


def test_an_unsupported_sentence_is_one_more_that_no_passage_holds(cases: list[DefectCase]) -> None:
    for case in _of(cases, "unsupported sentence"):
        (added,) = Counter(_said(case.bad)) - Counter(_said(case.good))
        assert all(added not in passage.text for passage in case.bad.passages)


@pytest.mark.parametrize("name", ["wrong number", "changed name", "negated", "cut off"])
def test_one_sentence_is_changed(cases: list[DefectCase], name: str) -> None:
    for case in _of(cases, name):
        good, bad = _said(case.good), _said(case.bad)
        assert sum(before != after for before, after in zip(good, bad, strict=True)) == 1


def test_a_missing_part_leaves_sentences_away_and_adds_none(cases: list[DefectCase]) -> None:
    for case in _of(cases, "missing part"):
        assert not Counter(_said(case.bad)) - Counter(_said(case.good))
        assert len(_said(case.bad)) < len(_said(case.good))


def test_shuffled_sentences_are_the_same_ones(cases: list[DefectCase]) -> None:
    for case in _of(cases, "shuffled sentences"):
        assert sorted(_said(case.bad)) == sorted(_said(case.good))


def test_good_answers_are_supported_by_words_of_the_passages_they_cite(cases: list[DefectCase]) -> None:
    for case in _of(cases, "refusal despite evidence"):
        assert case.good.synthesis is not None
        assert case.bad.synthesis is not None
        assert case.bad.synthesis.abstained
        for statement in case.good.synthesis.statements:
            cited = set(words(case.good.passages[statement.citations[0] - 1].text))
            assert set(words(statement.text)) & cited


def test_a_sample_takes_as_many_of_each_defect(cases: list[DefectCase]) -> None:
    counts = Counter(case.defect.name for case in sample_cases(cases, 2 * len(DEFECTS)))
    assert counts == dict.fromkeys((defect.name for defect in DEFECTS), 2)
    assert len(sample_cases(cases, 10 * len(cases))) == len(cases)


def test_a_public_collection_is_read_with_its_answers(tmp_path: Path) -> None:
    place = tmp_path / "squad2"
    place.mkdir()
    texts = {"p1": "The tower was built in 1889 by Eiffel.", "p2": "Bees live in hives."}
    lines = [json.dumps({"_id": key, "title": "", "text": text}) for key, text in texts.items()]
    (place / "corpus.jsonl").write_text("\n".join(lines), encoding="utf-8")
    about = {"answerable": True, "answers": ["1889"]}
    asked = {"_id": "q1", "text": "In which year was the tower of Eiffel built?", "metadata": about}
    hidden = {"_id": "q2", "text": "Who painted the tower of Pisa green?", "metadata": {"answerable": False}}
    (place / "queries.jsonl").write_text(f"{json.dumps(asked)}\n{json.dumps(hidden)}", encoding="utf-8")
    (place / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tp1\t1\n", encoding="utf-8")
    found = load_collection(tmp_path, "squad2")
    assert [document.id for document in found.documents] == ["p1", "p2"]
    assert [(question.id, question.needed, question.reference) for question in found.questions] == [
        ("q1", frozenset({"p1"}), "1889")
    ]


# --- Changes of texts ---


@pytest.mark.parametrize("text", ["It costs 119 euros.", "Open from 15:00.", "It takes twelve days."])
def test_a_changed_number_is_another_number_in_the_same_place(text: str) -> None:
    changed = change_number(text, random.Random(1))
    assert changed is not None
    assert changed != text
    assert sum(before != after for before, after in zip(text.split(), changed.split(), strict=True)) == 1


def test_there_is_nothing_to_change_in_a_text_without_numbers_names_or_verbs() -> None:
    rng = random.Random(1)
    assert change_number("Breakfast in the bar.", rng) is None
    assert change_name("Breakfast in the bar on Monday.", ["Ada"], rng) is None
    assert negate_sentence("Breakfast in the bar.") is None
    assert cut_off("Breakfast in the bar.", rng) is None


def test_a_number_inside_a_compound_and_a_bare_not_are_left_alone() -> None:
    assert change_number("It takes thirty-five minutes.", random.Random(1)) is None
    assert negate_sentence("It is not: that was a wish.") is None
    assert negate_sentence("It is not a wish.") == "It is a wish."


def test_names_are_capitalised_words_inside_a_sentence() -> None:
    assert list_names(["Here Lena Brandt met Teo on Monday in May."]) == ["Lena Brandt", "Teo"]
    assert change_name("We met Teo.", ["Ada"], random.Random(1)) == "We met Ada."


def test_two_questions_are_joined_in_one_sentence_or_two() -> None:
    first, second = "When is breakfast?", "Is there a pool?"
    assert join_questions(first, second, in_one_sentence=True) == "When is breakfast, and is there a pool?"
    assert join_questions(first, second, in_one_sentence=False) == "When is breakfast? And is there a pool?"


# --- Scores and figures ---


def test_a_metric_that_ignores_everything_is_at_chance_and_does_not_count(cases: list[DefectCase]) -> None:
    scored = score_cases(cases, lambda material, _: dict.fromkeys(DIMENSIONS[material.checkpoint], 0.93))
    cells = compute_cells(scored, resamples=20)
    assert {cell.auroc for cell in cells} == {0.5}
    assert {cell.constant for cell in cells} == {1.0}
    assert {verdict.verdict for verdict in judge_dimensions(cells)} == {BELOW}
    assert not any(verdict.is_met for verdict in judge_dimensions(cells))


def test_a_metric_that_sees_every_defect_counts(cases: list[DefectCase]) -> None:
    bad = {fingerprint(case.bad) for case in cases}
    scored = score_cases(
        cases,
        lambda material, _: dict.fromkeys(DIMENSIONS[material.checkpoint], float(fingerprint(material) not in bad)),
    )
    cells = compute_cells(scored, resamples=20)
    assert {(cell.auroc, cell.falls, cell.low) for cell in cells} == {(1.0, 1.0, 1.0)}
    assert {verdict.verdict for verdict in judge_dimensions(cells)} == {COUNTS}


def test_a_dimension_without_scores_is_not_measured_and_is_no_failure(cases: list[DefectCase]) -> None:
    scored = score_cases(cases, lambda material, _: dict.fromkeys(DIMENSIONS[material.checkpoint]))
    cells = compute_cells(scored, resamples=20)
    verdicts = judge_dimensions(cells)
    assert {verdict.verdict for verdict in verdicts} == {NOT_MEASURED}
    assert all(verdict.is_met for verdict in verdicts)
    assert {cell.measured for cell in cells} == {0}
    assert not any("*" in line for line in show_overview(cells))
    assert len(list(show_own(cells))) > len(DEFECTS)
    assert len(list(show_verdicts(verdicts))) == 3 + len(Dimension)


def test_one_defect_that_is_missed_is_enough_for_a_dimension_not_to_count(cases: list[DefectCase]) -> None:
    bad = {fingerprint(case.bad) for case in cases if case.defect.name != "cut off"}
    scored = score_cases(cases, lambda material, _: {Dimension.COHERENCE: float(fingerprint(material) not in bad)})
    (verdict,) = [
        one for one in judge_dimensions(compute_cells(scored, resamples=20)) if one.dimension is Dimension.COHERENCE
    ]
    assert (verdict.verdict, verdict.worst, verdict.lowest) == (BELOW, "cut off", 0.5)


def test_the_built_in_check_scores_only_dimensions_of_the_checkpoint(cases: list[DefectCase]) -> None:
    for case in sample_cases(cases, len(DEFECTS)):
        assert set(scores_of(case.bad, None)) <= set(DIMENSIONS[case.defect.checkpoint])


def test_figures_by_group_count_the_cases_of_each(cases: list[DefectCase]) -> None:
    chosen = _of(cases, "cut off")
    scored = score_cases(chosen, lambda *_: {Dimension.COHERENCE: 1.0})
    counts = Counter(case.wording for case in chosen)
    assert set(counts) == {"quoted", "written"}
    *_, head, _, row = show_groups(scored, lambda case: case.wording)
    names = head.strip("| ").split(" | ")[2:]
    assert row == f"| coherence | cut off | {' | '.join(f'0.500 ({counts[name]})' for name in names)} |"


def _reply(request: ChatRequest) -> Mapping[str, object]:
    assert request.schema is not None
    names = request.schema["properties"]["scores"]["required"]
    return {"critique": "", "issues": [], "confidence": 1.0, "scores": dict.fromkeys(names, 0.25)}


def test_a_model_is_asked_in_the_roles_that_own_the_defect(cases: list[DefectCase]) -> None:
    model = ScriptedModel(_reply)
    scoring = ModelScoring(model=model, guard=InjectionGuard(b"x" * 32), deadline_s=5.0)
    chosen = [_of(cases, "noise")[0], _of(cases, "wrong number")[0]]
    noise, number = score_cases(chosen, scoring)
    assert noise.good == {dimension: 0.25 for dimension, owner in OWNERS.items() if dimension in noise.good}
    assert Dimension.CONTEXT_PRECISION in noise.good
    assert {Dimension.FACTUAL_ACCURACY, Dimension.FAITHFULNESS} <= set(number.bad)
    assert scoring.calls == len(model.asked) == 2 * 1 + 2 * 2
    assert scoring.tokens > 0
    assert scoring.outcomes == {"scored": 6}


def test_a_reply_that_cannot_be_read_is_not_measured(cases: list[DefectCase]) -> None:
    scoring = ModelScoring(model=ScriptedModel("no"), guard=InjectionGuard(b"x" * 32), deadline_s=5.0)
    (found,) = score_cases([_of(cases, "noise")[0]], scoring)
    assert found.good == found.bad == {}
    assert scoring.outcomes == {"unreadable": 2}


def test_the_model_of_the_settings_is_asked_and_its_tokens_are_counted(
    cases: list[DefectCase], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores = {dimension.value: 0.5 for dimension in DIMENSIONS[Checkpoint.RETRIEVAL]}
    reply = json.dumps({"critique": "", "issues": [], "confidence": 1.0, "scores": scores})
    with serving(replying(reply, prompt_tokens=90, completion_tokens=10)) as service:
        settings = Settings(model_url=service.url, model_name="small", model_deadline_s=30.0)
        scored, scoring = run_model(_of(cases, "noise")[:2], settings, tmp_path)
    assert [found.bad[Dimension.CONTEXT_PRECISION] for found in scored] == [0.5, 0.5]
    assert (scoring.calls, scoring.tokens) == (4, 400)
    assert "2 of 2 cases" in capsys.readouterr().err


def test_without_a_model_in_the_settings_the_program_says_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="ASSAY_MODEL_URL"):
        run_model([], Settings(), tmp_path)
