"""The check of plans: the signals it weighs, plans in other words, and questions it cannot read."""

from __future__ import annotations

import pytest

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder
from assay.judging.builtin.plan import FOREIGN, UNREADABLE, check_plan, find_losses
from assay.judging.builtin.plan_signals import PlanProfile, PlanWords, load_weights, measure_signals
from assay.records.research import DIMENSIONS, Checkpoint, Dimension, Material, Plan, PlannedQuery, RoleScores
from assay.research.planner import RulePlanner
from assay.text.questions import read_question

SPOTS = "Why does the dishwasher leave white spots on glasses?"


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return load_bundled(threads=1)


def plan_words(question: str, *queries: str, embedder: Embedder | None = None) -> PlanWords:
    return PlanWords(read_question(question), queries, embedder)


def signal(name: str, question: str, *queries: str, embedder: Embedder | None = None) -> float:
    return measure_signals(plan_words(question, *queries, embedder=embedder), 1.0)[name]


def evaluate(question: str, *queries: str, embedder: Embedder | None = None) -> RoleScores:
    made = Plan(question=question, queries=tuple(PlannedQuery(text=text) for text in queries))
    return check_plan(Material(checkpoint=Checkpoint.PLAN, question=question, plan=made), embedder)


def intent(question: str, *queries: str, embedder: Embedder | None = None) -> float:
    return evaluate(question, *queries, embedder=embedder).scores[Dimension.INTENT_ALIGNMENT]


def coverage(question: str, *queries: str, embedder: Embedder | None = None) -> float:
    return evaluate(question, *queries, embedder=embedder).scores[Dimension.QUERY_COVERAGE]


def scope(question: str, *queries: str, embedder: Embedder | None = None) -> float:
    return evaluate(question, *queries, embedder=embedder).scores[Dimension.SCOPE_APPROPRIATENESS]


# --- The signals ---


@pytest.mark.parametrize(
    ("name", "question", "right", "wrong"),
    [
        (
            "lost_negation",
            "Which mushrooms are not poisonous?",
            ("mushrooms that are not poisonous",),
            ("mushrooms that are poisonous",),
        ),
        (
            "lost_negation",
            "Which rooms can't be booked?",
            ("rooms excluded from being booked",),
            ("rooms that can be booked",),
        ),
        (
            "lost_negation",
            "Which invoices are not paid?",
            ("unpaid invoices",),
            ("paid invoices",),
        ),
        (
            "uneven_parts",
            "Is a tent or a caravan better for a family?",
            ("tent for a family", "caravan for a family"),
            ("tent for a family", "family tent size"),
        ),
        (
            "uneven_parts",
            "Who wrote the contract and why?",
            ("contract author", "contract reason"),
            ("contract author", "contract text"),
        ),
        (
            "lost_present",
            "Which ferries are running right now?",
            ("ferries running today",),
            ("ferries running",),
        ),
        (
            "added_focus",
            "What can I cook with pumpkin?",
            ("pumpkin soup", "pumpkin bread"),
            ("pumpkin carving knife", "carving a pumpkin"),
        ),
        (
            "dropped_term",
            "How do I repair a wooden garden chair?",
            ("repair a wooden garden chair",),
            ("repair a wooden garden fence",),
        ),
    ],
)
def test_a_signal_of_a_defect_is_absent_from_the_right_plan(
    name: str, question: str, right: tuple[str, ...], wrong: tuple[str, ...]
) -> None:
    assert signal(name, question, *right) == 0.0
    assert signal(name, question, *wrong) >= 0.25


def test_the_sea_is_not_the_present() -> None:
    assert signal("lost_present", "Will the Atlantic current collapse?", "ocean circulation") == 0.0
    assert signal("lost_present", "What is the current tide?", "ocean tide") == 1.0


def test_a_plan_in_other_words_drops_nothing_from_a_quotation() -> None:
    assert signal("dropped_term", SPOTS, "limescale on tableware", "rinse aid dosage") == 0.0


def test_a_short_question_needs_no_long_queries() -> None:
    assert signal("specificity", "Which planets have rings?", "planets rings") == 1.0
    assert signal("specificity", "Which planets beyond Mars have visible rings?", "planets rings") == 0.5


def test_a_near_word_covers_a_part(embedder: Embedder) -> None:
    question = "Is the doctor or the lawyer cheaper?"
    queries = ("price of a physician", "price of an attorney")
    assert plan_words(question, *queries).aspect_coverages()["the lawyer cheaper"] == 0.0
    assert min(plan_words(question, *queries, embedder=embedder).aspect_coverages().values()) > 0.25


def test_words_that_stems_settle_are_not_embedded(embedder: Embedder) -> None:
    class CountingEmbedder:
        """Counts the texts it is given."""

        model, dimension, token_limit, profile = (
            embedder.model,
            embedder.dimension,
            embedder.token_limit,
            embedder.profile,
        )
        count_tokens = embedder.count_tokens
        texts = 0

        def embed(self, texts: list[str], *, progress: object = None) -> object:
            del progress
            self.texts += len(texts)
            return embedder.embed(texts)

    counting = CountingEmbedder()
    question = "How do I repair a wooden garden chair?"
    signal("specificity", question, "repair a wooden garden chair", embedder=counting)  # type: ignore[arg-type]
    signal("all_queries", question, "repair a wooden garden chair", embedder=counting)  # type: ignore[arg-type]
    assert counting.texts == 4


@pytest.mark.parametrize("profile", PlanProfile)
def test_defects_lower_a_score_and_likeness_raises_it(profile: PlanProfile) -> None:
    defects = {"dropped_term", "uneven_parts", "lost_negation", "lost_present", "added_focus"}
    weights = load_weights()[profile]
    for name, weight in zip(weights.names, weights.weights, strict=True):
        assert weight < 0 if name in defects else weight > 0, name


# --- Plans ---


def test_a_plan_without_a_word_of_the_question_can_be_right(embedder: Embedder) -> None:
    right = (
        "limescale film on tableware after a wash cycle",
        "rinse aid dosage and water hardness setting of the machine",
        "cloudy drinking vessels cause",
    )
    wrong = ("dishwasher market share", "glasses for reading", "white kitchen ideas")
    assert intent(SPOTS, *right, embedder=embedder) >= 0.7
    assert intent(SPOTS, *wrong, embedder=embedder) < 0.7


def test_a_plan_for_another_question_loses_the_intent(embedder: Embedder) -> None:
    other = RulePlanner().plan("How many visitors came to the museum in May?").texts
    assert intent(SPOTS, *other, embedder=embedder) < 0.3
    assert intent(SPOTS, *RulePlanner().plan(SPOTS).texts, embedder=embedder) >= 0.7


@pytest.mark.parametrize("with_vectors", [True, False])
def test_a_plan_for_half_of_the_question_lacks_coverage(with_vectors: bool, embedder: Embedder) -> None:
    question = "How do I book the boat, and where do I return the key?"
    used = embedder if with_vectors else None
    half = ("how to book the boat", "book the boat online")
    assert coverage(question, *half, embedder=used) < 0.6
    assert coverage(question, *half, "where to return the key of the boat", embedder=used) >= 0.6


def test_a_plan_that_is_too_broad_or_too_narrow_is_out_of_scope(embedder: Embedder) -> None:
    question = "What should I know before I buy a second-hand boat?"
    right = ("buy a second-hand boat checklist", "second-hand boat inspection before buying")
    assert scope(question, *right, embedder=embedder) >= 0.9
    assert scope(question, "boats", "water", embedder=embedder) < 0.5
    narrow = ("bilge pump fuse rating 1994", "bilge pump fuse holder")
    assert scope(question, *narrow, embedder=embedder) < scope(question, *right, embedder=embedder) - 0.1


def test_an_exchanged_name_is_a_contradiction_and_a_paraphrase_is_not() -> None:
    question = "How do I renew a passport in Norway?"
    (exchanged,) = find_losses(plan_words(question, "renew passport Sweden"))
    (paraphrased,) = find_losses(plan_words(question, "travel document extension Oslo police office how"))
    assert (exchanged.is_contradiction, paraphrased.is_contradiction) == (True, False)


def test_words_that_no_query_covers_are_named() -> None:
    question = "How do I repair a wooden garden chair?"
    found = evaluate(question, "repair a wooden garden fence")
    assert ("chair",) in [issue.terms for issue in found.issues]


# --- Questions that cannot be read ---


@pytest.mark.parametrize("question", ["asdf qwer", "???", "zxcv"])
def test_the_plan_for_a_question_without_a_known_word_is_not_measured(question: str, embedder: Embedder) -> None:
    for used in (embedder, None):
        found = evaluate(question, *RulePlanner().plan(question).texts, embedder=used)
        assert found.scores == {}
        assert found.not_measured == dict.fromkeys(DIMENSIONS[Checkpoint.PLAN], UNREADABLE)
        assert found.critique == UNREADABLE
        assert found.issues == ()


def test_a_sentence_of_unknown_terms_is_judged_with_little_confidence(embedder: Embedder) -> None:
    question = "How do I asdf the qwer?"
    found = evaluate(question, *RulePlanner().plan(question).texts, embedder=embedder)
    assert found.confidence == FOREIGN


def test_known_words_without_a_sentence_are_judged(embedder: Embedder) -> None:
    found = evaluate("backup retention", "backup retention", embedder=embedder)
    assert found.confidence > FOREIGN
    assert found.scores[Dimension.INTENT_ALIGNMENT] >= 0.7
