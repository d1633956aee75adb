"""Enough cases were judged for the other rules to mean something.

Cases that nobody tried (a budget, a sample, an unresolved anchor), that a judge could not judge, or that the baseline
has and the run does not: beyond the ceiling the run is `inconclusive`, whatever its means say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from assay.evaluation.gating.bounds import beyond
from assay.evaluation.gating.question import Question
from assay.evaluation.gating.verdict import RuleVerdict, Status
from assay.evaluation.readings import Reading
from assay.records.outcome import OutcomeKind

RULE = "coverage"
UNJUDGEABLE = frozenset({OutcomeKind.JUDGE_FAILED, OutcomeKind.SKIPPED})


def judge_coverage(question: Question) -> Iterator[RuleVerdict]:
    """One verdict."""
    run, baseline = question.run, question.baseline
    missing = set() if baseline is None else set(baseline.cases) - set(run.cases)
    without = unjudgeable(run, question.diagnostic) | missing
    whole = len(set(run.cases) | missing)
    share = len(without) / whole
    ceiling = question.options.unjudgeable
    absent = f", {len(missing)} of them are in the baseline only" if missing else ""
    yield RuleVerdict(
        rule=RULE,
        status=Status.INCONCLUSIVE if beyond(share, ceiling) else Status.PASS,
        sentence=f"{len(without)} of {whole} cases could not be judged: {share * 100:.1f} %, "
        f"allowed {ceiling * 100:g} %{absent}",
        evidence={"cases": whole, "unjudgeable": sorted(without), "ceiling": ceiling},
    )


def unjudgeable(run: Reading, diagnostic: Collection[str] = ()) -> set[str]:
    """Cases that have no value for no reason of the system's, under some metric that may decide something."""
    return {
        case
        for metric, cases in run.outcomes.items()
        if metric not in diagnostic
        for case, outcome in cases.items()
        if outcome.kind in UNJUDGEABLE
    }
