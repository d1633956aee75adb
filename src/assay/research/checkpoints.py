"""The three checkpoints: evaluate plan, passages and answer, and decide who passes.

- What happens when evaluation itself fails.
- Evaluations reused for similar questions (flag `similar_evaluations`).
- Evaluating at a checkpoint.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.hashing import content_hash
from assay.judging.panel import Panel, describe_problem
from assay.judging.panel_options import PanelOptions, below, within
from assay.records.fields import plain
from assay.records.judging import CheckpointResult, CheckpointState, PanelState, PanelVerdict, RoleOutcome, Trigger
from assay.records.research import Checkpoint, Dimension, Material, Passage

if TYPE_CHECKING:
    from assay.clock import Clock
    from assay.research.options import ResearchOptions

# --- What happens when evaluation itself fails ---
#
# - No model to ask, or its budget spent: the checkpoint is skipped with the reason, and the flow goes on.
# - Not done in time: what came counts if a quorum did, else the checkpoint is skipped.
# - Scores that cannot be read: the flow goes on as if it had passed; the record says `judge_failed`.
# - A loop that fails: the best attempt so far is used (`iteration`).
# - A record that cannot be kept, or a listener that raises: noted, and the answer arrives all the same.
#
# Logs name the checkpoint and what happened, never what was judged.

_log = logging.getLogger("assay.research")
_log.addHandler(logging.NullHandler())


class VerdictStanding(NamedTuple):
    """Whether a verdict counts, and if not, why."""

    state: CheckpointState
    reason: str


def judge_verdict(verdict: PanelVerdict) -> VerdictStanding:
    """What a verdict is worth."""
    if verdict.state is PanelState.NO_CONFIDENCE and verdict.aggregate is None:
        return VerdictStanding(CheckpointState.JUDGE_FAILED, "no role has any confidence in its scores")
    if verdict.aggregate is not None:
        return VerdictStanding(CheckpointState.SCORED, "")
    if verdict.state is PanelState.NOT_MEASURED:
        reasons = "; ".join(dict.fromkeys(verdict.not_measured.values()))
        return VerdictStanding(CheckpointState.NOT_MEASURED, reasons or "no dimension could be measured")
    lost = [result for result in verdict.results if not result.scored]
    if any(result.outcome is RoleOutcome.UNREADABLE for result in lost):
        first = next(result for result in lost if result.outcome is RoleOutcome.UNREADABLE)
        return VerdictStanding(CheckpointState.JUDGE_FAILED, f"{_outcomes(verdict)}: {first.reason}")
    return VerdictStanding(
        CheckpointState.SKIPPED, f"{_outcomes(verdict)}: {lost[0].reason}" if lost else "there is no evaluator"
    )


def evaluate_safely(work: Callable[[], CheckpointResult], checkpoint: Checkpoint) -> CheckpointResult:
    """The result of an evaluation; one that raises is skipped with the reason."""
    try:
        result = work()
    except Exception as problem:  # noqa: BLE001 - evaluation never breaks what it evaluates
        result = CheckpointResult(
            checkpoint=checkpoint, state=CheckpointState.SKIPPED, reason=describe_problem(problem)
        )
    if result.state in {CheckpointState.SKIPPED, CheckpointState.JUDGE_FAILED}:
        outcomes = "" if result.verdict is None else f" ({_outcomes(result.verdict)})"
        _log.warning("%s evaluation: %s%s, continuing", checkpoint, result.state, outcomes)
    return result


def store_safely(keep: Callable[[], None]) -> str:
    """Keep a record; what went wrong, or nothing."""
    try:
        keep()
    except Exception as problem:  # noqa: BLE001 - the answer arrives also when its record does not
        _log.error("the evaluation could not be kept: %s", type(problem).__name__)
        return describe_problem(problem)
    return ""


def notify_safely(tell: Callable[[], None]) -> bool:
    """Call a listener; returns False if it raised, and then it is not called again."""
    try:
        tell()
    except Exception as problem:  # noqa: BLE001 - whoever watches does not stop what is watched
        _log.warning("a listener raised %s and is told no more", type(problem).__name__)
        return False
    return True


def _outcomes(verdict: PanelVerdict) -> str:
    counted = Counter(result.outcome.value for result in verdict.results)
    return ", ".join(f"{count} {name}" for name, count in sorted(counted.items()))


# --- Evaluations reused for similar questions (flag `similar_evaluations`) ---
#
# What was judged has to be the same: the same passages, the same answer, the same panel with the same numbers. Only
# the question may be worded otherwise, and with it the plan, whose queries then have to be alike one by one. It
# outlives a pipeline, so that whoever asks next gains from it; it belongs to one tenant.

Alike = Callable[[str, str], bool]
"""Whether two texts ask the same."""
REMEMBERED = 512
COMPARED = 32
"""Evaluations of the same things that a question is compared with, the newest first."""
TAKEN_OVER = "taken over from a question that asks the same"


class _Kept(NamedTuple):
    seen: str
    texts: tuple[str, ...]
    result: CheckpointResult


class SimilarEvaluations:
    """Remembers evaluations by what was judged, and finds them again by a question like theirs."""

    def __init__(self, alike: Alike, *, size: int = REMEMBERED) -> None:
        self._alike = alike
        self._kept: deque[_Kept] = deque(maxlen=size)
        self._gate = threading.Lock()

    def find(self, material: Material, judged_by: Any) -> CheckpointResult | None:
        """Return the evaluation of the same material for a similar question, marked as reused; else None."""
        seen, texts = _fingerprint(material, judged_by), _texts(material)
        with self._gate:
            candidates = list(islice((entry for entry in self._kept if entry.seen == seen), COMPARED))
        found = next((candidate for candidate in candidates if self._are_alike(texts, candidate.texts)), None)
        return None if found is None else replace(found.result, cached=True, reason=TAKEN_OVER)

    def keep(self, material: Material, judged_by: Any, result: CheckpointResult) -> None:
        """Remember an evaluation; the oldest is forgotten for it."""
        with self._gate:
            self._kept.appendleft(_Kept(_fingerprint(material, judged_by), _texts(material), result))

    def _are_alike(self, mine: tuple[str, ...], theirs: tuple[str, ...]) -> bool:
        """Texts that cannot be compared are not alike: what was to save an evaluation must not cost it."""
        try:
            return all(self._alike(text, other) for text, other in zip(mine, theirs, strict=True))
        except Exception as problem:  # noqa: BLE001 - as above
            _log.warning("questions could not be compared: %s, evaluating", type(problem).__name__)
            return False


def _texts(material: Material) -> tuple[str, ...]:
    """What may be worded otherwise: the question, and at the plan checkpoint what the plan searches."""
    if material.checkpoint is Checkpoint.PLAN and material.plan is not None:
        return (material.question, *material.plan.texts)
    return (material.question,)


def _fingerprint(material: Material, judged_by: Any) -> str:
    """Everything else that moves a verdict, as one key; of the time, the day."""
    day = None if material.now is None else material.now.date().isoformat()
    judged = [_source(passage) for passage in material.passages]
    answer = plain(replace(material.synthesis, confidence=None)) if material.synthesis is not None else None
    return content_hash([material.checkpoint.value, len(_texts(material)), judged, answer, day, judged_by])


def _source(passage: Passage) -> list[Any]:
    """A passage without how well it matched, which is the question's own."""
    return [passage.memory_id, passage.title, passage.text, plain(passage.updated_at), passage.superseded]


# --- Evaluating at a checkpoint ---
#
# A plan passes when its aggregate does, its intent and its coverage are above their bars, and, if the aggregate is
# borderline, its scope too. Retrieval passes when neither its aggregate nor its context recall is severe. An answer
# passes by its aggregate.

ALWAYS = {
    Checkpoint.PLAN: (Dimension.INTENT_ALIGNMENT, Dimension.QUERY_COVERAGE),
    Checkpoint.RETRIEVAL: (Dimension.CONTEXT_RECALL,),
    Checkpoint.ANSWER: (),
}
"""Dimensions that fail a checkpoint by themselves, independent of the aggregate."""
IF_BORDERLINE = {Checkpoint.PLAN: (Dimension.SCOPE_APPROPRIATENESS,)}


class CheckpointEvaluator:
    """Evaluates what a pipeline made, and never raises."""

    def __init__(
        self, panel: Panel, *, options: ResearchOptions, clock: Clock, similar: SimilarEvaluations | None = None
    ) -> None:
        self._panel = panel
        self._similar = similar
        self._options = options
        self._clock = clock
        self._kept: OrderedDict[str, CheckpointResult] = OrderedDict()
        self._gate = threading.Lock()

    def evaluate(self, material: Material, *, deadline_s: float | None = None) -> CheckpointResult:
        """Evaluate material within the checkpoint's time limit, or a shorter deadline."""
        checkpoint = material.checkpoint
        given = self._options.checkpoints[checkpoint]
        if not given.enabled:
            return CheckpointResult(checkpoint=checkpoint, state=CheckpointState.DISABLED)
        allowed = given.timeout_s if deadline_s is None else min(deadline_s, given.timeout_s)
        began = self._clock.monotonic()
        result = evaluate_safely(lambda: self._evaluate_once(material, allowed), checkpoint)
        return replace(result, latency_ms=(self._clock.monotonic() - began) * 1000.0)

    def last_resort(self, material: Material, result: CheckpointResult, *, deadline_s: float) -> CheckpointResult:
        """The result after the larger model has looked at an attempt that was the last one allowed."""
        verdict = result.verdict
        if verdict is None or verdict.aggregate is None or verdict.escalation is not None:
            return result

        def work() -> CheckpointResult:
            seen = self._panel.escalate(material, verdict, (Trigger.EXHAUSTED,), deadline_s=deadline_s)
            return result_of(seen, self._options.panel)

        return evaluate_safely(work, material.checkpoint)

    def _evaluate_once(self, material: Material, allowed: float) -> CheckpointResult:
        key = self._key(material)
        with self._gate:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
                return replace(kept, cached=True)
        taken = None if self._similar is None else self._similar.find(material, self._panel_key())
        if taken is not None:
            return taken
        result = result_of(self._panel.judge(material, deadline_s=allowed), self._options.panel)
        if result.verdict is not None and _is_complete(result.verdict):
            self._remember(key, result)
            if self._similar is not None:
                self._similar.keep(material, self._panel_key(), result)
        return result

    def _remember(self, key: str, result: CheckpointResult) -> None:
        with self._gate:
            self._kept[key] = result
            while len(self._kept) > self._options.remembered:
                self._kept.popitem(last=False)

    def _panel_key(self) -> list[Any]:
        """Who judges and by which numbers: evaluations are shared between pipelines whose settings may differ."""
        return [self._panel.identity, plain(self._options.panel)]

    def _key(self, material: Material) -> str:
        """Everything that moves a verdict; of the time, the day."""
        day = None if material.now is None else material.now.date().isoformat()
        return content_hash([plain(replace(material, now=None)), day, self._panel.identity])


def _is_complete(verdict: PanelVerdict) -> bool:
    """Return whether every role scored, and the reviewer too if there was an escalation."""
    asked = verdict.escalation is not None and bool(verdict.escalation.model)
    settled = not asked or (verdict.escalation is not None and verdict.escalation.scored)
    return verdict.state is PanelState.FULL and settled


def result_of(verdict: PanelVerdict, options: PanelOptions) -> CheckpointResult:
    """What a verdict means for its checkpoint."""
    standing = judge_verdict(verdict)
    if standing.state is not CheckpointState.SCORED:
        return CheckpointResult(
            checkpoint=verdict.checkpoint, state=standing.state, verdict=verdict, reason=standing.reason
        )
    return CheckpointResult(
        checkpoint=verdict.checkpoint,
        state=CheckpointState.SCORED,
        verdict=verdict,
        passed=passes(verdict, options),
        failed_dimensions=dimensions_below_bar(verdict, options),
    )


def passes(verdict: PanelVerdict, options: PanelOptions) -> bool:
    """Whether a checkpoint lets a scored verdict through."""
    checkpoint, threshold = verdict.checkpoint, options.thresholds[verdict.checkpoint]
    if verdict.aggregate is None or below(verdict.aggregate, threshold):
        return False
    failed = set(dimensions_below_bar(verdict, options))
    if failed & {dimension.value for dimension in ALWAYS[checkpoint]}:
        return False
    if not within(verdict.aggregate, threshold, options.borderline):
        return True
    return not failed & {dimension.value for dimension in IF_BORDERLINE.get(checkpoint, ())}


def dimensions_below_bar(verdict: PanelVerdict, options: PanelOptions) -> tuple[str, ...]:
    """Dimensions below their bar."""
    return tuple(name for name, score in verdict.scores.items() if below(score, options.bar(verdict.checkpoint, name)))
