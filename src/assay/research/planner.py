"""The planner that asks no model: a question becomes the searches that its words call for.

Sides of a comparison, parts joined by "and", words about time and what is ruled out each get a query of their own; the
question as a whole gets one, and one in other words. The same question gives the same plan. Feedback changes it: a
targeted fix adds what was missing, a full regeneration plans every part apart, another approach asks in the question's
own sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from assay.errors import BadValue
from assay.records.research import IterationMode, Plan, PlanFeedback, PlannedQuery, Purpose, QuestionKind
from assay.text.questions import AskedQuestion, key_words, read_question, without_opening
from assay.text.terms import normalised_phrase, words

MOST_QUERIES = 8
LONGEST_QUERY = 300
"""Characters; a search over more words finds what is about none of them."""

_OTHER_WORDS = {
    QuestionKind.COMPARISON: "comparison",
    QuestionKind.PROCEDURE: "steps",
    QuestionKind.REASON: "cause",
    QuestionKind.DEFINITION: "meaning",
    QuestionKind.LIST: "list",
    QuestionKind.TIME: "date",
    QuestionKind.QUANTITY: "number",
}
"""A word that texts with such an answer often have."""
_INTENTS = {
    QuestionKind.COMPARISON: "compare {}",
    QuestionKind.PROCEDURE: "learn how to do it: {}",
    QuestionKind.REASON: "learn the reason: {}",
    QuestionKind.DEFINITION: "learn what it is: {}",
    QuestionKind.LIST: "get a list: {}",
    QuestionKind.TIME: "learn when: {}",
    QuestionKind.QUANTITY: "learn how much: {}",
    QuestionKind.YES_NO: "learn whether it holds: {}",
    QuestionKind.FACT: "learn a fact: {}",
    QuestionKind.OPEN: "learn about it: {}",
}


class Planner(Protocol):
    """Makes a plan of a question."""

    def plan(self, question: str, *, feedback: PlanFeedback | None = None) -> Plan:
        """The first plan, or the next one after feedback."""
        ...


class RulePlanner:
    """Plans by rules."""

    name = "builtin"

    def plan(self, question: str, *, feedback: PlanFeedback | None = None) -> Plan:
        """The first plan, or the next one after feedback."""
        if not question.strip():
            raise BadValue("the question is empty", remedy="Ask something.")
        asked = read_question(question)
        queries = _distinct([*_mended(asked, feedback), *_queries(asked)])
        return Plan(
            question=question,
            queries=tuple(queries[:MOST_QUERIES]),
            kind=asked.kind,
            intent=_INTENTS[asked.kind].format(_short(without_opening(asked.text))),
            aspects=asked.sides or asked.parts,
            time=asked.time,
            excluded=asked.excluded,
        )


def _queries(asked: AskedQuestion) -> Iterator[PlannedQuery]:
    """From the most needed to the least: the first ones are kept when there are too many."""
    yield PlannedQuery(text=_main(asked))
    yield from _side_queries(asked)
    yield from _part_queries(asked)
    subject = _words(asked.keys)
    known = set(words(subject))
    for moment in (one for one in asked.time if not set(words(one)) <= known):
        yield PlannedQuery(text=_short(f"{subject} {moment}"), purpose=Purpose.TIME)
    for excluded in asked.excluded:
        yield PlannedQuery(text=_short(f"{subject} without {excluded}"), purpose=Purpose.EXCLUSION)
    if (word := _OTHER_WORDS.get(asked.kind)) and asked.keys:
        yield PlannedQuery(text=_short(f"{subject} {word}"), purpose=Purpose.VARIANT)


def _main(asked: AskedQuestion) -> str:
    """The question's own words: names, numbers and time, without what only frames them."""
    return _short(without_opening(asked.text).strip(" ?!.") or asked.text)


def _side_queries(asked: AskedQuestion) -> Iterator[PlannedQuery]:
    """Each side with what the comparison is about, which is whatever belongs to no side."""
    of_sides = {word for side in asked.sides for word in key_words(side)}
    about = _words(word for word in asked.keys if word not in of_sides)
    for side in asked.sides:
        yield PlannedQuery(text=_short(f"{side} {about}"), purpose=Purpose.SIDE, aspect=side)


def _part_queries(asked: AskedQuestion) -> Iterator[PlannedQuery]:
    """Each part; one that names nothing itself ("and who pays for it") takes the subject of the first."""
    if len(asked.parts) < 2:
        return
    subject = set(asked.keys)
    first = [word for word in key_words(asked.parts[0]) if word in subject]
    for part in asked.parts:
        own = key_words(part)
        borrowed = [word for word in first if word not in own] if len(own) < 3 else []
        yield PlannedQuery(text=_short(" ".join([part, *borrowed[:4]])), purpose=Purpose.ASPECT, aspect=part)


def _mended(asked: AskedQuestion, feedback: PlanFeedback | None) -> Iterator[PlannedQuery]:
    """What feedback puts before the rules' own queries."""
    if feedback is None:
        return
    if feedback.mode is IterationMode.ALTERNATIVE_APPROACH:
        yield PlannedQuery(text=_short(asked.text))
    elif feedback.mode is IterationMode.TARGETED_FIX:
        yield from _kept(asked, feedback)
    for issue in feedback.issues:
        if issue.terms:
            yield PlannedQuery(
                text=_short(_words(dict.fromkeys([*issue.terms, *asked.keys[:4]]))), purpose=Purpose.ASPECT
            )


def _kept(asked: AskedQuestion, feedback: PlanFeedback) -> Iterator[PlannedQuery]:
    """The queries of the last plan that speak of the question at all."""
    subject = set(asked.key_stems)
    for query in feedback.previous.queries:
        if subject & set(read_question(query.text).key_stems):
            yield query


def _distinct(queries: Iterable[PlannedQuery]) -> list[PlannedQuery]:
    """Each wording once."""
    kept: dict[str, PlannedQuery] = {}
    for query in queries:
        kept.setdefault(normalised_phrase(query.text), query)
    return list(kept.values())


def _words(words: Iterable[str]) -> str:
    return " ".join(words)


def _short(text: str) -> str:
    plain = " ".join(text.split())
    if len(plain) <= LONGEST_QUERY:
        return plain
    cut = plain.rfind(" ", 0, LONGEST_QUERY)
    return plain[: cut if cut > 0 else LONGEST_QUERY]
