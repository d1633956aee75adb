"""The retrieval checkpoint without a model: coverage checker, faithfulness judge and quality assessor.

Context recall asks whether the passages together answer the question and each of its parts; precision which share of
the passages speaks of it; source quality what is known of the sources themselves: their age, whether they were
superseded, whether they repeat each other, whether they have anything to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from assay.embedding.protocol import Embedder
from assay.judging.builtin.abstention import answerable
from assay.judging.builtin.evidence import Evidence
from assay.judging.builtin.support import coverage
from assay.records.judging import JudgeKind
from assay.records.research import Checkpoint, Dimension, Issue, Material, Passage, Role, RoleScores
from assay.text.questions import AskedQuestion, key_words, part_stems, read_question
from assay.text.terms import stems, words

VERSION = "1"
ABOUT = 0.34
"""A passage with this share of the question's words, rare ones counting more, is about it."""
NEAR = 0.45
"""Or one whose nearest sentence has this cosine."""
STALE_DAYS = 5 * 365
"""Sources older than this are stale; only asked of questions about a time."""
SHORTEST = 5
"""Words of a passage that can say anything."""
NEAR_CHECKED = 2
"""So many of the best-ranked passages whose words do not tell are compared by meaning: precision looks at the top, and
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
    """Which passages speak of the question."""
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
            sum(weight for weight, one in zip(weights, self.about, strict=True) if one) / sum(weights)
            if weights
            else 0.0
        )


class BuiltinRetrievalEvaluator:
    """One role at the retrieval checkpoint."""

    kind: JudgeKind = "builtin"
    checkpoint = Checkpoint.RETRIEVAL
    name = f"builtin-retrieval/{VERSION}"

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
    evidence = Evidence([one.text for one in passages], embedder)
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
    shares = [coverage(keys, frozenset(stems(f"{one.title} {one.text}")), evidence) for one in passages]
    lexical = [share >= ABOUT for share in shares]
    unsure = [place for place, one in enumerate(lexical) if not one][:NEAR_CHECKED]
    near = _near(asked, unsure, evidence)
    return tuple(one or place in near for place, one in enumerate(lexical))


def _near(asked: AskedQuestion, places: Sequence[int], evidence: Evidence) -> set[int]:
    """Which of these passages have something near in their sentence with most of the question's words."""
    keys = asked.key_stems
    nearest = {
        place: max(own, key=lambda one: coverage(keys, one.stems, evidence)).text
        for place in places
        if (own := [one for one in evidence.sentences if one.passage == place])
    }
    if not evidence.has_vectors or not nearest:
        return set()
    rows = evidence.vectors([asked.text, *nearest.values()])
    return {place for place, cosine in zip(nearest, rows[1:] @ rows[0], strict=True) if float(cosine) >= NEAR}


def _source_problems(asked: AskedQuestion, passages: Sequence[Passage], now: datetime | None) -> list[Issue]:
    found = []
    if any(one.superseded for one in passages):
        found.append(Issue(issue="a source was superseded", fix="search current sources only"))
    if asked.time and now is not None and _all_stale(passages, now):
        found.append(Issue(issue="every source is old", fix="search newer sources", terms=asked.time[:1]))
    texts = [" ".join(words(one.text)) for one in passages]
    if len(set(texts)) < len(texts):
        found.append(Issue(issue="sources repeat each other", fix="search for other sources"))
    if any(len(words(one.text)) < SHORTEST for one in passages):
        found.append(Issue(issue="a source says next to nothing", fix="search longer passages"))
    return found


def _all_stale(passages: Sequence[Passage], now: datetime) -> bool:
    ages = [(now - one.updated_at).days for one in passages if one.updated_at is not None]
    return bool(ages) and min(ages) > STALE_DAYS


def _share(about: Sequence[bool]) -> float:
    return sum(about) / len(about) if about else 0.0


def _critique(reading: RetrievalReading) -> str:
    if not reading.about:
        return "nothing was found"
    said = f"{sum(reading.about)} of {len(reading.about)} passages are about the question"
    return f"{said}; {reading.problems[0].issue}" if reading.problems else said
