"""What must hold in every single case, where the run measured it: no share of exceptions is allowed.

Constitutional memories surface always, nothing leaves its scope, and a channel that found something in the baseline is
not silent now.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.evaluation.gating.question import Question
from assay.evaluation.gating.registering import gate_rule
from assay.evaluation.gating.verdict import RuleVerdict, Status
from assay.evaluation.readings import Reading
from assay.metrics.spec import MetricSpec

RULE = "guarantee"
ALWAYS = {"constitutional_surfacing": (1.0, "constitutional memories surface")}
"""The value that a metric must have in every case, and what that means."""
_NAMED = 5


@gate_rule("guarantee", quality=lambda question, verdict: verdict.about in question.run.metrics)
def judge_guarantees(question: Question) -> Iterator[RuleVerdict]:
    """One verdict for each guarantee the run says something about."""
    found = [*_always(question.run), *_in_scope(question.run), *_alive(question.run, question.baseline)]
    if found:
        yield from found
    else:
        sentence = "the run measured no guarantee and tells of no channels"
        yield RuleVerdict(rule=RULE, status=Status.NOT_APPLICABLE, sentence=sentence)


def _always(run: Reading) -> Iterator[RuleVerdict]:
    for metric in run.metrics:
        name = MetricSpec.parse(metric).name
        values = run.values(metric)
        if name in ALWAYS and values:
            yield _held(run, metric, *ALWAYS[name])


def _held(run: Reading, metric: str, wanted: float, meaning: str) -> RuleVerdict:
    values = run.values(metric)
    broken = [case for case, value in values.items() if value != wanted]
    return _unbroken(run, metric, meaning, broken, len(values))


def _in_scope(run: Reading) -> Iterator[RuleVerdict]:
    broken = [case for case, leaked in run.scoped.items() if leaked]
    if run.scoped:
        yield _unbroken(run, "scope", "nothing from outside the scope was shown", broken, len(run.scoped))


def _unbroken(run: Reading, about: str, meaning: str, broken: Sequence[str], cases: int) -> RuleVerdict:
    more = f" and {len(broken) - _NAMED} more" if len(broken) > _NAMED else ""
    named = f": not in {', '.join(run.called(case) for case in broken[:_NAMED])}{more}" if broken else ""
    return RuleVerdict(
        rule=RULE,
        about=about,
        status=Status.FAIL if broken else Status.PASS,
        sentence=f"{meaning} in {cases - len(broken)} of {cases} cases{named}",
        evidence={"broken": list(broken), "cases": cases},
    )


def _alive(run: Reading, baseline: Reading | None) -> Iterator[RuleVerdict]:
    """One verdict for each channel of the run or the baseline, where the run tells of its channels at all."""
    before = {} if baseline is None or not run.channels else baseline.channels
    for channel in dict.fromkeys([*run.channels, *before]):
        found, was = run.channels.get(channel), before.get(channel, 0)
        status, sentence = _liveness(channel, found, was)
        yield RuleVerdict(
            rule=RULE,
            about=f"channel {channel}",
            status=status,
            sentence=sentence,
            evidence={"found": found, "baseline": was},
        )


def _liveness(channel: str, found: int | None, was: int) -> tuple[Status, str]:
    """What a channel that found something in so many cases means; None: it was asked in no case."""
    earlier = f"in the baseline it found something in {was}"
    if found:
        return Status.PASS, f"channel {channel} found something in {found} cases"
    if not was:
        return Status.NOT_APPLICABLE, f"channel {channel} found nothing in any case; no baseline says that it should"
    if found is None:
        remedy = "if it was switched off on purpose, bless this run"
        return Status.INCONCLUSIVE, f"channel {channel} was not asked in any case; {earlier}; {remedy}"
    return Status.FAIL, f"channel {channel} found nothing in any case; {earlier}"
