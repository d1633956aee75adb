"""Planners: from a question to search queries, by rules or by a model.

- The planner that uses rules only.
- The planner that avoids known failures (flag `pattern_planning`).
- The planner that uses a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from assay.errors import BadValue, ModelError
from assay.judging.injection import InjectionGuard, clean, plan_text, render_question
from assay.judging.rubric import find_errors
from assay.models.chat import ChatModel, ChatRequest, Message, storable
from assay.models.structured import UnreadableReply, ask_structured, last_object
from assay.records.research import Issue, IterationMode, Plan, PlanFeedback, PlannedQuery, Purpose, QuestionKind
from assay.text.questions import AskedQuestion, key_words, read_question, without_opening
from assay.text.terms import normalise_phrase, words

if TYPE_CHECKING:
    from assay.judging.prompts import Prompt

# --- The planner that uses rules only ---
#
# Sides of a comparison, parts joined by "and", words about time and what is ruled out each get a query of their own;
# the question as a whole gets one, and one in other words. The same question gives the same plan. Feedback changes it:
# a targeted fix adds what was missing, a full regeneration plans every part apart, another approach asks in the
# question's own sentences.

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
"""A term that texts with such an answer often contain."""
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
        queries = _distinct([*_queries_from_feedback(asked, feedback), *_queries(asked)])
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
    for moment in (phrase for phrase in asked.time if not set(words(phrase)) <= known):
        yield PlannedQuery(text=_short(f"{subject} {moment}"), purpose=Purpose.TIME)
    for excluded in asked.excluded:
        yield PlannedQuery(text=_short(f"{subject} without {excluded}"), purpose=Purpose.EXCLUSION)
    if (word := _OTHER_WORDS.get(asked.kind)) and asked.keys:
        yield PlannedQuery(text=_short(f"{subject} {word}"), purpose=Purpose.VARIANT)


def _main(asked: AskedQuestion) -> str:
    """The question's own words: names, numbers and time, without what only frames them."""
    return _short(without_opening(asked.text).strip(" ?!.") or asked.text)


def _side_queries(asked: AskedQuestion) -> Iterator[PlannedQuery]:
    """Yield a query for each side of a comparison, with the terms that belong to no side."""
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


def _queries_from_feedback(asked: AskedQuestion, feedback: PlanFeedback | None) -> Iterator[PlannedQuery]:
    """What feedback puts before the rules' own queries."""
    if feedback is None:
        return
    if feedback.mode is IterationMode.ALTERNATIVE_APPROACH:
        yield PlannedQuery(text=_short(asked.text))
    elif feedback.mode is IterationMode.TARGETED_FIX:
        yield from _relevant_queries(asked, feedback)
    for issue in feedback.issues:
        if issue.terms:
            yield PlannedQuery(
                text=_short(_words(dict.fromkeys([*issue.terms, *asked.keys[:4]]))), purpose=Purpose.ASPECT
            )


def _relevant_queries(asked: AskedQuestion, feedback: PlanFeedback) -> Iterator[PlannedQuery]:
    """Yield the queries of the last plan that share terms with the question."""
    subject = set(asked.key_stems)
    for query in feedback.previous.queries:
        if subject & set(read_question(query.text).key_stems):
            yield query


def _distinct(queries: Iterable[PlannedQuery]) -> list[PlannedQuery]:
    """Each wording once."""
    kept: dict[str, PlannedQuery] = {}
    for query in queries:
        kept.setdefault(normalise_phrase(query.text), query)
    return list(kept.values())


def _words(words: Iterable[str]) -> str:
    return " ".join(words)


def _short(text: str) -> str:
    plain = " ".join(text.split())
    if len(plain) <= LONGEST_QUERY:
        return plain
    cut = plain.rfind(" ", 0, LONGEST_QUERY)
    return plain[: cut if cut > 0 else LONGEST_QUERY]


# --- The planner that avoids known failures (flag `pattern_planning`) ---
#
# Patterns are found by the offline analysis: questions with some trait score lower on some dimension. When a new
# question has the trait, the first plan is made as if the critic had seen the plain one and named that weakness: the
# rules search for what it names, a model is told in the words it is always told feedback in. Later attempts have a
# critic of their own, and nothing is added to what it says.

Cautions = Callable[[str], Sequence[Issue]]
"""What questions like this one failed by before, gravest first."""
KNOWN_PATTERN = "known_pattern"
"""The failure type that such feedback names; the plan's record has it beside the planner."""


class PatternPlanner:
    """A planner that adds known weaknesses to the feedback of another."""

    def __init__(self, inner: Planner, cautions: Cautions) -> None:
        self._inner = inner
        self._cautions = cautions
        self._rules = RulePlanner()

    def plan(self, question: str, *, feedback: PlanFeedback | None = None) -> Plan:
        """The first plan with known weaknesses in mind, or the next one after feedback."""
        issues = tuple(self._cautions(question)) if feedback is None else ()
        if not issues:
            return self._inner.plan(question, feedback=feedback)
        known = PlanFeedback(
            previous=self._rules.plan(question),
            mode=IterationMode.TARGETED_FIX,
            failure_type=KNOWN_PATTERN,
            critique="\n".join(f"{issue.issue} {issue.fix}" for issue in issues),
            issues=issues,
        )
        made = self._inner.plan(question, feedback=known)
        return replace(made, planner=f"{made.planner} ({KNOWN_PATTERN})")


# --- The planner that asks a model ---
#
# Kind, time and what is ruled out are read by rules either way; the model gives the intent, the aspects and the
# queries.

LONGEST = 1_000
_TEXT = {"type": "string", "maxLength": LONGEST}
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["intent", "queries"],
    "properties": {
        "intent": _TEXT,
        "aspects": {"type": "array", "items": _TEXT, "maxItems": MOST_QUERIES},
        "queries": {
            "type": "array",
            "maxItems": MOST_QUERIES,
            "items": {
                "type": "object",
                "required": ["text"],
                "properties": {
                    "text": _TEXT,
                    "purpose": {"type": "string", "enum": [purpose.value for purpose in Purpose]},
                },
            },
        },
    },
}


class ModelPlanner:
    """Plans by a model; by rules when it gives no plan, with the reason in the plan."""

    def __init__(
        self,
        model: ChatModel,
        prompt: Prompt,
        *,
        guard: InjectionGuard,
        rules: Planner | None = None,
        deadline_s: float = 60.0,
        max_tokens: int = 1_024,
    ) -> None:
        self._model = model
        self._prompt = prompt
        self._guard = guard
        self._rules = rules or RulePlanner()
        self._deadline_s = deadline_s
        self._max_tokens = max_tokens

    def plan(self, question: str, *, feedback: PlanFeedback | None = None) -> Plan:
        """The first plan, or the next one after feedback."""
        ruled = self._rules.plan(question, feedback=feedback)
        try:
            found = ask_structured(self._model, self._request(question, feedback), _read)
        except ModelError as problem:
            return replace(ruled, fallback=problem.message[:LONGEST])
        if found.value is None:
            return replace(ruled, fallback=f"the plan could not be read: {found.problem}"[:LONGEST])
        made = found.value | {"aspects": found.value["aspects"] or ruled.aspects}
        return replace(ruled, planner=self._model.name, prompt=self._prompt.key, **made)

    def _request(self, question: str, feedback: PlanFeedback | None) -> ChatRequest:
        parts = [render_question(question, self._guard), *_render_feedback(feedback), self._prompt.task]
        return ChatRequest(
            messages=(
                Message(role="system", content=self._prompt.system),
                Message(role="user", content="\n\n".join(parts)),
            ),
            schema=_SCHEMA,
            schema_name="plan",
            max_tokens=self._max_tokens,
            deadline_s=self._deadline_s,
        )


def _render_feedback(feedback: PlanFeedback | None) -> list[str]:
    if feedback is None:
        return []
    lines = [
        f"An earlier plan failed ({feedback.failure_type}). How to go on: {feedback.mode}.",
        clean(plan_text(feedback.previous)).text,
        clean(feedback.critique).text,
    ]
    return ["\n".join(lines)]


def _read(text: str) -> dict[str, Any]:
    return last_object(text, _fits)


def _fits(found: dict[str, Any]) -> dict[str, Any]:
    problem = next(find_errors(found, _SCHEMA), None)
    if problem is not None:
        raise UnreadableReply(problem)
    queries = _each_once(_query(query) for query in found["queries"] if query["text"].strip())[:MOST_QUERIES]
    if not queries:
        raise UnreadableReply("it has no query")
    return {
        "queries": queries,
        "intent": storable(found["intent"])[:LONGEST],
        "aspects": tuple(
            storable(aspect)[:LONGEST] for aspect in found.get("aspects", [])[:MOST_QUERIES] if aspect.strip()
        ),
    }


def _each_once(queries: Iterable[PlannedQuery]) -> tuple[PlannedQuery, ...]:
    """Return distinct queries: small models repeat themselves."""
    known: dict[str, PlannedQuery] = {}
    for query in queries:
        known.setdefault(query.text.casefold(), query)
    return tuple(known.values())


def _query(found: Mapping[str, Any]) -> PlannedQuery:
    try:
        return PlannedQuery(
            text=" ".join(storable(found["text"]).split())[:LONGEST_QUERY],
            purpose=Purpose(found.get("purpose", Purpose.MAIN)),
        )
    except BadValue as problem:
        raise UnreadableReply(problem.message) from problem
