"""Blessing a run as the baseline, and the reasons not to: every later run is held against it.

A run under its floors, one in which too many cases failed or were never tried, a sample, one that no seal protects or
that a gate could not decide would lower the bar without anybody wanting that. It is refused, unless somebody says why
it is blessed all the same: the reason and what was wrong are then written into the file, and every gate repeats them.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from assay.errors import NotReady
from assay.evaluation.baselines import Baseline
from assay.evaluation.gating.rules import QUALITY_RULE as UNASKED
from assay.evaluation.gating.rules import judge, refuse_nothing
from assay.evaluation.gating.verdict import GateOptions, Status
from assay.evaluation.readings import Reading
from assay.records.runs import CaseStatus

_NAMED = 3


def bless(
    reading: Reading, *, at: datetime, note: str = "", despite: str = "", options: GateOptions | None = None
) -> Baseline:
    """Return the baseline that a run becomes; raises `NotReady` for one that should not, unless `despite` says why."""
    refuse_nothing(reading)
    wrong = tuple(shortcomings(reading, options))
    if wrong and not despite.strip():
        more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
        raise NotReady(
            f"the run {reading.name} cannot be blessed: {'; '.join(wrong[:_NAMED])}{more}",
            remedy='Run again, or say why it is blessed all the same: --despite "REASON" writes that into the file.',
        )
    return Baseline(
        reading=reading,
        blessed_at=at,
        note=note,
        despite=despite.strip() if wrong else "",
        shortcomings=wrong,
    )


def shortcomings(reading: Reading, options: GateOptions | None = None) -> Iterator[str]:
    """Why a run should not be a baseline, one sentence a reason."""
    whole = len(reading.cases)
    if reading.sample is not None and reading.sample < 1.0:
        yield f"it is a sample of {reading.sample:.0%} of the cases"
    untried = sum(CaseStatus.SKIPPED in statuses for statuses in reading.statuses.values())
    if untried:
        yield f"{untried:,} of {whole:,} cases were never tried"
    for status in (Status.FAIL, Status.INCONCLUSIVE):
        # That nothing is asked of quality yet is what a first baseline is for.
        yield from (rule.sentence for rule in judge(reading, None, options).of(status) if rule.rule != UNASKED)
