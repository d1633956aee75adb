"""Evaluators of passages and answers without a model, and the built-in panel.

- One shared reading for all roles of a checkpoint.
- Embedding texts of similar length together.
- The evaluator of passages.
- The evaluator of answers.
- The built-in panel.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from assay.embedding.wrappers import AroundEmbedder, CachedEmbedder
from assay.judging.builtin.judges import BuiltinGroundedness, JudgedClaim, answerable, mean_probability
from assay.judging.builtin.plan import BuiltinPlanEvaluator, read_plan
from assay.judging.builtin.support import Evidence, coverage
from assay.records.answers import Claim
from assay.records.research import (
    OWNERS,
    Checkpoint,
    Dimension,
    Issue,
    Material,
    Passage,
    Role,
    RoleScores,
    Synthesis,
    roles_at,
)
from assay.text.claims import claims, without_citations
from assay.text.questions import AskedQuestion, key_words, part_stems, read_question
from assay.text.terms import stems, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from assay.embedding.protocol import Embedder, Progress, Vectors
    from assay.judging.protocol import Evaluator
    from assay.records.judging import JudgeKind

# --- One shared reading for all roles of a checkpoint ---
#
# Roles run in parallel; the others wait for the first instead of doing the same work beside it.

Reading = TypeVar("Reading")


class SharedReading(Generic[Reading]):
    """Reads a material once and remembers the last reading."""

    def __init__(self, read: Callable[[Material], Reading]) -> None:
        self._read = read
        self._lock = Lock()
        self._last: tuple[Material, Reading] | None = None

    def __call__(self, material: Material) -> Reading:
        """The reading of this material."""
        with self._lock:
            if self._last is None or self._last[0] != material:
                self._last = (material, self._read(material))
            return self._last[1]


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


# --- The evaluator of passages ---
#
# Context recall asks whether the passages together answer the question and each of its parts; precision which share of
# the passages speaks of it; source quality what is known of the sources themselves: their age, whether they were
# superseded, whether they repeat each other, whether they have anything to say.

RETRIEVAL_VERSION = "1"
ABOUT = 0.34
"""A passage with this share of the question's words, rare ones counting more, is about it."""
NEAR_QUESTION = 0.45
"""Or one whose nearest sentence has this cosine."""
STALE_DAYS = 5 * 365
"""Sources older than this are stale. Checked only for questions about a time."""
SHORTEST = 5
"""Words of a passage that can say anything."""
NEAR_CHECKED = 2
"""How many top-ranked passages without shared words are compared by meaning: precision depends on the top, and
a vector costs more than everything else at this checkpoint."""
SURE, UNSURE = 0.85, 0.6


@dataclass(frozen=True, kw_only=True, slots=True)
class RetrievalReading:
    """What was found."""

    answered: float
    """How likely the passages answer the question."""
    parts: tuple[float, ...]
    """How much of the words of each side or part they have."""
    missing: tuple[str, ...]
    about: tuple[bool, ...]
    """Whether each passage is about the question."""
    quality: float
    problems: tuple[Issue, ...]

    @property
    def recall(self) -> float:
        """Whether everything needed is there."""
        return 0.6 * self.answered + 0.4 * (sum(self.parts) / len(self.parts)) if self.about else 0.0

    @property
    def precision(self) -> float:
        """The share of passages that are about it, earlier ones counting more."""
        weights = [1 / place for place in range(1, len(self.about) + 1)]
        return (
            sum(weight for weight, on_topic in zip(weights, self.about, strict=True) if on_topic) / sum(weights)
            if weights
            else 0.0
        )


class BuiltinRetrievalEvaluator:
    """One role at the retrieval checkpoint."""

    kind: JudgeKind = "builtin"
    checkpoint = Checkpoint.RETRIEVAL
    name = f"builtin-retrieval/{RETRIEVAL_VERSION}"

    def __init__(self, role: Role, read: Callable[[Material], RetrievalReading]) -> None:
        self.role = role
        self._read = read

    def evaluate(self, material: Material) -> RoleScores:
        """Score recall, precision and source quality."""
        reading = self._read(material)
        scores = {
            Dimension.CONTEXT_RECALL: self._own(Role.COVERAGE_CHECKER, reading.recall, reading.answered),
            Dimension.CONTEXT_PRECISION: self._own(Role.FAITHFULNESS_JUDGE, reading.precision, _share(reading.about)),
            Dimension.SOURCE_QUALITY: self._own(Role.QUALITY_ASSESSOR, reading.quality, reading.quality),
        }
        return RoleScores(
            scores=scores,
            confidence=SURE if not reading.about else min(SURE, UNSURE + abs(reading.answered - 0.5)),
            critique=_critique(reading),
            issues=reading.problems,
        )

    def _own(self, owner: Role, whole: float, plain: float) -> float:
        """The owner's reading; another role's view leans to what shows at first sight."""
        return whole if self.role is owner else (whole + plain) / 2


def read_retrieval(material: Material, embedder: Embedder | None = None) -> RetrievalReading:
    """Hold passages against a question."""
    question, passages = material.question, material.passages
    asked = read_question(question)
    evidence = Evidence([passage.text for passage in passages], embedder)
    parts = asked.sides or asked.parts or (asked.text,)
    covered = tuple(_part(part, evidence) for part in parts)
    missing = tuple(part for part, value in zip(parts, covered, strict=True) if value < 0.5)
    about = _about(asked, passages, evidence)
    problems = [*_source_problems(asked, passages, material.now)]
    quality = max(0.0, 1.0 - 0.3 * len(problems)) if passages else 0.0
    gaps = [
        Issue(issue=f"nothing found on {part!r}", fix=f"search {part}", terms=tuple(key_words(part)))
        for part in missing
    ]
    return RetrievalReading(
        answered=answerable(question, evidence).probability if evidence.sentences else 0.0,
        parts=covered,
        missing=missing,
        about=about,
        quality=quality,
        problems=(*gaps, *problems),
    )


def _part(part: str, evidence: Evidence) -> float:
    return coverage(part_stems(part), evidence.stems, evidence)


def _about(asked: AskedQuestion, passages: Sequence[Passage], evidence: Evidence) -> tuple[bool, ...]:
    keys = list(dict.fromkeys(asked.key_stems)) or stems(asked.text)
    shares = [coverage(keys, frozenset(stems(f"{passage.title} {passage.text}")), evidence) for passage in passages]
    lexical = [share >= ABOUT for share in shares]
    unsure = [place for place, on_topic in enumerate(lexical) if not on_topic][:NEAR_CHECKED]
    near = _near(asked, unsure, evidence)
    return tuple(on_topic or place in near for place, on_topic in enumerate(lexical))


def _near(asked: AskedQuestion, places: Sequence[int], evidence: Evidence) -> set[int]:
    """Which of these passages have something near in their sentence with most of the question's words."""
    keys = asked.key_stems
    nearest = {
        place: max(own, key=lambda sentence: coverage(keys, sentence.stems, evidence)).text
        for place in places
        if (own := [sentence for sentence in evidence.sentences if sentence.passage == place])
    }
    if not evidence.has_vectors or not nearest:
        return set()
    rows = evidence.vectors([asked.text, *nearest.values()])
    return {place for place, cosine in zip(nearest, rows[1:] @ rows[0], strict=True) if float(cosine) >= NEAR_QUESTION}


def _source_problems(asked: AskedQuestion, passages: Sequence[Passage], now: datetime | None) -> list[Issue]:
    found = []
    if any(passage.superseded for passage in passages):
        found.append(Issue(issue="a source was superseded", fix="search current sources only"))
    if asked.time and now is not None and _all_stale(passages, now):
        found.append(Issue(issue="every source is old", fix="search newer sources", terms=asked.time[:1]))
    texts = [" ".join(words(passage.text)) for passage in passages]
    if len(set(texts)) < len(texts):
        found.append(Issue(issue="sources repeat each other", fix="search for other sources"))
    if any(len(words(passage.text)) < SHORTEST for passage in passages):
        found.append(Issue(issue="a source says next to nothing", fix="search longer passages"))
    return found


def _all_stale(passages: Sequence[Passage], now: datetime) -> bool:
    ages = [(now - passage.updated_at).days for passage in passages if passage.updated_at is not None]
    return bool(ages) and min(ages) > STALE_DAYS


def _share(about: Sequence[bool]) -> float:
    return sum(about) / len(about) if about else 0.0


def _critique(reading: RetrievalReading) -> str:
    if not reading.about:
        return "nothing was found"
    said = f"{sum(reading.about)} of {len(reading.about)} passages are about the question"
    return f"{said}; {reading.problems[0].issue}" if reading.problems else said


# --- The evaluator of answers ---
#
# Faithfulness is the groundedness judge's mean probability; factual accuracy what numbers, names and negations say
# against the answer; relevance whether it speaks of the question; completeness whether it speaks of each part;
# coherence whether it reads as a text. An honest abstention is relevant and faithful when the passages do not answer
# the question, and incomplete when they do.

ANSWER_VERSION = "2"
LONGEST_SENTENCE = 60
"""Words; a longer one is hard to read."""
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
    name = f"builtin-answer/{ANSWER_VERSION}"

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
    texts = [passage.text for passage in material.passages]
    if synthesis is None or synthesis.abstained:
        return _abstention(material.question, texts, embedder)
    judged = BuiltinGroundedness(embedder).judge_claims(_claims(synthesis), texts)
    return _reading(asked, synthesis, judged, Evidence([synthesis.text], embedder))


def _claims(synthesis: Synthesis) -> list[Claim]:
    """The answer's own statements where it has them, else its sentences."""
    stated = [Claim(text=statement.text, citations=statement.citations) for statement in synthesis.statements]
    return stated or claims(synthesis.text)


def _reading(
    asked: AskedQuestion, synthesis: Synthesis, judged: Sequence[JudgedClaim], answer: Evidence
) -> AnswerReading:
    faithful = mean_probability(judged) if judged else 0.0
    supported = sum(claim.is_supported for claim in judged) / len(judged) if judged else 0.0
    accurate = sum(not claim.problems for claim in judged) / len(judged) if judged else 0.0
    parts = _parts(asked, answer)
    relevance, named = _relevance(asked, answer), _share_named(asked, answer)
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
        issues=(*_report_unsupported(judged), *_missing(parts)),
        critique=f"{sum(claim.is_supported for claim in judged)} of {len(judged)} statements are supported",
    )


def _relevance(asked: AskedQuestion, answer: Evidence) -> float:
    """Return the higher of the scores by words and, with vectors, by meaning."""
    named = _share_named(asked, answer)
    # Without its marks a quotation is the passage's own sentence, whose vector the checkpoint before this one made.
    said = [text for sentence in answer.sentences[:MOST_COMPARED] if words(text := without_citations(sentence.text))]
    if named >= 1.0 or not answer.has_vectors or not said:
        return named
    rows = answer.vectors([asked.text, *said])
    best = float((rows[1:] @ rows[0]).max())
    return max(named, min(1.0, max(0.0, (best - FAR) / (NEAR - FAR))))


def _share_named(asked: AskedQuestion, answer: Evidence) -> float:
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
    said = [statement.text for statement in synthesis.statements] or [synthesis.text]
    repeated = 1 - len({" ".join(words(sentence)) for sentence in said}) / len(said)
    endless = sum(len(words(sentence)) > LONGEST_SENTENCE for sentence in said) / len(said)
    empty = sum(not words(sentence) for sentence in said) / len(said)
    return max(0.0, 1.0 - repeated - 0.5 * endless - empty)


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


# --- The built-in panel ---

REMEMBERED = 512
"""Vectors kept between the checkpoints of one question: what retrieval compared, the answer compares again."""


def builtin_panel(embedder: Embedder | None = None) -> dict[Checkpoint, tuple[Evaluator, ...]]:
    """Every role of every checkpoint, by rules. Safe to use from several threads."""
    remembered = None if embedder is None else CachedEmbedder(LikeLengths(embedder), REMEMBERED)
    plan = SharedReading(partial(read_plan, embedder=remembered))
    retrieval = SharedReading(partial(read_retrieval, embedder=remembered))
    answer = SharedReading(partial(read_answer, embedder=remembered))
    return {
        Checkpoint.PLAN: tuple(BuiltinPlanEvaluator(role, plan) for role in roles_at(Checkpoint.PLAN)),
        Checkpoint.RETRIEVAL: tuple(
            BuiltinRetrievalEvaluator(role, retrieval) for role in roles_at(Checkpoint.RETRIEVAL)
        ),
        Checkpoint.ANSWER: tuple(BuiltinAnswerEvaluator(role, answer) for role in roles_at(Checkpoint.ANSWER)),
    }
