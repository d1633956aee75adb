"""The groundedness judge that asks no model: claims of an answer, their support in passages, a probability for each.

The score follows the rubric: 5 when every claim is supported and cited, down to 1 when the passages contradict the
answer and 0 when they have nothing to do with it. Text that speaks to the judge is text: it moves nothing but the words
it is made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.embedding.protocol import Embedder
from assay.judging.builtin.abstention import read_abstention
from assay.judging.builtin.evidence import MOST_SENTENCES, Evidence
from assay.judging.builtin.support import Support, support
from assay.judging.builtin.weighing import Profile, version, weights_of
from assay.records.answers import Claim
from assay.records.judging import HIGHEST_SCORE, GroundednessVerdict, JudgeKind, VerdictOutcome
from assay.text.claims import MOST_CLAIMS, claims
from assay.text.terms import words

SUPPORTED = 0.5
"""A claim at least this probable counts as supported."""
CONTRADICTED = 0.15
"""The most for a claim whose best sentence is the same but for a number, a negation or an opposite. Labelled data have
too few of these for a coefficient to learn them, and nobody forgives a judge that misses one."""
UNCITED_CAP = 4.0
"""The most an answer can reach while one of its supported claims has no citation."""
CONTRADICTED_CAP = 1.0
"""The most for an answer whose claims the passages mostly speak against."""
RELATED = 0.25
"""Below this share of its words in the passages, an unsupported answer has nothing to do with them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedClaim:
    """One claim, how probable its support is, and where that support stands."""

    claim: Claim
    probability: float
    passage: int | None
    """Which passage has the best sentence, from 1."""
    quote: str
    """The best sentence."""
    problems: tuple[str, ...]
    support: Support

    @property
    def is_supported(self) -> bool:
        """Whether it counts as supported."""
        return self.probability >= SUPPORTED

    @property
    def is_contradicted(self) -> bool:
        """Whether its best sentence speaks against it."""
        return self.support.consistency.contradicts


class BuiltinGroundedness:
    """Judges by rules and a few coefficients. With an embedder it also compares meaning."""

    kind: JudgeKind = "builtin"

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder

    @property
    def name(self) -> str:
        """With its coefficients and its embedder, since both move its verdicts."""
        return f"builtin-groundedness/{version()}/{self._embedder.model if self._embedder else 'words'}"

    def judge(self, question: str, answer: str, passages: Sequence[str]) -> GroundednessVerdict:  # noqa: ARG002 - claims are judged by passages alone
        """Judge one answer."""
        if not answer.strip():
            return _skipped("the answer is empty")
        if read_abstention(answer).abstained:
            return _skipped("the answer declines to answer")
        found = claims(answer)
        if not found:
            return _skipped("the answer makes no claim")
        if not any(passage.strip() for passage in passages):
            return _unsupported(found)
        evidence = Evidence(passages, self._embedder)
        return verdict_of([self._judged(claim, evidence) for claim in found], _limits(found, evidence))

    def judge_claims(self, found: Sequence[Claim], passages: Sequence[str]) -> list[JudgedClaim]:
        """Each claim by itself."""
        evidence = Evidence(passages, self._embedder)
        return [self._judged(claim, evidence) for claim in found]

    def _judged(self, claim: Claim, evidence: Evidence) -> JudgedClaim:
        looked = support(claim.text, evidence)
        profile = Profile.CLAIM if evidence.has_vectors else Profile.CLAIM_WORDS
        best = None if looked.best is None else evidence.sentences[looked.best]
        chance = weights_of(profile).probability(looked.features)
        return JudgedClaim(
            claim=claim,
            probability=min(chance, CONTRADICTED) if looked.consistency.contradicts else chance,
            passage=None if best is None else best.passage + 1,
            quote="" if best is None else best.text,
            problems=looked.consistency.problems,
            support=looked,
        )


def verdict_of(judged: Sequence[JudgedClaim], limits: Sequence[str] = ()) -> GroundednessVerdict:
    """The verdict over all claims: the score, the mean probability, both lists, and what was not looked at."""
    supported = [one for one in judged if one.is_supported]
    probability = mean_probability(judged)
    return GroundednessVerdict(
        score=_score(judged, supported, probability),
        probability=probability,
        supported_claims=tuple(one.claim.text for one in supported),
        unsupported_claims=tuple(one.claim.text for one in judged if not one.is_supported),
        reason="; ".join([_reason(judged, supported), *limits]),
    )


def mean_probability(judged: Sequence[JudgedClaim]) -> float:
    """Over all claims; a longer one states more, so it counts more."""
    lengths = [max(1, len(words(one.claim.text))) for one in judged]
    return sum(one.probability * length for one, length in zip(judged, lengths, strict=True)) / sum(lengths)


def _score(judged: Sequence[JudgedClaim], supported: Sequence[JudgedClaim], probability: float) -> float:
    shared = max(one.support.features["words"] for one in judged)
    if not supported and shared < RELATED:
        return 0.0
    if sum(one.is_contradicted for one in judged) * 2 > len(judged):
        return min(CONTRADICTED_CAP, HIGHEST_SCORE * probability)
    share = len(supported) / len(judged)
    # All supported is a 5 whatever the margin; in between, share and probability speak together.
    score = HIGHEST_SCORE * (share if share == 1.0 else (share + probability) / 2)
    cited = all(one.claim.citations for one in supported)
    return round(score if cited else min(score, UNCITED_CAP), 2)


def _reason(judged: Sequence[JudgedClaim], supported: Sequence[JudgedClaim]) -> str:
    problems = [
        f"{one.claim.text[:80]!r}: {problem}" for one in judged if not one.is_supported for problem in one.problems
    ]
    said = f"{len(supported)} of {len(judged)} claims are supported"
    return "; ".join([said, *problems[:5]])


def _limits(found: Sequence[Claim], evidence: Evidence) -> list[str]:
    """What was too long to be looked at."""
    said = [f"only the first {MOST_CLAIMS} claims were judged"] * (len(found) == MOST_CLAIMS)
    return said + [f"only the first {MOST_SENTENCES:,} sentences of the passages were read"] * evidence.truncated


def _skipped(reason: str) -> GroundednessVerdict:
    return GroundednessVerdict(score=None, outcome=VerdictOutcome.SKIPPED, reason=reason)


def _unsupported(found: Sequence[Claim]) -> GroundednessVerdict:
    return GroundednessVerdict(
        score=0.0,
        probability=0.0,
        unsupported_claims=tuple(claim.text for claim in found),
        reason="there is no passage that could support a claim",
    )
