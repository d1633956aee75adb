"""Whether the passages that a search found answer a question, as a probability.

Two readings, one for each place it is needed:

- `read_evidence`: of passages with the scores of their search: the score of the best passage, how far it stands out
  from the store as a whole, and how near the best sentence is to the question. The pipeline answers, refuses and
  evaluates by this number.
- `judges.answerable`: of bare texts, where no search is known.

The coefficients were fitted by `bench.answers` on labelled questions of several kinds; `bench/README.md` prints how
well they work on sets that were left out. Scores of another embedder are on another scale, so with one the profile
without vectors is used; also where no passage was compared by meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.judging.builtin.judges import answerable, fitted_embedder, weights_of
from assay.judging.builtin.support import Evidence, EvidenceSentence, coverage, remove_marks
from assay.records.research import Passage
from assay.text.answer_kinds import AnswerKind, expected_kind, has_value
from assay.text.questions import AskedQuestion, read_question
from assay.text.statements import statements
from assay.text.terms import stems, words
from assay.text.wording import wording

if TYPE_CHECKING:
    from assay.embedding.protocol import Embedder

FILE = "answerability.json"
"""Where the coefficients are."""
FOUND, FOUND_WORDS = "found", "found_words"
"""The profile with vectors of the embedder it was fitted with, and the one without vectors."""
SENTENCES_FROM = 8
"""Passages whose sentences are read: the answer is seldom below them, and each sentence costs time."""
COMPARED = 16
"""Sentences compared with the question by meaning."""
PASSAGE_SHARE = 0.5
"""How much of its passage's score counts for a sentence: one that fits by chance stands in a poor passage."""
FEWEST_WORDS = 4
"""A shorter sentence is not understandable without its neighbours."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RankedSentence:
    """A sentence and how well it fits the question."""

    place: int
    """Its position in the evidence."""
    score: float
    """Meaning and words together, 0 to 1."""
    words: float
    """The share of the question's words in it and around it."""
    passage_score: float
    """The score of its passage; 0 where no search gave one."""
    has_value: bool | None
    """Whether it has a value of the kind that is asked for; None: any statement may answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EvidenceReading:
    """What was found for a question."""

    probability: float
    """That the passages answer the question; 0 without any passage."""
    evidence: Evidence
    ranked: tuple[RankedSentence, ...] = ()
    """The sentences nearest to the question, best first."""


def read_evidence(question: str, passages: Sequence[Passage], embedder: Embedder | None = None) -> EvidenceReading:
    """Read passages for a question; with an embedder by meaning too."""
    asked = read_question(question)
    found = Evidence([passage.text for passage in passages], embedder, split=statements)
    if not passages or not found.sentences or not words(asked.text):
        return EvidenceReading(probability=0.0, evidence=found)
    ranked = rank_sentences(asked, passages, found)
    if any(passage.score is None for passage in passages):
        return EvidenceReading(probability=answerable(question, found).probability, evidence=found, ranked=ranked)
    features = evidence_features(passages, ranked)
    profile = FOUND if found.model == fitted_embedder(FILE) and "standing" in features else FOUND_WORDS
    probability = weights_of(profile, FILE).probability(features)
    return EvidenceReading(probability=probability, evidence=found, ranked=ranked)


def evidence_features(passages: Sequence[Passage], ranked: Sequence[RankedSentence]) -> dict[str, float]:
    """Return the features of both profiles by name; without `standing` where no passage was compared by meaning."""
    standings = [passage.standing for passage in passages if passage.standing is not None]
    return ({"standing": max(standings)} if standings else {}) | {
        "score": max(passage.score or 0.0 for passage in passages),
        "sentence": max((one.score + PASSAGE_SHARE * one.passage_score for one in ranked), default=0.0),
        "words": max((sentence.words for sentence in ranked), default=0.0),
    }


# --- Sentences by how well they fit ---


def rank_sentences(asked: AskedQuestion, passages: Sequence[Passage], evidence: Evidence) -> tuple[RankedSentence, ...]:
    """Return the sentences nearest to the question by words and meaning, best first.

    Words of a sentence's neighbours, title and heading count half: they say what the sentence is about.
    """
    keys = list(dict.fromkeys(asked.key_stems)) or stems(asked.text)
    shared = {
        place: _shares(keys, place, evidence, passages)
        for place, sentence in enumerate(evidence.sentences)
        if sentence.passage < SENTENCES_FROM and _can_answer(sentence)
    }
    nearest = sorted(shared, key=lambda place: (-(shared[place][0] + 0.5 * shared[place][1]), place))[:COMPARED]
    cosines = _cosines(asked.text, nearest, evidence)
    kind = expected_kind(asked.text)
    known = {fact.value for fact in wording(asked.text).facts} | set(keys)
    ranked = [
        RankedSentence(
            place=place,
            score=0.25 * sum(shared[place]) + 0.5 * cosines.get(place, sum(shared[place]) / 2),
            words=sum(shared[place]) / 2,
            passage_score=passages[evidence.sentences[place].passage].score or 0.0,
            has_value=None if kind is None else _has_value(kind, evidence.sentences[place], known),
        )
        for place in nearest
    ]
    return tuple(sorted(ranked, key=lambda sentence: (-sentence.score, sentence.place)))


def _can_answer(sentence: EvidenceSentence) -> bool:
    return not sentence.text.endswith("?") and len(words(sentence.text)) >= FEWEST_WORDS


def _shares(keys: Sequence[str], place: int, evidence: Evidence, passages: Sequence[Passage]) -> tuple[float, float]:
    """Return the share of the question's words in the sentence, and in it with what stands around it."""
    sentence = evidence.sentences[place]
    passage = passages[sentence.passage]
    around = frozenset(stems(f"{passage.title} {passage.heading_path}")).union(
        *(neighbour.stems for neighbour in evidence.window(place))
    )
    return coverage(keys, sentence.stems, evidence), coverage(keys, around, evidence)


def _cosines(question: str, places: Sequence[int], evidence: Evidence) -> dict[int, float]:
    if not evidence.has_vectors or not places:
        return {}
    rows = evidence.vectors([question, *(remove_marks(evidence.sentences[place].text) for place in places)])
    return {place: max(0.0, float(value)) for place, value in zip(places, rows[1:] @ rows[0], strict=True)}


def _has_value(kind: AnswerKind, sentence: EvidenceSentence, known: set[str]) -> bool:
    return has_value(kind, sentence.text, sentence.facts, known)
