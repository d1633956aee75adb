"""The plan checkpoint without a model.

- Comparing a plan with its question.
- The evaluator of plans.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.errors import BadValue
from assay.records.research import Checkpoint, Dimension, Issue, Material, QuestionKind, Role, RoleScores
from assay.text.questions import (
    ALIKE,
    NEW_WORDS,
    OLD_WORDS,
    AskedQuestion,
    cues_of,
    key_words,
    read_question,
    time_words,
)
from assay.text.terms import stems, stems_of, words
from assay.text.wording import FUNCTION_WORDS, NEGATORS, OPPOSITES, wording

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from assay.embedding.protocol import Embedder
    from assay.records.judging import JudgeKind

# --- Comparing a plan with its question ---
#
# Meaning nominates, exact checks decide: the queries nearest to a question may still lack the year it names, one side
# of its comparison, or its "without". Every finding carries the words that would mend it.

FAR, NEAR = 0.4, 0.8
"""Cosines of a question with its best query: at or below the first they have nothing in common, from the second on
they ask the same."""
PREFIX = 5
"""Words that begin with as many letters alike are one: Norway, Norwegian."""
MOST_READ = 40
"""Queries that are looked at."""

_MARKED = re.compile(
    r"\b(?:without|except|excluding|other than|besides|not|no|non|free|alternatives?|instead|apart)\b", re.IGNORECASE
)
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
_PAST = re.compile(r"\b(?:before|used to|in the past|historically|originally)\b", re.IGNORECASE)
_CUED = frozenset({QuestionKind.QUANTITY, QuestionKind.TIME, QuestionKind.FACT, QuestionKind.REASON})


class PlanFinding(NamedTuple):
    """Something a plan loses, and how much of its intent that leaves."""

    issue: Issue
    factor: float


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanReading:
    """What was found."""

    nearness: float
    """Of the best query to the question by meaning, 0 to 1; without vectors, the share of key words."""
    kept: float
    """The share of the question's key words that a query has."""
    focus: float
    """The share of the key words a query has, on average: low when queries are too broad, or about something else."""
    aspects: tuple[float, ...]
    """How well each side or part is covered."""
    missing: tuple[str, ...]
    """The sides and parts that are not."""
    findings: tuple[PlanFinding, ...]
    is_english: bool

    @property
    def intent(self) -> float:
        """How far the plan follows the intent of the question."""
        score = 0.6 * self.nearness + 0.4 * self.kept
        for finding in self.findings:
            score *= finding.factor
        return score

    @property
    def coverage(self) -> float:
        """How much of the question the queries cover."""
        return sum(self.aspects) / len(self.aspects)

    @property
    def scope(self) -> float:
        """Neither too broad nor too narrow: queries that stay with the question."""
        return min(1.0, self.focus / 0.35)


def read_plan(material: Material, embedder: Embedder | None = None) -> PlanReading:
    """Hold a plan against its question."""
    plan = material.plan
    if plan is None:
        raise BadValue("the material has no plan", remedy="Give the plan.")
    asked = read_question(material.question)
    queries = plan.texts[:MOST_READ]
    aspects = asked.sides or asked.parts or (asked.text,)
    apart = aspects if len(aspects) > 1 and not asked.sides else ()
    cosines = _cosines([asked.text, *apart], queries, embedder)
    found = [frozenset(stems(query)) for query in queries]
    keys = list(dict.fromkeys(asked.key_stems)) or stems(asked.text)
    kept = [stem for stem in keys if _has(stem, frozenset().union(*found))]
    share = len(kept) / len(keys) if keys else 1.0
    covered = tuple(_coverage_of(asked, place, found, cosines) for place in range(len(aspects)))
    return PlanReading(
        nearness=share if cosines is None else _scale(float(cosines[0].max())),
        kept=share,
        focus=sum(sum(_has(stem, query_stems) for stem in keys) for query_stems in found)
        / max(1, len(keys) * len(found)),
        aspects=covered,
        missing=tuple(aspect for aspect, value in zip(aspects, covered, strict=True) if value < 0.5),
        findings=tuple(_findings(asked, queries, found)),
        is_english=bool(set(stems(asked.text)) & FUNCTION_WORDS) or len(words(asked.text)) < 4,
    )


def _cosines(texts: Sequence[str], queries: Sequence[str], embedder: Embedder | None) -> np.ndarray | None:
    """A row for each text, a column for each query."""
    if embedder is None:
        return None
    rows = embedder.embed([*texts, *queries])
    return np.asarray(rows[: len(texts)] @ rows[len(texts) :].T, dtype=np.float64)


def _scale(cosine: float) -> float:
    return min(1.0, max(0.0, (cosine - FAR) / (NEAR - FAR)))


def _has(stem: str, stems_there: frozenset[str]) -> bool:
    if any(stem in group and group & stems_there for group in ALIKE):
        return True
    return stem in stems_there or (
        len(stem) >= PREFIX and any(other.startswith(stem[:PREFIX]) for other in stems_there if len(other) >= PREFIX)
    )


def _coverage_of(
    asked: AskedQuestion, place: int, found: Sequence[frozenset[str]], cosines: np.ndarray | None
) -> float:
    """A side is covered when a query names it; a part when a query has what sets it apart, or means it."""
    if asked.sides:
        side = key_words(asked.sides[place]) or words(asked.sides[place])
        return float(any(all(_has(stem, query_stems) for stem in stems_of(side)) for query_stems in found))
    if len(asked.parts) < 2:
        keys = asked.key_stems
        union = frozenset[str]().union(*found)
        named = sum(_has(stem, union) for stem in keys) / len(keys) if keys else 1.0
        return named if cosines is None else max(named, _scale(float(cosines[0].max())))
    own = _own_stems(asked.parts, place)
    cues = cues_of(asked.parts[place])
    union = frozenset[str]().union(*found)
    if not own:
        return float(bool(cues & union)) if cues else 1.0
    return (
        sum(_has(stem, union) for stem in own) / len(own) if cosines is None else _part(own, union, cosines[place + 1])
    )


def _part(own: Sequence[str], union: frozenset[str], cosines: np.ndarray) -> float:
    named = sum(_has(stem, union) for stem in own) / len(own)
    return max(named, 0.5 * named + 0.5 * _scale(float(cosines.max()))) if named else 0.5 * _scale(float(cosines.max()))


def _own_stems(parts: Sequence[str], place: int) -> list[str]:
    """What a part has and the others do not."""
    others = {stem for other, part in enumerate(parts) if other != place for stem in stems_of(key_words(part))}
    return [stem for stem in stems_of(key_words(parts[place])) if stem not in others]


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
        if not all(_has(stem, union) for stem in stems(shown)) and not _is_abbreviated(shown, union, initials)
    ]
    if lost:
        fix = Issue(
            issue=f"no query has {', '.join(lost[:4])}", fix=f"add {', '.join(lost[:4])}", terms=tuple(lost[:4])
        )
        yield PlanFinding(fix, 1 - 0.45 * len(lost) / len(facts) - 0.05)


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
            if ruled_out and all(_has(stem, query_stems) for stem in ruled_out) and not _MARKED.search(query)
        ]
        if wanted:
            fix = Issue(issue=f"{excluded} was ruled out and is searched", fix=f"search without {excluded}", terms=())
            yield PlanFinding(fix, 1 - 0.6 * len(wanted) / len(queries))


def _turns(asked: AskedQuestion, queries: Sequence[str], found: Sequence[frozenset[str]]) -> Iterator[PlanFinding]:
    """Find queries with the opposite of a term in the question, or without its negation."""
    union, own = frozenset[str]().union(*found), frozenset(stems(asked.text))
    for stem in sorted(own - union):
        turned = sorted(other for pair in OPPOSITES if stem in pair for other in pair - {stem} if other in union - own)
        if turned:
            fix = Issue(issue=f"{turned[0]} is searched, {stem} was asked", fix=f"search {stem}", terms=(stem,))
            yield PlanFinding(fix, 0.5)
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
    if cues and not cues & union and not all(_has(stem, union) for stem in asked.key_stems):
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


# --- The evaluator of plans ---
#
# The owner of a dimension gives the whole reading; the other role gives what shows from where it stands: words to one,
# meaning to the other. Their spread is small when a plan is plainly right or wrong, and wide when words and meaning
# part.

VERSION = "1"
SURE, UNSURE = 0.9, 0.65
"""Confidence far from the threshold and right at it; English is required for either."""
FOREIGN = 0.4
"""Confidence about a question whose language the rules do not read."""
PASS = 0.7


class BuiltinPlanEvaluator:
    """One role at the plan checkpoint."""

    kind: JudgeKind = "builtin"
    checkpoint = Checkpoint.PLAN
    name = f"builtin-plan/{VERSION}"

    def __init__(self, role: Role, read: Callable[[Material], PlanReading]) -> None:
        self.role = role
        self._read = read

    def evaluate(self, material: Material) -> RoleScores:
        """Score intent alignment, query coverage and scope."""
        reading = self._read(material)
        scores = _intent_view(reading) if self.role is Role.INTENT_ANALYST else _coverage_view(reading)
        return RoleScores(
            scores=scores,
            confidence=_confidence(reading, min(scores.values())),
            critique=_critique(reading),
            issues=_issues(reading),
        )


def _intent_view(reading: PlanReading) -> dict[Dimension, float]:
    """Owns intent and scope; sees of coverage how much of the key words is searched, beside its aspects."""
    return {
        Dimension.INTENT_ALIGNMENT: reading.intent,
        Dimension.QUERY_COVERAGE: (reading.coverage + max(reading.kept, reading.nearness)) / 2,
        Dimension.SCOPE_APPROPRIATENESS: reading.scope,
    }


def _coverage_view(reading: PlanReading) -> dict[Dimension, float]:
    """Owns coverage; sees of intent the words that were kept, and what was lost."""
    return {
        Dimension.INTENT_ALIGNMENT: (reading.intent + reading.kept) / 2
        if reading.kept < reading.intent
        else reading.intent,
        Dimension.QUERY_COVERAGE: reading.coverage,
        Dimension.SCOPE_APPROPRIATENESS: (reading.scope + reading.coverage) / 2,
    }


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
    if reading.nearness < 0.5 and reading.kept < 0.5:
        found.append(Issue(issue="the queries are about something else", fix="search the question's own words"))
    if reading.scope < 0.5:
        found.append(Issue(issue="the queries are too broad or too narrow", fix="stay with the words of the question"))
    return tuple(found)
