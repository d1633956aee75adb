"""One question from plan to answer, with an event for each step."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.judging.panel import describe_problem
from assay.records.judging import CheckpointResult, CheckpointState
from assay.records.research import Checkpoint, Material, Passage, Plan, PlanFeedback, Synthesis
from assay.records.research_log import AnswerAttempt, Notice, NoticeKind, PlanAttempt
from assay.research.attempts import best_of, choose_answer, decide, feedback_on, standing_of
from assay.research.events import EventKind, EventSender, StageEvent, StageName
from assay.research.numbering import number_by_citation, renumber_answer, renumber_passages, renumber_sources
from assay.research.planner import Planner, RulePlanner
from assay.research.search import FindPassages, FoundPassages, SearchLimits
from assay.research.synthesiser import ExtractiveSynthesiser, Synthesiser

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.clock import Clock
    from assay.records import Scope
    from assay.research.checkpoints import CheckpointEvaluator
    from assay.research.options import ResearchOptions


NO_ANSWER = "the question was refused, so there is no answer to evaluate"


@dataclass(frozen=True, kw_only=True, slots=True)
class PipelineParts:
    """What a pipeline is made of."""

    planner: Planner
    synthesiser: Synthesiser
    find: FindPassages
    checkpoints: CheckpointEvaluator
    clock: Clock
    options: ResearchOptions
    dealt: tuple[str, ...] = ()
    """Versions of prompts that were dealt to the question, each as `prompt_id@version`; empty where none is split."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ResearchQuestion:
    """A question with its scope and options, and the plan if one is reused."""

    scope: Scope
    log_id: str
    text: str
    plan: Plan | None = None
    """Taken over from an earlier session: none is made."""
    widened: bool = False


class StageTime(NamedTuple):
    """How long one attempt at a stage took, its evaluation included."""

    stage: StageName
    attempt: int
    took_ms: float


@dataclass(slots=True)
class ResearchRun:
    """A question and what has become of it so far."""

    parts: PipelineParts
    question: ResearchQuestion
    tell: EventSender
    plan_attempts: list[PlanAttempt] = field(default_factory=list)
    exhausted: bool = False
    found: FoundPassages = field(default_factory=FoundPassages)
    retrieval: CheckpointResult = field(
        default_factory=lambda: CheckpointResult(checkpoint=Checkpoint.RETRIEVAL, state=CheckpointState.DISABLED)
    )
    answer_attempts: list[AnswerAttempt] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    times: list[StageTime] = field(default_factory=list)

    def make_plan(self) -> Plan:
        """A plan that passed, or the best of those that were made."""
        if self.question.plan is not None:
            return self._reuse_plan(self.question.plan)
        feedback: PlanFeedback | None = None
        most = self.parts.options.max_attempts if self.parts.options.iterate else 1
        for number in range(1, most + 1):
            began = self.parts.clock.monotonic()
            self._event(EventKind.STARTED, StageName.PLAN, number, most)
            plan = self._plan(feedback, first=number == 1)
            if plan is None:
                break
            self._report_fallback("planned", plan.fallback, Checkpoint.PLAN)
            attempt = self._plan_attempt(number, most, plan, began)
            self.plan_attempts.append(attempt)
            self._took(StageName.PLAN, number, began)
            if attempt.decision is None:
                break
            feedback = feedback_on(plan, attempt.result, attempt.decision)
        self.exhausted = len(self.plan_attempts) == most and self.plan_attempts[-1].result.passed is False
        chosen = best_of(self.plan_attempts)
        self._event(EventKind.FINISHED, StageName.PLAN, chosen.number, most, data=_scores(chosen.result))
        return chosen.plan

    def _reuse_plan(self, plan: Plan) -> Plan:
        result = CheckpointResult(checkpoint=Checkpoint.PLAN, state=CheckpointState.DISABLED, reason="taken over")
        self.plan_attempts.append(PlanAttempt(number=1, plan=plan, result=result, made_at=self.parts.clock.now()))
        return plan

    def _plan(self, feedback: PlanFeedback | None, *, first: bool) -> Plan | None:
        """The next plan; None: the planner raised, and there is an earlier one."""
        try:
            return self.parts.planner.plan(self.question.text, feedback=feedback)
        except Exception as problem:  # noqa: BLE001 - a planner that fails must not take the answer with it
            why = describe_problem(problem)
            if first:
                return replace(RulePlanner().plan(self.question.text), fallback=why)
            self._note(NoticeKind.FALLBACK, f"planning again failed: {why}", Checkpoint.PLAN)
            return None

    def _plan_attempt(self, number: int, most: int, plan: Plan, began: float) -> PlanAttempt:
        material = Material(checkpoint=Checkpoint.PLAN, question=self.question.text, plan=plan)
        left = self._time_left(Checkpoint.PLAN, began)
        result = self._evaluate(material, StageName.PLAN, number, most, left)
        decision = None
        if result.passed is False and number == most:
            left = self._time_left(Checkpoint.PLAN, began)
            result = self.parts.checkpoints.last_resort(material, result, deadline_s=left)
        elif result.passed is False:
            decision = decide(result, attempt=number, options=self.parts.options.panel)
            data = {"mode": decision.mode.value, "failure_type": decision.failure_type, "critique": decision.feedback}
            self._event(EventKind.ITERATING, StageName.PLAN, number, most, data=data)
        now = self.parts.clock.now()
        return PlanAttempt(number=number, plan=plan, result=result, decision=decision, made_at=now)

    def find_passages(self, plan: Plan) -> tuple[Passage, ...]:
        """What the plan finds, and whether that is likely enough."""
        options = self.parts.options
        many = options.widened if self.question.widened else 1
        wanted = SearchLimits(
            results=options.results * many, passages=options.passages * many, widened=self.question.widened
        )
        began = self.parts.clock.monotonic()
        self._event(EventKind.STARTED, StageName.SEARCH)
        self.found = self._search(plan, wanted)
        for problem in self.found.problems:
            self._note(NoticeKind.SEARCH, problem)
        if not self.found.failed:
            self._evaluate_passages(plan)
        self._took(StageName.SEARCH, 1, began)
        count = {"passages": len(self.found.passages)}
        self._event(EventKind.FINISHED, StageName.SEARCH, data={**count, **_scores(self.retrieval)})
        return self.found.passages

    def _search(self, plan: Plan, wanted: SearchLimits) -> FoundPassages:
        try:
            return self.parts.find(self.question.scope, plan, wanted)
        except Exception as problem:  # noqa: BLE001 - the user is told instead of shown a traceback
            return FoundPassages(problems=(describe_problem(problem),), failed=True)

    def _evaluate_passages(self, plan: Plan) -> None:
        material = Material(
            checkpoint=Checkpoint.RETRIEVAL,
            question=self.question.text,
            plan=plan,
            passages=self.found.passages,
            now=self.parts.clock.now(),
        )
        self.retrieval = self._evaluate(material, StageName.SEARCH)
        if self.retrieval.passed is False:
            weak = ", ".join(f"{name} {self.retrieval.scores[name]:.2f}" for name in self.retrieval.failed_dimensions)
            message = f"what was found is likely not enough: {weak or f'score {self.retrieval.score:.2f}'}"
            self._note(NoticeKind.SEVERE, message, Checkpoint.RETRIEVAL)
            self._event(EventKind.SEVERE, StageName.SEARCH, message=message, data=_scores(self.retrieval))

    def write_answer(self, plan: Plan, passages: tuple[Passage, ...]) -> Synthesis:
        """An answer, made once more when it is found wanting; the better of the two."""
        most = 2 if self.parts.options.regenerate else 1
        feedback = ""
        for number in range(1, most + 1):
            began = self.parts.clock.monotonic()
            self._event(EventKind.STARTED, StageName.ANSWER, number, most)
            synthesis = self._synthesis(plan, passages, feedback, first=number == 1)
            if synthesis is None:
                break
            self._report_fallback("answered", synthesis.fallback, Checkpoint.ANSWER)
            result = self._answer_result(plan, passages, synthesis, number, most)
            now = self.parts.clock.now()
            self.answer_attempts.append(AnswerAttempt(number=number, synthesis=synthesis, result=result, made_at=now))
            self._took(StageName.ANSWER, number, began)
            if result.lets_through:
                break
            feedback = _critique(result)
            if number < most:
                self._event(EventKind.REGENERATING, StageName.ANSWER, number, most, data={"critique": feedback})
        self._number_by_citation()
        return self.chosen_answer.synthesis

    def _number_by_citation(self) -> None:
        """Give passages, answers and sources the numbers of the order in which the chosen answer cites them."""
        numbers = number_by_citation(self.found.passages, self.chosen_answer.synthesis)
        self.found = replace(self.found, passages=renumber_passages(self.found.passages, numbers))
        self.retrieval = renumber_sources(self.retrieval, numbers)
        self.answer_attempts = [
            replace(attempt, synthesis=renumber_answer(attempt.synthesis, numbers)) for attempt in self.answer_attempts
        ]

    def report_finished(self, data: Mapping[str, Any]) -> None:
        """Send the event of a finished answer."""
        self._event(EventKind.FINISHED, StageName.ANSWER, data=data)

    @property
    def chosen_answer(self) -> AnswerAttempt:
        """Return the last answer that did not fail, else the one with the higher score."""
        return self.answer_attempts[choose_answer([standing_of(attempt.result) for attempt in self.answer_attempts])]

    @property
    def chosen_plan(self) -> PlanAttempt:
        """The plan that was used."""
        return best_of(self.plan_attempts)

    def _synthesis(self, plan: Plan, passages: tuple[Passage, ...], feedback: str, *, first: bool) -> Synthesis | None:
        try:
            return self.parts.synthesiser.synthesise(self.question.text, passages, plan=plan, feedback=feedback)
        except Exception as problem:  # noqa: BLE001 - a synthesiser that fails must not take the answer with it
            why = describe_problem(problem)
            if first:
                ruled = ExtractiveSynthesiser().synthesise(self.question.text, passages, plan=plan)
                return replace(ruled, fallback=why)
            self._note(NoticeKind.FALLBACK, f"answering again failed: {why}", Checkpoint.ANSWER)
            return None

    def _answer_result(
        self, plan: Plan, passages: tuple[Passage, ...], synthesis: Synthesis, number: int, most: int
    ) -> CheckpointResult:
        if synthesis.abstained:
            state = CheckpointState.NO_ANSWER
            return CheckpointResult(checkpoint=Checkpoint.ANSWER, state=state, reason=NO_ANSWER)
        material = Material(
            checkpoint=Checkpoint.ANSWER,
            question=self.question.text,
            plan=plan,
            passages=passages,
            synthesis=synthesis,
            now=self.parts.clock.now(),
        )
        return self._evaluate(material, StageName.ANSWER, number, most)

    def _evaluate(
        self, material: Material, stage: StageName, number: int = 1, most: int = 1, left: float | None = None
    ) -> CheckpointResult:
        self._event(EventKind.EVALUATING, stage, number, most)
        result = self.parts.checkpoints.evaluate(material, deadline_s=left)
        if result.state is CheckpointState.SCORED:
            self._event(EventKind.EVALUATED, stage, number, most, data=_scores(result))
        elif result.state in _LOST:
            kind, notice = _LOST[result.state]
            self._note(notice, f"{material.checkpoint} evaluation: {result.reason}", material.checkpoint)
            self._event(kind, stage, number, most, message=result.reason)
        return result

    def _took(self, stage: StageName, attempt: int, began: float) -> None:
        self.times.append(StageTime(stage, attempt, (self.parts.clock.monotonic() - began) * 1000.0))

    def _time_left(self, checkpoint: Checkpoint, began: float) -> float:
        """Of the time an attempt has; planning counts."""
        allowed = self.parts.options.checkpoints[checkpoint].timeout_s
        return max(allowed - (self.parts.clock.monotonic() - began), 0.001)

    def _report_fallback(self, done: str, why: str, checkpoint: Checkpoint) -> None:
        if why:
            self._note(NoticeKind.FALLBACK, f"rules {done} or mended in the model's place: {why}", checkpoint)

    def _note(self, kind: NoticeKind, message: str, checkpoint: Checkpoint | None = None) -> None:
        notice = Notice(kind=kind, message=message, checkpoint=checkpoint)
        if notice not in self.notices:
            self.notices.append(notice)

    def _event(  # noqa: PLR0917 - the fields of an event, in their order
        self,
        kind: EventKind,
        stage: StageName,
        attempt: int = 1,
        of: int = 1,
        message: str = "",
        data: Mapping[str, Any] | None = None,
    ) -> None:
        self.tell(
            StageEvent(
                log_id=self.question.log_id,
                at=self.parts.clock.now(),
                kind=kind,
                stage=stage,
                attempt=attempt,
                of=of,
                message=message,
                data=data or {},
            )
        )


_LOST = {
    CheckpointState.SKIPPED: (EventKind.SKIPPED, NoticeKind.SKIPPED),
    CheckpointState.JUDGE_FAILED: (EventKind.JUDGE_FAILED, NoticeKind.JUDGE_FAILED),
}
"""The event and the notice for each state without a score."""


def _scores(result: CheckpointResult) -> dict[str, Any]:
    """What is shown of a result while it happens."""
    verdict = result.verdict
    return {
        "state": result.state.value,
        "score": result.score,
        "scores": dict(result.scores),
        "passed": result.passed,
        "failed_dimensions": list(result.failed_dimensions),
        "escalated": bool(verdict is not None and verdict.escalation is not None and verdict.escalation.scored),
        "critique": _critique(result),
    }


def _critique(result: CheckpointResult) -> str:
    verdict = result.verdict
    said = (
        []
        if verdict is None
        else [f"{result.role}: {result.critique}" for result in verdict.results if result.critique]
    )
    return "\n".join(said)
