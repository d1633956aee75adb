"""The answer checkpoint without a model: all five roles over one reading of answer, question and passages.

Faithfulness is the groundedness judge's mean probability; factual accuracy what numbers, names and negations say
against the answer; relevance whether it speaks of the question; completeness whether it speaks of each part; coherence
whether it reads as a text. An honest abstention is relevant and faithful when the passages do not answer the question,
and incomplete when they do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.embedding.protocol import Embedder
from assay.judging.builtin.abstention import answerable
from assay.judging.builtin.evidence import Evidence
from assay.judging.builtin.groundedness import BuiltinGroundedness, JudgedClaim, mean_probability
from assay.records.answers import Claim
from assay.records.judging import JudgeKind
from assay.records.research import OWNERS, Checkpoint, Dimension, Issue, Material, Role, RoleScores, Synthesis
from assay.text.claims import claims, without_citations
from assay.text.questions import AskedQuestion, key_words, part_stems, read_question
from assay.text.terms import words

VERSION = "2"
LONGEST_SENTENCE = 60
"""Words; a longer one is hard to read."""
SURE, UNSURE = 0.85, 0.6
FAR, NEAR = 0.15, 0.6
"""Cosines of question and answer, as shares of relevance."""
MOST_COMPARED = 8
"""Sentences of an answer that are compared with the question by meaning."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerReading:
    """What was found."""

    scores: dict[Dimension, float]
    words_only: dict[Dimension, float]
    """The same dimensions at first sight, for roles that do not own them."""
    issues: tuple[Issue, ...]
    critique: str


class BuiltinAnswerEvaluator:
    """One role at the answer checkpoint."""

    kind: JudgeKind = "builtin"
    checkpoint = Checkpoint.ANSWER
    name = f"builtin-answer/{VERSION}"

    def __init__(self, role: Role, read: Callable[[Material], AnswerReading]) -> None:
        self.role = role
        self._read = read

    def evaluate(self, material: Material) -> RoleScores:
        """Score all five dimensions of an answer."""
        reading = self._read(material)
        scores = {
            dimension: score if OWNERS[dimension] is self.role else (score + reading.words_only[dimension]) / 2
            for dimension, score in reading.scores.items()
        }
        own = [score for dimension, score in scores.items() if OWNERS[dimension] is self.role]
        confidence = min(SURE, UNSURE + abs(min(own) - 0.5)) if own else UNSURE
        return RoleScores(scores=scores, confidence=confidence, critique=reading.critique, issues=reading.issues)


def read_answer(material: Material, embedder: Embedder | None = None) -> AnswerReading:
    """Hold an answer against its question and passages."""
    synthesis = material.synthesis
    asked = read_question(material.question)
    texts = [one.text for one in material.passages]
    if synthesis is None or synthesis.abstained:
        return _abstention(material.question, texts, embedder)
    judged = BuiltinGroundedness(embedder).judge_claims(_claims(synthesis), texts)
    return _reading(asked, synthesis, judged, Evidence([synthesis.text], embedder))


def _claims(synthesis: Synthesis) -> list[Claim]:
    """The answer's own statements where it has them, else its sentences."""
    stated = [Claim(text=one.text, citations=one.citations) for one in synthesis.statements]
    return stated or claims(synthesis.text)


def _reading(
    asked: AskedQuestion, synthesis: Synthesis, judged: Sequence[JudgedClaim], answer: Evidence
) -> AnswerReading:
    faithful = mean_probability(judged) if judged else 0.0
    supported = sum(one.is_supported for one in judged) / len(judged) if judged else 0.0
    accurate = sum(not one.problems for one in judged) / len(judged) if judged else 0.0
    parts = _parts(asked, answer)
    relevance, named = _relevance(asked, answer), _named(asked, answer)
    coherence = _coherence(synthesis)
    return AnswerReading(
        scores={
            Dimension.FAITHFULNESS: faithful,
            Dimension.RELEVANCE: relevance,
            Dimension.FACTUAL_ACCURACY: (accurate + faithful) / 2,
            Dimension.COMPLETENESS: sum(parts.values()) / len(parts) if len(parts) > 1 else relevance,
            Dimension.COHERENCE: coherence,
        },
        words_only={
            Dimension.FAITHFULNESS: supported,
            Dimension.RELEVANCE: named,
            Dimension.FACTUAL_ACCURACY: accurate,
            Dimension.COMPLETENESS: named,
            Dimension.COHERENCE: coherence,
        },
        issues=(*_unsupported(judged), *_missing(parts)),
        critique=f"{sum(one.is_supported for one in judged)} of {len(judged)} statements are supported",
    )


def _relevance(asked: AskedQuestion, answer: Evidence) -> float:
    """By words and, with vectors, by meaning; whichever speaks more for the answer."""
    named = _named(asked, answer)
    # Without its marks a quotation is the passage's own sentence, whose vector the checkpoint before this one made.
    said = [text for one in answer.sentences[:MOST_COMPARED] if words(text := without_citations(one.text))]
    if named >= 1.0 or not answer.has_vectors or not said:
        return named
    rows = answer.vectors([asked.text, *said])
    best = float((rows[1:] @ rows[0]).max())
    return max(named, min(1.0, max(0.0, (best - FAR) / (NEAR - FAR))))


def _named(asked: AskedQuestion, answer: Evidence) -> float:
    keys = asked.key_stems
    return sum(stem in answer.stems for stem in keys) / len(keys) if keys else 1.0


def _parts(asked: AskedQuestion, answer: Evidence) -> dict[str, float]:
    """How much of the words of each side or part the answer has."""
    found = {}
    for part in asked.sides or asked.parts or (asked.text,):
        keys = part_stems(part)
        found[part] = sum(stem in answer.stems for stem in keys) / len(keys) if keys else 1.0
    return found


def _coherence(synthesis: Synthesis) -> float:
    """Repeated, endless and empty sentences each take away."""
    said = [one.text for one in synthesis.statements] or [synthesis.text]
    repeated = 1 - len({" ".join(words(one)) for one in said}) / len(said)
    endless = sum(len(words(one)) > LONGEST_SENTENCE for one in said) / len(said)
    empty = sum(not words(one) for one in said) / len(said)
    return max(0.0, 1.0 - repeated - 0.5 * endless - empty)


def _unsupported(judged: Sequence[JudgedClaim]) -> list[Issue]:
    return [
        Issue(
            issue=f"not supported: {one.claim.text[:120]}",
            fix=one.problems[0] if one.problems else "leave it out, or cite a passage that says it",
        )
        for one in judged
        if not one.is_supported
    ]


def _missing(parts: dict[str, float]) -> list[Issue]:
    return [
        Issue(issue=f"the answer does not speak of {part!r}", fix=f"answer {part}", terms=tuple(key_words(part)))
        for part, share in parts.items()
        if share < 0.34
    ]


def _abstention(question: str, texts: Sequence[str], embedder: Embedder | None) -> AnswerReading:
    """Declining states nothing wrong; whether it was right to depends on the passages."""
    found = Evidence(texts, embedder)
    right = 1 - (answerable(question, found).probability if found.sentences else 0.0)
    scores = {
        Dimension.FAITHFULNESS: 1.0,
        Dimension.RELEVANCE: right,
        Dimension.FACTUAL_ACCURACY: 1.0,
        Dimension.COMPLETENESS: right,
        Dimension.COHERENCE: 1.0,
    }
    issues = () if right >= 0.5 else (Issue(issue="the passages may answer the question", fix="answer from them"),)
    return AnswerReading(scores=scores, words_only=scores, issues=issues, critique="the answer declines to answer")
