"""The panel: all roles of a checkpoint evaluate in parallel within one deadline, and give one verdict.

- Escalation to a larger model.
- The panel.
"""

from __future__ import annotations

import queue
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from assay.errors import AssayError, ModelError
from assay.judging.injection import InjectionGuard, dimension_lines, render_material, render_results, score_properties
from assay.judging.panel_options import AggregatedScores, PanelOptions, aggregate_scores, below, mean_by_weight, within
from assay.judging.rubric import find_errors
from assay.models.chat import ChatModel, ChatRequest, Message, storable
from assay.models.structured import UnreadableReply, ask_structured, last_object
from assay.records.judging import EscalationResult, PanelState, PanelVerdict, RoleOutcome, RoleResult, Trigger

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from assay.clock import Clock
    from assay.judging.prompts import Prompt
    from assay.judging.protocol import Evaluator
    from assay.records.judging import JudgeKind
    from assay.records.research import Checkpoint, Material

# --- Escalation to a larger model ---
#
# It is asked when all roles are unconfident, when two of them are far apart on a dimension, and when the aggregate
# lies at its threshold. It sees the material, every role's scores and critique, and gives scores of its own.

MAX_TOKENS = 1_024
LONGEST = 2_000
"""Characters of one text of the reviewer that are kept."""


class Reviewer(Protocol):
    """Reviews the verdict of an unsure panel."""

    @property
    def name(self) -> str:
        """The model."""
        ...

    def review(
        self, material: Material, verdict: PanelVerdict, triggers: Sequence[Trigger], deadline_s: float
    ) -> EscalationResult:
        """Whom to trust, and the scores that count."""
        ...


def triggers_of(verdict: PanelVerdict, options: PanelOptions) -> tuple[Trigger, ...]:
    """Why a larger model should look at a verdict; nothing when there are no scores to look at."""
    scored = [result for result in verdict.results if result.scored]
    if verdict.state in {PanelState.NO_QUORUM, PanelState.NOT_MEASURED}:
        return ()
    found = []
    if all(below(result.confidence or 0.0, options.sure_from) for result in scored):
        found.append(Trigger.LOW_CONFIDENCE)
    if any(below(options.most_apart, spread) for spread in verdict.spread.values()):
        found.append(Trigger.DISAGREEMENT)
    threshold = options.thresholds[verdict.checkpoint]
    if verdict.aggregate is not None and within(verdict.aggregate, threshold, options.borderline):
        found.append(Trigger.BORDERLINE)
    return tuple(found)


class ModelReviewer:
    """A model that reviews the panel."""

    def __init__(
        self, model: ChatModel, prompt: Prompt, *, guard: InjectionGuard, max_tokens: int = MAX_TOKENS
    ) -> None:
        self._model = model
        self._prompt = prompt
        self._guard = guard
        self._max_tokens = max_tokens

    @property
    def name(self) -> str:
        """The model."""
        return self._model.name

    def review(
        self, material: Material, verdict: PanelVerdict, triggers: Sequence[Trigger], deadline_s: float
    ) -> EscalationResult:
        """Review a verdict. Every failure of the model is an outcome, never an exception."""
        schema = _schema(verdict)
        request = ChatRequest(
            messages=(
                Message(role="system", content=self._prompt.system),
                Message(role="user", content=self._task_text(material, verdict, triggers)),
            ),
            schema=schema,
            schema_name="review",
            max_tokens=self._max_tokens,
            deadline_s=deadline_s,
        )
        about: dict[str, Any] = {"triggers": tuple(triggers), "model": self.name, "prompt": self._prompt.key}
        try:
            found = ask_structured(self._model, request, lambda text: _read(text, schema))
        except ModelError as problem:
            return EscalationResult(outcome=RoleOutcome.UNAVAILABLE, reason=problem.message[:LONGEST], **about)
        about |= {
            "raw": found.raw,
            "latency_ms": sum(reply.latency_ms for reply in found.replies),
            "tokens": tokens_of([reply.tokens for reply in found.replies]),
        }
        if found.value is None:
            return EscalationResult(outcome=RoleOutcome.UNREADABLE, reason=found.problem[:LONGEST], **about)
        said = found.value
        return EscalationResult(
            outcome=RoleOutcome.SCORED,
            panel_review=storable(said["panel_review"])[:LONGEST],
            verdict=storable(said["verdict"])[:LONGEST],
            trust=said["trust"],
            scores=said["scores"],
            **about,
        )

    def _task_text(self, material: Material, verdict: PanelVerdict, triggers: Sequence[Trigger]) -> str:
        return "\n\n".join(
            [
                render_material(material, self._guard).text,
                render_results(verdict.results, self._guard),
                f"The panel is reviewed because of: {', '.join(triggers)}.",
                dimension_lines(list(verdict.scores)),
                self._prompt.task,
            ]
        )


def tokens_of(counts: Sequence[int | None]) -> int | None:
    """All together; None when one was not counted."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _schema(verdict: PanelVerdict) -> dict[str, Any]:
    roles = [result.role for result in verdict.results if result.scored]
    trust = {name: {"type": "number", "minimum": 0, "maximum": 1} for name in roles}
    text = {"type": "string", "maxLength": LONGEST}
    return {
        "type": "object",
        "required": ["panel_review", "trust", "verdict", "scores"],
        "properties": {
            "panel_review": text,
            "trust": {"type": "object", "required": roles, "properties": trust},
            "verdict": text,
            "scores": score_properties(list(verdict.scores)),
        },
    }


def _read(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    def fits(found: dict[str, Any]) -> dict[str, Any]:
        problem = next(find_errors(found, schema), None)
        if problem is not None:
            raise UnreadableReply(problem)
        known = schema["properties"]
        return found | {name: {key: float(found[name][key]) for key in known[name]["required"]} for name in _NUMBERS}

    return last_object(text, fits)


_NUMBERS = ("trust", "scores")


# --- The panel ---
#
# A `PanelMember` is a role; built-in and user-written evaluators become one by `EvaluatorMember`, a model by
# `roles.ModelRole`. A member that raises, hangs or gives nonsense is an outcome of its own, and the others count. Work
# is done in daemon threads, a bounded number over the whole panel: one that never ends takes its place and nothing
# else.

SHORTEST_S = 0.05
"""Escalation needs at least this much time, in seconds."""


class PanelMember(Protocol):
    """One role of a panel."""

    @property
    def role(self) -> str:
        """Whose view it gives."""
        ...

    @property
    def name(self) -> str:
        """The name and version of the evaluator."""
        ...

    @property
    def kind(self) -> JudgeKind:
        """Whether rules or a model evaluate."""
        ...

    def examine(self, material: Material, deadline_s: float) -> RoleResult:
        """Look at the material; may raise, and may take longer than it should."""
        ...


class EvaluatorMember:
    """An evaluator as a member of a panel."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    @property
    def role(self) -> str:
        """Whose view it gives."""
        return str(self._evaluator.role)

    @property
    def name(self) -> str:
        """The name and version of the evaluator."""
        return self._evaluator.name

    @property
    def kind(self) -> JudgeKind:
        """Whether rules or a model evaluate."""
        return self._evaluator.kind

    def examine(self, material: Material, deadline_s: float) -> RoleResult:  # noqa: ARG002 - rules are quick
        """Return the evaluator's result."""
        said = self._evaluator.evaluate(material)
        return RoleResult(
            role=self.role,
            evaluator=self.name,
            kind=self.kind,
            scores={key.value: score for key, score in said.scores.items()},
            confidence=said.confidence,
            critique=said.critique,
            issues=said.issues,
            not_measured={key.value: why for key, why in said.not_measured.items()},
            sources=said.sources,
        )


class Panel:
    """All roles of all checkpoints, with a reviewer for unsure verdicts."""

    def __init__(
        self,
        members: Mapping[Checkpoint, Sequence[PanelMember]],
        *,
        clock: Clock,
        options: PanelOptions | None = None,
        reviewer: Reviewer | None = None,
    ) -> None:
        self._members = {checkpoint: tuple(those) for checkpoint, those in members.items()}
        self._clock = clock
        self.options = options or PanelOptions()
        self._reviewer = reviewer
        self._places = threading.BoundedSemaphore(self.options.threads)

    @property
    def identity(self) -> list[str]:
        """Who sits on it: part of the key under which an evaluation is kept."""
        return sorted(f"{key}/{member.role}/{member.name}" for key, those in self._members.items() for member in those)

    def judge(self, material: Material, *, deadline_s: float) -> PanelVerdict:
        """The verdict of the roles present, and of the larger model where they are unsure. Never raises."""
        began = self._clock.monotonic()
        results = self._ask_members(self._members.get(material.checkpoint, ()), material, deadline_s)
        verdict = verdict_of(material.checkpoint, results, self.options)
        if verdict.triggers:
            left = deadline_s - (self._clock.monotonic() - began)
            verdict = self.escalate(material, verdict, verdict.triggers, deadline_s=left)
        return replace(verdict, latency_ms=(self._clock.monotonic() - began) * 1000.0)

    def escalate(
        self, material: Material, verdict: PanelVerdict, triggers: Sequence[Trigger], *, deadline_s: float
    ) -> PanelVerdict:
        """The verdict after the larger model has seen it; as it was where there is none, with the reason."""
        said = self._review(material, verdict, tuple(triggers), deadline_s)
        verdict = replace(verdict, triggers=tuple(dict.fromkeys([*verdict.triggers, *triggers])), escalation=said)
        if not said.scored:
            return verdict
        scores = {**verdict.scores, **said.scores}
        weights = [(self.options.weight(name), 1.0, score) for name, score in scores.items()]
        return replace(verdict, scores=scores, aggregate=mean_by_weight(weights), state=_settle_state(verdict.state))

    def _review(
        self, material: Material, verdict: PanelVerdict, triggers: tuple[Trigger, ...], deadline_s: float
    ) -> EscalationResult:
        if self._reviewer is None:
            why = "no model is set up for escalation"
            return EscalationResult(triggers=triggers, outcome=RoleOutcome.UNAVAILABLE, reason=why)
        reviewer = self._reviewer
        if deadline_s < SHORTEST_S:
            return EscalationResult(
                triggers=triggers, outcome=RoleOutcome.TIMED_OUT, model=reviewer.name, reason="no time was left"
            )
        try:
            return reviewer.review(material, verdict, triggers, deadline_s)
        except Exception as problem:  # noqa: BLE001 - evaluation never breaks what it evaluates
            return EscalationResult(
                triggers=triggers, outcome=RoleOutcome.FAILED, model=reviewer.name, reason=describe_problem(problem)
            )

    def _ask_members(self, members: Sequence[PanelMember], material: Material, deadline_s: float) -> list[RoleResult]:
        """Return each member's result, in order; a member that misses the deadline has timed out."""
        done: queue.SimpleQueue[tuple[int, RoleResult]] = queue.SimpleQueue()
        began = self._clock.monotonic()
        for place, member in enumerate(members):
            work = self._work(place, member, material, deadline_s, done)
            threading.Thread(target=work, name=f"assay-panel-{member.role}", daemon=True).start()
        found: dict[int, RoleResult] = {}
        while len(found) < len(members):
            left = deadline_s - (self._clock.monotonic() - began)
            try:
                place, result = done.get(timeout=max(left, 0.001))
            except queue.Empty:
                break
            found[place] = result
        return [found.get(place) or _late(member, deadline_s) for place, member in enumerate(members)]

    def _work(
        self,
        place: int,
        member: PanelMember,
        material: Material,
        deadline_s: float,
        done: queue.SimpleQueue[tuple[int, RoleResult]],
    ) -> Callable[[], None]:
        def work() -> None:
            if not self._places.acquire(timeout=max(deadline_s, 0.001)):
                return
            try:
                done.put((place, self._one(member, material, deadline_s)))
            finally:
                self._places.release()

        return work

    def _one(self, member: PanelMember, material: Material, deadline_s: float) -> RoleResult:
        began = self._clock.monotonic()
        try:
            result = member.examine(material, deadline_s)
        except Exception as problem:  # noqa: BLE001 - evaluation never breaks what it evaluates
            result = RoleResult(
                role=member.role,
                evaluator=member.name,
                kind=member.kind,
                outcome=RoleOutcome.FAILED,
                reason=describe_problem(problem),
            )
        return replace(result, latency_ms=result.latency_ms or (self._clock.monotonic() - began) * 1000.0)


def verdict_of(checkpoint: Checkpoint, results: Sequence[RoleResult], options: PanelOptions) -> PanelVerdict:
    """Return the verdict of these results, before any escalation."""
    scored = [result for result in results if result.scored]
    found = aggregate_scores(checkpoint, results, options)
    state = _state(results, scored, found, options)
    confidences = [result.confidence for result in scored if result.confidence is not None]
    verdict = PanelVerdict(
        checkpoint=checkpoint,
        state=state,
        results=tuple(results),
        scores=found.scores,
        spread=found.spread,
        stood_in=tuple(name for name, counted in found.counted.items() if counted.stood_in),
        quiet=tuple(name for name, counted in found.counted.items() if counted.quiet),
        not_measured=found.not_measured,
        aggregate=None if state is PanelState.NO_QUORUM else found.value,
        confidence=sum(confidences) / len(confidences) if confidences else None,
        votes=found.votes,
    )
    return replace(verdict, triggers=triggers_of(verdict, options))


def _state(
    results: Sequence[RoleResult], scored: Sequence[RoleResult], found: AggregatedScores, options: PanelOptions
) -> PanelState:
    if not scored or len(scored) < options.quorum * len(results):
        return PanelState.NO_QUORUM
    if not found.counted:
        return PanelState.NOT_MEASURED
    if found.value is None:
        return PanelState.NO_CONFIDENCE
    return PanelState.FULL if len(scored) == len(results) else PanelState.DEGRADED


def _settle_state(state: PanelState) -> PanelState:
    """A larger model gives what confidence could not."""
    return PanelState.DEGRADED if state is PanelState.NO_CONFIDENCE else state


def _late(member: PanelMember, deadline_s: float) -> RoleResult:
    return RoleResult(
        role=member.role,
        evaluator=member.name,
        kind=member.kind,
        outcome=RoleOutcome.TIMED_OUT,
        reason=f"it was not done within {deadline_s:.3g} s",
        latency_ms=deadline_s * 1000.0,
    )


def describe_problem(problem: Exception) -> str:
    """Why something failed, for a record."""
    text = problem.message if isinstance(problem, AssayError) else f"{type(problem).__name__}: {problem}"
    return text[:1_000]
