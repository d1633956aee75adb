"""All rules over one run. What cannot be asked at all is an error with exit code 2, never a pass."""

from __future__ import annotations

from collections.abc import Sequence

from assay.errors import NotComparable, NothingMeasured
from assay.evaluation.comparing import compare_two
from assay.evaluation.gating.asked import judge_asked
from assay.evaluation.gating.question import GateOptions, Question
from assay.evaluation.gating.registering import judge_missing_rules, rules_of
from assay.evaluation.gating.verdict import Verdict
from assay.evaluation.readings import Reading


def judge(run: Reading, baseline: Reading | None, options: GateOptions | None = None) -> Verdict:
    """Hold a run against its floors and, where there is one, its baseline.

    Raises `NotComparable` for a baseline of another instrument and `NothingMeasured` for a run without any value.
    """
    return answer(ask(run, baseline, options))


def ask(run: Reading, baseline: Reading | None, options: GateOptions | None = None) -> Question:
    """The question that the rules answer; raises as `judge` does."""
    options = options or GateOptions()
    refuse_nothing(run)
    compared = None if baseline is None else compare_two(baseline, run, seed=options.seed)
    _refuse_unmeasured(options.metric, run.metrics if compared is None else tuple(compared.metrics))
    return Question(run=run, compared=compared, options=options)


def answer(question: Question) -> Verdict:
    """What every rule says."""
    run, baseline = question.run, question.baseline
    given = [(rule, verdict) for rule in rules_of(run.dataset) for verdict in rule.ask(question)]
    return Verdict(
        run=run.name,
        baseline=None if baseline is None else baseline.name,
        dataset=run.dataset,
        rules=(*(verdict for _, verdict in given), *judge_missing_rules(), *judge_asked(question, given)),
        caveats=run.caveats if question.compared is None else question.compared.caveats,
    )


def _refuse_unmeasured(metric: str | None, measured: Sequence[str]) -> None:
    """A deciding metric that nobody measured decides nothing."""
    if metric is not None and metric not in measured:
        raise NotComparable(
            f"the gate is to be decided by {metric}, which was not measured",
            remedy=f"Measured were: {', '.join(measured)}. Name one of them, or run again with --metrics {metric}.",
        )


def refuse_nothing(run: Reading) -> None:
    """Refuse a run that says nothing, which must be neither passed nor blessed."""
    if not run.cases:
        raise NothingMeasured(f"the run {run.name} has no cases", remedy="Run over a dataset that has some.")
    if not any(run.values(metric) for metric in run.metrics):
        raise NothingMeasured(
            f"no case of the run {run.name} has a value", remedy="See its outcomes: `assay run` lists what failed."
        )
