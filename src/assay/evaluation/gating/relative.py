"""Not worse than the baseline by more than is allowed, and significantly so.

Two conditions, so that noise raises no alarm: the drop is beyond the allowed share, and the paired test over the cases
(Holm over all metrics) calls it worse. A drop beyond the share that is not significant is `inconclusive`: it may be
real, and this dataset is too small to tell. With `strict` the first condition alone fails.

Where one deciding metric was named beforehand, it is tested alone, without Holm; the others are listed and decide
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from assay.evaluation.comparing import Compared
from assay.evaluation.gating.bounds import beyond
from assay.evaluation.gating.question import GateOptions, Question
from assay.evaluation.gating.registering import gate_rule
from assay.evaluation.gating.verdict import RuleVerdict, Status
from assay.evaluation.pairing import MetricChange, metric_changes, paired
from assay.evaluation.readings import lower_is_better
from assay.metrics.spec import MetricSpec

RULE = "relative"


@gate_rule("relative")
def judge_relative(question: Question) -> Iterator[RuleVerdict]:
    """One verdict for each metric that run and baseline share."""
    if question.compared is None:
        yield RuleVerdict(rule=RULE, status=Status.NOT_APPLICABLE, sentence="there is no baseline to compare with")
        return
    for metric, change in question.compared.metrics.items():
        if not has_share(metric) or metric in question.diagnostic:
            continue
        if change.before is None or change.after is None:
            yield _unpaired(metric, question.compared)
            continue
        deciding = question.options.metric
        if deciding == metric:
            change = _tested_alone(metric, question, question.compared)  # noqa: PLW2901 - the same, alone
        worse = worsening(metric, change.before or 0.0, change.after or 0.0)
        judged = _judge(metric, change, worse, question.options)
        yield judged if deciding in (None, metric) else _beside(judged, str(deciding))


def _tested_alone(metric: str, question: Question, compared: Compared) -> MetricChange:
    """The change of a metric that was named beforehand: the number of the others does not weigh on it."""
    pairs = {metric: paired(compared.control, compared.treatment, metric)}
    return metric_changes(pairs, rng=np.random.default_rng(question.options.seed), rules=question.draws)[metric]


def _beside(judged: RuleVerdict, deciding: str) -> RuleVerdict:
    """A metric that is shown while another one decides."""
    sentence = f"{judged.sentence}; {deciding} decides, not this"
    return replace(judged, status=Status.NOT_APPLICABLE, sentence=sentence)


def has_share(metric: str) -> bool:
    """Whether a share of a metric's value means anything: not of a difference, which may be 0 or below."""
    lowest = MetricSpec.parse(metric).entry.lowest
    return lowest is not None and lowest >= 0.0


def _unpaired(metric: str, compared: Compared) -> RuleVerdict:
    """No case has a value on both sides: it never arises, or one side lacks what the other has."""
    arises = any(side.values(metric) for side in (compared.control, compared.treatment))
    lacking = f"{metric} has no case with a value both in the baseline and in the run"
    return RuleVerdict(
        rule=RULE,
        about=metric,
        status=Status.INCONCLUSIVE if arises else Status.NOT_APPLICABLE,
        sentence=lacking if arises else f"{metric} has a value in no case, neither in the baseline nor in the run",
    )


def worsening(metric: str, before: float, after: float) -> float:
    """The share of the baseline's value by which a metric became worse; negative when it became better."""
    lost = after - before if lower_is_better(metric) else before - after
    if before == 0.0:
        return math.inf if lost > 0 else 0.0
    return lost / abs(before)


def status_of(worse: float, options: GateOptions, *, significant: bool) -> Status:
    """What a worsening by this share means."""
    if not beyond(worse, options.drop):
        return Status.PASS
    return Status.FAIL if significant or options.strict else Status.INCONCLUSIVE


def _judge(metric: str, change: MetricChange, worse: float, options: GateOptions) -> RuleVerdict:
    significant = change.comparison.verdict == "worse"
    unproven = beyond(worse, options.drop) and not significant
    return RuleVerdict(
        rule=RULE,
        about=metric,
        status=status_of(worse, options, significant=significant),
        sentence=_sentence(metric, change, options, unproven=unproven),
        evidence=_evidence(change, worse, options),
    )


def _evidence(change: MetricChange, worse: float, options: GateOptions) -> dict[str, object]:
    seen = change.comparison
    return {
        "before": change.before,
        "after": change.after,
        "worse": worse if math.isfinite(worse) else None,
        "allowed": options.drop,
        "strict": options.strict,
        "interval": None if seen.interval is None else [seen.interval.low, seen.interval.high],
        "p_adjusted": seen.p_adjusted,
        "verdict": seen.verdict,
        "n": seen.n,
        "units": seen.units,
        "minimum_detectable_effect": seen.minimum_detectable_effect,
    }


def _sentence(metric: str, change: MetricChange, options: GateOptions, *, unproven: bool) -> str:
    before, after = change.before or 0.0, change.after or 0.0
    if before == after:
        return f"{metric} stands at {after:.2f} as in the baseline"
    digits = 2 if f"{before:.2f}" != f"{after:.2f}" else 4
    moved = f"{metric} {'fell' if after < before else 'rose'} from {before:.{digits}f} to {after:.{digits}f}"
    sign = "+" if lower_is_better(metric) else "-"
    allowed = f"allowed {sign}{options.drop * 100:g} %"
    p = _p(change, alone=options.metric == metric)
    return f"{moved}{_percent(change)}, {allowed}{p}{_doubt(change) if unproven else ''}"


def _percent(change: MetricChange) -> str:
    """The change in percent of the baseline's mean, with the interval of the difference in the same unit."""
    before, limits = change.before or 0.0, change.comparison.interval
    if before == 0.0:
        return ""
    shown = f": {((change.after or 0.0) - before) / before * 100:+.1f} %"
    if limits is None or limits.low is None or limits.high is None:
        return shown
    return f"{shown} [{limits.low / before * 100:+.1f}, {limits.high / before * 100:+.1f}]"


def _p(change: MetricChange, *, alone: bool) -> str:
    p = change.comparison.p_adjusted
    if p is None:
        return ""
    shown = f"{p:.4f}" if p >= 0.00005 else f"{p:.1e}"
    return f", p = {shown}{'' if alone else ' (Holm)'}"


def _doubt(change: MetricChange) -> str:
    seen = change.comparison
    units = f"{seen.n} cases" if seen.units == seen.n else f"{seen.units} clusters of {seen.n} cases"
    if seen.verdict == "withheld":
        return f"; {seen.sentence[0].lower()}{seen.sentence[1:].rstrip('.')}"
    if seen.verdict in ("too_few", "unresolvable"):
        return f"; {units} cannot show whether that is chance, it takes at least {seen.queries_needed}"
    smallest = seen.minimum_detectable_effect
    sight = "" if smallest is None else f", {units} see {smallest:.2g} or more"
    return f"; not significant{sight}"
