"""Synthesisers: from passages to an answer with citations, by quoting or by a model.

- The synthesiser that quotes passages.
- The synthesiser that uses a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from assay.errors import ModelError
from assay.judging.builtin.judges import answerable
from assay.judging.builtin.support import Evidence, EvidenceSentence, content, coverage, remove_marks
from assay.judging.injection import InjectionGuard, clean, render_passages, render_question
from assay.judging.rubric import find_errors
from assay.models.chat import ChatModel, ChatRequest, Message, storable
from assay.models.structured import UnreadableReply, ask_structured, last_object
from assay.records.research import Citation, Passage, Plan, QuestionKind, Statement, Synthesis
from assay.text.questions import AskedQuestion, read_question
from assay.text.terms import stems, words

if TYPE_CHECKING:
    from assay.judging.prompts import Prompt

# --- The synthesiser that quotes passages ---
#
# Nothing is reworded, so nothing can be invented: only the marks of Markdown are left out, and a citation's quotation
# keeps them, so that it is found in its passage. Sentences are chosen by what they share with the question in words
# and meaning, each for what the ones before it lack; when the passages do not seem to answer, it says so instead. Text
# in a passage that gives instructions is a text like any other.

ANSWER_FROM = 0.5
"""Passages less likely to answer than this are not made into an answer."""
STRICTER = 0.75
"""The same for a second answer: the first one was found wanting."""
MOST_QUOTES = 5
FEWEST_WORDS = 4
"""A shorter sentence is not understandable without its neighbours."""
WEAKEST = 0.5
"""A further sentence needs this share of the first one's score."""
NOTHING_FOUND = "Nothing was found to answer this from."
NOT_ANSWERED = "What was found does not answer this."


ReadEvidence = Callable[[Sequence[str]], Evidence]
"""Takes passages apart; with `partial(Evidence, embedder=...)` sentences are compared by meaning too."""


class Synthesiser(Protocol):
    """Makes an answer of passages."""

    def synthesise(
        self, question: str, passages: Sequence[Passage], *, plan: Plan | None = None, feedback: str = ""
    ) -> Synthesis:
        """Return an answer with citations, or an abstention. `feedback` lists faults of an earlier answer."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class _ChosenSentence:
    place: int
    score: float


class ExtractiveSynthesiser:
    """Answers in the passages' own sentences."""

    name = "builtin"

    def __init__(self, read: ReadEvidence = Evidence, *, answer_from: float = ANSWER_FROM) -> None:
        self._read = read
        self._answer_from = answer_from

    def synthesise(
        self, question: str, passages: Sequence[Passage], *, plan: Plan | None = None, feedback: str = ""
    ) -> Synthesis:
        """An answer with citations, or an abstention; more readily that when an earlier answer was found wanting."""
        asked = read_question(question)
        if not words(asked.text):
            return _abstain("the question has no words", 0.0)
        evidence = self._read([passage.text for passage in passages])
        if not evidence.sentences:
            return _abstain("no passage was found", 0.0)
        chance = answerable(question, evidence).probability
        if chance < (max(self._answer_from, STRICTER) if feedback else self._answer_from):
            return _abstain("the passages do not seem to answer the question", chance)
        chosen = _choose(_key_stems(asked, plan), asked, evidence)
        if not chosen:
            return _abstain("no sentence of the passages speaks of the question", chance)
        return _answer(chosen, passages, evidence, chance)


def _key_stems(asked: AskedQuestion, plan: Plan | None) -> list[str]:
    """The stems a good sentence has: the question's, else the plan's."""
    found = list(dict.fromkeys(asked.key_stems))
    if not found and plan is not None:
        found = stems(" ".join(plan.texts))
    return found or stems(asked.text)


def _choose(wanted: Sequence[str], asked: AskedQuestion, evidence: Evidence) -> list[_ChosenSentence]:
    """Best first, each for what it adds; then in the order of the passages."""
    scores = _scores(wanted, asked, evidence)
    if not scores:
        return []
    first = max(scores, key=lambda place: (scores[place], -place))
    chosen = [_ChosenSentence(place=first, score=scores[first])]
    while len(chosen) < MOST_QUOTES and (further := _next(scores, chosen, evidence)) is not None:
        chosen.append(further)
    order = {sentence.place: number for number, sentence in enumerate(chosen)}
    best_passage = evidence.sentences[first].passage
    return sorted(
        chosen,
        key=lambda sentence: (_passage(sentence, evidence) != best_passage, sentence.place, order[sentence.place]),
    )


def _passage(sentence: _ChosenSentence, evidence: Evidence) -> int:
    return evidence.sentences[sentence.place].passage


def _scores(wanted: Sequence[str], asked: AskedQuestion, evidence: Evidence) -> dict[int, float]:
    shared = {
        place: coverage(wanted, sentence.stems, evidence)
        for place, sentence in enumerate(evidence.sentences)
        if len(words(sentence.text)) >= FEWEST_WORDS and not sentence.text.endswith("?")
    }
    nearest = sorted(shared, key=lambda place: (-shared[place], place))[:16]
    cosines = _cosines(asked.text, nearest, evidence)
    kinds = {place: _kind_bonus(asked, evidence.sentences[place]) for place in nearest}
    scores = {place: 0.5 * shared[place] + 0.5 * cosines.get(place, shared[place]) + kinds[place] for place in nearest}
    return {place: score for place, score in scores.items() if score > 0}


def _cosines(question: str, places: Sequence[int], evidence: Evidence) -> Mapping[int, float]:
    if not evidence.has_vectors or not places:
        return {}
    rows = evidence.vectors([question, *(evidence.sentences[place].text for place in places)])
    return {place: max(0.0, float(value)) for place, value in zip(places, rows[1:] @ rows[0], strict=True)}


def _kind_bonus(asked: AskedQuestion, sentence: EvidenceSentence) -> float:
    """Return a small bonus for a sentence with a number where the question expects one."""
    exact = any(fact.kind != "name" for fact in sentence.facts)
    return 0.1 if exact and asked.kind in {QuestionKind.QUANTITY, QuestionKind.TIME} else 0.0


def _next(scores: Mapping[int, float], chosen: Sequence[_ChosenSentence], evidence: Evidence) -> _ChosenSentence | None:
    """The sentence that scores best among those that say something the chosen ones do not."""
    said = {stem for sentence in chosen for stem in evidence.sentences[sentence.place].stems}
    taken = {sentence.place for sentence in chosen}
    best: _ChosenSentence | None = None
    for place, score in scores.items():
        own = content(evidence.sentences[place].tokens)
        fresh = sum(stem not in said for stem in own) / len(own) if own else 0.0
        worth = score * (0.5 + 0.5 * fresh)
        if place not in taken and fresh > 0.3 and (best is None or worth > best.score):
            best = _ChosenSentence(place=place, score=worth)
    return best if best is not None and best.score >= WEAKEST * chosen[0].score else None


def _answer(
    chosen: Sequence[_ChosenSentence], passages: Sequence[Passage], evidence: Evidence, confidence: float
) -> Synthesis:
    statements, quotes = [], dict[int, str]()
    for pick in chosen:
        sentence = evidence.sentences[pick.place]
        number = passages[sentence.passage].number
        statements.append(Statement(text=remove_marks(sentence.text), citations=(number,)))
        quotes.setdefault(number, sentence.text)
    by_number = {passage.number: passage for passage in passages}
    return Synthesis(
        text=" ".join(f"{statement.text} [{statement.citations[0]}]" for statement in statements),
        statements=tuple(statements),
        citations=tuple(_citation(by_number[number], quote) for number, quote in sorted(quotes.items())),
        confidence=confidence,
    )


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
