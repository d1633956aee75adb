"""The three checkpoints: who passes, what failed, and that the same is not evaluated twice.

A plan passes when its aggregate does, its intent and its coverage are above their bars, and, if the aggregate is
borderline, its scope too. Retrieval passes when neither its aggregate nor its context recall is severe. An answer
passes by its aggregate.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from typing import Any

from assay.clock import Clock
from assay.hashing import content_hash
from assay.judging.panel import Panel
from assay.judging.panel_options import PanelOptions, below, within
from assay.records.panel import CheckpointResult, CheckpointState, PanelState, PanelVerdict, Trigger
from assay.records.plain import plain
from assay.records.research import Checkpoint, Dimension, Material
from assay.research.fail_safe import safely, standing_of
from assay.research.options import ResearchOptions
from assay.research.similar import SimilarEvaluations

ALWAYS = {
    Checkpoint.PLAN: (Dimension.INTENT_ALIGNMENT, Dimension.QUERY_COVERAGE),
    Checkpoint.RETRIEVAL: (Dimension.CONTEXT_RECALL,),
    Checkpoint.ANSWER: (),
}
"""Dimensions that fail a checkpoint by themselves, whatever the aggregate."""
IF_BORDERLINE = {Checkpoint.PLAN: (Dimension.SCOPE_APPROPRIATENESS,)}


class Checkpoints:
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
        """What the panel says of the material, within its checkpoint's time or what is left of it."""
        checkpoint = material.checkpoint
        given = self._options.checkpoints[checkpoint]
        if not given.enabled:
            return CheckpointResult(checkpoint=checkpoint, state=CheckpointState.DISABLED)
        allowed = given.timeout_s if deadline_s is None else min(deadline_s, given.timeout_s)
        began = self._clock.monotonic()
        result = safely(lambda: self._remembered(material, allowed), checkpoint)
        return replace(result, latency_ms=(self._clock.monotonic() - began) * 1000.0)

    def last_resort(self, material: Material, result: CheckpointResult, *, deadline_s: float) -> CheckpointResult:
        """The result after the larger model has looked at an attempt that was the last one allowed."""
        verdict = result.verdict
        if verdict is None or verdict.aggregate is None or verdict.escalation is not None:
            return result

        def work() -> CheckpointResult:
            seen = self._panel.escalated(material, verdict, (Trigger.EXHAUSTED,), deadline_s=deadline_s)
            return result_of(seen, self._options.panel)

        return safely(work, material.checkpoint)

    def _remembered(self, material: Material, allowed: float) -> CheckpointResult:
        key = self._key(material)
        with self._gate:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
                return replace(kept, cached=True)
        taken = None if self._similar is None else self._similar.find(material, self._judged_by())
        if taken is not None:
            return taken
        result = result_of(self._panel.judge(material, deadline_s=allowed), self._options.panel)
        if result.verdict is not None and _is_complete(result.verdict):
            self._remember(key, result)
            if self._similar is not None:
                self._similar.keep(material, self._judged_by(), result)
        return result

    def _remember(self, key: str, result: CheckpointResult) -> None:
        with self._gate:
            self._kept[key] = result
            while len(self._kept) > self._options.remembered:
                self._kept.popitem(last=False)

    def _judged_by(self) -> list[Any]:
        """Who judges and by which numbers: evaluations are shared between pipelines whose settings may differ."""
        return [self._panel.identity, plain(self._options.panel)]

    def _key(self, material: Material) -> str:
        """Everything that moves a verdict; of the time, the day."""
        day = None if material.now is None else material.now.date().isoformat()
        return content_hash([plain(replace(material, now=None)), day, self._panel.identity])


def _is_complete(verdict: PanelVerdict) -> bool:
    """Whether asking again could say no more: every role scored, and so did the larger model if one was asked."""
    asked = verdict.escalation is not None and bool(verdict.escalation.model)
    settled = not asked or (verdict.escalation is not None and verdict.escalation.scored)
    return verdict.state is PanelState.FULL and settled


def result_of(verdict: PanelVerdict, options: PanelOptions) -> CheckpointResult:
    """What a verdict means for its checkpoint."""
    standing = standing_of(verdict)
    if standing.state is not CheckpointState.SCORED:
        return CheckpointResult(
            checkpoint=verdict.checkpoint, state=standing.state, verdict=verdict, reason=standing.reason
        )
    return CheckpointResult(
        checkpoint=verdict.checkpoint,
        state=CheckpointState.SCORED,
        verdict=verdict,
        passed=passes(verdict, options),
        failed_dimensions=failed_in(verdict, options),
    )


def passes(verdict: PanelVerdict, options: PanelOptions) -> bool:
    """Whether a checkpoint lets a scored verdict through."""
    checkpoint, threshold = verdict.checkpoint, options.thresholds[verdict.checkpoint]
    if verdict.aggregate is None or below(verdict.aggregate, threshold):
        return False
    failed = set(failed_in(verdict, options))
    if failed & {one.value for one in ALWAYS[checkpoint]}:
        return False
    if not within(verdict.aggregate, threshold, options.borderline):
        return True
    return not failed & {one.value for one in IF_BORDERLINE.get(checkpoint, ())}


def failed_in(verdict: PanelVerdict, options: PanelOptions) -> tuple[str, ...]:
    """Dimensions below their bar."""
    return tuple(name for name, score in verdict.scores.items() if below(score, options.bar(verdict.checkpoint, name)))
