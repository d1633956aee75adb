"""Whether passages answer a question: by the scores of their search, by their sentences, and without either."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder
from assay.judging.builtin.answerability import (
    FILE,
    FOUND,
    FOUND_WORDS,
    EvidenceReading,
    evidence_features,
    rank_sentences,
    read_evidence,
)
from assay.judging.builtin.judges import answerable, fitted_embedder, weights_of
from assay.judging.builtin.support import Evidence
from assay.records.research import Passage
from assay.testing import HashedEmbedder
from assay.text.questions import read_question

QUESTION = "How long are backups kept?"
NEAR = Passage(
    number=1,
    title="Backups",
    text="Backups run every night. They are kept for 30 days. The porter has the key.",
    score=0.8,
    channels={"vector": 0.7, "bm25": 30.0},
    standing=5.5,
)
FAR = Passage(
    number=2,
    title="Kitchen",
    text="The kitchen has a new coffee machine. Please clean it after use.",
    score=0.3,
    channels={"vector": 0.1, "bm25": 4.0},
    standing=0.0,
)


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return load_bundled(threads=1)


def best(reading: EvidenceReading) -> str:
    return reading.evidence.sentences[reading.ranked[0].place].text


# --- How likely the passages answer ---


@pytest.mark.parametrize("with_vectors", [True, False])
def test_a_near_passage_with_a_high_score_answers_and_a_far_one_does_not(
    with_vectors: bool, embedder: Embedder
) -> None:
    used = embedder if with_vectors else None
    near, far = (read_evidence(QUESTION, [passage], used) for passage in (NEAR, FAR))
    assert near.probability >= 0.5 > far.probability
    assert far.probability < 0.2


def test_the_same_texts_are_less_likely_to_answer_with_lower_scores(embedder: Embedder) -> None:
    weak = replace(NEAR, score=0.3, channels={"vector": 0.1, "bm25": 4.0}, standing=0.0)
    assert read_evidence(QUESTION, [weak], embedder).probability < read_evidence(QUESTION, [NEAR], embedder).probability
    without = [read_evidence(QUESTION, [passage]).probability for passage in (weak, NEAR)]
    assert without[0] == without[1], "without vectors the words of the sentences decide, on any scale of scores"


def test_a_far_passage_besides_a_near_one_changes_nothing_in_what_answers(embedder: Embedder) -> None:
    reading = read_evidence(QUESTION, [FAR, NEAR], embedder)
    assert reading.probability >= 0.5
    assert best(reading) == "They are kept for 30 days."


@pytest.mark.parametrize(
    ("question", "passages"),
    [
        (QUESTION, ()),
        (QUESTION, (replace(NEAR, text=" \n"),)),
        (QUESTION, (replace(NEAR, text="# Backups\n\n---\n"),)),
        ("", (NEAR,)),
        ("???", (NEAR,)),
    ],
)
def test_without_a_passage_a_statement_or_a_question_the_probability_is_0(
    question: str, passages: tuple[Passage, ...]
) -> None:
    reading = read_evidence(question, passages)
    assert reading.probability == 0.0
    assert reading.ranked == ()


def test_without_scores_the_texts_alone_are_judged() -> None:
    bare = [replace(NEAR, score=None, channels={}, standing=None), FAR]
    reading = read_evidence(QUESTION, bare)
    assert reading.probability == answerable(QUESTION, reading.evidence).probability
    assert reading.evidence.sentences[reading.ranked[0].place].passage == 0


def test_with_the_fitted_embedder_its_profile_is_used(embedder: Embedder) -> None:
    assert embedder.model == fitted_embedder(FILE)
    reading = read_evidence(QUESTION, [NEAR], embedder)
    features = evidence_features([NEAR], reading.ranked)
    assert reading.probability == weights_of(FOUND, FILE).probability(features)


def test_another_embedder_uses_the_profile_without_vectors() -> None:
    other = HashedEmbedder()
    assert other.model != fitted_embedder(FILE)
    reading = read_evidence(QUESTION, [NEAR], other)
    features = evidence_features([NEAR], reading.ranked)
    assert reading.probability == weights_of(FOUND_WORDS, FILE).probability(features)
    # The scores of vectors are on the other embedder's own scale: they do not matter.
    rescaled = replace(NEAR, score=0.1, channels={"vector": 0.01, "bm25": 30.0}, standing=-1.0)
    assert read_evidence(QUESTION, [rescaled], other).probability == reading.probability


def test_a_passage_like_the_rest_of_the_store_is_less_likely_to_answer(embedder: Embedder) -> None:
    chances = [
        read_evidence(QUESTION, [replace(NEAR, standing=standing)], embedder).probability
        for standing in (1.0, 3.0, 5.5, 7.0)
    ]
    assert chances == sorted(set(chances))
    beside = read_evidence(QUESTION, [replace(FAR, standing=None), NEAR], embedder)
    assert beside.probability == read_evidence(QUESTION, [FAR, NEAR], embedder).probability


def test_where_no_passage_was_compared_by_meaning_the_words_decide(embedder: Embedder) -> None:
    found_by_words = replace(NEAR, channels={"bm25": 30.0}, standing=None)
    reading = read_evidence(QUESTION, [found_by_words], embedder)
    features = evidence_features([found_by_words], reading.ranked)
    assert "standing" not in features
    assert reading.probability == weights_of(FOUND_WORDS, FILE).probability(features)


@pytest.mark.parametrize("with_vectors", [True, False])
def test_the_same_passages_give_the_same_reading(with_vectors: bool, embedder: Embedder) -> None:
    used = embedder if with_vectors else None
    first, second = (read_evidence(QUESTION, [NEAR, FAR], used) for _ in range(2))
    assert (first.probability, first.ranked) == (second.probability, second.ranked)


# --- Which sentences fit best ---


def test_sentences_are_ranked_best_first_and_say_whether_they_have_the_value() -> None:
    evidence = Evidence([NEAR.text])
    ranked = rank_sentences(read_question(QUESTION), [NEAR], evidence)
    assert [sentence.score for sentence in ranked] == sorted((sentence.score for sentence in ranked), reverse=True)
    values = {evidence.sentences[sentence.place].text: sentence.has_value for sentence in ranked}
    assert values == {
        "They are kept for 30 days.": True,
        "Backups run every night.": False,
        "The porter has the key.": False,
    }


def test_any_statement_may_answer_a_question_for_no_kind_of_value() -> None:
    ranked = rank_sentences(read_question("Why are backups kept?"), [NEAR], Evidence([NEAR.text]))
    assert {sentence.has_value for sentence in ranked} == {None}


def test_the_title_and_the_neighbours_say_what_a_sentence_is_about() -> None:
    alone = Passage(number=1, text="They are kept for 30 days.")
    titled = replace(alone, title="Backups")
    headed = replace(alone, heading_path="Operations > Backups")
    asked = read_question(QUESTION)
    plain, by_title, by_heading = (
        rank_sentences(asked, [passage], Evidence([passage.text]))[0].score for passage in (alone, titled, headed)
    )
    assert by_title > plain
    assert by_heading > plain


def test_questions_and_fragments_do_not_answer() -> None:
    passage = Passage(number=1, text="How long are backups kept? Backups. They are kept for 30 days.")
    evidence = Evidence([passage.text])
    ranked = rank_sentences(read_question(QUESTION), [passage], evidence)
    assert [evidence.sentences[sentence.place].text for sentence in ranked] == ["They are kept for 30 days."]
