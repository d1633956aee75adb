"""Cases that the baseline answered and the run no longer does.

A case is lost when its value was above 0 and is 0 now, or the system failed on it. Where runs were repeated, a drop
within twice the case's own variation between repeats is noise and does not count.

A system that does not answer the same way twice loses some cases and gains others although nothing changed. So lost
cases fail the gate when they outnumber those gained by more than chance (a one-sided sign test; the cases of a cluster
rise and fall together and count once), or when repeats of both runs show that the system never varies. Else they leave
it `inconclusive`: it cannot be told whether they are noise. With `strict` any lost case fails.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from assay.evaluation.gating.question import GateOptions, Question
from assay.evaluation.gating.registering import gate_rule
from assay.evaluation.gating.verdict import RuleVerdict, Status
from assay.evaluation.readings import Reading, lower_is_better
from assay.metrics.spec import MetricSpec
from assay.records.outcome import OutcomeKind

RULE = "lost cases"
TELLING = ("recall", "recall_any", "success", "mrr", "anchor_mrr", "ndcg")
"""Metrics that are 0 when nothing that was wanted came back; the first one measured tells."""
NOISE = 2.0
"""So many standard deviations between repeats are noise."""
ALPHA = 0.05
_NAMED = 5


@gate_rule("lost-cases")
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
    yield _judge(before, after, metric, question.options)


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


def gained_cases(before: Reading, after: Reading, metric: str) -> list[str]:
    """Cases that were 0 or failed in the baseline and are above 0 now, beyond the noise of repeats."""
    return lost_cases(after, before, metric)


def is_steady(before: Reading, after: Reading, metric: str) -> bool:
    """Whether both sides repeated every case and no case ever varied: then any difference between them is real."""
    return all(
        reading.statuses
        and all(len(statuses) > 1 for statuses in reading.statuses.values())
        and not any(reading.noise.get(metric, {}).values())
        for reading in (before, after)
    )


def _judge(before: Reading, after: Reading, metric: str, options: GateOptions) -> RuleVerdict:
    lost, gained = lost_cases(before, after, metric), gained_cases(before, after, metric)
    steady = is_steady(before, after, metric)
    units = _independent(lost, gained, {**before.clusters, **after.clusters})
    p = _chance(units[0] - options.lost, units[1])
    status = _status(lost, options, certain=steady or p <= ALPHA)
    limit = f", allowed {options.lost}" if options.lost and lost else ""
    count = f"{len(lost) or 'no'} case{'' if len(lost) == 1 else 's'} lost since the baseline"
    why = _in_clusters(lost, gained, units) + _why(status, p, options, steady=steady)
    return RuleVerdict(
        rule=RULE,
        about=metric,
        status=status,
        sentence=f"{count} (by {metric}{limit}; {len(gained)} gained){_named(lost, before, after)}{why}",
        evidence={
            "metric": metric,
            "lost": lost,
            "gained": gained,
            "allowed": options.lost,
            "lost_units": units[0],
            "gained_units": units[1],
            "p": p,
            "steady": steady,
        },
    )


def _independent(lost: Sequence[str], gained: Sequence[str], clusters: Mapping[str, str]) -> tuple[int, int]:
    """Count clusters that lost more cases than they gained, and the other way round; a case without one is its own."""
    net: Counter[tuple[bool, str]] = Counter()
    for case, change in (*((case, 1) for case in lost), *((case, -1) for case in gained)):
        net[case in clusters, clusters.get(case, case)] += change
    return sum(change > 0 for change in net.values()), sum(change < 0 for change in net.values())


def _in_clusters(lost: Sequence[str], gained: Sequence[str], units: tuple[int, int]) -> str:
    if not lost or units == (len(lost), len(gained)):
        return ""
    return f"; counted by cluster: {units[0]} lost, {units[1]} gained"


def _status(lost: Sequence[str], options: GateOptions, *, certain: bool) -> Status:
    if len(lost) <= options.lost:
        return Status.PASS
    return Status.FAIL if certain or options.strict else Status.INCONCLUSIVE


def _chance(lost: int, gained: int) -> float:
    """How likely a system that did not change loses so many more cases than it gains, or more (one-sided)."""
    if lost <= 0:
        return 1.0
    changed = lost + gained
    as_extreme = sum(math.comb(changed, count) for count in range(lost, changed + 1))
    return float(Fraction(as_extreme, 2**changed))


def _why(status: Status, p: float, options: GateOptions, *, steady: bool) -> str:
    if status is Status.PASS:
        return ""
    if steady:
        return "; no case varies between repeats"
    if status is Status.FAIL:
        return f"; p = {p:.2g} if nothing had changed" if p <= ALPHA else ""
    remedy = "repeat both runs (--repeat 3) to know how much they vary" if not options.lost else "look at each of them"
    return f"; chance alone does this with p = {p:.2g}: {remedy}, or accept them with --allow-lost"


def _named(lost: Sequence[str], before: Reading, after: Reading) -> str:
    texts = after if after.queries else before
    more = f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
    return f": {', '.join(texts.called(case) for case in lost[:_NAMED])}{more}" if lost else ""


def _outside(sentence: str) -> RuleVerdict:
    return RuleVerdict(rule=RULE, status=Status.NOT_APPLICABLE, sentence=sentence)
