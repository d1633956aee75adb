"""The pipeline: a question in, an answer with citations or an explicit abstention out, and the whole record kept.

Evaluation never breaks it: a checkpoint that cannot be evaluated is skipped with the reason, a record that cannot be
kept is reported as missing, and the answer arrives either way. Only a checkpoint that was scored, did not pass and is
set to `block` withholds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from assay.records import IdFactory, Scope, values
from assay.records.fields import plain
from assay.records.judging import CheckpointResult, CheckpointState
from assay.records.research import MAX_QUESTION, Checkpoint, Plan, Synthesis
from assay.records.research_log import EvaluatedBy, Notice, NoticeKind, ResearchSession, ResearchStatus, TracedAnswer
from assay.research.attempts import failure_of
from assay.research.checkpoints import notify_safely, store_safely
from assay.research.events import EventSender, Listen
from assay.research.options import FailAction
from assay.research.outcomes import find_evidence, judge_question
from assay.research.record import plan_in, trace_of
from assay.research.run import PipelineParts, ResearchQuestion, ResearchRun, StageTime
from assay.storage import Store

SEARCH_FAILED = "The search failed, so there is nothing to answer from."
WITHHELD = "The answer is withheld: it did not pass the {} checkpoint, which is set to block."
ANSWER_FAILED = (
    "the answer scored {score:.2f}, below {threshold:.2f}, after {attempts}; "
    "check it against the passages it cites, or ask again from a wider search"
)

Observe = Callable[[Scope, TracedAnswer, Sequence[StageTime]], None]
"""Called with each finished answer and the duration of its steps."""


class ResearchPipeline:
    """Answers questions from a memory."""

    def __init__(
        self,
        parts: PipelineParts,
        *,
        store: Store,
        ids: IdFactory | None = None,
        observe: Observe | None = None,
        deal: Callable[[str], PipelineParts | None] | None = None,
    ) -> None:
        """`deal` gives the parts for a question while questions are split between versions of a prompt; else None."""
        self._parts = parts
        self._deal = deal
        self._observe = observe
        self._store = store
        self._ids = ids or store.ids

    @property
    def longest_s(self) -> float:
        """All deadlines together: what a question may take when every model hangs."""
        return self._parts.options.longest_s

    def ask(
        self,
        scope: Scope,
        question: str,
        *,
        session_id: str | None = None,
        tags: Sequence[str] = (),
        listen: Listen | None = None,
    ) -> TracedAnswer:
        """Answer a question. `listen` is called with an event for every step."""
        text = values.text(question, "question", longest=MAX_QUESTION, empty=False)
        asked = ResearchQuestion(scope=scope, log_id=self._ids.new("r"), text=text)
        return self._answer(asked, EventSender(listen), session_id=session_id, tags=tuple(tags))

    def retry_search(self, scope: Scope, log_id: str, *, listen: Listen | None = None) -> TracedAnswer:
        """Answer an earlier question again from a wider search; a new session that names the first."""
        with self._store.reading(scope) as work:
            stored = work.research.get(log_id)
        session, trace = stored.session, stored.trace
        asked = ResearchQuestion(
            scope=scope,
            log_id=self._ids.new("r"),
            text=session.question,
            plan=None if trace is None else plan_in(trace),
            widened=True,
        )
        return self._answer(
            asked, EventSender(listen), session_id=session.session_id, tags=session.tags, retry_of=session.log_id
        )

    def _answer(
        self,
        asked: ResearchQuestion,
        tell: EventSender,
        *,
        session_id: str | None,
        tags: tuple[str, ...],
        retry_of: str | None = None,
    ) -> TracedAnswer:
        clock = self._parts.clock
        began, created_at = clock.monotonic(), clock.now()
        dealt = None if self._deal is None else self._deal(asked.text)
        parts = dealt or self._parts
        run = ResearchRun(parts=parts, question=asked, tell=tell)
        plan = run.make_plan()
        passages = run.find_passages(plan)
        synthesis = _no_search() if run.found.failed else run.write_answer(plan, passages)
        run.notices.extend(_disagreements(run))
        status, synthesis = self._apply_checkpoints(run, synthesis)
        session = replace(
            _session(run, plan, status),
            created_at=created_at,
            session_id=session_id,
            tags=tags,
            retry_of=retry_of,
            latency_ms=(clock.monotonic() - began) * 1000.0,
        )
        answer = self._store_record(run, session, plan, synthesis)
        run.report_finished({"status": answer.status.value, "kept": answer.kept, **answer.evaluation})
        observe = self._observe
        if observe is not None:
            notify_safely(lambda: observe(asked.scope, answer, tuple(run.times)))
        return answer

    def _apply_checkpoints(self, run: ResearchRun, synthesis: Synthesis) -> tuple[ResearchStatus, Synthesis]:
        """What the checkpoints that did not pass do to the answer."""
        for result in _results(run):
            action = self._parts.options.checkpoints[result.checkpoint].fail_action
            if result.passed is not False:
                continue
            if action is FailAction.CONTINUE:
                run.notices.extend(self._report_failed_answer(run, result))
                continue
            if action is FailAction.BLOCK:
                why = WITHHELD.format(result.checkpoint)
                run.notices.append(Notice(kind=NoticeKind.WITHHELD, message=why, checkpoint=result.checkpoint))
                return ResearchStatus.WITHHELD, Synthesis(text=why, abstained=True, reason=why)
            message = f"the {result.checkpoint} checkpoint did not pass: {result.score or 0.0:.2f}"
            run.notices.append(Notice(kind=NoticeKind.NOT_PASSED, message=message, checkpoint=result.checkpoint))
        if run.found.failed:
            return ResearchStatus.FAILED, synthesis
        return ResearchStatus.ABSTAINED if synthesis.abstained else ResearchStatus.ANSWERED, synthesis

    def _report_failed_answer(self, run: ResearchRun, result: CheckpointResult) -> Iterator[Notice]:
        """Yield the notice of an answer that is shown although it did not pass."""
        if result.checkpoint is not Checkpoint.ANSWER:
            return
        count = len(run.answer_attempts)
        message = ANSWER_FAILED.format(
            score=result.score or 0.0,
            threshold=self._parts.options.panel.thresholds[Checkpoint.ANSWER],
            attempts="1 attempt" if count == 1 else f"{count} attempts",
        )
        yield Notice(kind=NoticeKind.ANSWER_FAILED, message=message, checkpoint=Checkpoint.ANSWER)

    def _store_record(
        self, run: ResearchRun, session: ResearchSession, plan: Plan, synthesis: Synthesis
    ) -> TracedAnswer:
        options = self._parts.options
        trace = trace_of(
            session,
            plan_attempts=run.plan_attempts,
            found=run.found,
            retrieval=run.retrieval,
            answer_attempts=run.answer_attempts,
            chosen_plan=run.chosen_plan.number if run.plan_attempts else None,
            chosen_answer=run.chosen_answer.number if run.answer_attempts else None,
            notices=run.notices,
            weights=plain(options),
            evidence=_evidence(run),
        )

        def keep() -> None:
            with self._store.writing(run.question.scope) as work:
                work.research.put(session, trace)

        problem = store_safely(keep)
        if problem:
            run.notices.append(Notice(kind=NoticeKind.NOT_KEPT, message=f"the record was not kept: {problem}"))
        return TracedAnswer(
            session=session,
            synthesis=synthesis,
            plan=plan,
            passages=run.found.passages,
            notices=tuple(run.notices),
            plan_attempts=tuple(run.plan_attempts),
            retrieval=run.retrieval,
            answer_attempts=tuple(run.answer_attempts),
            trace=trace,
            kept=not problem,
        )


def _no_search() -> Synthesis:
    return Synthesis(text=SEARCH_FAILED, abstained=True, reason=SEARCH_FAILED)


def _results(run: ResearchRun) -> list[CheckpointResult]:
    """What counts of each checkpoint, in their order."""
    found = [run.chosen_plan.result, run.retrieval]
    return [*found, run.chosen_answer.result] if run.answer_attempts else found


def _disagreements(run: ResearchRun) -> Iterator[Notice]:
    """Yield a notice for each checkpoint whose evaluators contradict each other without a review."""
    for result in _results(run):
        told = "" if result.verdict is None else result.verdict.disagreement
        if told:
            yield Notice(kind=NoticeKind.DISAGREEMENT, message=told, checkpoint=result.checkpoint)


def _session(run: ResearchRun, plan: Plan, status: ResearchStatus) -> ResearchSession:
    results = _results(run)
    judged = judge_question(status, results, _evidence(run), evidence_from=run.parts.options.panel.evidence_from)
    by_checkpoint = {result.checkpoint: result for result in results}
    every = list(_every(run))
    skipped = [result for result in every if result.state is CheckpointState.SKIPPED]
    verdicts = [result.verdict for result in every if result.verdict is not None]
    return ResearchSession(
        log_id=run.question.log_id,
        created_at=run.parts.clock.now(),
        question=run.question.text,
        status=status,
        kind=plan.kind,
        outcome=judged.outcome,
        overall_score=judged.overall_score,
        plan_score=by_checkpoint[Checkpoint.PLAN].score,
        retrieval_score=by_checkpoint[Checkpoint.RETRIEVAL].score,
        answer_score=by_checkpoint[Checkpoint.ANSWER].score if Checkpoint.ANSWER in by_checkpoint else None,
        scores={name: score for result in results for name, score in result.scores.items()},
        failed_dimensions=tuple(dict.fromkeys(name for result in results for name in result.failed_dimensions)),
        passed=judged.passed,
        failure_type=_failure(run, results),
        iterations=len(run.plan_attempts),
        exhausted=run.exhausted,
        escalated=any(verdict.escalation is not None and verdict.escalation.scored for verdict in verdicts),
        severe=run.retrieval.passed is False,
        regenerated=len(run.answer_attempts) > 1,
        skipped=bool(skipped),
        skip_reason="; ".join(f"{result.checkpoint}: {result.reason}" for result in skipped)[:4_000],
        judge_failed=any(result.state is CheckpointState.JUDGE_FAILED for result in every),
        evaluated_by=_by(run),
        evaluation_ms=sum(result.latency_ms for result in every),
        tokens=_tokens([verdict.tokens for verdict in verdicts]),
        prompt_versions=tuple(sorted(set(_prompts(run)))),
    )


def _evidence(run: ResearchRun) -> float | None:
    """Return the chance that the passages answer the question; None: nobody says."""
    synthesis = run.chosen_answer.synthesis if run.answer_attempts else None
    return find_evidence(synthesis, run.retrieval, len(run.found.passages))


def _every(run: ResearchRun) -> Iterator[CheckpointResult]:
    yield from (attempt.result for attempt in run.plan_attempts)
    yield run.retrieval
    yield from (attempt.result for attempt in run.answer_attempts)


def _failure(run: ResearchRun, results: Sequence[CheckpointResult]) -> str:
    """What failed first, by name; a plan that was mended afterwards counts too: there is something to learn from it."""
    plans = [attempt.result for attempt in run.plan_attempts if attempt.result.passed is False]
    if plans:
        return failure_of(plans[0])
    failed = [result.checkpoint for result in results if result.passed is False]
    return {Checkpoint.RETRIEVAL: "weak_retrieval", Checkpoint.ANSWER: "weak_answer"}[failed[0]] if failed else ""


def _by(run: ResearchRun) -> EvaluatedBy:
    kinds = {
        role.kind
        for result in _every(run)
        if result.verdict is not None
        for role in result.verdict.results
        if role.scored
    }
    if len(kinds) > 1:
        return EvaluatedBy.MIXED
    return EvaluatedBy(kinds.pop()) if kinds else EvaluatedBy.NOBODY


def _prompts(run: ResearchRun) -> Iterator[str]:
    made = [attempt.plan.prompt for attempt in run.plan_attempts] + [
        attempt.synthesis.prompt for attempt in run.answer_attempts
    ]
    yield from (result for result in made if result)
    # A version whose reply could not be used was asked all the same: left out, a bad one would look better than it is.
    yield from run.parts.dealt
    for verdict in (result.verdict for result in _every(run) if result.verdict is not None):
        yield from (role.prompt for role in verdict.results if role.prompt)
        if verdict.escalation is not None and verdict.escalation.prompt:
            yield verdict.escalation.prompt


def _tokens(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
