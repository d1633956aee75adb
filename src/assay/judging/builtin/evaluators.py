"""The built-in check: plan, passages and answer evaluated without a model, by one evaluator that says so.

- Embedding texts of similar length together.
- Passages.
- Answers.
- The check itself.

Every dimension here is tested by planted defects (`bench.defects`); what rules cannot measure is *not measured*, with
the reason, and counts nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from assay.embedding.wrappers import AroundEmbedder, CachedEmbedder
from assay.judging.builtin.answerability import EvidenceReading, read_evidence
from assay.judging.builtin.judges import BuiltinGroundedness, JudgedClaim, mean_probability
from assay.judging.builtin.plan import VERSION as PLAN_VERSION
from assay.judging.builtin.plan import check_plan
from assay.judging.builtin.support import Evidence, EvidenceSentence, consistency, content, coverage, remove_marks
from assay.records.answers import Claim
from assay.records.research import (
    BUILTIN_CHECK,
    DIMENSIONS,
    Checkpoint,
    Dimension,
    Issue,
    Material,
    Passage,
    RoleScores,
    SourceReading,
    Synthesis,
)
from assay.text.claims import claims, without_citations
from assay.text.questions import AskedQuestion, key_words, part_stems, read_question
from assay.text.terms import stems, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from assay.embedding.protocol import Embedder, Progress, Vectors
    from assay.records.judging import JudgeKind

# --- Embedding texts of similar length together ---
#
# A model that runs here pads every text of a batch to the longest: beside a passage's long sentence a short question
# costs as much as the sentence. Evaluation asks for few texts at a time, of all lengths, so that was a third of its
# time.

MOST_PADDING = 120
"""Characters that one group may be padded by, about thirty tokens: less is not worth a call of its own."""


class LikeLengths(AroundEmbedder):
    """The same vectors, made in groups of like length."""

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One row for each text, in the order given."""
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        for group in like_lengths([len(text) for text in texts]):
            rows[group] = self._inner.embed([texts[place] for place in group], progress=progress)
        return rows


def like_lengths(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places in groups, each padded by little.

    >>> list(like_lengths([80, 450, 90, 460]))
    [[0, 2], [1, 3]]
    """
    group: list[int] = []
    padding = 0
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        # Lengths grow: every text of the group is padded to the newcomer.
        more = len(group) * (lengths[place] - lengths[group[-1]]) if group else 0
        if padding + more > MOST_PADDING:
            yield group
            group, padding, more = [], 0, 0
        group.append(place)
        padding += more
    if group:
        yield group


# --- Passages ---
#
# Context recall asks whether the passages answer the question and speak of each of its parts; precision which share of
# the passages is about it; source quality what is known of the sources themselves: whether they contradict each other,
# were superseded, repeat each other, have anything to say, and how old they are.

RETRIEVAL_VERSION = "2"
ABOUT = 0.34
"""A passage with this share of the question's words, rare ones counting more, is about it."""
NEAR_QUESTION = 0.3
"""With vectors: a passage whose nearest sentence has this cosine is about the question."""
STALE_DAYS = 5 * 365
"""A source older than this is old: where the question is about a time, or where no source is newer."""
SHORTEST = 5
"""Words of a passage that can say anything."""
COMPARED = 6
"""Sentences near the question that are compared with those of other passages for contradictions."""
SAME_MATTER = 0.6
"""The share of a sentence's words that another one has when both speak of the same matter."""
PER_PROBLEM = 0.3
"""What each kind of problem takes from source quality."""
SURE, UNSURE = 0.85, 0.6
SUPERSEDED, OLD, REPEATED, EMPTY, CONTRADICTED = "superseded", "old", "repeated", "says next to nothing", "contradicted"
_FIXES = {
    SUPERSEDED: "search current sources only",
    OLD: "search newer sources",
    REPEATED: "search for other sources",
    EMPTY: "search longer passages",
    CONTRADICTED: "find out which source holds",
}
"""What mends each problem of a source."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetrievalReading:
    """What was found."""

    answered: float
    """How likely the passages answer the question."""
    parts: tuple[float, ...]
    """How much of the words of each side or part they have."""
    missing: tuple[str, ...]
    sources: tuple[SourceReading, ...]

    @property
    def recall(self) -> float:
        """Whether everything needed is there; for a question with parts, whether each of them is spoken of too."""
        if not self.sources:
            return 0.0
        if len(self.parts) < 2:
            return self.answered
        return 0.7 * self.answered + 0.3 * sum(self.parts) / len(self.parts)

    @property
    def precision(self) -> float:
        """The share of passages that are about it, earlier ones counting more."""
        weights = [1 / place for place in range(1, len(self.sources) + 1)]
        on_topic = sum(weight for weight, source in zip(weights, self.sources, strict=True) if source.about)
        return on_topic / sum(weights) if weights else 0.0

    @property
    def problems(self) -> tuple[str, ...]:
        """Every kind of problem that a source has, each once."""
        return tuple(dict.fromkeys(problem for source in self.sources for problem in source.problems))

    @property
    def quality(self) -> float:
        """What is left after each kind of problem took its share; 0 without a source."""
        return max(0.0, 1.0 - PER_PROBLEM * len(self.problems)) if self.sources else 0.0


def check_retrieval(material: Material, embedder: Embedder | None = None) -> RoleScores:
    """Score recall, precision and source quality."""
    reading = read_retrieval(material, embedder)
    gaps = [
        Issue(issue=f"nothing found on {part!r}", fix=f"search {part}", terms=tuple(key_words(part)))
        for part in reading.missing
    ]
    poor = [Issue(issue=f"a source is {problem}", fix=_FIXES[problem]) for problem in reading.problems]
    return RoleScores(
        scores={
            Dimension.CONTEXT_RECALL: reading.recall,
            Dimension.CONTEXT_PRECISION: reading.precision,
            Dimension.SOURCE_QUALITY: reading.quality,
        },
        confidence=SURE if not reading.sources else min(SURE, UNSURE + abs(reading.answered - 0.5)),
        critique=_critique(reading),
        issues=(*gaps, *poor),
        sources=reading.sources,
    )


def read_retrieval(material: Material, embedder: Embedder | None = None) -> RetrievalReading:
    """Hold passages against a question."""
    question, passages = material.question, material.passages
    asked = read_question(question)
    found = read_evidence(question, passages, embedder)
    parts = asked.sides or asked.parts or (asked.text,)
    covered = tuple(coverage(part_stems(part), found.evidence.stems, found.evidence) for part in parts)
    shares = _shares(asked, passages, found.evidence)
    about = _about(asked, shares, found.evidence)
    problems = _problems(asked, passages, found, material.now)
    return RetrievalReading(
        answered=found.probability,
        parts=covered,
        missing=tuple(part for part, value in zip(parts, covered, strict=True) if value < 0.5),
        sources=tuple(
            SourceReading(
                number=passage.number, about=about[place], share=shares[place], problems=tuple(problems[place])
            )
            for place, passage in enumerate(passages)
        ),
    )


def _shares(asked: AskedQuestion, passages: Sequence[Passage], evidence: Evidence) -> list[float]:
    """Return the share of the question's words that each passage has."""
    keys = list(dict.fromkeys(asked.key_stems)) or stems(asked.text)
    return [coverage(keys, frozenset(stems(f"{passage.title} {passage.text}")), evidence) for passage in passages]


def _about(asked: AskedQuestion, shares: Sequence[float], evidence: Evidence) -> list[bool]:
    """Return whether each passage is about the question: by its nearest sentence, without vectors by its words."""
    if not evidence.has_vectors:
        return [share >= ABOUT for share in shares]
    keys = asked.key_stems
    nearest = {
        place: max(own, key=lambda sentence: coverage(keys, sentence.stems, evidence)).text
        for place in range(len(shares))
        if (own := [sentence for sentence in evidence.sentences if sentence.passage == place])
    }
    rows = evidence.vectors([asked.text, *map(remove_marks, nearest.values())])
    near = {place for place, cosine in zip(nearest, rows[1:] @ rows[0], strict=True) if float(cosine) >= NEAR_QUESTION}
    return [place in near for place in range(len(shares))]


def _problems(
    asked: AskedQuestion, passages: Sequence[Passage], found: EvidenceReading, now: datetime | None
) -> list[list[str]]:
    """Return the problems of each passage."""
    problems: list[list[str]] = [[] for _ in passages]
    texts = [" ".join(words(passage.text)) for passage in passages]
    contradicted = _find_contradicted(found)
    stale = [_is_stale(passage, now) for passage in passages]
    for place, passage in enumerate(passages):
        holds = {
            SUPERSEDED: passage.superseded,
            OLD: stale[place] and (bool(asked.time) or all(stale)),
            REPEATED: texts[place] in texts[:place],
            EMPTY: len(words(passage.text)) < SHORTEST,
            CONTRADICTED: place in contradicted,
        }
        problems[place] += [problem for problem, is_so in holds.items() if is_so]
    return problems


def _is_stale(passage: Passage, now: datetime | None) -> bool:
    return now is not None and passage.updated_at is not None and (now - passage.updated_at).days > STALE_DAYS


def _find_contradicted(found: EvidenceReading) -> set[int]:
    """Return the passages one of whose sentences near the question is contradicted by another passage."""
    evidence = found.evidence
    contradicted: set[int] = set()
    for ranked in found.ranked[:COMPARED]:
        sentence = evidence.sentences[ranked.place]
        for other in evidence.sentences:
            if other.passage == sentence.passage or not _is_same_matter(sentence, other, evidence):
                continue
            if consistency(sentence, [other], other, evidence).contradicts:
                contradicted |= {sentence.passage, other.passage}
    return contradicted


def _is_same_matter(sentence: EvidenceSentence, other: EvidenceSentence, evidence: Evidence) -> bool:
    """Return whether a sentence speaks of what another one does.

    In a short sentence the value is the rarest word: "kept for 30 days" and "kept for 90 days" share too little. So
    when one value is all that is exchanged, it does not count, and both have to share their other words.
    """
    if coverage(content(sentence.tokens), other.stems, evidence) >= SAME_MATTER:
        return True
    mine, theirs = _exchanged_values(sentence, other), _exchanged_values(other, sentence)
    return (
        len(mine) == len(theirs) == 1
        and _share_besides(mine, sentence, other, evidence) >= SAME_MATTER
        and _share_besides(theirs, other, sentence, evidence) >= SAME_MATTER
    )


def _exchanged_values(sentence: EvidenceSentence, other: EvidenceSentence) -> set[str]:
    """Return the numbers, dates and times of a sentence that another one does not have."""
    values = {token.stem for token in sentence.tokens if token.fact is not None and token.fact.kind != "name"}
    return values - other.stems


def _share_besides(values: set[str], sentence: EvidenceSentence, other: EvidenceSentence, evidence: Evidence) -> float:
    """Return the share of a sentence's words besides these values that another sentence has."""
    rest = [stem for stem in content(sentence.tokens) if stem not in values]
    return coverage(rest, other.stems, evidence) if rest else 0.0


def _critique(reading: RetrievalReading) -> str:
    if not reading.sources:
        return "nothing was found"
    on_topic = sum(bool(source.about) for source in reading.sources)
    said = f"{on_topic} of {len(reading.sources)} passages are about the question"
    return f"{said}; a source is {reading.problems[0]}" if reading.problems else said


# --- Answers ---
#
# Faithfulness is the groundedness judge's mean probability; factual accuracy what numbers, names and negations say
# against the answer; relevance whether it speaks of the question; completeness whether it speaks of each part. Whether
# an answer reads well, rules cannot tell. A refusal is no answer: there is nothing to measure, and the outcome of the
# question says whether it was right to refuse.

ANSWER_VERSION = "3"
FAR, NEAR = 0.15, 0.6
"""Cosines of question and answer, as shares of relevance."""
MOST_COMPARED = 8
"""Sentences of an answer that are compared with the question by meaning."""
NO_ANSWER = "the question was refused: there is no answer to measure"
NO_READER = "whether sentences follow from one another needs a reader; rules cannot tell"


def check_answer(material: Material, embedder: Embedder | None = None) -> RoleScores:
    """Score an answer against its question and passages; of a refusal nothing is measured."""
    synthesis = material.synthesis
    if synthesis is None or synthesis.abstained:
        return RoleScores(
            scores={},
            not_measured=dict.fromkeys(DIMENSIONS[Checkpoint.ANSWER], NO_ANSWER),
            confidence=SURE,
            critique="the question was refused",
        )
    texts = [passage.text for passage in material.passages]
    judged = BuiltinGroundedness(embedder).judge_claims(_claims(synthesis), texts)
    return _score_answer(read_question(material.question), judged, Evidence([synthesis.text], embedder))


def _claims(synthesis: Synthesis) -> list[Claim]:
    """The answer's own statements where it has them, else its sentences."""
    stated = [Claim(text=statement.text, citations=statement.citations) for statement in synthesis.statements]
    return stated or claims(synthesis.text)


def _score_answer(asked: AskedQuestion, judged: Sequence[JudgedClaim], answer: Evidence) -> RoleScores:
    faithful = mean_probability(judged) if judged else 0.0
    accurate = sum(not claim.problems for claim in judged) / len(judged) if judged else 0.0
    parts = _parts(asked, answer)
    shares = list(parts.values())
    scores = {
        Dimension.FAITHFULNESS: faithful,
        Dimension.RELEVANCE: _nearness(asked.text, asked.key_stems, answer),
        Dimension.FACTUAL_ACCURACY: (accurate + faithful) / 2,
        # A part that is left out altogether counts as much as all parts together.
        Dimension.COMPLETENESS: (min(shares) + sum(shares) / len(shares)) / 2,
    }
    return RoleScores(
        scores=scores,
        not_measured={Dimension.COHERENCE: NO_READER},
        confidence=min(SURE, UNSURE + abs(min(scores.values()) - 0.5)),
        critique=f"{sum(claim.is_supported for claim in judged)} of {len(judged)} statements are supported",
        issues=(*_report_unsupported(judged), *_missing(parts)),
    )


def _nearness(text: str, keys: Sequence[str], answer: Evidence) -> float:
    """Return how much an answer speaks of a text: the higher of the scores by words and, with vectors, by meaning."""
    named = sum(stem in answer.stems for stem in keys) / len(keys) if keys else 1.0
    # Without its marks a quotation is the passage's own sentence, whose vector the checkpoint before this one made.
    said = [told for sentence in answer.sentences[:MOST_COMPARED] if words(told := without_citations(sentence.text))]
    if named >= 1.0 or not answer.has_vectors or not said:
        return named
    rows = answer.vectors([text, *said])
    best = float((rows[1:] @ rows[0]).max())
    return max(named, min(1.0, max(0.0, (best - FAR) / (NEAR - FAR))))


def _parts(asked: AskedQuestion, answer: Evidence) -> dict[str, float]:
    """How much the answer speaks of each side or part."""
    parts = asked.sides or asked.parts or (asked.text,)
    return {part: _nearness(part, part_stems(part), answer) for part in parts}


def _report_unsupported(judged: Sequence[JudgedClaim]) -> list[Issue]:
    return [
        Issue(
            issue=f"not supported: {claim.claim.text[:120]}",
            fix=claim.problems[0] if claim.problems else "leave it out, or cite a passage that says it",
        )
        for claim in judged
        if not claim.is_supported
    ]


def _missing(parts: dict[str, float]) -> list[Issue]:
    return [
        Issue(issue=f"the answer does not speak of {part!r}", fix=f"answer {part}", terms=tuple(key_words(part)))
        for part, share in parts.items()
        if share < 0.34
    ]


# --- The check itself ---

REMEMBERED = 512
"""Vectors kept between the checkpoints of one question: what retrieval compared, the answer compares again."""


class BuiltinCheck:
    """The one evaluator of a checkpoint that needs no model: it scores every dimension that rules can measure."""

    kind: JudgeKind = "builtin"
    role = BUILTIN_CHECK

    def __init__(self, checkpoint: Checkpoint, version: str, check: Callable[[Material], RoleScores]) -> None:
        self.checkpoint = checkpoint
        self.name = f"builtin-{checkpoint}/{version}"
        self._check = check

    def evaluate(self, material: Material) -> RoleScores:
        """Score the dimensions of the checkpoint, or say why one is not measured."""
        return self._check(material)


class QuestionVectors(CachedEmbedder):
    """Keeps the vectors of one question while its plan, passages and answer are made and evaluated."""


def remember_vectors(embedder: Embedder | None) -> Embedder | None:
    """Return an embedder that keeps the vectors of one question; one that does already is returned as it is."""
    if embedder is None or isinstance(embedder, QuestionVectors):
        return embedder
    return QuestionVectors(LikeLengths(embedder), REMEMBERED)


def builtin_checks(embedder: Embedder | None = None) -> dict[Checkpoint, BuiltinCheck]:
    """Return the check of every checkpoint, by rules. Safe to use from several threads."""
    remembered = remember_vectors(embedder)
    checks = {
        Checkpoint.PLAN: (PLAN_VERSION, check_plan),
        Checkpoint.RETRIEVAL: (RETRIEVAL_VERSION, check_retrieval),
        Checkpoint.ANSWER: (ANSWER_VERSION, check_answer),
    }
    return {
        checkpoint: BuiltinCheck(checkpoint, version, partial(check, embedder=remembered))
        for checkpoint, (version, check) in checks.items()
    }
