"""Rules that compare a run with its baseline: quality, latency and lost answers.

- Quality not worse than the baseline.
- Latency not worse than the baseline.
- Cases that the baseline answered and the run does not.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from assay.evaluation.comparison import MetricChange, metric_changes, pair_values
from assay.evaluation.gating.rules import gate_rule
from assay.evaluation.gating.verdict import GateOptions, Question, RuleVerdict, Status, beyond
from assay.evaluation.latency_comparison import FEWEST_TIMED
from assay.evaluation.paired_columns import find_lost
from assay.evaluation.readings import Reading, lower_is_better
from assay.metrics.spec import MetricSpec
from assay.records.evaluations import OutcomeKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assay.evaluation.comparison import Compared
    from assay.records.run_results import LatencyChange

# --- Quality not worse than the baseline ---
#
# Two conditions, so that noise raises no alarm: the drop is beyond the allowed share, and the paired test over the
# cases (Holm over all metrics) calls it worse. A drop beyond the share that is not significant is `inconclusive`: it
# may be real, and this dataset is too small to tell. With `strict` the first condition alone fails.
#
# Where one deciding metric was named beforehand, it is tested alone, without Holm; the others are listed and decide
# nothing.

RELATIVE_RULE = "relative"
ROUNDING = 1e-9
"""Two means that differ by this share of their value or less differ by rounding alone."""
_DIGITS = (2, 4, 6)
"""How many digits to show: the first number of them with which two values look different."""


@gate_rule("relative")
def judge_relative(question: Question) -> Iterator[RuleVerdict]:
    """One verdict for each metric that run and baseline share."""
    if question.compared is None:
        yield RuleVerdict(
            rule=RELATIVE_RULE, status=Status.NOT_APPLICABLE, sentence="there is no baseline to compare with"
        )
        return
    for metric, change in question.compared.metrics.items():
        if not has_share(metric) or metric in question.diagnostic:
            continue
        if change.before is None or change.after is None:
            yield _judge_unpaired(metric, question.compared)
            continue
        deciding = question.options.metric
        if deciding == metric:
            change = _test_alone(metric, question, question.compared)  # noqa: PLW2901 - the same, alone
        worse = worsening(metric, change.before or 0.0, change.after or 0.0)
        judged = _judge_change(metric, change, worse, question.options)
        yield judged if deciding in (None, metric) else _beside(judged, str(deciding))


def _test_alone(metric: str, question: Question, compared: Compared) -> MetricChange:
    """The change of a metric that was named beforehand: the number of the others does not weigh on it."""
    pairs = {metric: pair_values(compared.control, compared.treatment, metric)}
    return metric_changes(pairs, rng=np.random.default_rng(question.options.seed), rules=question.draws)[metric]


def _beside(judged: RuleVerdict, deciding: str) -> RuleVerdict:
    """A metric that is shown while another one decides."""
    sentence = f"{judged.sentence}; {deciding} decides, not this"
    return replace(judged, status=Status.NOT_APPLICABLE, sentence=sentence)


def has_share(metric: str) -> bool:
    """Whether a share of a metric's value means anything: not of a difference, which may be 0 or below."""
    lowest = MetricSpec.parse(metric).entry.lowest
    return lowest is not None and lowest >= 0.0


def _judge_unpaired(metric: str, compared: Compared) -> RuleVerdict:
    """No case has a value on both sides: it never arises, or one side lacks what the other has."""
    arises = any(side.count_values(metric) for side in (compared.control, compared.treatment))
    lacking = f"{metric} has no case with a value both in the baseline and in the run"
    return RuleVerdict(
        rule=RELATIVE_RULE,
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


def _judge_change(metric: str, change: MetricChange, worse: float, options: GateOptions) -> RuleVerdict:
    significant = change.comparison.verdict == "worse"
    unproven = beyond(worse, options.drop) and not significant
    return RuleVerdict(
        rule=RELATIVE_RULE,
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
    if math.isclose(before, after, rel_tol=ROUNDING):
        return f"{metric} stands at {after:.2f} as in the baseline"
    digits = next((digits for digits in _DIGITS if f"{before:.{digits}f}" != f"{after:.{digits}f}"), None)
    if digits is None:
        return f"{metric} stands at {after:.{_DIGITS[-1]}f} as in the baseline ({after - before:+.1g})"
    moved = f"{metric} {'fell' if after < before else 'rose'} from {before:.{digits}f} to {after:.{digits}f}"
    sign = "+" if lower_is_better(metric) else "-"
    allowed = f"allowed {sign}{options.drop * 100:g} %"
    p = _p(change, alone=options.metric == metric)
    return f"{moved}{_change_percent(change)}, {allowed}{p}{_doubt(change) if unproven else ''}"


def _change_percent(change: MetricChange) -> str:
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


# --- Latency not worse than the baseline ---
#
# Times of another machine say nothing, and those of one machine vary: the rule speaks only on the same host, and only
# when the interval of the ratio, over the cases both answered, excludes what is allowed. That interval knows how cases
# vary, not how the machine does from one run to the next, so a rise must also be more than a process is held up for.

LATENCY_RULE = "latency"
PERCENT = 95
ABOUT = f"p{PERCENT}"
NOISE_MS = 1.0
"""Rises up to this are within what other work on the machine adds to a call, and are not held against a run."""


@gate_rule("latency", quality=False)
def judge_latency(question: Question) -> Iterator[RuleVerdict]:
    """One verdict."""
    compared = question.compared
    if compared is None:
        yield _skip_latency("there is no baseline to compare latencies with")
        return
    found = next((change for change in compared.latency if change.percent == PERCENT), None)
    if found is None:
        yield _skip_latency("no case was timed both in the baseline and in the run")
    elif not compared.same_host:
        hosts = f"{compared.control.host or 'an unknown host'} and {compared.treatment.host or 'an unknown host'}"
        yield _skip_latency(f"latencies of {hosts} are not compared", found)
    elif found.ratio_low is None:
        yield _skip_latency(
            f"{found.cases} timed cases are too few to compare latencies, it takes {FEWEST_TIMED}", found
        )
    else:
        bound = ABOUT in question.run.latency().at_least
        yield _judge_latency(found, found.ratio_low, question.options.latency_rise, lower_bound=bound)


def _judge_latency(found: LatencyChange, low: float, allowed: float, *, lower_bound: bool) -> RuleVerdict:
    rose, certain = beyond(found.after, found.before * (1 + allowed)), beyond(low, 1 + allowed)
    moved = f"latency p{PERCENT} {found.before:.3g} ms -> {found.after:.3g} ms{_latency_percent(found)}"
    limit = f"allowed +{allowed * 100:g} %"
    if rose and not certain:
        return _skip_latency(
            f"{moved}, {limit}: the interval does not exclude that, so it is not held against the run", found
        )
    noise = rose and not beyond(found.after - found.before, NOISE_MS)
    if noise and not lower_bound:
        return _skip_latency(
            f"{moved}, {limit}: a rise of {NOISE_MS:g} ms or less is not told from other work on the machine", found
        )
    if lower_bound and (noise or not rose):
        return RuleVerdict(
            rule=LATENCY_RULE,
            about=ABOUT,
            status=Status.INCONCLUSIVE,
            sentence=f"{moved}, {limit}: cases ran out of time, so it may be more; wait longer (--timeout)",
            evidence=asdict(found),
        )
    return RuleVerdict(
        rule=LATENCY_RULE,
        about=ABOUT,
        status=Status.FAIL if rose else Status.PASS,
        sentence=f"{moved}, {limit}",
        evidence=asdict(found),
    )


def _latency_percent(found: LatencyChange) -> str:
    if found.before == 0.0 or found.ratio_low is None or found.ratio_high is None:
        return ""
    ends = f"[{(found.ratio_low - 1) * 100:+.0f}, {(found.ratio_high - 1) * 100:+.0f}]"
    return f": {(found.after / found.before - 1) * 100:+.0f} % {ends}"


def _skip_latency(sentence: str, found: LatencyChange | None = None) -> RuleVerdict:
    return RuleVerdict(
        rule=LATENCY_RULE,
        about=ABOUT,
        status=Status.NOT_APPLICABLE,
        sentence=sentence,
        evidence={} if found is None else asdict(found),
    )


# --- Cases that the baseline answered and the run does not ---
#
# A case is lost when its value was above 0 and is 0 now, or the system failed on it. Where runs were repeated, a drop
# within twice the case's own variation between repeats is noise and does not count.
#
# A system that does not answer the same way twice loses some cases and gains others although nothing changed. So lost
# cases fail the gate when they outnumber those gained by more than chance (a one-sided sign test; the cases of a
# cluster rise and fall together and count once), or when repeats of both runs show that the system never varies. Else
# they leave it `inconclusive`: it cannot be told whether they are noise. With `strict` any lost case fails.

LOST_RULE = "lost cases"
TELLING = ("recall", "recall_any", "success", "mrr", "anchor_mrr", "ndcg")
"""Metrics that are 0 when nothing relevant was found; the first one measured decides."""
ANSWERED = "answer_rate"
"""The metric that is 0 when an answerable question was declined."""
NOISE = 2.0
"""So many standard deviations between repeats are noise."""
ALPHA = 0.05
_NAMED = 5


@gate_rule("lost-cases")
def judge_lost(question: Question) -> Iterator[RuleVerdict]:
    """One verdict over what was found, and one over what was answered where both sides answer."""
    before, after = question.baseline, question.run
    if before is None or question.compared is None:
        yield _skip_lost("there is no baseline from which cases could be lost")
        return
    found = telling_metric(tuple(question.compared.metrics))
    metrics = [metric for metric in (found, _answered_metric(question)) if metric is not None]
    if not metrics:
        yield _skip_lost("no metric tells whether a case was found at all")
    yield from (_judge_lost(before, after, metric, question.options) for metric in metrics)


def _answered_metric(question: Question) -> str | None:
    """The metric that shows whether a question was answered; None: not both sides have it, or it decides nothing."""
    compared = question.compared.metrics if question.compared is not None else {}
    return ANSWERED if ANSWERED in compared and ANSWERED not in question.diagnostic else None


def telling_metric(metrics: Sequence[str]) -> str | None:
    """The metric that shows whether a case was found: the first of `TELLING`, then in the order of the run."""
    names = {metric: MetricSpec.parse(metric).name for metric in metrics if not lower_is_better(metric)}
    return next((metric for name in TELLING for metric in metrics if names.get(metric) == name), None)


def find_lost_cases(before: Reading, after: Reading, metric: str) -> list[str]:
    """Cases above 0 in the baseline that are 0 or failed now, beyond the noise of repeats."""
    found = find_lost(before, after, metric)
    if found is not None:
        return [case for case, value in found if value > NOISE * _noise(before, after, metric, case)]
    was, now = before.values(metric), after.outcomes[metric]
    return [
        case
        for case, value in was.items()
        if case in now
        and value > NOISE * _noise(before, after, metric, case)
        and _is_lost(now[case].kind, now[case].value)
    ]


def _is_lost(kind: OutcomeKind, value: float | None) -> bool:
    return value == 0.0 if kind is OutcomeKind.SCORED else kind is OutcomeKind.SYSTEM_FAILED


def _noise(before: Reading, after: Reading, metric: str, case: str) -> float:
    return math.hypot(*(reading.noise.get(metric, {}).get(case, 0.0) for reading in (before, after)))


def find_gained_cases(before: Reading, after: Reading, metric: str) -> list[str]:
    """Cases that were 0 or failed in the baseline and are above 0 now, beyond the noise of repeats."""
    return find_lost_cases(after, before, metric)


def is_steady(before: Reading, after: Reading, metric: str) -> bool:
    """Whether both sides repeated every case and no case ever varied: then any difference between them is real."""
    return all(
        reading.statuses
        and all(len(statuses) > 1 for statuses in reading.statuses.values())
        and not any(reading.noise.get(metric, {}).values())
        for reading in (before, after)
    )


def _judge_lost(before: Reading, after: Reading, metric: str, options: GateOptions) -> RuleVerdict:
    lost, gained = find_lost_cases(before, after, metric), find_gained_cases(before, after, metric)
    steady = is_steady(before, after, metric)
    units = _independent(lost, gained, {**before.clusters, **after.clusters})
    p = _chance(units[0] - options.lost, units[1])
    status = _status(lost, options, certain=steady or p <= ALPHA)
    limit = f", allowed {options.lost}" if options.lost and lost else ""
    count = f"{len(lost) or 'no'} case{'' if len(lost) == 1 else 's'} lost since the baseline"
    why = _in_clusters(lost, gained, units) + _why(status, p, options, steady=steady)
    return RuleVerdict(
        rule=LOST_RULE,
        about=metric,
        status=status,
        sentence=f"{count} (by {metric}{limit}; {len(gained)} gained){_name_cases(lost, before, after)}{why}",
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
    ways = as_extreme = math.comb(changed, lost)
    for count in range(lost, changed):
        ways = ways * (changed - count) // (count + 1)  # exact, and quicker than counting each anew
        as_extreme += ways
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


def _name_cases(lost: Sequence[str], before: Reading, after: Reading) -> str:
    texts = after if after.queries else before
    more = f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
    return f": {', '.join(texts.called(case) for case in lost[:_NAMED])}{more}" if lost else ""


def _skip_lost(sentence: str) -> RuleVerdict:
    return RuleVerdict(rule=LOST_RULE, status=Status.NOT_APPLICABLE, sentence=sentence)
