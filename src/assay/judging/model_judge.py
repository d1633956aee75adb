"""Judges that ask a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from assay.errors import BudgetExhausted, ModelError
from assay.judging.injection import InjectionGuard, clean, enclose, find_orders, remove_orders
from assay.judging.rubric import PARSER_VERSION, Rubric, read_verdict
from assay.models.budget import usage_of_failure
from assay.models.chat import ChatModel, ChatRequest, Message
from assay.models.structured import Structured, ask_structured
from assay.records.judging import (
    AbstentionVerdict,
    CorrectnessVerdict,
    GroundednessVerdict,
    JudgedAnswer,
    JudgeFingerprint,
    JudgeInput,
    JudgeKind,
    RubricKind,
    Verdict,
    VerdictOutcome,
    no_verdict,
    score_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

SAME_WITHIN = 1.0
"""Two scores of one answer this near are the same to a reader."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeOptions:
    """Options of a judge's requests."""

    max_tokens: int = 1_024
    seed: int = 0
    deadline_s: float | None = None
    """For one verdict, the repair included; None: as long as the model's own settings say."""
    longest: int = 60_000
    """Characters of one input; a longer one is not judged, since half of it would be another."""


class LlmJudge:
    """A judge by one rubric and one model."""

    def __init__(
        self, model: ChatModel, rubric: Rubric, *, guard: InjectionGuard, options: JudgeOptions | None = None
    ) -> None:
        self._model = model
        self._rubric = rubric
        self._guard = guard
        self._options = options or JudgeOptions()

    @property
    def name(self) -> str:
        """What records call it."""
        return f"{self._rubric.name} by {self._model.name}"

    @property
    def about(self) -> RubricKind:
        """What it judges."""
        return self._rubric.kind

    def fingerprint(self) -> JudgeFingerprint:
        """Everything that moves its verdicts. May ask the server which weights it has, once."""
        model, options = self._model.fingerprint(), self._options
        asked_with = {"temperature": 0.0, "seed": options.seed, "max_tokens": options.max_tokens}
        return JudgeFingerprint(
            judge=self.name,
            judge_kind="model",
            rubric=self._rubric.name,
            rubric_version=self._rubric.version,
            prompt_hash=self._rubric.prompt_hash,
            parser_version=PARSER_VERSION,
            model=model.model,
            model_digest=model.digest,
            parameters={**model.parameters, **asked_with},
        )

    def judge_case(self, given: JudgeInput, *, repeat: int = 0, fresh: bool = False) -> JudgedAnswer:
        """Judge one case; `fresh` ignores cached replies."""
        refused = self._refuse(given)
        if refused is not None:
            return JudgedAnswer(input=given, verdict=refused, fingerprint=self.fingerprint(), repeat=repeat)
        flags = tuple(dict.fromkeys(flag for text in _texts(given) for flag in find_orders(text)))
        first = self._ask(given, repeat, fresh=fresh)
        answer = replace(first, flags=flags)
        if not flags or first.score is None:
            return answer
        second = self._ask(_without_orders(given), repeat, fresh=fresh)
        return replace(
            answer,
            verdict=_compare_with_clean(given, first, second, flags),
            raw=(*first.raw, *second.raw),
            latency_ms=_sum_times([first.latency_ms, second.latency_ms]),
            prompt_tokens=_sum_counts([first.prompt_tokens, second.prompt_tokens]),
            completion_tokens=_sum_counts([first.completion_tokens, second.completion_tokens]),
            cached=first.cached and second.cached,
            served=tuple(dict.fromkeys([*first.served, *second.served])),
            usage=first.usage + second.usage,
        )

    def _refuse(self, given: JudgeInput) -> Verdict | None:
        if not given.answer.strip():
            return no_verdict(given.kind, VerdictOutcome.SKIPPED, "there is no answer to judge")
        size = sum(map(len, _texts(given)))
        if size > self._options.longest:
            why = f"the input has {size:,} characters, over {self._options.longest:,}"
            return no_verdict(given.kind, VerdictOutcome.SKIPPED, why)
        return None

    def _ask(self, given: JudgeInput, repeat: int, *, fresh: bool) -> JudgedAnswer:
        request = replace(self.request(given, repeat), fresh=fresh)
        try:
            found = ask_structured(self._model, request, self._read)
        except ModelError as problem:
            skipped = isinstance(problem, BudgetExhausted)
            outcome = VerdictOutcome.SKIPPED if skipped else VerdictOutcome.UNAVAILABLE
            verdict = no_verdict(given.kind, outcome, problem.message[:1_000])
            return JudgedAnswer(
                input=given,
                verdict=verdict,
                fingerprint=self.fingerprint(),
                repeat=repeat,
                usage=usage_of_failure(request, problem),
            )
        verdict = found.value or no_verdict(given.kind, VerdictOutcome.UNREADABLE, found.problem)
        return self._with_costs(given, repeat, verdict, found)

    def _read(self, text: str) -> Verdict:
        return read_verdict(text, self._rubric)

    def request(self, given: JudgeInput, repeat: int = 0) -> ChatRequest:
        """Return the exact request to the model."""
        mark = self._guard.mark(given.input_hash)
        shown = [section for part in self._rubric.parts for section in _render_part(part, given, mark)]
        ordered = "\n\n".join([*shown, self._rubric.task])
        return ChatRequest(
            messages=(Message(role="system", content=self._rubric.system), Message(role="user", content=ordered)),
            schema=self._rubric.schema,
            schema_name=self._rubric.kind.value,
            max_tokens=self._options.max_tokens,
            seed=self._options.seed,
            repeat=repeat,
            deadline_s=self._options.deadline_s,
        )

    def _with_costs(self, given: JudgeInput, repeat: int, verdict: Verdict, found: Structured[Verdict]) -> JudgedAnswer:
        replies = found.replies
        return JudgedAnswer(
            input=given,
            verdict=verdict,
            fingerprint=self.fingerprint(),
            raw=found.raw,
            repeat=repeat,
            latency_ms=sum(reply.latency_ms for reply in replies),
            prompt_tokens=_sum_counts([reply.prompt_tokens for reply in replies]),
            completion_tokens=_sum_counts([reply.completion_tokens for reply in replies]),
            cached=all(reply.cached for reply in replies),
            served=tuple(dict.fromkeys(reply.model for reply in replies)),
            usage=found.usage,
        )


@dataclass(frozen=True, slots=True)
class GroundednessByModel:
    """A `GroundednessJudge`."""

    asks: LlmJudge
    kind: JudgeKind = "model"

    @property
    def name(self) -> str:
        """What records call it."""
        return self.asks.name

    def judge(self, question: str, answer: str, passages: Sequence[str]) -> GroundednessVerdict:
        """Judge one answer."""
        given = JudgeInput(kind=RubricKind.GROUNDEDNESS, question=question, answer=answer, passages=tuple(passages))
        return cast("GroundednessVerdict", self.asks.judge_case(given).verdict)


@dataclass(frozen=True, slots=True)
class CorrectnessByModel:
    """A `CorrectnessJudge`."""

    asks: LlmJudge
    kind: JudgeKind = "model"

    @property
    def name(self) -> str:
        """What records call it."""
        return self.asks.name

    def judge(self, question: str, answer: str, passages: Sequence[str], *, reference: str = "") -> CorrectnessVerdict:
        """Judge one answer."""
        given = JudgeInput(
            kind=RubricKind.CORRECTNESS,
            question=question,
            answer=answer,
            passages=tuple(passages),
            reference=reference,
        )
        return cast("CorrectnessVerdict", self.asks.judge_case(given).verdict)


@dataclass(frozen=True, slots=True)
class AbstentionByModel:
    """An `AbstentionJudge`."""

    asks: LlmJudge
    kind: JudgeKind = "model"

    @property
    def name(self) -> str:
        """What records call it."""
        return self.asks.name

    def judge(self, question: str, answer: str) -> AbstentionVerdict:
        """Judge one answer."""
        given = JudgeInput(kind=RubricKind.ABSTENTION, question=question, answer=answer)
        return cast("AbstentionVerdict", self.asks.judge_case(given).verdict)


def differ(score: float, other: float, kind: RubricKind) -> bool:
    """Whether two verdicts on one answer say different things: more than one point apart, or another class."""
    return score != other if kind is RubricKind.ABSTENTION else abs(score - other) > SAME_WITHIN


def _compare_with_clean(given: JudgeInput, first: JudgedAnswer, second: JudgedAnswer, flags: Sequence[str]) -> Verdict:
    """Compare the verdict on text with orders to the judge and that on the text without them."""
    one, other = score_of(first.verdict), score_of(second.verdict)
    if one is not None and other is not None and not differ(one, other, given.kind):
        return first.verdict
    without = "no verdict" if other is None else f"{other:g}"
    why = f"the judged text speaks to the judge ({', '.join(flags)}): {one or 0:g} with it, {without} without"
    return no_verdict(given.kind, VerdictOutcome.CONTESTED, why)


def _without_orders(given: JudgeInput) -> JudgeInput:
    answer = remove_orders(given.answer)
    return replace(
        given,
        question=remove_orders(given.question),
        # An answer that is nothing but orders has nothing in it to support.
        answer=answer if answer.strip() else "(The answer says nothing about the question.)",
        passages=tuple(map(remove_orders, given.passages)),
    )


def _texts(given: JudgeInput) -> tuple[str, ...]:
    return (given.question, given.answer, *given.passages, given.reference)


def _render_part(part: str, given: JudgeInput, mark: str) -> list[str]:
    """Return one part of a case between marked lines; nothing for a missing reference."""
    if part == "passages":
        numbered = [f"[{place}] {clean(passage).text}" for place, passage in enumerate(given.passages, start=1)]
        return [enclose("PASSAGES", "\n\n".join(numbered) or "(none)", mark)]
    text = str(getattr(given, part))
    return [enclose(part.upper(), clean(text).text, mark)] if text.strip() else []


def _sum_times(times: Sequence[float | None]) -> float | None:
    known = [time for time in times if time is not None]
    return sum(known) if known else None


def _sum_counts(counts: Sequence[int | None]) -> int | None:
    """All together; None when one was not counted."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
