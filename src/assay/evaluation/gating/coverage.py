"""Enough cases were judged for the other rules to mean something.

Cases that nobody tried (a budget, a sample, an unresolved anchor), that a judge could not judge, or that the baseline
has and the run does not: beyond the ceiling the run is `inconclusive`, whatever its means say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from assay.evaluation.gating.bounds import beyond
from assay.evaluation.gating.question import Question
from assay.evaluation.gating.registering import gate_rule
from assay.evaluation.gating.verdict import RuleVerdict, Status
from assay.evaluation.readings import Reading
from assay.records.outcome import OutcomeKind

RULE = "coverage"
UNJUDGEABLE = frozenset({OutcomeKind.JUDGE_FAILED, OutcomeKind.SKIPPED})


@gate_rule("coverage", quality=False)
def judge_coverage(question: Question) -> Iterator[RuleVerdict]:
    """One verdict."""
    run, baseline = question.run, question.baseline
    missing = set() if baseline is None else set(baseline.cases) - set(run.cases)
    without = unjudgeable(run, question.diagnostic) | missing
    whole = len(set(run.cases) | missing)
    share = len(without) / whole
    ceiling = question.options.unjudgeable
    absent = f", {len(missing)} of them are in the baseline only" if missing else ""
    undecided = _undecided(question, without)
    yield RuleVerdict(
        rule=RULE,
        status=Status.INCONCLUSIVE if beyond(share, ceiling) else Status.PASS,
        sentence=f"{len(without)} of {whole} cases could not be judged{undecided and ' under metrics that decide'}: "
        f"{share * 100:.1f} %, allowed {ceiling * 100:g} %{absent}{undecided}",
        evidence={"cases": whole, "unjudgeable": sorted(without), "ceiling": ceiling},
    )


def _undecided(question: Question, counted: Collection[str]) -> str:
    """Name the further cases that failed under metrics of a judge that no gate listens to; empty: there are none."""
    lost = {
        metric: len(unjudgeable(question.run, set(question.run.outcomes) - {metric}) - set(counted))
        for metric in question.diagnostic
        if metric in question.run.outcomes
    }
    told = ", ".join(f"{count} more under {metric}" for metric, count in sorted(lost.items()) if count)
    return f"; {told}, which decides nothing" if told else ""


def unjudgeable(run: Reading, diagnostic: Collection[str] = ()) -> set[str]:
    """Cases that have no value for no reason of the system's, under some metric that may decide something."""
    return {
        case
        for metric, cases in run.outcomes.items()
        if metric not in diagnostic
        for case, outcome in cases.items()
        if outcome.kind in UNJUDGEABLE
    }
