"""The plan checkpoint without a model.

- Comparing a plan with its question.
- The check of plans.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from assay.errors import BadValue
from assay.judging.builtin.plan_signals import (
    HALF,
    PlanProbabilities,
    PlanWords,
    has_stem,
    measure_signals,
    weigh_signals,
)
from assay.records.research import DIMENSIONS, Checkpoint, Dimension, Issue, Material, QuestionKind, RoleScores
from assay.text.questions import (
    FURNITURE,
    NEW_WORDS,
    OLD_WORDS,
    AskedQuestion,
    cues_of,
    read_question,
    time_words,
)
from assay.text.terms import stems, words
from assay.text.wording import FUNCTION_WORDS, NEGATORS, OPPOSITES, wording

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from assay.embedding.protocol import Embedder

# --- Comparing a plan with its question ---
#
# Exact checks find what a plan loses: a name, a year, a "without". Every finding carries the words that would mend it.
# The scores are probabilities: fitted weights over the signals of `plan_signals`, of which the exact checks are one. A
# plan that shares no word with its question may be right, and one that shares nearly all may lack the one that counts.

FAR, NEAR = 0.4, 0.8
"""Cosines of a question with its best query: at or below the first they have nothing in common, from the second on
they ask the same."""
MOST_READ = 40
"""Queries that are looked at."""

_MARKED = re.compile(
    r"\b(?:without|except|excluding|other than|besides|not|no|non|free|alternatives?|instead|apart)\b", re.IGNORECASE
)
_NUMBER = re.compile(r"\d")
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
_PAST = re.compile(r"\b(?:before|used to|in the past|historically|originally)\b", re.IGNORECASE)
_CUED = frozenset({QuestionKind.QUANTITY, QuestionKind.TIME, QuestionKind.FACT, QuestionKind.REASON})


class PlanFinding(NamedTuple):
    """Something a plan loses, and how much of its intent that leaves."""

    issue: Issue
    factor: float
    is_contradiction: bool = False
    """Whether the plan searches for something else in its place. Other losses may be paraphrases."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanReading:
    """What was found."""

    intent: float
    """How far the plan follows the intent of the question, 0 to 1."""
    coverage: float
    """How much of the question the queries cover."""
    scope: float
    """Neither too broad nor too narrow: queries that stay with the question."""
    nearness: float
    """Of the best query to the question by meaning, 0 to 1; without vectors, the share of key words."""
    kept: float
    """The share of the question's key words that a query has."""
    missing: tuple[str, ...]
    """The sides and parts that no query covers."""
    uncovered: tuple[str, ...]
    """The key words of the question that no query covers."""
    findings: tuple[PlanFinding, ...]
    is_english: bool
    """Whether the question reads as English and has a key word that is known."""
    is_readable: bool
    """Whether the question is a sentence or has a key word that is known. Otherwise its plan is not judged."""


def read_plan(material: Material, embedder: Embedder | None = None) -> PlanReading:
    """Hold a plan against its question."""
    plan = material.plan
    if plan is None:
        raise BadValue("the material has no plan", remedy="Give the plan.")
    asked = read_question(material.question)
    found = PlanWords(asked, plan.texts[:MOST_READ], embedder)
    findings = find_losses(found)
    framing = sum(stem in FUNCTION_WORDS or stem in FURNITURE for stem in stems(asked.text))
    knows_a_key = embedder is not None and _knows_a_key(asked, embedder)
    readable = knows_a_key or framing >= (1 if embedder is None else FRAMING_WORDS)
    chances = _chances(found, findings) if readable else _NOT_JUDGED
    kept = sum(has_stem(stem, found.all_stems) for stem in stems(" ".join(found.keys))) / max(1, len(found.keys))
    return PlanReading(
        intent=_score(chances.intent) * math.prod(finding.factor for finding in findings if finding.is_contradiction),
        coverage=_score(chances.coverage),
        scope=_score(chances.scope),
        nearness=_nearness(found) if embedder is not None else kept,
        kept=kept,
        missing=tuple(aspect for aspect, value in found.aspect_coverages().items() if value < HALF),
        uncovered=found.uncovered_keys(),
        findings=findings,
        is_english=(embedder is None or knows_a_key)
        and (bool(set(stems(asked.text)) & FUNCTION_WORDS) or len(words(asked.text)) < 4),
        is_readable=readable,
    )


EVEN = 0.75
"""The score of a plan that is as likely right as wrong. Above the thresholds, because all of them have to be met: on
the plans of the fit, right plans pass as often as wrong ones fail from here."""
_NOT_JUDGED = PlanProbabilities(intent=0.5, coverage=0.5, scope=0.5)


def _score(probability: float) -> float:
    """A probability as a score: 0.5 becomes `EVEN`; 0 and 1 stay."""
    return 1 / (1 + (1 - probability) / probability * (1 - EVEN) / EVEN)


def _chances(found: PlanWords, findings: Iterable[PlanFinding]) -> PlanProbabilities:
    rules = math.prod(finding.factor for finding in findings)
    return weigh_signals(measure_signals(found, rules), has_vectors=found.has_vectors)


def _nearness(found: PlanWords) -> float:
    best = max(found.cosine(found.asked.text, query) for query in found.queries)
    return min(1.0, max(0.0, (best - FAR) / (NEAR - FAR)))


FRAMING_WORDS = 2
"""Function words of a question that is a sentence, whatever names and terms it has."""
SHORTEST_KNOWN = 3
"""Letters; shorter words are known to every tokenizer."""


def _knows_a_key(asked: AskedQuestion, embedder: Embedder) -> bool:
    """Whether the embedder knows a key word as a whole: a tokenizer takes words it does not know apart."""
    return any(len(word) >= SHORTEST_KNOWN and embedder.count_tokens(word) == 1 for word in asked.keys)


def find_losses(found: PlanWords) -> tuple[PlanFinding, ...]:
    """What the queries lose of the question, by exact checks."""
    return tuple(_findings(found.asked, found.queries, found.query_stems))


def _findings(asked: AskedQuestion, queries: Sequence[str], found: Sequence[frozenset[str]]) -> Iterator[PlanFinding]:
    yield from _names(asked, found)
    yield from _times(asked, queries)
    yield from _exclusions(asked, queries, found)
    yield from _turns(asked, queries, found)
    yield from _kinds(asked, found)


def _names(asked: AskedQuestion, found: Sequence[frozenset[str]]) -> Iterator[PlanFinding]:
    """Names and numbers of the question that no query has."""
    union = frozenset[str]().union(*found)
    excluded = {stem for phrase in asked.excluded for stem in stems(phrase)}
    facts = {fact.value: fact.shown for fact in wording(asked.text).facts if fact.value not in excluded}
    initials = "".join(word[0] for word in asked.keys)
    lost = [
        shown
        for shown in facts.values()
        if not all(has_stem(stem, union) for stem in stems(shown)) and not _is_abbreviated(shown, union, initials)
    ]
    if lost:
        fix = Issue(
            issue=f"no query has {', '.join(lost[:4])}", fix=f"add {', '.join(lost[:4])}", terms=tuple(lost[:4])
        )
        is_exchanged = _quotes_the_rest(asked, lost, found) or _has_other_number(asked, lost, union)
        yield PlanFinding(fix, 1 - 0.45 * len(lost) / len(facts) - 0.05, is_contradiction=is_exchanged)


def _quotes_the_rest(asked: AskedQuestion, lost: Sequence[str], found: Sequence[frozenset[str]]) -> bool:
    """Whether a query has at least half of the key words besides the lost names: then it left them out on purpose."""
    names = {stem for shown in lost for stem in stems(shown)}
    rest = [stem for stem in asked.key_stems if stem not in names]
    return bool(rest) and any(
        sum(has_stem(stem, query_stems) for stem in rest) >= HALF * len(rest) for query_stems in found
    )


def _has_other_number(asked: AskedQuestion, lost: Sequence[str], union: frozenset[str]) -> bool:
    """Whether a number of the question is lost and a query has one that the question does not have."""
    known = frozenset(stems(asked.text))
    return any(_NUMBER.search(shown) for shown in lost) and any(stem.isdigit() for stem in union - known)


def _is_abbreviated(shown: str, union: frozenset[str], initials: str) -> bool:
    """Return whether a name occurs as an abbreviation, such as EU for European Union."""
    return any(1 < len(stem) <= 5 and shown[:1].lower() in stem and stem in initials for stem in union)


def _times(asked: AskedQuestion, queries: Sequence[str]) -> Iterator[PlanFinding]:
    """Find queries that ignore the time of the question: new for old, or the reverse."""
    text = " ".join(queries)
    there = {word for phrase in time_words(text) for word in words(phrase)}
    new_there = bool(there & NEW_WORDS) or bool({int(year) for year in _YEAR.findall(text)} - _years(asked.text))
    asked_words = {word for phrase in asked.time for word in words(phrase)}
    new_asked = bool(asked_words & NEW_WORDS) or any(word in asked_words for word in ("this", "last", "next"))
    if new_asked and not (
        new_there or asked_words & set(words(text)) & (NEW_WORDS | {"this", "last", "next", "planned", "roadmap"})
    ):
        yield PlanFinding(
            Issue(issue="the time asked for is lost", fix=f"add {asked.time[0]}", terms=asked.time[:1]), 0.6
        )
    elif _PAST.search(asked.text) and there & NEW_WORDS:
        yield PlanFinding(Issue(issue="the plan looks at today", fix="ask about the past", terms=asked.time[:1]), 0.6)
    elif not asked_words & OLD_WORDS and not _PAST.search(asked.text) and _mostly_old(queries):
        yield PlanFinding(Issue(issue="the plan looks at the past", fix="leave out its history", terms=()), 0.65)


def _years(text: str) -> set[int]:
    return {int(year) for year in _YEAR.findall(text)}


def _mostly_old(queries: Sequence[str]) -> bool:
    old = sum(bool(set(words(query)) & OLD_WORDS) for query in queries)
    return old * 2 >= len(queries)


def _exclusions(asked: AskedQuestion, queries: Sequence[str], found: Sequence[frozenset[str]]) -> Iterator[PlanFinding]:
    """Find queries for what the question excludes."""
    for excluded in asked.excluded:
        ruled_out = stems(excluded)
        wanted = [
            query
            for query, query_stems in zip(queries, found, strict=True)
            if ruled_out and all(has_stem(stem, query_stems) for stem in ruled_out) and not _MARKED.search(query)
        ]
        if wanted:
            fix = Issue(issue=f"{excluded} was ruled out and is searched", fix=f"search without {excluded}", terms=())
            yield PlanFinding(fix, 1 - 0.6 * len(wanted) / len(queries), is_contradiction=True)


def _turns(asked: AskedQuestion, queries: Sequence[str], found: Sequence[frozenset[str]]) -> Iterator[PlanFinding]:
    """Find queries with the opposite of a term in the question, or without its negation."""
    union, own = frozenset[str]().union(*found), frozenset(stems(asked.text))
    for stem in sorted(own - union):
        turned = sorted(other for pair in OPPOSITES if stem in pair for other in pair - {stem} if other in union - own)
        if turned:
            fix = Issue(issue=f"{turned[0]} is searched, {stem} was asked", fix=f"search {stem}", terms=(stem,))
            yield PlanFinding(fix, 0.5, is_contradiction=True)
            return
    against = [word for word in words(asked.text) if word in {"against", "no", "not", "never"}]
    negated = (NEGATORS | {"against", "without", "criticism", "objection"}) & union
    if against and not negated and not asked.excluded and not any(_MARKED.search(query) for query in queries):
        fix = Issue(issue=f"{against[0]!r} of the question is lost", fix=f"search {against[0]}", terms=(against[0],))
        yield PlanFinding(fix, 0.65)


def _kinds(asked: AskedQuestion, found: Sequence[frozenset[str]]) -> Iterator[PlanFinding]:
    """Find kinds of answers (who, when, how much) that no query looks for."""
    if asked.sides or len(asked.parts) > 1 or asked.kind not in _CUED:
        return
    union = frozenset[str]().union(*found)
    cues = cues_of(asked.text)
    if cues and not cues & union and not all(has_stem(stem, union) for stem in asked.key_stems):
        word = asked.text.split()[0].lower()
        yield PlanFinding(
            Issue(issue=f"nothing in the plan asks {word!r}", fix=f"ask {asked.text}", terms=asked.keys[:3]), 0.8
        )


def first_issue(reading: PlanReading, findings: Iterable[PlanFinding]) -> str:
    """The gravest finding in words; else what is missing; else nothing."""
    gravest = min(findings, key=lambda finding: finding.factor, default=None)
    if gravest is not None:
        return gravest.issue.issue
    return f"not covered: {reading.missing[0]}" if reading.missing else ""


# --- The check of plans ---

VERSION = "3"
SURE, UNSURE = 0.9, 0.65
"""Confidence far from the threshold and right at it; English is required for either."""
FOREIGN = 0.4
"""Confidence about a question whose language the rules do not read."""
UNREADABLE = "the question has no word that the rules know"
"""Why the plan for such a question is not measured."""
PASS = 0.7
MOST_TERMS = 4
"""Words that one issue names."""


def check_plan(material: Material, embedder: Embedder | None = None) -> RoleScores:
    """Score intent alignment, query coverage and scope; of a question that cannot be read nothing is measured."""
    reading = read_plan(material, embedder)
    if not reading.is_readable:
        unmeasured = dict.fromkeys(DIMENSIONS[Checkpoint.PLAN], UNREADABLE)
        return RoleScores(scores={}, not_measured=unmeasured, confidence=SURE, critique=UNREADABLE)
    scores = {
        Dimension.INTENT_ALIGNMENT: reading.intent,
        Dimension.QUERY_COVERAGE: reading.coverage,
        Dimension.SCOPE_APPROPRIATENESS: reading.scope,
    }
    return RoleScores(
        scores=scores,
        confidence=_confidence(reading, min(scores.values())),
        critique=_critique(reading),
        issues=_issues(reading),
    )


def _confidence(reading: PlanReading, score: float) -> float:
    if not reading.is_english:
        return FOREIGN
    return min(SURE, UNSURE + abs(score - PASS))


def _critique(reading: PlanReading) -> str:
    said = first_issue(reading, reading.findings)
    if said:
        return said
    return "the plan asks what was asked" if reading.intent >= PASS else "the queries are about something else"


def _issues(reading: PlanReading) -> tuple[Issue, ...]:
    """What to mend, gravest first."""
    found = [finding.issue for finding in sorted(reading.findings, key=lambda finding: finding.factor)]
    found += [
        Issue(issue=f"no query covers {aspect!r}", fix=f"add a query for {aspect}", terms=(aspect,))
        for aspect in reading.missing
    ]
    lost = reading.uncovered[:MOST_TERMS]
    if reading.kept >= HALF and lost:
        shown = ", ".join(lost)
        found.append(Issue(issue=f"no query covers {shown}", fix=f"add {shown}", terms=lost))
    if reading.nearness < 0.5 and reading.kept < 0.5:
        found.append(Issue(issue="the queries are about something else", fix="search the question's own words"))
    if reading.scope < 0.5:
        found.append(Issue(issue="the queries are too broad or too narrow", fix="stay with the words of the question"))
    return tuple(found)
