"""The 95th percentile of latency not worse than the baseline's by more than is allowed.

Times of another machine say nothing, and those of one machine vary: the rule speaks only on the same host, and only
when the interval of the ratio, over the cases both answered, excludes what is allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from assay.evaluation.gating.bounds import beyond
from assay.evaluation.gating.question import Question
from assay.evaluation.gating.registering import gate_rule
from assay.evaluation.gating.verdict import RuleVerdict, Status
from assay.evaluation.pairing import FEWEST_TIMED
from assay.records.run_results import LatencyChange

RULE = "latency"
PERCENT = 95
ABOUT = f"p{PERCENT}"


@gate_rule("latency", quality=False)
def judge_latency(question: Question) -> Iterator[RuleVerdict]:
    """One verdict."""
    compared = question.compared
    if compared is None:
        yield _outside("there is no baseline to compare latencies with")
        return
    found = next((one for one in compared.latency if one.percent == PERCENT), None)
    if found is None:
        yield _outside("no case was timed both in the baseline and in the run")
    elif not compared.same_host:
        hosts = f"{compared.control.host or 'an unknown host'} and {compared.treatment.host or 'an unknown host'}"
        yield _outside(f"latencies of {hosts} are not compared", found)
    elif found.ratio_low is None:
        yield _outside(f"{found.cases} timed cases are too few to compare latencies, it takes {FEWEST_TIMED}", found)
    else:
        bound = ABOUT in question.run.latency().at_least
        yield _judge(found, found.ratio_low, question.options.latency_rise, lower_bound=bound)


def _judge(found: LatencyChange, low: float, allowed: float, *, lower_bound: bool) -> RuleVerdict:
    rose, certain = beyond(found.after, found.before * (1 + allowed)), beyond(low, 1 + allowed)
    moved = f"latency p{PERCENT} {found.before:.3g} ms -> {found.after:.3g} ms{_percent(found)}"
    limit = f"allowed +{allowed * 100:g} %"
    if rose and not certain:
        return _outside(
            f"{moved}, {limit}: the interval does not exclude that, so it is not held against the run", found
        )
    if lower_bound and not rose:
        return RuleVerdict(
            rule=RULE,
            about=ABOUT,
            status=Status.INCONCLUSIVE,
            sentence=f"{moved}, {limit}: cases ran out of time, so it may be more; wait longer (--timeout)",
            evidence=asdict(found),
        )
    return RuleVerdict(
        rule=RULE,
        about=ABOUT,
        status=Status.FAIL if rose else Status.PASS,
        sentence=f"{moved}, {limit}",
        evidence=asdict(found),
    )


def _percent(found: LatencyChange) -> str:
    if found.before == 0.0 or found.ratio_low is None or found.ratio_high is None:
        return ""
    ends = f"[{(found.ratio_low - 1) * 100:+.0f}, {(found.ratio_high - 1) * 100:+.0f}]"
    return f": {(found.after / found.before - 1) * 100:+.0f} % {ends}"


def _outside(sentence: str, found: LatencyChange | None = None) -> RuleVerdict:
    return RuleVerdict(
        rule=RULE,
        about=ABOUT,
        status=Status.NOT_APPLICABLE,
        sentence=sentence,
        evidence={} if found is None else asdict(found),
    )
