"""Cases that the baseline answered and the run no longer does.

A case is lost when its value was above 0 and is 0 now, or the system failed on it. Where runs were repeated, a drop
within twice the case's own variation between repeats is noise and does not count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from assay.evaluation.gating.question import Question
from assay.evaluation.gating.verdict import RuleVerdict, Status
from assay.evaluation.readings import Reading, lower_is_better
from assay.metrics.spec import MetricSpec
from assay.records.outcome import OutcomeKind

RULE = "lost cases"
TELLING = ("recall", "recall_any", "success", "mrr", "anchor_mrr", "ndcg")
"""Metrics that are 0 when nothing that was wanted came back; the first one measured tells."""
NOISE = 2.0
"""So many standard deviations between repeats are noise."""
_NAMED = 5


def judge_lost(question: Question) -> Iterator[RuleVerdict]:
    """One verdict."""
    before, after = question.baseline, question.run
    if before is None or question.compared is None:
        yield _outside("there is no baseline from which cases could be lost")
        return
    metric = telling_metric(tuple(question.compared.metrics))
    if metric is None:
        yield _outside("no metric tells whether a case was found at all")
        return
    yield _judge(before, after, metric, question.options.lost)


def telling_metric(metrics: Sequence[str]) -> str | None:
    """The metric that says whether a case was found: in the order of `TELLING`, then as it was asked for."""
    names = {metric: MetricSpec.parse(metric).name for metric in metrics if not lower_is_better(metric)}
    return next((metric for name in TELLING for metric in metrics if names.get(metric) == name), None)


def lost_cases(before: Reading, after: Reading, metric: str) -> list[str]:
    """Cases above 0 in the baseline that are 0 or failed now, beyond the noise of repeats."""
    was, now = before.values(metric), after.outcomes[metric]
    return [
        case
        for case, value in was.items()
        if case in now
        and value > NOISE * _noise(before, after, metric, case)
        and _gone(now[case].kind, now[case].value)
    ]


def _gone(kind: OutcomeKind, value: float | None) -> bool:
    return value == 0.0 if kind is OutcomeKind.SCORED else kind is OutcomeKind.SYSTEM_FAILED


def _noise(before: Reading, after: Reading, metric: str, case: str) -> float:
    return math.hypot(*(one.noise.get(metric, {}).get(case, 0.0) for one in (before, after)))


def _judge(before: Reading, after: Reading, metric: str, allowed: int) -> RuleVerdict:
    lost = lost_cases(before, after, metric)
    was, now = before.values(metric), after.values(metric)
    gained = [case for case, value in now.items() if value > 0.0 and was.get(case) == 0.0]
    limit = f", allowed {allowed}" if allowed and lost else ""
    count = f"{len(lost) or 'no'} case{'' if len(lost) == 1 else 's'} lost since the baseline"
    return RuleVerdict(
        rule=RULE,
        about=metric,
        status=Status.FAIL if len(lost) > allowed else Status.PASS,
        sentence=f"{count} (by {metric}{limit}; {len(gained)} gained){_named(lost, before, after)}",
        evidence={"metric": metric, "lost": lost, "gained": gained, "allowed": allowed},
    )


def _named(lost: Sequence[str], before: Reading, after: Reading) -> str:
    texts = after if after.queries else before
    more = f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
    return f": {', '.join(texts.called(case) for case in lost[:_NAMED])}{more}" if lost else ""


def _outside(sentence: str) -> RuleVerdict:
    return RuleVerdict(rule=RULE, status=Status.NOT_APPLICABLE, sentence=sentence)
