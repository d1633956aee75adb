"""Judges that need no model: groundedness, abstention, and answers without passages.

- Logistic weights.
- Answers without passages.
- Abstention, and whether passages answer a question.
- Groundedness.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

from assay.errors import BadValue
from assay.hashing import content_hash
from assay.judging.builtin.support import (
    MOST_SENTENCES,
    Evidence,
    EvidenceSentence,
    Support,
    content,
    coverage,
    read,
    support,
)
from assay.records.judging import HIGHEST_SCORE, AbstentionVerdict, GroundednessVerdict, JudgeKind, VerdictOutcome
from assay.records.research import QuestionKind
from assay.regular_files import read_packaged_text
from assay.text.claims import MOST_CLAIMS, claims
from assay.text.questions import AskedQuestion, read_question
from assay.text.terms import words
from assay.text.wording import wording

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.embedding.protocol import Embedder
    from assay.records.answers import Claim

# --- Logistic weights ---
#
# `coefficients.json` says for each profile which features it weighs and where they were fitted; `answerability.json`
# does the same for passages that a search found. What the built-in judges learned from labelled data is kept nowhere
# else.

FILE = "coefficients.json"


class Profile(StrEnum):
    """What a probability is of, and what it is made from."""

    CLAIM = "claim"
    """That passages support a claim; words and vectors."""
    CLAIM_WORDS = "claim_words"
    """The same without vectors."""
    UNSOURCED = "unsourced"
    """That an answer without any passage invents nothing."""
    ANSWERABLE = "answerable"
    """That passages answer a question; words and vectors."""
    ANSWERABLE_WORDS = "answerable_words"


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    """One fitted profile. A feature counts by how far it lies from its mean, in its own spread."""

    names: tuple[str, ...]
    means: tuple[float, ...]
    spreads: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    penalty: float
    """What large weights cost while fitting."""
    fitted_on: tuple[str, ...]

    def probability(self, features: Mapping[str, float]) -> float:
        """Between 0 and 1, exclusive."""
        missing = [name for name in self.names if name not in features]
        if missing:
            raise BadValue(f"the feature {missing[0]!r} is missing", remedy="Use the profile made for these features.")
        parts = zip(self.names, self.means, self.spreads, self.weights, strict=True)
        total = math.fsum(weight * (features[name] - mean) / spread for name, mean, spread, weight in parts)
        return 1 / (1 + math.exp(-min(30.0, max(-30.0, self.bias + total))))


@cache
def weights_of(profile: str, file: str = FILE) -> Weights:
    """The fitted weights of a profile."""
    stored: dict[str, Any] = _load_coefficients(file)["profiles"][profile]
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()
    }
    return Weights(**fields)


@cache
def fitted_embedder(file: str = FILE) -> str:
    """Return the embedder whose vectors the coefficients of a file were fitted with."""
    return str(_load_coefficients(file)["embedder"])


@cache
def version() -> str:
    """Return a version that changes with every coefficient; it is stored with each verdict."""
    return content_hash(_load_coefficients(FILE)["profiles"]).removeprefix("sha256:")[:12]


@cache
def _load_coefficients(file: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(read_packaged_text("judging", "builtin", file))
    return found


# --- Answers without passages ---
#
# Nothing here can tell whether a statement is true. It knows where inventions are found more often: in answers full of
# names and numbers nobody asked for, in answers that were cut off, in replies that claim to be or do what no text can.

READ = 5_000
"""Characters of question and answer that are looked at."""

_ITEM = re.compile(r"^[ \t]*(?:\d{1,3}[.)]|[-*\u2022])\s", re.MULTILINE)
_CAPABILITY = re.compile(
    r"\b(?:sorry|apologi[sz]e|as an ai|as a language model|cannot|can't|unable|do not have|don't have|i'm not|"
    r"i am not)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")


def features_without_passages(question: str, answer: str) -> dict[str, float]:
    """What is weighed."""
    question, answer = question[:READ], answer[:READ]
    asked, said = wording(question), wording(answer)
    found, statements = words(answer), claims(answer)
    length = max(1, len(found))
    known = {fact.value for fact in asked.facts} | asked.stems
    fresh = {fact for fact in said.facts if fact.value not in known}
    names = sum(fact.kind == "name" for fact in fresh)
    return {
        "length": math.log1p(len(found)),
        "statements": math.log1p(len(statements)),
        "fresh_names": math.log1p(names),
        "fresh_numbers": math.log1p(len(fresh) - names),
        "name_rate": names / length,
        "years": math.log1p(len(_YEAR.findall(answer))),
        "variety": len(set(found)) / length,
        "asked_length": math.log1p(len(words(question))),
        "asked_names": math.log1p(sum(fact.kind == "name" for fact in asked.facts)),
        "asked_numbers": math.log1p(sum(fact.kind != "name" for fact in asked.facts)),
        "on_topic": len(asked.content & said.content) / max(1, len(asked.content)),
        "capability": float(bool(_CAPABILITY.search(answer))),
        "listed": float(bool(_ITEM.search(answer))),
        "cut_off": float(not answer.rstrip().endswith((".", "!", "?", '"', ")", "'", "`"))),
    }


def probability_without_passages(question: str, answer: str) -> float:
    """Return the probability that an answer without passages invents nothing."""
    return weights_of(Profile.UNSOURCED).probability(features_without_passages(question, answer))


# --- Abstention, and whether passages answer a question ---
#
# `read_abstention` reads an answer somebody gave; `answerable` looks at a question and passages before there is one.
#   The
# first is rules over the opening and the whole of a text, the second a fitted probability.

MOST_CLAIMS_AFTER = 1
"""An answer that declines and then still makes more claims than this has answered."""

_NOT = r"(?:do\s+not|don'?t|does\s+not|doesn'?t|did\s+not|didn'?t)"
_DECLINES = re.compile(
    rf"\b(?:(?:i|we)\s+(?:{_NOT}|could\s+not|couldn'?t|cannot|can'?t|am\s+(?:not\s+able|unable)|was\s+unable)"
    r"\s+(?:to\s+)?(?:\w+\s+){0,2}?(?:know|have|find|answer|locate|see|determine|provide|say|tell|confirm|help)"
    r"|(?:i'?m|i\s+am|we\s+are|we'?re)\s+(?:not\s+sure|unsure|unable|sorry,?\s+but\s+i|not\s+able)"
    r"|(?:no|not\s+enough|insufficient)\s+(?:\w+\s+){0,2}?(?:information|evidence|answer|data|details?|mention|support)\b"
    r".{0,60}?(?:found|available|provided|given|in\s+the|to\s+answer|about|for|$)"
    r"|(?:the\s+)?(?:\w+\s+){0,3}(?:context|passages?|documents?|sources?|text|information|notes|memor(?:y|ies)|results?)"
    rf"\s+(?:provided\s+)?{_NOT}\s+(?:\w+\s+){{0,2}}?"
    r"(?:contain|include|mention|answer|say|provide|specify|state|have|cover|address|discuss)"
    r"|(?:cannot|can'?t|could\s+not|couldn'?t)\s+be\s+(?:answered|determined|found|verified|inferred)"
    r"|(?:is|are|was)\s+(?:not|n'?t)\s+(?:\w+\s+){0,2}?"
    r"(?:mentioned|specified|stated|provided|available|known|covered|answerable|found)"
    rf"|{_NOT}\s+answer\s+(?:this|the|that|your|it)\b"
    r"|unanswerable|(?:nothing|none)\s+(?:\w+\s+){0,3}(?:answers?|found|mentions?|says?))",
    re.IGNORECASE,
)
_CURT = re.compile(
    r"^\W*(?:unknown|n/?a|none|no\s+answer|i\s+don'?t\s+know|not\s+(?:known|available|found|sure)|idk)\W*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class AbstentionReading:
    """What an answer was read as."""

    abstained: bool
    probability: float
    words: str = ""
    """The words that decline."""


class BuiltinAbstention:
    """Reads by rules whether an answer declines."""

    kind: JudgeKind = "builtin"
    name = "builtin-abstention/1"

    def judge(self, question: str, answer: str) -> AbstentionVerdict:  # noqa: ARG002 - declining shows in the answer
        """Judge one answer."""
        if not answer.strip():
            return AbstentionVerdict(abstained=None, outcome=VerdictOutcome.SKIPPED, reason="the answer is empty")
        found = read_abstention(answer)
        return AbstentionVerdict(abstained=found.abstained, probability=found.probability, reason=found.words)


def read_abstention(answer: str) -> AbstentionReading:
    """Return whether an answer declines to answer and does not then answer after all."""
    text = answer[:READ]
    if curt := _CURT.match(text):
        return AbstentionReading(abstained=True, probability=0.98, words=curt[0].strip())
    declined = _DECLINES.search(text)
    if declined is None:
        return AbstentionReading(abstained=False, probability=0.02)
    others = [claim for claim in claims(text) if not _DECLINES.search(claim.text)]
    opens = not text[: declined.start()].strip() or len(claims(text[: declined.start()])) == 0
    abstained = len(others) <= (MOST_CLAIMS_AFTER if opens else 0)
    sure = 0.95 if not others else 0.7
    return AbstentionReading(abstained=abstained, probability=sure if abstained else 0.2, words=declined[0].strip())


@dataclass(frozen=True, kw_only=True, slots=True)
class Answerability:
    """Whether passages answer a question."""

    probability: float
    support: Support


def answerable(question: str, evidence: Evidence) -> Answerability:
    """How likely the evidence answers a question; 0 when there is none."""
    asked = read_question(question)
    looked = support(asked.text, evidence)
    if looked.best is None:
        return Answerability(probability=0.0, support=looked)
    profile = Profile.ANSWERABLE if evidence.has_vectors else Profile.ANSWERABLE_WORDS
    features = answer_features(asked, looked, evidence)
    return Answerability(probability=weights_of(profile).probability(features), support=looked)


def answer_features(asked: AskedQuestion, looked: Support, evidence: Evidence) -> dict[str, float]:
    """Return the features: support for the question's words, and whether the expected kind of answer occurs."""
    best = evidence.sentences[looked.best or 0]
    keys = list(dict.fromkeys(asked.key_stems))
    missing = [stem for stem in keys if stem not in evidence.stems]
    fits = _kind_fits(asked, best)
    return looked.features | {
        "keys": coverage(keys, evidence.stems, evidence),
        "keys_sentence": coverage(keys, best.stems, evidence),
        "keys_missing": math.log1p(len(missing)),
        "rarest_missing": max((evidence.weight(stem) for stem in missing), default=0.0),
        "kind_fits": float(fits is True),
        "kind_fails": float(fits is False),
        "fresh": math.log1p(sum(stem not in keys for stem in content(best.tokens))),
        "keys_length": math.log1p(len(keys)),
        "asks_negation": float(bool(re.search(r"\b(?:not|never|without|except|n't)\b", asked.text, re.IGNORECASE))),
    }


def _kind_fits(asked: AskedQuestion, best: EvidenceSentence) -> bool | None:
    """Whether a sentence has a name for who and where, a number for when and how many; None: anything may answer."""
    known = set(asked.key_stems) | {fact.value for fact in read(asked.text).facts}
    kinds = {fact.kind for fact in best.facts if fact.value not in known}
    if asked.kind in {QuestionKind.QUANTITY, QuestionKind.TIME}:
        return bool(kinds - {"name"})
    if re.match(r"\W*(?:who|whom|whose|where)\b", asked.text, re.IGNORECASE):
        return "name" in kinds
    return None


def answer_features_of(question: str, passages: Sequence[str], evidence: Evidence | None = None) -> dict[str, float]:
    """The same from texts, for fitting; a question needs at least one sentence of evidence."""
    found = evidence or Evidence(passages)
    asked = read_question(question)
    return answer_features(asked, support(asked.text, found), found)


# --- Groundedness ---
#
# The score follows the rubric: 5 when every claim is supported and cited, down to 1 when the passages contradict the
# answer and 0 when they have nothing to do with it. Text that speaks to the judge is text: it moves nothing but the
# words it is made of.

SUPPORTED = 0.5
"""A claim at least this probable counts as supported."""
CONTRADICTED = 0.15
"""The most for a claim whose best sentence is the same but for a number, a name, a negation or an opposite. Labelled
data have too few of these to fit a coefficient, and missing one is a grave error of a judge."""
UNCITED_CAP = 4.0
"""The most an answer can reach while one of its supported claims has no citation."""
CONTRADICTED_CAP = 1.0
"""The highest score of an answer most of whose claims the passages contradict."""
RELATED = 0.25
"""Below this share of its words in the passages, an unsupported answer has nothing to do with them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedClaim:
    """One claim, the probability that it is supported, and the best supporting sentence."""

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
        """Whether its best sentence contradicts it."""
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
            return _skip("the answer is empty")
        if read_abstention(answer).abstained:
            return _skip("the answer declines to answer")
        found = claims(answer)
        if not found:
            return _skip("the answer makes no claim")
        if not any(passage.strip() for passage in passages):
            return _reject_all(found)
        evidence = Evidence(passages, self._embedder)
        return verdict_of([self._judge_claim(claim, evidence) for claim in found], _limits(found, evidence))

    def judge_claims(self, found: Sequence[Claim], passages: Sequence[str]) -> list[JudgedClaim]:
        """Each claim by itself."""
        evidence = Evidence(passages, self._embedder)
        return [self._judge_claim(claim, evidence) for claim in found]

    def _judge_claim(self, claim: Claim, evidence: Evidence) -> JudgedClaim:
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
    supported = [judged_claim for judged_claim in judged if judged_claim.is_supported]
    probability = mean_probability(judged)
    return GroundednessVerdict(
        score=_score(judged, supported, probability),
        probability=probability,
        supported_claims=tuple(judged_claim.claim.text for judged_claim in supported),
        unsupported_claims=tuple(judged_claim.claim.text for judged_claim in judged if not judged_claim.is_supported),
        reason="; ".join([_reason(judged, supported), *limits]),
    )


def mean_probability(judged: Sequence[JudgedClaim]) -> float:
    """Over all claims; a longer one states more, so it counts more."""
    lengths = [max(1, len(words(judged_claim.claim.text))) for judged_claim in judged]
    return sum(judged_claim.probability * length for judged_claim, length in zip(judged, lengths, strict=True)) / sum(
        lengths
    )


def _score(judged: Sequence[JudgedClaim], supported: Sequence[JudgedClaim], probability: float) -> float:
    shared = max(judged_claim.support.features["words"] for judged_claim in judged)
    if not supported and shared < RELATED:
        return 0.0
    if sum(judged_claim.is_contradicted for judged_claim in judged) * 2 > len(judged):
        return min(CONTRADICTED_CAP, HIGHEST_SCORE * probability)
    share = len(supported) / len(judged)
    # All supported is a 5 whatever the margin; in between, share and probability speak together.
    score = HIGHEST_SCORE * (share if share == 1.0 else (share + probability) / 2)
    cited = all(judged_claim.claim.citations for judged_claim in supported)
    return round(score if cited else min(score, UNCITED_CAP), 2)


def _reason(judged: Sequence[JudgedClaim], supported: Sequence[JudgedClaim]) -> str:
    problems = [
        f"{judged_claim.claim.text[:80]!r}: {problem}"
        for judged_claim in judged
        if not judged_claim.is_supported
        for problem in judged_claim.problems
    ]
    said = f"{len(supported)} of {len(judged)} claims are supported"
    return "; ".join([said, *problems[:5]])


def _limits(found: Sequence[Claim], evidence: Evidence) -> list[str]:
    """What was too long to be looked at."""
    said = [f"only the first {MOST_CLAIMS} claims were judged"] * (len(found) == MOST_CLAIMS)
    return said + [f"only the first {MOST_SENTENCES:,} sentences of the passages were read"] * evidence.truncated


def _skip(reason: str) -> GroundednessVerdict:
    return GroundednessVerdict(score=None, outcome=VerdictOutcome.SKIPPED, reason=reason)


def _reject_all(found: Sequence[Claim]) -> GroundednessVerdict:
    return GroundednessVerdict(
        score=0.0,
        probability=0.0,
        unsupported_claims=tuple(claim.text for claim in found),
        reason="there is no passage that could support a claim",
    )
