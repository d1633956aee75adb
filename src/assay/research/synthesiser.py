"""Synthesisers: from passages to an answer with citations, by quoting or by a model.

- The synthesiser that quotes passages.
- The synthesiser that uses a model.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from assay.errors import ModelError
from assay.judging.builtin.answerability import PASSAGE_SHARE, EvidenceReading, RankedSentence, read_evidence
from assay.judging.builtin.support import Evidence, content, coverage, remove_marks
from assay.judging.injection import InjectionGuard, clean, render_passages, render_question
from assay.judging.rubric import find_errors
from assay.models.chat import ChatModel, ChatRequest, Message, storable
from assay.models.structured import UnreadableReply, ask_structured, last_object
from assay.records.research import Citation, Passage, Plan, QuestionKind, Statement, Synthesis
from assay.research.options import ANSWER_FROM
from assay.text.claims import sentences
from assay.text.questions import AskedQuestion, key_words, read_question
from assay.text.statements import show_statement
from assay.text.terms import stems_of, words

if TYPE_CHECKING:
    from assay.embedding.protocol import Embedder
    from assay.judging.prompts import Prompt

# --- The synthesiser that quotes passages ---
#
# Nothing is reworded, so nothing can be invented: only the marks of Markdown are left out, and a citation's quotation
# keeps them, so that it is found in its passage. Whether to answer is decided by `read_evidence`; the answer begins
# with the statement that fits the question best, and has as few others as the question needs. Text in a passage that
# gives instructions is a text like any other.

STRICTER = 0.25
"""A second answer needs this much more than the first, which failed its evaluation."""
MOST_QUOTES = 5
VALUE_BONUS = 0.1
"""What a statement gains by having the kind of value that is asked for, such as a price."""
NEXT_BONUS = 0.1
"""What the statement right behind the first gains: it often completes it."""
ALSO_FROM = 0.8
"""A further statement needs this share of the first one's score; `WIDER_FROM` where several are asked for."""
WIDER_FROM = 0.65
FRESH_FROM = 0.3
"""The share of a further statement's words that the chosen ones do not have."""
_WIDE = frozenset({QuestionKind.LIST, QuestionKind.PROCEDURE, QuestionKind.REASON, QuestionKind.COMPARISON})
"""Questions that one statement seldom answers."""
NOTHING_FOUND = "Nothing was found to answer this from."
NOT_ANSWERED = "What was found does not answer this."


class Synthesiser(Protocol):
    """Makes an answer of passages."""

    def synthesise(
        self, question: str, passages: Sequence[Passage], *, plan: Plan | None = None, feedback: str = ""
    ) -> Synthesis:
        """Return an answer with citations, or an abstention. `feedback` lists faults of an earlier answer."""
        ...


class ExtractiveSynthesiser:
    """Answers in the passages' own sentences."""

    name = "builtin"

    def __init__(self, embedder: Embedder | None = None, *, answer_from: float = ANSWER_FROM) -> None:
        self._embedder = embedder
        self._answer_from = answer_from

    def synthesise(
        self,
        question: str,
        passages: Sequence[Passage],
        *,
        plan: Plan | None = None,  # noqa: ARG002 - the question says what is asked; a plan only says how to find it
        feedback: str = "",
    ) -> Synthesis:
        """An answer with citations, or an abstention; more readily that when an earlier answer was found wanting."""
        asked = read_question(question)
        if not words(asked.text):
            return _abstain("the question has no words", 0.0)
        reading = read_evidence(question, passages, self._embedder)
        if not reading.evidence.sentences:
            return _abstain("no passage was found", 0.0)
        least = min(self._answer_from + STRICTER, 1.0) if feedback else self._answer_from
        if reading.probability < least:
            return _abstain("the passages do not seem to answer the question", reading.probability)
        chosen = _choose(asked, reading)
        if not chosen:
            return _abstain("no sentence of the passages speaks of the question", reading.probability)
        return _answer(chosen, passages, reading.evidence, reading.probability)


def _choose(asked: AskedQuestion, reading: EvidenceReading) -> list[int]:
    """Return the places of the statements to show: the best one, the best for each part, and what adds to them."""
    worth = {sentence.place: _worth(sentence) for sentence in reading.ranked}
    ranked = sorted(reading.ranked, key=lambda sentence: (-worth[sentence.place], sentence.place))
    if not ranked or ranked[0].score <= 0:
        return []
    first = ranked[0].place
    chosen = [first, *_of_parts(asked, ranked, reading.evidence)]
    least = worth[first] * (WIDER_FROM if asked.kind in _WIDE else ALSO_FROM)
    most = MOST_QUOTES if asked.kind in _WIDE else 2
    for sentence in ranked[1:]:
        bonus = NEXT_BONUS if _follows(sentence.place, first, reading.evidence) else 0.0
        enough = worth[sentence.place] + bonus >= least and not _is_beside_the_point(sentence, ranked[0])
        if len(chosen) < most and enough and _adds(sentence.place, chosen, reading.evidence):
            chosen.append(sentence.place)
    kept = list(dict.fromkeys(chosen))[:MOST_QUOTES]
    return [kept[0], *_in_reading_order(kept[1:], kept[0], reading.evidence)]


def _is_beside_the_point(sentence: RankedSentence, first: RankedSentence) -> bool:
    """Return whether the first statement has the value that is asked for, and a further one has none."""
    return bool(first.has_value) and not sentence.has_value


def _worth(sentence: RankedSentence) -> float:
    """How well a statement answers: its own fit, a value of the kind that is asked for, and its passage's score."""
    value = VALUE_BONUS if sentence.has_value else 0.0
    return sentence.score + value + PASSAGE_SHARE * sentence.passage_score


def _follows(place: int, first: int, evidence: Evidence) -> bool:
    """Return whether a statement stands right behind the first in the same passage."""
    return place == first + 1 and evidence.sentences[place].passage == evidence.sentences[first].passage


def _of_parts(asked: AskedQuestion, ranked: Sequence[RankedSentence], evidence: Evidence) -> list[int]:
    """Return the best statement for each side or part of a question that has several."""
    parts = asked.sides or (asked.parts if len(asked.parts) > 1 else ())
    found = []
    for part in parts:
        keys = stems_of(key_words(part))
        best = max(ranked, key=lambda sentence: coverage(keys, evidence.sentences[sentence.place].stems, evidence))
        if keys and coverage(keys, evidence.sentences[best.place].stems, evidence) > 0:
            found.append(best.place)
    return found


def _adds(place: int, chosen: Sequence[int], evidence: Evidence) -> bool:
    """Return whether a statement says something that the chosen ones do not."""
    said = {stem for other in chosen for stem in evidence.sentences[other].stems}
    own = content(evidence.sentences[place].tokens)
    return place not in chosen and bool(own) and sum(stem not in said for stem in own) / len(own) > FRESH_FROM


def _in_reading_order(places: Sequence[int], first: int, evidence: Evidence) -> list[int]:
    """Return statements of the first one's passage before others, each passage in its own order."""
    home = evidence.sentences[first].passage
    return sorted(places, key=lambda place: (evidence.sentences[place].passage != home, place))


def _answer(chosen: Sequence[int], passages: Sequence[Passage], evidence: Evidence, confidence: float) -> Synthesis:
    statements, quotes = [], dict[int, str]()
    for place in chosen:
        sentence = evidence.sentences[place]
        number = passages[sentence.passage].number
        statements.append(Statement(text=remove_marks(show_statement(sentence.text)), citations=(number,)))
        quotes.setdefault(number, _find_verbatim(sentence.text, passages[sentence.passage].text))
    by_number = {passage.number: passage for passage in passages}
    return Synthesis(
        text=" ".join(f"{said} [{statement.citations[0]}]" for statement in statements for said in _said(statement)),
        statements=tuple(statements),
        citations=tuple(_citation(by_number[number], quote) for number, quote in sorted(quotes.items())),
        confidence=confidence,
    )


def _find_verbatim(statement: str, passage: str) -> str:
    """Return as much of a statement, from its beginning, as stands in its passage letter for letter.

    A statement may run over the end of a line; then it is quoted up to there.
    """
    if statement in passage:
        return statement
    parts = statement.split()
    shared = bisect_left(range(1, len(parts) + 1), True, key=lambda count: " ".join(parts[:count]) not in passage)
    return " ".join(parts[:shared]) or statement


def _said(statement: Statement) -> list[str]:
    """Return the sentences of a statement: each gets a mark, so that none stands without a source."""
    return sentences(statement.text) or [statement.text]


def _citation(passage: Passage, quote: str) -> Citation:
    return Citation(
        number=passage.number,
        memory_id=passage.memory_id,
        title=passage.title,
        rel_path=passage.rel_path,
        heading_path=passage.heading_path,
        quote=quote,
    )


def _abstain(reason: str, confidence: float) -> Synthesis:
    text = NOTHING_FOUND if confidence == 0.0 else NOT_ANSWERED
    return Synthesis(text=text, abstained=True, reason=reason, confidence=confidence)


# --- The synthesiser that asks a model ---
#
# A statement without a citation, or with the number of a passage that is not there, is sent back once; what is then
# still uncited is left out, and the answer says so. Where nothing that can be cited is left, the rules answer instead,
# with the reason.

LONGEST = 2_000
LONGEST_QUOTE = 300
MOST_STATEMENTS = 30
_TEXT = {"type": "string", "maxLength": LONGEST}
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["abstained", "statements"],
    "properties": {
        "abstained": {"type": "boolean"},
        "reason": _TEXT,
        "statements": {
            "type": "array",
            "maxItems": MOST_STATEMENTS,
            "items": {
                "type": "object",
                "required": ["text", "citations"],
                "properties": {"text": _TEXT, "citations": {"type": "array", "items": {"type": "integer"}}},
            },
        },
    },
}


class ModelSynthesiser:
    """Answers by a model; by rules when it gives nothing that can be cited."""

    def __init__(
        self,
        model: ChatModel,
        prompt: Prompt,
        *,
        guard: InjectionGuard,
        rules: Synthesiser | None = None,
        deadline_s: float = 60.0,
        max_tokens: int = 2_048,
    ) -> None:
        self._model = model
        self._prompt = prompt
        self._guard = guard
        self._rules = rules or ExtractiveSynthesiser()
        self._deadline_s = deadline_s
        self._max_tokens = max_tokens

    def synthesise(
        self, question: str, passages: Sequence[Passage], *, plan: Plan | None = None, feedback: str = ""
    ) -> Synthesis:
        """An answer with citations, or an abstention."""
        if not passages:
            return self._rules.synthesise(question, passages, plan=plan)
        numbers = frozenset(passage.number for passage in passages)
        try:
            asked = self._request(question, passages, feedback)
            found = ask_structured(self._model, asked, lambda text: _strict(text, numbers))
        except ModelError as problem:
            return self._fall_back(question, passages, feedback, problem.message)
        said, mended = found.value, ""
        if said is None:
            said, mended = _salvage_statements(found.raw, numbers), found.problem
        if said is None:
            return self._fall_back(question, passages, feedback, f"the answer could not be used: {mended}")
        made = _abstention(said) if said["abstained"] else _answer_from_statements(said["statements"], passages)
        return replace(made, synthesiser=self._model.name, prompt=self._prompt.key, fallback=mended[:LONGEST])

    def _fall_back(self, question: str, passages: Sequence[Passage], feedback: str, why: str) -> Synthesis:
        return replace(self._rules.synthesise(question, passages, feedback=feedback), fallback=why[:LONGEST])

    def _request(self, question: str, passages: Sequence[Passage], feedback: str) -> ChatRequest:
        parts = [render_passages(passages, self._guard).text, render_question(question, self._guard)]
        parts += [f"An earlier answer was found wanting:\n{clean(feedback).text}"] if feedback else []
        asked = "\n\n".join([*parts, self._prompt.task])
        return ChatRequest(
            messages=(Message(role="system", content=self._prompt.system), Message(role="user", content=asked)),
            schema=_SCHEMA,
            schema_name="answer",
            max_tokens=self._max_tokens,
            deadline_s=self._deadline_s,
        )


def _strict(text: str, numbers: frozenset[int]) -> dict[str, Any]:
    return last_object(text, lambda found: _fits(found, numbers))


def _fits(found: dict[str, Any], numbers: frozenset[int]) -> dict[str, Any]:
    said = _check_shape(found)
    for statement in said["statements"]:
        foreign = [number for number in statement["citations"] if number not in numbers]
        if foreign or not statement["citations"]:
            what = f"cites [{foreign[0]}], which is not a passage" if foreign else "cites no passage"
            raise UnreadableReply(f"the statement {statement['text'][:80]!r} {what}")
    return said


def _check_shape(found: dict[str, Any]) -> dict[str, Any]:
    problem = next(find_errors(found, _SCHEMA), None)
    if problem is not None:
        raise UnreadableReply(problem)
    listed = found["statements"][:MOST_STATEMENTS]
    statements = [
        {"text": text, "citations": list(dict.fromkeys(int(number) for number in statement["citations"]))}
        for statement in listed
        if (text := " ".join(storable(statement["text"])[:LONGEST].split()))
    ]
    if not found["abstained"] and not statements:
        raise UnreadableReply("it states nothing and does not abstain")
    return {"abstained": found["abstained"], "reason": storable(str(found.get("reason", ""))), "statements": statements}


def _salvage_statements(raw: Sequence[str], numbers: frozenset[int]) -> dict[str, Any] | None:
    """The statements of the last readable reply that cite a passage which is there, without what is not."""
    for text in reversed(raw):
        try:
            said = last_object(text, _check_shape)
        except UnreadableReply:
            continue
        cited = [
            {"text": statement["text"], "citations": known}
            for statement in said["statements"]
            if (known := [number for number in statement["citations"] if number in numbers])
        ]
        if cited:
            return {**said, "abstained": False, "statements": cited}
    return None


def _abstention(said: Mapping[str, Any]) -> Synthesis:
    reason = said["reason"].strip()[:LONGEST] or "What was found does not answer this."
    return Synthesis(text=reason, abstained=True, reason=reason)


def _answer_from_statements(statements: Sequence[Mapping[str, Any]], passages: Sequence[Passage]) -> Synthesis:
    cited = {number for statement in statements for number in statement["citations"]}
    lines = [
        f"{statement['text']} {' '.join(f'[{number}]' for number in statement['citations'])}"
        for statement in statements
    ]
    return Synthesis(
        text=" ".join(lines),
        statements=tuple(
            Statement(text=statement["text"], citations=tuple(statement["citations"])) for statement in statements
        ),
        citations=tuple(_cite_statement(passage) for passage in passages if passage.number in cited),
    )


def _cite_statement(passage: Passage) -> Citation:
    return Citation(
        number=passage.number,
        memory_id=passage.memory_id,
        title=passage.title,
        rel_path=passage.rel_path,
        heading_path=passage.heading_path,
        quote=passage.text[:LONGEST_QUOTE],
    )
