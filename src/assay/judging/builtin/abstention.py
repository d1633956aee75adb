"""When not to answer: whether a text declines to answer, and whether passages answer a question at all.

`read_abstention` reads an answer somebody gave; `answerable` looks at a question and passages before there is one. The
first is rules over the opening and the whole of a text, the second a fitted probability.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from assay.judging.builtin.evidence import Evidence, Sentence, content, read
from assay.judging.builtin.support import Support, coverage, support
from assay.judging.builtin.weighing import Profile, weights_of
from assay.records.judging import AbstentionVerdict, JudgeKind, VerdictOutcome
from assay.records.research import QuestionKind
from assay.text.claims import claims
from assay.text.questions import AskedQuestion, read_question

READ = 5_000
"""Characters of an answer that are looked at."""
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
    """Whether an answer declines: it says so, and does not then answer all the same."""
    text = answer[:READ]
    if curt := _CURT.match(text):
        return AbstentionReading(abstained=True, probability=0.98, words=curt[0].strip())
    declined = _DECLINES.search(text)
    if declined is None:
        return AbstentionReading(abstained=False, probability=0.02)
    others = [one for one in claims(text) if not _DECLINES.search(one.text)]
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
    """What is weighed: support for the question's own words, and whether something of the asked kind stands there."""
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


def _kind_fits(asked: AskedQuestion, best: Sentence) -> bool | None:
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
